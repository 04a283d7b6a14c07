"""What scikit-image's documentation promises of the functions we replace, beyond their numbers.

Every test asks both libraries, so that it also notices when scikit-image changes. That labels,
columns and thresholds have the same values is tested in the files on these.
"""

import numpy as np
import pytest
from skimage import filters, measure

from equilabel import binarize, label, regionprops_table

LABELS = np.array([[1, 1, 0, 0], [1, 0, 2, 2], [0, 0, 2, 2]])
VOLUME = np.ones((2, 2, 2), int)


def raised(call):
    """Return the types of the error that a call raises."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call()
    return caught.type.__mro__


# ----------------------------------------------------------------------- label


def test_the_example_of_the_documentation_of_label():
    x = np.eye(3).astype(int)
    for connectivity in (1, 2):
        np.testing.assert_array_equal(
            label(x, connectivity=connectivity), measure.label(x, connectivity=connectivity)
        )
    x = np.array([[1, 0, 0], [1, 1, 5], [0, 0, 0]])
    for background in (-1, 0, 5):
        np.testing.assert_array_equal(label(x, background), measure.label(x, background))
    assert label(x, return_num=True)[1] == measure.label(x, return_num=True)[1] == 2


def test_floats_that_are_whole_are_labeled_as_by_skimage():
    image = np.floor(np.random.default_rng(0).random((30, 40)) * 3)
    np.testing.assert_array_equal(label(image), measure.label(image))


def test_arguments_may_be_given_by_place():
    for arguments in ((0,), (0, True), (0, True, 1), (None, False, 2)):
        ours, theirs = label(LABELS, *arguments), measure.label(LABELS, *arguments)
        if isinstance(ours, tuple):
            assert ours[1] == theirs[1]
            ours, theirs = ours[0], theirs[0]
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("connectivity", [0, 3, -1])
def test_a_wrong_connectivity_is_an_error_of_the_same_type(connectivity):
    for image in (LABELS, LABELS > 0):
        theirs = raised(lambda image=image: measure.label(image, connectivity=connectivity))
        ours = raised(lambda image=image: label(image, connectivity=connectivity))
        assert theirs[0] in ours


# ----------------------------------------------------------- regionprops_table


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        (VOLUME, {"properties": ["perimeter"]}),
        (VOLUME, {"properties": ["eccentricity"]}),
        (VOLUME, {"properties": ["orientation"]}),
        (VOLUME, {"properties": ["moments_hu"]}),
        (LABELS, {"properties": ["intensity_mean"]}),
        (LABELS, {"properties": ["image_intensity"]}),
        (LABELS, {"properties": ["weighted_moments"]}),
        (LABELS, {"properties": ["no_such_property"]}),
        (LABELS.astype(float), {}),
        (LABELS > 0, {}),
        (LABELS, {"spacing": True}),
        (LABELS, {"spacing": "x"}),
        (LABELS, {"spacing": (1, 2, 3)}),
        (LABELS, {"spacing": np.array([[1, 2]])}),
        (LABELS, {"intensity_image": LABELS[:1]}),
    ],
)
def test_what_is_refused_is_an_error_of_the_same_type(labels, options):
    theirs = raised(lambda: measure.regionprops_table(labels, **options))
    assert theirs[0] in raised(lambda: regionprops_table(labels, **options))


def whole(mask):
    return int(mask.sum())


def single(mask):
    return np.float32(mask.mean())


def flag(mask):
    return bool(mask[0, 0])


def word(mask):
    return "wide" if mask.shape[1] > mask.shape[0] else "tall"


def pair(mask):
    return np.array(mask.shape)


def strongest(mask, values):
    return values[mask].max()


FUNCTIONS = (whole, single, flag, pair, strongest)


def assert_same_tables(ours, theirs):
    assert list(ours) == list(theirs)
    for name, column in theirs.items():
        assert ours[name].dtype == column.dtype, name
        np.testing.assert_array_equal(ours[name], column)


def test_extra_properties_have_the_types_that_skimage_gives_them():
    values = LABELS * 1.5
    for names in (("label",), ("label", "area", "whole"), ("pair", "label"), ()):
        ask = {"properties": names, "extra_properties": FUNCTIONS}
        assert_same_tables(
            regionprops_table(LABELS, values, **ask),
            measure.regionprops_table(LABELS, values, **ask),
        )


def test_words_come_whole_where_skimage_cuts_them():
    ours = regionprops_table(LABELS, extra_properties=[word])["word"]
    assert ours.tolist() == ["tall", "tall"]
    theirs = measure.regionprops_table(LABELS, extra_properties=[word])["word"]
    assert theirs.tolist() == ["t", "t"]


def test_an_extra_property_may_be_named_among_the_properties():
    ask = {"properties": ("whole", "label"), "extra_properties": [whole]}
    assert_same_tables(regionprops_table(LABELS, **ask), measure.regionprops_table(LABELS, **ask))
    with pytest.raises(ValueError, match="got 'wholes'"):
        regionprops_table(LABELS, properties=["wholes"], extra_properties=[whole])


@pytest.mark.filterwarnings("ignore:Extra property 'area' is shadowed")
def test_an_extra_property_never_replaces_one_of_the_same_name():
    def area(mask):
        return -1

    ask = {"properties": ("label", "area"), "extra_properties": [area]}
    assert_same_tables(regionprops_table(LABELS, **ask), measure.regionprops_table(LABELS, **ask))


def test_an_extra_property_that_is_no_function_is_refused():
    for wrong in ([3], ["area"]):
        with pytest.raises(TypeError, match="extra_properties must be functions that have a name"):
            regionprops_table(LABELS, extra_properties=wrong)
    with pytest.raises(NotImplementedError, match="for 2 or 3 spatial axes; got 4"):
        regionprops_table(np.ones((2, 2, 2, 2), int), extra_properties=[whole])


@pytest.mark.parametrize("spacing", [None, 1, 2, (1, 2), 1.0, (0.5, 2)])
def test_scaled_coordinates_have_the_type_that_the_spacing_gives_them(spacing):
    options = {} if spacing is None else {"spacing": spacing}
    ours = regionprops_table(LABELS, properties=["coords_scaled", "coords"], **options)
    theirs = measure.regionprops_table(LABELS, properties=["coords_scaled", "coords"], **options)
    for name in theirs:
        for one, other in zip(ours[name], theirs[name], strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------ thresholds


def test_a_histogram_without_two_peaks_is_an_error_of_the_same_type():
    image = np.arange(100).reshape(10, 10)
    theirs = raised(lambda: filters.threshold_minimum(image))
    assert theirs[0] in raised(lambda: binarize(image, "minimum"))
