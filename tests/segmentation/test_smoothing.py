"""Gaussian smoothing: that of SciPy to the last bit, on the CPU and on a GPU."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from equilabel import segment, smooth
from equilabel.segmentation.filters import gaussian

pytestmark = pytest.mark.filterwarnings("ignore:sigma")  # wider than small images

KINDS = ("?", "u1", "i2", "u2", "u4", "i8", "f2", "f4", "f8")


def random_image(rng, shape, kind):
    image = ndimage.gaussian_filter(rng.standard_normal(shape), 1) * 300
    return image > 0 if kind == "?" else np.abs(image).astype(kind)


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(["nearest", "reflect"]))
def test_values_are_those_of_scipy_to_the_last_bit(seed, kind, mode):
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 6))
    image = random_image(rng, tuple(rng.integers(1, (0, 90, 40, 14, 7, 5)[axes], axes)), kind)
    dtype = np.dtype(np.float64 if image.dtype.itemsize > 4 or kind == "u4" else np.float32)
    widths = rng.choice([0, 0.1, 0.6, 1, 3.3], axes)
    expected = image.astype(dtype)
    for axis, width in enumerate(widths):
        if width > 0.12 and (mode == "reflect" or image.shape[axis] > 1):
            ndimage.gaussian_filter1d(expected, width, axis, output=expected, mode=mode)
    for pixels in (image, np.asfortranarray(image), image[::-1][::-1]):
        found = gaussian(pixels, dtype, widths.tolist(), mode=mode)
        assert found.values.dtype == dtype
        np.testing.assert_array_equal(found.values, expected)
        assert found.span == (expected.min(), expected.max(), True)


def test_many_pixels_are_smoothed_in_threads_as_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    for shape in ((1500, 1700), (3, 1100, 1000), (200, 130, 110), (2, 40, 200, 180)):
        image = random_image(rng, shape, "u2")
        found = smooth(image, 1.5)
        monkeypatch.setenv("EQUILABEL_NUM_THREADS", "3")
        np.testing.assert_array_equal(smooth(image, 1.5), found)
        monkeypatch.delenv("EQUILABEL_NUM_THREADS")
        expected = image.astype(np.float32)
        for axis in range(image.ndim):
            ndimage.gaussian_filter1d(expected, 1.5, axis, output=expected, mode="nearest")
        np.testing.assert_array_equal(found, expected)


def test_images_without_contrast_stay_as_they_are():
    for kind in KINDS[1:]:
        image = np.full((9, 8), 7, kind)
        np.testing.assert_array_equal(smooth(image, 1.3), image)
    image = np.full((9, 8), 0.1, "f4")
    image[4, 4] = np.nextafter(np.float32(0.1), np.float32(1))
    expected = ndimage.gaussian_filter(image, 3, mode="nearest")
    np.testing.assert_array_equal(smooth(image, 3), expected)
    image[4, 4] = np.nan
    np.testing.assert_array_equal(smooth(image, 3), image)


@pytest.mark.gpu
def test_a_gpu_finds_the_same_pixels_as_the_host():
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    for seed in range(60):
        rng = np.random.default_rng(seed)
        axes = int(rng.integers(1, 5))
        stacked = bool(axes > 1 and rng.random() < 0.3)
        kind = KINDS[seed % len(KINDS)]
        image = random_image(rng, tuple(rng.integers(1, (0, 200, 50, 16, 8)[axes], axes)), kind)
        if kind in ("f4", "f8") and rng.random() < 0.5:
            image.flat[rng.integers(image.size)] = rng.choice([np.nan, np.inf])
        here = smooth(image, 1.2, stacked=stacked)
        there = smooth(cupy.asarray(image), 1.2, stacked=stacked)
        np.testing.assert_array_equal(there.get(), here)
        options = {"sigma": 0.8, "stacked": stacked, "fill_holes": True, "min_size": 2}
        options |= {"split": bool(seed % 2), "threshold": ("otsu", "triangle", "mean")[seed % 3]}
        found = segment(cupy.asarray(image), **options)
        np.testing.assert_array_equal(found.labels.get(), segment(image, **options).labels)
