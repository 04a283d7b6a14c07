"""Outlines of objects: exact, along the edges of pixels, and as files."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from skimage.draw import polygon2mask

from equilabel import label, measure, outlines, samples, write_outlines


def area(ring):
    """Return the signed area of a ring."""
    y, x = ring.T
    return (np.dot(x, np.roll(y, -1)) - np.dot(np.roll(x, -1), y)) / 2


def drawn(polygon, shape):
    mask = polygon2mask(shape, polygon.outer)
    for hole in polygon.holes:
        mask &= ~polygon2mask(shape, hole)
    return mask


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint32, np.int64])
def test_outlines_of_random_labels(dtype):
    rng = np.random.default_rng(1)
    for _ in range(20):
        shape = tuple(rng.integers(1, 14, 2))
        labels = rng.integers(0, 4, shape).astype(dtype)[:, ::-1]
        found = outlines(labels)
        assert list(found) == np.unique(labels[labels > 0]).tolist()
        for number, polygons in found.items():
            # Parts are connected through sides, and no ring has a corner twice.
            assert len(polygons) == label(labels == number, connectivity=1).max()
            mask = np.zeros(shape, int)
            for polygon in polygons:
                assert area(polygon.outer) > 0
                assert all(area(hole) < 0 for hole in polygon.holes)
                pixels = drawn(polygon, shape)
                assert pixels.sum() == sum(map(area, (polygon.outer, *polygon.holes)))
                mask += pixels
                for ring in (polygon.outer, *polygon.holes):
                    steps = np.abs(np.diff(ring, axis=0, append=ring[:1]))
                    assert (np.count_nonzero(steps, axis=1) == 1).all()
            assert_array_equal(mask, labels == number)


def test_rings_do_not_touch_themselves():
    rng = np.random.default_rng(2)
    for polygons in outlines((rng.random((60, 70)) > 0.4).astype(int)).values():
        for polygon in polygons:
            for ring in (polygon.outer, *polygon.holes):
                assert len(np.unique(ring, axis=0)) == len(ring)


def test_outlines_are_simplified_by_no_more_than_asked():
    labels = label(samples.nuclei_mask((200, 200)))
    exact, simple = outlines(labels), outlines(labels, tolerance=1)
    for number in exact:
        one, other = exact[number][0].outer, simple[number][0].outer
        assert 3 <= len(other) < len(one)
        assert abs(area(one) - area(other)) < len(one)
    assert len(outlines(np.eye(1, dtype=int), tolerance=9)[1][0].outer) == 4


def test_no_labels_have_no_outlines():
    assert outlines(np.zeros((3, 4), int)) == {}
    assert outlines(np.zeros((0, 4), int)) == {}


def features_of(path):
    return json.loads(path.read_text())["features"]


def test_geojson(tmp_path):
    labels = np.array([[3, 3, 3, 0], [3, 0, 3, 0], [3, 3, 3, 8], [0, 0, 0, 0], [8, 0, 0, 0]])
    path = tmp_path / "a.geojson"
    table = measure(labels, properties=("label", "area", "orientation"))
    table["name"] = "x"
    table.loc[0, "orientation"] = np.nan
    write_outlines(path, labels, table)
    one, two = features_of(path)
    assert one["geometry"]["type"] == "Polygon"
    assert [len(ring) for ring in one["geometry"]["coordinates"]] == [5, 5]
    assert one["properties"] == {
        "objectType": "detection",
        "name": "3",
        "label": 3,
        "measurements": {"area": 8.0},
    }
    assert two["geometry"]["type"] == "MultiPolygon"
    assert sorted_ring(two["geometry"]["coordinates"][0][0]) == [[3, 2], [4, 2], [4, 3], [3, 3]]
    for feature in (one, two):  # rings are closed, in whole pixels
        flat = json.dumps(feature["geometry"]["coordinates"])
        assert "." not in flat
    write_outlines(path, np.zeros((2, 2), int))
    assert features_of(path) == []


def sorted_ring(ring):
    assert ring[0] == ring[-1]
    start = ring.index(min(ring, key=lambda xy: (xy[1], xy[0])))
    return ring[:-1][start:] + ring[:-1][:start]


def test_planes_are_named(tmp_path):
    labels = np.zeros((3, 4, 4), int)
    labels[1, 1, 1], labels[2, 2:, 2:] = 1, 2
    path = tmp_path / "a.json"
    write_outlines(path, labels)
    assert [each["geometry"]["plane"]["z"] for each in features_of(path)] == [1, 2]
    table = pd.DataFrame({"frame": [1, 2], "label": [1, 2], "area": [1.0, 4.0]})
    write_outlines(path, labels, table, stacked=True)
    one, two = features_of(path)
    assert (one["geometry"]["plane"], two["geometry"]["plane"]["t"]) == (
        {"c": -1, "z": 0, "t": 1},
        2,
    )
    assert two["properties"]["measurements"] == {"area": 4}


def test_imagej_regions(tmp_path):
    from roifile import ImagejRoi

    labels = np.zeros((2, 20, 30), int)
    labels[0, 2:7, 3:9], labels[1, 1, 1], labels[1, 2, 2] = 5, 6, 6
    path = tmp_path / "a.zip"
    write_outlines(path, labels, stacked=True)
    regions = ImagejRoi.fromfile(path)
    assert [region.name for region in regions] == ["5", "6-1", "6-2"]
    assert [region.t_position for region in regions] == [1, 2, 2]
    assert_array_equal(np.sort(regions[0].coordinates(), axis=0)[[0, -1]], [[3, 2], [9, 7]])
    assert len(zipfile.ZipFile(path).namelist()) == 3


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: outlines(np.ones((2, 2, 2), int)), "labels must be of two axes"),
        (lambda: outlines(-np.ones((2, 2), int)), "labels must not be negative"),
        (lambda: outlines(np.ones((2, 2), int), tolerance=-1), "tolerance must be"),
        (lambda: outlines(np.ones((2, 2))), "integer"),
        (lambda: write_outlines("a.svg", np.ones((2, 2), int)), "path must end in"),
        (lambda: write_outlines("a.zip", np.ones(2, int)), "labels must have the axes of one"),
        (lambda: write_outlines("a.json", np.eye(2, dtype=int), pd.DataFrame()), "table must have"),
    ],
)
def test_refusals(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call()


def test_an_earlier_file_stays_if_writing_fails(tmp_path, monkeypatch):
    from equilabel.segmentation import polygons as module

    path = tmp_path / "a.geojson"
    write_outlines(path, np.eye(2, dtype=int))
    before = path.read_bytes()
    monkeypatch.setattr(module, "_closed", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_outlines(path, np.eye(3, dtype=int))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
