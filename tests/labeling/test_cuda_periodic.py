"""Periodic axes on a GPU: labels and columns are those of the CPU."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from equilabel import PROPERTIES, label, regionprops_table
from references import ANSWERS, GRID_METHODS, label_periodic_graph
from strategies import blobs, noise

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]

SHAPES = [(7,), (2311,), (5, 6), (9, 67), (70, 1100), (1, 5), (3, 2), (4, 1, 3), (3, 4, 130)]
SHAPES += [(11, 20, 37), (3, 4, 3, 70), (3, 4, 3, 5, 3), (3, 3, 4, 3, 3, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("method", ANSWERS)
def test_every_method_joins_what_touches_across_boundaries(method, shape):
    rank = len(shape)
    every = list(product([False, True], repeat=rank))[1:]
    for seed, periodic in enumerate(every[:: max(1, len(every) // 8)] + every[-1:]):
        for connectivity in range(1, rank + 1):
            images = [noise(shape, "u1", 10, seed) < filled for filled in (1 + 9 // 3**rank, 6)]
            images += [noise(shape, dtype, 3, seed) for dtype in ("u1", "i4", "u8")]
            images += [blobs(shape, "f4", 3, seed)]
            for image in images:
                expected = label_periodic_graph(image, connectivity, periodic)
                asked = {"connectivity": connectivity, "periodic": periodic, "method": method}
                found = label(cupy.asarray(image), **asked)
                np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("method", GRID_METHODS)
def test_any_method_may_come_before_the_boundaries(method):
    image = noise((70, 66), "i4", 3, seed=1)
    expected = label_periodic_graph(image, 2, (True, True))
    found = label(cupy.asarray(image), method=method, periodic=True)
    np.testing.assert_array_equal(found.get(), expected)


@pytest.mark.parametrize("method", ANSWERS)
def test_images_of_a_stack_are_periodic_each_by_itself(method):
    images = noise((3, 40, 70), "u1", 3, seed=5)
    asked = {"stacked": True, "periodic": True, "method": method}
    out = cupy.zeros(images.shape, np.int64)
    label(cupy.asarray(images), out=out, **asked)
    np.testing.assert_array_equal(out.get(), label(images, **asked))


@pytest.mark.parametrize("shape", [(3000, 3001), (200, 190, 210)], ids=str)
@pytest.mark.parametrize("values", [2, 3])
def test_large_images_have_the_labels_of_the_cpu_every_time(shape, values):
    image = blobs(shape, "u1", values, seed=values, sides=3)
    for connectivity in (1, len(shape)):
        asked = {"connectivity": connectivity, "periodic": True}
        expected = label(image, **asked)
        for _ in range(3):
            np.testing.assert_array_equal(label(cupy.asarray(image), **asked).get(), expected)


@pytest.mark.parametrize("shape", [(40,), (16, 19), (9, 70), (7, 8, 9), (5, 4, 6, 5)], ids=str)
def test_columns_are_those_of_the_cpu(shape):
    rank = len(shape)
    names = [
        name
        for name, row in PROPERTIES.items()
        if row.periodic and (not row.ranks or rank in row.ranks) and name != "frame"
    ]
    for seed, dtype in enumerate(["u1", "i4", "f4"]):
        kept = noise(shape, "i4", 4, seed) > rank - 2
        image = blobs(shape, "i4", 3, seed) * kept
        values = (noise(shape, "u1", 200, seed) + np.uint8(1)).astype(dtype)
        asked = {"periodic": True, "connectivity": 1, "properties": names}
        labels, expected = label(image, intensity_image=values, **asked)
        moved = {"intensity_image": cupy.asarray(values)}
        there, table = label(cupy.asarray(image), **moved, **asked, columns="host")
        np.testing.assert_array_equal(there.get(), labels)
        far = cupy.asarray(np.where(labels, labels.astype("i8") + 2**50, 0))
        on_gpu = cupy.asarray(values)
        again = regionprops_table(far, on_gpu, names, periodic=True, columns="host")
        for name, column in expected.items():
            np.testing.assert_allclose(table[name], column, rtol=1e-6, atol=1e-6, err_msg=name)
            if name != "label":
                np.testing.assert_allclose(again[name], column, rtol=1e-6, atol=1e-6, err_msg=name)
