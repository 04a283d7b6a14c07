"""Periodic axes: what touches beyond an end of the image is one component, and measured as one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equilabel import METHODS, label
from references import label_periodic_graph
from strategies import noise

SHAPES = [(7,), (130,), (5, 6), (9, 67), (1, 5), (2, 4), (4, 1, 3), (3, 4, 5), (3, 4, 3, 5)]


def boundaries(rank):
    return list(product([False, True], repeat=rank))[1:]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_joins_what_touches_across_boundaries(method, shape):
    rank = len(shape)
    for seed, periodic in enumerate(boundaries(rank)):
        for connectivity in range(1, rank + 1):
            for filled in (3, 6):
                image = noise(shape, "u1", 10, seed) < filled
                expected = label_periodic_graph(image, connectivity, periodic)
                found = label(image, connectivity=connectivity, method=method, periodic=periodic)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(8,), (4, 66), (3, 5, 6)], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_joins_only_equal_values_across_boundaries(method, shape):
    for seed, periodic in enumerate(boundaries(len(shape))):
        image = noise(shape, "i4", 3, seed)
        for connectivity in range(1, len(shape) + 1):
            expected = label_periodic_graph(image, connectivity, periodic)
            asked = {"connectivity": connectivity, "periodic": periodic, "method": method}
            np.testing.assert_array_equal(label(image, **asked), expected)
