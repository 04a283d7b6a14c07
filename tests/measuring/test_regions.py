"""`regionprops`: objects with attributes, beside those of scikit-image."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from skimage import measure

from equilabel import regionprops, regionprops_table


def corners(mask):
    """Return pixels of a mask twice: a function of a caller."""
    return 2 * mask.sum()


@pytest.mark.parametrize(
    ("rank", "channels", "spacing"),
    [(2, (), None), (2, (2,), (2, 1)), (3, (), 0.5), (3, (2,), None), (3, (2,), (2, 1, 3))],
)
def test_attributes_are_those_of_scikit_image(rank, channels, spacing):
    rng = np.random.default_rng(rank)
    mask = rng.random((30, 14, 9)[:rank]) < (0.5, 0.25)[rank - 2]
    labels = 3 * measure.label(mask, connectivity=1)
    values = rng.random(labels.shape + channels)
    options = {"spacing": spacing, "offset": range(5, 5 + rank), "extra_properties": [corners]}
    pairs = regionprops(labels, values, **options), measure.regionprops(labels, values, **options)
    assert [one.label for one in pairs[0]] == [other.label for other in pairs[1]]
    solid = [pair for pair in zip(*pairs, strict=True) if min(pair[1].image.shape) > 1]
    assert len(solid) >= 2
    for one, other in solid:
        for name in [*other, "corners"]:
            try:
                expected = getattr(other, name)
            except NotImplementedError:  # where scikit-image has no answer, we may have one
                continue
            found = getattr(one, name)
            if name in ("bbox", "slice"):
                assert found == expected
            else:
                assert isinstance(found, tuple) == isinstance(expected, tuple), name
                np.testing.assert_allclose(found, expected, 1e-7, 1e-7, err_msg=name)


def test_a_column_is_computed_for_all_objects_at_once(monkeypatch):
    calls = []

    def counting(*arguments, **options):
        calls.append(arguments[2])
        return regionprops_table(*arguments, **options)

    monkeypatch.setattr("equilabel.measuring.regions.regionprops_table", counting)
    regions = regionprops(np.kron(np.arange(101), np.ones((3, 3), int)), spacing=2)
    calls.clear()
    found = [(one.perimeter, one.circularity, one["centroid"], one.touching) for one in regions]
    assert len(found) == 100
    assert found[1][2:] == ((2.0, 14.0), 2)
    assert len(calls) <= 4
    computed = [name for names in calls for name in names if name != "label"]
    assert len(set(computed)) == len(computed)


def test_what_is_not_defined_is_no_attribute():
    mask = np.ones((2, 3, 4), int)
    (region,) = regionprops(mask)
    assert region.volume == 24
    for name in ("circularity", "intensity_mean", "areas"):
        with pytest.raises(AttributeError, match=name):
            getattr(region, name)
    with pytest.raises(NotImplementedError):
        _ = region.perimeter
    assert regionprops(np.zeros((4, 5), int)) == []
    with pytest.raises(ValueError, match="offset must be one integer"):
        regionprops(mask, offset=(1, 2))
    with pytest.raises(TypeError, match="Label it first"):
        regionprops(mask > 0)


def test_objects_are_copied_to_other_processes():
    (region,) = regionprops(np.eye(4, dtype=int))
    again = pickle.loads(pickle.dumps(region))
    assert again == region
    assert again.perimeter_edges == 16


def test_labels_that_change_in_a_loop_do_not_move_rows():
    labels = np.zeros((9, 12), int)
    labels[0, 0], labels[2:5, 2:5], labels[1:8, 6:12] = 1, 2, 3
    mine, theirs, found = labels.copy(), labels.copy(), []
    for image, function in ((mine, regionprops), (theirs, measure.regionprops)):
        seen = []
        for region in function(image):
            if region.area < 5:
                image[image == region.label] = 0
            else:
                seen.append((region.label, region.area, region.perimeter))
        found.append(seen)
    assert found[0] == found[1] == [(2, 9, 8), (3, 42, 22)]
    regions = regionprops(labels)
    labels[labels == 1] = 0
    with pytest.raises(ValueError, match="labels must not be removed before perimeter"):
        _ = regions[0].perimeter


def volume(mask):
    return mask.sum() / 1000


def test_functions_hide_columns_that_scikit_image_does_not_have():
    labels = np.ones((2, 2, 2), int)
    assert regionprops(labels, extra_properties=[volume])[0].volume == 0.008
    for names in (("label", "volume"), ("label",)):
        table = regionprops_table(labels, properties=names, extra_properties=[volume])
        assert table["volume"].tolist() == [0.008]
    flat = regionprops_table(labels[0], properties=("volume",), extra_properties=[volume])
    assert flat["volume"].tolist() == [0.004]  # our column is not defined there


def profile(mask):
    return mask.sum(axis=1)


@pytest.mark.parametrize("rows", [[[1, 1], [0, 1]], [[1, 0, 2]] * 2, [[1, 0, 2], [0, 0, 2]], [[0]]])
def test_columns_of_functions_do_not_depend_on_the_image(rows):
    how = {"properties": ("label",), "extra_properties": [profile]}
    found = regionprops_table(np.array(rows), **how)
    assert list(found) == ["label", "profile"]
    if found["label"].size:
        assert list(measure.regionprops_table(np.array(rows), **how)) == ["label", "profile"]


def test_channels_of_weighted_centroids_are_arrays():
    region = regionprops(np.ones((3, 3), int), np.ones((3, 3, 2)))[0]
    assert (region.centroid_weighted[0] * 2).tolist() == [2, 2]
    assert isinstance(region.inertia_tensor_eigvals, list)
    assert regionprops(np.array([[1, 1]]), np.zeros((1, 2, 0)))[0].intensity_mean.shape == (0,)


@pytest.mark.gpu
def test_labels_on_a_gpu_have_the_same_objects():
    import cupy

    labels = measure.label(np.random.default_rng(0).random((60, 70)) < 0.4)
    values = np.random.default_rng(1).random(labels.shape)
    pairs = zip(
        regionprops(cupy.asarray(labels), cupy.asarray(values)),
        regionprops(labels, values),
        strict=True,
    )
    for one, other in pairs:
        assert (one.bbox, one.area, one.perimeter) == (other.bbox, other.area, other.perimeter)
        assert one.intensity_mean == pytest.approx(other.intensity_mean)
        assert (one.image == other.image).all()
