"""Images that are too large to be labeled at once: in parts, which are joined, the same labels."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from equilabel import label
from equilabel.labeling.output import is_cut
from equilabel.labeling.parts import label_in_parts
from equilabel.labeling.problem import make_problem
from equilabel.samples import percolation, spiral


@st.composite
def images(draw):
    """Draw an image of one value or of several, with its neighborhood."""
    rank = draw(st.integers(1, 4))
    sides = draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank))
    shape = (draw(st.integers(2, 12)), *sides[1:])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = draw(st.sampled_from([2, 3, 4]))
    image = rng.integers(0, values, shape).astype(np.uint8)
    return image.astype(bool) if values == 2 else image


@settings(max_examples=150, deadline=None)
@given(images(), st.integers(1, 4), st.integers(1, 60), st.booleans())
def test_labels_of_parts_are_those_of_the_whole(image, connectivity, planes, stacked):
    stacked = stacked and image.ndim > 1
    connectivity = min(connectivity, image.ndim - stacked)
    asked = {"connectivity": connectivity, "stacked": stacked}
    most = planes * image[0].size
    problem = make_problem(image, device="cpu", **asked)
    assume(not problem.numbered_by_columns)  # these are turned before they are labeled
    found = label_in_parts(problem, most)
    if planes >= len(image):
        assert found is None
        return
    labels, count = found
    expected, number = label(image, return_num=True, **asked)
    np.testing.assert_array_equal(labels, expected)
    assert labels.dtype == np.int32
    assert count == number


@pytest.mark.parametrize(
    "image", [spiral(120), percolation((200, 90), 0.6)], ids=["spiral", "noise"]
)
def test_a_component_goes_through_many_parts(image):
    for planes in (1, 7, 64):
        problem = make_problem(image, connectivity=1, device="cpu")
        labels, _ = label_in_parts(problem, planes * image.shape[1])
        np.testing.assert_array_equal(labels, label(image, connectivity=1))


def test_labels_go_where_they_are_asked_for_if_that_is_possible():
    image = percolation((40, 30), 0.5)
    out = np.empty(image.shape, np.int64)
    labels, _ = label_in_parts(make_problem(image, device="cpu", out=out), 300)
    assert labels is out
    np.testing.assert_array_equal(out, label(image))
    for other in (out.astype(np.int16), out[::-1]):
        assert label_in_parts(make_problem(image, device="cpu", out=other), 300) is None


def test_only_what_has_more_than_32_bits_of_pixels_is_cut():
    assert is_cut((2**17, 2**17))
    assert is_cut((2**34,))
    assert not is_cut((2**15, 2**16))
    assert not is_cut((2, 2**32))  # a plane alone is too large
    assert not is_cut((0, 2**33))
