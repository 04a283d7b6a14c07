"""Measuring on a GPU: the columns of the CPU, integers equal and floats nearly so."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from equilabel import PROPERTIES, label, measure_components, regionprops_table, segment
from equilabel.measuring.properties import PropertyUnknownError
from equilabel.samples import blobs, nuclei_mask, percolation, voronoi
from references import GRID_METHODS
from strategies import noise

pytestmark = pytest.mark.gpu
HOST = ("moments", "centroid_weighted", "area_convex", "solidity", "feret")  # no device's formulas
COUNTED = [name for name, row in PROPERTIES.items() if row.counted]


def names(rank, *, stacked=False, intensity=False, unequal=False):
    """List the properties that a kernel counts for images of some kind."""
    return [
        name
        for name in COUNTED
        if (not PROPERTIES[name].ranks or rank in PROPERTIES[name].ranks)
        and PROPERTIES[name].counted
        and (stacked or name != "frame")
        and (intensity or not PROPERTIES[name].intensity)
    ]


def same(table, expected, rtol=1e-6):
    """Compare tables: whole numbers exactly, floats relative to the greatest of their column.

    A root of what is 0 but for rounding, as an axis of a flat object, is known to half its digits.
    """
    assert list(table) == list(expected)
    for name, column in expected.items():
        found = table[name] if isinstance(table[name], np.ndarray) else table[name].get()
        assert found.dtype == column.dtype, name
        if column.dtype.kind in "iub":
            np.testing.assert_array_equal(found, column, err_msg=name)
        else:
            # What is 0 but for rounding is compared with what was rounded.
            raw = expected.get(name.replace("_central", ""), column)
            scale = (
                1.0
                if "normalized" in name or "hu" in name
                else np.abs(raw)[np.isfinite(raw)].max(initial=0)
            )
            digits = {"axis": 1e-7, "zing": 1e-6}.get(name[:4], 1e-9)
            np.testing.assert_allclose(
                found, column, rtol=rtol, atol=digits * scale, err_msg=name, equal_nan=True
            )


def agree(cupy, labels, values=None, **options):
    stacked = options.get("stacked", False)
    wanted = names(labels.ndim - stacked, stacked=stacked, intensity=values is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = regionprops_table(labels, values, wanted, **options)
        on_gpu = None if values is None else cupy.asarray(values)
        for columns in ("device", "host"):
            options["columns"] = columns
            table = regionprops_table(cupy.asarray(labels), on_gpu, wanted, **options)
            kind = {"device": cupy.ndarray, "host": np.ndarray}[columns]
            assert all(type(column) is kind for column in table.values())
            same(table, expected)
            here = [name for name in wanted if not name.startswith(HOST)]  # all in one kernel
            table = regionprops_table(cupy.asarray(labels), on_gpu, here, **options)
            same(table, {name: expected[name] for name in table})


IMAGES = {
    "nuclei": lambda: label(nuclei_mask((300, 411))),
    "blobs": lambda: label(blobs((257, 300))),
    "noise": lambda: label(percolation((90, 333), 0.6)),
    "touching": lambda: voronoi((150, 170), 60),
    "gaps": lambda: (noise((70, 65), values=6) * 37).astype(np.uint16),
    "one": lambda: np.ones((513, 300), np.int64),
    "zeros": lambda: np.zeros((20, 30), np.int32),
    "a pixel": lambda: np.array([[3]], np.uint8),
    "row": lambda: label(percolation((1, 500), 0.5)),
    "column": lambda: label(percolation((500, 1), 0.5)),
    "3D": lambda: label(blobs((30, 45, 70), scale=4.0)),
    "3D noise": lambda: label(percolation((12, 31, 64), 0.4)),
    "3D touching": lambda: noise((9, 14, 35), values=5),
}


@pytest.mark.parametrize("image", IMAGES)
def test_columns_are_those_of_the_cpu(cupy, image):
    agree(cupy, IMAGES[image]())


@pytest.mark.parametrize("image", ["nuclei", "gaps", "3D"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "f4", "f8"])
def test_columns_of_intensities_are_those_of_the_cpu(cupy, image, dtype):
    labels = IMAGES[image]()
    values = np.random.default_rng(0).normal(90, 25, labels.shape).clip(1, 120).astype(dtype)
    agree(cupy, labels, values)
    agree(cupy, labels, np.stack([values, values[::-1]], -1))


@pytest.mark.parametrize("image", ["nuclei", "touching", "3D"])
def test_spacing_counts(cupy, image):
    labels = IMAGES[image]()
    values = np.random.default_rng(0).integers(0, 255, labels.shape).astype(np.uint8)
    agree(cupy, labels, values, spacing=0.5)
    agree(cupy, labels, values, spacing=(3.0, 0.5, 0.7)[: labels.ndim])


@pytest.mark.parametrize("shape", [(70,), (5, 40, 50), (4, 6, 20, 33), (3, 4, 5, 6, 7)])
def test_any_number_of_axes_and_stacks(cupy, shape):
    image = percolation(shape, 0.45)
    agree(cupy, label(image))
    if len(shape) > 2:
        agree(cupy, label(image, stacked=True), stacked=True)


def test_nan_stays_in_its_row(cupy):
    labels = np.array([[1, 1, 0, 2, 2], [1, 1, 0, 2, 2], [3, 3, 0, 4, 4]])
    values = np.arange(15.0).reshape(3, 5)
    values[0, 0] = np.nan
    agree(cupy, labels, values)
    agree(cupy, labels, values.astype(np.float32))
    values[2, 1], values[2, 3] = np.inf, -np.inf
    wanted = ["intensity_sum", "intensity_mean", "intensity_min", "intensity_max"]
    expected = regionprops_table(labels, values, wanted)
    same(regionprops_table(cupy.asarray(labels), cupy.asarray(values), wanted), expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_values_elsewhere_cost_no_digits(cupy, dtype):
    """No data is often the largest float, and each sum has a unit, of which it is a multiple."""
    labels = IMAGES["nuclei"]()
    values = np.random.default_rng(0).normal(1, 1e-3, labels.shape).astype(dtype)
    values[labels == 1] = values[tuple(np.argwhere(labels == 0)[0])] = np.finfo(dtype).max / 1e6
    wanted = ["intensity_sum", "intensity_mean", "intensity_std", "centroid_weighted"]
    found = regionprops_table(cupy.asarray(labels), cupy.asarray(values), wanted)
    for name, column in regionprops_table(labels, values, wanted).items():
        np.testing.assert_allclose(found[name].get()[1:], column[1:], rtol=1e-9, err_msg=name)


def test_labels_that_no_table_has_room_for(cupy):
    labels = np.array([[0, 7, 2**40], [2**62, 7, 2**40], [0, 0, 1]])
    agree(cupy, labels)
    table = regionprops_table(cupy.asarray(labels), properties=("label", "num_pixels"))
    assert table["label"].tolist() == [1, 7, 2**40, 2**62]
    assert table["num_pixels"].tolist() == [1, 2, 2, 1]
    with pytest.raises(ValueError, match="must hold no negative labels; got -3"):
        regionprops_table(cupy.asarray([[1, -3]]))
    with pytest.raises(TypeError, match="must be of an integer type"):
        regionprops_table(cupy.ones((3, 3)))


def test_small_values_beside_large_ones_keep_their_mean(cupy):
    labels = np.array([[1, 1, 2, 2]])
    values = np.array([[1.25e6, 2e6, 3.1e-3, 4.7e-3]])
    table = regionprops_table(cupy.asarray(labels), cupy.asarray(values), ["intensity_mean"])
    np.testing.assert_allclose(table["intensity_mean"].get(), [1.625e6, 3.9e-3], rtol=1e-9)


def test_the_same_bits_come_every_time(cupy):
    labels = cupy.asarray(label(percolation((700, 900), 0.6)))
    values = cupy.asarray(np.random.default_rng(0).normal(size=labels.shape))
    wanted = ["intensity_mean", "intensity_std", "moments_weighted_central", "moments_central"]
    first = regionprops_table(labels, values, wanted)
    for _ in range(5):
        again = regionprops_table(labels, values, wanted)
        assert all((again[name] == first[name]).all() for name in first)


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize("shape", [(90, 130), (12, 20, 35)])
def test_measuring_while_labeling(cupy, method, shape):
    image = percolation(shape, 0.5)
    values = np.random.default_rng(0).integers(0, 99, shape).astype(np.uint16)
    for wanted in (["label", "area", "bbox", "centroid"], names(len(shape), intensity=True)):
        for connectivity in (1, len(shape)):
            options = {"connectivity": connectivity, "method": method, "properties": wanted}
            labels, table = label(image, intensity_image=values, device="cpu", **options)
            for place in (cupy.asarray, np.asarray):
                found, columns = label(
                    place(image), intensity_image=place(values), device="cuda", **options
                )
                np.testing.assert_array_equal(cupy.asnumpy(found), labels)
                same(columns, table)
    edges = "perimeter_edges" if len(shape) == 2 else "surface_area_faces"
    wanted = ["label", "num_pixels", edges]
    same(
        label(cupy.asarray(image), properties=wanted, method=method)[1],
        label(image, properties=wanted, method=method)[1],
    )


def test_measuring_without_labels(cupy):
    for shape in [(90, 130), (12, 20, 35)]:
        image = percolation(shape, 0.5)
        wanted = names(len(shape))
        same(measure_components(cupy.asarray(image), wanted), measure_components(image, wanted))


@pytest.mark.parametrize(
    "shape", [(300, 2200), (515, 1024), (200, 97), (9, 40, 530), (30, 300, 64)]
)
@pytest.mark.parametrize("filled", [0.05, 0.3, 0.6, 0.97])
def test_runs_are_measured_across_strips_and_segments(cupy, shape, filled):
    """From runs alone: more labels than a block has room for, and few that are large."""
    rank = len(shape)
    image = percolation(shape, filled)
    wanted = [
        name
        for name in names(rank, intensity=True)
        if not name.startswith(("moments", "centroid_weighted")) or name == "inertia_tensor"
    ]
    values = np.random.default_rng(0).integers(0, 2**16, shape)
    for dtype, spacing in ((np.uint8, None), (np.uint16, (2.0, 0.5, 0.3)[:rank])):
        options = {"intensity_image": values.astype(dtype), "spacing": spacing}
        expected = measure_components(image, wanted, **options)
        options["intensity_image"] = cupy.asarray(options["intensity_image"])
        same(measure_components(cupy.asarray(image), wanted, **options), expected)
        labels = label(cupy.asarray(image))
        same(regionprops_table(labels, properties=wanted, **options), expected)


@pytest.mark.parametrize("shape", [(90, 130), (12, 20, 35)])
def test_a_column_without_a_step_costs_only_itself(cupy, monkeypatch, shape):
    """The others are computed by the device, whatever stands beside them, and in their order."""
    from equilabel.measuring.cuda import columns

    started, device_columns = [], columns.Columns

    class Columns(device_columns):
        def __init__(self, shape, spec, *arguments, **options):
            started.append(len(spec.formulas.dtypes))
            super().__init__(shape, spec, *arguments, **options)

    def formula(found):
        return found.channels(found.values.highs - found.values.lows + found.means)

    row = replace(PROPERTIES["intensity_std"], name="spread", formula=formula, step=None)
    twice = replace(PROPERTIES["area"], name="twice", formula=lambda m: m.pixels * 2, step=None)
    monkeypatch.setattr(columns, "Columns", Columns)
    for added in (row, twice):
        monkeypatch.setitem(PROPERTIES, added.name, added)
    image = percolation(shape, 0.5)
    gray = np.random.default_rng(0).integers(0, 200, shape).astype(np.uint8)
    labels = label(image)
    for kept in (None, 3):  # with gaps between the labels
        labels = labels if kept is None else labels * (labels % kept == 1)
        for names, values in (
            (["area", "twice", "bbox"], None),
            (["spread", "label", "intensity_mean", "twice"], gray),
            (["label", "moments", "twice", "extent"], None),
            (["area_filled", "num_pixels", "intensity_mean"], gray.astype(np.float32)),
            (["image", "area"], None),
        ):
            counted = [name for name in names if name != "image"]
            moved = None if values is None else cupy.asarray(values)
            for place in ("host", "device"):
                started.clear()
                expected = regionprops_table(labels, values, names)
                found = regionprops_table(cupy.asarray(labels), moved, names, columns=place)
                assert list(found) == list(expected)
                kind = {"device": cupy.ndarray, "host": np.ndarray}[place]
                part = {name: found[name] for name in found if name != "image"}
                assert all(type(column) is kind for column in part.values())
                same(part, {name: expected[name] for name in part})
                assert len(started) == 1
            if kept is None:
                options = {"intensity_image": values, "connectivity": 1}
                there = {**options, "intensity_image": moved}
                expected = label(image, properties=counted, **options)[1]
                started.clear()
                same(label(cupy.asarray(image), properties=counted, **there)[1], expected)
                same(measure_components(cupy.asarray(image), counted, **there), expected)
                assert len(started) == 2


def test_nothing_is_measured_where_nothing_is(cupy):
    for shape in [(40, 50), (3, 4, 5), (0, 7)]:
        nothing = np.zeros(shape, np.uint8)
        wanted = names(len(shape), intensity=True)
        on_gpu = cupy.asarray(nothing)
        expected = measure_components(nothing, wanted, intensity_image=nothing)
        same(measure_components(on_gpu, wanted, intensity_image=on_gpu), expected)
        same(regionprops_table(on_gpu, on_gpu, wanted), expected)


@pytest.mark.parametrize("shape", [(70, 90), (9, 20, 40)])
def test_columns_do_not_hang_on_what_else_is_asked_for(cupy, shape):
    image = percolation(shape, 0.5)
    rank = len(shape)
    all_of_them = [name for name in names(rank) if not name.startswith("moments")]
    expected = regionprops_table(label(image), properties=all_of_them)
    pairs = [[name] for name in all_of_them] + [
        ["euler_number", {2: "perimeter_edges", 3: "surface_area_faces"}[rank]],
        ["euler_number_faces", "euler_number"],
        ["eccentricity", "perimeter"] if rank == 2 else ["inertia_tensor", "euler_number"],
    ]
    for asked in pairs:
        for table in (
            measure_components(cupy.asarray(image), asked),
            regionprops_table(label(cupy.asarray(image)), properties=asked),
        ):
            same(table, {name: expected[name] for name in table})


def test_hulls_holes_and_medians_come_from_the_host(cupy):
    mask = nuclei_mask((90, 90))
    labels = label(mask)
    values = np.random.default_rng(2).integers(0, 999, labels.shape).astype(np.uint16)
    wanted = ["label", "area_convex", "feret_diameter_max", "solidity", "area_filled"]
    for names, image in ((wanted, None), ([*wanted, "intensity_mean", "intensity_median"], values)):
        expected = regionprops_table(labels, image, names)
        moved = None if image is None else cupy.asarray(image)
        same(regionprops_table(cupy.asarray(labels), moved, names), expected)
        same(measure_components(cupy.asarray(mask), names, intensity_image=moved), expected)


def test_columns_are_where_the_labels_are_unless_asked_elsewhere(cupy):
    mask = nuclei_mask((90, 130))
    wanted = ["label", "area", "touches_border", "moments_hu"]
    expected = regionprops_table(label(mask), properties=wanted)
    moved = cupy.asarray(mask)
    for asked in (wanted, wanted[:3]):
        for found, kinds in (
            (partial(regionprops_table, label(moved), properties=asked), "dhd"),
            (partial(measure_components, moved, asked), "dhd"),
            (lambda asked=asked, **more: label(moved, properties=asked, **more)[1], "dhd"),
            (partial(measure_components, mask, asked, device="cuda"), "hhd"),
            (partial(measure_components, moved, asked, device="cpu"), "dhd"),
        ):
            for columns, kind in zip(("auto", "host", "device"), kinds, strict=True):
                table = found(columns=columns)
                on_device = [isinstance(column, cupy.ndarray) for column in table.values()]
                assert on_device == [kind == "d"] * len(table)
                same(table, {name: expected[name] for name in table})


def test_more_labels_than_expected_are_counted_again(cupy):
    """Guesses of the number of labels, from 0 to too many, do not show in the table."""
    from equilabel.measuring.cuda import columns

    rng = np.random.default_rng(0)
    wanted = ["label", "area", "bbox", "intensity_sum", "intensity_std"]
    for most in (3, 90_000, 250_000, 5, 90_000):  # more than the first guess; fewer again
        labels = rng.integers(0, most, (512, 600)).astype(np.int32)
        values = rng.integers(0, 200, labels.shape).astype(np.uint8)
        expected = regionprops_table(labels, values, wanted)
        for place in ("host", "device"):
            found = regionprops_table(
                cupy.asarray(labels), cupy.asarray(values), wanted, columns=place
            )
            same(found, expected)
        image = rng.random(labels.shape) < min(0.3, most / 10**6)
        expected = measure_components(image, wanted, connectivity=1, intensity_image=values)
        moved = {"intensity_image": cupy.asarray(values), "connectivity": 1}
        same(measure_components(cupy.asarray(image), wanted, **moved), expected)
        columns._expected.clear()
        found = label(cupy.asarray(image), properties=wanted, **moved)  # painting uses up the runs
        np.testing.assert_array_equal(found[0].get(), label(image, connectivity=1))
        same(found[1], expected)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u8"])
def test_what_is_asked_again_is_checked_again(cupy, dtype):
    """Of labels of one shape and type: what the second table skips, it must not need."""
    labels = np.zeros((30, 40), dtype)
    labels[3:9, 5:30] = 7
    for names in (("label", "bbox"), ["area"], iter(["area", "label"]), "area"):
        expected = regionprops_table(labels, None, list(names) if iter(names) is names else names)
        for _ in range(3):
            asked = iter(list(expected)) if iter(names) is names else names
            same(regionprops_table(cupy.asarray(labels), None, asked), expected)
    part = cupy.zeros((30, 80), dtype)
    part[:, ::2] = cupy.asarray(labels)
    same(regionprops_table(part[:, ::2], None, ["area"]), {"area": expected["area"]})
    if dtype[0] == "i":
        labels[20, 20] = -1
        for _ in range(2):
            with pytest.raises(ValueError, match="must hold no negative labels; got -1"):
                regionprops_table(cupy.asarray(labels), None, ["area"])
    with pytest.raises(ValueError, match="columns must be one of"):
        regionprops_table(cupy.asarray(labels), None, ["area"], columns="gpu")
    with pytest.raises(PropertyUnknownError, match="got 'aera'"):
        regionprops_table(cupy.asarray(labels), None, ["aera"])


def test_tables_outlive_those_that_come_after_them(cupy):
    labels = label(percolation((700, 900), 0.4))
    wanted = ["label", "area", "centroid"]
    tables = [
        regionprops_table(cupy.asarray(labels[:rows]), None, wanted, columns=columns)
        for rows in range(700, 400, -10)
        for columns in ("host", "device")
    ]
    for k, table in enumerate(tables):
        same(table, regionprops_table(labels[: 700 - 10 * (k // 2)], None, wanted))


def test_a_label_in_several_images_of_a_stack_is_refused(cupy):
    torn = cupy.asarray([[[1, 1]], [[1, 0]]])
    with pytest.raises(ValueError, match="must hold every label in one image of the stack"):
        regionprops_table(torn, properties=("area", "bbox"), stacked=True)


def test_segments_are_measured_where_they_are(cupy):
    rng = np.random.default_rng(0)
    image = (blobs((200, 300)) * 90 + rng.integers(0, 30, (200, 300))).astype(np.uint8)
    expected = segment(image, min_size=5, exclude_border=True)
    found = segment(cupy.asarray(image), min_size=5, exclude_border=True)
    np.testing.assert_array_equal(found.labels.get(), expected.labels)
    for name, column in expected.table.items():
        np.testing.assert_allclose(found.table[name], column, rtol=1e-9, err_msg=name)
