"""Lattices of bonds: which sites a bond joins."""

import numpy as np
import pytest

from equilabel.bonds import Bonds


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
