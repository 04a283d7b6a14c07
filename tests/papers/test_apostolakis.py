"""Labels on many grids (Apostolakis, Coddington and Marinari 1991)."""

import importlib
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from equilabel.domains.bonds import Bonds
from equilabel.papers import load_passes, load_recipe
from references import bond_roots, grid_of, random_bonds

SQUARE = [(0, 1), (1, 0)]
TRIANGULAR = [(0, 1), (1, -1), (1, 0)]
CUBIC = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
CORNERS = [(0, 0, 1), (0, 1, -1), (0, 1, 1), (1, -1, 0), (1, -1, 1), (1, 1, 1)]
LATTICES = [
    *product([SQUARE, TRIANGULAR], [(9, 14), (2, 7), (1, 5), (2, 2), (1, 1), (33, 3)]),
    *product([CUBIC, CORNERS], [(5, 4, 7), (2, 1, 9), (2, 2, 2)]),
    ([(1,)], (37,)),
    ([(1,)], (1,)),
]
PASSES = load_passes("apostolakis", "cpu")


def find(domain):
    return load_recipe("apostolakis")(PASSES, domain)


@pytest.mark.parametrize(("steps", "shape"), LATTICES)
def test_roots_of_bonds_are_smallest_indices_whatever_is_periodic(steps, shape):
    for seed, periodic in enumerate(product([False, True], repeat=len(shape))):
        for p in (0.2, 0.5, 0.9):
            bonds = random_bonds(shape, steps, periodic, p, seed)
            np.testing.assert_array_equal(find(bonds).roots, bond_roots(bonds))


@pytest.mark.parametrize("shape", [(64,), (100,), (32, 64), (33, 7), (9, 17, 5)])
@pytest.mark.parametrize("wraps", [False, True])
def test_where_all_connections_are_on_one_cycle_is_enough(shape, wraps):
    steps = np.eye(len(shape), dtype=np.int64)[::-1]
    bonds = random_bonds(shape, steps, (wraps,) * len(shape), 1)
    found = find(bonds)
    assert (found.roots == 0).all()
    assert found.rounds == 2  # the second changes nothing


@pytest.mark.parametrize("levels", range(1, 11))
def test_a_line_takes_a_cycle_of_as_many_levels_as_its_length_has_digits(levels):
    line = grid_of(np.ones(2**levels, np.uint8))
    assert PASSES.start(line).levels == levels
    assert find(line).rounds == 2


def snake(size):
    """Draw a path of one pixel, to and fro, through every second row of a square."""
    image = np.zeros((size, size), np.uint8)
    image[::2] = 1
    image[1::4, -1] = image[3::4, 0] = 1
    return image


@pytest.mark.parametrize("side", [5, 9, 17, 33, 65])
def test_a_path_that_winds_to_and_fro_takes_a_cycle_for_each_of_its_turns(side):
    """The worst case, which the paper leaves aside: labels pass one turn in a cycle."""
    assert find(grid_of(snake(side))).rounds == side // 2 + 3


def test_cycles_at_the_threshold_grow_with_the_logarithm_of_the_side():
    """Figure 1: percolation at p = 1/2; powers of the side would double from one to the next."""

    def cycles(side):
        lattices = [
            random_bonds((side, side), SQUARE, (True, True), 0.5, seed) for seed in range(12)
        ]
        return np.mean([find(bonds).rounds for bonds in lattices])

    grown = np.diff([cycles(2**k) for k in range(3, 8)])
    assert (grown < 4).all()
    assert grown.mean() > 1


def test_two_halves_of_a_way_make_a_connection():
    bonds = Bonds(np.array([1, 1, 1, 0, 1, 1, 1, 0], np.uint8), np.array([(1,)]), (False,))
    grids = PASSES.start(bonds)
    for level, connected in enumerate(([0, 1, 2, 4, 5, 6], [0, 1, 4, 5], [])):
        PASSES.improve(grids, level)
        assert np.flatnonzero(grids.connections[level] & 1).tolist() == connected


def test_equal_labels_make_a_connection_where_no_direct_way_is():
    image = np.array([[1, 1, 1], [1, 0, 1]], np.uint8)
    grids = PASSES.start(grid_of(image))
    PASSES.improve(grids, 1)
    assert not grids.connections[1, 3] & 1
    grids.labels[:] = np.where(image.ravel(), 0, -1)
    PASSES.improve(grids, 1)
    assert grids.connections[1, 3] & 1  # from pixel to pixel, two steps to the right
    assert grids.connections[1, 4] == 0  # background


def test_all_elements_look_at_the_same_time():
    grids = PASSES.start(grid_of(np.ones(8, np.uint8)))
    PASSES.propagate(grids, 0)
    assert grids.labels.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]
    assert (PASSES.has_changed(grids), PASSES.has_changed(grids)) == (True, False)


def test_the_experiment_leaves_the_last_cycle_out(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples" / "papers")
    count_cycles = importlib.import_module("apostolakis").count_cycles

    def ring(side, random, device):
        return random_bonds((side,), [(1,)], (True,), 1)

    assert [count_cycles(ring, side, 2) for side in (8, 16)] == [1, 1]
