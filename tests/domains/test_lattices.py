"""Lattices: how many neighbors sites have, which bonds are open, and what is refused."""

from math import pi, sin

import numpy as np
import pytest

from equilabel import Graph, label_graph
from equilabel.domains import lattices

FLAT = {"square": 4, "triangular": 6, "honeycomb": 3}  # neighbors of a site
KINDS = FLAT | {"cubic": 6}


def make(kind, shape, **options):
    return getattr(lattices, kind)(shape, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_site_of_a_periodic_lattice_has_all_its_neighbors(kind):
    shape = (4, 6, 8) if kind == "cubic" else (4, 6)
    graph = Graph.from_bonds(make(kind, shape, periodic=True))
    assert set(graph.degrees.tolist()) == {KINDS[kind]}
    pairs = list(zip(*(ends.tolist() for ends in graph.edges), strict=True))
    assert len(pairs) == len(set(pairs)) == KINDS[kind] * graph.size // 2


@pytest.mark.parametrize(
    ("kind", "shape", "edges"),
    [
        ("square", (3, 5), 3 * 4 + 2 * 5),
        ("triangular", (3, 5), 3 * 4 + 2 * 5 + 2 * 4),
        ("honeycomb", (3, 5), 3 * 4 + 3 + 2),
        ("honeycomb", (3, 4), 3 * 3 + 2 + 2),
        ("cubic", (2, 3, 4), 12 + 2 * 8 + 2 * 9),
        ("cubic", 3, 3 * 2 * 9),
        ("square", 1, 0),
    ],
)
def test_open_boundaries_have_fewer_bonds(kind, shape, edges):
    assert len(Graph.from_bonds(make(kind, shape)).edges[0]) == edges


def test_periodic_axes_of_length_one_and_two_join_sites_with_themselves_and_twice():
    assert Graph.from_bonds(lattices.square((1, 2), periodic=True)).degrees.tolist() == [4, 4]
    graph = Graph.from_bonds(lattices.square((1, 2), periodic=True))
    assert [ends.tolist() for ends in graph.edges] == [[0, 0], [1, 1]]
    assert label_graph(Graph.from_bonds(lattices.cubic(2, periodic=True))).tolist() == [0] * 8


def test_one_axis_can_be_periodic():
    ring = lattices.square((3, 4), periodic=(False, True), open_probability=1)
    assert ring.open.tolist() == [[3] * 4, [3] * 4, [1] * 4]


@pytest.mark.parametrize("z", [2, 3, 4, 6])
@pytest.mark.parametrize("generations", [0, 1, 2, 5])
@pytest.mark.parametrize("order", ["standard", "random"])
def test_a_bethe_lattice_is_a_tree_whose_inner_sites_have_z_neighbors(z, generations, order):
    graph = lattices.bethe(z, generations, order, seed=1)
    assert len(graph.edges[0]) == graph.size - 1
    assert label_graph(graph, return_num=True)[1] == 1
    shell = z * (z - 1) ** (generations - 1) if generations else 1
    degrees = np.sort(graph.degrees)
    assert (degrees[:shell] == (1 if generations else 0)).all()
    assert (degrees[shell:] == z).all()


def test_sizes_of_bethe_lattices_are_those_of_the_paper():
    sizes = [lattices.bethe(3, generations).size for generations in (17, 18)]
    assert sizes == [393_214, 786_430]  # Komura (2016), Section 4


def test_standard_order_leaves_no_residual_list():
    graph = lattices.bethe(4, 4)
    sources = np.repeat(np.arange(graph.size), graph.degrees)
    lower = np.bincount(sources[graph.neighbors < sources], minlength=graph.size)
    assert lower.max() == 1
    assert not np.array_equal(graph.neighbors, lattices.bethe(4, 4, "random").neighbors)


@pytest.mark.parametrize("kind", KINDS)
def test_bonds_are_open_with_their_probability(kind):
    shape = (30, 30, 30) if kind == "cubic" else (160, 160)
    full, none = make(kind, shape), make(kind, shape, open_probability=0.0)
    opened = make(kind, shape, open_probability=0.3, seed=5)
    assert not none.open.any()
    assert not (opened.open & ~full.open).any()
    for k in range(len(full.steps)):
        there = (full.open >> k & 1).astype(bool)
        rate = (opened.open >> k & 1)[there].mean()
        assert abs(rate - 0.3) < 5 * (0.21 / there.sum()) ** 0.5


def test_bonds_of_one_site_are_independent():
    bonds = lattices.square(300, periodic=True, open_probability=0.5, seed=2).open
    assert abs(np.corrcoef(bonds.ravel() & 1, bonds.ravel() >> 1)[0, 1]) < 5 / 300
    assert abs(np.corrcoef(bonds[:, 1:].ravel() & 1, bonds[:, :-1].ravel() & 1)[0, 1]) < 5 / 300


def test_seeds_reproduce_and_differ():
    def draw(seed):
        return lattices.triangular(20, open_probability=0.4, seed=seed).open

    assert np.array_equal(draw(3), draw(3))
    assert not np.array_equal(draw(3), draw(4))
    first = lattices.bethe(3, 5, "random", open_probability=0.5, seed=1)
    again = lattices.bethe(3, 5, "random", open_probability=0.5, seed=1)
    assert np.array_equal(first.neighbors, again.neighbors)


@pytest.mark.parametrize(
    ("kind", "threshold"),
    [
        ("square", 0.5),
        ("triangular", 2 * sin(pi / 18)),
        ("honeycomb", 1 - 2 * sin(pi / 18)),
        ("cubic", 0.2488),
    ],
)
def test_clusters_span_above_the_threshold_of_the_lattice_alone(kind, threshold):
    shape = (24, 24, 24) if kind == "cubic" else (128, 128)
    for factor, spans in ((0.8, False), (1.2, True)):
        bonds = make(kind, shape, open_probability=factor * threshold, seed=1)
        labels = label_graph(Graph.from_bonds(bonds)).reshape(shape)
        assert bool(set(labels[0].ravel()) & set(labels[-1].ravel())) == spans


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lattices.square(4, open_probability=1.5), ValueError, "must be 0 to 1; got 1.5"),
        (lambda: lattices.cubic(4, open_probability=-0.1), ValueError, "must be 0 to 1; got -0.1"),
        (lambda: lattices.bethe(3, 2, open_probability=float("nan")), ValueError, "got nan"),
        (lambda: lattices.square(0), ValueError, "shape must be 1 or more; got 0"),
        (lambda: lattices.square((3, 4, 5)), ValueError, "must have 2 sides"),
        (lambda: lattices.square(2.5), TypeError, "shape must be a whole number; got 2.5"),
        (lambda: lattices.square(4, periodic=(True,)), ValueError, "a bool or 2 of them"),
        (lambda: lattices.square(4, periodic="yes"), ValueError, "got 'yes'"),
        (lambda: lattices.square(4, seed=-1, open_probability=0.5), ValueError, "seed must be 0"),
        (lambda: lattices.honeycomb((3, 4), periodic=True), ValueError, "even along periodic axes"),
        (lambda: lattices.bethe(1, 3), ValueError, "z must be 2 or more; got 1"),
        (lambda: lattices.bethe(3, -1), ValueError, "generations must be 0 or more; got -1"),
        (lambda: lattices.bethe(3, 2, "inwards"), ValueError, r"\['standard', 'random'\]"),
    ],
)
def test_what_makes_no_lattice_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_odd_sides_are_fine_along_open_boundaries_of_a_honeycomb():
    bonds = lattices.honeycomb((5, 4), periodic=(False, True))
    assert set(Graph.from_bonds(bonds).degrees.tolist()) == {2, 3}
