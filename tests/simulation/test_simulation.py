"""Cluster simulations of the Potts model: the chain, what it samples, and what is told of it."""

import math
import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import equilabel
from equilabel import PottsSimulation, swendsen_wang
from equilabel.papers.table import METHODS
from equilabel.simulation import (
    critical_beta,
    exact_ising_energy,
    fortuin_kasteleyn_bonds,
    integrated_autocorrelation_time,
)
from equilabel.simulation.cpu import potts
from equilabel.simulation.cpu import potts as philox
from references import bond_roots


def numbers(bonds):
    """Number the clusters of a lattice of bonds in raster order."""
    return np.unique(bond_roots(bonds), return_inverse=True)[1]


# Counter, key and words of `tests/kat_vectors` of Random123, the library of Salmon et al. 2011.
KNOWN_ANSWERS = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
SHAPES = [(40,), (6, 7), (2, 2), (5, 2, 4), (3, 4, 2, 3), (2, 3, 2, 2, 3), (2, 2, 3, 2, 2, 3)]
UPDATES = ["swendsen_wang", "few_clusters"]
BETA = critical_beta(2)


def equal_bonds(spins):
    """Count bonds between equal spins, around the ends of all axes."""
    return sum(int((spins == np.roll(spins, -1, axis)).sum()) for axis in range(spins.ndim))


def enumerated_energy(shape, q, beta):
    """Average the energy per site over all configurations."""
    sites = math.prod(shape)
    codes = np.arange(q**sites)
    spins = (codes // q ** np.arange(sites)[:, None] % q).astype(np.int8).reshape(*shape, -1)
    bonds = sum((spins == np.roll(spins, -1, axis)).sum(axis=(0, 1)) for axis in (0, 1))
    weights = np.exp(beta * (bonds - bonds.max()))
    return -float((weights * bonds).sum() / weights.sum()) / sites


def check_mean(series, expected):
    found = integrated_autocorrelation_time(series)
    assert abs(found.mean - expected) < 4 * found.standard_error
    assert found.standard_error < 0.02 * abs(expected)


# ------------------------------------------------------------- random numbers


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN_ANSWERS)
def test_random_numbers_are_those_of_philox(counter, key, words):
    site, low, high, purpose = counter
    sites = np.array([site], np.uint32)
    found = potts.random_words(sites, low | high << 32, purpose, key[0] | key[1] << 32)
    assert found.tolist() == [words]


def test_both_devices_have_the_same_constants():
    folder = Path(equilabel.__file__).parent / "simulation" / "cuda"
    text = (folder / "potts.cu").read_text(encoding="utf-8")
    purposes = re.search(r"constexpr unsigned (SPINS = .*);", text)[1]
    for name, value in re.findall(r"(\w+) = (\d+)", purposes):
        assert getattr(philox, name) == int(value)
    for name in ("MULTIPLIERS", "WEYL"):
        values = re.search(rf"{name}\[\] = {{(.*?)}}", text)[1]
        assert [int(value[:-1], 16) for value in values.split(", ")] == list(getattr(philox, name))
    assert f"ROUNDS = {philox.ROUNDS};" in text


# --------------------------------------------------------------------- passes


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bonds_open_between_equal_spins_alone_and_as_often_as_said(shape):
    spins = potts.random_spins(shape, 2, 5)
    opened, often = np.empty_like(spins), np.zeros(len(shape))
    everywhere, nowhere = np.empty_like(spins), np.empty_like(spins)
    potts.activate_bonds(spins, 2**32, 0, 1, everywhere)
    potts.activate_bonds(spins, 0, 0, 1, nowhere)
    assert not nowhere.any()
    for k in range(len(shape)):
        equal = spins == np.roll(spins, -1, len(shape) - 1 - k)
        np.testing.assert_array_equal(everywhere >> k & 1, equal)
    sweeps = 4000 // spins.size + 1
    for sweep in range(sweeps):
        potts.activate_bonds(spins, 2**30, sweep, 1, opened)
        assert not (opened & ~everywhere).any()
        often += [(opened >> k & 1).sum() for k in range(len(shape))]
    tries = sweeps * np.array([(everywhere >> k & 1).sum() for k in range(len(shape))])
    assert (np.abs(often - tries / 4) < 4 * np.sqrt(tries * 3 / 16)).all()


def test_every_cluster_gets_one_state_and_all_states_come_up_as_often():
    bonds = fortuin_kasteleyn_bonds((60, 50), q=5, sweeps=3)
    roots = bond_roots(bonds)
    spins = np.empty((60, 50), np.uint8)
    potts.flip_clusters(spins, numbers(bonds), 0, 5, 3, 1)
    np.testing.assert_array_equal(spins.ravel(), spins.ravel()[roots])
    counts = np.bincount(spins.ravel()[np.unique(roots)], minlength=5)
    assert np.abs(counts - counts.mean()).max() < 4 * np.sqrt(counts.mean())


@pytest.mark.parametrize(("shape", "tile"), [((9, 7), 4), ((6, 5, 4), 3), ((2,) * 6, 1)], ids=str)
def test_each_tile_marks_the_cluster_of_one_of_its_sites(shape, tile):
    labels = np.arange(math.prod(shape)) + 1
    spins = np.zeros(shape, np.uint8)
    chosen = np.zeros(shape, np.int64)
    for sweep in range(200):
        marked = potts.mark_clusters(spins, labels, 1, tile, sweep, 0).reshape(shape)
        chosen += marked
        tiles = np.stack(np.nonzero(marked)) // tile
        assert len(np.unique(tiles, axis=1).T) == tiles.shape[1]
        assert tiles.shape[1] == math.prod(-(-side // tile) for side in shape)
    assert (chosen > 0).all()  # a tile has up to 27 sites


def test_marked_clusters_alone_are_flipped_to_other_states():
    spins = potts.random_spins((50, 60), 3, 1)
    before, labels = spins.copy(), np.arange(3000) + 1
    marked = (np.arange(3000) % 3 == 0).astype(np.uint8)
    potts.flip_marked(spins, labels, 1, marked, 3, 2**31, 7, 1)
    moved = (spins - before.astype(np.int64)).ravel() % 3
    assert not moved[marked == 0].any()
    counts = np.bincount(moved[marked == 1])
    assert np.abs(counts - [500, 250, 250]).max() < 60


@pytest.mark.parametrize("threads", [1, 2])
def test_measurements_are_those_of_the_spins_and_the_labels(threads, many_threads):
    many_threads(threads)
    for shape in SHAPES:
        spins = potts.random_spins(shape, 3, 2)
        row = np.zeros(4, np.int64)
        potts.measure_spins(spins, 3, row)
        assert row[0] == equal_bonds(spins)
        np.testing.assert_array_equal(row[1:], np.bincount(spins.ravel(), minlength=3))
    labels = np.array([1, 1, 2, 1, 2, 3], np.int32)
    row = np.zeros(3, np.int64)
    potts.measure_clusters(labels, 1, row)
    assert row.tolist() == [3, 3, 14]


# ------------------------------------------------------------------ the chain


@pytest.mark.parametrize("update", UPDATES)
def test_the_seed_alone_decides_the_chain(update, many_threads):
    options = {"beta": BETA, "start": "hot", "update": update, "tile": 7}
    chains = []
    for seed, threads in [(4, 1), (4, 2), (5, 1)]:
        many_threads(threads)
        simulation = PottsSimulation((20, 21), 3, seed=seed, **options)
        chains.append([simulation.spins.copy(), *[m.energy for m in simulation.measure(30)]])
    assert (chains[0][0] == chains[1][0]).all()
    assert chains[0][1:] == chains[1][1:] != chains[2][1:]


@pytest.mark.parametrize(
    ("shape", "method"),
    [
        (shape, row.name)
        for row in METHODS.values()
        for shape in SHAPES
        if "bonds" in row.domains and len(shape) in row.ranks
    ],
    ids=str,
)
def test_every_method_gives_the_same_chain(shape, method):
    ours = PottsSimulation(shape, 3, beta=0.7, seed=2, start="hot", method=method)
    for _ in range(3):
        bonds, sweep = ours.bonds(), ours.sweep
        expected = ours.spins.copy()
        potts.flip_clusters(expected, numbers(bonds), 0, 3, sweep, 2)
        np.testing.assert_array_equal(ours.advance().spins, expected)


@pytest.mark.parametrize("update", UPDATES)
def test_a_checkpoint_continues_the_same_chain(update, tmp_path):
    seed = 2**64 - 1
    options = {"temperature": 1.1, "seed": seed, "update": update, "tile": 5}
    simulation = PottsSimulation((12, 13), 4, **options).advance(7)
    np.savez(tmp_path / "chain.npz", **simulation.state())
    with np.load(tmp_path / "chain.npz") as state:
        again = PottsSimulation.resume(state)
    assert list(again.measure(20)) == list(simulation.measure(20))
    assert (again.spins == simulation.spins).all()
    assert again.sweep == 27


def test_measurements_do_not_depend_on_batches_and_may_skip_sweeps():
    def chain(**options):
        return list(swendsen_wang((16, 18), beta=BETA, discard=3, seed=1, **options))

    every = chain(sweeps=20)
    assert [m.sweep for m in every] == list(range(4, 24))
    assert chain(sweeps=20, batch=7) == every
    assert chain(sweeps=20, every=3) == every[2::3]
    simulation = PottsSimulation((16, 18), beta=BETA, seed=1)
    assert len(list(simulation.measure(20, every=3))) == 6
    assert simulation.sweep == 20
    assert [m.sweep for m in islice(simulation.measure(10**12, batch=1), 2)] == [21, 22]


def test_a_measurement_is_that_of_the_spins_and_of_the_clusters_that_led_there():
    simulation = PottsSimulation((9, 8), 3, beta=1.0, seed=6).advance(5)
    sizes = np.bincount(bond_roots(simulation.bonds()))
    [found] = simulation.measure(1)
    states = np.bincount(simulation.spins.ravel(), minlength=3)
    assert found.energy == -equal_bonds(simulation.spins) / 72
    assert found.magnetization == pytest.approx((3 * states.max() / 72 - 1) / 2)
    assert found.clusters == (sizes > 0).sum()
    assert found.largest_cluster == sizes.max() / 72
    assert found.mean_cluster_size == (sizes**2).sum() / 72


def test_temperature_zero_freezes_and_infinite_temperature_does_not_open_a_bond():
    frozen = PottsSimulation((6, 6), 4, beta=math.inf, seed=1).advance(3)
    assert np.ptp(frozen.spins) == 0
    [free] = PottsSimulation((6, 6), 4, beta=0.0, seed=1).measure(1)
    assert free.clusters == 36


# ------------------------------------------------------------- what it samples


@pytest.mark.parametrize("beta", [0.4, BETA, 1.3])
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 4), (3, 3)])
def test_exact_energies_are_those_of_all_configurations(shape, beta):
    assert exact_ising_energy(shape, beta) == pytest.approx(enumerated_energy(shape, 2, beta))


def test_exact_energies_reach_that_of_the_infinite_lattice():
    limit = -(1 + 1 / math.sqrt(2))
    differences = [exact_ising_energy((side, side), BETA) - limit for side in (200, 400)]
    assert differences[0] / differences[1] == pytest.approx(2, rel=1e-3)  # as 1 / L


@pytest.mark.slow
@pytest.mark.parametrize(
    ("side", "update"),
    [
        (16, UPDATES[0]),
        pytest.param(16, UPDATES[1], marks=pytest.mark.long),
        pytest.param(32, UPDATES[0], marks=pytest.mark.long),
    ],
)
def test_energies_of_the_ising_model_are_exact(side, update):
    options = {"beta": BETA, "seed": side, "update": update, "tile": side}
    simulation = PottsSimulation((side, side), **options).advance(200)
    found = list(simulation.measure(6000 if side < 32 else 3000))
    check_mean([m.energy for m in found], exact_ising_energy((side, side), BETA))
    direct = integrated_autocorrelation_time([m.magnetization**2 * side**2 for m in found])
    assert np.mean([m.mean_cluster_size for m in found]) == pytest.approx(
        direct.mean, abs=4 * direct.standard_error
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "q", "update"), [((4, 3), 3, UPDATES[0]), ((3, 3), 4, UPDATES[1])], ids=str
)
def test_energies_of_small_lattices_are_those_of_all_configurations(shape, q, update):
    beta = critical_beta(q)
    simulation = PottsSimulation(shape, q, beta=beta, seed=7, update=update, tile=2)
    energies = [m.energy for m in simulation.advance(50).measure(4000)]
    check_mean(energies, enumerated_energy(shape, q, beta))


# ---------------------------------------------------------- autocorrelation


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_autocorrelation_times_of_a_known_process_are_found(memory):
    noise = np.random.default_rng(1).normal(size=200_000)
    series = np.empty(noise.size)
    series[0] = noise[0]
    for k in range(1, noise.size):
        series[k] = memory * series[k - 1] + noise[k]
    found = integrated_autocorrelation_time(series)
    assert abs(found.time - (1 + memory) / (1 - memory) / 2) < 4 * found.error
    assert found.standard_error == pytest.approx(1 / (1 - memory) / np.sqrt(noise.size), rel=0.1)


def test_a_constant_has_no_error():
    found = integrated_autocorrelation_time([-2.0] * 10)
    assert (found.time, found.standard_error, found.mean) == (0.5, 0.0, -2.0)


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"shape": (4, 1)}, "shape must have"),
        ({"shape": (2**16, 2**16)}, "shape must have"),
        ({"q": 1}, "q must be a whole number of 2 to 256; got 1"),
        ({"beta": None}, "one of beta and temperature must be given"),
        ({"temperature": 2.0}, "one of beta and temperature must be given"),
        ({"beta": -1.0}, "beta must be 0 or more; got -1.0"),
        ({"beta": None, "temperature": 0.0}, "Use beta=inf"),
        ({"seed": -1}, "seed must be"),
        ({"start": "warm"}, "start must be"),
        ({"start": np.full((4, 4), 2)}, "of shape (4, 4); got 2 to 2"),
        ({"start": np.zeros((4, 5), int)}, "start must be"),
        ({"update": "wolff"}, "update must be one of"),
        ({"flip_probability": 1}, "not ergodic"),
        ({"method": "kalentev"}, "for a 2-dimensional lattice of bonds on 'cpu'"),
    ],
    ids=str,
)
def test_what_cannot_be_simulated_is_refused(wrong, said):
    arguments = {"shape": (4, 4), "q": 2, "beta": 1.0} | wrong
    with pytest.raises(ValueError, match=re.escape(said)):
        PottsSimulation(arguments.pop("shape"), arguments.pop("q"), **arguments)


def test_sweeps_are_checked_before_the_first_is_made():
    simulation = PottsSimulation((4, 4), beta=1.0)
    with pytest.raises(ValueError, match="every must be a whole number"):
        simulation.measure(10, every=0)
    with pytest.raises(ValueError, match="series must be"):
        integrated_autocorrelation_time([1.0, np.nan, 2.0, 3.0])


@pytest.mark.parametrize("update", ["swendsen_wang", "few_clusters"])
def test_spins_that_a_caller_has_changed_stay_within_their_arrays(update):
    chain = PottsSimulation((8, 8), beta=0.1, update=update, tile=4)
    chain.spins[...] = 255  # counts of states would be written beyond their table
    if update == "few_clusters":
        with pytest.raises(ValueError, match="of 0 to q - 1; got"):
            next(chain.measure(1))
    else:
        assert next(chain.measure(1)).clusters > 0
    chain.spins = np.zeros((2, 2), np.uint8)
    for call in (chain.advance, chain.bonds, lambda: next(chain.measure(1))):
        with pytest.raises(
            ValueError, match=r"spins must stay an array of uint8 of shape \(8, 8\)"
        ):
            call()
