"""Thresholds for each object, beside a plain reference."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from skimage.filters import threshold_li

from equilabel import binarize, label, samples, segment, split_touching


def expected(gray, *, stacked=False, spacing=None):
    """Return the foreground of integers, as the docs define it, one object after the other."""
    how = {"tolerance": 0.5, "stacked": stacked, "spacing": spacing}
    level = int(threshold_li(gray))
    below = np.sort(gray[gray <= level])
    background = below[(len(below) - 1) // 2]
    apart = np.sort(np.abs(below - background))
    noise = 1.4826 * apart[(len(apart) - 1) // 2]
    low = min(background + max((level - background) / 2, 4 * noise), level)
    labels = split_touching(gray > level, **how)
    sizes = np.sort(np.bincount(labels.ravel())[1:])
    usual = sizes[np.searchsorted(np.cumsum(sizes), sizes.sum() / 2)]
    components = label(gray > np.floor(low), stacked=stacked)
    dim = np.zeros(gray.shape, bool)
    for number in range(1, components.max() + 1):
        own = components == number
        dim |= own & ((gray[own] > level).mean() < 0.8)
    parts = split_touching(dim, **how)
    for number in range(1, parts.max() + 1):
        own = parts == number
        if (gray[own] > level).mean() < 0.7 and usual / 3 <= own.sum() <= usual * 3:
            labels[own] = 10**6 + number
    mask = np.zeros(gray.shape, bool)
    for number in np.unique(labels)[1:]:
        own = labels == number
        mask |= own & (gray > background + np.floor(2 / 3 * (gray[own].mean() - background)))
    return mask


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_foreground_is_that_of_the_definition(dtype):
    image = samples.nuclei_2d((96, 128)).astype(np.int64) // 40
    image -= image.min()  # 0 to less than 128
    wanted = expected(image)
    assert 0 < wanted.sum() < (image > threshold_li(image)).sum()
    image = image.astype(dtype)
    if np.dtype(dtype).kind == "f":  # by 65,536 levels, which hardly differ
        image = image * np.asarray(8, dtype)
        assert np.count_nonzero(binarize(image, "per_object") != wanted) <= 5
    else:
        assert_array_equal(binarize(image, "per_object"), wanted)


def test_dark_objects_are_those_of_the_negative():
    image = samples.nuclei_2d((96, 128))
    negative = np.uint16(40_000) - image
    wanted = binarize(image, "per_object")
    assert_array_equal(binarize(negative, "per_object", dark=True), wanted)
    smooth = binarize(image, "per_object", sigma=1)
    other = binarize(negative, "per_object", sigma=1, dark=True)
    assert np.count_nonzero(smooth != other) <= 5  # smoothed values are rounded


def test_each_image_of_a_stack_has_objects_of_its_own():
    image = np.stack([samples.nuclei_2d((64, 64), seed=k) // 8 for k in range(3)])
    assert_array_equal(binarize(image, "per_object", stacked=True), expected(image, stacked=True))
    volume = samples.nuclei_3d((12, 40, 40))
    found = binarize(volume, "per_object", spacing=(2, 1, 1))
    assert_array_equal(found, expected(volume, spacing=(2, 1, 1)))


def test_nuclei_that_one_threshold_misses_are_found():
    image = samples.nuclei_2d()
    options = {"sigma": 1, "fill_holes": True, "split": 0.5, "min_size": 30}
    found, usual = segment(image, "per_object", **options), segment(image, **options)
    dim = found.table.intensity_mean < usual.threshold
    assert dim.sum() >= 5
    assert found.num > usual.num
    assert found.threshold < usual.threshold


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nan_and_infinite_pixels(dtype):
    image = samples.nuclei_2d((96, 128)).astype(dtype)
    before = binarize(image, "per_object")
    y, x = np.argwhere(~before & ~np.roll(before, 1, 0))[100]
    image[y, x] = np.nan
    mask = binarize(image, "per_object")
    assert not mask[y, x]
    assert np.count_nonzero(mask != before) < 30
    image[0, 0] = np.inf
    assert not binarize(image, "per_object")[0, 0]
    image[:] = np.nan
    mask, level = binarize(image, "per_object", return_threshold=True)
    assert not mask.any()
    assert np.isnan(level)


@pytest.mark.parametrize("value", [np.uint8(7), np.float32(1e30), np.int64(-(2**63))])
def test_an_image_of_one_value_has_no_objects(value):
    for shape in ((), (0,), (5,), (4, 1)):
        image = np.full((3, *shape), value)
        assert not binarize(image, "per_object").any()
        assert not binarize(image, "per_object", dark=True).any()


@pytest.mark.parametrize("ends", [(-(2**63), 2**63 - 1), (0, 2**64 - 1), (-1.7e308, 1.7e308)])
def test_values_at_the_ends_of_a_type(ends):
    kind = np.float64 if isinstance(ends[0], float) else np.uint64 if ends[0] == 0 else np.int64
    image = np.full((9, 9), ends[0], kind)
    image[2:5, 2:5] = ends[1]
    for dark in (False, True):
        assert_array_equal(binarize(image, "per_object", dark=dark), (image == ends[1]) != dark)


def test_masks_are_returned_as_they_are():
    mask = np.eye(3, dtype=bool)
    assert_array_equal(binarize(mask, "per_object"), mask)
    assert_array_equal(binarize(mask, "per_object", dark=True), ~mask)


@pytest.mark.gpu
def test_devices_find_the_same_pixels():
    import cupy

    rng = np.random.default_rng(3)
    for dtype, shape in (
        ("u1", (70, 90)),
        ("u2", (12, 40, 40)),
        ("f4", (64, 64)),
        ("i8", (60, 50)),
    ):
        image = (rng.gamma(2, 30, shape) + 200 * rng.random(shape) ** 8).astype(dtype)
        for sigma in (0, 1.5):
            for dark in (False, True):
                here = binarize(image, "per_object", sigma=sigma, dark=dark)
                there = binarize(cupy.asarray(image), "per_object", sigma=sigma, dark=dark)
                assert_array_equal(here, there.get())
