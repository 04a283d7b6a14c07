"""Graphs and lattices on a GPU: roots are those of the CPU, and nothing leaves the device."""

from __future__ import annotations

import numpy as np
import pytest

from equilabel import METHODS, Graph, label_graph
from equilabel.domains import lattices
from equilabel.papers import load_passes, load_recipe
from graphs import GRAPHS, expected_components, expected_roots, hubs, path, random_edges, star

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]

ABLE = [name for name, row in METHODS.items() if "graph" in row.domains]
RUNS = 8  # of one race
LARGE = {
    "random": Graph.from_edges(random_edges(300_000, 900_000)),
    "many components": Graph.from_edges(random_edges(300_000, 120_000), size=300_000),
    "star": Graph.from_edges(star(300_000, 150_000)),
    "star, hub last": Graph.from_edges(star(300_000, 299_999)),
    "hubs": Graph.from_edges(hubs(300_000, 40)),  # longer lists than a warp looks at at once
    "path": Graph.from_edges(path(np.arange(300_000))),
    "path, backwards": Graph.from_edges(path(np.arange(300_000)[::-1])),
    "path, shuffled": Graph.from_edges(path(np.random.default_rng(0).permutation(300_000))),
    "grid": Graph.from_image(np.ones((500, 600), np.uint8), 1),
    "complete": Graph.from_edges(np.argwhere(np.triu(np.ones((900, 900)), 1))),
}


def on_device(graph, offset=None, vertex=None):
    offsets = graph.offsets.astype(offset or graph.offsets.dtype)
    return Graph(cupy.asarray(offsets), cupy.asarray(graph.neighbors.astype(vertex or np.int32)))


def find_roots(name, graph):
    found = load_recipe(name)(load_passes(name, "cuda"), graph).roots
    assert isinstance(found, cupy.ndarray)
    assert found.dtype in (np.int32, np.int64)
    return found.get()


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", ABLE)
def test_roots_are_the_smallest_vertices_of_components(name, kind):
    found = find_roots(name, on_device(GRAPHS[kind]))
    np.testing.assert_array_equal(found, expected_roots(GRAPHS[kind]))


@pytest.mark.parametrize("offset", ["i4", "i8"])
@pytest.mark.parametrize("vertex", ["i4", "i8"])
@pytest.mark.parametrize("name", ABLE)
def test_indices_have_32_or_64_bits(name, vertex, offset):
    graph = GRAPHS["random, 150 edges"]
    found = find_roots(name, on_device(graph, offset, vertex))
    np.testing.assert_array_equal(found, expected_roots(graph))


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("name", ["komura", "union_find"])
def test_large_graphs_end_with_the_same_bits_in_every_run(name, kind):
    if name == "komura" and kind.startswith("path"):
        pytest.skip("a thread walks along all of the path")
    graph, expected = on_device(LARGE[kind]), expected_roots(LARGE[kind])
    for _ in range(RUNS):
        np.testing.assert_array_equal(find_roots(name, graph), expected)


@pytest.mark.parametrize("name", ["hawick_1", "hawick_2"])
@pytest.mark.parametrize("kind", ["random", "many components", "star, hub last", "hubs"])
def test_colors_of_large_graphs_settle(name, kind):
    found = find_roots(name, on_device(LARGE[kind]))
    np.testing.assert_array_equal(found, expected_roots(LARGE[kind]))


def test_each_pass_of_union_find_leaves_what_it_promises():
    graph = LARGE["hubs"]
    there, module = on_device(graph), load_passes("union_find", "cuda")
    parents = module.initialize(there)
    twin = load_passes("union_find", "cpu").initialize(graph)
    np.testing.assert_array_equal(parents.get(), twin)
    module.compress(parents)
    load_passes("union_find", "cpu").compress(twin)
    np.testing.assert_array_equal(parents.get(), twin)
    module.unite_first(there, parents)
    module.compress(parents)
    assert (parents[parents] == parents).all()
    assert (parents <= cupy.arange(graph.size)).all()
    load_passes("union_find", "cpu").unite_first(graph, twin)
    load_passes("union_find", "cpu").compress(twin)
    np.testing.assert_array_equal(parents.get(), twin)
    largest = module.find_largest(parents)
    expected = load_passes("union_find", "cpu").find_largest(twin)
    assert largest == parents.dtype.type(expected % 2**32)  # -1 is the largest of the type


def test_64_bit_parents_are_united_like_those_of_32_bits(monkeypatch):
    module, graph = load_passes("union_find", "cuda"), LARGE["hubs"]
    there = on_device(graph, "i8", "i8")
    narrow = module.initialize(there)
    wide = narrow.astype(cupy.uint64)
    for parents in (narrow, wide):
        module.compress(parents)
        module.unite_first(there, parents)
        module.compress(parents)
        module.unite_rest(there, parents, module.find_largest(parents))
        found = module.finish(parents)
        np.testing.assert_array_equal(found.get(), expected_roots(graph))


@pytest.mark.parametrize("kind", GRAPHS)
def test_numbers_are_those_of_scipy_and_stay_on_the_device(kind):
    count, expected = expected_components(GRAPHS[kind])
    labels, found = label_graph(on_device(GRAPHS[kind]), return_num=True)
    assert isinstance(labels, cupy.ndarray)
    assert labels.dtype == np.int32
    assert int(found) == count
    np.testing.assert_array_equal(labels.get(), expected)


def test_graphs_move_to_a_device_asked_for_by_name_and_labels_back():
    graph = GRAPHS["random, 150 edges"]
    expected = expected_components(graph)[1]
    there = label_graph(graph, device="cuda")
    assert isinstance(there, np.ndarray)
    np.testing.assert_array_equal(there, expected)
    here, count = label_graph(on_device(graph), device="cpu", return_num=True)
    assert isinstance(here, cupy.ndarray)
    assert count == expected.max() + 1
    np.testing.assert_array_equal(here.get(), expected)


def test_graphs_are_made_on_the_device_as_on_the_host():
    pairs = random_edges(200, 150)
    image = np.random.default_rng(0).integers(0, 3, (20, 30))
    bonds = lattices.honeycomb(20, open_probability=0.6, seed=1)
    there = lattices.honeycomb(20, open_probability=0.6, seed=1, like=cupy.empty(0))
    np.testing.assert_array_equal(there.open.get(), bonds.open)
    graph = Graph.from_edges(pairs)
    arrays = cupy.asarray(graph.offsets), cupy.asarray(graph.neighbors)
    table = np.where(np.arange(200) % 2, np.arange(200) - 1, np.arange(200) + 1)[None]
    for made, expected in (
        (Graph.from_edges(cupy.asarray(pairs)), graph),
        (Graph.from_csr(*arrays), graph),
        (Graph.from_neighbor_list(cupy.asarray(table)), Graph.from_neighbor_list(table)),
        (Graph.from_image(cupy.asarray(image), 1), Graph.from_image(image, 1)),
        (Graph.from_bonds(there), Graph.from_bonds(bonds)),
    ):
        assert isinstance(made.neighbors, cupy.ndarray)
        np.testing.assert_array_equal(made.offsets.get(), expected.offsets)
        np.testing.assert_array_equal(made.neighbors.get(), expected.neighbors)
        assert made.neighbors.dtype == expected.neighbors.dtype
        for one, other in zip(made.edges, expected.edges, strict=True):
            np.testing.assert_array_equal(one.get(), other)


def test_arcs_in_one_direction_are_refused_or_made_symmetric_there():
    arrays = cupy.array([0, 2, 3, 3]), cupy.array([1, 2, 0])
    with pytest.raises(ValueError, match="got 2 as a neighbor of 0"):
        Graph.from_csr(*arrays)
    graph = Graph.from_csr(*arrays, asymmetric="symmetrize")
    assert graph.neighbors.tolist() == [1, 2, 0, 0]


def test_a_sparse_array_of_the_device_is_labeled_there():
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    graph = GRAPHS["random, 150 edges"]
    arrays = cupy.ones(graph.neighbors.size, np.float32), *vars(on_device(graph)).values()
    rows = sparse.csr_matrix((arrays[0], arrays[2], arrays[1]), shape=(graph.size,) * 2)
    labels = label_graph(rows)
    assert isinstance(labels, cupy.ndarray)
    np.testing.assert_array_equal(labels.get(), expected_components(graph)[1])


def test_work_waits_for_the_current_stream_alone():
    graph, expected = LARGE["random"], expected_components(LARGE["random"])[1]
    with cupy.cuda.Stream(non_blocking=True) as stream:
        labels = label_graph(on_device(graph))
        stream.synchronize()
    np.testing.assert_array_equal(labels.get(), expected)


def test_a_path_of_ten_million_vertices_takes_no_long_walks():
    """Chains of parents are halved by all threads at once; one that walks them takes minutes."""
    size = 10_000_000
    vertices = cupy.arange(size)
    graph = Graph.from_edges(vertices[:-1], vertices[1:])
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    labels = label_graph(graph)
    end.record()
    end.synchronize()
    assert not labels.any()
    assert cupy.cuda.get_elapsed_time(begin, end) < 5000  # ms, compiling included


def test_a_graph_on_a_gpu_is_looked_at_as_one_of_the_host():
    graph = on_device(Graph.from_edges(path(np.arange(9))))
    for field, index, value in (("neighbors", 3, 2**30), ("neighbors", 3, -5), ("offsets", 1, 99)):
        changed = Graph(graph.offsets.copy(), graph.neighbors.copy())
        getattr(changed, field)[index] = value
        with pytest.raises(ValueError, match="must"):
            label_graph(changed)
        with pytest.raises(ValueError, match="must"):
            Graph(changed.offsets, changed.neighbors)
    with pytest.raises(TypeError, match="of one library; got ndarray and ndarray of two"):
        Graph(graph.offsets, graph.neighbors.get())
    with pytest.raises(TypeError, match="array of integers; got complex128"):
        Graph(graph.offsets, graph.neighbors.astype(complex))
    wide = Graph(graph.offsets.astype("u8"), graph.neighbors.astype("i2"))
    assert label_graph(wide, return_num=True)[1] == 1
