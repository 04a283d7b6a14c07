"""Small examples of what the plugin computes and says."""

import math

import numpy as np
import pandas as pd
import pytest

from equilabel.quantities import decimals_for, describe_pixels, odd, pixel_of
from equilabel.segmentation.outlines import Outlines, find_box, outline
from equilabel.storage.memory import slabs
from equilabel.storage.table import as_features, as_table
from equilabel.widget.logic.choices import connectivities, length_unit
from equilabel.widget.logic.objects import (
    count_objects,
    find_kept,
    format_number,
    format_value,
    limits,
    own_columns,
    show_objects,
)
from equilabel.widget.logic.outcomes import explain, miniature
from equilabel.widget.logic.planes import compute_histogram, sample
from equilabel.widget.logic.samples import as_layers
from equilabel.widget.logic.scripts import with_filters
from equilabel.widget.logic.sources import (
    Source,
    guess_roles,
    name_axes,
)

S, T, C = "space", "time", "channel"
NAN = math.nan
U = ("pixel",) * 3


def test_axes_are_guessed_from_their_names_or_lengths():
    assert guess_roles((30, 512, 512), ("t", "y", "x")) == (T, S, S)
    assert guess_roles((30, 512, 512)) == (S, S, S)
    assert guess_roles((3, 512, 512)) == (C, S, S)
    assert guess_roles((10, 2, 30, 512, 512)) == (T, C, S, S, S)


def test_what_was_guessed_is_said_with_how_to_change_it():
    said = "48 planes read as depth: under Axes, set their axis to time if they are times."
    pixels, roles = np.zeros((48, 5, 5)), (S, S, S)
    for names, words in {("-3", "-2", "-1"): said, ("z", "y", "x"): ""}.items():
        source = Source("", pixels, False, {"axis_labels": names, "units": U}, roles)
        assert source.explain_guess() == words


def test_axes_have_the_names_of_the_layer_or_of_their_roles():
    assert name_axes((T, S, S, S), ("-4", "-3", "-2", "-1")) == ["t", "z", "y", "x"]
    assert name_axes((S, S), ("row", "-1")) == ["row", "x"]


def test_axes_are_arranged_as_time_space_channel_and_back():
    first = Source("", np.zeros((2, 7, 4, 5)), False, {}, (C, T, S, S))
    assert first.arrange(first.data).shape == (7, 4, 5, 2)
    second = Source("", np.zeros((7, 2, 4, 5)), False, {}, (T, C, S, S))
    assert second.restore(np.zeros((7, 4, 5))).shape == (7, 2, 4, 5)


def test_neighbors_are_named_by_what_they_share():
    assert connectivities(2) == [("4: sides", 1), ("8: sides and corners", 2)]
    assert [hops for _, hops in connectivities(4)] == [1, 2, 3, 4]


def test_limits_span_the_values():
    assert limits(np.array([NAN, 1.0, 5.0])) == (1.0, 5.0)


def test_a_table_becomes_features_and_a_table_again():
    table = pd.DataFrame({"label": [1, 3], "num_pixels": [7, 9]})
    features = as_features(table)
    assert features["num_pixels"].isna().tolist() == [True, False, True, False]
    assert as_table(features, table.dtypes).equals(table)


def test_columns_of_a_person_are_told_from_ours():
    features = pd.DataFrame({"index": [0, 1], "area": [0, 4], "kind": ["", "dead"]})
    assert own_columns(features, {"columns": {"area": float}}) == ["kind"]


def test_objects_within_a_range_are_kept():
    features = pd.DataFrame({"index": [0, 1, 2, 3], "area": [NAN, 5, 7, 9]})
    assert find_kept(features, {"area": (6, 9)}).tolist() == [False, False, True, True]
    condition = "label == 3 or area < 6"
    assert find_kept(features, condition).tolist() == [False, True, False, True]
    fewer = features.drop(columns="index")
    assert find_kept(fewer, condition).tolist() == [False, True, False, True]


def test_a_histogram_counts_all_pixels():
    found = compute_histogram(np.arange(256, dtype=np.uint8))
    assert (found.low, found.high, int(found.counts.sum())) == (0.0, 255.0, 256)


def test_a_large_image_is_sampled():
    assert sample(np.zeros((10, 10))).shape == (10, 10)
    assert 2**20 < sample(np.zeros((4096, 4096))).size <= 2**21
    assert sample(np.arange(100), 5).tolist() == [0, 24, 49, 74, 99]
    assert sample(np.arange(100), 6, 3).tolist() == [0, 1, 49, 50, 98, 99]
    assert sample(np.zeros((100, 3)), 5, ndim=1).shape == (5, 3)


@pytest.mark.parametrize(
    ("kind", "value", "spacing", "words"),
    [
        ("radius", 0.5, (2.0, 0.25, 0.25), "0.25-2 px"),
        ("radius", 0.5, (0.325,), "= 1.54 px"),
        ("size", 5.0, (0.325, 0.325), "= 48 px"),
        ("size", 0, (1.0, 1.0), ""),
        ("block", 10.0, (2.0, 0.5), "5-21 px"),
        ("block", 10.0, (0.3, 0.3), "= 33 px"),
    ],
)
def test_lengths_are_said_in_pixels(kind, value, spacing, words):
    assert describe_pixels(kind, value, spacing) == words


def test_a_pixel_counts_what_its_field_measures():
    kinds = ("radius", "depth", "size")
    assert [pixel_of(kind, (2.0, 0.25, 0.5)) for kind in kinds] == [0.5, 0.25, 0.25]
    assert [odd(51), odd(50.2), odd(49.9)] == [51, 51, 49]
    assert [decimals_for(step) for step in (1.0, 0.0515, 0.00013, 25.0)] == [2, 4, 6, 2]
    assert [length_unit(unit) for unit in ("um", "parsec", "")] == ["µm", "", ""]


def test_errors_are_said_with_a_remedy():
    said = "sigma must be 0 or more; got -1."
    assert explain(ValueError(said)) == said
    assert explain(KeyError("a")) == (
        "a run must not fail like this; got KeyError: 'a'. "
        "Please report it, with the image if you can."
    )


def test_the_table_names_units():
    features = pd.DataFrame({"bbox-0": [NAN, 3], "area": [NAN, 7]})
    found, hints = show_objects(features, {"spacing": (0.5, 0.5), "unit": "µm"})
    assert [*found] == ["label", "area [µm²]", "y from [px]"]
    assert hints[0] == "Number of the object."
    assert hints[2].startswith("bbox-0: ")  # as conditions and files call it
    assert [format_value(each) for each in found.iloc[0]] == ["1", "7", "3"]


def test_numbers_have_few_digits():
    assert [format_number(each) for each in (1234.0, 0.123456, 65535.0)] == [
        *("1234", "0.1235", "65535")
    ]
    assert [count_objects(count) for count in (1, 2)] == ["1 object", "2 objects"]


@pytest.mark.long
def test_chosen_objects_are_outlined():
    labels = np.pad(np.full((1, 3, 3), 4), 1)
    ring = [[2, 2, 2], [2, 1, 2], [2, 2, 2]]
    drawn = Outlines(labels, np.array([4]), lambda: 1)
    assert drawn[1, 1:4, 1:4].tolist() == ring
    assert drawn[1:2, 1:4, 1:4].tolist() == [ring]  # a plane of a stack, as napari reads it
    np.testing.assert_array_equal(outline(np.pad(np.ones((3, 3), bool), 1)), np.pad(ring, 1))


def test_an_object_is_found_where_most_of_it_is_or_it_is_in_view():
    labels = np.zeros((9, 4, 5), int)
    labels[5, :2, :3] = labels[6, 0, 0] = 3
    boxes = [find_box(labels, 3, point, (1, 2)) for point in ((0, 0, 0), (6, 1, 1))]
    assert [[corner.tolist() for corner in box] for box in boxes] == [
        [[5, 0, 0], [5, 1, 2]],
        [[6, 0, 0], [6, 0, 0]],
    ]


def test_a_sample_has_its_pixel_size_and_the_names_of_its_axes():
    [(_, options, kind)] = as_layers("nuclei_2d")
    assert (kind, options["scale"], options["axis_labels"]) == ("image", [0.325, 0.325], ["y", "x"])


def test_a_line_of_python_says_the_filter():
    line = with_filters("found = segment(image)", [{"area": (20.0, None)}, "area < 90"])
    assert line.split("; ")[1:] == [
        "from equilabel import filter_objects",
        "found = filter_objects(found, {'area': (20.0, None)})",
        "found = filter_objects(found, 'area < 90')",
    ]


def test_an_array_is_read_in_slabs():
    counts = [len(list(slabs(*of))) for of in (((64, 1024, 1024), 4), ((8, 8), 1), ((0, 4), 1))]
    assert counts == [4, 1, 0]


def test_a_miniature_has_the_type_and_axes_of_the_layer():
    pixels = np.zeros((48, 512, 512), "u2")
    found = miniature(Source("cells", pixels, False, {}, (T, S, S)))
    assert (found.data.shape, found.data.dtype, found.data.max()) == ((2, 16, 16), "uint16", 9)
