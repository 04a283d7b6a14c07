"""Graphs: how they are made, what is refused, and their components by every method."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from equilabel import METHODS, Bonds, Graph, label, label_graph
from equilabel.devices.cpu import atomics
from equilabel.domains import graph as adjacency
from equilabel.domains.contract import Method
from equilabel.papers import load_passes, load_recipe
from equilabel.papers.hawick2010 import cpu as edges
from equilabel.runs.cpu import graphs as union_find
from graphs import GRAPHS, expected_components, expected_roots, path, random_edges, star

ABLE = [name for name, row in METHODS.items() if "graph" in row.domains]


def find_roots(name, graph):
    return load_recipe(name)(load_passes(name, "cpu"), graph)


def as_types(graph, offset, vertex):
    return Graph(graph.offsets.astype(offset), graph.neighbors.astype(vertex))


# ------------------------------------------------------------------- contract


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", ABLE)
def test_roots_are_the_smallest_vertices_of_components(name, kind):
    found = find_roots(name, GRAPHS[kind])
    assert found.roots.dtype == np.int64
    assert found.rounds >= 1
    np.testing.assert_array_equal(found.roots, expected_roots(GRAPHS[kind]))


@pytest.mark.parametrize(("offset", "vertex"), [("i4", "i8"), ("i8", "i4")])
@pytest.mark.parametrize("name", ABLE)
def test_indices_have_32_or_64_bits(name, vertex, offset):
    graph = as_types(GRAPHS["random, 150 edges"], offset, vertex)
    np.testing.assert_array_equal(find_roots(name, graph).roots, expected_roots(graph))


@pytest.mark.parametrize("name", ABLE)
@given(data=st.data())
def test_roots_are_right_whatever_the_graph(name, data):
    size = data.draw(st.integers(1, 20))
    vertices = st.integers(0, size - 1)
    pairs = data.draw(st.lists(st.tuples(vertices, vertices), max_size=40))
    graph = Graph.from_edges(pairs, size=size)
    np.testing.assert_array_equal(find_roots(name, graph).roots, expected_roots(graph))


@pytest.mark.parametrize("name", ABLE)
def test_a_graph_that_may_not_be_written_is_left_alone(name):
    graph = Graph(GRAPHS["hubs"].offsets.copy(), GRAPHS["hubs"].neighbors.copy())
    for array in (graph.offsets, graph.neighbors):
        array.setflags(write=False)
    np.testing.assert_array_equal(find_roots(name, graph).roots, expected_roots(graph))


# ---------------------------------------------------------------- label_graph


@pytest.mark.parametrize("kind", GRAPHS)
def test_numbers_are_those_of_scipy(kind):
    count, expected = expected_components(GRAPHS[kind])
    labels, found = label_graph(GRAPHS[kind], return_num=True)
    assert labels.dtype == np.int32
    assert found == count
    np.testing.assert_array_equal(labels, expected)


@pytest.mark.parametrize("name", ["auto", *ABLE, "generalized"])
def test_all_methods_give_the_same_numbers(name):
    graph = GRAPHS["random, 150 edges"]
    labels = label_graph(graph, method=name)
    np.testing.assert_array_equal(labels, expected_components(graph)[1])


def test_a_graph_without_vertices_has_no_components():
    labels, count = label_graph(Graph.from_edges([]), return_num=True)
    assert (labels.tolist(), labels.dtype, count) == ([], np.int32, 0)


def test_numbers_are_those_of_networkx():
    networkx = pytest.importorskip("networkx")
    graph = networkx.gnm_random_graph(200, 130, seed=2)
    graph.add_edges_from([("a", 3), (("b", 1), "a"), ("c", "c")])
    labels = dict(zip(graph, label_graph(graph).tolist(), strict=True))
    for component in networkx.connected_components(graph):
        assert len({labels[node] for node in component}) == 1
    assert len(set(labels.values())) == networkx.number_connected_components(graph)
    assert list(dict.fromkeys(labels.values())) == list(range(len(set(labels.values()))))


def test_numbers_are_those_of_igraph():
    igraph = pytest.importorskip("igraph")
    for graph in (igraph.Graph.Erdos_Renyi(200, m=130), igraph.Graph(4, [(3, 1)], directed=True)):
        labels, count = label_graph(graph, return_num=True)
        assert labels.tolist() == graph.connected_components("weak").membership
        assert count == len(graph.connected_components("weak"))
    assert label_graph(igraph.Graph(2)).tolist() == [0, 1]


def test_a_graph_of_igraph_is_known_by_what_it_has():
    graph = SimpleNamespace(get_edgelist=lambda: [(2, 0), (3, 3)], vcount=lambda: 4)
    assert label_graph(graph).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f4"])
def test_an_adjacency_matrix_is_labeled_as_scipy_does(dtype):
    matrix = (3 * (np.random.default_rng(1).random((60, 60)) < 0.012)).astype(dtype)
    expected = sparse.csgraph.connected_components(matrix)
    for array in (matrix, matrix.T, np.tril(matrix + matrix.T)):
        labels, count = label_graph(array, return_num=True)
        assert count == expected[0]
        np.testing.assert_array_equal(labels, expected[1])


def test_entries_that_are_no_number_or_masked_are_no_edges():
    matrix = np.zeros((5, 5))
    matrix[0, 1], matrix[1, 2], matrix[2, 3], matrix[3, 4] = np.nan, np.inf, -1, 2
    assert label_graph(matrix).tolist() == [0, 1, 2, 2, 2]
    assert sparse.csgraph.connected_components(matrix)[1].tolist() == [0, 1, 2, 2, 2]
    assert label_graph(np.ma.masked_equal(matrix, 2)).tolist() == [0, 1, 2, 2, 3]


SPARSE = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


@pytest.mark.parametrize("form", SPARSE)
def test_a_sparse_array_is_labeled_as_scipy_does(form):
    dense = np.random.default_rng(1).random((60, 60)) < 0.012  # in one direction only
    expected = sparse.csgraph.connected_components(dense)
    for kind in ("array", "matrix"):
        array = getattr(sparse, f"{form}_{kind}")(dense)
        labels, found = label_graph(array, return_num=True)
        assert found == expected[0]
        np.testing.assert_array_equal(labels, expected[1])


def test_zeros_that_fill_up_the_blocks_of_a_sparse_array_are_no_edges():
    dense = np.zeros((4, 4))
    dense[0, 1] = 1
    array = sparse.bsr_array(dense, blocksize=(4, 4))
    assert label_graph(array).tolist() == label_graph(sparse.csr_array(dense)).tolist()
    assert label_graph(array, return_num=True)[1] == 3
    assert array.data.size == 16  # as it was


@pytest.mark.parametrize(
    "array",
    [
        sparse.csr_array(([0.0, 1.0], ([0, 2], [1, 3])), shape=(4, 4)),
        sparse.csc_array(([0.0, 1.0], ([0, 2], [1, 3])), shape=(4, 4)),
        sparse.coo_array(([1.0, -1.0, 0.0], ([0, 0, 2], [1, 1, 3])), shape=(4, 4)),
        sparse.coo_array(([1, 1, 1], ([1, 1, 3], [0, 0, 3])), shape=(4, 4)),
        sparse.dia_array((np.array([[1.0, 0.0, 1.0, 1.0]]), [1]), shape=(4, 4)),
        sparse.coo_array((4, 4)).tolil(),
    ],
)
def test_zeros_and_repeated_entries_of_a_sparse_array_count_as_for_scipy(array):
    count, expected = sparse.csgraph.connected_components(array)
    labels, found = label_graph(array, return_num=True)
    assert (labels.tolist(), found) == (expected.tolist(), count)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", ["path, shuffled", "hubs", "random, 150 edges", "no edges"])
def test_the_number_of_threads_changes_nothing(kind):
    for _ in range(5):
        found = label_graph(GRAPHS[kind])
        np.testing.assert_array_equal(found, expected_components(GRAPHS[kind])[1])


@pytest.fixture(params=[1, 2, 4])
def threads(request, many_threads):
    many_threads(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("edges", [200_000, 1_000_000])
def test_large_graphs_are_labeled_by_many_threads(edges, many_threads):
    many_threads(4)
    size = 400_000
    pairs = random_edges(size, edges, seed=3)
    pairs[:5000, 0] = size // 2  # a hub
    graph = Graph.from_edges(pairs, size=size)
    np.testing.assert_array_equal(label_graph(graph), expected_components(graph)[1])


def test_a_method_that_knows_no_graphs_is_refused_with_those_that_do():
    with pytest.raises(ValueError, match="for a graph on 'cpu'; got 'runs'") as caught:
        label_graph(GRAPHS["path"], method="runs")
    assert str(ABLE) in str(caught.value)


def test_a_method_that_knows_no_images_is_refused():
    with pytest.raises(ValueError, match="2-dimensional grid on 'cpu'; got 'hawick_1'"):
        label(np.ones((2, 2), bool), method="hawick_1")


@pytest.mark.parametrize("graph", ["graph", [(0, 1)], None])
def test_what_is_no_graph_is_refused(graph):
    with pytest.raises(TypeError, match="must be a Graph, Bonds, a sparse or square") as caught:
        label_graph(graph)
    assert f"got {type(graph).__name__}. Make one with Graph.from_edges" in str(caught.value)


def test_an_option_of_another_method_is_refused():
    with pytest.raises(TypeError, match="method 'union_find' takes no options; got 'tile'"):
        label_graph(GRAPHS["path"], tile=8)


# ----------------------------------------------------------- Hawick's kernels


def test_each_kernel_of_hawick_takes_as_many_rounds_as_its_colors_need():
    graph = GRAPHS["path"]
    assert find_roots("hawick_1", graph).rounds == 2  # edges come in the order of the path
    assert find_roots("hawick_2", graph).rounds == 2
    assert find_roots("hawick_3", graph).rounds == graph.size  # its diameter plus 1
    backwards = Graph.from_edges(path(np.array([0, *range(9, 0, -1)])))
    assert find_roots("hawick_1", backwards).rounds == 9  # at first, two edges are in order
    assert find_roots("hawick_3", GRAPHS["no edges"]).rounds == 7  # a search for each vertex


def test_kernel_1_sees_each_edge_once_and_no_self_loop():
    sources, targets = GRAPHS["self loops"].edges
    assert (sources.tolist(), targets.tolist()) == ([2], [4])
    colors = np.array([0, 5, 3])
    found = edges.compare_ends(np.array([0, 1]), np.array([1, 2]), colors)
    assert (found, colors.tolist()) == (True, [0, 0, 0])
    assert not edges.compare_ends(np.array([0, 1]), np.array([1, 2]), colors)


def test_komuras_labels_start_at_the_lowest_neighbor():
    graph = Graph.from_edges([(0, 3), (3, 8), (3, 9), (6, 8), (6, 9), (9, 10), (0, 10)])
    labels = load_passes("komura", "cpu").initialize(graph)
    assert labels.tolist() == [0, 1, 2, 0, 4, 5, 6, 7, 3, 3, 0]


# ----------------------------------------------------------------- union-find


def test_the_largest_component_is_not_looked_at_again(monkeypatch):
    graph = GRAPHS["complete"]
    parents = union_find.initialize(graph)
    union_find.unite_first(graph, parents)
    union_find.compress(parents)
    assert union_find.find_largest(parents) == 0
    broken = Graph(graph.offsets, graph.neighbors.copy())
    broken.neighbors[:] = -(2**20)  # would be read outside
    union_find.unite_rest(broken, parents, 0)
    assert not parents.any()


def test_compare_and_swap_changes_what_is_expected_alone():
    array = np.array([5, 6], np.int32)
    swap = atomics.compare_and_swap
    assert (swap(array, 0, 5, 3), swap(array, 1, 5, 3)) == (5, 6)
    assert array.tolist() == [3, 6]


# --------------------------------------------------------------- constructors


def same(one, other):
    return one.offsets.tolist() == other.offsets.tolist() and all(
        sorted(one.neighbors[a:b]) == sorted(other.neighbors[a:b])
        for a, b in zip(one.offsets, one.offsets[1:], strict=False)
    )


@pytest.mark.parametrize("kind", GRAPHS)
def test_every_form_of_a_graph_makes_the_same(kind):
    graph = GRAPHS[kind]
    assert same(Graph.from_csr(graph.offsets, graph.neighbors), graph)
    table = np.full((max(graph.degrees.max(), 1), graph.size), -1)
    for i, (a, b) in enumerate(zip(graph.offsets, graph.offsets[1:], strict=False)):
        table[: b - a, i] = graph.neighbors[a:b]
    assert same(Graph.from_neighbor_list(table), graph)
    assert same(Graph.from_neighbor_list(table.ravel(), graph.size), graph)
    assert (graph.offsets.dtype, graph.neighbors.dtype) == (np.int32, np.int32)


def test_edges_may_come_as_pairs_or_as_two_arrays():
    pairs = random_edges(50, 60)
    graph = Graph.from_edges(pairs)
    assert same(graph, Graph.from_edges(pairs[:, 1], pairs[:, 0].astype(np.uint8)))
    assert graph.size == pairs.max() + 1
    assert graph.degrees.sum() == 120


@pytest.mark.parametrize("shape", [(7, 9), (4, 5, 6), (11,), (1, 6), ()])
@pytest.mark.parametrize("background", [0, None])
def test_an_image_makes_the_graph_of_its_regions(shape, background):
    image = np.random.default_rng(0).integers(0, 3, shape).astype(np.uint8)
    for connectivity in range(1, len(shape) + 1):
        labels = label_graph(Graph.from_image(image, connectivity, background=background))
        filled = image + 1 if background is None else image
        expected = label(filled, connectivity=connectivity).ravel()
        joined = {(a, b) for a, b in zip(labels, expected, strict=True) if b}
        assert len(joined) == expected.max() == len({a for a, _ in joined})
        assert labels.max() + 1 == expected.max() + (expected == 0).sum()


def test_a_ring_of_bonds_is_a_ring():
    ring = Bonds(np.ones(5, np.uint8), np.array([[1]]), (True,))
    assert Graph.from_bonds(ring).neighbors.reshape(5, 2).tolist() == [
        [1, 4], [0, 2], [1, 3], [2, 4], [0, 3],
    ]  # fmt: skip


def test_arcs_in_one_direction_are_refused_or_made_symmetric():
    one_way = ([0, 2, 3, 3], [1, 2, 0])
    rule = "got 2 as a neighbor of 0, but not 0 as one of 2. Pass asymmetric='symmetrize'"
    with pytest.raises(ValueError, match=rule):
        Graph.from_csr(*one_way)
    with pytest.raises(ValueError, match=rule):
        Graph.from_neighbor_list([[1, 0, -1], [2, -1, -1]])
    for graph in (
        Graph.from_csr(*one_way, asymmetric="symmetrize"),
        Graph.from_neighbor_list([[1, 0, -1], [2, -1, -1]], asymmetric="symmetrize"),
    ):
        assert same(graph, Graph.from_edges([(0, 1), (0, 2)]))
    with pytest.raises(ValueError, match=r"one of \['refuse', 'symmetrize'\]; got 'ignore'"):
        Graph.from_csr(*one_way, asymmetric="ignore")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Graph.from_edges([(0, -1)]), ValueError, "vertices must be 0 to 0"),
        (lambda: Graph.from_edges([(0, 5)], size=5), ValueError, "0 to 4, as there are 5; got 5"),
        (lambda: Graph.from_edges([(0, 1)], size=-1), ValueError, "size must be 0 or more; got -1"),
        (lambda: Graph.from_edges([(0, 1)], size=2.5), TypeError, "size must be a whole number"),
        (lambda: Graph.from_edges([(0, 1, 2)]), ValueError, "shape (M, 2)"),
        (lambda: Graph.from_edges([0, 1], [1]), ValueError, "two arrays of one length"),
        (lambda: Graph.from_edges([(0.5, 1)]), TypeError, "array of integers; got float64"),
        (lambda: Graph.from_edges([(True, False)]), TypeError, "got bool"),
        (lambda: Graph.from_edges([(0, 2**40)]), ValueError, "at most 3037000499 vertices"),
        (lambda: Graph.from_edges(np.array([[0, 2**63]], "u8")), ValueError, "64 bits with a sign"),
        (lambda: Graph.from_csr([0, 2, 1, 2], [1, 0]), ValueError, "falling in between"),
        (lambda: Graph.from_csr([0, 1, 3], [1, 0]), ValueError, "from 0 to the number"),
        (lambda: Graph.from_csr([1, 2], [0, 0]), ValueError, "got 1 to 2"),
        (lambda: Graph.from_csr([], []), ValueError, "an entry more"),
        (lambda: Graph.from_csr([0, 1, 2], [1, 2]), ValueError, "as there are 2; got 2"),
        (lambda: Graph.from_neighbor_list([1, 0, -1], 2), ValueError, "K * N entries"),
        (lambda: Graph.from_neighbor_list([[1, 0], [-2, -1]]), ValueError, "-1 for none; got -2"),
        (lambda: Graph.from_neighbor_list([[1, 2]]), ValueError, "got 2"),
        (lambda: Graph.from_scipy(np.eye(3)), TypeError, "sparse array; got ndarray"),
        (lambda: Graph.from_scipy(sparse.eye_array(2, 3)), ValueError, "as many rows as columns"),
        (lambda: label_graph(np.ones((3, 2), int)), ValueError, "(3, 2). Pairs of vertices are"),
        (lambda: Graph.from_dense(np.full((2, 2), "a")), TypeError, "bool or numbers; got <U1"),
        (lambda: Graph.from_igraph([1, 2]), TypeError, "one of igraph; got list"),
        (lambda: Graph.from_networkx([1, 2]), TypeError, "one of NetworkX; got list"),
        (lambda: Graph.from_image(np.ones((3, 3)), 3), ValueError, "connectivity must be 1 to 2"),
    ],
)
def test_what_describes_no_graph_is_refused(make, error, words):
    with pytest.raises(error, match=re.escape(words)):
        make()


def test_a_list_without_neighbors_of_more_vertices_than_memory_holds_is_refused(monkeypatch):
    monkeypatch.setattr("equilabel.storage.memory.free", lambda: 2**30)
    with pytest.raises(ValueError, match="size must fit into the free memory"):
        Graph.from_neighbor_list([], size=2**31)


def test_the_greatest_graph_that_is_sorted_has_pairs_that_fit_into_63_bits():
    assert adjacency.MOST**2 < 2**63 <= (adjacency.MOST + 1) ** 2


# ---------------------------------------------------------------------- bonds


def lattice(bits, periodic=(False, False), steps=((0, 1), (1, 0))):
    return Bonds(np.asarray(bits), np.array(steps), periodic)


@pytest.fixture
def toy(monkeypatch):
    """Add a method that labels lattices by making a graph of them."""
    row = Method("toy", "By way of a graph.", "", "roots", domains=("bonds",))
    recipe = lambda passes, domain: find_roots("union_find", Graph.from_bonds(domain))  # noqa: E731
    monkeypatch.setitem(METHODS.built_in, "toy", row)
    monkeypatch.setattr("equilabel.labeling.graphs.load_recipe", lambda name: recipe)
    monkeypatch.setattr("equilabel.labeling.graphs.load_passes", lambda name, device: None)


@pytest.mark.usefixtures("toy")
def test_labels_of_a_lattice_have_its_shape():
    labels = label_graph(lattice(np.array([[1, 2, 0], [0, 0, 0]], np.uint8)), method="toy")
    assert labels.tolist() == [[0, 0, 1], [2, 0, 3]]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("bits", "periodic", "words"),
    [
        ([[0, 1]], (True, False), "no open bonds that lead outside along axis 1"),
        ([[0, 2]], (False, True), "no open bonds that lead outside along axis 0"),
        ([[4, 0]], (True, True), "bits of steps 0 to 1 alone"),
    ],
)
def test_bonds_that_lead_outside_are_refused(bits, periodic, words):
    bonds = lattice(np.array(bits, np.uint8), periodic)
    with pytest.raises(ValueError, match=f"bonds must have {words}; got some. Clear these bits"):
        label_graph(bonds, method="toy")
    if "outside" in words:
        with pytest.raises(ValueError, match="across a boundary that is not periodic"):
            Graph.from_bonds(bonds)


@pytest.mark.usefixtures("toy")
def test_backward_steps_leave_at_the_other_end():
    bits = np.array([[1, 0], [0, 0]], np.uint8)
    bonds = lattice(bits, steps=((1, -1),))
    with pytest.raises(ValueError, match="lead outside along axis 1"):
        label_graph(bonds, method="toy")
    bonds = lattice(bits[:, ::-1], steps=((1, -1),))
    assert label_graph(bonds, method="toy").tolist() == [[0, 1], [1, 2]]


SITES = np.zeros((2, 2), np.uint8)


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ((SITES.astype(int), [(0, 1)], (True, True)), TypeError, "unsigned integers; got int64"),
        (([[1], [2, 3]], [(0, 1)], (True, True)), ValueError, "open must be an array"),
        ((SITES, [(0, 1)], (True,)), ValueError, "an entry for each of 2 axes; got 1"),
        ((SITES, [(0, 1)], True), TypeError, "periodic must be a bool for each axis; got True"),
        ((SITES, [(0, 1)], (True, 2)), TypeError, "periodic must be True or False; got 2"),
        ((SITES, [(0, 1)] * 9, (True, True)), ValueError, "bit for each of 9"),
        ((SITES, [(0, -1)], (True, True)), ValueError, "got [0, -1]. Reverse"),
        ((SITES, [(0, 2)], (True, True)), ValueError, "got [0, 2]"),
        ((SITES, [(0.0, 1.0)], (True, True)), TypeError, "array of integers; got float64"),
        ((SITES, [(0, 1, 0)], (True, True)), ValueError, "for each of 2 axes; got shape (1, 3)"),
    ],
)
def test_what_is_no_lattice_is_refused(fields, error, words):
    with pytest.raises(error, match=re.escape(words)):
        Bonds(*fields)


def test_a_lattice_may_come_in_any_integers_and_byte_order():
    bits = np.array([[1, 2], [0, 1]])
    expected = label_graph(lattice(bits.astype("u1"), (True, True)))
    for dtype in ("u2", ">u2", ">u4", "u8"):
        for steps in ([(0, 1), (1, 0)], np.array([(0, 1), (1, 0)], ">i2")):
            assert label_graph(Bonds(bits.astype(dtype), steps, [True, True])).tolist() == (
                expected.tolist()
            )


# ------------------------------------------------------------- Graph(...) itself


@pytest.mark.parametrize(
    ("offsets", "neighbors", "error", "words"),
    [
        ([0, 1, 2], [1, 10**8], ValueError, "vertices must be 0 to 1"),
        ([0, 1, 2], [1, -1], ValueError, "got -1"),
        ([0, 9, 2], [1, 0], ValueError, "falling in between"),
        ([0, 1, 10**8], [1, 0], ValueError, "from 0 to the number of neighbors, 2"),
        ([1, 1, 2], [1, 0], ValueError, "got 1 to 2"),
        ([], [], ValueError, "an entry more"),
        ([0j, 1, 2], [1, 0], TypeError, "offsets must be an array of integers; got complex128"),
        ([0, 1, 2], [1.0, 0], TypeError, "neighbors must be an array of integers; got float64"),
        ([0, 1, 2], [[1], [0, 1]], ValueError, "neighbors must be an array"),
        (None, None, TypeError, "got object"),
    ],
)
def test_arrays_that_are_no_graph_are_refused(offsets, neighbors, error, words):
    with pytest.raises(error, match=re.escape(words)):
        Graph(offsets, neighbors)


@pytest.mark.parametrize("name", ["auto", *ABLE])
def test_a_graph_whose_arrays_were_changed_is_looked_at_again(name):
    for field, index, value in (("neighbors", 3, 2**30), ("neighbors", 3, -5), ("offsets", 1, 9e8)):
        graph = Graph.from_edges(path(np.arange(9)))
        getattr(graph, field)[index] = value
        with pytest.raises(ValueError, match="must"):
            label_graph(graph, method=name)


@pytest.mark.parametrize("dtype", ["u1", "u4", "u8", ">i4", ">i8", "i2"])
def test_a_graph_may_come_in_any_integers_and_byte_order(dtype):
    graph = Graph(np.array([0, 1, 2, 2], dtype), np.array([1, 0], dtype))
    assert label_graph(graph).tolist() == [0, 0, 1]
    assert label_graph(Graph([0, 1, 2, 2], [1, 0])).tolist() == [0, 0, 1]


@pytest.mark.parametrize("name", ABLE)
def test_arcs_in_one_direction_end_nothing(name):
    """Such a graph is none; its labels are of no use, but no index leaves its arrays."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        size = int(rng.integers(1, 30))
        offsets = np.r_[0, np.sort(rng.integers(0, 60, size - 1)), 60]
        labels = label_graph(Graph(offsets, rng.integers(0, size, 60)), method=name)
        assert labels.shape == (size,)
        assert 0 <= labels.min() <= labels.max() < size


@pytest.mark.slow
def test_a_star_of_a_million_leaves_is_one_component():
    assert label_graph(Graph.from_edges(star(2**20, 77)), return_num=True)[1] == 1


@pytest.mark.parametrize("dtype", ["?", "u1", "f2", "f4", "f8"])
@pytest.mark.parametrize("background", [2**70, -(2**70), 10**400])
def test_a_background_that_no_pixel_can_have_joins_all_pixels(dtype, background):
    image = np.ones((3, 4), dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Graph.from_image(image, background=background)
    assert found.size == 12
    assert label_graph(found, return_num=True)[1] == 1
