"""What Hawick et al. (2010) and Kalentev et al. (2011) say about methods that propagate labels."""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest

from equilabel import label
from equilabel.papers import load_passes, load_recipe, meshes
from equilabel.papers.hawick2010 import cpu as hawick
from equilabel.papers.kalentev2011 import cpu as kalentev
from equilabel.papers.meshes import cpu as lines
from equilabel.papers.table import METHODS
from equilabel.samples import spiral
from references import grid_of


def solve(name, image, connectivity=1, **options):
    grid = grid_of(image, False, connectivity)
    return load_recipe(name)(load_passes(name, "cpu"), grid, **options)


def rounds(name, image, connectivity=1, **options):
    return solve(name, image, connectivity, **options).rounds


# ---------------------------------------------------------------- Kernel A


def test_neighbor_propagation_moves_a_label_by_one_element_a_round():
    """Section 5.2.1; the first round moves 0 to element 1, the last one changes nothing."""
    for length in (1, 2, 9, 50):
        assert rounds("hawick_a", np.ones(length, bool)) == length
    path = spiral(17)
    assert rounds("hawick_a", path) == path.sum()
    grid = grid_of(np.ones((3, 4), bool), False, 1)
    labels = hawick.initialize(grid)
    assert hawick.propagate(grid, labels)
    assert labels.reshape(3, 4).tolist() == [[0, 0, 1, 2], [0, 1, 2, 3], [4, 5, 6, 7]]


def test_neighbor_propagation_goes_across_corners_where_they_connect():
    image = np.ones((5, 9), bool)
    assert [rounds("hawick_a", image, c) for c in (1, 2)] == [13, 9]


# ---------------------------------------------------------------- Kernel B


@pytest.mark.parametrize("size", METHODS["hawick_b"].options["tile_size"].choices)
def test_local_propagation_moves_a_label_by_one_tile_a_round(size):
    assert rounds("hawick_b", np.ones(1024, bool), tile_size=size) == 1024 // size + 1


def test_local_propagation_labels_what_lies_in_one_tile_at_once():
    path = spiral(16)  # Section 5.2.2: blocks of 16 x 16
    assert rounds("hawick_b", path) == 2
    assert rounds("hawick_b", path, tile_size=64) > 2
    assert meshes.tile_edges((4096, 4096), 256, stacked=False) == (16, 16)


@pytest.mark.parametrize("shape", [(1,), (5,), (3, 700), (2, 3, 4), (9, 9, 9), (40, 3, 3, 2, 2, 2)])
@pytest.mark.parametrize("stacked", [False, True])
def test_tiles_hold_no_more_than_their_size_and_lie_in_one_image(shape, stacked):
    for size in METHODS["hawick_b"].options["tile_size"].choices:
        edges = meshes.tile_edges(shape, size, stacked=stacked)
        assert np.prod(edges) <= size
        assert not stacked or edges[0] == 1
        growing = [e < s for e, s in zip(edges[stacked:], shape[stacked:], strict=True)]
        assert 2 * np.prod(edges) > size or not any(growing)


# ---------------------------------------------------------------- Kernel C


def test_directional_propagation_carries_labels_along_whole_lines():
    assert rounds("hawick_c", np.ones((30, 40), bool)) == 2
    diagonal = np.eye(30, dtype=bool)
    assert rounds("hawick_c", diagonal, 2) == rounds("hawick_c", diagonal[::-1].copy(), 2) == 2
    corner = np.zeros((9, 9), bool)
    corner[:, 0] = corner[-1] = True  # down, then right: in the order of one round
    assert rounds("hawick_c", corner) == 2
    assert rounds("hawick_c", corner.T.copy()) == 3


def test_a_line_is_swept_as_in_the_listing():
    labels = np.array([5, 2, 7, 9, 3, 4, -1, 8])
    values = np.array([1, 1, 1, 2, 2, 1, 0, 1], np.uint8)
    there = np.array([8]), np.array([1]), 1, 1
    assert hawick.sweep_lines(labels, values, *there)
    assert labels.tolist() == [5, 2, 2, 9, 3, 4, -1, 8]
    assert not hawick.sweep_lines(labels, values, *there)


@pytest.mark.parametrize("shape", [(7,), (4, 6), (3, 1, 5), (2, 3, 2, 4)])
def test_every_element_is_on_one_line_of_each_direction(shape):
    sides = np.array(shape)
    for step in product((-1, 0, 1), repeat=len(shape)):
        if not any(step):
            continue
        met = np.zeros(shape, int)
        found = [
            lines.find_line(number, sides, np.array(step))
            for number in range(meshes.count_lines(shape, step))
        ]
        for first, length in found:
            place = np.array(np.unravel_index(first, shape))
            outside = place - step
            assert length == 0 or (outside < 0).any() or (outside >= sides).any()
            for _ in range(length):
                met[tuple(place)] += 1  # never outside
                place += step
            assert length == 0 or (place < 0).any() or (place >= sides).any()
        assert (met == 1).all()
        assert max(length for _, length in found) == meshes.longest_line(shape, step)


# ---------------------------------------------------------------- Kernel D


@pytest.mark.parametrize("size", [9, 16, 33, 64, 200])
def test_label_equivalence_takes_three_rounds_on_a_spiral_of_any_size(size):
    image = spiral(size)
    for turned in (image, image[::-1].copy(), image.T.copy(), image[:, ::-1].copy()):
        assert rounds("hawick_d", turned) == 3


@pytest.mark.slow
@pytest.mark.parametrize("occupation", [0.1, 0.5, 0.593, 0.9])
def test_label_equivalence_takes_nine_rounds_at_most(occupation):
    """Section 5.2.4 says so of 4096 x 4096; of the last size here it holds as well."""
    image = np.random.default_rng(0).random((600, 600)) < occupation
    assert 3 <= rounds("hawick_d", image) <= 9


def test_the_phases_of_label_equivalence_do_what_the_listing_says():
    image = np.array([[1, 0, 1, 1], [1, 1, 1, 0]], np.uint8)
    grid = grid_of(image)
    labels = hawick.initialize(grid)
    references = hawick.init_references(labels)
    assert labels.tolist() == references.tolist() == [0, -1, 2, 3, 4, 5, 6, -1]
    assert hawick.scan(grid, labels, references)
    assert labels.tolist() == [0, -1, 2, 3, 4, 5, 6, -1]
    assert references.tolist() == [0, -1, 2, 2, 0, 4, 2, -1]
    hawick.analyze(labels, references)
    assert references.tolist() == [0, -1, 2, 2, 0, 0, 2, -1]
    hawick.relabel(labels, references)
    assert labels.tolist() == [0, -1, 2, 2, 0, 0, 2, -1]
    assert hawick.scan(grid, labels, references)
    assert references.tolist() == [0, -1, 0, 2, 0, 0, 2, -1]  # labels that are in use alone
    hawick.analyze(labels, references)
    hawick.relabel(labels, references)
    assert labels.tolist() == [0, -1, 0, 0, 0, 0, 0, -1]
    assert not hawick.scan(grid, labels, references)


def test_of_two_labels_that_one_label_meets_the_lower_is_referred_to():
    grid = grid_of(np.ones(4, bool), False, 1)
    labels, references = np.array([0, 3, 3, 1]), np.arange(4)
    assert hawick.scan(grid, labels, references)
    assert references.tolist() == [0, 1, 2, 0]


# ----------------------------------------------------------- Row-Col Unify

FIGURE_1 = """
0 0 0 0 0 0 0 0 9
0 0 0 0 0 0 0 17 17
0 0 0 0 0 24 24 24 24
0 0 0 0 0 0 34 34 34
0 0 0 0 41 41 41 41 41
0 0 0 49 49 49 49 49 49
0 0 57 57 57 57 57 57 57
0 65 65 65 65 65 65 65 65
73 73 73 73 73 73 73 73 73
"""


def test_rows_are_unified_as_in_figure_1():
    expected = np.array(FIGURE_1.split(), int).reshape(9, 9)  # with labels that begin at 1
    grid = grid_of(expected > 0, False, 1)
    labels = kalentev.initialize(grid)
    across = np.array([9, 9]), np.array([0, 1]), 1, 9, 16
    assert kalentev.unify_lines(labels, grid.values[0], *across)
    np.testing.assert_array_equal(labels.reshape(9, 9) + 1, expected)
    down = np.array([9, 9]), np.array([1, 0]), 9, 9, 16
    assert kalentev.unify_lines(labels, grid.values[0], *down)
    last = labels.reshape(9, 9)[-1] + 1
    assert [last[k] for k in (0, 1, 2, 3, 4, 6, 7, 8)] == [73, 65, 57, 49, 41, 24, 17, 9]
    assert rounds("kalentev_rowcol", expected > 0) == 3


@pytest.mark.parametrize("size", [2, 4, 8, 32, 256])
def test_a_segment_is_unified_by_reduction(size):
    rng = np.random.default_rng(size)
    for _ in range(30):
        own = rng.integers(0, 50, size)
        joined = np.append(rng.random(size - 1) < rng.random(), False)
        stretch = np.append(0, np.cumsum(~joined[:-1]))
        lowest = np.full(size, 99)
        np.minimum.at(lowest, stretch, own)
        differ = bool((joined[:-1] & (own[:-1] != own[1:])).any())
        assert kalentev.unify_segment(own, np.zeros(size, int), joined) == differ
        np.testing.assert_array_equal(own, lowest[stretch])


def test_the_first_step_of_the_reduction_is_that_of_figure_2():
    own = np.array([7, 3, -1, 4, 5, 6])
    refs = np.zeros(6, int)
    joined = np.array([True, False, False, True, True, False])
    assert kalentev.unify_pairs(own, refs, joined)
    assert own.tolist() == [3, 3, -1, 4, 5, 5]
    assert refs.tolist() == [0, 0, 2, 3, 4, 4]


def test_a_change_between_pairs_alone_asks_for_another_round():
    """Algorithm 3 alone tells of changes, in the paper; these labels differ where pairs meet."""
    own = np.array([5, 5, 2, 2])
    joined = np.array([True, True, True, False])
    assert kalentev.unify_segment(own, np.zeros(4, int), joined)
    assert own.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("length", [2, 3, 4, 5, 7, 8, 10, 11, 40])
def test_lines_longer_than_a_segment_are_unified_at_once(length):
    """The lowest label stands last, first or in between, and has to reach all others."""
    there = np.array([length]), np.array([1]), 1, 1, 4
    for lowest in {0, length // 2, length - 1}:
        labels = np.full(length, 9)
        labels[lowest] = 1
        assert kalentev.unify_lines(labels, np.ones(length, np.uint8), *there)
        assert (labels == 1).all()


def test_the_length_of_segments_changes_neither_roots_nor_rounds():
    image = np.random.default_rng(5).random((150, 170)) < 0.6
    found = [solve("kalentev_rowcol", image, segment=s) for s in (64, 128, 1024)]
    assert len({each.rounds for each in found}) == 1
    expected = solve("komura", image).roots
    for each in found:
        np.testing.assert_array_equal(each.roots, expected)


@pytest.mark.parametrize("size", [16, 64, 130])
def test_a_spiral_takes_a_round_for_each_of_its_turns(size):
    """Section 4 says 514 of 1024 x 1024: one more than here, as a spiral that begins downward."""
    assert rounds("kalentev_rowcol", spiral(size)) == size // 2 + 1


# ------------------------------------------------------------------ options


@pytest.mark.parametrize("name", METHODS)
def test_options_have_the_defaults_that_the_table_says(name):
    known = inspect.signature(load_recipe(name)).parameters
    for word, option in METHODS[name].options.items():
        assert known[word].default == option.default
        assert not option.choices or option.default in option.choices


@pytest.mark.parametrize(
    ("name", "option"), [("hawick_b", "tile_size"), ("kalentev_rowcol", "segment")]
)
def test_sizes_are_arguments_of_label(name, option):
    image = np.random.default_rng(6).random((70, 90)) < 0.6
    for size in METHODS[name].options[option].choices:
        found = label(image, method=name, **{option: size})
        np.testing.assert_array_equal(found, label(image))
    with pytest.raises(ValueError, match=rf"^{option} must be one of \[64, .* 1024\]; got 100\.$"):
        label(image, method=name, **{option: 100})
