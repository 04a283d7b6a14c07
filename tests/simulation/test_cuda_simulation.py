"""Cluster simulations on a GPU: every pass, and so every chain, is that of the CPU bit by bit."""

import math

import numpy as np
import pytest
from test_simulation import KNOWN_ANSWERS, SHAPES, UPDATES

from equilabel import PottsSimulation, swendsen_wang
from equilabel.papers.table import METHODS
from equilabel.simulation import (
    critical_beta,
    exact_ising_energy,
    fortuin_kasteleyn_bonds,
    integrated_autocorrelation_time,
)
from equilabel.simulation.cpu import potts as cpu
from references import bond_roots

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]

LARGER = [*SHAPES, (1000, 70), (33, 64, 65)]
BETA = critical_beta(2)


@pytest.fixture
def cuda():
    from equilabel.simulation.cuda import potts

    return potts


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN_ANSWERS)
def test_random_numbers_are_those_of_philox(counter, key, words, cuda):
    site, low, high, purpose = counter
    sites = cupy.array([site], np.uint32)
    found = cuda.random_words(sites, low | high << 32, purpose, key[0] | key[1] << 32)
    assert found.tolist() == [words]


@pytest.mark.parametrize("shape", LARGER, ids=str)
def test_every_pass_does_what_it_does_on_the_cpu(shape, cuda):
    seed, sweep, q = 2**64 - 3, 2**33 + 1, 7
    spins = cpu.random_spins(shape, q, seed)
    mine = cuda.random_spins(shape, q, seed)
    np.testing.assert_array_equal(mine.get(), spins)
    opened, mine_opened = np.empty_like(spins), cupy.empty_like(mine)
    for threshold in (0, 2**31 + 5, 2**32):
        cpu.activate_bonds(spins, threshold, sweep, seed, opened)
        cuda.activate_bonds(mine, threshold, sweep, seed, mine_opened)
        np.testing.assert_array_equal(mine_opened.get(), opened)
    row, mine_row = np.zeros(1 + q, np.int64), cupy.zeros(1 + q, np.int64)
    cpu.measure_spins(spins, q, row)
    cuda.measure_spins(mine, q, mine_row)
    np.testing.assert_array_equal(mine_row.get(), row)
    for clusters in (np.arange(spins.size), np.zeros(spins.size), np.arange(spins.size) // 3):
        for first, dtype in ((0, np.int32), (1, np.int64)):
            check_labels(cuda, spins, (clusters + first).astype(dtype), first, (q, sweep, seed))


def check_labels(cuda, spins, labels, first, drawn):
    """Compare the passes that take labels of clusters."""
    q, sweep, seed = drawn
    there = cupy.asarray(labels)
    row, mine_row = np.zeros(3, np.int64), cupy.zeros(3, np.int64)
    cpu.measure_clusters(labels, first, row)
    cuda.measure_clusters(there, first, mine_row)
    np.testing.assert_array_equal(mine_row.get(), row)
    for tile in (1, 3, 64):
        marked = cpu.mark_clusters(spins, labels, first, tile, sweep, seed)
        mine = cupy.asarray(spins)
        mine_marked = cuda.mark_clusters(mine, there, first, tile, sweep, seed)
        np.testing.assert_array_equal(mine_marked.get(), marked)
        flipped = spins.copy()
        cpu.flip_marked(flipped, labels, first, marked, q, 2**31, sweep, seed)
        cuda.flip_marked(mine, there, first, mine_marked, q, 2**31, sweep, seed)
        np.testing.assert_array_equal(mine.get(), flipped)
    cpu.flip_clusters(flipped, labels, first, q, sweep, seed)
    cuda.flip_clusters(mine, there, first, q, sweep, seed)
    np.testing.assert_array_equal(mine.get(), flipped)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("shape", LARGER, ids=str)
def test_a_chain_is_the_same_on_both_devices(shape, update):
    options = {"beta": 0.8, "seed": 9, "start": "hot", "update": update, "tile": 20}
    chains = [PottsSimulation(shape, 3, device=name, **options) for name in ("cpu", "cuda")]
    assert list(chains[0].measure(12)) == list(chains[1].measure(12, batch=5))
    np.testing.assert_array_equal(chains[1].spins.get(), chains[0].spins)
    moved = PottsSimulation.resume(chains[0].state(), device="cuda")
    assert list(moved.measure(5)) == list(chains[0].measure(5))


@pytest.mark.parametrize("method", [row.name for row in METHODS.values() if "bonds" in row.domains])
def test_every_method_gives_the_same_chain(method):
    chain = PottsSimulation((300, 301), 2, beta=BETA, seed=1, device="cuda", method=method)
    expected = PottsSimulation((300, 301), 2, beta=BETA, seed=1)
    assert (chain.advance(20).spins.get() == expected.advance(20).spins).all()


def test_bonds_of_a_sweep_stay_on_the_device():
    bonds = fortuin_kasteleyn_bonds((200, 100), 3, sweeps=5, device="cuda")
    assert isinstance(bonds.open, cupy.ndarray)
    expected = fortuin_kasteleyn_bonds((200, 100), 3, sweeps=5)
    np.testing.assert_array_equal(bonds.open.get(), expected.open)
    assert bond_roots(expected).max() < 20_000


def test_spins_on_a_device_are_simulated_there():
    start = cupy.zeros((64, 64), np.int64)
    chain = PottsSimulation((64, 64), beta=BETA, start=start)
    assert chain.device == "cuda"
    assert isinstance(chain.advance(3).spins, cupy.ndarray)
    assert not start.any()


@pytest.mark.parametrize("side", [16, 64])
def test_energies_are_exact(side):
    chain = swendsen_wang(
        (side, side), beta=BETA, sweeps=10_000, discard=200, seed=side, device="cuda"
    )
    found = integrated_autocorrelation_time([m.energy for m in chain])
    assert abs(found.mean - exact_ising_energy((side, side), BETA)) < 4 * found.standard_error


@pytest.mark.slow
def test_more_sites_than_31_bits_can_count(cuda):
    shape = 2**16, 2**15 + 1
    if cupy.cuda.runtime.memGetInfo()[0] < 20 * math.prod(shape):
        pytest.skip("needs 40 GiB of device memory")
    chain = PottsSimulation(shape, 2, beta=0.0, seed=1, device="cuda", start="hot")
    [found] = chain.measure(1)
    assert found.clusters == math.prod(shape)
    assert abs(found.energy + 1) < 1e-3
    assert found.magnetization < 1e-3
