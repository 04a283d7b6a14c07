"""Lengths and sizes mean what is written, in pixels or in a unit, and never anything else."""

import re

import numpy as np
import pytest

from equilabel.quantities import length_in_pixels, parse, size_in_pixels

CALIBRATED = {"spacing": (0.5, 0.1), "unit": "µm"}


@pytest.mark.parametrize(
    ("written", "meaning"),
    [
        *((2, "2 px"), (np.float32(0.5), "0.5 px"), ("2", "2 px"), (" 2 px ", "2 px")),
        *(("1e-1 pixels", "0.1 px"), ("30voxels", "30 px"), (".5PX", "0.5 px")),
        *(("0.3um", "0.3 µm"), ("0.3 µm", "0.3 µm"), ("0.3μm", "0.3 µm"), ("3 microns", "3 µm")),
        *(("300nm", "300 nm"), ("1e3nm", "1000 nm"), ("5 Å", "5 Å"), ("2 in", "2 inch")),
        *(("5um2", "5 µm²"), ("5 um^2", "5 µm²"), ("5µm²", "5 µm²"), ("5um**2", "5 µm²")),
        *(("1um3", "1 µm³"), ("1 um³", "1 µm³")),
    ],
)
def test_numbers_and_text_are_read_alike_however_they_are_spelled(written, meaning):
    assert str(parse("sigma", written)) == meaning
    assert parse("sigma", meaning) == parse("sigma", written)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        *((-1, "0 or more"), ("-1um", "0 or more"), (float("nan"), "finite"), ("inf", "finite")),
        *(("nan um", "finite"), ("0,3um", "a point in place of the comma"), ("", "its unit")),
        *(("um", "its unit"), ("2 3", "its unit"), ("3um4", "its unit"), ("2px!", "its unit")),
        *(("3uum", "Did you mean 'µm'"), ("3 parsec", "px or one of ['km'"), ("1e999um", "finite")),
    ],
)
def test_what_is_no_length_is_refused_with_a_remedy(written, said):
    with pytest.raises(ValueError, match=rf"^sigma must be .*{re.escape(said)}") as error:
        parse("sigma", written)
    assert repr(written) in str(error.value)


@pytest.mark.parametrize("written", [True, None, 1j, b"2px", [2]])
def test_what_is_neither_number_nor_text_is_refused(written):
    with pytest.raises(TypeError, match=r"^sigma must be a number of pixels, or"):
        parse("sigma", written)


def test_a_length_in_space_is_divided_by_the_pixel_size_of_each_axis():
    assert length_in_pixels("sigma", "0.3um", 2, **CALIBRATED) == (0.6, 3.0)
    assert length_in_pixels("sigma", "300 nm", 2, spacing=(500, 100), unit="nm") == (0.6, 3.0)
    assert length_in_pixels("sigma", ("1um", "2px"), 2, **CALIBRATED) == (2.0, 2.0)
    assert length_in_pixels("sigma", np.array([1, 2]), 2) == (1.0, 2.0)


def test_a_number_of_pixels_does_not_depend_on_the_pixel_size():
    assert length_in_pixels("sigma", 2, 2, **CALIBRATED) == (2.0, 2.0)
    assert size_in_pixels("min_size", "30px", 2, **CALIBRATED) == 30


def test_sizes_are_exact_so_that_rounding_them_adds_no_pixel():
    assert size_in_pixels("min_size", "0.03um2", 2, spacing=(0.1, 0.1), unit="um") == 3
    assert size_in_pixels("min_size", "9px3", 3) == 9


@pytest.mark.parametrize(
    ("function", "value", "rank", "remedy"),
    [
        (length_in_pixels, "3um2", 2, "3µm"),
        (size_in_pixels, "3um", 2, "3µm2"),
        (size_in_pixels, "3um2", 3, "3µm3"),
        (size_in_pixels, "3px3", 2, "3px2"),
        (size_in_pixels, "3um3", 4, "30px"),
    ],
)
def test_another_dimension_is_refused_and_its_remedy_works(function, value, rank, remedy):
    known = {"spacing": (1.0,) * rank, "unit": "µm"}
    with pytest.raises(ValueError, match=rf"^x must be .*{value}.*'{remedy}'") as error:
        function("x", value, rank, **known)
    assert any(word in str(error.value) for word in (", a length", ", an area", ", a volume"))
    assert function("x", remedy, rank, **known)


@pytest.mark.parametrize(
    ("known", "remedy"),
    [
        ({}, "spacing=0.1 with unit='µm'"),
        ({"spacing": (0.1, 0.1)}, "unit='µm'"),
        ({"spacing": (0.1, 0.1), "unit": "px"}, "unit='µm'"),
    ],
)
def test_a_unit_needs_a_pixel_size_with_a_unit(known, remedy):
    with pytest.raises(ValueError, match=rf"^x must be in pixels .*{re.escape(remedy)}"):
        length_in_pixels("x", "3um", 2, **known)
    with pytest.raises(ValueError, match=r"^x must be in pixels"):
        size_in_pixels("x", "3um2", 2, **known)


def test_as_many_lengths_as_axes():
    with pytest.raises(ValueError, match=r"^sigma must be one length, or one for each of 2 axes"):
        length_in_pixels("sigma", (1, 2, 3), 2)


def test_an_unknown_unit_of_the_pixel_size_is_named_with_a_near_one():
    with pytest.raises(ValueError, match=r"^unit must be .*got 'nmm'. Did you mean 'nm'"):
        length_in_pixels("sigma", "3um", 1, spacing=(1.0,), unit="nmm")
