"""Images come back as they were written: pixels, axes, sizes, units, names."""

import hashlib
import os
import re
import subprocess
import sys
import uuid

import numpy as np
import pytest
import tifffile

from equilabel.storage import tiff
from equilabel.storage.metadata import canonical
from equilabel.storage.tiff import UnreadableImageError, describe_tiff, read_tiff, write_labels
from pictures import DATA, READS_FAX, SAMPLES, pictures

GRAY = {"photometric": "minisblack"}


def pixels(*shape, dtype="uint16"):
    """Values that tell every position apart."""
    return (np.arange(np.prod(shape)) * 7 % 251).astype(dtype).reshape(shape)


def written(path, data, **options):
    tifffile.imwrite(path, data, **options)
    return read_tiff(path)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "image.tif"


def assert_same(image, data, axes):
    assert (image.axes, image.pixels.dtype) == (axes, data.dtype)
    assert image.pixels.flags.c_contiguous
    np.testing.assert_array_equal(image.pixels, data)


# ---------------------------------------------------------------- kinds of file


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("bigtiff", [False, True])
@pytest.mark.parametrize("compression", [None, "zlib", "lzw", "zstd", "packbits", "lzma"])
@pytest.mark.parametrize("tile", [None, (16, 32)])
def test_pixels_come_back(file, byteorder, bigtiff, compression, tile):
    data = pixels(5, 20, 37)
    options = {"compression": compression, "tile": tile, "metadata": None, **GRAY}
    image = written(file, data, byteorder=byteorder, bigtiff=bigtiff, **options)
    assert_same(image, data, "ZYX")
    assert image.pixels.dtype.isnative


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "uint64", "float32", "float64"])
def test_types_come_back(file, dtype):
    assert_same(written(file, pixels(9, 11, dtype=dtype)), pixels(9, 11, dtype=dtype), "YX")


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_one_bit_images_are_bool(file, compression):
    data = pixels(9, 11) > 100
    assert_same(written(file, data, compression=compression), data, "YX")


@pytest.mark.skipif(not READS_FAX, reason="this tifffile calls an older imagecodecs to pack bits")
def test_packed_12_bit_images_are_uint16(file):
    data = pixels(9, 12)
    assert_same(written(file, data, bitspersample=12, **GRAY), data, "YX")


def test_half_precision_becomes_single(file):
    data = pixels(9, 11, dtype="float16") / np.float16(8)
    assert_same(written(file, data), data.astype("float32"), "YX")


def test_complex_numbers_are_refused(file):
    with pytest.raises(UnreadableImageError, match=r"real numbers.*; got complex64"):
        written(file, pixels(9, 11, dtype="complex64"))


@pytest.mark.parametrize("predictor", [False, True])
def test_predictors_are_undone(file, predictor):
    data = pixels(20, 30)
    assert_same(written(file, data, compression="zlib", predictor=predictor), data, "YX")


def test_a_jpeg_has_its_shape(file):
    image = written(file, pixels(40, 51, dtype="uint8"), compression="jpeg", tile=(16, 16))
    assert image.pixels.shape == (40, 51)


# ------------------------------------------------------------------------ axes


@pytest.mark.parametrize("kind", ["ome", "imagej", "plain"])
@pytest.mark.parametrize("axes", ["YX", "ZYX", "TYX", "CYX", "TZYX", "TCYX", "TZCYX"])
def test_axes_come_back_in_the_order_tczyx(file, kind, axes):
    sizes = {"T": 2, "Z": 5, "C": 6, "Y": 8, "X": 9}
    data = pixels(*(sizes[axis] for axis in axes))
    options = {} if kind == "plain" else {kind: True}
    image = written(file, data, metadata={"axes": axes}, **options, **GRAY)
    order = sorted(axes, key="TCZYX".index)
    assert_same(image, data.transpose([axes.index(axis) for axis in order]), "".join(order))


def test_axes_of_length_1_are_dropped_but_for_y_and_x(file):
    image = written(file, pixels(1, 1, 1, 1, 9), ome=True, metadata={"axes": "TZCYX"}, **GRAY)
    assert (image.axes, image.pixels.shape) == ("YX", (1, 9))


def test_a_line_is_an_image_of_one_row(file):
    image = written(file, pixels(50))
    assert (image.axes, image.pixels.shape) == ("YX", (1, 50))


@pytest.mark.parametrize(
    ("shape", "axes"), [((7, 8, 9), "ZYX"), ((6, 7, 8, 9), "TZYX"), ((5, 6, 7, 8, 9), "CTZYX")]
)
def test_unknown_axes_become_z_then_t_then_c_and_are_noted(file, shape, axes):
    image = written(file, pixels(*shape), **GRAY)
    assert sorted(image.axes) == sorted(axes)
    order = [axes.index(axis) for axis in image.axes]
    np.testing.assert_array_equal(image.pixels, pixels(*shape).transpose(order))
    assert len(image.notes) == len(shape) - 2
    assert all("as the file does not name their axis" in note for note in image.notes)
    assert ("pass --stacked if they are times" in image.notes[-1]) == (axes == "ZYX")


def test_more_unknown_axes_than_letters_are_refused(file):
    with pytest.raises(UnreadableImageError, match="no axes beside"):
        written(file, pixels(2, 2, 2, 2, 8, 9), **GRAY)


@pytest.mark.parametrize("axes", ["ZY", "QX", "XX"])
def test_what_has_no_image_plane_is_refused(axes):
    with pytest.raises(UnreadableImageError, match=f"an axis [XY]; got axes '{axes}'"):
        canonical(np.zeros((2, 3)), axes)


@pytest.mark.parametrize("axis", "TCZ")
def test_lines_over_time_are_images_of_one_row(axis):
    values, axes, _ = canonical(np.zeros((2, 3)), f"{axis}X")
    assert (values.shape, axes) == ((2, 1, 3), f"{axis}YX")


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_samples_become_channels(file, planar):
    data = pixels(3, 8, 9, dtype="uint8")
    stored = np.moveaxis(data, 0, -1) if planar == "contig" else data
    image = written(file, stored, photometric="rgb", planarconfig=planar)
    assert_same(image, data, "CYX")
    assert image.channels == ("red", "green", "blue")


def test_colors_in_a_jpeg_have_their_names(file):
    pytest.importorskip("imagecodecs")
    data = np.full((16, 16, 3), (90, 40, 140), "uint8")
    image = written(file, data, photometric="rgb", compression="jpeg")
    assert image.channels == ("red", "green", "blue")
    np.testing.assert_allclose(image.pixels, np.moveaxis(data, -1, 0), atol=3)


def test_samples_of_several_channels_are_all_channels(file):
    data = pixels(2, 8, 9, 3, dtype="uint8")
    image = written(file, data, ome=True, photometric="rgb", metadata={"axes": "CYXS"})
    assert_same(image, np.moveaxis(data, -1, 1).reshape(6, 8, 9), "CYX")


def test_a_palette_is_not_applied_and_noted(file):
    data = pixels(8, 9, dtype="uint8")
    colors = np.arange(768, dtype="uint16").reshape(3, 256)
    image = written(file, data, photometric="palette", colormap=colors)
    assert_same(image, data, "YX")
    assert image.notes == ("The palette is not applied; values are indices of colors.",)


def test_a_palette_of_grays_is_applied_and_refused_in_parts_if_it_changes_values(file):
    data, grays = pixels(8, 9, dtype="uint8"), np.arange(256, dtype="uint16") * 257
    image = written(file, data, photometric="palette", colormap=[grays] * 3)
    assert_same(image, data, "YX")
    assert image.notes == describe_tiff(file).notes == ("The palette is gray, and was applied.",)
    assert_same(written(file, data, photometric="palette", colormap=[grays[::-1]] * 3), ~data, "YX")
    with pytest.raises(UnreadableImageError, match="must store gray values to be read in parts"):
        describe_tiff(file)


def test_white_as_zero_is_not_inverted_and_noted(file):
    image = written(file, pixels(8, 9), photometric="miniswhite")
    assert_same(image, pixels(8, 9), "YX")
    note = "White is 0 in this file; values are used as stored."
    assert image.notes == describe_tiff(file).notes == (note,)


# ------------------------------------------------------------ several images


def test_every_image_of_an_ome_file_can_be_read(file):
    with tifffile.TiffWriter(file, ome=True) as writer:
        writer.write(pixels(3, 8, 9), metadata={"axes": "ZYX", "PhysicalSizeX": 0.5}, **GRAY)
        writer.write(pixels(4, 5), metadata={"axes": "YX", "PhysicalSizeX": 2.0}, **GRAY)
    first, second = read_tiff(file), read_tiff(file, series=1)
    assert_same(first, pixels(3, 8, 9), "ZYX")
    assert_same(second, pixels(4, 5), "YX")
    assert (first.spacing, second.spacing) == ({"X": 0.5}, {"X": 2.0})
    assert (second.series, second.series_count) == (1, 2)
    assert first.notes[0].startswith("The file holds 2 images; number 0 was read and no other")
    assert second.notes[0].startswith("The file holds 2 images; number 1 was read")
    assert "--series" in first.notes[0]


@pytest.mark.parametrize("series", [1, -1])
def test_an_image_that_is_not_there_is_an_error(file, series):
    tifffile.imwrite(file, pixels(4, 5))
    with pytest.raises(ValueError, match=rf"series must be 0 for .*; got {series}\."):
        read_tiff(file, series=series)


def test_pages_written_one_by_one_are_one_stack(file):
    with tifffile.TiffWriter(file) as writer:
        for page in pixels(5, 8, 9):
            writer.write(page, compression="zlib", **GRAY)
    image = read_tiff(file)
    assert_same(image, pixels(5, 8, 9), "ZYX")
    assert image.series_count == 1


def test_of_a_pyramid_the_full_resolution_is_read_and_noted(file):
    with tifffile.TiffWriter(file, ome=True) as writer:
        writer.write(pixels(64, 64), subifds=1, metadata={"axes": "YX"}, **GRAY)
        writer.write(pixels(32, 32), subfiletype=1, **GRAY)
    image = read_tiff(file)
    assert_same(image, pixels(64, 64), "YX")
    assert image.notes == ("The file has 2 resolutions; the full one was read.",)


def test_a_pyramid_without_a_description_is_read(file):
    with tifffile.TiffWriter(file) as writer:
        writer.write(pixels(64, 64), subifds=1, metadata=None, **GRAY)
        writer.write(pixels(32, 32), subfiletype=1, metadata=None, **GRAY)
    assert_same(read_tiff(file), pixels(64, 64), "YX")


def test_an_imagej_stack_of_one_directory_is_read_whole(file):
    """ImageJ keeps only the first directory of stacks above 4 GB."""
    tifffile.imwrite(file, pixels(5, 8, 9), imagej=True, metadata={"axes": "ZYX"})
    with tifffile.TiffFile(file, mode="r+b") as opened:
        tags = opened.pages[0].tags
        opened.filehandle.seek(opened.pages[0].offset + 2 + 12 * len(tags))
        opened.filehandle.write(b"\0\0\0\0")
    assert_same(read_tiff(file), pixels(5, 8, 9), "ZYX")


# -------------------------------------------------------------- calibration

IMAGEJ = {"imagej": True, "resolution": (4, 2)}


@pytest.mark.parametrize("unit", [b"um", b"micron", b"\xb5m", b"\xc2\xb5m", rb"\u00B5m"])
def test_imagej_micrometres_have_one_spelling(file, unit):
    tifffile.imwrite(file, pixels(8, 9), **IMAGEJ, metadata={"unit": "x" * len(unit)})
    file.write_bytes(file.read_bytes().replace(b"unit=" + b"x" * len(unit), b"unit=" + unit))
    image = read_tiff(file)
    assert (image.spacing, image.unit) == ({"Y": 0.5, "X": 0.25}, "µm")


def test_imagej_gives_spacing_between_slices_and_seconds_between_frames(file):
    metadata = {"axes": "TZYX", "unit": "nm", "spacing": 300.0, "finterval": 2.5}
    image = written(file, pixels(2, 3, 8, 9), **IMAGEJ, metadata=metadata)
    assert (image.spacing, image.unit) == ({"Z": 300.0, "Y": 0.5, "X": 0.25}, "nm")
    assert image.interval == 2.5


def test_imagej_frames_may_be_timed_in_milliseconds(file):
    metadata = {"axes": "TYX", "finterval": 250, "tunit": "ms"}
    assert written(file, pixels(2, 8, 9), **IMAGEJ, metadata=metadata).interval == 0.25


def test_the_playback_rate_of_imagej_is_not_an_interval(file):
    image = written(file, pixels(2, 8, 9), **IMAGEJ, metadata={"axes": "TYX", "fps": 7.0})
    assert image.interval is None


def test_slices_spaced_in_pixels_keep_their_ratio(file):
    metadata = {"axes": "ZYX", "unit": "pixel", "spacing": 3.0}
    image = written(file, pixels(3, 8, 9), imagej=True, metadata=metadata)
    assert (image.spacing, image.unit) == ({"Z": 3.0, "Y": 1.0, "X": 1.0}, "")


def test_negative_spacing_is_taken_for_its_size(file):
    metadata = {"axes": "ZYX", "unit": "um", "spacing": -2.0}
    image = written(file, pixels(3, 8, 9), **IMAGEJ, metadata=metadata)
    assert image.spacing["Z"] == 2.0
    assert "negative" in image.notes[0]


def test_ome_sizes_come_in_one_unit(file):
    metadata = {"axes": "ZYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    metadata |= {"PhysicalSizeZ": 1500, "PhysicalSizeZUnit": "nm"}
    image = written(file, pixels(3, 8, 9), ome=True, metadata=metadata, **GRAY)
    assert (image.spacing, image.unit) == ({"Z": 1.5, "Y": 0.5, "X": 0.5}, "µm")


def test_ome_gives_names_of_channels_and_time(file):
    metadata = {"axes": "TCYX", "Channel": {"Name": ["DAPI", "GFP"]}}
    metadata |= {"TimeIncrement": 2, "TimeIncrementUnit": "min"}
    image = written(file, pixels(3, 2, 8, 9), ome=True, metadata=metadata, **GRAY)
    assert (image.channels, image.interval) == (("DAPI", "GFP"), 120.0)


def test_an_axis_that_is_not_there_has_no_size(file):
    metadata = {"axes": "YX", "PhysicalSizeZ": 3.0, "PhysicalSizeX": 1.0, "TimeIncrement": 2.0}
    image = written(file, pixels(8, 9), ome=True, metadata=metadata, **GRAY)
    assert (image.spacing, image.interval) == ({"X": 1.0}, None)
    del metadata["PhysicalSizeX"]
    image = written(file, pixels(8, 9), ome=True, metadata=metadata, **GRAY)
    assert (image.spacing, image.unit) == ({}, "")


@pytest.mark.parametrize(("unit", "name"), [("CENTIMETER", "cm"), ("INCH", "inch")])
def test_a_plain_file_gives_pixels_per_length(file, unit, name):
    image = written(file, pixels(8, 9), resolution=(5000, 2500), resolutionunit=unit)
    assert (image.spacing, image.unit) == ({"Y": 0.0004, "X": 0.0002}, name)


@pytest.mark.parametrize(
    ("dpi", "stored"),
    [(26, 26), (72, 72), (96, 96), (300, 300), (72, 28.35), (96, 37.8), (300, 118.11)],
)
def test_a_resolution_for_print_is_not_a_pixel_size(file, dpi, stored):
    unit = "INCH" if stored == dpi else "CENTIMETER"
    image = written(file, pixels(8, 9), resolution=(stored, stored), resolutionunit=unit)
    assert (image.spacing, image.unit) == ({}, "")
    note = f"{dpi} pixels per inch is a print resolution, not a pixel size; it is not used."
    assert image.notes == (note,)


def test_a_resolution_without_a_unit_is_unknown(file):
    image = written(file, pixels(8, 9), resolution=(4, 4), resolutionunit="NONE")
    assert (image.spacing, image.unit, image.notes) == ({}, "", ())


def test_a_unit_that_is_no_length_is_left_out_and_noted(file):
    image = written(file, pixels(8, 9), **IMAGEJ, metadata={"unit": "parsec"})
    assert (image.spacing, image.unit) == ({"Y": 0.5, "X": 0.25}, "")
    assert "'parsec'" in image.notes[0]


@pytest.mark.parametrize("size", [0, -1, "nan", "inf", "wide"])
def test_sizes_that_are_none_are_left_out(file, size):
    metadata = {"axes": "YX", "PhysicalSizeX": size, "PhysicalSizeY": 2.0}
    image = written(file, pixels(8, 9), ome=True, metadata=metadata, **GRAY)
    assert image.spacing == {"Y": 2.0}


# --------------------------------------------------------------- real images

REAL = {
    "blobs.tif": ("YX", (254, 256), "uint8", {}, ""),
    "maize_clsm.tif": ("YX", (640, 639), "uint8", {}, ""),
    "AICS_12_134_C2.tif": ("YX", (1024, 1024), "uint16", {"Y": 0.065, "X": 0.065}, "µm"),
    "hela-cells.tif": ("CYX", (3, 512, 672), "uint16", {"Y": 0.0515, "X": 0.0515}, "µm"),
    "mini-t1-head.tif": ("ZYX", (32,) * 3, "uint16", {"Z": 1.5, "Y": 1.5, "X": 1.5}, "mm"),
    "membrane_2d_timelapse.tif": ("ZYX", (5, 256, 256), "uint16", {}, ""),
    "BBBC007/A9 p7d.tif": ("YX", (340, 340), "uint16", {}, ""),
    # 26 pixels per inch is what a paint program left behind.
    "BBBC007/AS_09125_040701150004_A02f00d0.tif": ("YX", (340, 340), "uint16", {}, ""),
}
STAND_INS = {
    "blobs.tif": ("YX", (512, 512), "uint8", {}, ""),
    "movie.tif": ("TYX", (16, 192, 192), "uint16", {"Y": 0.65, "X": 0.65}, "µm"),
    "nuclei_2d.tif": ("YX", (512, 512), "uint16", {"Y": 0.325, "X": 0.325}, "µm"),
    "nuclei_3d.tif": ("ZYX", (32, 192, 192), "uint8", {"Z": 1.04, "Y": 0.26, "X": 0.26}, "µm"),
}
PICTURES = pictures(REAL, STAND_INS)


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_pictures_are_read_as_they_are(path):
    known = STAND_INS if path.parent == SAMPLES else REAL
    name = path.relative_to(SAMPLES if known is STAND_INS else DATA).as_posix()
    axes, shape, dtype, spacing, unit = known[name]
    image = read_tiff(path)
    assert (image.axes, image.pixels.shape, image.pixels.dtype) == (axes, shape, dtype)
    assert (image.spacing, image.unit) == (pytest.approx(spacing, rel=1e-3), unit)
    expected = tifffile.imread(path)
    expected = np.moveaxis(expected, -1, 0) if axes == "CYX" else expected
    np.testing.assert_array_equal(image.pixels, expected)


# ------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("largest", "dtype"),
    [
        *((0, "uint8"), (1, "uint8"), (255, "uint8"), (256, "uint16"), (65535, "uint16")),
        *((65536, "uint32"), (2**32 - 1, "uint32")),
    ],
)
@pytest.mark.parametrize("given", ["int64", "uint64"])
def test_labels_take_the_smallest_type_that_holds_them(file, largest, dtype, given):
    labels = np.zeros((20, 30), given)
    labels[3, 4] = largest
    write_labels(file, labels, axes="YX")
    image = read_tiff(file)
    assert image.pixels.dtype == dtype
    np.testing.assert_array_equal(image.pixels, labels)


@pytest.mark.parametrize("axes", ["YX", "ZYX", "TYX", "CYX", "TZYX", "TCZYX", "TZCYX"])
def test_labels_come_back_with_their_axes(file, axes):
    sizes = {"T": 2, "Z": 3, "C": 4, "Y": 33, "X": 35}
    labels = pixels(*(sizes[axis] for axis in axes), dtype="uint8")
    write_labels(file, labels, axes=axes)
    image = read_tiff(file)
    order = [axes.index(axis) for axis in image.axes]
    assert sorted(image.axes) == sorted(axes)
    np.testing.assert_array_equal(image.pixels, labels.transpose(order))
    assert image.notes == ()


@pytest.mark.parametrize("unit", ["µm", "nm", "mm", "cm", "m", "inch", "Å", "pm", "ft", ""])
def test_labels_keep_spacing_and_unit(file, unit):
    spacing = {"Z": 1 / 3, "Y": 0.06500000162500004, "X": 7e-5}
    write_labels(file, pixels(2, 8, 9), axes="ZYX", spacing=spacing, unit=unit)
    image = read_tiff(file)
    assert (image.spacing, image.unit) == (spacing, unit)


def test_labels_without_spacing_come_back_without(file):
    write_labels(file, pixels(8, 9), axes="YX", unit="nm")
    assert (read_tiff(file).spacing, read_tiff(file).unit) == ({}, "")


@pytest.mark.parametrize(
    ("size", "unit", "per_centimeter"),
    [
        (0.325, "µm", 1e4 / 0.325),
        (0.05149313617092096, "µm", 1e4 / 0.05149313617092096),
        (12.0, "nm", 1e7 / 12),
        (1.5, "mm", 10 / 1.5),
        (2.0, "km", 5e-6),
    ],
)
def test_programs_that_look_in_the_tags_alone_find_the_pixel_size(file, size, unit, per_centimeter):
    """As ImageJ does: it shows a size in centimeters in micrometers."""
    write_labels(file, pixels(8, 9), axes="YX", spacing={"Y": size, "X": 2 * size}, unit=unit)
    with tifffile.TiffFile(file) as tiff:
        tags = tiff.pages[0].tags
        down, across = (tags[name].value for name in ("YResolution", "XResolution"))
        assert tags["ResolutionUnit"].value == 3
    assert down[0] / down[1] == pytest.approx(per_centimeter, rel=1e-4)  # tifffile before 2026
    assert across[0] / across[1] == pytest.approx(per_centimeter / 2, rel=1e-4)


@pytest.mark.parametrize(
    ("spacing", "unit"),
    [({"Y": 2.0, "X": 2.0}, ""), ({"X": 2.0}, "µm"), ({"Y": 9e9, "X": 1.0}, "m")],
)
def test_a_pixel_size_that_tags_cannot_hold_is_left_to_the_metadata(file, spacing, unit):
    write_labels(file, pixels(8, 9), axes="YX", spacing=spacing, unit=unit)
    with tifffile.TiffFile(file) as tiff:
        assert tiff.pages[0].tags["ResolutionUnit"].value == 1
    assert read_tiff(file).spacing == spacing


def test_labels_keep_the_time_between_frames(file):
    write_labels(file, pixels(2, 8, 9), axes="TYX", interval=0.1)
    assert read_tiff(file).interval == 0.1


def test_labels_of_bool_are_written(file):
    write_labels(file, pixels(8, 9) > 100, axes="YX")
    assert_same(read_tiff(file), (pixels(8, 9) > 100).astype("uint8"), "YX")


@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (700, 1), (513, 17)])
def test_labels_of_any_shape_are_written(file, shape):
    write_labels(file, pixels(*shape), axes="YX")
    np.testing.assert_array_equal(read_tiff(file).pixels, pixels(*shape))


def test_labels_in_any_memory_order_are_written(file):
    labels = pixels(4, 20, 30).transpose(0, 2, 1)[:, ::-2]
    write_labels(file, labels, axes="ZYX")
    np.testing.assert_array_equal(read_tiff(file).pixels, labels)


def test_labels_are_a_tiled_deflated_ome_tiff_with_a_name(file):
    write_labels(file, pixels(3, 40, 50), axes="ZYX", name="nuclei <1>")
    with tifffile.TiffFile(file) as opened:
        page = opened.pages[0]
        assert (opened.is_ome, opened.is_bigtiff, opened.byteorder) == (True, False, "<")
        assert (page.is_tiled, page.compression.name) == (True, "ADOBE_DEFLATE")
        assert opened.series[0].name == "nuclei <1>"


def test_labels_too_large_for_a_classic_tiff_become_a_bigtiff(file, monkeypatch):
    monkeypatch.setattr(tiff, "CLASSIC_BYTES", 8 * 9 * 2 - 1)
    write_labels(file, pixels(8, 9) + np.uint16(256), axes="YX")
    with tifffile.TiffFile(file) as opened:
        assert opened.is_bigtiff
    np.testing.assert_array_equal(read_tiff(file).pixels, pixels(8, 9) + 256)


ELSEWHERE = """
import os, socket, sys, time, uuid
import numpy as np
from equilabel.storage.tiff import write_labels

network = int(sys.argv[2])
uuid.getnode = lambda: network
uuid._node = network
socket.gethostname = lambda: f"host-{network}"
labels = np.arange(600).reshape(3, 10, 20) // 7
write_labels(sys.argv[1], labels, axes="ZYX", spacing={"Z": 2.0, "Y": 0.7, "X": 0.3}, unit="nm")
"""


def test_labels_are_the_same_bytes_on_every_machine_at_any_time(tmp_path):
    written = []
    for network, zone in ((0x02FC00000001, "UTC"), (0x123456789ABC, "Asia/Tokyo")):
        file = tmp_path / f"{zone[:3]}" / "labels.ome.tif"
        file.parent.mkdir()
        command = [sys.executable, "-c", ELSEWHERE, str(file), str(network)]
        surroundings = os.environ | {"TZ": zone, "USER": zone[:3], "HOSTNAME": zone[:3]}
        subprocess.run(command, check=True, env=surroundings)
        written.append(hashlib.sha256(file.read_bytes()).hexdigest())
        assert b"02fc00000001" not in file.read_bytes()
    assert written[0] == written[1]
    with tifffile.TiffFile(file) as opened:
        names = re.findall('UUID="([^"]*)"', opened.ome_metadata)
    assert [uuid.UUID(name).urn for name in names] == names  # one, as OME's schema wants it
    assert [uuid.UUID(name).version for name in names] == [5]


@pytest.mark.parametrize("change", ["labels", "type", "name", "spacing", "interval"])
def test_other_labels_have_another_identifier(file, change):
    def identifier(**options):
        given = {"labels": np.ones((2, 8, 9), int), "axes": "TYX", **options}
        write_labels(file, **given)
        with tifffile.TiffFile(file) as opened:
            return re.search('UUID="([^"]*)"', opened.ome_metadata)[1]

    other = {
        "labels": {"labels": np.zeros((2, 8, 9), int)},
        "type": {"labels": np.full((2, 8, 9), 257)},
        "name": {"name": "cells"},
        "spacing": {"spacing": {"X": 2.0}},
        "interval": {"interval": 1.0},
    }
    assert identifier() == identifier() != identifier(**other[change])


def test_labels_replace_earlier_ones(file):
    write_labels(file, pixels(3, 40, 50), axes="ZYX")
    write_labels(file, pixels(8, 9), axes="YX")
    assert read_tiff(file).pixels.shape == (8, 9)


WRONG = {
    "large": ({"labels": np.array([[2**32]])}, ValueError, "0 to 4294967295 .*to 4294967296"),
    "negative": ({"labels": np.array([[-1]])}, ValueError, "got -1 to -1. Number them"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_written_is_refused_before_a_file_exists(file, case):
    change, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        write_labels(file, **{"labels": np.eye(2, dtype=int), "axes": "YX", **change})
    assert list(file.parent.iterdir()) == []
