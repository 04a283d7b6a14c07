"""`measure`: tables of labels that are there already."""

import numpy as np
import pandas as pd
import pytest

from equilabel import measure, regionprops_table, segment
from equilabel.samples import blobs

IMAGE = blobs((60, 70)).astype(float) * 3 + np.arange(70)
FOUND = segment(IMAGE, 40)


def test_the_table_is_that_of_segment():
    pd.testing.assert_frame_equal(measure(FOUND.labels, IMAGE), FOUND.table)


def test_without_an_image_nothing_of_it_is_measured():
    table = measure(FOUND.labels)
    assert [name for name in FOUND.table if not name.startswith("intensity")] == list(table)
    with pytest.raises(ValueError, match="must not ask for intensities without an image"):
        measure(FOUND.labels, properties=["intensity_mean"])


def test_columns_are_in_the_order_in_which_they_are_asked_for():
    for names in (["area", "label"], ["label", "area"], ["area"], ["area", "bbox", "label"]):
        table = measure(FOUND.labels, properties=names)
        assert list(dict.fromkeys(name.split("-")[0] for name in table)) == names


def test_labels_may_have_gaps_and_repeat_from_frame_to_frame():
    labels = np.array([[[7, 7, 0], [0, 0, 3]], [[7, 0, 0], [0, 0, 0]]])
    table = measure(labels, properties=["label", "frame", "area"], stacked=True, track=True)
    assert table["label"].tolist() == [3, 7, 7]
    assert table["frame"].tolist() == [0, 0, 1]
    assert table["area"].tolist() == [1, 2, 1]
    assert table["track"].tolist() == [1, 2, 2]


def test_channels_lie_along_the_last_axis():
    both = np.stack([IMAGE, -IMAGE], -1)
    names = ["label", "intensity_mean"]
    expected = regionprops_table(FOUND.labels, both, names)
    pd.testing.assert_frame_equal(measure(FOUND.labels, both, names), pd.DataFrame(expected))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"image": IMAGE[1:]}, r"image must have the shape of labels, \(60, 70\); got \(59, 70\)"),
        ({"properties": ["beauty"]}, "beauty"),
        ({"track": True}, "track needs stacked=True"),
        ({"spacing": (1, 2, 3)}, "spacing must"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        measure(FOUND.labels, **arguments)


def test_frames_without_objects_keep_the_sums_of_others_exact():
    labels, image = np.zeros((2, 3, 3), int), np.full((2, 3, 3), 2**60 + 1)
    labels[0, 0, 0] = 1
    table = measure(labels, image, ["label", "intensity_sum"], stacked=True)
    assert table["intensity_sum"].tolist() == [2**60 + 1]
    nothing = np.zeros((0, 4, 4), int), np.zeros((0, 4, 4, 2)), ["label", "intensity_mean"]
    assert list(measure(*nothing, stacked=True)) == [
        "label",
        "intensity_mean-0",
        "intensity_mean-1",
    ]


def test_messages_name_the_argument():
    with pytest.raises(TypeError, match=r"labels must be of an integer type; got bool\. Label it"):
        measure(np.ones((3, 3), bool))
