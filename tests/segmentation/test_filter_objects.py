"""Objects of a segmentation within ranges of their measurements."""

import numpy as np
import pytest

from equilabel import filter_objects, segment
from equilabel.samples import movie, nuclei_2d


def test_objects_within_all_ranges_are_kept_and_numbered_anew():
    found = segment(nuclei_2d((128, 128)), sigma=1.0)
    table = found.table
    least, most = table["area"].quantile(0.3), table["intensity_mean"].quantile(0.8)
    kept = filter_objects(found, {"area": (least, None), "intensity_mean": (None, most)})
    expected = table[(table["area"] >= least) & (table["intensity_mean"] <= most)]
    assert 0 < kept.num == len(expected) < found.num
    assert kept.table["label"].tolist() == list(range(1, kept.num + 1))
    assert kept.table["label_before"].tolist() == expected["label"].tolist()
    before = np.concatenate([[0], expected["label"]])
    np.testing.assert_array_equal(
        before[kept.labels], np.where(np.isin(found.labels, before), found.labels, 0)
    )
    assert found.labels.max() == found.num == len(found.table)  # as it was


def test_a_number_before_is_that_of_the_first_segmentation():
    found = segment(movie((3, 64, 64)), stacked=True, sigma=1.0)
    once = filter_objects(found, {"frame": (1, None)})
    twice = filter_objects(once, {"frame": (2, 2)})
    expected = found.table["label"][found.table["frame"] == 2]
    assert twice.table["label_before"].tolist() == expected.tolist()


def test_a_missing_value_is_outside_of_any_range():
    found = segment(np.array([[9, 9, 0, 9]]), threshold=5)
    found.table["mine"] = [np.nan, 1.0]
    assert filter_objects(found, {"mine": (None, None)}).labels.tolist() == [[0, 0, 0, 1]]


def test_labels_stay_on_their_device(cupy):
    found = segment(cupy.asarray(nuclei_2d((64, 64))), sigma=1.0)
    middle = found.table["area"].median()
    kept = filter_objects(found, {"area": (middle, None)})
    assert isinstance(kept.labels, cupy.ndarray)
    assert int(kept.labels.max()) == kept.num == (found.table["area"] >= middle).sum()


def test_a_column_that_was_not_measured_is_named():
    found = segment(np.eye(3), threshold=0.5, properties=("label", "area"))
    with pytest.raises(ValueError, match=r"columns of the table, label, area; got 'perimeter'"):
        filter_objects(found, {"perimeter": (0, 1)})
