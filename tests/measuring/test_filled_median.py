"""Filled areas and medians, scikit-image's to the last bit; and percentiles, as NumPy's."""

import re

import numpy as np
import pytest
from skimage import measure as reference

from equilabel import PROPERTIES, label, measure_components, regionprops_table
from equilabel.measuring.cpu import sorted_runs as medians

NAMES = ("label", "area_filled", "intensity_median")
VALUES = ("?", "i2", "u8", "f2", "f8", ">i2", ">f4")


def rings(shape, rng):
    """Number rings (shells) around each other, with gaps and with pixels between them."""
    away = np.sqrt(sum((np.indices(shape).T - (np.array(shape) - 1) / 2).T ** 2))
    labels = np.where(np.rint(away) % 3 == 0, np.rint(away).astype(int) // 3 + 1, 0)
    labels[rng.random(shape) < rng.choice([0, 0.02, 0.1])] = 0
    return np.where((labels == 0) & (rng.random(shape) < 0.05), 9, labels)


def mazes(shape, rng):
    """Number one label with many holes, some of them open at a corner alone."""
    return (rng.random(shape) < rng.choice([0.5, 0.7, 0.9])).astype(int)


def random_labels(shape, rng):
    return rng.integers(0, 3, shape)


KINDS = (rings, mazes, random_labels)
FEW = medians.FEW


def values_of(shape, dtype, rng):
    values = rng.normal(size=shape) * 60
    values = values > 0 if dtype == "?" else np.abs(values) if "u" in dtype else values
    return values.astype(dtype)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_columns_are_those_of_scikit_image(make, monkeypatch):
    """Few values of an object are sorted, many are counted."""
    rng = np.random.default_rng(1)
    shapes = [(1, 9), (9, 1), (7, 70), (20, 23), (1, 1, 9), (3, 3, 9), (6, 5, 7), (4, 3, 70)]
    shift = KINDS.index(make)
    for number, shape in enumerate(shapes):
        labels = make(shape, rng)
        labels[(0,) * len(shape)] = 1
        dtype = VALUES[(number + 2 * shift) % len(VALUES)]
        values = values_of(shape, dtype, rng)
        if (number + shift) % 2:  # two channels
            values = np.stack([values, values_of(shape, dtype, rng)], axis=-1)
        theirs = reference.regionprops_table(labels, values, NAMES)
        for few in (FEW, 0):
            monkeypatch.setattr(medians, "FEW", few)
            ours = regionprops_table(labels, values, NAMES)
            assert list(ours) == list(theirs)
            for name, column in theirs.items():
                assert ours[name].dtype == column.dtype
                np.testing.assert_array_equal(ours[name], column)


def test_a_hole_that_is_open_at_a_corner_or_at_the_border_is_none():
    labels = np.array(
        [
            [1, 1, 1, 0, 2, 2, 2, 3, 3, 3],
            [1, 0, 1, 0, 2, 0, 2, 3, 4, 0],
            [1, 1, 1, 0, 2, 2, 0, 3, 3, 3],
        ]
    )
    table = regionprops_table(labels, properties=("area_filled",), spacing=(2, 0.5))
    assert table["area_filled"].tolist() == [9, 7, 7, 1]
    solid = np.ones((3, 3, 3), int)
    solid[1, 1, 1] = 0
    assert regionprops_table(solid, properties=("area_filled",))["area_filled"] == 27
    solid[0, 0, 0] = 0
    assert regionprops_table(solid, properties=("area_filled",))["area_filled"] == 25


def test_missing_and_infinite_values_count_as_in_numpy():
    labels = np.array([[1, 1, 1, 2, 2, 3, 3, 4]])
    values = np.array([[1.0, np.nan, 2.0, np.inf, 3.0, -np.inf, np.inf, 5.0]])
    with np.errstate(invalid="ignore"):
        table = regionprops_table(labels, values, ("intensity_median",))
    np.testing.assert_array_equal(table["intensity_median"], [np.nan, np.inf, np.nan, 5])


@pytest.mark.parametrize("pattern", ["up", "down", "hill", "valley", "saw", "two", "one"])
@pytest.mark.parametrize("size", [1, 2, 10, 20_000])
def test_percentiles_of_regular_values_are_those_of_numpy(pattern, size):
    up = np.arange(size)
    patterns = {"up": up, "down": -up, "hill": np.minimum(up, size - up), "valley": abs(up - 9)}
    patterns |= {"saw": up % 7, "two": up % 2, "one": 0 * up}
    values = patterns[pattern].astype(np.float32)[np.newaxis]
    names = ["intensity_median", *(f"intensity_p{share:02}" for share in (5, 25, 75, 95))]
    found = regionprops_table(np.ones((1, size), int), values, names)
    for name, column in found.items():
        share = 50 if name == "intensity_median" else int(name[-2:])
        np.testing.assert_allclose(column, np.percentile(values, share), rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("dtype", VALUES)
def test_percentiles_are_those_of_numpy(dtype):
    rng = np.random.default_rng(2)
    names = [name for name in PROPERTIES if re.fullmatch(r"intensity_p\d\d", name)]
    assert names == [f"intensity_p{percent:02}" for percent in (5, 10, 25, 75, 90, 95)]
    for shape in ((30, 33), (9, 8, 70)):
        labels = rings(shape, rng)
        values = np.stack([values_of(shape, dtype, rng) for _ in range(2)], axis=-1)
        table = regionprops_table(labels, values, ("label", *names), spacing=0.5)
        for row, number in enumerate(table["label"]):
            own = values[labels == number].astype(float)
            for name in names:
                wanted = np.percentile(own, int(name[-2:]), axis=0)
                found = [table[f"{name}-{channel}"][row] for channel in (0, 1)]
                np.testing.assert_allclose(found, wanted, rtol=1e-12)
    labels = np.array([[1, 1, 1, 2, 2, 3]])
    values = np.array([[1.0, np.nan, 2.0, np.inf, np.inf, 5.0]])
    found = regionprops_table(labels, values, ("intensity_p90",))["intensity_p90"]
    np.testing.assert_array_equal(found, [np.nan, np.inf, 5])


@pytest.mark.parametrize("count", [1, 2])
def test_images_of_a_stack_and_threads_give_what_each_image_gives(count, many_threads):
    many_threads(count)
    rng = np.random.default_rng(3)
    mask = rng.random((3, 40, 70)) < 0.6
    values = rng.integers(0, 999, mask.shape).astype(np.uint16)
    labels, found = label(mask, stacked=True, properties=NAMES, intensity_image=values)
    table = measure_components(mask, NAMES, stacked=True, intensity_image=values)
    alone = [reference.regionprops_table(*pair, NAMES) for pair in zip(labels, values, strict=True)]
    for name in NAMES:
        expected = np.concatenate([each[name] for each in alone])
        for given in (found, table, regionprops_table(labels, values, NAMES, stacked=True)):
            np.testing.assert_array_equal(given[name], expected)
