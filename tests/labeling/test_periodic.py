"""Periodic axes: what touches beyond an end of the image is one component, and measured as one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equilabel import label
from references import ANSWERS, GRID_METHODS, label_periodic_graph
from strategies import noise

SHAPES = [(7,), (130,), (5, 6), (9, 67), (1, 5), (2, 4), (4, 1, 3), (3, 4, 5), (3, 4, 3, 5)]


def boundaries(rank):
    return list(product([False, True], repeat=rank))[1:]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("method", ANSWERS)
def test_every_method_joins_what_touches_across_boundaries(method, shape):
    rank = len(shape)
    for seed, periodic in enumerate(boundaries(rank)):
        for connectivity in range(1, rank + 1):
            for filled in (3, 6):
                image = noise(shape, "u1", 10, seed) < filled
                expected = label_periodic_graph(image, connectivity, periodic)
                found = label(image, connectivity=connectivity, method=method, periodic=periodic)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(8,), (4, 66), (3, 5, 6)], ids=str)
@pytest.mark.parametrize("method", ANSWERS)
def test_every_method_joins_only_equal_values_across_boundaries(method, shape):
    for seed, periodic in enumerate(boundaries(len(shape))):
        image = noise(shape, "i4", 3, seed)
        for connectivity in range(1, len(shape) + 1):
            expected = label_periodic_graph(image, connectivity, periodic)
            asked = {"connectivity": connectivity, "periodic": periodic, "method": method}
            np.testing.assert_array_equal(label(image, **asked), expected)


@pytest.mark.parametrize("method", GRID_METHODS)
def test_any_method_may_come_before_the_boundaries(method):
    image = noise((5, 66), "i4", 3, seed=1)
    expected = label_periodic_graph(image, 2, (True, True))
    np.testing.assert_array_equal(label(image, method=method, periodic=True), expected)


@pytest.mark.parametrize("side", [1, 2])
def test_axes_of_one_or_two_pixels_gain_nothing_from_being_periodic(side):
    for shape in [(side, 5), (5, side), (side, 4, side), (side, side, side)]:
        image = noise(shape, "u1", 3, seed=side)
        short = [length == side for length in shape]
        for connectivity in range(1, len(shape) + 1):
            expected = label_periodic_graph(image, connectivity, short)
            np.testing.assert_array_equal(label(image, connectivity=connectivity), expected)
            found = label(image, connectivity=connectivity, periodic=short)
            np.testing.assert_array_equal(found, expected)


@st.composite
def questions(draw):
    rank = draw(st.integers(1, 6))
    most = {1: 140, 2: 12, 3: 6, 4: 4, 5: 3, 6: 3}[rank]
    shape = [draw(st.integers(1, most)) for _ in range(rank)]
    values = draw(st.integers(2, 4))
    image = noise(shape, "u1", values, draw(st.integers(0, 2**16)))
    periodic = tuple(draw(st.booleans()) for _ in range(rank))
    return image, draw(st.integers(1, rank)), periodic


@settings(max_examples=40)
@given(question=questions(), method=st.sampled_from(ANSWERS), mask=st.booleans())
def test_labels_are_those_of_the_graph_of_pixels(question, method, mask):
    image, connectivity, periodic = question
    image = image > 0 if mask else image
    expected = label_periodic_graph(image, connectivity, periodic)
    asked = {"connectivity": connectivity, "periodic": periodic, "method": method}
    found = label(np.asfortranarray(image)[..., ::-1][..., ::-1], **asked)
    if not (len(image.shape) == 3 and image.shape[-1] == 1 and not mask):  # by columns
        np.testing.assert_array_equal(found, expected)
    assert found.max() == expected.max()
    out = np.full(image.shape, 7, np.int64)
    assert label(image, out=out, **asked) is out
    np.testing.assert_array_equal(out, found)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("shape", [(9, 67), (5, 4, 6), (3, 4, 3, 5)], ids=str)
def test_the_number_of_threads_does_not_matter(shape, threads, many_threads):
    many_threads(threads)
    for values in (2, 3):
        image = noise(shape, "u1", values, seed=threads)
        expected = label_periodic_graph(image, len(shape), [True] * len(shape))
        np.testing.assert_array_equal(label(image, periodic=True), expected)


def test_images_of_a_stack_are_periodic_each_by_itself():
    images = noise((3, 6, 7), "u1", 3, seed=5)
    for method in ANSWERS:
        found, count = label(images, stacked=True, periodic=True, method=method, return_num=True)
        before = 0
        for image, labels in zip(images, found, strict=True):
            expected = label_periodic_graph(image, 2, (True, True))
            np.testing.assert_array_equal(labels, np.where(expected, expected + before, 0))
            before += expected.max()
        assert count == before


def test_integers_of_one_column_are_numbered_by_columns_with_their_own_boundaries():
    image = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0], [1, 0, 2]])[..., None]
    assert label(image, periodic=(True, False, False)).max() == 3
    assert label(image, connectivity=1, periodic=(False, True, False)).max() == 5
    np.testing.assert_array_equal(
        label(image, periodic=(True, False, True))[..., 0],
        [[1, 0, 3], [0, 0, 0], [0, 2, 0], [1, 0, 3]],
    )


@pytest.mark.parametrize(
    ("periodic", "error", "message"),
    [
        ((True,), ValueError, r"periodic must be a bool, or 2 for 2 spatial axes; got \(True,\)\."),
        (1, TypeError, "periodic must be a bool, or one for each spatial axis; got 1."),
        (None, TypeError, "got None"),
        ("xy", TypeError, "got 'xy'"),
        ([1, 0], TypeError, r"got \[1, 0\]"),
        ([[True], [False]], TypeError, "one for each"),
    ],
)
def test_what_is_no_answer_for_each_axis_is_refused(periodic, error, message):
    with pytest.raises(error, match=message):
        label(np.eye(3, dtype=bool), periodic=periodic)


def test_the_first_axis_of_a_stack_is_not_asked_for():
    with pytest.raises(ValueError, match="The first axis of a stack is none"):
        label(np.ones((2, 3, 3), bool), stacked=True, periodic=(True, True, True))
