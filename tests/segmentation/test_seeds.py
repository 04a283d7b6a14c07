"""Objects grown from seeds, and split among markers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.ndimage import distance_transform_edt

from equilabel import grow, label, split_touching

Y, X = np.mgrid[:30, :60]
TWO = ((Y - 15) ** 2 + (X - 18) ** 2 < 150) | ((Y - 15) ** 2 + (X - 38) ** 2 < 150)


def test_objects_grow_by_a_distance():
    rng = np.random.default_rng(0)
    for shape, spacing in (((40, 50), (1, 1)), ((30, 40), (2, 0.5)), ((9, 14, 15), (3, 1, 1))):
        labels = rng.integers(1, 200, shape) * (rng.random(shape) < 0.02)
        apart = distance_transform_edt(labels == 0, spacing)
        for distance in (0, 1, 2.5):
            far = distance * min(spacing)
            found = grow(labels.astype(np.uint16), distance, spacing=spacing)
            assert found.dtype == np.uint16
            assert_array_equal(found > 0, apart <= far)
            # Each pixel belongs to an object that is not farther than the nearest.
            for number in np.unique(labels[labels > 0])[:20]:
                own = distance_transform_edt(labels != number, spacing)
                assert np.allclose(own[found == number], apart[found == number])
    assert_array_equal(grow(labels, "2um", spacing=0.5, unit="um"), grow(labels, 4))


def test_objects_grow_within_a_mask_and_to_dark_lines():
    labels = np.zeros(TWO.shape, int)
    labels[15, 18], labels[15, 30] = 7, 4
    found = grow(labels, mask=TWO)
    assert_array_equal(found > 0, TWO | (labels > 0))
    image = np.where(np.abs(X - 22) < 1, 0, 100.0)
    image[0, 0] = np.nan
    dark = grow(labels, mask=TWO, image=image)
    assert (dark[TWO & (X < 22)] == 7).all()
    assert (dark[TWO & (X > 22)] == 4).all()
    assert not (found[TWO & (X > 23)] == 4).all()
    near = grow(labels, 3, mask=TWO)
    assert_array_equal(near > 0, TWO & (distance_transform_edt(labels == 0) <= 3))


def test_frames_grow_one_by_one():
    labels = np.zeros((3, 1, 7), int)
    labels[1, 0, 3] = 5
    assert grow(labels, 1, stacked=True)[:, 0].tolist() == [[0] * 7, [0, 0, 5, 5, 5, 0, 0], [0] * 7]
    assert np.count_nonzero(grow(labels, 1)) == 5


def test_markers_decide_what_is_split():
    markers = np.zeros(TWO.shape, int)
    markers[15, 18] = markers[14, 18] = 3
    markers[15, 38] = 9
    found = split_touching(TWO, markers=markers)
    assert_array_equal(found > 0, TWO)
    assert (found[TWO & (X < 27)] == 1).all()
    assert (found[TWO & (X > 29)] == 2).all()
    assert_array_equal(split_touching(TWO, markers=markers > 0), found)
    assert split_touching(TWO, markers=markers == 3).max() == 1  # one marker
    image = np.where(np.abs(X - 22) < 1, 0, 100)
    bright = split_touching(TWO, markers=markers, image=image)
    assert (bright[TWO & (X > 22)] == 2).all()
    assert (bright[TWO & (X < 22)] == 1).all()


def test_labels_without_markers_stay_whole_and_labels_are_never_joined():
    labels = np.zeros((2, 40), int)
    labels[:, :10], labels[:, 10:20], labels[:, 25:] = 2, 1, 5
    markers = np.zeros_like(labels)
    markers[0, [1, 8, 12]] = 1, 2, 2
    found = split_touching(labels, markers=markers)
    assert_array_equal(found, label(found))  # numbered in raster order
    assert [len(np.unique(found[labels == k])) for k in (2, 1, 5)] == [2, 1, 1]
    assert found.max() == 4
    stack = split_touching(
        np.stack([TWO, TWO]),
        markers=np.stack([TWO & (Y == 15) & (np.abs(X - 28) == 10)] * 2),
        stacked=True,
    )
    assert stack[0].max() == 2
    assert_array_equal(stack[1], np.where(TWO, stack[0] + 2, 0))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: grow(TWO.astype(int)), "distance or mask must be given"),
        (lambda: grow(TWO.astype(int), -1), "distance"),
        (lambda: grow(TWO.astype(int), "2um"), "distance"),
        (lambda: grow(TWO.astype(int), mask=TWO[1:]), "mask must have the shape of the labels"),
        (lambda: grow(TWO * 1.0, 2), "integer"),
        (lambda: split_touching(TWO, markers=TWO[1:]), "markers must have the shape"),
        (lambda: split_touching(TWO, markers=TWO * 1.0), "markers must be a mask or integers"),
        (lambda: split_touching(TWO, markers=~TWO), "markers must lie in objects"),
        (lambda: split_touching(TWO, image=X), "image must be given with markers"),
    ],
)
def test_refusals(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call()


@pytest.mark.gpu
def test_arrays_stay_on_their_device():
    import cupy

    labels = label(TWO)
    there = grow(cupy.asarray(labels), 3)
    assert_array_equal(there.get(), grow(labels, 3))
    markers = TWO & (Y == 15) & (np.abs(X - 28) == 10)
    parts = split_touching(cupy.asarray(TWO), markers=markers)
    assert_array_equal(parts.get(), split_touching(TWO, markers=markers))
