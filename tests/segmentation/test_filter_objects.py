"""Objects of a segmentation within ranges of their measurements."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from equilabel import filter_objects, measure, regionprops_table, samples, segment
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
    with pytest.raises(ValueError, match=r"got 'perimeter'\. Pass one of label, area"):
        filter_objects(found, {"perimeter": (0, 1)})


LABELS = np.array([[9, 9, 0, 4], [9, 0, 0, 4], [0, 2, 0, 0]])


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("area > 1", [4, 9]),
        ("area > 1 and not area > 2", [4]),
        ("1 <= area <= 2 or `bbox-0` == 2", [2, 4]),
        ("area * 2 - 1 < -area + 8", [2, 4]),
        ("odd > 0", [4, 9]),
        ("kind == 'round'", [9]),
        ("area > 99", []),
    ],
)
def test_labels_that_were_made_elsewhere(condition, kept):
    table = measure(LABELS, properties=("label", "area", "bbox"))
    table["odd"] = [np.nan, 1, 2]
    table["kind"] = ["flat", "flat", "round"]
    for order in ([0, 1, 2], [2, 0, 1]):
        some = table.iloc[order]
        labels, left = filter_objects(LABELS, condition, some)
        wanted = [number for number in some.label if number in kept]
        assert left.label_before.tolist() == wanted
        assert left.label.tolist() == list(range(1, len(kept) + 1))
        for new, number in enumerate(wanted, 1):
            assert_array_equal(labels == new, number == LABELS)
        assert labels.max(initial=0) == len(kept)


@pytest.mark.parametrize(
    "condition",
    ["area", "1", "area > (lambda: 1)()", "area.max() > 1", "area[0] > 1", "@x > 1", "", "area >"],
)
def test_conditions_that_are_more_than_comparisons(condition):
    table = measure(LABELS, properties=("label", "area"))
    with pytest.raises(ValueError, match="condition must compare columns with numbers"):
        filter_objects(LABELS, condition, table)
    with pytest.raises(ValueError, match="keep must compare columns with numbers"):
        segment(LABELS, 1, keep=condition)


@pytest.mark.parametrize("condition", ["not area", "area > 'x'", "area > 1 / 0", "area and 3"])
def test_conditions_that_do_not_fit_the_types(condition):
    table = measure(LABELS, properties=("label", "area"))
    with pytest.raises(ValueError, match=r"condition must compare columns .*; got .*\. Try 'area"):
        filter_objects(LABELS, condition, table)


def test_columns_with_a_hyphen_that_are_not_quoted():
    table = measure(LABELS, properties=("label", "centroid"))
    match = r"got 'centroid'\. Pass 'centroid-0'; in a condition `centroid-0`, in backticks\."
    with pytest.raises(ValueError, match=match):
        filter_objects(LABELS, "centroid-0 > 100", table)
    with pytest.raises(ValueError, match=match):
        segment(LABELS, 1, properties=["label", "centroid"], keep="centroid-0 > 100")


def test_names_that_are_no_columns():
    table = measure(LABELS, properties=("label", "area"))
    with pytest.raises(ValueError, match=r"got 'aera'. Did you mean 'area'\?"):
        filter_objects(LABELS, "aera > 1", table)
    with pytest.raises(ValueError, match=r"got 'circularty'. Did you mean 'circularity'\?"):
        segment(LABELS, 1, keep="circularty > 1")
    with pytest.raises(ValueError, match="table must have one row for each label"):
        filter_objects(LABELS, "area > 1", table[1:])
    with pytest.raises(ValueError, match=r"got 'aera'. Did you mean 'area'\?"):
        filter_objects(LABELS, "aera > 1")


def test_what_a_condition_names_is_measured():
    image = np.arange(LABELS.size).reshape(LABELS.shape)
    table = measure(LABELS, image, ("label", "area", "intensity_max"), spacing=2)
    condition = "area > 4 and intensity_max > 3"
    for how in ({"table": table}, {"image": image, "spacing": 2}):
        labels, left = filter_objects(LABELS, condition, **how)
        assert left.label_before.tolist() == [4, 9]
        assert_array_equal(labels, np.select([LABELS == 4, LABELS == 9], [1, 2]))
    movie = np.stack([LABELS, LABELS * (LABELS != 9), LABELS]).astype(np.uint8)
    labels, left = filter_objects(movie, "area > 1", stacked=True)
    assert left.label_before.tolist() == [4, 9, 4, 4, 9]
    assert np.unique(labels[2]).tolist() == [0, 4, 5]
    assert_array_equal(labels[2] == 5, LABELS == 9)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_segment_keeps_what_meets_a_condition(device):
    image = samples.nuclei_2d((200, 200))
    how = {"sigma": 1, "split": True, "properties": ("label", "area", "bbox"), "device": device}
    whole = segment(image, **how)
    found = segment(image, keep="circularity > 0.8 and `bbox-0` > 9", **how)
    table = measure(whole.labels, properties=("label", "circularity", "bbox"))
    wanted = table[(table.circularity > 0.8) & (table["bbox-0"] > 9)].label.to_numpy()
    assert 0 < found.num == len(wanted) < whole.num
    numbers = np.zeros(whole.num + 1, int)
    numbers[wanted] = np.arange(1, len(wanted) + 1)
    assert_array_equal(found.labels, numbers[whole.labels])
    assert list(found.table) == [*whole.table, "circularity"]
    assert found.table.label.tolist() == list(range(1, found.num + 1))


def test_segment_of_a_movie_tracks_what_is_kept():
    movie = samples.movie((4, 96, 96))
    found = segment(movie, sigma=1, stacked=True, track=True, keep="area > 100")
    assert (found.table.area > 100).all()
    assert found.table.label.tolist() == np.unique(found.labels)[1:].tolist()
    assert found.table.track.max() <= found.num


def test_a_table_of_regionprops_table_serves():
    table = regionprops_table(LABELS, properties=("label", "area"))
    labels, left = filter_objects(LABELS, "area > 1", table)
    assert_array_equal(labels > 0, np.isin(LABELS, [4, 9]))
    assert left.label_before.tolist() == [4, 9]
    with pytest.raises(ValueError, match="table must have columns of one length"):
        filter_objects(LABELS, "area > 1", {**table, "area": np.ones(2)})
    with pytest.raises(TypeError, match="table must be a DataFrame"):
        filter_objects(LABELS, "area > 1", {"label": [1, 2]})


def test_rows_of_a_stack_may_be_in_any_order():
    labels = np.array([[[1, 1, 0]], [[1, 0, 0]]])
    table = measure(labels, properties=["frame", "label", "area"], stacked=True)
    for given in (table, table[::-1]):
        kept, rows = filter_objects(labels, "area > 1", given, stacked=True)
        assert kept.tolist() == [[[1, 1, 0]], [[0, 0, 0]]]
        assert rows[["frame", "area"]].to_numpy().tolist() == [[0, 2]]
    assert len(measure(labels[:0], stacked=True)) == 0


def test_rows_of_a_segmentation_are_in_the_order_of_labels():
    found = segment(np.array([[9, 9, 0, 9, 0, 9, 9]]), 5)
    mixed = replace(found, table=found.table.sort_values("area"))
    with pytest.raises(ValueError, match="for each, in order"):
        filter_objects(mixed, "area > 1")


def test_columns_of_pandas_with_missing_values_and_labels_as_floats():
    labels = np.array([[1, 1, 0, 2]])
    table = pd.DataFrame({"label": [1.0, 2.0], "x": pd.array([None, 3], dtype="Int64")})
    assert filter_objects(labels, "x > 1", table)[0].tolist() == [[0, 0, 0, 1]]
    with pytest.raises(ValueError, match="must not have negative labels; got -2"):
        filter_objects(labels - 2, "x > 1", pd.DataFrame({"label": [-1, -2], "x": [1, 2]}))
