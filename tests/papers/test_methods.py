"""The contract of published methods, and what their papers say about them."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import ndimage
from skimage import measure

from equilabel import label
from equilabel.devices.cpu import union_find
from equilabel.domains.contract import Method, Option
from equilabel.domains.grid import offsets, pad
from equilabel.papers import check_ability, find_method, load_passes, load_recipe
from equilabel.papers.kalentev2011 import cpu as kalentev
from equilabel.papers.komura2016 import cpu as komura
from equilabel.papers.table import METHODS
from equilabel.runs.cpu.numbering import number_roots
from references import GRID_METHODS, grid_of, skip_unknown_rank

ROOTS = [name for name in GRID_METHODS if METHODS[name].answer == "roots"]
DTYPES = [np.dtype(code) for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")]
SHAPES = [(23,), (9, 11), (5, 6, 7), (4, 3, 5, 4), (3, 2, 3, 3, 2), (2, 3, 1, 2, 2, 3)]
NEIGHBORHOODS = [(shape, c) for shape in SHAPES for c in range(1, len(shape) + 1)]


def find_roots(name, image, background, connectivity, *, stacked=False):
    skip_unknown_rank(name, image.ndim - stacked)
    grid = grid_of(image, background, connectivity, stacked=stacked)
    return load_recipe(name)(load_passes(name, "cpu"), grid).roots.reshape(image.shape)


def expected_roots(image, background, connectivity, *, stacked=False):
    structure = ndimage.generate_binary_structure(image.ndim, connectivity)
    if stacked:
        structure[[0, 2]] = False
    roots = np.full(image.shape, -1, np.int64)
    for value in np.unique(image):
        if background is None or value != background:
            labels, count = ndimage.label(image == value, structure)
            first = np.full(count + 1, image.size)
            np.minimum.at(first, labels.ravel(), np.arange(image.size))
            roots[labels > 0] = first[labels[labels > 0]]
    return roots


def check_roots(name, image, background, connectivity, *, stacked=False):
    roots = find_roots(name, image, background, connectivity, stacked=stacked)
    assert roots.dtype == np.int64
    expected = expected_roots(image, background, connectivity, stacked=stacked)
    np.testing.assert_array_equal(roots, expected)


def noise(shape, dtype=np.int32, values=3, seed=0):
    return np.random.default_rng(seed).integers(0, values, shape).astype(dtype)


def spiral(size):
    """Draw a curve one pixel wide, inwards from a corner, with one pixel between its turns."""
    image = np.zeros((size, size), bool)
    y = x = dy = 0
    dx = 1
    for length in (size - 1, *np.repeat(np.arange(size - 1, 0, -2), 2)):
        for _ in range(length):
            image[y, x] = True
            y, x = y + dy, x + dx
        dy, dx = dx, -dy
    image[y, x] = True
    return image


def count_scans(image, connectivity=1):
    """Count the rounds of Kalentev's host loop; the last one changes nothing."""
    grid = grid_of(image, False, connectivity)
    return load_recipe("kalentev")(load_passes("kalentev", "cpu"), grid).rounds


# ---------------------------------------------------------------- contract


@pytest.mark.parametrize("name", ROOTS)
def test_roots_are_smallest_indices_in_every_neighborhood(name):
    for shape, connectivity in NEIGHBORHOODS:
        for background in (0, None):
            check_roots(name, noise(shape), background, connectivity)


@pytest.mark.parametrize("name", ROOTS)
def test_roots_are_smallest_indices_in_every_dtype(name):
    for dtype in DTYPES:
        image = noise((13, 8), dtype)
        for background in (dtype.type(0), dtype.type(1), None):
            for connectivity in (1, 2):
                check_roots(name, image, background, connectivity)


@pytest.mark.parametrize("name", ROOTS)
@given(data=st.data())
def test_roots_are_smallest_indices_whatever_the_image(name, data):
    most = min(5, max(METHODS[name].ranks))
    shape = data.draw(npst.array_shapes(max_dims=most, max_side=5))
    dtype = data.draw(st.sampled_from(DTYPES))
    values = [False, True]
    if dtype.kind != "b":
        values = [0, 1, 2, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    image = data.draw(npst.arrays(dtype, shape, elements=st.sampled_from(values)))
    background = data.draw(st.none() | st.sampled_from(values).map(dtype.type))
    connectivity = data.draw(st.integers(1, len(shape)))
    check_roots(name, image, background, connectivity, stacked=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ROOTS)
def test_axes_of_length_one_join_nothing(name):
    for shape in [(1,), (1, 1), (1, 9), (9, 1), (1, 7, 1), (1, 5, 6), (5, 6, 1)]:
        for connectivity in range(1, len(shape) + 1):
            check_roots(name, noise(shape), 0, connectivity)


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("shape", [(6,), (3, 8), (3, 5, 6), (3, 1, 6), (4, 3, 2, 5)])
def test_images_of_a_stack_are_never_joined(name, shape):
    full = np.ones(shape, np.uint8)
    for image in (full, noise(shape)):
        for connectivity in range(1, max(len(shape), 2)):
            check_roots(name, image, 0, connectivity, stacked=True)


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("size", [3, 4, 15, 24])
def test_a_spiral_is_one_component(name, size):
    image = spiral(size)
    for turned in (image, image[::-1].copy(), image.T.copy(), image[:, ::-1].copy()):
        first = np.flatnonzero(turned)[0]
        np.testing.assert_array_equal(
            find_roots(name, turned, False, 1), np.where(turned, first, -1)
        )


@pytest.mark.parametrize("name", ROOTS)
def test_values_that_differ_in_the_last_bit_are_not_joined(name):
    image = np.array([2**63, 2**63 + 1, 2**63 + 1, 2**64 - 1], np.uint64)
    assert find_roots(name, image, np.uint64(2**64 - 1), 1).tolist() == [0, 1, 1, -1]


@pytest.mark.parametrize("name", ROOTS)
def test_negative_values_are_values_like_others(name):
    image = np.array([[-1, -1, 1], [-128, -1, 1]], np.int8)
    assert find_roots(name, image, np.int8(-1), 1).tolist() == [[-1, -1, 2], [3, -1, 2]]


@pytest.mark.parametrize("name", ROOTS)
def test_an_image_that_may_not_be_written_is_left_alone(name):
    image = noise((6, 7))
    before = image.copy()
    image.setflags(write=False)
    check_roots(name, image, 0, 2)
    np.testing.assert_array_equal(image, before)


# --------------------------------------------------------- Kalentev's paper


@pytest.mark.parametrize("size", [9, 16, 33, 64, 100])
def test_a_spiral_takes_three_rounds_whatever_its_size(size):
    image = spiral(size)
    assert {count_scans(image), count_scans(image[::-1].copy())} == {3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("occupation", "rounds"),
    [(0.2, 4), (0.3, 5), (0.4, 5), (0.6, 8), (0.7, 5), (0.8, 4), (0.9, 4), (0.99, 3)],
)
def test_noise_takes_no_more_rounds_than_in_table_2(occupation, rounds):
    image = np.random.default_rng(0).random((1024, 1024)) < occupation
    assert rounds - 1 <= count_scans(image) <= rounds


def test_labels_start_as_indices_into_the_padded_image():
    image = np.array([[1, 0, 1], [1, 1, 0]], np.uint8)
    grid = grid_of(image)
    labels = kalentev.init_labels(grid)
    expected = np.arange(20).reshape(4, 5)
    expected[1:-1, 1:-1] *= image
    expected[[0, -1]] = expected[:, [0, -1]] = 0
    np.testing.assert_array_equal(labels.reshape(4, 5), expected)
    assert grid.padding.jumps.tolist() == [-5, -1, 1, 5]


def test_a_scan_lowers_what_the_label_refers_to():
    labels = np.array([0, 1, 0, 3, 3, 0], np.int64)  # 4 refers to 3, and meets 1 below
    values = np.ones(4, np.uint8)
    jumps = np.array([-3], np.int64)
    assert kalentev.lower_labels(labels, values, np.array([1]), jumps, jumps)
    assert labels.tolist() == [0, 1, 0, 1, 3, 0]
    kalentev.analyze(labels)
    assert labels.tolist() == [0, 1, 0, 1, 1, 0]


def test_of_two_that_lower_one_label_the_lower_stays():
    labels = np.array([0, 1, 2, 0, 4, 0, 0], np.int64)
    jumps = np.array([-3, -2], np.int64)
    labels[5] = 4  # 4 meets 1, then 5, which refers to 4, meets 2
    assert kalentev.lower_labels(labels, np.ones(5, np.uint8), np.array([1]), jumps, jumps)
    assert labels.tolist() == [0, 1, 2, 0, 1, 4, 0]


def test_axes_without_steps_are_not_padded():
    for shape, stacked, size in [((1, 4, 5), False, 42), ((3, 4, 5), True, 126), ((6,), True, 8)]:
        assert pad(shape, offsets(len(shape), 1, stacked=stacked))[1] == size


# ----------------------------------------------------------- Komura's paper
# The network of Fig. 1, as label and residual list after initialization (Fig. 2), then the labels
# of Fig. 3, left and right, and of Fig. 4.

LABELS = [0, 1, 2, 0, 1, 1, 6, 7, 3, 3, 0, 4, 12, 5, 14, 1, 12, 2, 2, 12, 5, 3]
RESIDUAL = {8: [6], 9: [6], 10: [9], 15: [13], 18: [17], 19: [14], 20: [7, 11], 21: [12, 14, 16]}
ANALYZED = [0, 1, 2, 0, 1, 1, 6, 7, 0, 0, 0, 1, 12, 1, 14, 1, 12, 2, 2, 12, 1, 0]
REDUCED = [0, 1, 2, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 12, 2, 2, 12, 1, 0]
FINAL = [0, 1, 2, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 2, 2, 0, 1, 0]


def reduce_network(sites):
    labels = np.array(LABELS)
    komura.analyze(labels)
    assert labels.tolist() == ANALYZED
    for i in sites:
        for j in RESIDUAL[i]:
            union_find.unite_roots(labels, i, j)
    return labels


def test_the_network_of_the_paper_goes_through_its_figures():
    labels = reduce_network(reversed(RESIDUAL))  # an order of threads that gives its Fig. 3
    assert labels.tolist() == REDUCED
    komura.analyze(labels)
    assert labels.tolist() == FINAL


@given(sites=st.permutations(list(RESIDUAL)))
@settings(deadline=None, max_examples=40)
def test_the_order_of_sites_does_not_matter(sites):
    labels = reduce_network(sites)
    komura.analyze(labels)
    assert labels.tolist() == FINAL


def test_a_site_starts_at_its_lowest_neighbor():
    image = np.array([[1, 0, 1, 2], [1, 1, 1, 2], [0, 2, 2, 1]], np.uint8)
    labels = komura.initialize(grid_of(image, connectivity=2))
    assert labels.reshape(3, 4).tolist() == [[0, -1, 2, 3], [0, 0, 2, 3], [-1, 9, 7, 6]]


def test_a_chain_that_another_thread_lowered_meanwhile_is_joined_too(monkeypatch):
    labels = np.arange(4)
    visits = []

    def race(labels, i, label):
        if not visits:
            labels[i] = 0  # another thread joins 3 to 0 just before this one joins it to 1
        visits.append(i)
        before = labels[i]
        labels[i] = min(before, label)
        return before

    monkeypatch.setattr(union_find, "atomic_min", race)
    getattr(union_find.unite_roots, "py_func", union_find.unite_roots)(labels, 3, 1)
    assert labels.tolist() == [0, 0, 2, 0]


def test_four_passes_are_enough():
    called = []

    def recorded(name):
        def call(*arguments):
            called.append(name)
            return getattr(komura, name)(*arguments)

        return call

    names = ("initialize", "analyze", "reduce_labels")
    counted = SimpleNamespace(**{name: recorded(name) for name in names})
    load_recipe("komura")(counted, grid_of(noise((9, 9))))
    assert called == ["initialize", "analyze", "reduce_labels", "analyze"]


def test_atomic_min_returns_what_was_there():
    labels = np.array([5, 5])
    assert (union_find.atomic_min(labels, 0, 3), union_find.atomic_min(labels, 1, 7)) == (5, 5)
    assert labels.tolist() == [3, 5]


# ------------------------------------------------------------------- number


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("shape", [(31,), (14, 15), (6, 7, 8)])
def test_numbers_are_those_of_skimage(name, shape):
    image = noise(shape)
    labels = np.empty(image.size, np.int32)
    count = number_roots(find_roots(name, image, 0, len(shape)).ravel(), labels)
    expected, expected_count = measure.label(image, return_num=True)
    np.testing.assert_array_equal(labels.reshape(shape), expected)
    assert count == expected_count


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
def test_numbers_go_into_labels_of_any_integer_type(dtype):
    labels = np.full(6, 99, dtype)
    assert number_roots(np.array([0, -1, 2, 0, 4, 2]), labels) == 3
    assert labels.tolist() == [1, 0, 2, 1, 3, 2]


def test_roots_can_be_numbered_in_place():
    roots = np.array([-1, 1, 2, 1, 4, 2, -1])
    assert number_roots(roots, roots) == 3
    assert roots.tolist() == [0, 1, 2, 1, 3, 2, 0]


# -------------------------------------------------------------------- table


def test_the_table_knows_each_method_by_its_own_name():
    assert list(METHODS) == [method.name for method in METHODS.values()]
    assert set(METHODS) >= {"runs", "kalentev", "komura"}


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].answer == "roots"])
def test_published_methods_cite_their_paper_and_have_passes(name):
    assert "doi:" in METHODS[name].paper
    for device in METHODS[name].devices:
        if device == "cuda":
            pytest.importorskip("cupy")
        assert load_passes(name, device).__name__.endswith(METHODS[name].passes.format(device))


def test_a_method_has_other_words():
    words = {"auto": "runs", "generalized": "komura", "label_equivalence": "kalentev"}
    assert {word: find_method(word).name for word in words} == words


def test_words_are_not_used_twice():
    words = [word for method in METHODS.values() for word in (method.name, *method.aliases)]
    assert len(words) == len({*words, "auto"}) - 1


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("kalentef", "got 'kalentef'. Did you mean 'kalentev'?"),
        ("Generalised", "got 'Generalised'. Did you mean 'generalized'?"),
        ("KOMURA", "got 'KOMURA'. Did you mean 'komura'?"),
        ("x", "got 'x'."),
        ("", "got ''."),
        (None, "got None."),
        (["runs"], "got ['runs']."),
    ],
)
def test_an_unknown_method_is_refused_with_those_there_are(name, end):
    with pytest.raises(ValueError, match="method must be one of") as caught:
        find_method(name)
    listed = ["auto", *GRID_METHODS]
    assert str(caught.value) == f"method must be one of {listed}; {end}"


def test_an_unknown_method_for_graphs_is_refused_with_those_for_graphs():
    with pytest.raises(ValueError, match="method must be one of") as caught:
        find_method("hawick", "graph")
    listed = ["auto", *(name for name, row in METHODS.items() if "graph" in row.domains)]
    assert str(caught.value).startswith(f"method must be one of {listed}; got 'hawick'.")
    assert "union_find" in listed
    assert "runs" not in listed


def test_a_recipe_cannot_be_loaded_for_an_unknown_method():
    with pytest.raises(ValueError, match="Did you mean 'komura'"):
        load_recipe("komora")


def test_recipes_load_without_a_compiler():
    code = "import sys, equilabel.papers as m; {}; print('numba' in sys.modules)".format(
        "; ".join(f"m.load_recipe({name!r})" for name in ROOTS)
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("shape", [(9, 11), (5, 6, 7), (23,)])
def test_kalentevs_sizes_end_at_the_smallest_index_of_each_component(shape):
    """Section 4 of the paper: the element with the smallest index holds the size, others 0."""
    image = np.random.default_rng(0).random(shape) < 0.6
    found = load_recipe("kalentev")(kalentev, grid_of(image), accumulate=True)
    roots, counts = found.roots.reshape(shape), found.counts
    np.testing.assert_array_equal(roots, find_roots("kalentev", image, np.False_, 1))
    _, sizes = np.unique(roots[roots >= 0], return_counts=True)
    np.testing.assert_array_equal(counts[counts[:, 0] > 0, 0], sizes)
    padded = np.pad(image, 1).astype(int)
    faces = [np.abs(np.diff(padded, axis=axis)).sum() for axis in range(image.ndim)]
    assert counts[:, 1:].sum(axis=0).tolist() == faces


def test_kalentevs_analysis_moves_counts_and_loses_none():
    labels = np.array([0, 1, 1, 2, 0, 5, 5], np.int64)  # 3 -> 2 -> 1 and 6 -> 5
    counts = np.array([[0, 0], [1, 2], [1, 0], [1, 3], [0, 0], [1, 1], [1, 1]])
    kalentev.analyze_counts(labels, counts)
    assert labels.tolist() == [0, 1, 1, 1, 0, 5, 5]
    assert counts.tolist() == [[0, 0], [3, 5], [0, 0], [0, 0], [0, 0], [2, 2], [0, 0]]


# ---------------------------------------------------------------- abilities


def test_a_method_asked_for_what_it_cannot_do_is_refused_with_those_that_can(monkeypatch):
    flat = Method("flat", "Rows only.", "", "roots", ranks=(1,), devices=("cpu",))
    monkeypatch.setitem(METHODS.built_in, "flat", flat)
    able = [name for name in GRID_METHODS if name != "flat"]
    for rank, device in ((2, "cpu"), (1, "cuda")):
        with pytest.raises(ValueError, match="method must be one of") as caught:
            check_ability(flat, "grid", rank, device, {})
        assert str(caught.value) == (
            f"method must be one of {able} for a {rank}-dimensional grid on {device!r}; got 'flat'."
        )
    with pytest.raises(ValueError, match=r"one of \[\] for a 2-dimensional ring on 'cpu'; got"):
        check_ability(METHODS["komura"], "ring", 2, "cpu", {})
    with pytest.raises(ValueError, match=r"'komura', .* for a graph on 'cpu'; got 'runs'"):
        check_ability(METHODS["runs"], "graph", None, "cpu", {})
    check_ability(flat, "grid", 1, "cpu", {})


def test_label_obeys_what_a_method_says_of_itself(monkeypatch):
    flat = Method("flat", "Rows only.", "", "roots", ranks=(1,))
    monkeypatch.setitem(METHODS.built_in, "flat", flat)
    with pytest.raises(ValueError, match="for a 2-dimensional grid on 'cpu'; got 'flat'"):
        label(np.ones((2, 2), bool), method="flat")


def test_options_belong_to_a_method_and_are_checked(monkeypatch):
    tiles = Option(int, 16, "Edge of a tile in pixels.", choices=(8, 16))
    tiled = Method("tiled", "Tiles.", "", "roots", options={"tile": tiles})
    monkeypatch.setitem(METHODS.built_in, "tiled", tiled)
    check_ability(tiled, "grid", 2, "cpu", {"tile": 8})
    with pytest.raises(ValueError, match=r"^tile must be one of \[8, 16\]; got 9\.$"):
        check_ability(tiled, "grid", 2, "cpu", {"tile": 9})
    with pytest.raises(TypeError, match=r"^tile must be of type int; got '8'\.$"):
        check_ability(tiled, "grid", 2, "cpu", {"tile": "8"})
    for name, method in (("tiles", "tiled"), ("tile", "komura")):
        with pytest.raises(TypeError, match=rf"^method '{method}' takes .*; got '{name}'"):
            check_ability(METHODS[method], "grid", 2, "cpu", {name: 8})
    with pytest.raises(
        TypeError, match=r"takes no options; got 'tile'\. 'tile' belongs to \[.*'tiled'"
    ):
        label(np.ones((2, 2), bool), tile=8)


def test_a_domain_of_another_kind_goes_through_the_same_recipe():
    """A ring of sites and bonds, some open, with passes of its own: no recipe knows the domain."""

    class Ring(SimpleNamespace):
        kind = "ring"

    def initialize(ring):
        return np.arange(len(ring.open))

    def follow(labels, i):
        while labels[i] != i:
            i = labels[i]
        return i

    def analyze(labels):
        labels[:] = [follow(labels, i) for i in range(len(labels))]

    def reduce_labels(ring, labels):
        for i in np.flatnonzero(ring.open):
            one, other = sorted((follow(labels, i), follow(labels, (i + 1) % len(labels))))
            labels[other] = one

    toy = SimpleNamespace(initialize=initialize, analyze=analyze, reduce_labels=reduce_labels)
    ring = Ring(open=np.array([1, 0, 1, 1, 0, 0, 1], bool))
    assert load_recipe("komura")(toy, ring).roots.tolist() == [0, 0, 2, 2, 2, 5, 0]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((1, 5), [5, 10, 2]), ((5, 1), [5, 2, 10]), ((1, 1), [1, 2, 2]), ((2, 1, 3), [6, 6, 12, 4])],
    ids=str,
)
def test_both_faces_of_an_axis_of_length_one_are_exposed(shape, expected):
    grid = grid_of(np.ones(shape, bool))
    counts = load_recipe("kalentev")(kalentev, grid, accumulate=True).counts
    assert counts[counts[:, 0] > 0].tolist() == [expected]
