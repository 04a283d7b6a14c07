"""Lattices of bonds: which sites a bond joins, and the roots that methods find on them."""

from itertools import product

import numpy as np
import pytest

from equilabel.domains.bonds import Bonds
from equilabel.papers import load_passes, load_recipe
from references import BOND_METHODS, LATTICES, bond_roots, random_bonds


@pytest.mark.parametrize("periodic", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("step", [(0, 1), (1, 0), (1, 1), (1, -1)])
@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (2, 2), (1, 1)])
def test_neighbors_lie_one_step_away_around_periodic_axes(shape, step, periodic):
    bonds = Bonds(np.zeros(shape, np.uint8), np.array([step]), periodic)
    found = bonds.neighbors(0)
    for index, site in enumerate(np.ndindex(shape)):
        there = np.add(site, step)
        inside = all(
            wraps or 0 <= coordinate < side
            for wraps, coordinate, side in zip(periodic, there, shape, strict=True)
        )
        expected = np.ravel_multi_index(tuple(there % shape), shape) if inside else -1
        assert found[index] == expected


def test_offsets_are_distances_of_flat_indices():
    bonds = Bonds(np.zeros((4, 5, 6), np.uint8), np.array([[0, 0, 1], [1, 0, -1]]), (False,) * 3)
    assert bonds.offsets.tolist() == [1, 29]
    assert (bonds.shape, bonds.rank, bonds.size) == ((4, 5, 6), 3, 120)


@pytest.mark.parametrize("method", BOND_METHODS)
@pytest.mark.parametrize("name", LATTICES)
def test_roots_are_the_smallest_sites_on_every_lattice_and_boundary(method, name):
    shape, steps = LATTICES[name]
    for number, periodic in enumerate(product((False, True), repeat=len(shape))):
        share = (0.55, 0.3, 0.55, 1.0)[number % 4]
        bonds = random_bonds(shape, steps, periodic, share, seed=len(name))
        found = load_recipe(method)(load_passes(method, "cpu"), bonds).roots
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, bond_roots(bonds))


@pytest.mark.parametrize("method", BOND_METHODS)
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
@pytest.mark.long
def test_bonds_are_bits_of_integers_of_every_size(method, dtype):
    steps = [step for step in product((-1, 0, 1), repeat=3) if step > (0, 0, 0)]
    steps = steps[-8 * np.dtype(dtype).itemsize :]
    bonds = random_bonds((5, 6, 7), steps, (True, False, True), 0.08, dtype=dtype)
    found = load_recipe(method)(load_passes(method, "cpu"), bonds).roots
    np.testing.assert_array_equal(found, bond_roots(bonds))


def test_arrays_describe_the_lattice_to_passes():
    bonds = Bonds(np.zeros((4, 5), np.uint8), np.array([[0, 1]]), (True, False))
    assert [part.tolist() for part in bonds.arrays] == [[4, 5], [[0, 1]], [True, False]]
