"""Sums that 64 bits do not hold: second moments of very large objects stay exact."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equilabel import label, measure_components, regionprops_table
from equilabel.measuring import compute_table, count_part
from equilabel.measuring import counts as module

COLUMNS = ("label", "centroid", "inertia_tensor", "axis_major_length")


def exact_moments(labels, number):
    """Return centroid and covariance of an object as fractions."""
    where = np.argwhere(labels == number).astype(object)
    n = len(where)
    centroid = [Fraction(int(where[:, axis].sum()), n) for axis in range(labels.ndim)]
    covariance = [
        [Fraction(int((where[:, i] * where[:, j]).sum()), n) - centroid[i] * centroid[j]
         for j in range(labels.ndim)]
        for i in range(labels.ndim)
    ]  # fmt: skip
    return centroid, covariance


@pytest.mark.parametrize("length", [4_800_000, 5_000_000, 8_000_000])
@pytest.mark.parametrize("axes", [2, 3])
def test_lines_of_millions_of_pixels_have_their_length(length, axes):
    mask = np.zeros((3, length), bool)
    mask[1] = True
    mask = mask.reshape((1,) * (axes - 2) + mask.shape)
    factor = 4 if axes == 2 else 20**0.5
    expected = factor * ((length * length - 1) / 12) ** 0.5
    measured = measure_components(mask, ["axis_major_length", "inertia_tensor_eigvals"])
    assert measured["axis_major_length"] == pytest.approx(expected, rel=1e-15)
    eigenvalue = measured["inertia_tensor_eigvals-0"]
    assert eigenvalue == pytest.approx((length * length - 1) / 12, rel=1e-15)
    _, fused = label(mask, properties=["axis_major_length"])
    labels = mask.astype(np.uint8)
    table = regionprops_table(labels, properties=("axis_major_length", "centroid"))
    assert fused["axis_major_length"] == table["axis_major_length"] == measured["axis_major_length"]
    assert table[f"centroid-{axes - 1}"] == (length - 1) / 2


@given(seed=st.integers(0, 2**16), limit=st.sampled_from([2, 40, 3000]), stacked=st.booleans())
def test_exact_sums_are_those_of_fractions_wherever_the_limit_lies(seed, limit, stacked):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 9, rng.integers(2, 5)))
    labels = rng.integers(0, 4, shape).astype(np.int32)
    if stacked:
        labels += (
            (labels > 0)
            * 10
            * np.arange(shape[0], dtype=np.int32).reshape(-1, *[1] * (len(shape) - 1))
        )
    names = COLUMNS[:3] if len(shape) - stacked in (2, 3) else COLUMNS[:2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LIMIT", limit)
        table = regionprops_table(labels, properties=names, stacked=stacked)
    whole = regionprops_table(labels, properties=names, stacked=stacked)
    for name, column in table.items():
        np.testing.assert_allclose(column, whole[name], rtol=1e-14, atol=1e-14, err_msg=name)
    for row, number in enumerate(table["label"]):
        image = labels[(labels == number).argmax() // labels[0].size] if stacked else labels
        centroid, covariance = exact_moments(image, number)
        for axis, mean in enumerate(centroid):
            assert table[f"centroid-{axis}"][row] == pytest.approx(float(mean), rel=1e-15)
        if "inertia_tensor" in names:
            trace = float(sum(covariance[k][k] for k in range(image.ndim)))
            sums = sum(table[f"inertia_tensor-{k}-{k}"][row] for k in range(image.ndim))
            assert sums == pytest.approx((image.ndim - 1) * trace, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("limit", [2, 10**5, 2**62])
def test_parts_of_enormous_images_add_up_exactly(monkeypatch, limit):
    side, shape = 2**20, (2**20, 2**20)  # 2^40 pixels that never exist at once
    monkeypatch.setattr(module, "LIMIT", limit)
    labels = np.ones((2, 3), np.int32)
    corners = [(0, 0), (0, side - 3), (side - 2, 0), (side - 2, side - 3), (side // 3, 12345)]
    names = ["label", "num_pixels", "centroid", "inertia_tensor"]
    parts = [count_part(labels, properties=names, origin=corner, shape=shape) for corner in corners]
    forward = parts[0]
    for part in parts[1:]:
        forward = forward.merge(part)
    backward = parts[4].merge(parts[3].merge(parts[2])).merge(parts[1].merge(parts[0]))
    np.testing.assert_array_equal(forward.table, backward.table)
    np.testing.assert_array_equal(forward.high, backward.high)
    where = [(y + a, x + b) for y, x in corners for a in range(2) for b in range(3)]
    n = len(where)
    mean = [Fraction(sum(p[k] for p in where), n) for k in range(2)]
    spread = [
        [Fraction(sum(p[i] * p[j] for p in where), n) - mean[i] * mean[j] for j in range(2)]
        for i in range(2)
    ]
    table = compute_table(forward, names)
    assert table["num_pixels"] == n
    centroid = [table["centroid-0"][0], table["centroid-1"][0]]
    assert centroid == pytest.approx([float(m) for m in mean], rel=1e-15)
    found = [table[f"inertia_tensor-{k}"][0] for k in ("0-0", "1-1", "0-1")]
    expected = [float(spread[1][1]), float(spread[0][0]), -float(spread[0][1])]
    assert found == pytest.approx(expected, rel=1e-15)


def test_blocks_across_an_image_of_2_to_the_40_pixels_have_their_exact_moments():
    side, block = 2**20, 2**11
    labels = np.ones((block, block), np.uint8)
    names = ["label", "num_pixels", "centroid", "inertia_tensor"]
    whole = None
    for y in range(0, side, side // 4):
        for x in range(0, side, side // 4):
            part = count_part(labels, properties=names, origin=(y, x), shape=(side, side))
            whole = part if whole is None else whole.merge(part)
    step = Fraction(side, 4)
    mean = Fraction(block - 1, 2) + step * Fraction(3, 2)
    variance = Fraction(block * block - 1, 12) + step * step * Fraction(15, 12)
    table = compute_table(whole, names)
    assert table["num_pixels"] == 16 * block * block
    assert table["centroid-0"] == pytest.approx(float(mean), rel=1e-15)
    assert table["inertia_tensor-0-0"] == pytest.approx(float(variance), rel=1e-15)
    assert table["inertia_tensor-0-1"] == 0
