"""Sums of integers are exact for every type, and float64 only where int64 cannot hold them."""

from dataclasses import replace

import numpy as np
import pytest

from equilabel import measure_components, regionprops_table
from equilabel.measuring import compute_table, count_part, counting

NAMES = ("label", "intensity_sum", "intensity_mean", "intensity_min", "intensity_max")
TYPES = ("?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8")


def extremes(dtype, shape, seed=0):
    """Draw values of which half are the least and greatest of a type."""
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 0.5
    limits = np.iinfo(dtype)
    drawn = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = np.where(rng.random(shape) < 0.5, *np.array([limits.min, limits.max], dtype))
    return np.where(rng.random(shape) < 0.5, ends, drawn)


def python_sums(labels, values):
    flat = values.reshape(*labels.shape, -1)
    return [
        [sum(map(int, flat[labels == number][:, channel])) for channel in range(flat.shape[-1])]
        for number in np.unique(labels[labels > 0])
    ]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("channels", [(), (2,)])
def test_sums_of_integers_equal_those_of_python(dtype, channels):
    labels = np.random.default_rng(1).integers(0, 5, (9, 13))
    values = extremes(dtype, (*labels.shape, *channels))
    if dtype in ("u8", "i8"):
        values //= 256  # so that sums fit
    table = regionprops_table(labels, values, NAMES)
    expected = np.array(python_sums(labels, values))
    names = [f"intensity_sum-{k}" for k in range(2)] if channels else ["intensity_sum"]
    for channel, name in enumerate(names):
        assert table[name].dtype == np.int64
        assert table[name].tolist() == expected[:, channel].tolist()
        mean = table[name.replace("sum", "mean")]
        counts = np.bincount(labels.ravel())[1:]
        np.testing.assert_allclose(mean, expected[:, channel] / counts, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["u8", "i8"])
def test_sums_that_leave_64_bits_are_rounded_once(dtype):
    labels = np.array([[1, 1, 1, 2, 2]])
    values = np.full(labels.shape, np.iinfo(dtype).max, dtype)
    values[0, 3:] = 5
    table = regionprops_table(labels, values, NAMES)
    assert table["intensity_sum"].dtype == np.float64
    assert table["intensity_sum"].tolist() == [float(3 * np.iinfo(dtype).max), 10.0]


@pytest.mark.parametrize("dtype", TYPES[1:])
def test_long_sums_of_digits_are_exact_as_well(dtype, monkeypatch):
    labels = np.random.default_rng(2).integers(0, 4, (6, 70))
    values = extremes(dtype, labels.shape, 5)
    values //= 256 if np.dtype(dtype).itemsize == 8 else 1
    expected = [row[0] for row in python_sums(labels, values)]
    plain = regionprops_table(labels, values, (*NAMES, "intensity_std"))
    monkeypatch.setattr(counting, "LIMIT", 2)  # as if objects were larger
    table = regionprops_table(labels, values, (*NAMES, "intensity_std"))
    assert table["intensity_sum"].tolist() == expected
    np.testing.assert_allclose(table["intensity_std"], plain["intensity_std"], rtol=1e-12)


def test_half_precision_is_summed_in_double():
    labels = np.ones((300, 300), int)
    values = np.full(labels.shape, 60000, np.float16)
    table = regionprops_table(labels, values, NAMES)
    assert table["intensity_sum"] == 60000.0 * labels.size


def test_runs_and_labels_give_the_same_sums_of_wide_integers():
    mask = np.random.default_rng(3).random((40, 50)) < 0.5
    values = extremes("i8", mask.shape) // 4096
    table = measure_components(mask, NAMES, intensity_image=values)
    assert table["intensity_sum"].dtype == np.int64
    assert table["intensity_sum"].sum() == sum(map(int, values[mask]))


def test_parts_whose_sums_leave_64_bits_merge_into_floats():
    labels = np.ones((1, 2), int)
    values = np.full(labels.shape, 2**62 - 1, np.int64)
    place = {"shape": (2, 2), "properties": ["intensity_sum"]}
    one = count_part(labels, values, origin=(0, 0), **place)
    other = count_part(labels, values, origin=(1, 0), **place)
    assert compute_table(one, ["intensity_sum"])["intensity_sum"].tolist() == [2**63 - 2]
    assert compute_table(one.merge(other), ["intensity_sum"])["intensity_sum"].tolist() == [2.0**64]


@pytest.mark.parametrize("sign", [1, -1])
def test_merged_sums_beyond_int64_become_floats(sign):
    labels, values = np.array([[1, 1]]), np.full((1, 2), sign, np.int32)
    parts = [
        count_part(
            labels[:, k : k + 1],
            values[:, k : k + 1],
            properties=["intensity_mean"],
            origin=(0, k),
            shape=labels.shape,
        )
        for k in range(2)
    ]
    for most, kind in ((2**62 - 2**10, "i"), (3 * 2**61, "f")):
        sums = np.array([[sign * most]], np.int64)
        one, other = (replace(p, values=p.values._replace(sums=sums)) for p in parts)
        merged = one.merge(other).values.sums
        assert merged.dtype.kind == kind
        assert merged.tolist() == [[sign * 2 * most]]
