"""Labels equal scikit-image's number by number, whatever the image; what is refused, and how."""

import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage import measure

from equilabel import METHODS, label
from equilabel.domains.grid import Foreground, Grid, offsets
from equilabel.labeling.output import Output
from equilabel.runs.cpu import passes as runs
from equilabel.runs.cpu import run_table
from references import (
    ANSWERS,
    GRID_METHODS,
    expected_labels,
    number_in_raster_order,
    skip_unknown_rank,
)
from strategies import DTYPES, INTEGERS, LAYOUTS, WORDS, blobs, images, noise, questions

SHAPES = [(70,), (9, 11), (4, 5, 6)]
KINDS = [(shape, hops) for shape in SHAPES for hops in range(1, len(shape) + 1)]
DEEP = [(5, 4, 3, 6), (2, 3, 4, 2, 3), (2, 3, 2, 2, 3, 2)]
DEEP_KINDS = [(shape, hops) for shape in DEEP for hops in range(1, len(shape) + 1)]
SLIM = [
    (1,),
    (1, 1),
    (5, 1),
    (1, 5),
    (4, 5, 1),
    (4, 1, 5),
    (1, 4, 5),
    (5, 1, 1),
    (1, 5, 1),
    (1, 1, 1),
]
BACKGROUNDS = [None, 0, 1, -1, 200, -200, 2**40]


def check(image, background=None, connectivity=None, **options):
    """Compare labels, their number and their type with what scikit-image or SciPy say."""
    expected = expected_labels(image, background, connectivity)
    labels, count = label(image, background, True, connectivity, **options)
    np.testing.assert_array_equal(labels, expected)
    assert count == expected.max(initial=0)
    if "out" not in options and isinstance(image, np.ndarray):  # pass by pass, not in one call
        options["report"] = True
        labels, _ = label(image, background, connectivity=connectivity, **options)
        np.testing.assert_array_equal(labels, expected)
    return labels


def many_valued(shape, dtype, seed=0):
    """Make an image of blobs of few values, among them the least and greatest of their type."""
    if dtype == "?":
        return blobs(shape, dtype, seed=seed)
    limits = np.iinfo(dtype)
    return np.array([0, 1, limits.min, limits.max], dtype)[blobs(shape, "i8", 4, seed)]


# ----------------------------------------------------- equal to scikit-image


# Two types for each layout, one of them of several bytes; and each type.
LAID_OUT = [
    (layout, DTYPES[(number + shift) % len(DTYPES)])
    for number, layout in enumerate(LAYOUTS)
    for shift in (0, 4)
]


@pytest.mark.parametrize(("layout", "dtype"), LAID_OUT)
def test_labels_equal_those_of_skimage(device, layout, dtype):
    for shape, connectivity in KINDS:
        image = LAYOUTS[layout](many_valued(shape, dtype))
        for background in BACKGROUNDS:
            check(image, background, connectivity, device=device)


@given(question=questions())
def test_labels_equal_those_of_skimage_whatever_the_image(device, question):
    check(*question, device=device)


@pytest.mark.parametrize(("shape", "connectivity"), [*KINDS, ((3, 2, 4, 3), 2)])
def test_a_structure_stands_for_its_connectivity_as_in_scipy(shape, connectivity):
    image, structure = noise(shape), ndimage.generate_binary_structure(len(shape), connectivity)
    expected = ndimage.label(image, structure)
    found = label(image.tolist(), structure=5 * structure, return_num=True)
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]
    movie = noise((3, *shape))
    np.testing.assert_array_equal(
        label(movie, structure=structure.tolist(), stacked=True),
        label(movie, connectivity=connectivity, stacked=True),
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"structure": np.ones((3, 3)), "connectivity": 2}, "left out with structure; got 2"),
        ({"structure": np.ones((3, 3, 3))}, r"structure must be a neighborhood of .* 1 to 2, as"),
        ({"structure": [[0, 0, 0], [1, 1, 1], [0, 0, 0]]}, r"got \[\[0, 0, 0\], .* are labeled by"),
        ({"structure": [["a"] * 3] * 3}, "structure must be a neighborhood"),
        ({"structure": np.ones((3, 3)), "stacked": True}, "of connectivity 1 to 1"),
    ],
)
def test_a_structure_of_another_kind_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        label(noise((4, 5)), **options)


@pytest.mark.parametrize(
    ("shape", "connectivity", "dtype"),
    [(*each, ("?", "u1", "i8")[k % 3]) for k, each in enumerate(KINDS + DEEP_KINDS)],
)
def test_labels_of_one_value_equal_those_of_skimage(shape, connectivity, dtype):
    for filled in (0.1, 0.3, 0.5, 0.8):
        image = np.random.default_rng(1).random(shape) < filled
        check((image * np.int8(5)).astype(dtype), None, connectivity)


@pytest.mark.parametrize(("shape", "connectivity"), DEEP_KINDS)
def test_four_to_six_axes_equal_scipy(shape, connectivity):
    image = noise(shape, "?")
    structure = ndimage.generate_binary_structure(image.ndim, connectivity)
    expected, count = ndimage.label(image, structure)
    labels, found = label(image, return_num=True, connectivity=connectivity)
    np.testing.assert_array_equal(labels, expected)
    assert found == count


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.parametrize("columns", [1, *WORDS])
def test_columns_around_the_ends_of_words_make_no_difference(columns, values):
    for rows in ((), (1,), (7,), (3, 4)):
        for filled, image in enumerate([noise, blobs, blobs]):
            image = image((*rows, columns), values=values, seed=columns + filled)
            for connectivity in range(1, image.ndim + 1):
                check(image, None, connectivity)


@pytest.mark.parametrize("columns", WORDS)
@pytest.mark.parametrize("values", [1, 2])
def test_corners_join_across_the_ends_of_words(columns, values):
    image = np.zeros((2, columns), "u1")
    image[0, ::2] = image[1, 1::2] = 1
    image[:, -1] *= values
    check(image, None, 1)
    check(image, None, 2)
    check(image[::-1].copy(), None, 2)


@pytest.mark.parametrize("values", [1, 2])
@pytest.mark.parametrize("shape", [(3, 131), (3, 3, 131), (2, 3, 3, 68)])
def test_two_pixels_alone_are_joined_if_they_are_neighbors(shape, values):
    middle = [side // 2 for side in shape[:-1]]
    for step in offsets(len(shape), len(shape))[: (3 ** len(shape) - 1) // 2]:
        for column in (1, 63, 64):
            image = np.zeros(shape, "u1")
            image[*middle, column] = 1
            image[*middle + step[:-1], column + step[-1]] = 1
            image[..., -1] = values - 1  # pixels of another value have them told apart by it
            hops = np.abs(step).sum()
            for connectivity in range(1, len(shape) + 1):
                labels = label(image, connectivity=connectivity)[..., :-1]
                assert len(np.unique(labels)) == 3 - (hops <= connectivity)


@pytest.mark.parametrize("values", [1, 2])
@pytest.mark.parametrize("shift", [-1, 0, 1])
@pytest.mark.parametrize("shape", [(4, 131), (4, 1, 131), (4, 2, 131)])
def test_long_lines_are_joined_by_one_touch_anywhere(shape, shift, values):
    for column in (2, 3, 31, 61, 62, 63, 64, 65, 66, 100, 126, 127, 128, 129):
        image = np.zeros(shape, "u1")
        image[0] = image[-1] = 1
        image[1, ..., column] = image[2, ..., column + shift] = 1
        image[1:3, ..., 0] = values - 1
        image[0, ..., 0] = image[-1, ..., 0] = 0
        for connectivity in range(1, len(shape) + 1):
            labels = label(image, connectivity=connectivity)[..., 1:]
            diagonally = connectivity > 1 or shift == 0
            assert len(np.unique(labels)) == 3 - diagonally


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("value", [0, 1, 200])
@pytest.mark.parametrize("shape", [(3,), (2, 70), (2, 2, 2)])
def test_an_image_of_one_value_is_all_region_or_all_background(shape, value, background):
    image = np.full(shape, value, "u1")
    labels, count = label(image, background, return_num=True)
    assert count == (value != (background or 0))
    assert (labels == count).all()


@pytest.mark.parametrize("shape", SLIM)
def test_axes_of_length_one_are_numbered_as_skimage_does(shape):
    for dtype, connectivity in product(DTYPES, range(1, len(shape) + 1)):
        for background in (None, -1):
            check(noise(shape, dtype, seed=2), background, connectivity)


def test_integers_of_one_last_plane_are_numbered_column_by_column():
    image = np.ones((2, 3, 1), int)
    image[:, 1] = image[0, 2] = 0
    image[1, 0] = 2
    assert label(image)[..., 0].tolist() == [[1, 0, 0], [2, 0, 3]]
    assert label(image > 0, connectivity=1)[..., 0].tolist() == [[1, 0, 0], [1, 0, 2]]
    out = np.full(image.shape, 9, "u1")
    label(image, out=out)
    assert out[..., 0].tolist() == [[1, 0, 0], [2, 0, 3]]


@pytest.mark.parametrize("background", [None, 0, 1, True, False, -1, 5, np.uint8(1)])
def test_a_bool_image_knows_two_backgrounds(background):
    check(noise((6, 7), "?"), background)


@pytest.mark.parametrize("dtype", ["u8", "i8"])
def test_values_that_differ_in_one_bit_are_told_apart(dtype):
    most = int(np.iinfo(dtype).max)
    image = np.array([[most, most - 1, most], [1, most, most]], dtype)
    assert label(image, background=most).tolist() == [[0, 1, 0], [2, 0, 0]]
    assert label(image, background=most - 1, connectivity=1).tolist() == [[1, 0, 2], [3, 2, 2]]


def test_a_background_beyond_the_type_is_not_wrapped():
    image = np.array([[255, 0, 255]], "u1")
    assert label(image, background=-1).tolist() == [[1, 2, 3]]
    assert label(image, background=256).tolist() == [[1, 2, 3]]
    assert label(image.view("i1"), background=255).tolist() == [[1, 2, 3]]
    assert label(image.astype("u8"), background=-(2**64)).tolist() == [[1, 2, 3]]


# ------------------------------------------------------------------ methods


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize(
    ("shape", "connectivity", "dtype"),
    [(*each, ("?", "i2", "u8")[k % 3]) for k, each in enumerate([*KINDS, ((3, 1, 4, 3), 3)])],
)
def test_every_method_gives_the_same_labels(method, device, dtype, shape, connectivity):
    if device not in METHODS[method].devices:
        pytest.skip(f"{method} has no passes for {device}")
    image = many_valued(shape, dtype)
    for background in (None, 1, 300):
        check(image, background, connectivity, method=method, device=device)


@pytest.mark.parametrize("method", ["auto", "label_equivalence", "generalized"])
def test_methods_have_other_words(method):
    check(noise((6, 7)), method=method)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", ANSWERS)
def test_every_method_takes_every_layout(method, layout):
    check(LAYOUTS[layout](noise((5, 6), "i4", 3)), method=method)


# ------------------------------------------------------- empty, 0-d, large


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((0,), "?"), ((0, 3), "u1"), ((3, 0), "?"), ((2, 0, 3), "u1"), ((2, 3, 0, 1, 2, 2), "?")],
)
def test_an_empty_image_has_no_labels(shape, dtype, method):
    skip_unknown_rank(method, sum(side != 1 for side in shape))
    labels, count = label(np.ones(shape, dtype), return_num=True, method=method)
    assert (labels.shape, labels.dtype, count) == (shape, np.int32, 0)


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize("value", [0, 1, 3, np.True_, np.uint8(9)])
def test_an_image_without_axes_is_one_pixel(value, method):
    labels, count = label(np.array(value), return_num=True, method=method)
    assert labels.shape == ()
    assert labels == count == (value != 0)


def test_an_image_may_be_a_list():
    assert label([[1, 0, 1], [0, 0, 1]]).tolist() == [[1, 0, 2], [0, 0, 2]]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(70_000,), (2, 70_000), (70_000, 3), (2, 70_000, 2)])
def test_coordinates_beyond_sixteen_bits_are_kept_apart(shape):
    for connectivity in range(1, len(shape) + 1):
        check(noise(shape, seed=3), None, connectivity)


@pytest.mark.slow
@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.long
def test_every_method_knows_coordinates_beyond_sixteen_bits(method):
    image = noise((70_000, 3), seed=3)
    image[::20] = 0  # no component is long: labels that propagate would take thousands of rounds
    check(image, None, 2, method=method)


def test_many_axes_are_taken_as_long_as_few_are_longer_than_one():
    image = noise((1, 2, 1, 3, 2, 1, 2, 3), "?")
    for connectivity in (1, 4, 8):
        structure = ndimage.generate_binary_structure(8, connectivity)
        np.testing.assert_array_equal(
            label(image, connectivity=connectivity), ndimage.label(image, structure)[0]
        )


def test_labels_are_int32_while_that_holds_them():
    assert label(noise((3, 4))).dtype == np.int32
    empty = np.empty((0,))
    assert Output(empty, None).room(2**31 - 1)[0].dtype == np.int32
    assert Output(empty, None).room(2**31)[0].dtype == np.int64


@pytest.mark.parametrize("values", [2, 3])
@pytest.mark.long
def test_runs_that_need_wide_numbers_give_the_same_labels(monkeypatch, values):
    wide = SimpleNamespace(**{name: getattr(np, name) for name in dir(np) if name[0] != "_"})
    wide.int32 = np.int64
    wide.iinfo = lambda _: SimpleNamespace(max=0)
    monkeypatch.setattr(run_table, "np", wide)
    image = noise((2, 3))
    grid = Grid(image, Foreground("!=", np.uint8(0), values=True), 1)
    assert runs.pack(grid).parents.dtype == np.int64
    for shape in ((5, 131), (4, 5, 6)):
        image = noise(shape, values=values)
        np.testing.assert_array_equal(
            label(image, out=np.empty(shape, np.int64)), expected_labels(image)
        )


def test_the_image_is_left_alone():
    for image in (noise((6, 7), "?"), noise((6, 7), "i8", 4), noise((4, 3, 1), "i8", 4)):
        before = image.copy()
        label(image, background=1)
        np.testing.assert_array_equal(image, before)


REFUSED = [
    ({"connectivity": 3}, ValueError, "connectivity must be 1 to 2"),
    ({"connectivity": 1.0}, TypeError, "connectivity must be a whole number"),
    ({"background": 0.5}, TypeError, "background must be a whole number"),
    ({"method": "komora"}, ValueError, "method must be one of"),
    ({"tile": 3}, TypeError, "tile"),
    ({"out": np.empty((5, 4), np.int32)}, ValueError, "out must have the shape"),
    ({"out": np.empty((4, 5), bool)}, TypeError, "out must be an array of an integer type"),
]


@pytest.mark.parametrize(("wrong", "error", "message"), REFUSED)
def test_what_is_wrong_is_refused_after_images_of_the_same_shape_too(wrong, error, message):
    image = noise((4, 5), "i4")
    for fine in ({}, {"connectivity": 1}, {"background": 0}, {"out": np.empty((4, 5), np.int32)}):
        label(image, **fine)
    with pytest.raises(error, match=message):
        label(image, **wrong)


@pytest.mark.parametrize("shape", [(4, 5), (40, 70)])
def test_fractions_are_refused_after_whole_numbers_in_images_of_the_same_shape(shape):
    image = noise(shape, "f8", 3)
    for _ in range(2):
        np.testing.assert_array_equal(label(image), expected_labels(image.astype(int)))
    image[-1, -1] = 0.5
    with pytest.raises(ValueError, match=r"whole numbers; got 0\.5"):
        label(image)


def test_images_of_one_shape_differ_in_type_byte_order_and_order_of_axes():
    image = noise((6, 7), "i4", 3)
    for other in (image, image.astype(">i4"), np.asfortranarray(image), image.astype("i8"), image):
        np.testing.assert_array_equal(label(other), expected_labels(image))
    mask = image > 1
    np.testing.assert_array_equal(label(mask), expected_labels(mask))
    np.testing.assert_array_equal(label(mask, background=True), expected_labels(~mask))


# ------------------------------------------------------------------ stacked


def expected_stack(image, background, connectivity):
    """Label image by image, and number on."""
    labels = np.zeros(image.shape, np.int64)
    count = 0
    for part, plane in zip(labels, image, strict=True):
        part[...] = expected_labels(plane, background, connectivity)
        part[part > 0] += count
        count = max(count, part.max())
    return labels


def check_stack(image, background, connectivity, **options):
    expected = expected_stack(image, background, connectivity)
    labels, count = label(image, background, True, connectivity, stacked=True, **options)
    np.testing.assert_array_equal(labels, expected)
    assert count == expected.max()


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((4, 9), "?"),
        ((3, 5, 66), "u1"),
        ((3, 4, 3, 5), "i4"),
        ((2, 2, 3, 3, 3), "?"),
        ((1, 5, 6), "u1"),
    ],
)
def test_a_stack_is_labeled_image_by_image_and_numbered_on(shape, dtype, method):
    skip_unknown_rank(method, len(shape) - 1)
    for values in (2, 3):
        for connectivity in range(1, len(shape)):
            check_stack(noise(shape, dtype, values), None, connectivity, method=method)


@given(data=st.data(), image=images(min_axes=2, max_axes=5))
def test_no_region_leaves_its_image_of_a_stack(data, image):
    background = data.draw(st.sampled_from([None, 1, -1]))
    if image.ndim == 4 and image.shape[3] == 1:
        image = image[..., 0]  # see the test of the last plane of a stack
    check_stack(image, background, data.draw(st.integers(1, image.ndim - 1)))


def test_equal_images_of_a_stack_are_not_joined():
    assert label(np.ones((3, 2, 2), bool), stacked=True)[:, 0, 0].tolist() == [1, 2, 3]
    assert label(np.ones((3, 2, 2), "u1"), background=7, stacked=True)[:, 1, 1].tolist() == [
        1,
        2,
        3,
    ]


@pytest.mark.parametrize("dtype", ["?", "u1"])
@pytest.mark.parametrize(
    "shape", [(1, 4), (4, 1), (1, 1), (3, 1, 5), (3, 5, 1), (3, 1, 1), (1, 4, 5), (1, 1, 1, 4)]
)
def test_axes_of_length_one_make_no_difference_to_a_stack(shape, dtype):
    for connectivity in range(1, len(shape)):
        check_stack(noise(shape, dtype, seed=1), -1, connectivity)


@pytest.mark.parametrize("shape", [(2, 4, 5, 1), (1, 4, 5, 1), (3, 4, 1, 1)])
def test_the_last_plane_of_integers_is_numbered_by_columns_in_a_stack_too(shape):
    check_stack(noise(shape, "u1", 3), -1, 1)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 4)])
def test_an_empty_stack_has_no_labels(shape):
    labels, count = label(np.ones(shape, bool), return_num=True, stacked=True)
    assert (labels.shape, count) == (shape, 0)


@pytest.mark.parametrize("shape", [(), (5,)])
def test_a_stack_has_two_axes_or_more(shape):
    with pytest.raises(ValueError, match=r"stacked=True; got \d\. Pass stacked=False\.$"):
        label(np.ones(shape, bool), stacked=True)


def test_connectivity_counts_the_axes_of_one_image_of_a_stack():
    image = np.array([[[1, 0], [0, 1]]] * 2, bool)
    assert label(image, stacked=True).max() == 2
    assert label(image, connectivity=1, stacked=True).max() == 4
    with pytest.raises(ValueError, match="connectivity must be 1 to 2 for 2 spatial axes; got 3"):
        label(image, connectivity=3, stacked=True)


@pytest.mark.parametrize(("neighbors", "hops"), [(4, 1), (6, 1), (8, 2), (18, 2), (26, 3)])
def test_a_number_of_neighbors_is_refused_with_its_number_of_hops(neighbors, hops):
    with pytest.raises(
        ValueError, match=rf"got {neighbors}\. For {neighbors} neighbors, in .D, pass {hops}\."
    ):
        label(np.ones((2, 2, 2), bool), connectivity=neighbors)


# ---------------------------------------------------------------------- out


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        *((method, dtype) for method in ANSWERS for dtype in INTEGERS),
        *((method, "u2") for method in GRID_METHODS if method not in ANSWERS),
    ],
)
def test_labels_are_written_to_the_array_given(dtype, method):
    for image in (blobs((7, 70), "?"), blobs((7, 70), "i2", 3), blobs((4, 5, 1), "i2", 3)):
        out = np.full(image.shape, 99, dtype)
        labels, count = label(image, return_num=True, out=out, method=method)
        assert labels is out
        np.testing.assert_array_equal(out, expected_labels(image))
        assert count == out.max()


@pytest.mark.parametrize("layout", ["F", "reversed", "every other", "inner", "byte-swapped"])
@pytest.mark.parametrize("shape", [(131,), (7, 70), (4, 5, 6), (4, 5, 1)])
def test_the_array_given_may_have_any_layout(shape, layout):
    image = noise(shape, "i2", 3)
    out = LAYOUTS[layout](np.full(shape, 99, "i4"))
    assert label(image, out=out) is out
    np.testing.assert_array_equal(out, expected_labels(image))


@pytest.mark.parametrize("layout", ["C", "F", "reversed", "every other"])
@pytest.mark.parametrize("values", [2, 4])
@pytest.mark.parametrize("method", ANSWERS)
def test_the_image_itself_may_receive_its_labels(values, layout, method):
    image = LAYOUTS[layout](noise((9, 67), "u2", values))
    expected = expected_labels(image)
    assert label(image, out=image, method=method) is image
    np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize("values", [2, 4])
def test_an_overlapping_array_may_receive_the_labels(values):
    memory = noise(700, "i4", values)
    expected = expected_labels(memory[:690].reshape(10, 69))
    label(memory[:690].reshape(10, 69), out=memory[10:].reshape(10, 69))
    np.testing.assert_array_equal(memory[10:].reshape(10, 69), expected)
    square = noise((66, 66), "i4", values)
    expected = expected_labels(square)
    label(square, out=square.T)
    np.testing.assert_array_equal(square.T, expected)


def test_a_stack_is_written_to_the_array_given():
    image = noise((3, 5, 6), "?")
    out = np.full(image.shape, 99, "u1")
    label(image, connectivity=1, stacked=True, out=out)
    np.testing.assert_array_equal(out, expected_stack(image, None, 1))


@pytest.mark.parametrize("shape", [(), (0, 3), (1, 1)])
def test_the_array_given_may_hold_little_or_nothing(shape):
    out = np.full(shape, 9, "u1")
    assert label(np.ones(shape, bool), out=out) is out
    assert (out == 1).all()


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize(("dtype", "most"), [("i1", 127), ("u1", 255)])
def test_a_type_too_small_for_the_labels_is_refused_before_anything_is_written(dtype, most, method):
    image = np.zeros(2 * most + 1, "u1")
    image[:-1:2] = 1
    label(image, out=np.empty(image.shape, dtype), method=method)
    image[-1] = 1
    out = np.full(image.shape, 9, dtype)
    with pytest.raises(
        ValueError, match=f"holds {most + 1} labels; got {out.dtype}. Pass an array"
    ):
        label(image, out=out, method=method)
    assert (out == 9).all()


@pytest.mark.slow
def test_sixteen_bits_hold_65535_labels_and_no_more():
    image = np.zeros((2, 2**17), bool)
    image[0, ::2] = True
    message = "out must be of a type that holds 65536 labels; got uint16. Pass an array of uint32"
    with pytest.raises(ValueError, match=message):
        label(image, out=np.empty(image.shape, "u2"))
    image[0, 0] = False
    assert label(image, out=np.empty(image.shape, "u2")).max() == 65535


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.zeros((3, 2), int), ValueError, r"shape of label_image, \(2, 3\); got \(3, 2\)"),
        (np.zeros(6, int), ValueError, r"shape of label_image, \(2, 3\); got \(6,\)"),
        (np.zeros((2, 3)), TypeError, "must be an array of an integer type; got float64"),
        (np.zeros((2, 3), bool), TypeError, "must be an array of an integer type; got bool"),
        ([[0] * 3] * 2, TypeError, "must be an array of an integer type; got list"),
        (LAYOUTS["read-only"](np.zeros((2, 3), int)), ValueError, "must be writeable; got a read-"),
    ],
)
def test_an_unfit_array_for_labels_is_refused(out, error, message):
    with pytest.raises(error, match=f"^out .*{message}"):
        label(np.ones((2, 3), bool), out=out)


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("dtype", ["g", "c16", "M8[s]", "O", "U3", "V4"])
def test_an_image_that_is_not_of_numbers_is_refused_with_a_remedy(dtype):
    with pytest.raises(TypeError, match=r"^label_image must be of .*; got .*\. Binarize it first"):
        label(np.zeros((2, 2), dtype))


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        *((method, dtype) for method in ANSWERS for dtype in ("f2", "f4", "f8", ">f4")),
        *((method, "f4") for method in GRID_METHODS if method not in ANSWERS),
    ],
)
def test_floats_that_are_whole_are_labeled_like_integers(dtype, method):
    for (shape, connectivity), values in product(KINDS, (2, 4)):
        image = noise(shape, "i2", values) - 1
        for background in (None, 1, -1, 7, 2.0):
            labels = label(image, background, connectivity=connectivity)
            floats = image.astype(dtype)
            floats[image == 0] = np.where(np.arange((image == 0).sum()) % 2, 0.0, -0.0)
            check_floats(floats, labels, background, connectivity, method)


def check_floats(floats, labels, background, connectivity, method):
    for out in (None, np.empty(labels.shape, np.int64)):
        found = label(floats, background, connectivity=connectivity, method=method, out=out)
        np.testing.assert_array_equal(found, labels)


@pytest.mark.parametrize("method", ANSWERS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_floats_that_are_not_whole_are_refused_wherever_they_are(dtype, method):
    shapes = ((5, 7), (3, 130), (70, 90))
    for shape, wrong in product(shapes, (0.5, -1e-30, np.nan, np.inf, -np.inf)):
        for place in (0, -1):
            for values in (1, 3):
                image = noise(shape, dtype, values)
                image.flat[place] = wrong
                got = re.escape(repr(np.dtype(dtype).type(wrong).item()))
                rule = f"^label_image must hold whole numbers; got {got}\\. Binarize"
                for out in (None, np.full(shape, 7)):
                    with pytest.raises(ValueError, match=rule):
                        label(image, method=method, out=out)
                    assert out is None or (out == 7).all()


def test_a_background_that_floats_cannot_hold_is_no_background():
    image = np.array([2.0**24, 2.0**24, 1.0], np.float32)
    assert label(image, 2**24 + 1).tolist() == [1, 1, 2]
    assert label(image, 2**24).tolist() == [0, 0, 1]
    assert label(image, 10**400).tolist() == [1, 1, 2]


@pytest.mark.parametrize("connectivity", [0, -1, 3, 2**40])
@pytest.mark.parametrize("dtype", ["?", "u1"])
def test_a_connectivity_out_of_range_is_refused_as_skimage_does(dtype, connectivity):
    image = np.ones((2, 2), dtype)
    with pytest.raises(
        ValueError, match=f"must be 1 to 2 .*; got {connectivity}\\. 1 joins pixels"
    ):
        label(image, connectivity=connectivity)
    with pytest.raises(ValueError, match="Connectivity"):
        measure.label(image, connectivity=connectivity)


@pytest.mark.parametrize("connectivity", [1.0, 1.5, "1", [1]])
def test_a_connectivity_that_is_no_whole_number_is_refused(connectivity):
    with pytest.raises(TypeError, match=r"^connectivity must be a whole number; got "):
        label(np.ones((2, 2), bool), connectivity=connectivity)


@pytest.mark.parametrize("connectivity", [np.int64(1), np.uint8(1), True])
def test_a_connectivity_may_be_any_whole_number(connectivity):
    assert label(np.eye(2, dtype=bool), connectivity=connectivity).max() == 2


@pytest.mark.parametrize("background", [0.5, float("nan"), float("inf"), "0", [0], 1j])
def test_a_background_that_is_no_whole_number_is_refused(background):
    with pytest.raises(TypeError, match=r"^background must be a whole number; got "):
        label(np.ones((2, 2), "u1"), background=background)


@pytest.mark.parametrize("background", [1.0, np.float32(1), np.int8(1), True])
def test_a_background_may_be_any_whole_number(background):
    assert label(np.arange(4), background=background).tolist() == [1, 0, 2, 3]


def test_an_unknown_method_is_refused_with_a_near_one():
    with pytest.raises(
        ValueError, match=r"method must be one of .*; got 'komora'. Did you mean 'kom"
    ):
        label(np.ones((2, 2), bool), method="komora")


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match=r"device must be one of \['auto'.*; got 'gpu'"):
        label(np.ones((2, 2), bool), device="gpu")


def test_more_than_six_long_axes_are_refused():
    with pytest.raises(ValueError, match=r"at most 6 axes longer than 1; got 7. Label slices"):
        label(np.ones((2,) * 7, bool))


def test_errors_come_before_any_work():
    out = np.full((2, 2), 9)
    for wrong in ({"connectivity": 3}, {"method": "x"}, {"device": "x"}, {"background": 0.5}):
        with pytest.raises((TypeError, ValueError)):
            label(np.ones((2, 2), "u1"), out=out, **wrong)
    assert (out == 9).all()


# ---------------------------------------------------------------- references


@settings(max_examples=20)
@given(image=images(min_axes=1, max_axes=3))
def test_numbering_in_raster_order_leaves_labels_of_bool_images_alone(image):
    labels = measure.label(image.astype(bool))
    np.testing.assert_array_equal(number_in_raster_order(labels), labels)
