"""Objects cut out of their image."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from equilabel import crops

LABELS = np.zeros((3, 12, 15), int)
LABELS[0, 1:4, 2:5] = 7
LABELS[0, 2, 3] = 0
LABELS[2, 10:, 13:] = 7
LABELS[2, 5, 5] = 2
IMAGE = np.arange(3 * 12 * 15 * 2).reshape(3, 12, 15, 2)


def test_objects_of_a_stack_are_cut_out_of_their_frames():
    found = list(crops(LABELS, IMAGE, margin=2, stacked=True))
    assert [(crop.box[0], crop.label) for crop in found] == [(0, 7), (2, 2), (2, 7)]
    for crop in found:
        own = LABELS[crop.box] == crop.label
        assert_array_equal(crop.mask, own)
        assert_array_equal(crop.image, IMAGE[crop.box])
        assert own.sum() == (LABELS[crop.box[0]] == crop.label).sum()
    assert [crop.mask.shape for crop in found] == [(6, 7), (5, 5), (4, 4)]  # cut off at the border


def test_objects_of_a_volume_may_have_several_pieces_and_no_image():
    found = {crop.label: crop for crop in crops(LABELS)}
    assert sorted(found) == [2, 7]
    assert found[7].box == (slice(0, 3), slice(1, 12), slice(2, 15))
    assert found[7].image is None
    assert found[2].mask.tolist() == [[[True]]]
    assert not list(crops(np.zeros((4, 5), int)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"image": IMAGE[:2]}, "image must have the shape of labels"),
        ({"margin": -1}, "margin must be 0 or more"),
        ({"labels": LABELS * 0.5}, "must be of an integer type"),
    ],
)
def test_what_cannot_be_cut_out_is_refused_before_the_first_object(given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        crops(**{"labels": LABELS, **given})
