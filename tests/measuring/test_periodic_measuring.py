"""Objects are measured across periodic boundaries as they are where they lie in one piece."""

import numpy as np
import pytest

from equilabel import PROPERTIES, label, measure_components, regionprops_table
from equilabel.measuring import counts
from equilabel.measuring.counts import Layout
from equilabel.measuring.cpu.unwrapping import Unwrapped, shortest_intervals
from strategies import blobs, noise

SHAPES = [(40,), (16, 19), (9, 70), (7, 8, 9), (5, 4, 6, 5)]
MOVED = ("bbox", "centroid", "centroid_weighted", "label", "touches_border", "frame")


def counted(rank, *, left_out=()):
    return [
        name
        for name, row in PROPERTIES.items()
        if row.periodic and (not row.ranks or rank in row.ranks) and name not in left_out
    ]


def compare(found, expected, rows=slice(None), others=slice(None)):
    assert list(found) == list(expected)
    for name, column in found.items():
        each, all_of_them = column[rows], expected[name][others]
        np.testing.assert_allclose(each, all_of_them, rtol=1e-9, atol=1e-9, err_msg=name)


def image_of(shape, seed):
    """Make an image of two values, of objects that seldom reach around it."""
    kept = noise(shape, "i4", 4, seed) > len(shape) - 2
    return blobs(shape, "i4", 3, seed) * kept


@pytest.mark.parametrize(
    ("shape", "dtype"), [*zip(SHAPES, ["i8", "u1", "f8", "u1", "i8"], strict=True)], ids=str
)
def test_an_object_measures_what_it_does_in_the_middle_of_a_larger_image(shape, dtype):
    """Objects that do not reach all around are compared with themselves between open borders."""
    rank = len(shape)
    names = counted(rank, left_out=MOVED)
    values = noise(shape, "u1", 200, seed=7).astype(dtype)
    torn = 0
    for seed in range(2):
        labels = label(image_of(shape, seed), periodic=True, connectivity=1)
        found = regionprops_table(labels, values, names, periodic=True)
        boxes = regionprops_table(labels, properties=["bbox"], periodic=True)
        boxes = np.stack(list(boxes.values()), axis=1)
        for row, box in enumerate(boxes):
            sizes = box[rank:] - box[:rank]
            if (sizes >= np.array(shape) - 1).any():
                continue
            torn += (box[rank:] > shape).any()
            back = [-int(begin) for begin in box[:rank]]
            mask = np.roll(labels, back, range(rank)) == row + 1
            there = np.roll(values, back, range(rank))
            one = regionprops_table(np.pad(mask.astype("u1"), 2), np.pad(there, 2), names)
            compare(found, one, slice(row, row + 1))
    assert torn


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where_an_image_begins_does_not_matter(shape):
    rank = len(shape)
    values = noise(shape, "u1", 200, seed=3) + np.uint8(1)
    spacing = tuple(range(1, rank + 1))
    names = counted(rank, left_out=MOVED)
    places = ["bbox", "centroid"] + ["centroid_weighted"] * (rank in (2, 3))
    for seed in range(3):
        labels = label(image_of(shape, seed), periodic=True, connectivity=1)
        shift = np.random.default_rng(seed).integers(0, shape)
        rolled = [np.roll(image, shift, range(rank)) for image in (labels, values)]
        asked = {"periodic": True, "spacing": spacing}
        compared = [name for name in names if name != "label"]
        here = regionprops_table(labels, values, compared + places, **asked)
        there = regionprops_table(*rolled, compared + places, **asked)
        box = np.stack([here.pop(f"bbox-{k}") for k in range(2 * rank)], axis=1)
        moved = np.stack([there.pop(f"bbox-{k}") for k in range(2 * rank)], axis=1)
        sizes = box[:, rank:] - box[:, :rank]
        free = (sizes < shape).all(axis=1)  # others begin where the image does
        np.testing.assert_array_equal(sizes, moved[:, rank:] - moved[:, :rank])
        begins = (box[:, :rank] + shift) % shape
        np.testing.assert_array_equal(begins[free], moved[free, :rank])
        for name in [name for name in here if name.startswith("centroid") and "local" not in name]:
            axis = int(name.rpartition("-")[2])
            side = shape[axis] * spacing[axis]
            apart = here.pop(name) + shift[axis] * spacing[axis] - there[name]
            assert (there[name] >= 0).all()
            assert (there.pop(name) < side).all()
            assert (np.abs((apart + side / 2) % side - side / 2)[free] < 1e-9).all()
        compare(here, there, free, free)
        assert free.any()


@pytest.mark.parametrize("names", [["area", "perimeter_edges", "perimeter", "euler_number"]])
def test_an_image_without_background_has_neither_edges_nor_holes(names):
    for shape in [(6, 7), (1, 5), (2, 2), (1, 1)]:
        table = measure_components(
            np.ones(shape, bool), [*names, "perimeter_crofton"], periodic=True
        )
        assert [column.tolist() for column in table.values()] == [[np.prod(shape)], *[[0]] * 4]
    for shape in [(4, 5, 6), (1, 2, 3), (2, 2, 2)]:
        asked = ["surface_area_faces", "surface_area_crofton", "euler_number", "euler_number_faces"]
        table = measure_components(np.ones(shape, bool), asked, periodic=True)
        assert [column.tolist() for column in table.values()] == [[0]] * 4


def test_a_band_around_one_axis_is_a_ring():
    image = np.zeros((6, 8), bool)
    image[2:4] = True
    names = ["bbox", "perimeter_edges", "euler_number", "touches_border", "centroid"]
    table = regionprops_table(image.astype(int), properties=names, periodic=(False, True))
    assert [table[f"bbox-{k}"].item() for k in range(4)] == [2, 0, 4, 8]
    assert (table["perimeter_edges"], table["euler_number"]) == (16, 0)
    assert not table["touches_border"].item()
    assert (table["centroid-0"], table["centroid-1"]) == (2.5, 3.5)
    image = np.roll(image, 3, axis=0)  # the last row and the first
    table = regionprops_table(image.astype(int), properties=names, periodic=(True, False))
    assert [table[f"bbox-{k}"].item() for k in range(4)] == [5, 0, 7, 8]
    assert table["touches_border"].item()  # at the ends of its rows
    assert table["centroid-0"] == 5.5


def test_labels_that_are_not_connected_are_cut_at_the_widest_gap():
    ring = np.zeros(12, int)
    ring[[0, 4, 6]] = 1  # gaps of 3, 1 and 5
    ring[[2, 8]] = 2  # two gaps of 5
    ring[[1, 11]] = 7
    table = regionprops_table(ring, properties=["label", "bbox", "centroid"], periodic=True)
    assert {name: column.tolist() for name, column in table.items()} == {
        "label": [1, 2, 7],
        "bbox-0": [0, 2, 11],
        "bbox-1": [7, 9, 14],
        "centroid-0": [pytest.approx(10 / 3), 5, 0],
    }
    ring = np.roll(ring, 7)
    table = regionprops_table(ring, properties=["bbox", "centroid"], periodic=True)
    assert table["bbox-0"].tolist() == [7, 3, 6]
    assert table["bbox-1"].tolist() == [14, 10, 9]


def test_the_shortest_interval_is_that_of_all_that_are_possible():
    for seed in range(20):
        held = noise((5, 9), "u1", 3, seed) == 0
        held[:, seed % 9] = True
        begins, lengths = shortest_intervals(held)
        for row, begin, length in zip(held, begins, lengths, strict=True):
            lasting = [9 - np.argmax(np.roll(row, -start)[::-1]) for start in range(9)]
            assert length == min(lasting)
            assert begin == np.argmin(lasting)


@pytest.mark.parametrize("top", [1, 2**40, 2**62])
def test_labels_of_any_size_are_measured(top):
    labels = label(image_of((13, 14), 1), periodic=True).astype(np.int64)
    far = np.where(labels > 0, labels + top, 0)
    asked = {"properties": ["bbox", "centroid", "num_pixels"], "periodic": True}
    compare(regionprops_table(far, **asked), regionprops_table(labels, **asked))


def test_sums_that_64_bits_would_not_hold_are_exact(monkeypatch):
    labels = label(image_of((13, 14), 2), periodic=True, connectivity=1)
    names = ["centroid", "inertia_tensor"]
    expected = regionprops_table(labels, properties=names, periodic=True)
    for limit in (2, 2000):
        monkeypatch.setattr(counts, "LIMIT", limit)
        compare(regionprops_table(labels, properties=names, periodic=True), expected)


def test_a_stack_is_measured_image_by_image():
    images = np.stack([image_of((9, 11), seed) for seed in range(3)])
    names = ["frame", "bbox", "perimeter", "inertia_tensor", "centroid"]
    asked = {"stacked": True, "periodic": True, "properties": names}
    labels, table = label(images, **asked)
    compare(table, regionprops_table(labels, **asked))
    compare(table, measure_components(images, **asked))
    for frame, image in enumerate(labels):
        own = regionprops_table(image, properties=["perimeter", "inertia_tensor"], periodic=True)
        for name, column in own.items():
            np.testing.assert_allclose(table[name][table["frame"] == frame], column)
    with pytest.raises(ValueError, match="every label in one image"):
        regionprops_table(np.ones((2, 3, 3), int), stacked=True, periodic=True)


@pytest.mark.parametrize("name", ["area_convex", "coords", "feret_diameter_max"])
def test_what_scikit_image_computes_is_refused_by_name(name):
    with pytest.raises(ValueError, match=f"if axes are periodic; got '{name}'"):
        regionprops_table(np.eye(3, dtype=int), properties=["area", name], periodic=True)
    assert name in PROPERTIES


def test_nothing_and_negative_labels_are_as_they_are_without_periodic_axes():
    for shape in [(0, 3), (4, 4)]:
        table = regionprops_table(np.zeros(shape, int), properties=["bbox"], periodic=True)
        assert [len(column) for column in table.values()] == [0] * 4
    with pytest.raises(ValueError, match="no negative labels"):
        regionprops_table(np.array([[0, -3]]), periodic=True)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_those_of_pixels_in_one_piece(shape, count, many_threads):
    many_threads(count)
    layout, axes, torn = Layout(len(shape), seconds=True), len(shape), 0
    one, other = layout.products
    values = noise(shape, "u1", 200, seed=3).astype("f8").reshape(-1, 1)
    for seed in range(4):
        labels = label(image_of(shape, seed), periodic=True, connectivity=1)
        found = Unwrapped(labels, layout, (True,) * axes)
        begins = shape - found.table[:, layout["lows"]]
        torn += (found.table[:, layout["highs"]] > shape).any(axis=1).sum()
        powers = found.powers(np.zeros((len(found.labels), axes)))
        weighted = found.weighted(values, 0, np.zeros((len(found.labels), axes)))
        for row, number in enumerate(found.labels):
            places = np.array(np.nonzero(labels == number))
            weights = values[labels.reshape(-1) == number, 0]
            places += (places < begins[row][:, None]) * np.array(shape)[:, None]
            sums = np.concatenate([places, places[one] * places[other]])
            assert found.table[row, layout.wide_columns].tolist() == sums.sum(axis=1).tolist()
            np.testing.assert_array_equal(found.table[row, layout["highs"]], places.max(axis=1) + 1)
            squares = [powers[row, 2], weighted[row, 2]]
            np.testing.assert_allclose(
                squares, [(places[-1] ** 2).sum(), places[-1] ** 2 @ weights]
            )
    assert torn
