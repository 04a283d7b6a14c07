"""Every kernel of the CPU on small images.

`make test` runs these compiled, and compiled with the bounds of arrays checked; continuous
integration also in plain Python, where coverage sees into them.
"""

import os
from itertools import product

import numpy as np
import pytest
from numba import config

from equilabel import (
    METHODS,
    PROPERTIES,
    Graph,
    PottsSimulation,
    binarize,
    label,
    label_chunked,
    label_graph,
    measure_components,
    regionprops_table,
    segment,
)
from equilabel.chunked.blocks import touching, unite
from equilabel.chunked.checkpoints import checksum
from equilabel.devices import passes
from equilabel.labeling.graphs import label_bonds_by_runs
from equilabel.papers import load_passes, load_recipe
from equilabel.runs.cpu import painting, team_labels
from equilabel.segmentation import splitting
from equilabel.simulation.cpu import potts
from graphs import GRAPHS, expected_components
from references import (
    ANSWERS,
    GRID_METHODS,
    bond_roots,
    expected_labels,
    label_periodic_graph,
    random_bonds,
)
from strategies import noise

SHAPES = [(70,), (5, 67), (4, 130), (3, 4, 66), (2, 3, 3, 5)]  # words of 64 bits begin and end
SMALL = [(70,), (5, 37), (3, 4, 18), (2, 3, 3, 5)]  # one pixel after the other: no words
KINDS = {
    "background": lambda shape: np.zeros(shape, np.uint8),
    "foreground": lambda shape: np.ones(shape, np.uint8),
    "noise": lambda shape: noise(shape, "u1", 2, seed=1),
    "values": lambda shape: noise(shape, "u1", 3, seed=2),
}
AGAIN = config.DISABLE_JIT or config.BOUNDSCHECK
INTENSITIES = ("u1", "i8", "f8") if AGAIN else ("u1", "u2", "i8", "f4", "f8")
CASES = [
    (method, shape)
    for method in GRID_METHODS
    for shape in (SHAPES if method == "runs" else SMALL)
    if len(shape) in METHODS[method].ranks
]


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request, many_threads):
    many_threads(request.param)


def columns(rank, *, intensity):
    """Name all columns that are counted for so many axes."""
    return [
        name
        for name, row in PROPERTIES.items()
        if row.counted
        and (not row.ranks or rank in row.ranks)
        and name != "frame"
        and (intensity or not row.intensity)
    ]


@pytest.mark.usefixtures("threads", "in_one_call")
@pytest.mark.parametrize(("method", "shape"), CASES, ids=str)
def test_every_method_labels_every_kind_of_image(method, shape):
    for kind, make in KINDS.items():
        values = make(shape)
        image = values if kind == "values" else values.astype(bool)
        for connectivity in (1, len(shape)):
            expected = expected_labels(image, None, connectivity)
            asked = {"connectivity": connectivity, "method": method}
            if method == "runs":
                np.testing.assert_array_equal(label(image, **asked), expected)
            out = np.full((*shape, 2), 9, np.int32)[..., 0]  # with gaps: pass by pass
            label(image, out=out, **asked)
            np.testing.assert_array_equal(out, expected)


@pytest.mark.usefixtures("in_one_call")
@pytest.mark.parametrize("slope", range(-3, 4))
def test_stripes_that_lean_are_labeled_with_gaps_and_specks(slope):
    y, x = np.ogrid[:9, :150]
    rng = np.random.default_rng(5)
    for period, wide, noisy in product(range(3, 10), (1, 2, 4), (0, 0.03, 0.1)):
        image = ((slope * y + x) % period < wide) ^ (rng.random((9, 150)) < noisy)
        for connectivity in (1, 2):
            labels = label(image, connectivity=connectivity)
            np.testing.assert_array_equal(labels, expected_labels(image, None, connectivity))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="teams are for POSIX")
@pytest.mark.parametrize("shape", [(37, 64), (40, 67), (9, 8, 70), (5, 4, 5, 6)], ids=str)
def test_a_team_labels_every_kind_of_image(monkeypatch, many_threads, shape):
    monkeypatch.setattr(team_labels, "_left", 0)  # at the first image
    monkeypatch.setattr(painting, "LARGE", 0)  # past the caches
    many_threads(4)
    for make in KINDS.values():
        image = make(shape)
        for connectivity in (1, len(shape)):
            out = np.full(shape, 9, np.int32)
            expected = expected_labels(image, None, connectivity)
            for room in (None, out):
                labels = label(image, connectivity=connectivity, out=room)
                np.testing.assert_array_equal(labels, expected)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("steps", [[(0, 1), (1, 0)], [(1, -1), (0, 1), (1, 1)], [(1, 0)]], ids=len)
@pytest.mark.parametrize("shape", [(1, 3), (5, 66), (4, 128)], ids=str)
def test_lattices_of_bonds_are_labeled(shape, steps):
    for periodic in ((False, False), (True, True)):
        bonds = random_bonds(shape, steps, periodic)
        roots = bond_roots(bonds)
        found = load_recipe("komura")(load_passes("komura", "cpu"), bonds).roots
        np.testing.assert_array_equal(found, roots)
        labels, _ = label_bonds_by_runs(bonds)
        np.testing.assert_array_equal(labels.ravel(), np.unique(roots, return_inverse=True)[1])


@pytest.mark.parametrize("method", [name for name in METHODS if "graph" in METHODS[name].domains])
def test_every_method_labels_graphs(method):
    for kind in ("star, hub last", "path, shuffled", "random, 1000 edges", "no edges"):
        labels = label_graph(GRAPHS[kind], method=method)
        np.testing.assert_array_equal(labels, expected_components(GRAPHS[kind])[1])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["star, hub last", "path, shuffled", "random, 1000 edges"])
def test_edges_that_come_in_any_order_give_the_labels_of_their_graph(kind, dtype):
    graph, rng = GRAPHS[kind], np.random.default_rng(4)
    starts = np.repeat(np.arange(graph.size), np.diff(graph.offsets))
    edges = rng.permutation(np.stack([starts, graph.neighbors], axis=1).astype(np.int64))
    firsts = rng.permutation(10 * graph.size)[: graph.size]
    vertex = np.argsort(np.argsort(firsts))
    expected = label_graph(Graph.from_edges(*vertex[edges].T, size=graph.size))[vertex] + 1
    parents, kernels = np.arange(graph.size, dtype=dtype), passes("runs.seams", "cpu")
    for some in np.array_split(edges, 3):
        kernels.unite_edges(parents, some)
    kernels.lower_firsts(parents, firsts)
    ranks = np.unique(firsts[parents], return_inverse=True)[1] + 1
    np.testing.assert_array_equal(ranks, expected)


def test_components_close_together_in_a_large_image_are_numbered_in_order():
    firsts = np.concatenate([np.arange(200), [2**50]])[::-1]
    labels, count = unite(firsts.copy(), [])
    assert count == 201
    np.testing.assert_array_equal(labels, np.arange(201, 0, -1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_hashes_are_those_of_the_specification(text, expected):
    with np.errstate(over="ignore"):
        assert checksum(np.frombuffer(text, np.uint8)) == expected


def test_hashes_depend_on_every_bit_and_not_on_where_an_array_lies():
    rng = np.random.default_rng(0)
    some = rng.integers(0, 256, 107).astype(np.uint8)
    found = set()
    with np.errstate(over="ignore"):
        for length in range(107):
            found.add(checksum(some[:length]))
        for bit in range(8 * some.size):
            some[bit // 8] ^= 1 << bit % 8
            found.add(checksum(some))
            some[bit // 8] ^= 1 << bit % 8
        assert len(found) == 9 * 107
        moved = np.append(np.uint8(0), some)[1:]
        assert checksum(moved) == checksum(some) == checksum(np.repeat(some, 2)[::2])
        assert checksum(some[:96].view(">i2")) == checksum(some[:96].reshape(8, 12))


@pytest.mark.parametrize("valued", [False, True])
@pytest.mark.parametrize("hops", [0, 1, 2])
def test_labels_that_touch_where_two_blocks_meet_are_listed(hops, valued):
    rng = np.random.default_rng(hops)
    for _ in range(20):
        shape = tuple(rng.integers(1, 6, 2))
        mine, theirs = rng.integers(0, 4, (2, *shape)).astype(np.int32)
        values = rng.integers(0, 2, (2, 3 * valued)).astype(np.uint8)
        image = np.stack([mine, theirs]) > 0
        expected = set()
        for one, other in product(*(zip(*np.nonzero(each), strict=True) for each in image)):
            moves = np.abs(np.subtract(one, other))
            pair = int(mine[one]), int(theirs[other])
            if moves.max() > 1 or moves.sum() > hops:
                continue
            if not valued or values[0][pair[0] - 1] == values[1][pair[1] - 1]:
                expected.add(pair)
        mine.flags.writeable = False
        found = set(map(tuple, touching(mine, theirs, tuple(values), hops, False).tolist()))
        assert found <= expected
        if not valued:  # what is left out touches through what is opposite
            opposite = set(zip(mine[image.all(axis=0)], theirs[image.all(axis=0)], strict=True))
            ends = {one for one, _ in opposite}
            assert expected - found <= {pair for pair in expected if pair[0] in ends}
        if not hops:
            assert found == expected


@pytest.mark.parametrize("shape", [*SHAPES, (2, 130, 1), (3, 1, 70)], ids=str)
def test_blocks_are_joined_by_their_runs(shape):
    for kind, make in KINDS.items():
        image = make(shape) if kind == "values" else make(shape) > 0
        for connectivity in (1, len(shape)):
            expected = expected_labels(image, None, connectivity)
            asked = {"connectivity": connectivity, "scheduler": "synchronous"}
            for chunks in (65, 2, [*(-1,) * (len(shape) - 1), 1]):
                found = label_chunked(image, chunks=chunks, **asked)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_method_joins_across_boundaries_and_objects_are_measured_there(shape):
    names = [name for name in columns(len(shape), intensity=True) if PROPERTIES[name].periodic]
    for kind, make in KINDS.items():
        image = make(shape) if kind == "values" else make(shape) > 0
        for connectivity in (1, len(shape)):
            expected = label_periodic_graph(image, connectivity, [True] * len(shape))
            for method in ANSWERS:
                found = label(image, connectivity=connectivity, method=method, periodic=True)
                np.testing.assert_array_equal(found, expected)
        values = noise(shape, "f4", 200, seed=3)
        table = regionprops_table(expected, values, names, periodic=True)
        assert table["num_pixels"].sum() == (expected > 0).sum()


@pytest.mark.parametrize("side", [1, 2, 8, 15, 30])
def test_small_images_are_labeled_in_one_call(side):
    for make in KINDS.values():
        image = make((side, side))
        np.testing.assert_array_equal(label(image), expected_labels(image))
        np.testing.assert_array_equal(
            label(image > 0, connectivity=1), expected_labels(image > 0, None, 1)
        )


@pytest.mark.usefixtures("in_one_call")
@pytest.mark.parametrize("shape", [(3, 1), (70,), (7, 5), (9, 64), (6, 70), (5, 130)], ids=str)
def test_small_masks_are_labeled_row_by_row(shape):
    at = sum(np.ogrid[tuple(map(slice, shape))])
    for kind in (noise(shape, "u1", 2, seed=5), at % 2, at % 3 > 0, at % 8 < 3, at - at, at >= 0):
        image = kind.astype(np.uint8)
        for connectivity in range(1, image.ndim + 1):
            expected = expected_labels(image, None, connectivity)
            for asked in (image, image, image > 0, image.astype(np.int64) << 40, image.T.copy().T):
                labels, count = label(asked, return_num=True, connectivity=connectivity)
                np.testing.assert_array_equal(labels, expected)
                assert count == expected.max()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("shape", [(1,), (200,), (9, 64), (6, 70), (5, 2, 68)], ids=str)
def test_masks_of_one_component_are_labeled_and_measured(shape, monkeypatch):
    comb = np.indices(shape)[-1] % 2 == 0
    comb[:1] = True
    island = np.ones(shape, bool)
    island[(slice(1, -1),) * len(shape)] = False
    island[tuple(side // 2 for side in shape)] = True
    for mask in (np.ones(shape, bool), np.zeros(shape, bool), comb, island, ~comb):
        for connectivity in (1, len(shape)):
            expected = expected_labels(mask, None, connectivity)
            for least in (0, 2**25):
                monkeypatch.setattr("equilabel.runs.cpu.painting.LARGE", least)
                out = np.full(shape, -1, np.int32)
                asked = {"connectivity": connectivity, "properties": ["num_pixels"]}
                _, table = label(mask, out=out, **asked)
                np.testing.assert_array_equal(out, expected)
                assert table["num_pixels"].tolist() == np.bincount(expected.ravel())[1:].tolist()
                labels = label(mask.astype(np.uint16), connectivity=connectivity)
                np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("shape", [(5, 67), (3, 4, 66)], ids=str)
def test_labels_far_apart_are_measured_as_those_that_are_near(shape):
    names = [name for name in columns(len(shape), intensity=True) if name != "label"]
    values = noise(shape, "u1", 200, seed=3)
    for make in KINDS.values():
        labels = label(make(shape) > 0, connectivity=1)
        expected = regionprops_table(labels, values, names)
        found = regionprops_table(labels * 10_000_000, values, names)
        for name, column in expected.items():
            np.testing.assert_array_equal(found[name], column, err_msg=name)
        labels[-1, -1] = -1
        with pytest.raises(ValueError, match="no negative labels; got -1"):
            regionprops_table(labels)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", INTENSITIES)
@pytest.mark.parametrize("shape", [(6, 131), (3, 4, 66)], ids=str)
def test_every_column_is_counted_from_runs_and_from_labels(shape, dtype):
    names = columns(len(shape), intensity=True)
    values = noise(shape, "u1", 200, seed=3).astype(dtype)
    for make in KINDS.values():
        mask = make(shape) > 0
        labels = label(mask, connectivity=1)
        uneven = tuple(range(1, 1 + len(shape)))
        for spacing in (None, uneven):
            asked = {"connectivity": 1, "intensity_image": values, "spacing": spacing}
            from_runs = measure_components(mask, names, **asked)
            given = {} if spacing is None else {"spacing": spacing}
            from_labels = regionprops_table(labels, values, names, **given)
            for name, column in from_runs.items():  # what cancels is not 0 to the last bit
                close = {"rtol": 1e-9, "atol": 1e-9, "err_msg": name}
                np.testing.assert_allclose(column, from_labels[name], **close)
        assert from_runs["num_pixels"].sum() == mask.sum()


@pytest.mark.parametrize("shape", [(7,), (2, 3, 3, 5)], ids=str)
def test_columns_of_other_numbers_of_axes_are_counted(shape):
    mask = noise(shape, "u1", 2, seed=4) > 0
    table = measure_components(mask, columns(len(shape), intensity=False))
    assert table["num_pixels"].sum() == mask.sum()


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
def test_thresholds_count_and_compare(dtype):
    image = noise((40, 70), "u1", 200, seed=5).astype(dtype)
    mask = binarize(image, "otsu")
    found = segment(image, threshold="otsu", sigma=1.0, fill_holes=True, min_size=2)
    assert mask.any()
    assert found.num == found.labels.max()
    np.testing.assert_array_equal(segment(image).labels, label(mask))


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("spacing", [1, (1, 1.5), (2, 1, 1.5)], ids=str)
@pytest.mark.parametrize("large", [0, 2**20])
def test_objects_are_filtered_cleaned_and_split(spacing, large, monkeypatch):
    """Two disks or balls that touch, at the end of the image, as small and as large components."""
    monkeypatch.setattr(splitting, "LARGE", large)
    rank = 3 if spacing == (2, 1, 1.5) else 2
    places = np.indices((9, 15, 29)[-rank:])
    middles = np.array([[4, 5, 5], [4, 5, 15]])[:, -rank:]
    radii = (4, 5.5, 5.5)[-rank:]
    image = np.zeros(places.shape[1:], "u1")
    for middle in middles:
        away = (places.T - middle) / radii
        image[((away**2).sum(-1) <= 1).T] = 90
    options = {"background": 20, "closing": 1.5, "opening": 1, "sigma": 0.5, "split": 0.4}
    found = segment(image, 40, spacing=spacing, **options)
    assert found.num == 2
    assert segment(image, 40, **{**options, "split": False}).num == 1
    for dtype in ("i2", "f4", "f8"):
        again = segment(image.astype(dtype), 40, spacing=spacing, **options)
        np.testing.assert_array_equal(again.labels, found.labels)


def test_kalentev_accumulates_while_it_labels():
    mask = noise((9, 70), "u1", 2, seed=6) > 0
    _, table = label(mask, method="kalentev", properties=("num_pixels", "perimeter_edges"))
    assert table["num_pixels"].sum() == mask.sum()


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sizes_boxes_and_faces_are_counted_from_runs_alone(shape):
    faces = {2: ["perimeter_edges"], 3: ["surface_area_faces"]}.get(len(shape), [])
    for make in KINDS.values():
        mask = make(shape) > 0
        labels, table = label(mask, properties=["num_pixels", "bbox", "centroid", *faces])
        expected = regionprops_table(labels, properties=["num_pixels", "bbox", "centroid", *faces])
        np.testing.assert_array_equal(table["num_pixels"], np.bincount(labels.ravel())[1:])
        for name, column in expected.items():
            np.testing.assert_array_equal(table[name], column, err_msg=name)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("shape", [(9,), (4, 67), (2, 3, 5), (2, 2, 3, 2, 2, 2)], ids=str)
@pytest.mark.parametrize("update", ["swendsen_wang", "few_clusters"])
def test_every_update_of_spins_is_made(update, shape):
    chain = PottsSimulation(shape, 3, beta=0.8, start="hot", update=update, tile=2)
    for found in chain.measure(3):
        assert 0 <= -found.energy <= len(shape)
    assert potts.random_words(np.arange(3, dtype=np.uint32), 0, 0, 0).shape == (3, 4)
