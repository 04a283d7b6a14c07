"""Measuring while labeling, and without: the same tables as from the labels."""

import os
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equilabel import PROPERTIES, label, measure_components, regionprops_table, segment
from equilabel.devices import threads as pool
from equilabel.measuring import count_labels, request
from equilabel.runs.cpu import passes as runs
from references import ANSWERS
from strategies import blobs, noise, questions

MASK = blobs((20, 70), "?", seed=3)
FROM_RUNS = ("label", "area", "bbox", "centroid", "eccentricity", "moments_central")


def columns_for(rank, values=True):
    """Name all that is counted for so many axes."""
    return [
        name
        for name, row in PROPERTIES.items()
        if row.counted
        and (not row.ranks or rank in row.ranks)
        and name != "frame"
        and (values or not row.intensity)
    ]


def assert_equal_tables(one, other):
    assert list(one) == list(other)
    for name, column in other.items():
        assert one[name].dtype == column.dtype, name
        np.testing.assert_array_equal(one[name], column, err_msg=name)


@pytest.fixture
def painted(monkeypatch):
    """Count the images of labels that are written."""
    calls = []
    paint = runs.paint

    def spy(*arguments):
        calls.append(1)
        paint(*arguments)

    monkeypatch.setattr(runs, "paint", spy)
    return calls


@given(question=questions(), method=st.sampled_from(ANSWERS), seed=st.integers(0, 99))
def test_a_table_made_while_labeling_is_that_of_the_labels(question, method, seed):
    image, background, connectivity = question
    values = np.random.default_rng(seed).integers(-50, 50, image.shape)
    options = {"background": background, "connectivity": connectivity}
    names = columns_for(image.ndim)
    spacing = 0.5 + np.arange(image.ndim)
    expected = label(image, **options)
    labels, count, table = label(
        image,
        return_num=True,
        method=method,
        properties=names,
        intensity_image=values,
        spacing=spacing,
        **options,
    )
    np.testing.assert_array_equal(labels, expected)
    assert count == expected.max(initial=0)
    direct = regionprops_table(expected, values, names, spacing=spacing)
    assert_equal_tables(table, direct)
    only = measure_components(image, names, intensity_image=values, spacing=spacing, **options)
    assert_equal_tables(only, direct)


@given(question=questions(), threads=st.integers(1, 3), stacked=st.booleans())
def test_places_and_faces_straight_from_runs_are_those_of_the_labels(question, threads, stacked):
    image, background, connectivity = question
    stacked = stacked and image.ndim > 1
    rank = image.ndim - stacked
    options = {"background": background, "stacked": stacked}
    options["connectivity"] = min(connectivity, rank)
    names = ["label", "num_pixels", "bbox", "centroid"]
    exposed = {2: ["perimeter_edges"], 3: ["surface_area_faces"]}.get(rank, [])
    spacing = 0.5 + np.arange(rank)
    labels = label(image, **options)
    with (
        patch.dict(os.environ, EQUILABEL_NUM_THREADS=str(threads)),
        patch.object(pool, "WEIGHT", 1),
    ):
        for wanted in (names, names + exposed):
            table = measure_components(image, wanted, spacing=spacing, **options)
            direct = regionprops_table(labels, None, wanted, spacing=spacing, stacked=stacked)
            assert_equal_tables(table, direct)


@pytest.mark.parametrize(("shape", "connectivity"), [((40, 200), 2), ((9, 8, 130), 3)])
@pytest.mark.parametrize("filled", [0.3, 0.9, 1.0])
def test_large_components_are_counted_across_words_and_blocks(shape, connectivity, filled):
    mask = np.random.default_rng(0).random(shape) < filled
    names = ["num_pixels", "bbox", "centroid", "equivalent_diameter_area"]
    names.append({2: "perimeter_edges", 3: "surface_area_faces"}[len(shape)])
    for hops in (1, connectivity):
        labels = label(mask, connectivity=hops)
        assert_equal_tables(
            measure_components(mask, names, connectivity=hops),
            regionprops_table(labels, None, names),
        )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_of_floats_have_the_same_bits_with_any_number_of_threads(monkeypatch, dtype):
    monkeypatch.setattr("equilabel.measuring.cpu.accumulate.STRIP", 300)
    labels = label(noise((50, 70)), connectivity=1)
    values = (np.random.default_rng(1).random((50, 70, 2)) * 200).astype(dtype)
    names = columns_for(2)
    tables = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("EQUILABEL_NUM_THREADS", threads)
        tables.append(regionprops_table(labels, values, names))
    for table in tables[1:]:
        assert_equal_tables(table, tables[0])


@pytest.mark.parametrize("connectivity", [1, 2])
@pytest.mark.parametrize("values", [2, 4])
def test_stacks_are_measured_while_they_are_labeled(connectivity, values):
    image = noise((5, 12, 70), values=values)
    names = [*columns_for(2, values=False), "frame"]
    options = {"connectivity": connectivity, "stacked": True}
    labels, table = label(image, properties=names, **options)
    assert_equal_tables(table, regionprops_table(labels, properties=names, stacked=True))
    assert_equal_tables(measure_components(image, names, **options), table)


def test_a_table_comes_last():
    assert isinstance(label(MASK, properties=["label"])[1], dict)
    assert isinstance(label(MASK, return_num=True, properties=["label"])[2], dict)
    assert len(label(MASK, return_num=True)) == 2


@pytest.mark.parametrize("names", [FROM_RUNS, ("perimeter", "euler_number"), ("perimeter_edges",)])
def test_no_label_is_written_where_runs_tell_all(painted, names):
    measure_components(MASK, names)
    assert not painted
    measure_components(MASK, ("coords",))
    assert painted


@pytest.mark.parametrize(
    ("image", "connectivity", "names"),
    [
        (MASK, 1, ("perimeter_crofton", "slice")),
        (MASK, 1, ("perimeter", "euler_number")),
        (noise((9, 70), values=4), 2, ("perimeter_edges",)),
        (noise((9, 1), values=2), 2, ("area",)),
    ],
)
def test_labels_are_made_where_runs_do_not_tell_all(painted, image, connectivity, names):
    table = measure_components(image, names, connectivity=connectivity)
    assert painted
    labels = label(image, connectivity=connectivity)
    assert_equal_tables(table, regionprops_table(labels, properties=names))


def test_runs_of_many_values_are_measured_without_labels(painted):
    image = noise((9, 70), values=4)
    table = measure_components(image, FROM_RUNS)
    assert not painted
    assert_equal_tables(table, regionprops_table(label(image), properties=FROM_RUNS))


@pytest.mark.parametrize("dtype", ["u2", "i8", ">i4"])
def test_labels_written_to_an_array_are_measured(dtype):
    out = np.empty(MASK.shape, dtype)
    names = ("label", "perimeter", "slice")
    labels, table = label(MASK, connectivity=1, out=out, properties=names)
    assert labels is out
    assert_equal_tables(table, regionprops_table(label(MASK, connectivity=1), properties=names))


def test_an_image_may_become_its_own_labels_and_be_measured():
    image = noise((20, 70), "i4", 3)
    expected = label(image.copy(), properties=columns_for(2, values=False))
    labels, table = label(image, out=image, properties=columns_for(2, values=False))
    np.testing.assert_array_equal(labels, expected[0])
    assert_equal_tables(table, expected[1])
    with pytest.raises(ValueError, match=r"out must share no memory with intensity_image; got"):
        label(image, out=image, properties=["intensity_mean"], intensity_image=image)


@pytest.mark.parametrize("call", [label, measure_components])
def test_questions_are_checked_before_the_work(call, painted):
    with pytest.raises(
        ValueError, match=r"^properties must be .*; got 'aera'. Did you mean 'area'"
    ):
        call(MASK, properties=["aera"])
    with pytest.raises(ValueError, match=r"^spacing must be a number or 2 numbers; got"):
        call(MASK, properties=["area"], spacing=(1, 2, 3))
    with pytest.raises(ValueError, match=r"needs an intensity_image; got None"):
        call(MASK, properties=["intensity_mean"])
    with pytest.raises(ValueError, match=r"^connectivity must be 1 to 2"):
        call(MASK, properties=["area"], connectivity=3)
    with pytest.raises(TypeError, match=r"^label_image must be of bool"):
        call(MASK * 1j, properties=["area"])
    assert not painted


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (2, 0, 5)])
def test_empty_images_give_columns_without_rows(shape):
    names = columns_for(len(shape), values=False)
    labels, table = label(np.zeros(shape, bool), properties=names)
    assert labels.shape == shape
    assert {len(column) for column in table.values()} == {0}
    assert_equal_tables(measure_components(np.zeros(shape, bool), names), table)


def test_dropped_objects_leave_no_row():
    image = noise((40, 90), "u1", 9).astype(float)
    names = ("intensity_mean", "label", "area", "perimeter", "solidity", "bbox")
    found = segment(
        image, threshold=4, connectivity=1, min_size=4, exclude_border=True, properties=names
    )
    direct = regionprops_table(found.labels, image, names)
    assert list(found.table) == list(direct)
    for name, column in direct.items():
        np.testing.assert_array_equal(found.table[name], column)
    assert found.num == len(found.table) > 3


@given(question=questions(min_axes=2, max_axes=3), stacked=st.booleans())
def test_kalentev_accumulates_size_and_perimeter_in_its_analysis(question, stacked):
    """Section 4 and Listing 4 of the paper; the same numbers as from the labels."""
    image, background, connectivity = question
    rank = image.ndim - stacked
    connectivity = min(connectivity, max(rank, 1))
    exposed = {2: ["perimeter_edges"], 3: ["surface_area_faces"]}.get(rank, [])
    names = ["label", "num_pixels", "area", "equivalent_diameter_area", *exposed]
    spacing = 0.5 + np.arange(rank)
    options = {"background": background, "connectivity": connectivity, "stacked": stacked}
    read = AssertionError("labels were read") if min(image.shape) > 1 else count_labels
    with patch.object(request, "count_labels", side_effect=read):
        _, table = label(image, method="kalentev", properties=names, spacing=spacing, **options)
    labels = label(image, **options)
    assert_equal_tables(
        table, regionprops_table(labels, properties=names, spacing=spacing, stacked=stacked)
    )


def test_kalentev_measures_the_rest_from_the_labels():
    names = ("label", "num_pixels", "centroid", "perimeter")
    labels, table = label(MASK, method="kalentev", properties=names)
    assert_equal_tables(table, regionprops_table(labels, properties=names))
