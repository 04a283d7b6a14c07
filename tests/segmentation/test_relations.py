"""Contacts, neighbors and relations of objects, beside plain references."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import distance_transform_edt
from scipy.spatial.distance import cdist

from equilabel import contacts, neighbors, regionprops_table, relate, segment

rng = np.random.default_rng(7)


def some_labels(shape, count=6, empty=0.5, dtype=np.int32):
    labels = rng.integers(1, count + 1, shape) * (rng.random(shape) > empty)
    return labels.astype(dtype)


def pairs_of(labels, connectivity, spacing, periodic):
    """List contacts pixel by pixel."""
    found = {}
    for place in np.ndindex(labels.shape):
        for step in product((-1, 0, 1), repeat=labels.ndim):
            hops = np.abs(step).sum()
            if not 0 < hops <= connectivity or step < (0,) * labels.ndim:
                continue
            other = list(np.add(place, step))
            for axis, side in enumerate(labels.shape):
                if periodic[axis] and side > 1:
                    other[axis] %= side
            if not all(0 <= at < side for at, side in zip(other, labels.shape, strict=True)):
                continue
            one, two = sorted((labels[place], labels[tuple(other)]))
            if one and one != two:
                entry = found.setdefault((int(one), int(two)), [0, 0.0])
                entry[0] += 1
                if hops == 1:
                    entry[1] += np.prod(spacing) / np.dot(np.abs(step), spacing)
    return [(*key, *found[key]) for key in sorted(found)]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_contacts_of_random_labels(dtype):
    for shape in ((9,), (7, 70), (1, 130), (5, 6, 7), (3, 3, 2, 4)):
        labels, rank = some_labels(shape, dtype=dtype), len(shape)
        spacing = tuple(rng.uniform(0.5, 2, rank))
        for connectivity in range(1, rank + 1):
            periodic = tuple(rng.random(rank) < 0.3)
            how = {"connectivity": connectivity, "spacing": spacing, "periodic": periodic}
            found = contacts(labels[..., ::-1], **how)
            wanted = pairs_of(labels[..., ::-1], connectivity, spacing, periodic)
            assert found.shape == (len(wanted), 4)
            assert_allclose(found.to_numpy(float).reshape(-1, 4), np.reshape(wanted, (-1, 4)))


def test_contacts_with_many_entries_and_in_threads():
    labels = some_labels((300, 700), count=2**20, empty=0.0)
    found = contacts(labels)
    assert found.pairs.sum() == np.sum(
        [
            (labels[1:] != labels[:-1]).sum(),
            (labels[:, 1:] != labels[:, :-1]).sum(),
            (labels[1:, 1:] != labels[:-1, :-1]).sum(),
            (labels[1:, :-1] != labels[:-1, 1:]).sum(),
        ]
    )
    one = labels[:-1, :-1].ravel(), labels[1:, 1:].ravel()
    keys = set(zip(np.minimum(*one).tolist(), np.maximum(*one).tolist(), strict=True))
    listed = set(zip(found.label, found.neighbor, strict=True))
    assert {(a, b) for a, b in keys if a != b} <= listed


def test_contacts_of_a_stack_stay_in_their_image():
    labels = np.array([[[1, 2]], [[2, 2]], [[3, 1]]])
    found = contacts(labels, stacked=True)
    assert found.values.tolist() == [[0, 1, 2, 1, 1], [2, 1, 3, 1, 1]]
    assert contacts(labels).label.tolist() == [1, 1, 2]
    assert contacts(np.zeros((3, 4), int)).empty


@pytest.mark.parametrize("shape", [(60,), (23, 31), (9, 10, 12)])
def test_nearest_objects(shape):
    for _ in range(4):
        labels = some_labels(shape, count=9, empty=0.93)
        spacing = rng.choice([0.5, 1.0, 2.0], len(shape))
        found = neighbors(labels, spacing=spacing)
        known = np.unique(labels[labels > 0])
        assert found.label.tolist() == known.tolist()
        points = {k: np.argwhere(labels == k) * spacing for k in known}
        for row in found.itertuples():
            apart = {k: cdist(points[row.label], points[k]).min() for k in known if k != row.label}
            least = min(apart.values(), default=np.nan)
            near = [k for k, value in apart.items() if np.isclose(value, least)]
            assert row.nearest == min(near, default=0)
            assert_allclose(row.nearest_distance, least)
            middles = {k: points[k].mean(axis=0) for k in known}
            between = [
                np.linalg.norm(middles[k] - middles[row.label]) for k in known if k != row.label
            ]
            assert_allclose(row.nearest_centroid_distance, min(between, default=np.nan))
        pairs = contacts(labels, spacing=spacing)
        for row in found.itertuples():
            own = pairs[(pairs.label == row.label) | (pairs.neighbor == row.label)]
            assert row.touching == len(own)
            assert_allclose(row.contact, own.iloc[:, -1].sum())


def test_neighbors_are_columns_of_any_table():
    names = ("touching", "nearest", "nearest_distance", "nearest_centroid_distance")
    labels = some_labels((20, 24), count=9, empty=0.9)
    found = neighbors(labels, spacing=(2, 1))
    table = regionprops_table(labels, properties=("label", *names), spacing=(2, 1))
    for name in ("label", *names):
        assert_array_equal(table[name], found[name])
    stack = np.stack([labels, (labels > 0) * (labels + 20)])
    table = regionprops_table(stack, properties=("label", *names), stacked=True)
    found = neighbors(stack, stacked=True).sort_values("label")
    for name in ("label", *names):
        assert_array_equal(table[name], found[name])
    image = np.where(labels > 0, 9, 0)
    rows = segment(image, 1, properties=("label", *names), keep="nearest_distance < 2.5").table
    assert (rows.nearest_distance < 2.5).all()
    own = neighbors(segment(image, 1).labels)
    assert len(rows) == (own.nearest_distance < 2.5).sum() < len(own)
    with pytest.raises(ValueError, match="is defined for 1 or 2 or 3 spatial axes; got 4"):
        regionprops_table(np.ones((2, 2, 2, 2), int), properties=("touching",))


def test_neighbors_of_few_objects():
    assert neighbors(np.zeros((4, 5), int)).empty
    alone = neighbors(np.eye(2, dtype=int))
    assert alone.nearest.tolist() == [0]
    assert alone.nearest_distance.isna().all()
    rings = np.array([[1, 1, 1], [1, 2, 1], [1, 1, 1]])  # of one centroid
    assert neighbors(rings).nearest_centroid.tolist() == [2, 1]
    stack = neighbors(np.stack([rings, rings * 0, rings * 3]), stacked=True)
    assert stack.frame.tolist() == [0, 0, 2, 2]
    assert stack.nearest.tolist() == [2, 1, 6, 3]


@pytest.mark.parametrize("shape", [(80,), (20, 31), (6, 11, 12)])
def test_relations(shape):
    blocks = np.indices(shape) // 5
    parents = np.ravel_multi_index(tuple(blocks), tuple(np.array(shape) // 5 + 1))
    parents *= rng.random(shape) > 0.05
    children = some_labels(shape, count=12, empty=0.9)
    spacing = rng.choice([0.5, 1.0, 2.0], len(shape))
    table = pd.DataFrame({"label": np.unique(children[children > 0])})
    table["size"] = rng.random(len(table))
    below, above = relate(children, parents, table, spacing=spacing)
    for row in below.itertuples():
        own = children == row.label
        counts = np.bincount(parents[own])
        counts[0] = 0
        most = counts.max()
        assert row.overlap == most
        assert row.parent == (counts.argmax() if most else 0)
        assert_allclose(row.share, most / own.sum())
        middle = np.argwhere(own).mean(axis=0)
        place = tuple(np.rint(middle).astype(int))
        if not most:
            assert np.isnan(row.centroid_distance)
            assert np.isnan(row.border_distance)
            continue
        other = np.argwhere(parents == row.parent).mean(axis=0)
        assert_allclose(row.centroid_distance, np.linalg.norm((middle - other) * spacing))
        wanted = distance_transform_edt(parents == row.parent, spacing)[place]
        assert_allclose(row.border_distance, wanted if wanted else np.nan)
    for row in above.itertuples():
        mine = below[below.parent == row.label]
        assert (row.children, row.overlap) == (len(mine), mine.overlap.sum())
        wanted = table["size"][table.label.isin(mine.label)].mean()
        assert_allclose(row.mean_size, wanted)


def test_relations_in_a_stack():
    children = np.array([[[1, 0, 2]], [[1, 1, 0]]])
    parents = np.array([[[4, 4, 0]], [[0, 4, 4]]])
    table = pd.DataFrame({"frame": [0, 0, 1], "label": [1, 2, 1], "area": [1.0, 5.0, 2.0]})
    below, above = relate(children, parents, table, stacked=True)
    assert below[["frame", "label", "parent"]].values.tolist() == [[0, 1, 4], [0, 2, 0], [1, 1, 4]]
    assert above[["frame", "label", "children", "mean_area"]].values.tolist() == [
        [0, 4, 1, 1],
        [1, 4, 1, 2],
    ]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: contacts(np.array([[-1, 1]])), "labels must not be negative; got -1"),
        (lambda: contacts(np.array([[2**63, 1]], "u8")), "labels must be less than 2"),
        (lambda: contacts(np.ones((2, 2))), "integer"),
        (lambda: contacts(np.ones(3, int), stacked=True), "labels must have an axis of space"),
        (lambda: contacts(np.ones((3, 3), int), connectivity=3), "connectivity must be"),
        (lambda: neighbors(np.ones((1, 1, 1, 1), int)), "labels must have up to 3 spatial axes"),
        (lambda: relate(np.ones(3, int), np.ones(4, int)), "must have the same shape"),
        (lambda: relate(np.ones(3, int), -np.ones(3, int)), "parents must not be negative"),
        (lambda: relate(*np.ones((2, 3), int), pd.DataFrame({"a": [1]})), "table must have"),
    ],
)
def test_refusals(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call()


@pytest.mark.gpu
def test_a_gpu_gives_what_the_host_gives():
    import cupy

    for shape in ((40,), (33, 70), (9, 10, 12)):
        labels, parents = some_labels(shape, 300), some_labels(shape, 9)
        spacing = tuple(rng.uniform(0.5, 2, len(shape)))
        for how in ({}, {"connectivity": 1}, {"periodic": True}):
            there = contacts(cupy.asarray(labels), spacing=spacing, **how)
            pd.testing.assert_frame_equal(there, contacts(labels, spacing=spacing, **how))
        there = neighbors(cupy.asarray(labels), spacing=spacing)
        pd.testing.assert_frame_equal(there, neighbors(labels, spacing=spacing))
        for one, two in zip(
            relate(cupy.asarray(labels), cupy.asarray(parents)),
            relate(labels, parents),
            strict=True,
        ):
            pd.testing.assert_frame_equal(one, two)
    assert_array_equal(contacts(cupy.zeros((2, 3), int)).shape, (0, 4))


def test_short_and_empty_axes_are_not_periodic():
    table = contacts(np.array([[1, 2]]), periodic=(True, False))
    assert table.to_numpy().tolist() == [[1, 2, 1, 1.0]]
    assert len(contacts(np.zeros((0, 3), int), periodic=True)) == 0
    assert len(contacts(np.zeros((0, 3, 3), int), stacked=True, periodic=True)) == 0
    assert neighbors(np.array([[1, 0, 2]]))["contact"].dtype == np.float64
