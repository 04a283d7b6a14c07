"""Euler numbers and perimeters of whole images, beside those of scikit-image."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage import measure

from equilabel import euler_number, perimeter, perimeter_crofton
from strategies import noise

CALLS = [
    (euler_number, measure.euler_number, 2, {}),
    (euler_number, measure.euler_number, 2, {"connectivity": 1}),
    (euler_number, measure.euler_number, 3, {}),
    (euler_number, measure.euler_number, 3, {"connectivity": 1}),
    (perimeter, measure.perimeter, 2, {}),
    (perimeter, measure.perimeter, 2, {"neighborhood": 8}),
    (perimeter_crofton, measure.perimeter_crofton, 2, {}),
    (perimeter_crofton, measure.perimeter_crofton, 2, {"directions": 2}),
]


@pytest.mark.parametrize(("ours", "theirs", "rank", "options"), CALLS)
@given(sides=st.lists(st.integers(1, 9), min_size=3, max_size=3), seed=st.integers(0, 99))
def test_numbers_are_those_of_scikit_image(ours, theirs, rank, options, sides, seed):
    image = noise((sides[0], *(8 * sides[1], sides[2])[: rank - 1]), values=2, seed=seed)
    found, expected = ours(image, **options), theirs(image > 0, **options)
    # Euler numbers are equal; lengths are sums of as many terms, in another order.
    assert found == pytest.approx(expected, rel=1e-12, abs=0 if ours is euler_number else 1e-12)


@pytest.mark.parametrize("ours", [euler_number, perimeter, perimeter_crofton])
def test_any_order_and_type_of_pixels_will_do(ours):
    mask = noise((20, 30), values=2, seed=3) > 0
    expected = ours(mask)
    views = (mask.view(np.uint8) * np.uint8(255)).view(bool), np.asfortranarray(mask)
    for image in (*views, 3 * mask.astype(">i2") - 1, np.where(mask, 0.5, np.nan), mask.tolist()):
        assert ours(image) == expected
    assert ours(np.zeros((4, 0))) == ours(np.zeros((4, 5), int)) == 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: euler_number(np.ones((2, 2, 2)), 2), r"connectivity must be 1 or 3; got 2"),
        (lambda: euler_number(np.ones(4)), r"2 or 3 spatial axes; got 1"),
        (
            lambda: perimeter(np.ones((2, 2, 2))),
            r"2 spatial axes; got 3\. In 3D, ask for 'surface_area_crof",
        ),
        (lambda: perimeter(np.ones((2, 2, 2)), 8), r"2 spatial axes; got 3"),
        (lambda: perimeter(np.ones((2, 2)), 6), r"neighborhood must be 4 or 8; got 6"),
        (lambda: perimeter_crofton(np.ones((2, 2)), 3), r"directions must be 2 or 4; got 3"),
    ],
)
def test_what_is_not_defined_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.gpu
@pytest.mark.parametrize(("ours", "theirs", "rank", "options"), CALLS)
def test_an_image_on_a_gpu_is_measured_there(ours, theirs, rank, options):
    cupy = pytest.importorskip("cupy")
    image = noise((40, 50, 7)[:rank], values=2, seed=1)
    expected = pytest.approx(theirs(image > 0, **options), rel=1e-12)
    assert ours(cupy.asarray(image), **options) == expected
