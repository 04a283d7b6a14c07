"""Convex hulls: scikit-image's areas and diameters, to the last pixel."""

import numpy as np
import pytest
from skimage import measure as reference

from equilabel import label, measure_components, regionprops_table, segment
from equilabel.devices import passes
from equilabel.measuring.cpu import hulls

NAMES = ("label", "area_convex", "solidity", "feret_diameter_max")


def check(labels, spacing=None):
    asked = {} if spacing is None else {"spacing": spacing}
    ours = regionprops_table(labels, properties=NAMES, **asked)
    theirs = reference.regionprops_table(labels, properties=NAMES, **asked)
    for name, column in theirs.items():
        assert ours[name].dtype == column.dtype
        np.testing.assert_allclose(ours[name], column, rtol=1e-14 * (spacing is not None))


def ellipsoids(shape, rng):
    """Number up to five overlapping ellipses (ellipsoids) of all sizes and directions."""
    labels = np.zeros(shape, int)
    places = np.moveaxis(np.indices(shape), 0, -1)
    for number in range(1, 6):
        away = (places - rng.random(len(shape)) * shape) @ rng.normal(size=(len(shape),) * 2)
        labels[(away**2).sum(axis=-1) < rng.random() * 40] = number
    return labels


def scattered(shape, rng):
    """Number a few pixels, each label in up to eight places."""
    labels = np.zeros(shape, int)
    for number in range(1, 5):
        for _ in range(rng.integers(1, 9)):
            labels[tuple(rng.integers(0, shape))] = number
    return labels


def lines(shape, rng):
    """Number lines from border to border."""
    labels = np.zeros(shape, int)
    for number in range(1, 4):
        ends = rng.random((2, len(shape))) * (np.array(shape) - 1)
        points = np.rint(np.linspace(*ends, 99)).astype(int)
        labels[tuple(points.T)] = number
    return labels


def random_labels(shape, rng):
    return rng.integers(0, 5, shape)


KINDS = (ellipsoids, scattered, lines, random_labels)


def without_flat(labels):
    """Drop objects that lie in a plane: scikit-image gives up on them."""
    kept = labels.copy()
    for region in reference.regionprops(labels):
        if np.linalg.matrix_rank(region.coords - region.coords[0]) < labels.ndim:
            kept[kept == region.label] = 0
    return kept


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("spacing", [None, (0.7, 1.9)], ids=str)
def test_hulls_in_2d_are_those_of_scikit_image(make, spacing):
    rng = np.random.default_rng(1)
    for shape in [(1, 9), (9, 1), (7, 70), (33, 30), (30, 33)]:
        check(make(shape, rng), spacing)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("spacing", [None, (0.7, 1.9, 1.3)], ids=str)
def test_hulls_in_3d_are_those_of_scikit_image(make, spacing):
    rng = np.random.default_rng(2)
    for shape in [(3, 3, 9), (9, 8, 7), (2, 16, 15)]:
        check(without_flat(make(shape, rng)), spacing)


def test_large_hulls_are_exact():
    """Rows of many words, and strips: a long thin triangle, and a tall one across strips."""
    y, x = np.indices((40, 3000))
    check((70 * y < x).astype(int))
    labels = np.zeros((2100, 600), int)
    y, x = np.indices(labels.shape)
    labels[(x - 300) ** 2 * 12 + (y - 1050) ** 2 < 1000**2] = 7
    labels[::100, 5] = 3
    check(labels)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_flat_objects_in_3d_are_as_large_as_in_2d(axis):
    """Where scikit-image finds no hull, the middles of faces have one."""
    flat = ellipsoids((20, 23), np.random.default_rng(3))
    deep = np.zeros((20, 23, 1), int)
    deep[..., 0] = flat
    deep = np.moveaxis(np.pad(deep, ((0, 0), (0, 0), (2, 1))), 2, axis)
    found, expected = (regionprops_table(each, properties=NAMES) for each in (deep, flat))
    for name in NAMES:
        np.testing.assert_allclose(found[name], expected[name])


def test_single_voxels_and_lines_in_3d_have_hulls():
    labels = np.zeros((3, 4, 9), int)
    labels[1, 1, 1] = 1
    labels[2, 3, 2:9] = 2
    found = regionprops_table(labels, properties=NAMES)
    assert found["area_convex"].tolist() == [1, 7]
    assert found["solidity"].tolist() == [1, 1]
    assert found["feret_diameter_max"].tolist() == [1, 7]


@pytest.mark.parametrize("shape", [(31, 70), (9, 14, 15)], ids=str)
def test_hulls_from_runs_frame_by_frame_and_of_what_is_kept(shape, monkeypatch):
    """From one thread and from two, as the pieces of both are joined."""
    mask = np.random.default_rng(4).random((2, *shape)) < 0.6 / len(shape) ** 1.5
    monkeypatch.setattr(hulls, "ROWS", 16)
    monkeypatch.setattr(hulls, "PAIRS", 16)
    names = (*NAMES, "frame", "num_pixels", "intensity_mean")
    values = mask * 2.0
    found = measure_components(mask, names, stacked=True, intensity_image=values)
    labels = label(mask, stacked=True)
    table = regionprops_table(labels, values, names, stacked=True)
    for name, column in table.items():
        np.testing.assert_array_equal(found[name], column, err_msg=name)
    first = regionprops_table(labels[1], properties=NAMES)
    for name, column in first.items():
        np.testing.assert_array_equal(table[name][table["frame"] == 1], column)
    kept = segment(mask[0].astype(float), threshold=0.5, min_size=4, properties=NAMES)
    direct = regionprops_table(kept.labels, properties=NAMES)
    assert kept.num > 3
    for name, column in direct.items():
        np.testing.assert_array_equal(kept.table[name], column, err_msg=name)


def test_what_labels_a_device_holds_is_measured_on_the_host_alike(monkeypatch):
    """The way of a GPU: counts from there, hulls from a copy of the labels."""
    from equilabel.measuring import counting

    labels = label(np.random.default_rng(5).random((40, 50)) < 0.4)
    expected = regionprops_table(labels, properties=NAMES)
    cpu = passes("measuring.accumulate", "cpu")
    monkeypatch.setattr(counting, "resolve", lambda *_: "elsewhere")
    monkeypatch.setattr(counting, "passes", lambda name, _: cpu)
    monkeypatch.setattr(counting, "using", lambda _: __import__("contextlib").nullcontext())
    monkeypatch.setattr(counting, "place", lambda values, _: values)
    found = regionprops_table(labels, properties=NAMES)
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column)


@pytest.mark.parametrize("shape", [(0, 4), (3, 3), (2, 0, 5), (2, 3, 4)])
def test_no_objects_have_no_hulls(shape):
    table = regionprops_table(np.zeros(shape, int), properties=NAMES)
    assert [len(column) for column in table.values()] == [0] * 4
