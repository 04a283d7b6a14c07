"""Smoothing: a Gaussian in physical units that knows about stacks and missing pixels."""

from __future__ import annotations

import re
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage
from skimage import filters

from equilabel.quantities import without_blur_warnings
from equilabel.segmentation.filters import smooth

NAN, INF = np.nan, np.inf


def noise(shape, dtype="f8", seed=0):
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


@pytest.mark.parametrize("shape", [(50,), (20, 31), (300, 400), (9, 12, 10), (4, 5, 6, 7)])
def test_smoothing_equals_that_of_skimage(shape):
    image = noise(shape)
    assert_allclose(smooth(image, 1.7), filters.gaussian(image, 1.7, preserve_range=True))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        *[(dtype, "f4") for dtype in ("?", "u1", "i1", "u2", "i2", "f2", "f4")],
        *[(dtype, "f8") for dtype in ("u4", "i4", "u8", "i8", "f8", ">f8")],
    ],
)
def test_the_type_is_wide_enough_and_the_range_kept(dtype, expected):
    image = noise((20, 30)).astype(dtype)
    result = smooth(image, 2.0)
    assert result.dtype == expected
    assert_allclose(result, ndimage.gaussian_filter(image.astype("f8"), 2.0, mode="nearest"), 1e-5)


def test_a_number_is_in_pixels_and_a_length_in_space():
    image = noise((60, 140))
    known = {"spacing": (2.0, 0.5), "unit": "um"}
    pixels = ndimage.gaussian_filter(image, 2.0, mode="nearest")
    space = ndimage.gaussian_filter(image, (1.0, 4.0), mode="nearest")
    for sigma in (2.0, "2", "2px", (2, "2px")):
        assert_allclose(smooth(image, sigma, **known), pixels)
    for sigma in ("2um", "2000 nm", ("2um", "2 µm"), ("1px", "2um")):
        assert_allclose(smooth(image, sigma, **known), space)


@pytest.mark.parametrize(
    ("sigma", "shape", "stacked", "asked"),
    [
        (
            3.0,
            (60, 90),
            False,
            "sigma=3.0 blurs the image over 7 pixels, .* of its 60",
        ),
        (
            "2um",
            (512, 512),
            False,
            "sigma='2um' is 38.8 pixels and blurs .* over 91 pixels, .* of its 512",
        ),
        ((0, 5.0), (60, 90), False, "over 12 pixels, .* of its 90"),
        (3.0, (80, 90), False, ""),
        (2.0, (9, 9), False, ""),
        (3.0, (5, 80, 90), True, ""),
        (3.0, (1, 80), False, ""),
    ],
)
def test_a_blur_wider_than_a_tenth_of_the_image_is_questioned(sigma, shape, stacked, asked):
    known = {"spacing": 0.0515, "unit": "µm", "stacked": stacked}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        smooth(np.zeros(shape), sigma, **known)
    said = [str(each.message) for each in caught]
    assert len(said) == bool(asked)
    assert all(re.search(asked, text) for text in said)


@pytest.mark.parametrize("dtype", ["u1", "f4", "i8"])
@pytest.mark.parametrize("sigma", [0, (0, 0)])
def test_sigma_0_leaves_the_image_alone(sigma, dtype):
    image = noise((5, 6), dtype)
    assert smooth(image, sigma) is image


def test_nothing_is_smoothed_along_a_stack():
    stack = noise((4, 20, 30))
    result = smooth(stack, 1.5, stacked=True)
    for frame, part in zip(stack, result, strict=True):
        assert_array_equal(part, smooth(frame, 1.5))


@pytest.mark.parametrize(
    ("sigma", "spacing"),
    [((9, 1, 2), 2.0), ((1, 2), (9, 2, 2)), ("4um", (9, 4, 2)), (("9px", "2um", "4um"), (2, 2))],
)
def test_sequences_may_leave_out_the_stacked_axis(sigma, spacing):
    stack = noise((3, 20, 30))
    result = smooth(stack, sigma, spacing=spacing, unit="um", stacked=True)
    assert_array_equal(result[1], smooth(stack[1], (1.0, 2.0)))


@pytest.mark.parametrize("shape", [(1, 30), (30, 1), (1, 1, 9)])
def test_an_axis_of_one_pixel_changes_nothing(shape):
    image = noise(shape)
    assert_array_equal(smooth(image, 1.5).ravel(), smooth(image.ravel(), 1.5))


@pytest.mark.parametrize("sigma", [1e-300, 1e-170, 1e-9, 0.1])
def test_a_tiny_sigma_changes_no_gray_value(sigma):
    image = noise((6, 7))
    assert_array_equal(smooth(image, sigma), image)


@pytest.mark.parametrize("value", [0, 93, 255])
def test_a_constant_image_stays_constant(value):
    assert_array_equal(smooth(np.full((20, 30), value, np.uint8), 1.3), value)


@pytest.mark.parametrize("hole", [NAN, INF, -INF])
def test_missing_pixels_stay_missing_and_lend_nothing(hole):
    image = noise((20, 30)) + 1
    image[5:8, 6:9] = hole
    result = smooth(image, 1.5)
    assert_array_equal(result[5:8, 6:9], hole)
    outside = np.ones(image.shape, bool)
    outside[5:8, 6:9] = False
    assert np.isfinite(result[outside]).all()
    assert 1 <= result[outside].min() <= result[outside].max() <= 100
    assert_allclose(result[-5:, -5:], smooth(np.nan_to_num(image, True, 0, 0, 0), 1.5)[-5:, -5:])


def test_missing_pixels_do_not_darken_their_neighbors():
    image = np.full((9, 9), 7.0)
    image[0, 0] = 8
    image[4, 4] = NAN
    assert_allclose(smooth(image, 1.0)[3, 4], 7.0, rtol=1e-3)


def test_an_image_without_a_finite_pixel_is_left_alone():
    assert_array_equal(smooth(np.full((3, 3), NAN), 1.0), np.full((3, 3), NAN))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_do_not_change_a_bit(threads, monkeypatch):
    image = noise((500, 600))
    monkeypatch.setenv("EQUILABEL_NUM_THREADS", threads)
    assert_array_equal(smooth(image, 2.0), ndimage.gaussian_filter(image, 2.0, mode="nearest"))


def test_questions_are_left_out_in_one_thread_alone():
    image = np.zeros((40, 40))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with without_blur_warnings():
            smooth(image, 10)
            other = threading.Thread(target=smooth, args=(image, 11))
            other.start()
            other.join()
        smooth(image, 12)
    assert [str(each.message)[:8] for each in caught] == ["sigma=11", "sigma=12"]
