"""Laws that hold for every image, whatever the numbers are."""

import os
from itertools import pairwise, product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from equilabel import METHODS, label, regionprops_table
from equilabel.devices import threads as pool
from equilabel.devices.cpu import union_find
from equilabel.domains.grid import offsets
from equilabel.measuring import PROPERTIES, compute_table, count_part
from references import GRID_METHODS, label_pixel_graph, same_partition
from strategies import DTYPES, LAYOUTS, images, label_images, questions


def label_of(question, **options):
    image, background, connectivity = question
    return label(image, background, connectivity=connectivity, **options)


@given(question=questions())
def test_the_method_does_not_matter(question):
    labels = label_of(question, method="runs")
    for method in GRID_METHODS:
        if question.image.ndim in METHODS[method].ranks:
            np.testing.assert_array_equal(label_of(question, method=method), labels)


@given(
    question=questions(), layout=st.sampled_from([name for name in LAYOUTS if "cast" not in name])
)
def test_the_layout_does_not_matter(question, layout):
    labels = label_of(question)
    other = question._replace(image=LAYOUTS[layout](question.image))
    np.testing.assert_array_equal(label_of(other), labels)


@given(question=questions(), threads=st.integers(2, 5))
def test_the_number_of_threads_does_not_matter(question, threads):
    with patch.dict(os.environ, EQUILABEL_NUM_THREADS="1"):
        labels = label_of(question)
    with (
        patch.dict(os.environ, EQUILABEL_NUM_THREADS=str(threads)),
        patch.object(pool, "WEIGHT", 1),
    ):
        np.testing.assert_array_equal(label_of(question), labels)


@given(question=questions())
def test_a_grid_equals_its_pixel_graph(question):
    image, background, connectivity = question
    expected = label_pixel_graph(image, 0 if background is None else background, connectivity)
    assert same_partition(label_of(question), expected)


@given(question=questions(), data=st.data())
def test_flips_keep_the_partition(question, data):
    axes = data.draw(st.sets(st.sampled_from(range(question.image.ndim)), min_size=1))
    flipped = label_of(question._replace(image=np.flip(question.image, tuple(axes))))
    assert same_partition(np.flip(flipped, tuple(axes)), label_of(question))


@given(question=questions(), data=st.data())
def test_transposes_keep_the_partition(question, data):
    axes = data.draw(st.permutations(range(question.image.ndim)))
    turned = label_of(question._replace(image=question.image.transpose(axes)))
    assert same_partition(turned.transpose(np.argsort(axes)), label_of(question))


@given(question=questions())
def test_counts_fall_as_connectivity_rises(question):
    every = range(1, question.image.ndim + 1)
    counts = [label_of(question._replace(connectivity=hops)).max() for hops in every]
    assert counts == sorted(counts, reverse=True)


@given(question=questions())
def test_regions_grow_together_as_connectivity_rises(question):
    fine = label_of(question._replace(connectivity=1))
    coarse = label_of(question)
    pairs = np.unique(np.stack([fine.ravel(), coarse.ravel()]), axis=1)
    assert len(np.unique(pairs[0])) == pairs.shape[1]  # a fine label has one coarse label


@given(question=questions())
def test_labeling_twice_changes_nothing(question):
    labels = label_of(question)
    again = label(labels, connectivity=question.connectivity)
    np.testing.assert_array_equal(again, labels)


@given(question=questions())
def test_labels_are_numbered_from_one_without_gaps(question):
    labels = label_of(question)
    present = np.unique(labels[labels > 0])
    np.testing.assert_array_equal(present, np.arange(1, len(present) + 1))


@given(question=questions(dtypes=DTYPES[1:]))
def test_foreground_is_what_is_not_background(question):
    background = question.background or 0
    np.testing.assert_array_equal(label_of(question) > 0, question.image != background)


@given(question=questions())
def test_a_region_has_one_value(question):
    labels = label_of(question).ravel()
    first = np.unique(labels, return_index=True)[1]
    values = question.image.ravel()
    foreground = labels > 0
    np.testing.assert_array_equal(
        values[first[labels - labels.min()]][foreground], values[foreground]
    )


@given(question=questions(dtypes=DTYPES[1:]))
def test_neighbors_of_one_value_share_a_label_and_others_do_not(question):
    image, background, connectivity = question
    labels = label_of(question)
    for step in offsets(image.ndim, connectivity):
        here = tuple(slice(max(-s, 0), min(-s, 0) or None) for s in step.tolist())
        there = tuple(slice(max(s, 0), min(s, 0) or None) for s in step.tolist())
        equal = (image[here] == image[there]) & (image[here] != (background or 0))
        joined = (labels[here] == labels[there]) & (labels[here] > 0)
        np.testing.assert_array_equal(joined, equal)


@given(size=st.integers(1, 12), data=st.data())
def test_uniting_in_any_order_groups_runs_under_the_first(size, data):
    runs = st.integers(0, size - 1)
    pairs = data.draw(st.lists(st.tuples(runs, runs), max_size=20))
    parents = np.arange(size)
    for one, other in pairs:
        union_find.unite(parents, one, other)
        assert (parents <= np.arange(size)).all()
    graph = coo_array((np.ones(len(pairs)), np.array(pairs, int).reshape(-1, 2).T), (size, size))
    _, groups = connected_components(graph.tocsr(), directed=False)
    for run in range(size):
        assert union_find.find(parents, run) == np.flatnonzero(groups == groups[run])[0]


# ---------------------------------------------------------------- statistics


@given(question=questions())
def test_areas_sum_to_the_foreground(question):
    labels = label_of(question)
    table = regionprops_table(labels, properties=("num_pixels", "area"), spacing=0.5)
    assert table["num_pixels"].sum() == np.count_nonzero(labels)
    assert table["area"].sum() == np.count_nonzero(labels) * 0.5**labels.ndim


@given(labels=label_images())
def test_exposed_faces_fall_by_two_for_each_pair_of_neighbors(labels):
    lines = [np.moveaxis(labels, axis, 0) for axis in range(labels.ndim)]
    pairs = sum(np.count_nonzero((line[1:] == line[:-1]) & (line[1:] > 0)) for line in lines)
    name = {2: "perimeter_edges", 3: "surface_area_faces"}[labels.ndim]
    found = regionprops_table(labels, properties=(name,))[name].sum()
    assert found == 2 * (labels.ndim * np.count_nonzero(labels) - pairs)


@given(labels=label_images(1, 4), stacked=st.booleans(), data=st.data())
def test_merged_statistics_of_parts_equal_those_of_the_whole(labels, stacked, data):
    stacked = stacked and labels.ndim > 1
    if stacked:
        labels = labels.astype(np.int64)
        labels += np.arange(len(labels)).reshape(-1, *[1] * (labels.ndim - 1)) * 1000 * (labels > 0)
    rank = labels.ndim - stacked
    names = [
        name
        for name, row in PROPERTIES.items()
        if row.mergeable and (not row.ranks or rank in row.ranks) and (stacked or name != "frame")
    ]
    uneven = data.draw(st.booleans())
    options = {"spacing": 1.0 + uneven * np.arange(rank), "stacked": stacked}
    values = np.random.default_rng(0).integers(-99, 99, (*labels.shape, 2))
    ends = [
        sorted({0, side, *data.draw(st.lists(st.integers(0, side), max_size=2))})
        for side in labels.shape
    ]
    parts = []
    for part in product(*(pairwise(axis) for axis in ends)):
        piece = [
            (max(a - 2, 0), min(b + 2, side))
            for (a, b), side in zip(part, labels.shape, strict=True)
        ]
        where = tuple(slice(*span) for span in piece)
        box = [(a - p, b - p) for (a, b), (p, _) in zip(part, piece, strict=True)]
        origin = [p for p, _ in piece]
        place = {"box": box, "origin": origin, "shape": labels.shape}
        parts.append(count_part(labels[where], values[where], names, **place, **options))
    parts = data.draw(st.permutations(parts))
    while len(parts) > 1:  # any grouping
        place = data.draw(st.integers(0, len(parts) - 2))
        parts[place : place + 2] = [parts[place].merge(parts[place + 1])]
    whole = count_part(labels, values, names, **options)
    np.testing.assert_array_equal(parts[0].labels, whole.labels)
    np.testing.assert_array_equal(parts[0].table, whole.table)
    for one, other in zip(parts[0].values[:3], whole.values[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    first = [labels.ravel().tolist().index(number) for number in whole.labels]
    assert parts[0].first_pixels.tolist() == first
    merged = compute_table(parts[0], names, spacing=options["spacing"])
    direct = regionprops_table(labels, values, names, **options)
    for name, column in direct.items():
        np.testing.assert_allclose(merged[name], column, rtol=1e-9, err_msg=name)


def test_only_parts_of_one_image_and_question_merge():
    labels = np.ones((4, 4), int)
    part = count_part(labels, properties=["area"])
    for other in (
        count_part(labels[:2], properties=["area"]),
        count_part(labels, properties=["perimeter"]),
        count_part(labels, labels, ["area", "intensity_mean"]),
    ):
        with pytest.raises(ValueError, match=r"^other must hold counts of the same"):
            part.merge(other)


@pytest.mark.parametrize("name", ["moments_central", "centroid_weighted", "area_filled"])
def test_what_does_not_add_up_is_refused(name):
    with pytest.raises(ValueError, match=rf"^properties must be counts .*; got '{name}'. Ask "):
        count_part(np.ones((4, 4), int), np.ones((4, 4)), [name])


@given(labels=label_images(2, 2), seed=st.integers(0, 2**16), threads=st.integers(2, 5))
def test_statistics_in_threads_equal_those_in_one(labels, seed, threads):
    values = np.random.default_rng(seed).integers(-1000, 1000, labels.shape)
    names = ("label", "bbox", "centroid", "perimeter", "perimeter_edges", "num_pixels")
    names += ("intensity_mean", "intensity_min", "intensity_max", "intensity_std")
    with patch.dict(os.environ, EQUILABEL_NUM_THREADS="1"):
        direct = regionprops_table(labels, values, names)
    with (
        patch.dict(os.environ, EQUILABEL_NUM_THREADS=str(threads)),
        patch.object(pool, "WEIGHT", 1),
        patch("equilabel.measuring.cpu.accumulate.STRIP", 1),
    ):
        threaded = regionprops_table(labels, values, names)
    assert list(threaded) == list(direct)
    for name, column in direct.items():
        exact = "std" not in name
        np.testing.assert_allclose(threaded[name], column, rtol=0 if exact else 1e-12, atol=0)


@given(labels=label_images(), data=st.data())
def test_flips_keep_what_does_not_depend_on_place(labels, data):
    axis = data.draw(st.integers(0, labels.ndim - 1))
    names = ["label", "num_pixels", "area_bbox", "extent"]
    names += ["perimeter", "perimeter_edges"] if labels.ndim == 2 else ["surface_area_faces"]
    one = regionprops_table(labels, properties=names)
    other = regionprops_table(np.flip(labels, axis), properties=names)
    for name in names:
        np.testing.assert_allclose(other[name], one[name], rtol=1e-12)


@given(labels=label_images(2, 2))
def test_transposes_exchange_coordinates(labels):
    names = ("label", "bbox", "centroid", "perimeter", "perimeter_edges")
    one = regionprops_table(labels, properties=names)
    other = regionprops_table(labels.T, properties=names)
    for name, twin in {"bbox-0": "bbox-1", "bbox-2": "bbox-3", "centroid-0": "centroid-1"}.items():
        np.testing.assert_array_equal(other[name], one[twin])
    for name in ("perimeter", "perimeter_edges"):
        np.testing.assert_allclose(other[name], one[name], rtol=1e-12)


@given(labels=label_images(), factor=st.floats(1e-9, 1e9))
def test_lengths_grow_with_the_spacing_and_areas_with_its_power(labels, factor):
    powers = {"area": labels.ndim, "area_bbox": labels.ndim, "equivalent_diameter_area": 1}
    powers |= (
        {"perimeter": 1, "perimeter_edges": 1} if labels.ndim == 2 else {"surface_area_faces": 2}
    )
    one = regionprops_table(labels, properties=powers)
    other = regionprops_table(labels, properties=powers, spacing=factor)
    for name, power in powers.items():
        np.testing.assert_allclose(other[name], one[name] * factor**power, rtol=1e-9)


@pytest.mark.parametrize("name", ["intensity_mean", "intensity_min", "intensity_max"])
@given(image=images(dtypes=("u1", "i4"), min_axes=2, max_axes=3))
def test_a_region_measures_its_own_value(image, name):
    labels = label(image)
    table = regionprops_table(labels, image, ("label", "bbox", name))
    for number, value in zip(table["label"], table[name], strict=True):
        assert value == image[labels == number][0]
