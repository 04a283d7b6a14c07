"""Row i is label i: tables as features of a layer, and back."""

import numpy as np
import pandas as pd
import pytest
from napari.layers import Labels

from equilabel import segment
from equilabel.devices import threads
from equilabel.storage.table import (
    as_features,
    as_table,
    find_objects,
    labels_of,
    numeric_columns,
)
from equilabel.widget.logic.objects import (
    change_objects,
    find_kept,
    format_value,
    keep_objects,
    merge_measurements,
    own_columns,
    show_objects,
    sort_rows,
    summarize,
)
from equilabel.widget.logic.outcomes import Outcome
from equilabel.widget.viewer.layers import watch_painting

TABLE = pd.DataFrame({"label": [1, 2, 5], "num_pixels": [4, 9, 2], "area": [1.0, 2.25, 0.5]})


def test_row_i_is_label_i_and_row_0_the_background():
    features = as_features(TABLE)
    assert list(features) == ["num_pixels", "area"]
    assert labels_of(features).tolist() == [0, 1, 2, 3, 4, 5]
    assert features["area"].tolist()[1:3] == [1.0, 2.25]
    assert features["area"].isna().tolist() == [True, False, False, True, True, False]


def test_features_turn_back_into_the_table():
    features = as_features(TABLE)
    pd.testing.assert_frame_equal(as_table(features, TABLE.dtypes), TABLE)


def test_the_table_of_a_run_comes_back_to_the_last_bit():
    image = np.random.default_rng(0).integers(0, 9, (40, 50))
    found = segment(image, spacing=(0.3, 0.7))
    table, features = found.table, found.features
    pd.testing.assert_frame_equal(as_table(features, table.dtypes), table)


def test_no_objects_leave_the_background_alone():
    features = as_features(TABLE[:0])
    assert list(features) == ["num_pixels", "area"]
    assert labels_of(features).tolist() == [0]
    assert len(as_table(features)) == 0


def test_huge_labels_do_not_make_a_huge_table():
    table = pd.DataFrame({"label": [7, 10**9], "area": [1.0, 2.0]})
    features = as_features(table)
    assert features["index"].tolist() == [0, 7, 10**9]
    assert as_table(features)["label"].tolist() == [7, 10**9]


def test_only_numbers_can_be_drawn():
    features = as_features(TABLE)
    features["name"] = "a"
    assert list(numeric_columns(features)) == ["num_pixels", "area"]


def test_features_without_an_index_go_by_position():
    features = pd.DataFrame({"area": [np.nan, 3.0, 4.0]})
    assert labels_of(features).tolist() == [0, 1, 2]
    assert as_table(features)["label"].tolist() == [1, 2]


# ------------------------------------------------------------------- filter

FEATURES = as_features(TABLE)


def test_without_a_range_all_objects_are_kept():
    assert find_kept(FEATURES).sum() == find_objects(FEATURES).sum() == 3


@pytest.mark.parametrize(
    ("ranges", "labels"),
    [
        ({"area": (1, 3)}, [1, 2]),
        ({"area": (1.0, None)}, [1, 2]),
        ({"area": (None, 0.5)}, [5]),
        ({"area": (0.6, 3), "num_pixels": (5, 20)}, [2]),
        ({"area": (7, 9)}, []),
    ],
)
def test_ranges_keep_what_lies_in_all_of_them(ranges, labels):
    assert labels_of(FEATURES)[find_kept(FEATURES, ranges)].tolist() == labels


@pytest.mark.parametrize("factor", [1, 10**6])
def test_those_kept_are_numbered_anew_and_keep_their_rows(factor):
    labels = np.array([[1, 1, 0, 2], [5, 0, 2, 2]]) * factor
    table = TABLE.assign(label=TABLE["label"] * factor)
    features = as_features(table)
    kept = find_kept(features, {"num_pixels": (1, 5)})
    fewer, rows = keep_objects(labels, features, kept)
    assert fewer.tolist() == [[1, 1, 0, 0], [2, 0, 0, 0]]
    assert fewer.dtype == labels.dtype
    assert labels_of(rows).tolist() == [0, 1, 2]
    assert rows["area"].tolist()[1:] == [1.0, 0.5]
    assert rows["label_before"].tolist()[1:] == [factor, 5 * factor]
    assert np.isnan(rows["area"][0])


def test_labels_are_kept_in_any_order_of_axes_unless_that_is_called_off():
    labels, features = np.array([[1, 1, 0, 2], [5, 0, 2, 2]]), as_features(TABLE)
    kept = find_kept(features, {"num_pixels": (1, 5)})
    fewer, _ = keep_objects(labels.T, features, kept)
    assert fewer.T.tolist() == [[1, 1, 0, 0], [2, 0, 0, 0]]

    def cancel():
        raise KeyboardInterrupt

    with threads.interruptible(cancel), pytest.raises(KeyboardInterrupt):
        keep_objects(labels, features, kept)


def test_keeping_nothing_leaves_no_label():
    labels = np.array([[1, 2, 5]])
    fewer, rows = keep_objects(labels, FEATURES, find_kept(FEATURES, {"area": (99, None)}))
    assert not fewer.any()
    assert len(rows) == 1


# ---------------------------------------------------------------- merging


def measured(image, **columns):
    """Return what measuring gives: labels 1 to 3, and columns."""
    table = pd.DataFrame({"label": [1, 2, 3], **columns})
    features = as_features(table)
    metadata = {"intensity": image, "layer": image, "columns": table.dtypes.to_dict()}
    metadata |= {"properties": tuple(columns), "color": "gray", "parents": ("", ""), "axes": ()}
    metadata["objects"] = 3
    return Outcome(np.zeros((1, 1), int), features, {}, metadata)


def test_measuring_keeps_columns_of_others_by_label_and_replaces_its_own():
    features = pd.DataFrame(
        {"index": [0, 1, 2, 4], "area": [0.0, 1, 1, 1], "kind": ["", "dead", "alive", "gone"]}
    )
    made = {"columns": {"area": float}, "layer": "nuclei"}
    merged, facts = merge_measurements(features, made, measured("", area=[7.0, 8.0, 9.0]))
    assert labels_of(merged).tolist() == [0, 1, 2, 3]
    assert [name for name in merged if name != "index"] == ["area", "kind"]
    assert merged["area"].tolist()[1:] == [7, 8, 9]
    assert merged["kind"].tolist()[1:3] == ["dead", "alive"]
    assert pd.isna(merged["kind"][3])
    assert own_columns(merged, {**made, "measured": facts}) == ["kind"]


def test_intensities_of_several_images_stand_in_one_table():
    features = pd.DataFrame({"index": range(4), "intensity_mean": [np.nan, 1, 2, 3]})
    made = {"columns": features.dtypes.to_dict(), "layer": "nuclei"}
    for image, factor in (("actin", 10), ("nuclei", 5), ("actin", 100)):
        values = [factor * value for value in (1.0, 2.0, 3.0)]
        outcome = measured(image, intensity_mean=values, num_pixels=[4, 5, 6])
        features, facts = merge_measurements(features, made, outcome)
        made = {**made, "measured": facts}
    first, *_, last = (name for name in features if "intensity" in name)
    assert (first, last) == ("intensity_mean", "intensity_mean [actin]")
    assert features["intensity_mean"].tolist()[1:] == [5, 10, 15]
    assert features["intensity_mean [actin]"].tolist()[1:] == [100, 200, 300]
    assert own_columns(features, made) == []
    table = as_table(features, facts["columns"])
    assert table["num_pixels"].dtype == np.int64
    assert len(table) == 3


def test_columns_of_a_person_make_no_objects_of_labels_without_any():
    """Labels 3 and 7 and a column of one's own were 7 objects."""
    features = as_features(pd.DataFrame({"label": [3, 7], "area": [4, 2]})).assign(mine=1.0)
    assert find_objects(features, {"area": int}).sum() == 2
    assert find_objects(features, {"other": int}).sum() == 7
    assert summarize(features, {"columns": {"area": int}}) == "2 objects"
    assert len(show_objects(features, {"columns": {"area": int}})[0]) == 2


# ------------------------------------------------------------- what is shown


def test_missing_values_are_empty_and_sort_last():
    features = as_features(TABLE.assign(mean=[np.nan, 2.0, 1.0]))
    features["kind"] = ["", "b", "c", "", "", "a"]
    features[5] = features["mean"]  # names need not be text
    shown, hints = show_objects(features, {"spacing": (1.0, 1.0), "unit": ""})
    assert [*shown] == ["label", "num_pixels [px]", "area [px²]", "mean", "kind", "5"]
    assert len(hints) == 6
    assert [format_value(shown.iat[row, 3]) for row in range(3)] == ["", "2", "1"]
    for column, descending, order in (
        (3, True, [2, 5, 1]),
        (3, False, [5, 2, 1]),
        (4, False, [5, 1, 2]),
    ):
        rows = sort_rows(shown.iloc[:, column].to_numpy(), descending=descending)
        assert shown["label"].to_numpy()[rows].tolist() == order


def test_an_object_of_a_frame_is_split_at_its_neck_and_a_disk_is_not():
    y, x = np.indices((30, 50))
    disks = [(y - 15) ** 2 + (x - at) ** 2 < 100 for at in (13, 30)]
    movie = np.stack([disks[0] * 1, (disks[0] | disks[1]) * 2])
    places, values = change_objects(movie, [2], "split", (1.0, 1.0), times=(0,))
    movie[places] = values
    assert np.unique(movie[1]).tolist() == [0, 2, 3]
    assert (movie[1][disks[0] & (x < 20)] == 2).all()
    assert (movie[1][disks[1] & (x > 24)] == 3).all()
    with pytest.raises(ValueError, match="an object must have a neck to be split; got none"):
        change_objects(movie, [1], "split", (1.0, 1.0), times=(0,))
    with pytest.raises(ValueError, match="an object must have pixels to be split; got none of"):
        change_objects(movie, [9], "split", (1.0, 1.0), times=(0,))
    with pytest.raises(ValueError, match="objects must be of one frame to be merged; got several"):
        change_objects(movie, [1, 2], "merge", (1.0, 1.0), times=(0,))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_an_object_is_not_split_where_the_type_of_labels_ends(dtype):
    """The number after the greatest was 0: half of the object was erased."""
    y, x = np.indices((30, 50))
    disks = [(y - 15) ** 2 + (x - at) ** 2 < 100 for at in (13, 30)]
    top = np.iinfo(dtype).max
    labels = np.where(disks[0] | disks[1], top, 0).astype(dtype)
    with pytest.raises(ValueError, match=f"labels must leave numbers up to {top} for the parts"):
        change_objects(labels, [top], "split", 1.0)
    _, values = change_objects(labels // top * (top - 1), [top - 1], "split", 1.0)
    assert np.unique(values).tolist() == [top - 1, top]


def test_painting_is_undone_only_as_far_as_napari_remembers():
    layer = Labels(np.zeros((8, 8), int))
    watch_painting(layer, found=True)

    def states():
        return [layer.metadata["equilabel"][name] for name in ("painted", "unmeasured")]

    for number in range(1, 3):
        layer.data_setitem((np.array([0]), np.array([0])), number)
    assert states() == [True, True]
    watch_painting(layer)  # it is measured
    assert states() == [True, False]
    layer.undo()
    assert states() == [True, True]
    layer.undo()
    assert states() == [False, True]
    for number in range(3, 110):
        layer.data_setitem((np.array([0]), np.array([0])), number)
    watch_painting(layer)
    assert states() == [True, False]
    for _ in range(110):
        layer.undo()
    assert states() == [True, True]


def test_pixels_that_a_script_replaces_are_painted():
    layer = Labels(np.zeros((8, 8), int))
    watch_painting(layer, found=True)
    layer.data = np.ones((8, 8), int)
    assert [layer.metadata["equilabel"][name] for name in ("painted", "unmeasured")] == [True] * 2
    watch_painting(layer)
    assert not layer.metadata["equilabel"]["unmeasured"]
