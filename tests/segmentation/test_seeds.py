"""Objects grown from seeds, and split among markers."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.ndimage import distance_transform_edt
from skimage.morphology import local_maxima, reconstruction
from skimage.segmentation import expand_labels

from equilabel import binarize, grow, label, segment, smooth, split_touching
from equilabel.samples import nuclei_2d

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


SPACINGS = (None, None, 0.26, (0.5, 2.0, 1.0, 0.3))  # sums of squares are exact, or rounded alike
DISTANCES = (0, 0.5, 1, 2, 5**0.5, 5, 13**0.5, 30, 1e6)


def random_growth(rng):
    """Return labels with equally near objects, of any type and order of axes, and arguments."""
    rank = int(rng.integers(1, 5))
    shape = tuple(rng.integers(1, {1: 700, 2: 40, 3: 16, 4: 7}[rank], rank))
    labels = rng.integers(1, 99, shape) * (rng.random(shape) < rng.choice((0, 0.01, 0.1)))
    labels = labels.astype(rng.choice(["u1", "i2", "u4", "i4", "i8"]), order=rng.choice(["C", "F"]))
    stacked, spacing = bool(rank > 1 and rng.random() < 0.3), SPACINGS[rng.integers(len(SPACINGS))]
    if isinstance(spacing, tuple):
        spacing = spacing[: rank - stacked]
    distance = float(rng.choice(DISTANCES))
    return labels, {"distance": distance, "spacing": spacing, "stacked": stacked}


def test_equally_near_objects_grow_as_by_scikit_image():
    rng = np.random.default_rng(5)
    for _ in range(300):
        labels, how = random_growth(rng)
        spacing, far = how["spacing"], how["distance"]
        spacing = spacing if isinstance(spacing, tuple) else 1.0
        if isinstance(spacing, tuple):
            far *= min(spacing)
        images = labels if how["stacked"] else labels[np.newaxis]
        wanted = [expand_labels(image, far, spacing=spacing) for image in images]
        assert_array_equal(
            grow(labels, **how), np.reshape(wanted, labels.shape), str((how, labels))
        )


@pytest.mark.gpu
def test_equally_near_objects_grow_alike_on_a_gpu():
    import cupy

    rng = np.random.default_rng(6)
    for _ in range(300):
        labels, how = random_growth(rng)
        found = grow(cupy.asarray(labels), **how)
        assert found.dtype == labels.dtype
        assert_array_equal(found.get(), grow(labels, **how), str((how, labels)))


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
        (lambda: split_touching(TWO, image=X[1:]), "image must have the shape"),
        (lambda: split_touching(TWO, image=X, tolerance=2), "tolerance must be 0 to 1"),
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


# ---- Along dark lines


def heights_of(mask, image):
    """Return gray values from 1 to 256 in each component, 0 outside."""
    components, heights = label(mask), np.zeros(mask.shape)
    for number in range(1, components.max() + 1):
        own = components == number
        low, high = image[own].min(), image[own].max()
        heights[own] = 1 + np.rint((image[own] - low) / ((high - low) or 1) * 255)
    return heights


@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("shape", [(120, 110), (14, 40, 42)])
def test_parts_by_intensity_are_those_of_h_maxima(share, shape):
    """A part for each regional maximum of the reconstruction from what is lower by the share."""
    noise = smooth(np.random.default_rng(len(shape)).random(shape), 2)
    mask = noise > np.quantile(noise, 0.5)
    heights = heights_of(mask, noise) + 300 * mask
    lower = reconstruction(
        heights - share * 255 - 1e-9, heights, footprint=np.ones([3] * len(shape))
    )
    wanted = label(local_maxima(lower, connectivity=len(shape)) & mask)
    found = split_touching(mask, image=noise, tolerance=share)
    assert found.max() == wanted.max()
    assert_array_equal(found > 0, mask)
    for number in range(1, wanted.max() + 1):  # each in a part of its own
        assert len(set(found[wanted == number])) == 1
    assert len({int(found[wanted == k][0]) for k in range(1, wanted.max() + 1)}) == wanted.max()
    assert label(found).max() == found.max()


def test_large_components_and_those_of_a_stack_are_split_by_intensity_alike(monkeypatch):
    image = smooth(nuclei_2d((150, 160)), 2)
    mask = binarize(image, "li")
    whole = split_touching(mask, image=image)
    monkeypatch.setattr("equilabel.segmentation.splitting.LARGE", 0)
    assert_array_equal(split_touching(mask, image=image), whole)
    stack, values = np.stack([mask, mask[::-1]]), np.stack([image, image[::-1]])
    found = split_touching(stack, image=values, stacked=True)
    assert_array_equal(found[0], whole)
    assert found.max() == 2 * whole.max()
    labels = np.where(X < 30, 1, 2) * TWO  # labels that touch are never mixed
    parts = split_touching(labels, image=np.ones(TWO.shape))
    assert_array_equal(parts, labels)
    assert not split_touching(np.zeros((4, 5), bool), image=np.ones((4, 5))).any()


def test_segment_splits_by_intensity_and_among_markers_in_a_mask():
    image = nuclei_2d((200, 210))
    mask = binarize(image, "otsu", sigma=2)
    found = segment(image, sigma=2, split=0.1, split_by="intensity")
    by_hand = split_touching(mask, image=smooth(image, 2), tolerance=0.1)
    assert_array_equal(found.labels, by_hand)
    assert "split" not in found.in_pixels
    dark = segment(image.max() - image, sigma=2, dark=True, split=True, split_by="intensity")
    assert dark.num == pytest.approx(segment(image, sigma=2, split=True, split_by="intensity").num)
    markers = np.zeros(image.shape, int)
    markers[::25, ::25] = np.arange(1, 1 + markers[::25, ::25].size).reshape(8, 9)
    seeded = segment(image, sigma=2, markers=markers)
    assert_array_equal(seeded.labels, split_touching(mask, markers=markers))
    assert seeded.num > segment(image, sigma=2).num
    assert seeded.table.area.sum() == mask.sum()
    where = np.zeros(image.shape, bool)
    where[:100] = True
    masked = segment(image, sigma=2, mask=where)
    assert_array_equal(masked.labels, label(mask & where))
    ring = np.abs(np.hypot(*np.mgrid[-100:100, -105:105]) - 30) < 4
    disk = segment(ring, 0.5, closing=2, fill_holes=True, mask=where).labels
    assert disk[99, 105] == 1  # filled before the mask is applied
    assert not disk[100:].any()


def test_segment_grows_objects_before_they_are_measured():
    image = nuclei_2d((200, 210))
    scale = {"spacing": 0.5, "unit": "um", "sigma": 1, "split": 0.5, "min_size": 30}
    nuclei = segment(image, **scale)
    cells = segment(image, **scale, grow="2um")
    assert_array_equal(cells.labels, grow(nuclei.labels, 4))  # with the numbers of the nuclei
    assert_array_equal(cells.table.area, np.bincount(cells.labels.ravel())[1:] / 4)
    assert cells.in_pixels == {**nuclei.in_pixels, "grow": 4.0}
    where = np.zeros(image.shape, bool)
    where[:100] = True
    inside = segment(image, **scale, grow="2um", mask=where, exclude_border=True)
    assert_array_equal(inside.labels[100:], 0)
    assert inside.labels[where].max() == inside.num
    movie = segment(np.stack([image, image[::-1]]), sigma=1, grow=4, stacked=True)
    assert_array_equal(movie.labels[0], segment(image, movie.threshold, sigma=1, grow=4).labels)
    assert_array_equal(movie.table.area, np.bincount(movie.labels.ravel())[1:])


def test_regions_of_one_number_are_markers_each():
    points = (Y == 15) & (np.abs(X - 28) == 10)
    for kind in (bool, np.uint8, np.int64):
        assert split_touching(TWO, markers=points.astype(kind) * kind(1)).max() == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"split_by": "color"}, "split_by must be one of"),
        ({"split_by": "intensity"}, "split must be given with split_by='intensity'"),
        ({"split_by": "intensity", "split": 1.5}, "split must be 0 to 1"),
        ({"split_by": "intensity", "split": "2px"}, "split must be a number"),
        ({"mask": np.ones(3)}, "mask must have the shape of the image"),
        ({"mask": np.zeros((30, 30))}, "mask must have pixels in which objects may be; got none"),
        ({"markers": np.ones(3)}, "markers must have the shape of the image"),
        ({"markers": np.ones((30, 30))}, "markers must be a mask or integers"),
        ({"grow": -1}, "grow must be 0 or more"),
        ({"grow": "2um"}, "grow"),
    ],
)
def test_what_segment_cannot_split_by_is_refused(given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        segment(nuclei_2d((30, 30)), **given)


def test_parts_at_a_corner_belong_to_their_object():
    """And labels that touch there are never joined."""
    labels = np.zeros((4, 7), int)
    labels[:3, :5] = labels[3, 5] = 1
    labels[3, 6] = 9
    points = np.zeros((4, 7), int)
    points[1, 0], points[1, 4] = 1, 2
    found = split_touching(labels, markers=points)
    assert found[1].tolist() == [1, 1, 1, 2, 2, 0, 0]
    assert found[3].tolist() == [0, 0, 0, 0, 0, 2, 3]
    assert split_touching(labels[:0], markers=points[:0]).shape == (0, 7)
    with pytest.raises(ValueError, match="markers must not be negative; got -1"):
        split_touching(labels, markers=points - 1)
