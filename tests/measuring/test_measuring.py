"""Tables equal scikit-image's column by column, and what can be counted by hand."""

import warnings
from itertools import product
from math import hypot

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from skimage import measure
from skimage.measure._regionprops import COL_DTYPES as THEIRS

from equilabel import label, regionprops_table
from equilabel.measuring import PROPERTIES
from equilabel.measuring.counts import steps_to
from references import count_faces, measure_by_hand
from strategies import INTEGERS, LAYOUTS, WORDS, blobs, label_images, noise

SHAPED = (
    *("label", "num_pixels", "area", "bbox", "area_bbox", "centroid", "centroid_local", "extent"),
    "equivalent_diameter_area",
)
INTENSITIES = ("intensity_min", "intensity_max", "intensity_mean", "intensity_std")
VALUES = ("?", *INTEGERS, "f2", "f4", "f8", "g")
SQUARE = np.array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]])


def check(labels, values=None, properties=SHAPED, rtol=1e-6, **options):
    """Compare a table with scikit-image's: names, order, types and numbers."""
    theirs = measure.regionprops_table(labels, values, properties, **options)
    ours = regionprops_table(labels, values, properties, **options)
    assert list(ours) == list(theirs)
    for name, column in theirs.items():
        assert ours[name].dtype == column.dtype, name
        exact = column.dtype.kind in "iu"
        np.testing.assert_allclose(ours[name], column, rtol=0 if exact else rtol, atol=1e-9)
    return ours


def some_labels(shape, dtype="i4", seed=0, sides=2):
    """Make labels with gaps that touch, and need not be connected."""
    return np.array([0, 3, 4, 9, 120], dtype)[blobs(shape, "i8", 5, seed, sides)]


def square(size, value=1):
    return np.pad(np.full((size, size), value), 2)


def columns_of(rank):
    """Name what is measured of a shape in so many axes."""
    return (*SHAPED, *{2: ("perimeter",)}.get(rank, ()))


def theirs_by_kernel(rank):
    """Name what scikit-image defines for so many axes, for every object, and we count.

    It has no hulls of flat objects in 3D; `test_hulls` compares those of others.
    """
    return [
        name
        for name, row in PROPERTIES.items()
        if row.source == "skimage"
        and name in THEIRS
        and (row.counted if rank == 2 else row.periodic)
        and (not row.ranks or rank in row.ranks)
    ]


def check_scaled(labels, values, names, **options):
    """Compare as `check` does, where rounding decides relative to what was rounded.

    Third moments of symmetric objects are 0, and where nothing is longer than the rest the
    orientation is a matter of scikit-image's own last bits.
    """
    try:
        with np.errstate(all="ignore"):
            theirs = measure.regionprops_table(labels, values, names, **options)
    except ValueError as error:  # before 0.26, of axes whose square is rounded below 0
        if "math domain" not in str(error):
            raise
        reject()
    ours = regionprops_table(labels, values, names, **options)
    assert list(ours) == list(theirs)
    for name, column in theirs.items():
        assert ours[name].dtype == column.dtype, name
        if column.dtype.kind in "iu":
            np.testing.assert_array_equal(ours[name], column, err_msg=name)
            continue
        if name == "orientation":  # an axis has no sign
            ours[name], column = (
                np.stack([np.cos(2 * c), np.sin(2 * c)]) for c in (ours[name], column)
            )
        if "moments" in name and "central" not in name:  # one scale for all parts
            part = np.stack([theirs[n] for n in theirs if n.split("-")[0] == name.split("-")[0]])
        else:  # that of the moments around the corner
            part = theirs.get(name.replace("_central", "").replace("minor", "major"), column)
        scale = np.abs(part[np.isfinite(part)]).max(initial=1)
        floor = 1e-6 if name.startswith("axis_minor") else 1e-8  # a root of what is next to 0
        np.testing.assert_allclose(ours[name], column, rtol=1e-6, atol=floor * scale, err_msg=name)


# ----------------------------------------------------- equal to scikit-image


@pytest.mark.parametrize("dtype", INTEGERS)
def test_columns_equal_those_of_skimage(dtype):
    for seed, shape in enumerate([(9, 11), (12, 70), (4, 5, 6)]):
        check(some_labels(shape, dtype, seed), properties=columns_of(len(shape)))


@given(labels=label_images())
def test_columns_equal_those_of_skimage_whatever_the_labels(labels):
    check(labels, properties=columns_of(labels.ndim))


@pytest.mark.parametrize("columns", [1, 2, *WORDS])
def test_columns_around_the_ends_of_words_make_no_difference(columns):
    for seed, sides in enumerate((1, 2, 9, 30)):
        check(some_labels((6, columns), seed=seed, sides=sides), properties=columns_of(2))
        check(label(noise((6, columns), seed=seed)), properties=columns_of(2))


@pytest.mark.parametrize("spacing", [0.3, 2, (0.5, 3), [1e-3, 20.0], np.array([2, 5])])
def test_spacing_scales_as_skimage_does(spacing):
    check(some_labels((9, 11)), spacing=spacing)


@pytest.mark.parametrize("spacing", [2.5, (4, 0.5, 0.25)])
def test_spacing_scales_three_axes_as_skimage_does(spacing):
    check(some_labels((4, 5, 6)), spacing=spacing)


@pytest.mark.parametrize("spacing", [0.3, (2, 2), np.float32(0.5)])
def test_the_perimeter_scales_with_equal_spacings(spacing):
    check(some_labels((9, 11), sides=3), properties=("label", "perimeter"), spacing=spacing)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_labels_and_values_makes_no_difference(layout):
    labels = LAYOUTS[layout](some_labels((9, 11), "i2"))
    values = LAYOUTS[layout](noise((9, 11), "f4", 100))
    plain = np.ascontiguousarray(labels).astype("i4"), np.ascontiguousarray(values).astype("f4")
    expected = measure.regionprops_table(*plain, (*SHAPED, "perimeter", *INTENSITIES))
    table = regionprops_table(labels, values, (*SHAPED, "perimeter", *INTENSITIES))
    for name, column in expected.items():
        np.testing.assert_allclose(table[name], column, rtol=1e-6, atol=1e-12)


def test_one_pixel_objects_in_every_corner_and_on_every_border_are_measured():
    labels = np.zeros((5, 67), int)
    places = [(0, 0), (0, 66), (4, 0), (4, 66), (0, 33), (2, 0), (2, 66), (4, 33), (2, 63), (2, 64)]
    for number, place in enumerate(places):
        labels[place] = number + 1
    table = check(labels, properties=columns_of(2))
    assert table["perimeter"].tolist() == [0] * 10
    assert table["num_pixels"].tolist() == [1] * 10


@pytest.mark.parametrize("border", range(4))
def test_objects_on_a_border_are_measured(border):
    labels = np.zeros((70, 70), int)
    labels[:3, 2:9] = 1
    labels[:5, 30:68] = 2
    check(np.ascontiguousarray(np.rot90(labels, border)), properties=columns_of(2))


def test_an_object_that_fills_the_image_is_measured():
    for shape in ((1, 1), (1, 70), (70, 1), (3, 64), (3, 65), (2, 2)):
        check(np.full(shape, 7), properties=columns_of(2))


@pytest.mark.parametrize("turned", [False, True])
def test_touching_and_nested_objects_are_kept_apart(turned):
    labels = np.full((20, 70), 1)
    labels[2:-2, 2:-2] = 2
    labels[4:-4, 4:-4] = 3
    labels[9:11, 60:66] = 1
    labels[:, 35:] += 3
    check(np.ascontiguousarray(labels.T) if turned else labels, properties=columns_of(2))


@pytest.mark.parametrize("length", [1, 2, 3, 63, 64, 65, 130])
def test_lines_one_pixel_wide_are_measured(length):
    labels = np.zeros((length + 2, length + 2), int)
    labels[0, :length] = 1
    labels[2 : length + 2, -1] = 2
    labels[np.arange(1, length + 1), np.arange(length)] = 3
    check(labels, properties=columns_of(2))


@pytest.mark.parametrize("seed", range(8))
def test_ragged_outlines_are_measured(seed):
    filled = np.random.default_rng(seed).random((30, 131)) < (0.5, 0.9)[seed % 2]
    check(filled.astype(int), properties=columns_of(2))
    check(some_labels((30, 131), sides=1, seed=seed), properties=columns_of(2))


@pytest.mark.parametrize("most", [5000, 10**6, 2**31 - 1, 2**40, 2**63 - 1])
def test_labels_far_above_the_number_of_pixels_are_measured(most):
    labels = np.zeros((6, 8), np.int64)
    labels[0, :3], labels[2:4, 4:], labels[5, 0], labels[5, 7] = 1, most, most - 1, 17
    values = noise((6, 8), "f8", 100)
    for image in (labels, labels[::-1], labels[:, ::-1]):
        table = regionprops_table(image, values, ("label", "num_pixels", *INTENSITIES))
        assert table["label"].tolist() == [1, 17, most - 1, most]
        assert table["num_pixels"].tolist() == [3, 1, 1, 8]
        means = [values[image == number].mean() for number in table["label"]]
        np.testing.assert_allclose(table["intensity_mean"], means)


def test_labels_beyond_int64_are_refused_or_kept():
    labels = np.array([[2**63 + 5, 0, 1]], np.uint64)
    try:
        found = regionprops_table(labels, properties=("label",))["label"].tolist()
    except ValueError as error:
        assert "label_image must" in str(error)  # noqa: PT017
    else:
        assert found == [1, 2**63 + 5]


def test_every_pixel_may_be_a_label_of_its_own():
    labels = np.arange(1, 13 * 70 + 1).reshape(13, 70)
    check(labels, properties=columns_of(2))
    check(labels[::-1] * 3, properties=columns_of(2))


def test_gaps_in_labels_get_no_row():
    labels = np.array([[7, 7, 0], [0, 0, 3]])
    assert regionprops_table(labels)["label"].tolist() == [3, 7]


@given(labels=label_images(), seed=st.integers(0, 2**16), data=st.data())
def test_every_column_equals_that_of_skimage(labels, seed, data):
    """Values lie away from 0, around which weighted centroids fly off."""
    names = [name for name in theirs_by_kernel(labels.ndim) if name != "orientation"]
    channels = data.draw(st.sampled_from([(), (1,), (2,)]))
    values = np.random.default_rng(seed).uniform(1, 3, (*labels.shape, *channels))
    options = {"spacing": data.draw(st.sampled_from([None, 0.25]))}
    if options["spacing"]:
        names = [name for name in names if not name.endswith("hu")]
    check_scaled(labels, values, names, **options)


@given(labels=label_images(), seed=st.integers(0, 2**16))
def test_every_column_with_uneven_spacing_equals_that_of_skimage(labels, seed):
    names = [name for name in theirs_by_kernel(labels.ndim) if not name.endswith("hu")]
    names = [name for name in names if not name.startswith(("perimeter", "orientation"))]
    values = np.random.default_rng(seed).uniform(1, 3, labels.shape)
    check_scaled(labels, values, names, spacing=(0.5, 3.0, 1.25)[: labels.ndim])


def test_the_orientation_is_that_of_skimage():
    y, x = np.mgrid[:80, :90]
    labels = np.zeros((80, 90), int)
    for number, angle in enumerate(np.linspace(-1.5, 1.5, 12)):
        cy, cx = 13 + 26 * (number // 4), 11 + 22 * (number % 4)
        along = (y - cy) * np.cos(angle) + (x - cx) * np.sin(angle)
        across = (x - cx) * np.cos(angle) - (y - cy) * np.sin(angle)
        labels[(along / 10) ** 2 + (across / 4) ** 2 < 1] = number + 1
    check_scaled(labels, None, ["orientation", "eccentricity"], spacing=(1, 2))
    found = regionprops_table(labels, properties=["orientation"])["orientation"]
    np.testing.assert_allclose(found, np.linspace(-1.5, 1.5, 12), atol=0.05)


@given(labels=label_images())
def test_euler_numbers_equal_those_of_skimage(labels):
    found = regionprops_table(labels, properties=("label", "euler_number", "euler_number_faces"))
    for number, full, face in zip(*found.values(), strict=True):
        assert full == measure.euler_number(labels == number, labels.ndim)
        assert face == measure.euler_number(labels == number, 1)


# -------------------------------------------------------------- intensities


def some_values(shape, dtype):
    values = noise(shape, "i8", 200, seed=9)
    return values.astype(dtype) if dtype != "?" else values % 3 == 0


@pytest.mark.parametrize("dtype", VALUES)
def test_intensities_of_every_type_equal_those_of_skimage(dtype):
    labels = some_labels((9, 11))
    values = some_values((9, 11), dtype)
    table = regionprops_table(labels, values, ("label", *INTENSITIES))
    wide = values.astype("f8")  # in which scikit-image is exact
    expected = measure.regionprops_table(labels, wide, ("label", *INTENSITIES))
    for name, column in expected.items():
        assert table[name].dtype == column.dtype
        np.testing.assert_allclose(table[name], column, rtol=1e-6)


@pytest.mark.parametrize("shape", [(12, 70), (4, 5, 6)])
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_intensities_are_measured_in_every_channel(shape, channels):
    values = some_values((*shape, channels), "f4")
    check(some_labels(shape), values, ("label", *INTENSITIES, "area"))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8"])
def test_sums_of_the_greatest_integers_do_not_overflow(dtype):
    limits = np.iinfo(dtype)
    labels = np.repeat([[1], [2]], 300, axis=1)
    values = np.where(labels == 1, *np.array([limits.max, limits.min], dtype))
    table = regionprops_table(labels, values, INTENSITIES)
    for name in ("intensity_min", "intensity_max", "intensity_mean"):
        assert table[name].tolist() == [float(limits.max), float(limits.min)]
    assert table["intensity_std"].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_nan_stays_in_its_own_object(dtype):
    labels = some_labels((9, 11))
    values = some_values((9, 11), dtype)
    values[tuple(np.argwhere(labels == 4)[2])] = np.nan
    table = regionprops_table(labels, values, ("label", *INTENSITIES))
    for name in INTENSITIES:
        assert np.isnan(table[name]).tolist() == [False, True, False, False]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_measured(value):
    values = np.array([[1, value, 2]])
    table = regionprops_table(np.array([[1, 1, 2]]), values, INTENSITIES[:3])
    assert table["intensity_mean"].tolist() == [value, 2]
    assert table["intensity_min"].tolist() == [min(1, value), 2]
    assert table["intensity_max"].tolist() == [max(1, value), 2]


def test_moments_of_infinite_values_are_not_defined():
    values = np.array([[1.0, np.inf, 2], [1, 3, 5]])
    labels = np.array([[1, 1, 2], [1, 1, 2]])
    for moments in ("moments_weighted", "moments_weighted_central", "centroid_weighted"):
        table = regionprops_table(labels, values, (moments,))
        assert np.isnan([column[0] for column in table.values()]).all()
        assert np.isfinite([column[1] for column in table.values()]).all()


def test_equal_values_do_not_deviate():
    labels = np.array([[1, 1, 1, 2, 2]])
    values = np.array([[0.1, 0.1, 0.1, np.inf, np.inf]])
    table = regionprops_table(labels, values, ("intensity_std",))
    np.testing.assert_array_equal(table["intensity_std"], [0, np.nan])


def test_small_spreads_around_large_means_are_not_lost():
    values = 1e9 + np.arange(1000).reshape(10, 100) % 7
    table = regionprops_table(np.ones((10, 100), int), values, ("intensity_std",))
    np.testing.assert_allclose(table["intensity_std"], values.std(), rtol=1e-9)


def test_values_under_the_background_do_not_count():
    labels = np.array([[0, 1, 0]])
    table = regionprops_table(labels, np.array([[1e300, 2, -1e300]]), INTENSITIES)
    assert [column.tolist() for column in table.values()] == [[2], [2], [2], [0]]


# ---------------------------------------------------------- known by hand


@pytest.mark.parametrize(("size", "length"), [(1, 0), (2, 4), (3, 8), (4, 12), (70, 276)])
def test_the_perimeter_of_a_square_runs_through_the_centers_of_its_border(size, length):
    assert regionprops_table(square(size), properties=("perimeter",))["perimeter"] == [length]


@pytest.mark.parametrize("size", [1, 2, 3, 70])
def test_the_edges_of_a_square_are_its_four_sides(size):
    table = regionprops_table(square(size), properties=("perimeter_edges",), spacing=(2, 3))
    assert table["perimeter_edges"] == [2 * size * 2 + 2 * size * 3]


def test_the_faces_of_a_box_are_its_six_sides():
    labels = np.pad(np.full((2, 3, 4), 5), 1)
    table = regionprops_table(labels, properties=("surface_area_faces",), spacing=(7, 1, 10))
    assert table["surface_area_faces"] == [2 * (2 * 3 * 7 + 2 * 4 * 70 + 3 * 4 * 10)]


def test_a_square_is_measured():
    table = regionprops_table(SQUARE, SQUARE * 3, (*SHAPED, *INTENSITIES), spacing=(2, 3))
    assert {name: column.tolist() for name, column in table.items()} == {
        **{"label": [1], "num_pixels": [4], "area": [24]},
        **{"bbox-0": [1], "bbox-1": [1], "bbox-2": [3], "bbox-3": [3], "area_bbox": [24]},
        **{"centroid-0": [3], "centroid-1": [4.5]},
        **{"centroid_local-0": [1], "centroid_local-1": [1.5], "extent": [1]},
        "equivalent_diameter_area": [(4 * 24 / np.pi) ** 0.5],
        **{"intensity_min": [3], "intensity_max": [3], "intensity_mean": [3], "intensity_std": [0]},
    }


@given(labels=label_images(2, 3), spacing=st.lists(st.floats(0.1, 9), min_size=3, max_size=3))
def test_exposed_edges_and_faces_equal_a_count_of_them(labels, spacing):
    spacing = spacing[: labels.ndim]
    name = {2: "perimeter_edges", 3: "surface_area_faces"}[labels.ndim]
    table = regionprops_table(labels, properties=("label", name), spacing=spacing)
    expected = [count_faces(labels == number, spacing) for number in table["label"]]
    np.testing.assert_allclose(table[name], expected)


@given(labels=label_images(1, 6), step=st.floats(0.1, 9))
def test_one_to_six_axes_are_measured(labels, step):
    spacing = [step + axis for axis in range(labels.ndim)]
    table = regionprops_table(labels, properties=SHAPED, spacing=spacing)
    for name, column in measure_by_hand(labels, spacing).items():
        if name != "exposed":
            np.testing.assert_allclose(table[name], column, err_msg=name)


@pytest.mark.parametrize("spacing", [(1, 1), (2, 0.5), (1, 7)])
def test_the_perimeter_of_a_rectangle_with_uneven_spacing_is_that_of_its_centers(spacing):
    labels = np.pad(np.ones((5, 8), int), 2)
    table = regionprops_table(labels, properties=("perimeter",), spacing=spacing)
    assert table["perimeter"] == pytest.approx([2 * (4 * spacing[0] + 7 * spacing[1])])


def test_the_perimeter_of_a_diamond_with_uneven_spacing_is_that_of_its_diagonals():
    y, x = np.mgrid[-9:10, -9:10]
    labels = (abs(y) + abs(x) <= 7).astype(int)
    table = regionprops_table(labels, properties=("perimeter",), spacing=(3, 4))
    assert table["perimeter"] == pytest.approx([4 * 7 * 5])


@pytest.mark.parametrize("spacing", [(1, 1), (2, 0.5), (0.1, 0.3)])
def test_crofton_measures_an_ellipse_of_the_grid_as_long_as_it_is(spacing):
    from scipy.special import ellipe

    y, x = np.mgrid[-200:201, -200:201]
    a, b = 60.0, 35.0
    inside = (y * spacing[0] / a) ** 2 + (x * spacing[1] / b) ** 2 < 1
    scale = max(1, a / spacing[0] / 195, b / spacing[1] / 195)
    inside = (y * spacing[0] / (a / scale)) ** 2 + (x * spacing[1] / (b / scale)) ** 2 < 1
    found = regionprops_table(
        inside.astype(int), properties=("perimeter_crofton",), spacing=spacing
    )
    length = 4 * a / scale * ellipe(1 - (b / a) ** 2)
    assert found["perimeter_crofton"] == pytest.approx([length], rel=0.07)


@pytest.mark.parametrize("spacing", [1, 0.5, (2, 1, 1)])
def test_crofton_measures_a_ball_as_large_as_it_is(spacing):
    steps = np.ones(3) * spacing
    grids = np.meshgrid(*(np.arange(-20, 21) * step for step in steps), indexing="ij")
    radius = 19 * steps.min()
    inside = sum(grid**2 for grid in grids) < radius**2
    names = ("surface_area_crofton", "sphericity", "volume")
    table = regionprops_table(inside.astype(int), properties=names, spacing=spacing)
    assert table["surface_area_crofton"] == pytest.approx([4 * np.pi * radius**2], rel=0.02)
    assert table["sphericity"] == pytest.approx([1], rel=0.02)
    assert table["volume"] == pytest.approx([4 / 3 * np.pi * radius**3], rel=0.01)


def test_the_weights_of_thirteen_directions_are_the_published_ones():
    from equilabel.measuring.sizes import _shares

    steps = steps_to(3, "all")
    shares = _shares(tuple(map(tuple, steps.astype(float).tolist())))
    published = {1: 0.045778, 2: 0.036981, 3: 0.035196}  # Lehmann, Legland 2012: of 26 directions
    expected = [2 * published[hops] for hops in np.abs(steps).sum(axis=1).tolist()]
    np.testing.assert_allclose(shares, expected, atol=2e-6)


def test_a_disk_is_round_and_a_bar_is_not():
    y, x = np.mgrid[-60:61, -60:61]
    labels = (y**2 + x**2 < 50**2).astype(int)
    labels[0, :120] = 2
    found = regionprops_table(labels, properties=("circularity",))["circularity"]
    assert found[0] == pytest.approx(1, rel=0.01)
    assert found[1] < 0.05


@pytest.mark.parametrize("spacing", [1, (2.0, 0.5, 0.3), (0.1, 7.0, 0.7)])
def test_lines_in_3d_are_as_thick_as_they_are_wide(spacing):
    """Both axes are 0 but for rounding, and their ratio says nothing."""
    for step in ((0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 0, 2), (3, 1, 2)):
        labels = np.zeros((20, 20, 20), int)
        for k in range(6):
            labels[tuple(np.multiply(k, step))] = 1
        table = regionprops_table(labels, properties=["zingg_flatness"], spacing=spacing)
        assert table["zingg_flatness"] == [1.0]


def test_a_box_is_as_long_and_flat_as_zingg_says():
    labels = np.pad(np.ones((4, 10, 20), int), 1)
    names = ("zingg_elongation", "zingg_flatness", "axis_major_length")
    table = regionprops_table(labels, properties=names)
    sides = np.sqrt(np.array([4, 10, 20]) ** 2 - 1.0)  # of points at the centers of voxels
    assert table["zingg_elongation"] == pytest.approx([sides[1] / sides[2]])
    assert table["zingg_flatness"] == pytest.approx([sides[0] / sides[1]])
    assert table["axis_major_length"] == pytest.approx([sides[2] * np.sqrt(20 / 12)])


def test_a_single_voxel_is_neither_long_nor_flat():
    names = ("zingg_elongation", "zingg_flatness")
    table = regionprops_table(np.ones((1, 1, 1), int), properties=names)
    assert [column.tolist() for column in table.values()] == [[1], [1]]


def test_objects_at_the_border_are_told():
    labels = np.zeros((6, 70), int)
    labels[0, 5], labels[5, 8], labels[2, 0], labels[3, 69], labels[2:4, 20:60] = 1, 2, 3, 4, 5
    found = regionprops_table(labels, properties=("touches_border",))["touches_border"]
    assert found.tolist() == [True] * 4 + [False]
    flat = regionprops_table(labels[2:3], properties=("label", "touches_border"))
    assert flat["touches_border"].tolist() == [True, False]  # an axis of one pixel has no border


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u4"])
def test_sums_of_integers_are_integers(dtype):
    values = np.full((20, 20), np.iinfo(dtype).max, dtype)
    found = regionprops_table(np.ones((20, 20), int), values, ("intensity_sum",))["intensity_sum"]
    assert found.dtype == np.int64
    assert found.tolist() == [400 * int(np.iinfo(dtype).max)]


@pytest.mark.parametrize("stretch", [1, 2**20])
def test_second_moments_far_from_the_corner_are_those_near_it(stretch):
    thin = np.zeros((3, 300), int)
    thin[0, 10:17] = thin[1, 12:30] = 1
    wide = np.zeros((3, 300 + stretch), np.uint8)
    wide[:, stretch:] = thin
    names = ("inertia_tensor", "axis_minor_length", "orientation", "moments_central")
    near = regionprops_table(thin, properties=names)
    far = regionprops_table(wide, properties=names)
    for name, column in near.items():
        np.testing.assert_allclose(far[name], column, rtol=1e-9, atol=1e-6)


@given(labels=label_images(), dtype=st.sampled_from(["i1", "u1", "i2", "u2"]))
def test_the_spread_of_small_integers_is_exact(labels, dtype):
    limits = np.iinfo(dtype)
    values = np.random.default_rng(0).integers(limits.min, limits.max, labels.shape, dtype, True)
    found = regionprops_table(labels, values, ("label", "intensity_std"))
    for number, spread in zip(*found.values(), strict=True):
        assert spread == pytest.approx(values[labels == number].std(dtype="g"), rel=1e-12)


# ------------------------------------------------------------------- stacks


@pytest.mark.parametrize("dtype", ["u1", "i4"])
@pytest.mark.parametrize("shape", [(4, 9, 11), (3, 6, 70), (3, 4, 5, 6), (1, 5, 6), (5, 1, 6)])
def test_a_stack_is_measured_image_by_image(shape, dtype):
    rank = len(shape) - 1
    labels = label(noise(shape, values=3), stacked=True).astype(dtype)
    values = noise((*shape, 2), "f4", 100)
    spacing = (0.5,) * rank
    exposed = {2: "perimeter_edges", 3: "surface_area_faces"}[rank]
    names = (*columns_of(rank), *INTENSITIES)
    table = regionprops_table(
        labels, values, ("frame", *names, exposed), spacing=spacing, stacked=True
    )
    rows = 0
    for frame, image in enumerate(labels):
        here = table["frame"] == frame
        theirs = measure.regionprops_table(image, values[frame], names, spacing=spacing)
        ours = regionprops_table(image, values[frame], (exposed,), spacing=spacing)
        for name, column in {**theirs, **ours}.items():
            np.testing.assert_allclose(table[name][here], column, rtol=1e-6, atol=1e-9)
        rows += here.sum()
    assert rows == len(table["label"]) == labels.max()


def test_images_of_a_stack_do_not_touch():
    labels = np.stack([square(3), square(3, 2)])
    names = ("perimeter", "perimeter_edges", "frame")
    table = regionprops_table(labels, properties=names, stacked=True)
    assert [table[name].tolist() for name in names] == [[8, 8], [12, 12], [0, 1]]


def test_an_image_of_a_stack_may_hold_nothing():
    labels = np.stack([SQUARE * 0, SQUARE * 4, SQUARE * 0, SQUARE * 2])
    names = ("label", "frame", "euler_number", "area")
    table = regionprops_table(labels, properties=names, stacked=True)
    assert [table[name].tolist() for name in names] == [[2, 4], [3, 1], [1, 1], [4, 4]]


def test_a_label_in_several_images_of_a_stack_is_refused():
    labels = np.stack([SQUARE, SQUARE * 2, SQUARE])
    with pytest.raises(
        ValueError, match=r"one image of the stack; got label 1 in several. Label it"
    ):
        regionprops_table(labels, stacked=True)


@pytest.mark.parametrize(
    "names", [("eccentricity",), ("label", "eccentricity"), ("solidity", "frame")]
)
def test_a_label_in_several_images_is_refused_whoever_measures_it(names):
    with pytest.raises(ValueError, match="must hold every label in one image of the stack"):
        regionprops_table(np.stack([square(3), square(3)]), properties=names, stacked=True)


def test_the_spacing_of_a_stack_is_that_of_its_images():
    labels = np.stack([SQUARE, SQUARE * 2])
    table = regionprops_table(labels, properties=("area",), spacing=(2, 3), stacked=True)
    assert table["area"].tolist() == [24, 24]
    with pytest.raises(ValueError, match=r"spacing must be a number or 2 numbers; got \(1, 2, 3\)"):
        regionprops_table(labels, spacing=(1, 2, 3), stacked=True)


# --------------------------------------------------------------- passing on


OTHERS = (
    *("eccentricity", "euler_number", "solidity", "moments_central", "axis_major_length"),
    *("feret_diameter_max", "inertia_tensor_eigvals", "area_filled", "perimeter_crofton"),
)


@pytest.mark.parametrize("spacing", [None, 0.5])
def test_other_properties_are_those_of_skimage(spacing):
    check(some_labels((9, 11), sides=4), properties=OTHERS, spacing=spacing)


def test_other_properties_of_intensities_are_those_of_skimage():
    values = some_values((9, 11), "f4")
    names = ("centroid_weighted", "intensity_median", "moments_weighted")
    names = [name for name in names if name in THEIRS]
    check(some_labels((9, 11)), values, names)


@pytest.mark.parametrize("separator", ["-", "_", "", " / "])
@pytest.mark.parametrize(
    "names",
    [
        ("solidity", "bbox", "label", "inertia_tensor", "area"),
        ("centroid", "eccentricity", "centroid_local", "moments_hu", "extent"),
        ("moments", "area", "moments_central", "label"),
        ("inertia_tensor_eigvals", "label", "inertia_tensor"),
        ("area", "area_filled", "area_bbox", "area_convex"),
    ],
)
def test_columns_come_in_the_order_asked_for(names, separator):
    check(some_labels((9, 11), sides=4), properties=names, separator=separator)


@pytest.mark.parametrize("names", [("MeanIntensity",), ("major_axis_length", "label"), ("Area",)])
def test_older_names_are_passed_on(names):
    check(some_labels((9, 11)), some_values((9, 11), "f4"), names)


@pytest.mark.parametrize("name", ["image", "coords", "slice"])
def test_columns_of_objects_are_passed_on(name):
    table = regionprops_table(SQUARE, properties=("label", name))
    assert table[name].dtype == object
    expected = measure.regionprops_table(SQUARE, properties=(name,))[name][0]
    np.testing.assert_array_equal(table[name][0], expected)


def test_the_order_of_labels_is_one_for_all_columns():
    labels = np.array([[9, 9, 9, 0, 2, 2], [9, 9, 9, 0, 2, 0]])
    table = regionprops_table(labels, properties=("num_pixels", "area_filled", "label"))
    assert [column.tolist() for column in table.values()] == [[3, 6], [3, 6], [2, 9]]


def pixels_counted(mask):
    return mask.sum()


def quartiles(mask, values):
    return np.percentile(values[mask], (25, 75))


@pytest.mark.parametrize("names", [("label",), ("area", "eccentricity"), ()])
@pytest.mark.parametrize("many", [tuple, list, iter])
def test_functions_measure_too_and_come_last(names, many):
    labels, values = some_labels((9, 11)), some_values((9, 11), "f8")
    functions = (pixels_counted, quartiles)
    table = regionprops_table(labels, values, names, extra_properties=many(functions))
    expected = measure.regionprops_table(labels, values, names, extra_properties=functions)
    assert list(table) == list(expected)
    for name, column in expected.items():
        np.testing.assert_allclose(table[name], column)


def test_functions_measure_each_image_of_a_stack():
    labels = np.stack([SQUARE, SQUARE * 2])
    table = regionprops_table(
        labels, properties=("frame",), extra_properties=(pixels_counted,), stacked=True
    )
    assert {name: column.tolist() for name, column in table.items()} == {
        "frame": [0, 1],
        "pixels_counted": [4, 4],
    }


def breaks_on_lines(mask):
    if 1 in mask.shape:
        message = "no width"
        raise ZeroDivisionError(message)
    return mask.mean()


@pytest.mark.parametrize("bad", [[1], [1, 2]])
def test_an_object_that_breaks_costs_its_own_row_alone(bad):
    labels = np.zeros((9, 20), int)
    labels[1:4, 1:5], labels[1:4, 8:12], labels[6:8, 3:9] = 4, 5, 9
    for number in bad:
        labels[8, 3 * number] = number
    with pytest.warns(
        RuntimeWarning, match="for label .*: label 1 gave ZeroDivisionError: no width"
    ):
        table = regionprops_table(
            labels, properties=("label", "area", "area_filled"), extra_properties=[breaks_on_lines]
        )
    rows = np.isin(table["label"], bad)
    assert np.isnan(table["breaks_on_lines"]).tolist() == rows.tolist()
    assert table["breaks_on_lines"][~rows].tolist() == [1, 1, 1]
    assert table["area_filled"].tolist() == table["area"].tolist()


def test_a_column_of_objects_holds_none_where_one_breaks():
    def where(mask):
        breaks_on_lines(mask)
        return np.argwhere(mask)

    labels = np.array([[1, 1, 0, 2], [1, 1, 0, 0], [0, 0, 0, 0], [3, 3, 3, 0], [3, 3, 3, 0]])
    with pytest.warns(RuntimeWarning, match="label 2 gave"):
        column = regionprops_table(labels, extra_properties=[where])["where"]
    assert column[1] is None
    assert [len(column[0]), len(column[2])] == [4, 6]


def test_many_objects_that_break_are_counted_not_listed():
    labels = np.zeros((1, 40), int)
    labels[0, ::2] = np.arange(1, 21)
    with pytest.warns(RuntimeWarning, match="for label 1, 2, .*, 10 and 10 more: label 1 gave"):
        regionprops_table(labels, extra_properties=[breaks_on_lines])


@pytest.mark.parametrize("most", [2**20, 2**40])
def test_what_skimage_computes_bears_large_labels(most):
    labels = np.zeros((6, 8), np.int64)
    labels[:2, :3], labels[3:, 4:] = most, 7
    table = regionprops_table(labels, properties=("label", "area_filled"))
    assert [column.tolist() for column in table.values()] == [[7, most], [12, 6]]


@pytest.mark.parametrize("properties", ["label", ["label"], iter(["label"]), {"label": 0}.keys()])
def test_properties_may_be_anything_that_lists_names(properties):
    assert list(regionprops_table(SQUARE, properties=properties)) == ["label"]


def test_no_properties_are_no_columns():
    assert regionprops_table(SQUARE, properties=()) == {}


def test_the_default_is_label_and_bbox():
    check(SQUARE, properties=("label", "bbox"))
    assert list(regionprops_table(SQUARE)) == ["label", *(f"bbox-{k}" for k in range(4))]


# -------------------------------------------------------------------- empty


@pytest.mark.parametrize("shape", [(5, 6), (3, 4, 5), (1, 1)])
def test_labels_without_objects_give_columns_without_rows(shape):
    names = [name for name in theirs_by_kernel(len(shape)) if "weighted" not in name]
    hosted = [name for name in ("area_filled", "intensity_median") if name in THEIRS]
    table = check(np.zeros(shape, int), np.zeros((*shape, 2)), (*names, *hosted))
    assert {len(column) for column in table.values()} == {0}


@pytest.mark.parametrize("channels", [(), (1,), (2,), (0,)])
def test_weighted_columns_without_rows_are_as_many_as_with(channels):
    names = [name for name in theirs_by_kernel(2) if "weighted" in name or "intensity" in name]
    none = regionprops_table(SQUARE * 0, np.ones((4, 4, *channels)), names)
    some = regionprops_table(SQUARE, np.ones((4, 4, *channels)), names)
    assert list(none) == list(some)
    assert {len(column) for column in none.values()} <= {0}


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (2, 0, 3)])
def test_an_empty_image_gives_columns_without_rows(shape):
    names = (*SHAPED, *INTENSITIES)
    table = regionprops_table(np.zeros(shape, int), np.zeros(shape), names)
    assert {len(column) for column in table.values()} == {0}
    assert "intensity_std" in table


def test_a_stack_without_objects_gives_columns_without_rows():
    for shape in ((3, 4, 5), (1, 4, 5)):
        table = regionprops_table(
            np.zeros(shape, int), properties=("label", "frame", "bbox"), stacked=True
        )
        assert [len(column) for column in table.values()] == [0] * 6


@pytest.mark.parametrize("names", [("area",), ("frame", "eccentricity")])
def test_a_stack_of_no_images_gives_columns_without_rows(names):
    table = regionprops_table(np.zeros((0, 4, 5), int), properties=names, stacked=True)
    assert [(name, len(column)) for name, column in table.items()] == [(name, 0) for name in names]


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize("dtype", ["?", "f4", "f8", "c16", "O"])
def test_labels_that_are_not_integers_are_refused_as_skimage_does(dtype):
    labels = SQUARE.astype(dtype)
    with pytest.raises(TypeError, match=r"^label_image must be .*; got .*\. Label it first"):
        regionprops_table(labels)
    with pytest.raises(TypeError):
        measure.regionprops_table(labels)


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (2, 67)])
@pytest.mark.parametrize("least", [-1, -128])
def test_negative_labels_are_refused(place, least):
    labels = noise((3, 68), "i1")
    labels[place] = least
    with pytest.raises(
        ValueError, match=f"^label_image must hold no negative .*; got {least}. 0 is"
    ):
        regionprops_table(labels, properties=("area",))


@pytest.mark.parametrize("names", [("eccentricity",), ("label", "solidity")])
def test_negative_labels_are_refused_whoever_measures_them(names):
    with pytest.raises(ValueError, match=r"^label_image must hold no negative labels; got -3"):
        regionprops_table(np.array([[1, 1, 0], [0, 0, -3]]), properties=names)


@pytest.mark.parametrize("shape", [(), (1,) * 7])
def test_too_few_or_too_many_axes_are_refused(shape):
    with pytest.raises(ValueError, match=rf"label_image must have 1 to 6 axes; got {len(shape)}\."):
        regionprops_table(np.ones(shape, int))


def test_a_stack_of_no_axes_is_refused():
    with pytest.raises(ValueError, match="2 or more axes with stacked=True; got 1"):
        regionprops_table(np.ones(3, int), stacked=True)


@pytest.mark.parametrize("shape", [(4,), (4, 5), (5, 4), (2, 4, 4), (4, 4, 2, 2), ()])
def test_values_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"^intensity_image must have the shape .*; got \("):
        regionprops_table(SQUARE, np.ones(shape), ("area",))


@pytest.mark.parametrize("dtype", ["c8", "O", "U1", "M8[s]"])
def test_values_that_are_not_real_are_refused(dtype):
    with pytest.raises(TypeError, match=r"^intensity_image must be of a real type; got "):
        regionprops_table(SQUARE, np.zeros((4, 4), dtype), ("intensity_mean",))


@pytest.mark.parametrize("name", INTENSITIES)
def test_intensities_need_an_image(name):
    with pytest.raises(ValueError, match=f"property '{name}' needs an intensity_image; got None"):
        regionprops_table(SQUARE, properties=("label", name))


@pytest.mark.parametrize(
    ("name", "near"),
    [("perimter", "perimeter"), ("lable", "label"), ("centroids", "centroid"), ("frames", "frame")],
)
def test_an_unknown_property_is_refused_with_a_near_one(name, near):
    with pytest.raises(
        ValueError, match=f"^properties must be .*; got '{name}'. Did you mean .*'{near}'"
    ):
        regionprops_table(SQUARE, properties=("label", name))


@pytest.mark.parametrize("name", ["xyzzy", "", None, 3])
def test_a_property_like_no_other_is_refused(name):
    error = ValueError if isinstance(name, str) else TypeError
    with pytest.raises(error, match=r"^properties must be .*; got "):
        regionprops_table(SQUARE, properties=("label", name))


@pytest.mark.parametrize("name", ["_label_image", "__init__", "_slice"])
def test_what_is_private_to_skimage_is_no_property(name):
    with pytest.raises(ValueError, match=r"^properties must be names .*; got "):
        regionprops_table(SQUARE, properties=(name,))


@pytest.mark.parametrize("spacing", [(1, 2, 3), (1,), []])
def test_a_spacing_of_another_length_is_refused(spacing):
    with pytest.raises(ValueError, match=r"^spacing must be a number or 2 numbers; got "):
        regionprops_table(SQUARE, spacing=spacing)


@pytest.mark.parametrize("spacing", [0, -1, (1, 0), (np.nan, 1), np.inf, (1, -np.inf)])
def test_a_spacing_that_is_no_length_is_refused(spacing):
    with pytest.raises(ValueError, match=r"^spacing must be positive and finite; got "):
        regionprops_table(SQUARE, spacing=spacing)


@pytest.mark.parametrize("spacing", ["1", ("a", "b"), 1j])
def test_a_spacing_that_is_no_number_is_refused(spacing):
    with pytest.raises((TypeError, ValueError), match=r"^spacing must be "):
        regionprops_table(SQUARE, spacing=spacing)


@pytest.mark.parametrize(
    ("name", "shape", "remedy"),
    [
        ("perimeter", (2, 3, 4), "In 3D, ask for 'surface_area_crofton'."),
        ("perimeter_edges", (2, 3, 4), "In 3D, ask for 'surface_area_faces'."),
        ("surface_area_faces", (3, 4), "In 2D, ask for 'perimeter_edges'."),
        ("perimeter_crofton", (2, 3, 4), "In 3D, ask for 'surface_area_crofton'."),
        ("surface_area_crofton", (3, 4), "In 2D, ask for 'perimeter_crofton'."),
        ("eccentricity", (2, 3, 4), "In 3D, ask for 'zingg_elongation'."),
        ("volume", (3, 4), "In 2D, ask for 'area'."),
        ("euler_number", (5,), "Leave it out."),
        ("frame", (3, 4), "Pass stacked=True."),
    ],
)
def test_a_property_that_is_not_defined_for_the_image_is_refused(name, shape, remedy):
    with pytest.raises(ValueError, match=rf"^property '{name}' is defined .*; got .*\.") as caught:
        regionprops_table(np.ones(shape, int), properties=(name,))
    assert str(caught.value).endswith(remedy)


@pytest.mark.parametrize("names", [("eccentricity",), ("label", "moments_hu")])
@pytest.mark.parametrize("shape", [(5,), (2, 3, 4, 5)])
def test_what_skimage_refuses_is_refused(names, shape):
    with pytest.raises((TypeError, NotImplementedError, ValueError)):
        regionprops_table(np.ones(shape, int), properties=names)


def test_what_scikit_image_computes_gives_no_warning_for_a_huge_spacing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = regionprops_table(np.eye(4, dtype=int), properties=["image"], spacing=1e308)
    np.testing.assert_array_equal(table["image"][0], np.eye(4, dtype=bool))


@pytest.mark.parametrize("spacing", [1e-300, 1e-60, 1e-9, 1e9, 1e60, 1e300])
@pytest.mark.parametrize("rank", [2, 3])
def test_extreme_spacings_give_numbers_and_no_warnings(rank, spacing):
    labels = np.zeros((3, 6, 7)[-rank:], int)
    labels[..., 1:3, 1:4], labels[..., 4, 4:] = 1, 2
    names = [
        name
        for name, row in PROPERTIES.items()
        if row.counted and (not row.ranks or rank in row.ranks) and name != "frame"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = regionprops_table(labels, labels * 1.5, names, spacing=spacing)
    ones = regionprops_table(labels, labels * 1.5, names)
    for name in ("eccentricity", "moments_hu-0") if rank == 2 else ("sphericity",):
        if 1e-60 <= spacing <= 1e60:
            np.testing.assert_allclose(table[name], ones[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("axes", [1, 4, 5])
def test_columns_said_to_be_defined_for_any_number_of_axes_are(axes):
    labels = np.arange(4**axes).reshape((4,) * axes) % 3
    names = [name for name, row in PROPERTIES.items() if not row.ranks and name != "frame"]
    table = regionprops_table(labels, labels * 2.5, names)
    for number in (1, 2):
        where = np.argwhere(labels == number)
        spread = np.cov(where.T, bias=True).reshape(axes, axes)
        for k in range(axes):
            expected = np.trace(spread) - spread[k, k]
            found = table[f"inertia_tensor-{k}-{k}"][number - 1]
            assert found == pytest.approx(expected, abs=1e-12)
    for name, row in PROPERTIES.items():
        if row.ranks and axes not in row.ranks:
            with pytest.raises(ValueError, match=f"{name!r} is defined for .* got {axes}"):
                regionprops_table(labels, labels, [name])


@pytest.mark.parametrize("side", [1, 2, 3, 8])
def test_the_orientation_of_a_square_is_that_of_skimage(side):
    labels = np.pad(np.ones((side, side), int), 1)
    expected = measure.regionprops_table(labels, properties=("orientation",))["orientation"]
    found = regionprops_table(labels, properties=("orientation",))["orientation"]
    assert found.tolist() == expected.tolist() == [-np.pi / 4]


def perimeter_by_links(mask, dy, dx):
    """Add, for each border pixel, the mean length of its links, by Benkrid and Crookes' rules."""
    field = np.pad(mask, 2)
    border = np.zeros_like(field)
    for y, x in zip(*field.nonzero(), strict=True):
        border[y, x] = not all((field[y - 1, x], field[y + 1, x], field[y, x - 1], field[y, x + 1]))
    total = 0.0
    for y, x in zip(*border.nonzero(), strict=True):
        straight = [dy] * int(border[y - 1, x]) + [dy] * int(border[y + 1, x])
        straight += [dx] * int(border[y, x - 1]) + [dx] * int(border[y, x + 1])
        corners = sum(int(border[y + j, x + i]) for j, i in product((-1, 1), repeat=2))
        a, b = len(straight), corners
        if a in (2, 3) and b < 3:
            total += sum(straight) / a
        elif (a, b) in ((0, 2), (1, 3)):
            total += hypot(dy, dx)
        elif a == 1 and b in (1, 2):
            total += (straight[0] + hypot(dy, dx)) / 2
    return total


@pytest.mark.parametrize("seed", range(6))
def test_every_border_pixel_adds_the_mean_length_of_its_links(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random((23, 70)) < 0.3 + 0.1 * seed
    dy, dx = 3.0, 5.0
    found = regionprops_table(mask.astype(int), properties=["perimeter"], spacing=(dy, dx))
    assert found["perimeter"] == pytest.approx([perimeter_by_links(mask, dy, dx)], rel=1e-9)
