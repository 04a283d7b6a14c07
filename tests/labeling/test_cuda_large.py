"""Images of more than 2^31 pixels on a GPU, whose labels are known from where pixels are."""

from __future__ import annotations

from math import prod

import pytest

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")

from equilabel import (
    label,
    measure_components,
)
from equilabel.labeling.output import planes_of_part

NEEDED = 24 * 2**30  # bytes
SHAPES = [(46_400, 46_400), (2_064, 1_008, 1_056)]
PERIOD, LENGTH = 16, 12  # of boxes along each axis, of which the rest is background


def free_memory():
    if not cupy.cuda.is_available():
        return 0
    cupy.get_default_memory_pool().free_all_blocks()
    return cupy.cuda.runtime.memGetInfo()[0]


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(free_memory() < NEEDED, reason="needs a GPU with 24 GiB free"),
]


@pytest.fixture(autouse=True)
def _give_back():
    yield
    cupy.get_default_memory_pool().free_all_blocks()


def boxes(shape):
    """Return an image of boxes."""
    image = cupy.ones(shape, cupy.uint8)
    for axis in range(len(shape)):
        for place in range(LENGTH, PERIOD):
            image[(slice(None),) * axis + (slice(place, None, PERIOD),)] = 0
    return image


def expected_plane(shape, index, plane):
    """Return the labels of boxes in one plane across the first axis."""
    counts = [side // PERIOD for side in shape]
    found = cupy.full((), index // PERIOD, cupy.int64)
    for count, side in zip(counts[1:], shape[1:], strict=True):
        found = found[..., None] * count + cupy.arange(side) // PERIOD
    return cupy.where(plane, found + 1, 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_boxes_are_numbered_and_counted_in_raster_order(shape):
    assert all(side % PERIOD == 0 for side in shape)
    cut = planes_of_part(shape)
    assert 0 < cut < shape[0]  # where two parts meet,
    assert 0 < cut % PERIOD < LENGTH  # boxes lie in both
    image = boxes(shape)
    labels, count = label(image, connectivity=1, return_num=True)
    assert labels.dtype == cupy.int32
    assert count == prod(side // PERIOD for side in shape)
    for index in (*range(0, shape[0], 97), *range(cut - PERIOD, cut + PERIOD), shape[0] - 1):
        plane = expected_plane(shape, index, image[index])
        assert bool((labels[index] == plane).all()), index
    whole = sum(int((labels[k : k + 64] > 0).sum()) for k in range(0, shape[0], 64))
    assert whole == count * LENGTH ** len(shape)
    del labels
    table = measure_components(image, ("num_pixels",), connectivity=1)
    pixels = cupy.asarray(table["num_pixels"])
    assert len(pixels) == count
    assert bool((pixels == LENGTH ** len(shape)).all())


def test_columns_that_are_joined_in_the_last_row_are_one_component():
    image = cupy.zeros(SHAPES[0], cupy.uint8)
    image[:, ::2] = 1
    image[-1] = 1
    for connectivity in (1, 2):
        labels, count = label(image, connectivity=connectivity, return_num=True)
        assert count == 1
        strips = [slice(k, k + 64) for k in range(0, len(image), 64)]
        assert all(bool((labels[strip] == image[strip]).all()) for strip in strips)
        del labels


def test_columns_that_are_apart_keep_their_numbers():
    image = cupy.zeros(SHAPES[0], cupy.uint8)
    image[:, ::2] = 1
    labels, count = label(image, connectivity=2, return_num=True)
    assert count == SHAPES[0][1] // 2
    row = cupy.arange(SHAPES[0][1]) // 2 + 1
    row[1::2] = 0
    assert all(bool((labels[k : k + 64] == row).all()) for k in range(0, len(image), 64))
