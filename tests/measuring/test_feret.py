"""Smallest Feret diameters, aspect ratio and roundness, beside plain references."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial import ConvexHull

from equilabel import label, measure, regionprops_table, samples

NAMES = ("label", "feret_diameter_min", "feret_angle_min", "image_convex", "feret_diameter_max")


@pytest.mark.parametrize("spacing", [(1.0, 1.0), (0.5, 2.0), (2.0, 1.0)])
def test_smallest_feret_diameter_is_that_of_the_hull(spacing):
    rng = np.random.default_rng(4)
    labels = label(rng.random((50, 60)) > 0.6)
    table = regionprops_table(labels, properties=NAMES, spacing=spacing)
    for width, angle, mask, most in zip(*(table[name] for name in NAMES[1:]), strict=True):
        pixels = np.argwhere(mask)
        ends = [pixels + half for half in ([0.5, 0], [-0.5, 0], [0, 0.5], [0, -0.5])]
        hull = np.concatenate(ends) * spacing
        hull = hull[ConvexHull(hull).vertices]
        edges = np.roll(hull, -1, axis=0) - hull
        normals = np.stack([-edges[:, 1], edges[:, 0]]) / np.hypot(*edges.T)
        assert_allclose(width, np.ptp(hull @ normals, axis=0).min())
        direction = [np.cos(angle), np.sin(angle)]
        assert_allclose(np.ptp(hull @ direction), width)
        assert -np.pi / 2 <= angle <= np.pi / 2
        assert width <= most + 1e-9


def test_shapes_of_known_ratios():
    y, x = np.mgrid[-30:31, -70:71]
    labels = ((y / 20) ** 2 + (x / 60) ** 2 <= 1).astype(int)
    labels[0, 0], labels[-1, :9] = 2, 3
    names = ("aspect_ratio", "roundness", "feret_diameter_min", "feret_angle_min")
    table = measure(labels, properties=names)
    assert_allclose(table.aspect_ratio, [3, 1, np.inf], rtol=0.01)
    assert_allclose(table.roundness[0], 1 / 3, rtol=0.01)
    assert table.roundness[1] == np.inf
    assert_allclose(table.feret_diameter_min[0], 41, rtol=0.03)
    assert_allclose(table.feret_angle_min[0], 0, atol=0.02)


def test_aspect_ratio_in_3d_is_that_of_the_axes():
    labels = label(samples.nuclei_3d((12, 60, 60)) > 40)
    names = ("aspect_ratio", "axis_major_length", "axis_minor_length")
    table = regionprops_table(labels, properties=names, spacing=(4, 1, 1))
    solid = table["axis_minor_length"] > 0.1
    ratio = table["axis_major_length"][solid] / table["axis_minor_length"][solid]
    assert_allclose(table["aspect_ratio"][solid], ratio)
    with pytest.raises(ValueError, match="roundness"):
        regionprops_table(labels, properties=("roundness",))


def test_equal_widths_give_the_same_angle_everywhere():
    shape = np.array([[0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0]])
    labels = np.zeros((90, 90), int)
    for number, (y, x) in enumerate(((0, 0), (5, 3), (31, 47), (80, 84)), start=1):
        labels[y : y + 4, x : x + 4] = number * shape
    table = regionprops_table(labels, properties=("feret_angle_min", "feret_diameter_min"))
    assert [len(set(column.tolist())) for column in table.values()] == [1, 1]


@pytest.mark.gpu
def test_labels_on_a_gpu_have_the_columns_of_the_host():
    import cupy

    labels = label(np.random.default_rng(4).random((50, 60)) > 0.6)
    names = ("aspect_ratio", "roundness", "feret_diameter_min", "feret_angle_min")
    here = regionprops_table(labels, properties=names)
    there = regionprops_table(cupy.asarray(labels), properties=names, columns="host")
    for name in names:
        assert_allclose(there[name], here[name])
