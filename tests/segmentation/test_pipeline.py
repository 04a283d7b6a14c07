"""The whole way from an image to labels and a table, one option at a time."""

import tracemalloc
from dataclasses import FrozenInstanceError, fields, replace
from functools import partial
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import equilabel
from equilabel import (
    DeviceUnavailableError,
    Segmentation,
    binarize,
    label,
    regionprops_table,
    segment,
)
from equilabel.samples import nuclei_2d
from equilabel.segmentation.morphology import fill_mask
from equilabel.segmentation.stages import default_properties
from references import GRID_METHODS
from strategies import LAYOUTS, blobs, images, noise

# Objects of 1, 2, 3, 4 and 6 pixels, brighter and brighter; the first touches a border.
IMAGE = np.array(
    [
        [10, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 20, 20, 0, 30, 30, 30, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 40, 40, 0, 0, 60, 60, 60, 0],
        [0, 40, 40, 0, 0, 60, 60, 60, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
    ],
    "u1",
)
SIZES = [1, 2, 3, 4, 6]
RING = np.pad(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]]), 1)


def objects(found):
    """List the values of the objects that were kept, in order of labels."""
    return [int(IMAGE[found.labels == number].max()) for number in range(1, found.num + 1)]


def check_table(found, image):
    """Compare the table's rows with the labels."""
    assert found.num == found.labels.max(initial=0) == len(found.table)
    assert found.table["label"].tolist() == list(range(1, found.num + 1))
    for row in found.table.itertuples():
        mask = found.labels == row.label
        assert row.area == mask.sum() * np.prod(found.spacing)
        assert row.intensity_mean == pytest.approx(image[mask].mean())


# ----------------------------------------------------------------- the flow


def test_objects_are_found_labeled_and_measured():
    found = segment(IMAGE, threshold=5)
    assert found.table["area"].tolist() == SIZES
    assert objects(found) == [10, 20, 30, 40, 60]
    np.testing.assert_array_equal(found.labels, label(IMAGE > 5))
    check_table(found, IMAGE)


def test_the_flow_is_binarize_label_measure():
    image = noise((12, 30), "u2", 1000)
    found = segment(image)
    mask, threshold = binarize(image, return_threshold=True)
    labels = label(mask)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.threshold == threshold
    table = regionprops_table(labels, image, tuple(default_properties(2, (1, 1), stacked=False)))
    pd.testing.assert_frame_equal(found.table, pd.DataFrame(table))


@given(image=images(dtypes=("?", "u1", "i4"), max_axes=4), size=st.integers(0, 5))
def test_the_table_has_a_row_for_each_label(image, size):
    found = segment(image, threshold=0, min_size=size, exclude_border=size == 3)
    check_table(found, image)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_makes_no_difference(layout):
    image = LAYOUTS[layout](noise((9, 11), "u2", 100))
    found, expected = segment(image), segment(np.ascontiguousarray(image).astype("u2"))
    np.testing.assert_array_equal(found.labels, expected.labels)
    pd.testing.assert_frame_equal(found.table, expected.table)


def test_the_image_is_left_alone():
    image = IMAGE.astype("f8")
    segment(image, sigma=1, fill_holes=True, min_size=2, exclude_border=True)
    np.testing.assert_array_equal(image, IMAGE)


def test_a_bool_image_is_its_own_mask():
    found = segment(IMAGE > 5)
    assert found.table["area"].tolist() == SIZES
    assert found.table["intensity_mean"].tolist() == [1] * 5
    assert segment(IMAGE == 0, dark=True).table["area"].tolist() == SIZES


def test_an_image_may_be_a_list():
    assert segment([[0, 9, 0], [0, 0, 0], [9, 9, 0]]).table["area"].tolist() == [1, 2]


# ----------------------------------------------------- one option at a time


@pytest.mark.parametrize(("threshold", "count"), [(5, 5), (15, 4), (35.5, 2), (60, 0), ("mean", 4)])
def test_the_threshold_decides_what_is_object(threshold, count):
    found = segment(IMAGE, threshold=threshold)
    assert found.num == count
    assert found.threshold == (IMAGE.mean() if threshold == "mean" else threshold)


def test_two_thresholds_keep_weak_pixels_that_touch_strong_ones():
    image = np.array([[2, 2, 9, 0, 2, 2]])
    found = segment(image, threshold=(1, 5))
    assert found.labels.tolist() == [[1, 1, 1, 0, 0, 0]]
    assert found.threshold == (1, 5)


def test_a_local_threshold_is_none_of_the_whole_image():
    image = np.add.outer(np.zeros(9), np.arange(40.0))
    image[4, 5] += 9
    image[4, 35] += 9
    options = {"threshold": "local", "block_size": 5}
    found = segment(image, offset=-2, **options)
    assert found.threshold is None
    assert found.table[["centroid-0", "centroid-1"]].values.tolist() == [[4, 5], [4, 35]]
    assert segment(image, offset=-20, **options).num == 0


def test_dark_objects_are_what_is_not_bright():
    found = segment(IMAGE.max() - IMAGE, threshold=55, dark=True)
    assert found.table["area"].tolist() == SIZES


def test_smoothing_joins_what_is_near():
    assert segment(IMAGE, threshold=3, sigma=2).num < segment(IMAGE, threshold=3).num


def test_numbers_are_pixels_and_lengths_with_a_unit_lie_in_space():
    image = noise((30, 80), "f8", 1000)
    known = {"threshold": 450, "spacing": (3, 0.5), "unit": "um"}
    for sigma, widths in ((1.5, (1.5, 1.5)), ("1.5um", (0.5, 3)), ("0.5px", (0.5, 0.5))):
        found = segment(image, sigma=sigma, **known)
        expected = ndimage.gaussian_filter(image, widths, mode="nearest") > 450
        np.testing.assert_array_equal(found.labels > 0, expected)
        assert found.in_pixels == {"sigma": widths, "min_size": 0, "max_size": None}


def test_sizes_with_a_unit_are_those_of_the_table():
    known = {"threshold": 5, "spacing": (0.5, 0.1), "unit": "um"}
    areas = segment(IMAGE, **known).table["area"]
    for least, most in (("0.15um2", "0.2 µm²"), ("0.11 um^2", "249999 nm2")):
        low, high = (0.15, 0.2) if least == "0.15um2" else (0.11, 0.249999)
        found = segment(IMAGE, min_size=least, max_size=most, **known)
        expected = areas[(areas > low - 1e-9) & (areas < high + 1e-9)]
        assert 0 < found.num == len(expected) < len(areas)
        np.testing.assert_array_equal(found.table["area"], expected)
    found = segment(IMAGE, min_size="2.2px", max_size="249999 nm2", **known)
    assert (found.in_pixels["min_size"], found.in_pixels["max_size"]) == (3, 4)


def test_the_block_of_a_local_threshold_is_rounded_to_odd_pixels_along_each_axis():
    image = noise((2, 40, 60), "f8", 1000)
    known = {"threshold": "local", "spacing": (0.5, 0.2), "unit": "um", "stacked": True}
    found = segment(image, block_size="3um", **known)
    assert found.in_pixels["block_size"] == (7, 15)
    np.testing.assert_array_equal(found.labels, segment(image, block_size=(7, 15), **known).labels)


@pytest.mark.parametrize("shape", [(20, 30, 3), (20, 30, 4), (5, 20, 30, 3)])
def test_an_image_shaped_like_rgb_is_refused_and_the_remedies_work(shape):
    image, stacked = noise(shape, "u1", 255), len(shape) > 3
    with pytest.raises(ValueError, match=r"^channel_axis must be given .* channel_axis=-1 and"):
        segment(image, stacked=stacked)
    assert segment(image, channel_axis=-1, channel=0, stacked=stacked).labels.shape == shape[:-1]
    volume = np.moveaxis(image, -1, int(stacked))
    assert segment(volume, stacked=stacked).labels.shape == volume.shape
    assert segment(image > 9).labels.shape == shape  # a mask has no colors


def test_intensities_are_those_before_smoothing():
    found = segment(IMAGE, threshold=0, sigma=0.4, properties=("label", "intensity_max"))
    assert found.table["intensity_max"].max() == 60


@pytest.mark.parametrize("connectivity", [1, 2, None])
def test_connectivity_decides_what_is_joined(connectivity):
    found = segment(np.eye(4, dtype=bool), connectivity=connectivity)
    assert found.num == (4 if connectivity == 1 else 1)
    assert found.connectivity == (connectivity or 2)


def test_holes_are_filled_only_if_asked_for():
    assert segment(RING, threshold=0).table["area"].tolist() == [8]
    assert segment(RING, threshold=0, fill_holes=True).table["area"].tolist() == [9]


@pytest.mark.parametrize(("size", "kept"), [(0, 5), (1, 5), (2, 4), (3, 3), (6, 1), (7, 0)])
def test_objects_smaller_than_the_least_are_dropped(size, kept):
    found = segment(IMAGE, threshold=5, min_size=size)
    assert found.table["area"].tolist() == SIZES[5 - kept :]
    assert objects(found) == [10, 20, 30, 40, 60][5 - kept :]
    check_table(found, IMAGE)


@pytest.mark.parametrize(("size", "kept"), [(1, 1), (2, 2), (5, 4), (6, 5), (100, 5)])
def test_objects_larger_than_the_most_are_dropped(size, kept):
    found = segment(IMAGE, threshold=5, max_size=size)
    assert found.table["area"].tolist() == SIZES[:kept]
    check_table(found, IMAGE)


def test_sizes_count_pixels_whatever_the_spacing():
    found = segment(IMAGE, threshold=5, min_size=3, max_size=4, spacing=0.1)
    assert objects(found) == [30, 40]


@pytest.mark.parametrize("border", range(4))
def test_objects_on_any_border_are_dropped_if_asked_for(border):
    image = np.rot90(IMAGE, border)
    assert segment(image, threshold=5).num == 5
    found = segment(image, threshold=5, exclude_border=True)
    assert sorted(found.table["area"]) == SIZES[1:]
    check_table(found, image)


@pytest.mark.parametrize("method", GRID_METHODS)
def test_objects_on_the_border_are_dropped_by_every_method_whatever_is_measured(method):
    """A method that counts sizes while it labels knows of no boxes."""
    options = {"threshold": 5, "method": method, "properties": ("area",)}
    found = segment(IMAGE, exclude_border=True, **options)
    assert found.table["area"].tolist() == SIZES[1:]
    assert list(found.table.columns) == ["area"]


def test_what_scikit_image_measures_is_measured_of_the_objects_that_are_kept():
    names = ("label", "intensity_median", "area_convex", "FilledArea")
    found = segment(IMAGE, threshold=5, min_size=3, properties=names)
    table = regionprops_table(found.labels, IMAGE, names)
    pd.testing.assert_frame_equal(found.table, pd.DataFrame(table))
    assert found.table["FilledArea"].tolist() == SIZES[2:]


def test_an_axis_of_length_one_has_no_border():
    image = np.zeros((1, 4, 5), "u1")
    image[0, 1, 1:3] = image[0, 3, 3] = 9
    for turned in (image, image.swapaxes(0, 1), image.swapaxes(0, 2)):
        assert segment(turned, exclude_border=True).table["area"].tolist() == [2]


def test_all_options_together_keep_labels_and_table_together():
    image = blobs((30, 40), "u1", 3, sides=3)
    options = {"fill_holes": True, "min_size": 2, "max_size": 40, "exclude_border": True}
    found = segment(image, threshold=1, sigma=0.1, spacing=(1, 2), connectivity=1, **options)
    assert 2 < found.num < segment(image, threshold=1, connectivity=1).num
    check_table(found, image)


@pytest.mark.parametrize("method", GRID_METHODS)
def test_the_method_is_used_and_told(method):
    found = segment(IMAGE, threshold=5, method=method)
    assert found.method == method
    np.testing.assert_array_equal(found.labels, label(IMAGE > 5))


def test_the_names_told_are_those_of_the_table_of_methods():
    assert segment(IMAGE).method == "runs"
    assert segment(IMAGE, method="generalized").method == "komura"


def test_progress_is_told_the_stages_that_are_needed():
    told = []
    segment(IMAGE, threshold=5, progress=told.append)
    assert told == ["binarize", "label", "measure"]
    told.clear()
    segment(IMAGE, threshold=5, fill_holes=True, min_size=2, progress=told.append)
    assert told == ["binarize", "fill", "label", "drop", "measure"]


@pytest.mark.parametrize("stage", ["binarize", "fill", "label", "drop", "measure"])
def test_what_progress_raises_ends_the_work(stage):
    def stop(name):
        if name == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        segment(IMAGE, threshold=5, fill_holes=True, min_size=2, progress=stop)


# ----------------------------------------------------------------- defaults


@pytest.mark.parametrize(
    ("shape", "options", "contour"),
    [
        ((9,), {}, None),
        ((5, 6), {}, "perimeter"),
        ((5, 6), {"spacing": (2, 2)}, "perimeter"),
        ((5, 6), {"spacing": (2, 3)}, "perimeter_crofton"),
        ((3, 4, 5), {}, "surface_area_crofton"),
        ((3, 4, 5), {"spacing": (2, 1, 1)}, "surface_area_crofton"),
        ((2, 3, 4, 5), {}, None),
    ],
)
@pytest.mark.parametrize("stacked", [False, True])
def test_the_columns_follow_from_the_number_of_axes(shape, options, contour, stacked):
    rank = len(shape)
    shape = (2, *shape) if stacked else shape
    table = segment(noise(shape, "u1", 9), stacked=stacked, **options).table
    expected = ["label", *["frame"] * stacked, "area", *(f"bbox-{k}" for k in range(2 * rank))]
    expected += [*(f"centroid-{k}" for k in range(rank)), "equivalent_diameter_area"]
    expected += [contour] * bool(contour)
    expected += [f"intensity_{name}" for name in ("mean", "min", "max", "std")]
    assert list(table.columns) == expected


def test_the_surface_of_a_ball_is_measured_right_by_default():
    """As no count of faces does, which is off by half."""
    z, y, x = np.ogrid[-10:11, -20:21, -20:21]
    table = segment((2 * z) ** 2 + y**2 + x**2 <= 18**2, threshold=0.5, spacing=(2, 1, 1)).table
    assert table["surface_area_crofton"].item() == pytest.approx(4 * np.pi * 18**2, rel=0.02)


@pytest.mark.parametrize(
    ("options", "threshold"),
    [
        ({"threshold": 3}, "3"),
        ({"threshold": (2, 4)}, "2 to 4"),
        ({"threshold": "local", "block_size": 3}, "local"),
    ],
)
def test_a_result_prints_as_three_lines(options, threshold):
    found = segment(noise((9, 9), "u1", 9), **options)
    lines = repr(found).splitlines()
    assert len(lines) == 3
    objects, row = ("1 object", "1 row") if found.num == 1 else (f"{found.num} objects", "rows")
    assert lines[0] == f"Segmentation of {objects}, threshold {threshold}"
    assert f"{row} of label, area, bbox-0, bbox-1, ..., intensity_std (14 columns)" in lines[2]
    assert str(found) == repr(found)


def test_other_columns_are_measured_if_asked_for():
    found = segment(IMAGE, threshold=5, properties=iter(("eccentricity", "label", "num_pixels")))
    assert list(found.table.columns) == ["eccentricity", "label", "num_pixels"]
    assert found.table["num_pixels"].tolist() == SIZES


@pytest.mark.parametrize("spacing", [None, 0.5, (2, 3), [2.0, 3.0]])
def test_spacing_reaches_the_table_and_is_told(spacing):
    found = segment(IMAGE, threshold=5, spacing=spacing)
    expected = {type(None): (1, 1), float: (0.5, 0.5)}.get(type(spacing), (2, 3))
    assert found.spacing == expected
    assert found.table["area"].tolist() == [size * np.prod(expected) for size in SIZES]
    assert found.table["centroid-1"].tolist()[1] == 2.5 * expected[1]


# --------------------------------------------------------- stacks, channels


def test_a_stack_is_segmented_image_by_image_with_one_threshold():
    stack = np.stack([IMAGE, IMAGE * 0, IMAGE // 2])
    found = segment(stack, threshold=12, stacked=True)
    assert found.table["frame"].tolist() == [0] * 4 + [2] * 3
    assert found.table["area"].tolist() == [2, 3, 4, 6, 3, 4, 6]
    assert found.labels.max() == found.num == 7
    assert found.connectivity == 2
    assert segment(stack, stacked=True).threshold == segment(stack).threshold


def test_nothing_reaches_from_one_image_of_a_stack_to_another():
    alone = segment(IMAGE, threshold=4, sigma=1.0)
    stack = np.stack([IMAGE * 0, IMAGE, IMAGE * 0])
    found = segment(stack, threshold=4, sigma=1.0, stacked=True)
    np.testing.assert_array_equal(found.labels[1], alone.labels)
    assert found.num == alone.num


def test_holes_sizes_and_borders_are_those_of_each_image_of_a_stack():
    open_ring = RING.copy()
    open_ring[1, 2] = 0
    corner = np.zeros_like(RING)
    corner[0, 0] = corner[2:4, 2:4] = 1
    stack = np.stack([RING, open_ring, corner])
    found = segment(stack, threshold=0, stacked=True, fill_holes=True)
    assert found.table["area"].tolist() == [9, 7, 1, 4]
    found = segment(stack, threshold=0, stacked=True, exclude_border=True, max_size=7)
    assert found.table[["frame", "area"]].values.tolist() == [[1, 7], [2, 4]]
    check_table(found, stack)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_one_channel_is_binarized_and_all_are_measured(axis):
    image = np.moveaxis(np.stack([IMAGE * 0, IMAGE, IMAGE * 2]), 0, axis)
    found = segment(image, threshold=5, channel_axis=axis, channel=1)
    np.testing.assert_array_equal(found.labels, label(IMAGE > 5))
    for channel in range(3):
        column = found.table[f"intensity_mean-{channel}"]
        assert column.tolist() == [channel * value for value in (10, 20, 30, 40, 60)]


def test_the_channel_decides_what_is_object():
    image = np.stack([IMAGE, IMAGE * 0])
    counts = [segment(image, threshold=5, channel_axis=0, channel=k).num for k in (0, 1)]
    assert counts == [5, 0]


def test_a_single_channel_need_not_be_named():
    found = segment(IMAGE[None], threshold=5, channel_axis=0)
    np.testing.assert_array_equal(found.labels, label(IMAGE > 5))
    assert "intensity_mean-0" in found.table


@pytest.mark.parametrize("axis", [0, 1, 3])
def test_a_stack_may_have_channels(axis):
    stack = np.stack([IMAGE, IMAGE // 2])
    image = np.moveaxis(np.stack([stack, stack + 100]), 0, axis)
    found = segment(image, threshold=12, stacked=True, channel_axis=axis, channel=0)
    np.testing.assert_array_equal(found.labels, label(stack > 12, stacked=True))
    means = found.table["intensity_mean-0"]
    assert (found.table["intensity_mean-1"] == means + 100).all()


# -------------------------------------------------------------------- empty


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5)])
def test_nothing_found_is_a_table_of_no_rows(shape, stacked):
    some = np.zeros(shape)
    some[..., 0] = 9
    full = segment(some, threshold=5, stacked=stacked)
    for options in ({"threshold": 99}, {"min_size": 1000}, {"exclude_border": True, "max_size": 1}):
        found = segment(some, **{"threshold": 5, "stacked": stacked, **options})
        assert (found.num, found.labels.any(), len(found.table)) == (0, False, 0)
        assert list(found.table.columns) == list(full.table.columns)
        assert list(found.table.dtypes) == list(full.table.dtypes)


@pytest.mark.parametrize("value", [0, 7, -3.5])
def test_a_constant_image_holds_no_objects(value):
    assert segment(np.full((4, 5), value)).num == 0


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_an_empty_image_holds_no_objects(shape):
    found = segment(np.zeros(shape), threshold=1, fill_holes=True, exclude_border=True)
    assert (found.labels.shape, found.num, len(found.table)) == (shape, 0, 0)
    assert "intensity_std" in found.table


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_no_object(value):
    image = IMAGE.astype("f8")
    image[IMAGE == 30] = value
    found = segment(image, threshold=5)
    assert found.table["intensity_max"].tolist() == [10, 20, 40, 60]
    other = segment(-image, threshold=-5, dark=True)  # -5 and what is darker
    np.testing.assert_array_equal(other.labels, found.labels)


@pytest.mark.parametrize("split", [False, True])
def test_memory_is_six_bytes_a_pixel_beside_image_and_labels(split):
    run = partial(segment, nuclei_2d((1024, 1024)), sigma=1, split=split, min_size=30)
    run(fill_holes=True)
    tracemalloc.start()
    found = run(fill_holes=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - found.labels.nbytes < 6 * found.labels.size


# --------------------------------------------------------------------- fill


@given(image=images(dtypes=("?",), max_axes=4), stacked=st.booleans())
def test_filling_equals_scipy(image, stacked):
    stacked = stacked and image.ndim > 1
    if stacked:
        expected = np.stack([ndimage.binary_fill_holes(part) for part in image])
    else:
        expected = ndimage.binary_fill_holes(image)
    np.testing.assert_array_equal(fill_mask(image, stacked=stacked).mask(), expected)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (2, 0, 2)])
def test_an_empty_mask_has_no_holes(shape):
    assert fill_mask(np.zeros(shape, bool)).mask().shape == shape


def test_a_hole_with_a_corner_way_out_is_a_hole():
    ring = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
    filled = fill_mask(ring).mask()
    assert filled[1, 1]
    assert not filled[0, 0]


# ------------------------------------------------------------------- result


def test_a_result_cannot_be_changed():
    found = segment(IMAGE)
    for field in fields(Segmentation):
        with pytest.raises(FrozenInstanceError):
            setattr(found, field.name, None)


def test_a_result_tells_what_was_found_and_how(device):
    found = segment(IMAGE, threshold=5, device=device)
    assert isinstance(found, Segmentation)
    assert isinstance(found.table, pd.DataFrame)
    assert found.labels.dtype == np.int32
    assert (found.num, type(found.num)) == (5, int)
    assert (found.threshold, found.connectivity, found.spacing) == (5, 2, (1, 1))
    assert (found.method, found.device) == ("runs", device)


def test_options_but_the_threshold_are_keywords():
    kinds = [parameter.kind.name for parameter in signature(segment).parameters.values()]
    assert set(kinds[:2]) == {"POSITIONAL_OR_KEYWORD"}
    assert set(kinds[2:]) == {"KEYWORD_ONLY"}
    assert segment(IMAGE, "Otsu").threshold == segment(IMAGE).threshold


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"threshold": "otso"}, "threshold must be .*; got 'otso'. Did you mean 'otsu'"),
        ({"threshold": (5, 1)}, r"threshold must be \(low, high\) .*; got \(5, 1\)"),
        ({"threshold": "local"}, "block_size must be given .*; got None"),
        ({"threshold": "local", "block_size": 4}, "block_size must be odd.*; got 4"),
        ({"block_size": 5}, "block_size must be left out .*; got 5"),
        ({"sigma": -1}, "sigma must .*; got -1"),
        ({"spacing": (1, 2, 3)}, r"spacing must be a number or 2 numbers; got \(1, 2, 3\)"),
        ({"spacing": 0}, "spacing must be positive and finite; got 0"),
        ({"connectivity": 3}, "connectivity must be 1 to 2 .*; got 3"),
        ({"min_size": -1}, "min_size must be 0 or more, and finite; got -1"),
        ({"min_size": "3um2"}, "min_size must be in pixels .*; got '3um2'"),
        ({"min_size": "3um2", "spacing": 2}, "min_size must be in pixels .*; got '3um2'"),
        ({"min_size": "3um3", "spacing": 2, "unit": "um"}, "min_size must be .*; got '3um3'"),
        ({"sigma": "3um2"}, "sigma must be a length; got '3um2'"),
        ({"max_size": 0}, "max_size must be at least .*; got 0"),
        ({"min_size": 5, "max_size": 4}, "max_size must be at least min_size .*; got 4 < 5"),
        ({"properties": ("aera",)}, "properties must be .*; got 'aera'. Did you mean 'area'"),
        ({"properties": ("surface_area_faces",)}, "'surface_area_faces' is defined .*; got 2"),
        ({"properties": ("frame",)}, "property 'frame' is defined for a stack; got stacked=False"),
        ({"channel": 1}, "channel needs channel_axis.*; got 1"),
        ({"channel_axis": 2}, "channel_axis must be an axis .*, 0 to 1; got 2"),
        ({"channel_axis": 0}, "channel must be one of 0 to 5; got None"),
        ({"channel_axis": 0, "channel": 6}, "channel must be one of 0 to 5; got 6"),
        ({"channel_axis": 0, "channel": -1}, "channel must be one of 0 to 5; got -1"),
        ({"method": "komora"}, "method must be one of .*; got 'komora'. Did you mean 'komura'"),
        ({"device": "gpu"}, "device must be one of .*; got 'gpu'"),
    ],
    ids=str,
)
def test_an_option_out_of_range_is_refused(options, rule):
    with pytest.raises(ValueError, match=rule):
        segment(IMAGE, **options)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"threshold": None}, "threshold must be .*; got None"),
        ({"threshold": True}, "threshold must be .*; got True"),
        ({"connectivity": 1.5}, "connectivity must be a whole number; got 1.5"),
        ({"min_size": 3.5}, "min_size must .*; got 3.5"),
        ({"max_size": 3.5}, "max_size must .*; got 3.5"),
        ({"channel_axis": 0.5}, "channel_axis must .*; got 0.5"),
        ({"channel_axis": 0, "channel": 0.5}, "channel must .*; got 0.5"),
    ],
    ids=str,
)
def test_an_option_of_another_type_is_refused(options, rule):
    with pytest.raises((TypeError, ValueError), match=f"^{rule}"):
        segment(IMAGE, **options)


@pytest.mark.parametrize("dtype", ["c16", "O", "U3"])
def test_an_image_that_is_not_real_is_refused(dtype):
    with pytest.raises(TypeError, match=r"^image must .*; got "):
        segment(np.zeros((4, 5), dtype))


@pytest.mark.parametrize(("shape", "stacked"), [((), False), ((), True), ((5,), True)])
def test_an_image_of_too_few_axes_is_refused(shape, stacked):
    with pytest.raises(ValueError, match=r"^image must .*; got "):
        segment(np.ones(shape), stacked=stacked)


def test_a_device_that_cannot_be_used_is_not_replaced(monkeypatch):
    def refuse(*_):
        message = "device='cuda' needs a card; got 'cuda'. Pass device='cpu'."
        raise DeviceUnavailableError(message)

    monkeypatch.setattr("equilabel.labeling.problem.resolve", refuse)
    with pytest.raises(DeviceUnavailableError):
        segment(IMAGE, device="cuda")


def test_the_table_is_made_of_the_columns_when_it_is_first_asked_for():
    found = segment(np.eye(5), threshold=0.5)
    columns = found.columns
    assert all(type(column) is np.ndarray for column in columns.values())
    table = found.table
    assert found.table is table
    assert list(table) == list(columns) == list(found.columns)
    for name, column in columns.items():
        np.testing.assert_array_equal(table[name].to_numpy(), column)
    other = replace(found, table=table[["label"]])
    assert list(other.columns) == ["label"]
    assert list(other.table) == ["label"]


def test_the_class_of_results_has_no_table():
    assert not hasattr(Segmentation, "table")
    with pytest.raises(TypeError, match="table"):
        Segmentation(labels=np.zeros(1))


@pytest.mark.parametrize("path", ["a.tif", Path("a.tif"), b"a.tif"])
@pytest.mark.parametrize(
    "function",
    [
        *(segment, equilabel.binarize, equilabel.label, equilabel.measure),
        equilabel.measure_components,
        *(equilabel.regionprops_table, equilabel.split_touching, equilabel.track_overlaps),
        *(partial(equilabel.smooth, sigma=1), partial(equilabel.subtract_background, radius=5)),
        partial(equilabel.regionprops_table, np.ones((4, 4), int)),
    ],
)
def test_a_path_is_refused_with_how_to_read_it_and_what_takes_paths(function, path):
    with pytest.raises(
        TypeError, match=r"must be an array, not a path; got .*a\.tif.* Read it first"
    ):
        function(path)
