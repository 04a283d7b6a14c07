"""Binarizing: scikit-image's thresholds to the last bit, and an answer where it has none."""

from __future__ import annotations

import tracemalloc
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal
from skimage import filters

from equilabel import label
from equilabel.segmentation.binarization import binarize
from equilabel.segmentation.cpu import histogram
from equilabel.segmentation.thresholds import (
    THRESHOLDS,
    count_floats,
    count_integers,
    descend,
    isodata,
)
from pictures import pictures

INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
TYPES = [*INTEGERS, "f4", "f8"]
SPLITTING = [name for name in THRESHOLDS if name != "minimum"]  # never fail
NAN, INF = np.nan, np.inf


def two_classes(dtype="u1", shape=(30, 41), seed=0):
    """Make dark and bright pixels with noise, negative ones where the type has them."""
    rng = np.random.default_rng(seed)
    values = 40 + 8 * rng.standard_normal(shape) + 50 * (rng.random(shape) < 0.3)
    values = np.clip(values, 0, 120)
    if np.dtype(dtype).kind != "u":
        values -= 60
    return (values if np.dtype(dtype).kind == "f" else np.rint(values)).astype(dtype)


def found_threshold(image, method="otsu"):
    """Return the threshold with which `binarize` separates an image."""
    return binarize(image, method, return_threshold=True)[1]


def expected_threshold(image, method):
    """Ask scikit-image, without its overflow of small signed integers."""
    wide = image.astype(np.int64) if image.dtype.kind == "i" else image.copy("K")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(filters, f"threshold_{method}")(wide)


# ------------------------------------------------------------ equal to skimage


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("method", THRESHOLDS)
def test_thresholds_equal_those_of_skimage(method, dtype):
    image = two_classes(dtype)
    assert found_threshold(image, method) == expected_threshold(image, method)


@pytest.mark.parametrize("method", SPLITTING)
@given(
    image=arrays(
        st.sampled_from([np.uint8, np.int16, np.int64]),
        array_shapes(min_dims=1, max_dims=4, max_side=9),
        elements=st.integers(0, 100),
    )
)
def test_thresholds_of_any_integers_equal_those_of_skimage(method, image):
    if image.min() < image.max():
        assert found_threshold(image, method) == expected_threshold(image, method)


@pytest.mark.parametrize("method", SPLITTING)
@given(
    image=arrays(
        st.sampled_from([np.float32, np.float64]),
        array_shapes(min_dims=1, max_dims=3, max_side=9),
        elements=st.floats(-1000, 1000, width=16),
    )
)
def test_thresholds_of_any_floats_equal_those_of_skimage(method, image):
    if image.min() < image.max():
        found = found_threshold(image, method)
        try:
            expected = expected_threshold(image, method)
        except IndexError:  # float32 is too coarse for its isodata
            assert method == "isodata"
            assert image.min() <= found < image.max()
        else:
            assert found == expected


def test_isodata_sums_in_the_precision_of_skimage():
    counts = np.zeros(41, np.int64)
    counts[[0, -1]] = 895_953_460, 864_797_586  # found by trial
    values = np.arange(41)
    with np.errstate(all="ignore"):
        assert isodata(counts, values) == filters.threshold_isodata(hist=(counts, values)) == 19


@pytest.mark.parametrize("counts", [[1, 4, 1], [3, 1, 2, 9], [9, 2, 1, 3], [2, 7, 4, 1, 1, 1]])
def test_triangles_of_either_side_equal_those_of_skimage(counts):
    image = np.repeat(np.arange(len(counts)), counts)
    assert found_threshold(image, "triangle") == filters.threshold_triangle(image)


def test_two_of_three_peaks_are_merged_however_long_it_takes():
    peaks = [100 + 4 * np.arange(-2, 3), 175 + 4 * np.arange(-2, 3), 420 + 4 * np.arange(-2, 3)]
    image = np.repeat(np.concatenate(peaks), 30)
    assert found_threshold(image, "minimum") == filters.threshold_minimum(image)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
@pytest.mark.parametrize("method", ["otsu", "li", "mean"])
@pytest.mark.parametrize(
    "lay",
    [
        np.asfortranarray,
        lambda image: image[::-2, 1:],
        lambda image: image.astype(image.dtype.newbyteorder(">")),
        lambda image: np.broadcast_to(image, (2, *image.shape)),
        lambda image: image.tolist(),
    ],
    ids=["fortran", "strided", "big-endian", "read-only", "list"],
)
def test_the_layout_of_an_image_does_not_matter(lay, method, dtype):
    image = lay(two_classes(dtype))
    expected = expected_threshold(np.asarray(image).astype(np.asarray(image).dtype.str[1:]), method)
    assert found_threshold(image, method) == expected
    assert_array_equal(binarize(image, method), np.asarray(image) > expected)


@pytest.mark.parametrize("method", THRESHOLDS)
def test_half_floats_are_treated_as_single_ones(method):
    image = two_classes("f2")
    expected = expected_threshold(image.astype("f4"), method)
    assert found_threshold(image, method) == expected
    assert_array_equal(binarize(image, method), image.astype("f4") > expected)


PICTURES = pictures(
    ["blobs.tif", "BBBC007/A9 p7d.tif", "hela-cells.tif"],
    ["nuclei_2d.tif", "nuclei_3d.tif", "porous_medium.tif"],
)


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
@pytest.mark.parametrize("method", SPLITTING)
def test_thresholds_of_pictures_equal_those_of_skimage(path, method):
    from tifffile import imread

    image = imread(path)
    assert found_threshold(image, method) == expected_threshold(image, method)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4"])
def test_threads_count_every_pixel_once(dtype, monkeypatch):
    monkeypatch.setenv("EQUILABEL_NUM_THREADS", "3")
    image = two_classes(dtype, (1600, 2001))
    if dtype == "f4":
        counts, _ = count_floats(image, image.min(), image.max())
        expected = np.histogram(image, 256)[0]
    else:
        counts, first, _ = count_integers(image)
        expected = np.bincount(image.ravel().astype(int) - first)
    assert_array_equal(counts, expected)


@pytest.mark.slow
def test_finding_a_threshold_takes_no_copy_of_the_image():
    image = two_classes("u2", (1500, 1500))
    binarize(image)
    tracemalloc.start()
    binarize(image)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < image.size + 8e6  # the mask, and tables of gray values


# ------------------------------------------------------------------- the split


@pytest.mark.parametrize("dtype", TYPES)
def test_bright_objects_lie_above_the_threshold(dtype):
    image = two_classes(dtype)
    for method in THRESHOLDS:
        mask, threshold = binarize(image, method, return_threshold=True)
        assert isinstance(threshold, float)
        assert mask.dtype == np.bool_
        assert_array_equal(mask, image > threshold, method)


@pytest.mark.parametrize("dtype", TYPES)
def test_dark_objects_are_the_others(dtype):
    image = two_classes(dtype)
    for threshold in ("otsu", "mean", 17, 20.5):
        assert_array_equal(binarize(image, threshold, dark=True), ~binarize(image, threshold))


def test_of_two_gray_values_the_darker_is_found():
    image = np.array([[0, 255, 255, 0]], np.uint8)
    assert_array_equal(binarize(image, dark=True), image == 0)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("dark", [False, True])
def test_a_number_is_compared_exactly(dark, dtype):
    limits = np.iinfo(dtype)
    image = np.array([limits.min, 0, 6, 7, 8, limits.max], dtype)
    some = [-INF, -(2**70), -300, -0.5, 0, 7, 7.0, 7.5, np.float32(7.5), 2**70, 1e300, INF]
    for threshold in some:
        number = threshold if isinstance(threshold, int) else float(threshold)
        above = np.array([int(pixel) > number for pixel in image])
        mask = binarize(image, threshold, dark=dark)
        assert_array_equal(mask, above != dark, err_msg=repr(threshold))


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_a_number_beyond_2_to_the_53_is_compared_exactly(dtype):
    number = 2**53 + 1
    assert binarize(np.array([number - 1, number, number + 1], dtype), number).tolist() == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_number_beyond_the_type_is_compared_without_a_warning(dtype):
    image = np.array([-INF, -1, 1, INF], dtype)
    assert not binarize(image, 1e300).any()
    assert binarize(image, -1e300).tolist() == [False, True, True, False]


def test_a_list_or_an_array_may_be_the_threshold():
    image = two_classes()
    assert_array_equal(binarize(image, np.array(60)), binarize(image, 60))
    assert_array_equal(binarize(image, [50, 60]), binarize(image, (50, 60)))
    assert_array_equal(binarize(image, np.array([50, 60])), binarize(image, (50, 60)))


@pytest.mark.parametrize("threshold", [*THRESHOLDS, 60, (50, 60), "local"])
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_the_image_is_left_as_it_is(threshold, dtype):
    image = two_classes(dtype)
    before = image.copy()
    binarize(image, threshold, block_size=5 if threshold == "local" else None, sigma=1)
    assert_array_equal(image, before)


# ------------------------------------------------------------------ hysteresis


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(900,), (40, 50), (8, 12, 14)])
def test_hysteresis_equals_that_of_skimage(shape, dtype):
    image = two_classes(dtype, shape)
    mask, threshold = binarize(image, (15, 31.5), return_threshold=True)
    assert threshold == (15.0, 31.5)
    assert_array_equal(mask, filters.apply_hysteresis_threshold(image, 15, 31.5))


def test_hysteresis_keeps_weak_pixels_only_beside_strong_ones():
    image = [1, 5, 9, 5, 1, 5, 5, 1]
    assert binarize(image, (4, 8)).astype(int).tolist() == [0, 1, 1, 1, 0, 0, 0, 0]


def test_dark_hysteresis_is_mirrored():
    image = [9, 5, 1, 5, 9, 5, 5, 9]
    assert binarize(image, (2, 6), dark=True).astype(int).tolist() == [0, 1, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("dark", [False, True])
def test_hysteresis_between_equal_thresholds_is_a_threshold(dark):
    image = two_classes()
    assert_array_equal(binarize(image, (60, 60), dark=dark), binarize(image, 60, dark=dark))


def test_hysteresis_does_not_cross_a_stack():
    image = np.array([[9, 5, 1], [5, 1, 1]])
    assert binarize(image, (4, 8)).tolist()[1] == [True, False, False]
    assert binarize(image, (4, 8), stacked=True).tolist()[1] == [False, False, False]


# ----------------------------------------------------------------------- local


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("shape", "block"), [((300,), 9), ((40, 50), 11), ((9, 12, 14), (3, 5, 7))]
)
def test_local_thresholds_equal_those_of_skimage(shape, block, dtype):
    image = two_classes(dtype, shape)
    expected = image > filters.threshold_local(image, block, offset=-2.5)
    mask, threshold = binarize(image, "local", block_size=block, offset=-2.5, return_threshold=True)
    assert threshold is None
    assert_array_equal(mask, expected)


def test_dark_local_thresholds_are_those_of_the_negative():
    image = two_classes("i2")
    mask = binarize(image, "local", block_size=9, offset=-3, dark=True)
    assert_array_equal(mask, binarize(-image, "local", block_size=9, offset=-3))


def test_a_contrast_of_three_times_the_noise_leaves_an_empty_background_empty():
    rng = np.random.default_rng(0)
    disks = (np.indices((90, 100)).T % 30 < 9).all(axis=-1).T
    image = rng.normal(0, 5, disks.shape) + 200 * disks + np.arange(100)  # on a slope
    options = {"block_size": 31, "sigma": 1}
    flooded = label(binarize(image, "local", **options)).max()
    mask = binarize(image, "local", offset="auto", **options)
    assert flooded > 40
    assert label(mask).max() == label(disks).max() == 12
    assert (mask != disks).mean() < 0.02
    assert_array_equal(binarize(-image, "local", offset="auto", dark=True, **options), mask)
    image[0, 0], image[50, 50] = np.nan, np.inf
    stack = binarize(
        np.stack([image, np.zeros_like(image)]), "local", offset="auto", stacked=True, **options
    )
    assert label(stack[0]).max() >= 12
    assert not stack[1].any()
    with pytest.raises(TypeError, match="offset must be a number; got 'noise'"):
        binarize(image, "local", block_size=9, offset="noise")


def test_local_thresholds_do_not_cross_a_stack():
    stack = two_classes("u2", (3, 20, 30))
    mask = binarize(stack, "local", block_size=7, stacked=True)
    for frame, part in zip(stack, mask, strict=True):
        assert_array_equal(part, binarize(frame, "local", block_size=7))


@pytest.mark.parametrize("block", [(99, 5, 7), (5, 7)])
def test_a_block_may_leave_out_the_stacked_axis(block):
    stack = two_classes("u2", (2, 20, 30))
    mask = binarize(stack, "local", block_size=block, stacked=True)
    assert_array_equal(mask[1], binarize(stack[1], "local", block_size=(5, 7)))


def test_uneven_light_calls_for_a_local_threshold():
    ramp = np.linspace(0, 200, 200)
    image = np.tile(ramp, (40, 1))
    image[15:25, 20::40] += 20
    truth = image > ramp
    local = binarize(image, "local", block_size=15, offset=-5)
    assert (local == truth).mean() > 0.99 > (binarize(image) == truth).mean()


# ---------------------------------------------------------------- NaN, infinity


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("method", THRESHOLDS)
def test_only_finite_pixels_decide(method, dtype):
    image = two_classes(dtype)
    finite = image.copy()
    image = np.concatenate([image, [[NAN, INF, -INF] + [NAN] * (image.shape[1] - 3)]]).astype(dtype)
    expected = expected_threshold(finite, method)
    mask, threshold = binarize(image, method, return_threshold=True)
    assert threshold == expected
    assert_array_equal(mask[:-1], finite > expected)
    assert not mask[-1].any()


@pytest.mark.parametrize("threshold", [*THRESHOLDS, 0.0, (-1.0, 1.0), "local"])
@pytest.mark.parametrize("sigma", [0, 1])
@pytest.mark.parametrize("dark", [False, True])
def test_nan_and_infinities_are_never_foreground(threshold, sigma, dark):
    image = two_classes("f4")
    image[3, 4:6], image[10, 10], image[20, 20] = NAN, INF, -INF
    block = 7 if threshold == "local" else None
    mask = binarize(image, threshold, sigma=sigma, dark=dark, block_size=block)
    assert not mask[~np.isfinite(image)].any()
    assert mask.any()


@pytest.mark.parametrize("value", [[NAN, NAN], [INF, INF], [INF, -INF, NAN]])
@pytest.mark.parametrize("method", THRESHOLDS)
def test_without_a_finite_pixel_no_threshold_is_found(method, value):
    mask, threshold = binarize(value, method, return_threshold=True)
    assert np.isnan(threshold)
    assert not mask.any()


# ------------------------------------------------------------------- constants


@pytest.mark.parametrize("dtype", [*TYPES, "f2"])
def test_a_constant_image_is_all_background(dtype):
    image = np.full((6, 7), 93, dtype)
    for method in THRESHOLDS:
        for dark in (False, True):
            mask, threshold = binarize(image, method, dark=dark, return_threshold=True)
            assert threshold == 93, method
            assert not mask.any()


@pytest.mark.parametrize("value", [0, 93.7])
@pytest.mark.parametrize("dark", [False, True])
def test_a_constant_image_is_all_background_once_smoothed_or_locally(value, dark):
    image = np.full((20, 30), value, np.float32)
    assert not binarize(image, sigma=1.3, dark=dark).any()
    assert not binarize(image, "local", block_size=5, dark=dark).any()
    image[4, 4] = NAN
    assert not binarize(image, sigma=1.3, dark=dark).any()
    assert not binarize(image, "local", block_size=5, dark=dark).any()


def test_at_the_least_value_of_a_type_nothing_is_darker():
    assert not binarize(np.zeros(5, np.uint8), dark=True).any()
    assert not binarize(np.full(5, -128, np.int8), dark=True).any()
    assert not binarize(np.full(5, 255, np.uint8), dark=True).any()


def test_a_number_splits_a_constant_image_like_any_other():
    image = np.full((3, 4), 7, np.uint8)
    assert binarize(image, 6).all()
    assert not binarize(image, 7).any()
    assert binarize(image, 7, dark=True).all()


# -------------------------------------------------------------- bool and empty


@pytest.mark.parametrize("method", THRESHOLDS)
@pytest.mark.parametrize("image", [[[True, False, True]], [[True, True]], [[False]]])
def test_a_mask_stays_itself(method, image):
    mask, threshold = binarize(image, method, return_threshold=True)
    assert threshold == 0.5
    assert_array_equal(mask, image)
    assert_array_equal(binarize(image, method, dark=True), ~np.array(image))


def test_a_mask_can_be_smoothed_and_compared():
    mask = np.zeros((20, 20), bool)
    mask[5:15, 5:15] = True
    mask[0, 0] = True
    smooth = binarize(mask, 0.5, sigma=1.5)
    assert smooth[7, 7]
    assert not smooth[0, 0]
    assert binarize(mask, "local", block_size=5)[0, 0]


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0, 2)])
@pytest.mark.parametrize("threshold", ["otsu", "mean", "minimum", 5, (2, 3), "local"])
@pytest.mark.parametrize("dtype", ["?", "u1", "f4"])
def test_an_empty_image_has_an_empty_mask(threshold, shape, dtype):
    block = 3 if threshold == "local" else None
    image = np.zeros(shape, dtype)
    mask = binarize(image, threshold, sigma=1, block_size=block, stacked=len(shape) > 1)
    assert mask.shape == shape
    assert mask.dtype == np.bool_


def test_the_threshold_of_an_empty_image_is_nan():
    assert np.isnan(found_threshold(np.zeros((0, 3))))


# ------------------------------------------------------- beyond what skimage does


@pytest.mark.parametrize("method", SPLITTING)
def test_small_signed_integers_do_not_overflow(method):
    image = np.array([[-128, -120, 110, 127]], np.int8)
    assert binarize(image, method).tolist() in (
        [[False, False, True, True]],
        [[False, True, True, True]],
    )


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("i4", -(2**31), 2**31 - 1),
        ("u4", 0, 2**32 - 1),
        ("i8", -(2**63), 2**63 - 1),
        ("u8", 0, 2**64 - 1),
        ("u8", 2**64 - 1000, 2**64 - 1),
        ("i8", -(2**63), -(2**63) + 1000),
    ],
)
@pytest.mark.parametrize("method", ["otsu", "li", "triangle", "yen", "isodata", "mean"])
def test_integers_of_any_range_are_split(method, low, high, dtype):
    span = high - low
    image = np.array([low, low + span // 9, high - span // 9, high] * 5, dtype)
    mask = binarize(image, method)
    if method == "mean" and span < 2000:  # floats this large cannot tell the pixels apart
        return
    assert mask[3]
    assert not mask[0]
    assert_array_equal(mask, np.tile(mask[:4], 5))
    if method in ("otsu", "isodata", "mean", "li"):
        assert mask[:4].tolist() == [False, False, True, True]


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_the_mean_of_integers_is_exact(dtype):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    image = rng.integers(limits.min, limits.max, (30, 41), dtype, endpoint=True)
    assert found_threshold(image, "mean") == sum(image.ravel().tolist()) / image.size


def test_integers_of_a_wide_range_are_counted_in_wider_bins():
    image = np.array([5, 5, 2**30], np.int64)
    counts, first, width = count_integers(image)
    assert (counts[0], counts[-1], counts.sum(), first) == (2, 1, 3, 5)
    assert len(counts) <= 2**16
    assert width == -(-(2**30 - 4) // 2**16)


@pytest.mark.parametrize("method", ["otsu", "li", "isodata", "mean"])
@pytest.mark.parametrize(
    "values",
    [
        np.array([-16, -12.95, 13, 16], np.float32) * np.float32(2e37),
        np.array([-16, -12.95, 13, 16]) * 1e307,
        np.array([0, 3, 29, 32]) * 5e-324,
        np.array([0, 3, 29, 32]) * 2.0**-52 + 1,
        np.array([0, 3, 29, 32], np.float32) * np.float32(2**-23) + 1,
        np.array([0, 3.05, 29, 32], np.float32) * np.float32(1e25),
    ],
    ids=["large f4", "large f8", "subnormal", "close f8", "close f4", "squares overflow"],
)
def test_floats_of_any_range_are_split(values, method):
    image = np.repeat(values, 5)
    assert_array_equal(binarize(image, method), np.repeat([False, False, True, True], 5))


def test_isodata_falls_back_on_doubles_where_counts_exceed_singles():
    with np.errstate(all="ignore"):
        assert isodata(np.array([16_296_518_856, 209]), np.arange(2)) == 0


def test_a_descent_that_comes_round_again_ends():
    steps = {1.0: (2.0, 2.0 * np.e), 2.0: (1.0, np.e)}

    def means(threshold):  # from 1 to 2 (e - 1), and back
        return steps[1.0 if threshold < 2.5 else 2.0]

    assert descend(1.0, lambda change: change <= 0, means) == pytest.approx(2 * (np.e - 1))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("method", SPLITTING)
def test_neighboring_floats_are_told_apart(method, dtype):
    one = np.dtype(dtype).type(1)
    image = np.array([one, np.nextafter(one, 2 * one)] * 5)
    assert binarize(image, method).tolist() == [False, True] * 5


@pytest.mark.slow
def test_li_stands_a_mean_that_is_rounded_up_to_the_brightest_pixel():
    image = np.full(2**24, 0.1, np.float32)
    image[0] = 0
    assert found_threshold(image, "li") == pytest.approx(0.1)


# ----------------------------------------------------------------------- stacks


def test_one_threshold_serves_a_whole_stack():
    stack = two_classes("u2", (4, 20, 30))
    stack[2] += 40
    mask, threshold = binarize(stack, stacked=True, return_threshold=True)
    assert threshold == expected_threshold(stack, "otsu")
    assert_array_equal(mask, stack > threshold)


def test_smoothing_comes_before_the_threshold():
    image = two_classes("u1")
    from equilabel.segmentation.filters import smooth

    known = {"sigma": "3um", "spacing": (2.0, 1.5), "unit": "um"}
    expected = smooth(image, **known)
    assert_array_equal(
        binarize(image, "li", **known),
        expected > found_threshold(expected, "li"),
    )


# ----------------------------------------------------------------------- errors

IMAGE = two_classes()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"threshold": "ostu"}, ValueError, r"got 'ostu'. Did you mean 'otsu'\?"),
        ({"threshold": "Triangel"}, ValueError, r"Did you mean 'triangle'\?"),
        ({"threshold": "fuzzy"}, ValueError, "'per_object']; got 'fuzzy'. Pass 'otsu'"),
        ({"threshold": NAN}, ValueError, "threshold must be a number other than NaN; got nan"),
        ({"threshold": (1, NAN)}, ValueError, "threshold must be a number other than NaN; got nan"),
        ({"threshold": (5, 3)}, ValueError, r"low <= high; got \(5, 3\). Swap them"),
        ({"threshold": (1, 2, 3)}, TypeError, r"threshold must be .*; got \(1, 2, 3\)"),
        ({"threshold": None}, TypeError, "threshold must be .*; got None"),
        ({"threshold": True}, TypeError, "threshold must be .*; got True"),
        ({"threshold": 1j}, TypeError, "threshold must be .*; got 1j"),
        ({"threshold": (1, "2")}, TypeError, "threshold must be .*; got '2'"),
        ({"threshold": "local"}, ValueError, "block_size must be given .*; got None"),
        ({"threshold": "local", "block_size": 10}, ValueError, "must be odd, 3 to .*; got 10"),
        ({"threshold": "local", "block_size": 1}, ValueError, "block_size must be odd, 3 to"),
        ({"threshold": "local", "block_size": -5}, ValueError, "block_size must be 0 or more"),
        ({"threshold": "local", "block_size": 3.5}, ValueError, "block_size must be odd, 3 to"),
        ({"threshold": "local", "block_size": 10**9 + 1}, ValueError, "3 to 6001 pixels"),
        ({"threshold": "local", "block_size": (3, 4)}, ValueError, r"got \(3, 4\)"),
        ({"threshold": "local", "block_size": (3, 3, 3)}, ValueError, "each of 2 axes; got"),
        ({"threshold": "local", "block_size": "x"}, ValueError, "block_size must be .*; got 'x'"),
        ({"threshold": "local", "block_size": 3, "offset": NAN}, ValueError, "offset must be"),
        ({"threshold": "local", "block_size": 3, "offset": INF}, ValueError, "offset must be"),
        ({"threshold": "local", "block_size": 3, "offset": "a"}, TypeError, "offset must be"),
        ({"block_size": 5}, ValueError, "block_size must be left out unless .*'otsu'"),
        ({"offset": 5}, ValueError, "offset must be left out unless .*'otsu'"),
        ({"sigma": -1}, ValueError, "sigma must be 0 or more, and finite; got -1"),
        ({"sigma": NAN}, ValueError, "sigma must be 0 or more, and finite; got nan"),
        ({"sigma": INF}, ValueError, "sigma must be 0 or more, and finite; got inf"),
        ({"sigma": (1, 2, 3)}, ValueError, r"each of 2 axes; got \(1, 2, 3\)"),
        ({"sigma": "wide"}, ValueError, "sigma must be a number.*; got 'wide'"),
        ({"sigma": "500um", "spacing": 0.1, "unit": "um"}, ValueError, "500um', 5000 pixels"),
        ({"spacing": 0}, ValueError, "spacing must be positive and finite; got 0"),
        ({"spacing": (1, -1)}, ValueError, "spacing must be positive and finite; got -1"),
        ({"spacing": (1, 1, 1)}, ValueError, "spacing must be a number or 2 numbers"),
        ({"spacing": {"X": 1}}, ValueError, "spacing must be a number or 2 numbers"),
    ],
)
def test_a_wrong_argument_is_named(arguments, error, message):
    with pytest.raises(error, match=message.replace("]", r"\]")):
        binarize(IMAGE, **arguments)


@pytest.mark.parametrize(
    "image", [IMAGE * 1j, IMAGE.astype(object), IMAGE.astype(str), IMAGE.astype("M8[s]"), None]
)
def test_an_image_that_is_not_real_is_refused(image):
    with pytest.raises(TypeError, match=r"image must be bool, integer or float .*; got"):
        binarize(image)


def test_an_image_needs_an_axis():
    with pytest.raises(ValueError, match="image must have at least 1 axes"):
        binarize(5)
    with pytest.raises(ValueError, match="image must have at least 2 axes where stacked=True"):
        binarize([1, 2], stacked=True)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_bins_count_as_those_of_numpy_also_at_their_edges(kind):
    rng = np.random.default_rng(0)
    for shift, span in product((0, -3.0, 4e5), (1e-3, 1.0, 3e4)):
        edges = np.linspace(shift, shift + span, 257, dtype=kind)
        if not (edges[1:] > edges[:-1]).all():
            continue
        pixels = (shift + span * rng.uniform(-0.1, 1.1, 3000)).astype(kind)
        pixels[:700] = rng.choice(edges, 700)
        pixels[700:1100] = np.nextafter(rng.choice(edges, 400), -np.inf)
        pixels[1100:1200] = NAN
        pixels[1500:2100] = edges[0]
        place = np.searchsorted(edges, pixels, side="right") - 1
        place[pixels == edges[-1]] = 255
        inside = (pixels >= edges[0]) & (pixels <= edges[-1])
        expected = np.bincount(place[inside], minlength=256)
        np.testing.assert_array_equal(histogram.count_bins(pixels, edges), expected)


def test_a_histogram_of_one_peak_has_no_minimum():
    image = np.repeat(np.arange(5), [1, 4, 9, 4, 1])
    with pytest.raises(ValueError, match=r"needs .* two peaks; got one with 1. Pass another"):
        binarize(image, "minimum")


@pytest.mark.gpu
@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.3.0", reason="adds in another order")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("method", ["li", "mean"])
def test_floats_have_the_same_threshold_on_a_gpu(method, dtype):
    cupy = pytest.importorskip("cupy")
    rng = np.random.default_rng(0)
    for size in (2, 7, 8, 128, 129, 1000, 8193, 99_991, 2**20, 3_000_017):
        image = two_classes(dtype, (size,)) * rng.lognormal(size=size).astype(dtype)
        assert found_threshold(cupy.asarray(image), method) == found_threshold(image, method)
        image[2:][rng.random(size - 2) < 0.1] = NAN
        assert found_threshold(cupy.asarray(image), method) == found_threshold(image, method)
    large = np.array([-3, 1, 2, 3] * 300, dtype) * (np.finfo(dtype).max / 4)
    assert found_threshold(cupy.asarray(large), method) == found_threshold(large, method)
