"""Files that are cut, lie or are no images are refused before they are read, in one line."""

import logging
import os
import random
import struct
import time
import tracemalloc

import numpy as np
import pytest
import tifffile

from equilabel.storage.tiff import UnreadableImageError, read_tiff, write_labels
from pictures import READS_FAX

imagecodecs = pytest.importorskip("imagecodecs")

GRAY = {"photometric": "minisblack"}
SHAPE = (3, 4, 20, 30)


def pixels(*shape, dtype="uint16"):
    values = np.random.default_rng(0).integers(0, 3, np.prod(shape)).cumsum() % 251
    return values.astype(dtype).reshape(shape)


def tiff_bytes(*pages, big=False, tail=b"", last=0):
    """A TIFF with these tags and no others; the pixels are `tail`, at the end of the file."""
    head = (
        struct.pack("<2sHHHQ", b"II", 43, 8, 0, 16) if big else struct.pack("<2sHI", b"II", 42, 8)
    )
    directory, entry, position = ("<Q", "<HHQQ", "<Q") if big else ("<H", "<HHII", "<I")
    data = head
    for index, tags in enumerate(pages):
        length = struct.calcsize(directory) + len(tags) * (20 if big else 12)
        after = len(data) + length + struct.calcsize(position)
        following = after if index < len(pages) - 1 else last
        data += struct.pack(directory, len(tags))
        data += b"".join(struct.pack(entry, code, *value) for code, value in sorted(tags.items()))
        data += struct.pack(position, following)
    return data + tail


def page(width=4, length=4, *, at=200, count=16, compression=1, **more):
    """Tags of a page of one strip, (type, number of values, value) by code."""
    tags = {256: (4, 1, width), 257: (4, 1, length), 258: (3, 1, 8), 259: (3, 1, compression)}
    tags |= {262: (3, 1, 1), 273: (4, 1, at), 277: (3, 1, 1), 278: (4, 1, length)}
    return tags | {279: (4, 1, count)} | {int(code[1:]): value for code, value in more.items()}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "image.tif"


def assert_refused(file, data, message="image file must"):
    """The file is refused in one line of the house's form."""
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(UnreadableImageError, match=message) as caught:
        read_tiff(file)
    text = str(caught.value)
    assert text.startswith("image file must ")
    assert "; got " in text
    assert text.endswith(".")
    assert "\n" not in text


def test_the_hand_made_file_is_read(file):
    file.write_bytes(tiff_bytes(page(at=122), tail=bytes(range(16))))
    assert read_tiff(file).pixels.tolist() == np.arange(16).reshape(4, 4).tolist()


# ------------------------------------------------------------- not even a TIFF


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "be a TIFF; got one that begins with b''"),
        (b"not an image at all", "be a TIFF; got one that begins with b'not an i'"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), r"be a TIFF; got a PNG\. Rename it to end in '\.png'\."),
        (b"GIF89a" + bytes(50), "be a TIFF; got a GIF. Convert it to TIFF"),
        (b"SIMPLE  =                    T".ljust(2880), "be a TIFF; got a FITS file. Convert it"),
        (b"\x89HDF\r\n\x1a\n" + bytes(50), "be a TIFF; got an HDF5 file. Convert it"),
        (b"II", "be a TIFF; got one that begins with b'II'"),
        (b"II*\0", "at least one page"),
        (b"II*\0\0\0\0\0", "at least one page; got a header alone"),
        (b"II+\0\x08\0\0\0" + bytes(8), "at least one page; got a header alone"),
        (b"II+\0\x04\0\0\0" + bytes(8), "begin like a BigTIFF"),
        (b"II*\0\x08\0\0\0", "be complete; got 8 bytes"),
        (b"II*\0\xff\xff\xff\x7f", "be complete"),
        (b"II*\0\x08\0\0\0\0\0\0\0\0\0", "have 1 to 4096 tags per page; got 0"),
        (b"II*\0\x08\0\0\0\xff\xff" + bytes(100), "have 1 to 4096 tags per page; got 65535"),
        (random.Random(0).randbytes(500), "be a TIFF; got one that begins with"),
    ],
)
def test_what_is_no_tiff_is_refused(file, data, message):
    assert_refused(file, data, message)


def test_encrypted_bytes_are_refused_with_the_remedy(file):
    assert_refused(file, b"Salted__" + bytes(range(100)), "if it is one, decrypt it")


def test_a_missing_file_is_the_systems_error(file):
    with pytest.raises(FileNotFoundError, match=r"image\.tif"):
        read_tiff(file)


def test_a_folder_is_refused(tmp_path):
    assert_refused(tmp_path, None, "be a file; got a folder")


def test_a_pipe_is_refused_and_not_waited_for(file):
    os.mkfifo(file)
    assert_refused(file, None, "be a file; got a device or a pipe")


# ---------------------------------------------------------------- lying pages


@pytest.mark.parametrize("last", [8, 122])
def test_directories_in_a_loop_are_refused(file, last):
    assert_refused(file, tiff_bytes(page(at=300), page(at=300), tail=bytes(300), last=last), "loop")


def test_a_next_page_outside_of_the_file_is_refused(file):
    assert_refused(file, tiff_bytes(page(), tail=bytes(300), last=10**6), "be complete; got")


@pytest.mark.parametrize("code", [256, 257, 277, 32997])
def test_axes_of_length_0_are_refused(file, code):
    data = tiff_bytes(page(**{f"_{code}": (4, 1, 0)}), tail=bytes(300))
    assert_refused(file, data, "1 pixel or more along every axis")


@pytest.mark.parametrize("code", [256, 257, 273])
def test_a_page_without_a_needed_tag_is_refused(file, code):
    tags = page()
    del tags[code]
    assert_refused(file, tiff_bytes(tags, tail=bytes(300)))


def test_a_tag_of_another_type_is_refused(file):
    data = tiff_bytes(page(_256=(11, 1, 4)), tail=bytes(300))
    assert_refused(file, data, "whole numbers in its tags; got 1 of type 11")


def test_a_value_outside_of_the_file_is_refused_but_for_private_tags(file):
    outside = (5, 1, 10**6)
    assert_refused(file, tiff_bytes(page(at=134, _282=outside), tail=bytes(16)), "be complete")
    file.write_bytes(tiff_bytes(page(at=134, _40000=outside), tail=bytes(16)))
    assert read_tiff(file).pixels.shape == (4, 4)


def test_strips_and_tiles_without_rows_are_refused(file):
    assert_refused(file, tiff_bytes(page(_278=(4, 1, 0)), tail=bytes(300)), "1 row or more")
    tile = page(_322=(4, 1, 16), _323=(4, 1, 0))
    assert_refused(file, tiff_bytes(tile, tail=bytes(300)), "1 row or more")


def test_a_fax_of_more_than_one_bit_is_refused(file):
    assert_refused(file, tiff_bytes(page(compression=2), tail=bytes(300)), "1 bit per sample")


@pytest.mark.skipif(not READS_FAX, reason="the page is refused for its fax codes before")
def test_a_size_that_others_read_differently_is_refused(file):
    """Two values in the place of one: tifffile drops such a tag, and reads nothing."""
    fax = page(8, 42, at=110, count=80, compression=3, _257=(4, 2, 2), _258=(3, 1, 1))
    del fax[278]
    data = tiff_bytes(fax, tail=bytes(80))
    assert_refused(file, data, "first page of .* that can be read; got")


def test_bits_of_more_samples_than_there_are_are_refused(file):
    data = tiff_bytes(page(_258=(3, 3, 122)), tail=bytes(300))
    assert_refused(file, data, "1 to 128 bits per sample")


@pytest.mark.parametrize("bits", [0, 129, 65535])
def test_samples_without_bits_or_with_too_many_are_refused(file, bits):
    data = tiff_bytes(page(_258=(3, 1, bits)), tail=bytes(300))
    assert_refused(file, data, "1 to 128 bits per sample")


@pytest.mark.parametrize(
    ("at", "count"), [(10**6, 16), (400, 16), (2**32 - 1, 16), (0, 16), (200, 0)]
)
def test_strips_outside_of_the_file_are_refused(file, at, count):
    data = tiff_bytes(page(at=at, count=count), tail=bytes(280))
    assert_refused(file, data, "hold the bytes of every strip and tile")


def test_a_single_strip_may_leave_out_its_length(file):
    tags = page(at=110)
    del tags[279]
    file.write_bytes(tiff_bytes(tags, tail=bytes(range(16))))
    assert read_tiff(file).pixels.sum() == 120


@pytest.mark.parametrize("below", [8, 10**6, 122])
def test_broken_pages_below_a_page_are_refused(file, below):
    data = tiff_bytes(page(at=134, _330=(4, 1, below)), tail=bytes(16))
    assert_refused(file, data, "list each page once" if below == 8 else "image file must")


@pytest.mark.parametrize("count", [15, 17])
def test_an_uncompressed_strip_of_another_length_is_refused(file, count):
    data = tiff_bytes(page(count=count), tail=bytes(300))
    assert_refused(file, data, f"16 bytes .*; got {count}")


def test_bytes_behind_a_strip_without_a_length_are_refused(file):
    tags = page(at=110)
    del tags[279]
    for behind in (b"\1" * 63, bytes(99)):
        file.write_bytes(tiff_bytes(tags, tail=bytes(16) + behind))
        assert read_tiff(file).pixels.shape == (4, 4)
    data = tiff_bytes(tags, tail=bytes(16) + b"\1" * 64)
    assert_refused(file, data, "account for its bytes; got 64 of 190")


def test_a_lost_page_is_missed_in_several_gaps_and_behind_a_value_that_is_too_long(file):
    stack = np.random.default_rng(0).integers(0, 99, (4, 20, 28)).astype("uint8")
    tifffile.imwrite(file, stack, compression="lzw", rowsperstrip=9, metadata=None, **GRAY)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        pages = [page.aspage() for page in opened.pages]
        offsets, counts = pages[1].dataoffsets, pages[1].databytecounts
        opened.filehandle.seek(pages[0].offset + 2 + 12 * len(pages[0].tags))
        opened.filehandle.write(struct.pack("<I", pages[2].offset))  # page 1 is left out
        opened.filehandle.flush()
        cut = file.read_bytes()
        for name, values in (("StripOffsets", offsets), ("StripByteCounts", counts)):
            both = list(pages[2].tags[name].value)
            pages[2].tags[name].overwrite([both[0], values[1], both[2]])
    assert_refused(file, None, "account for its bytes")
    at = pages[0].tags["YResolution"].offset
    many = (pages[2].dataoffsets[0] - pages[1].offset) // 8 + 2  # reaches into pixels
    longer = cut[: at + 4] + struct.pack("<II", many, pages[1].offset) + cut[at + 12 :]
    assert_refused(file, longer, "account for its bytes")


def test_more_positions_than_strips_are_refused(file):
    data = tiff_bytes(page(_273=(3, 2, 200)), tail=bytes(300))
    assert_refused(file, data, "locate each of its 1 strips or tiles; got 2 positions")


def test_a_compression_nobody_knows_is_refused(file):
    data = tiff_bytes(page(compression=54321), tail=bytes(300))
    assert_refused(file, data, "compression that can be decoded; got number 54321")


@pytest.mark.parametrize(("code", "value"), [(257, 7), (257, 5), (256, 3), (256, 5)])
@pytest.mark.parametrize("compression", ["lzw", "zlib", "packbits", "zstd", "lzma"])
def test_compressed_strips_of_another_length_are_refused(file, code, value, compression):
    tifffile.imwrite(file, pixels(6, 4), compression=compression, metadata=None, rowsperstrip=4)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        opened.pages[0].tags[code].overwrite(value)
    assert_refused(file, None)


@pytest.mark.parametrize(("code", "value"), [(256, 50), (256, 65), (257, 50), (257, 65)])
def test_a_jpeg_of_another_shape_is_refused(file, code, value):
    data = pixels(64, 64, dtype="uint8")
    tifffile.imwrite(file, data, compression="jpeg", metadata=None, rowsperstrip=64)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        opened.pages[0].tags[code].overwrite(value)
        if code == 257:
            opened.pages[0].tags[278].overwrite(value)
    assert_refused(file, None, "have strips or tiles of .* values; got 64 x 64 x 1")


def test_pages_of_different_layout_are_no_stack(file):
    axes = {"metadata": {"axes": "TZYX"}}
    tifffile.imwrite(file, pixels(*SHAPE, dtype="int16"), ome=True, compression="zlib", **axes)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        opened.pages[3].aspage().tags[339].overwrite(1)  # unsigned
    assert_refused(file, None, "pages of one layout in a stack; got another on page 3")


def test_a_plain_stack_that_fell_apart_is_refused(file):
    tifffile.imwrite(file, pixels(5, 8, 9), metadata=None, **GRAY)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        opened.pages[2].aspage().tags[262].overwrite(0)
    assert_refused(file, None, "one layout for its 5 pages of one size; got 4")


def test_a_page_of_a_stack_whose_type_nobody_knows_is_refused(file):
    tifffile.imwrite(file, pixels(4, 20, 28), compression="lzw", metadata=None, **GRAY)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        opened.pages[2].aspage().tags["BitsPerSample"].overwrite(48)
    assert_refused(file, None, "pages of known types; got 48 bits on page 2")


def test_a_page_of_another_size_whose_type_nobody_knows_is_left_alone(file):
    with tifffile.TiffWriter(file) as writer:
        for size in (20, 12):
            writer.write(pixels(size, 28), compression="lzw", metadata=None, **GRAY)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        opened.pages[1].aspage().tags["BitsPerSample"].overwrite(48)
    assert read_tiff(file).pixels.shape == (20, 28)


@pytest.mark.parametrize("keep", [1, 3])
def test_a_plain_stack_whose_chain_was_cut_is_refused(file, keep):
    tifffile.imwrite(file, pixels(5, 8, 9), metadata=None, **GRAY)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        page = opened.pages[keep - 1]
        tags = page.aspage().tags
        opened.filehandle.seek(page.offset + 2 + 12 * len(tags))
        opened.filehandle.write(bytes(4))
    assert_refused(file, None, "account for its bytes")


def test_the_gaps_that_writers_leave_between_pages_are_no_lost_pages(file):
    data = np.random.default_rng(0).integers(0, 99, (80, 16, 16)).astype("uint8")
    tifffile.imwrite(file, data, compression="zlib", metadata=None, **GRAY)
    np.testing.assert_array_equal(read_tiff(file).pixels, data)


# ------------------------------------------------------------ lying metadata


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        ("imagej", "frames=3", "frames=9", "the 36 planes its ImageJ .* announces; got 12"),
        ("imagej", "images=12", "images=99", "the 99 planes its ImageJ .* announces; got 12"),
        ("imagej", "slices=4", "slices=0", "announce 1 plane or more"),
        ("imagej", "slices=4", "slices=x", "description that can be parsed"),
        ("imagej", "ImageJ=1", "Imagej=1", "begins like those of its writer"),
        ("ome", 'SizeT="3"', 'SizeT="9"', "no fewer and no more; got 12 pages for"),
        ("ome", 'SizeT="3"', 'SizeT="1"', "no fewer and no more; got 12 pages for"),
        ("ome", 'SizeX="30"', 'SizeX="15"', "no fewer and no more"),
        ("ome", 'SizeT="3"', 'SizeT="0"', "1 pixel or more along every axis"),
        ("ome", 'PlaneCount="12"', 'PlaneCount="99"', "announces; got page 98 of 12"),
        ("ome", 'IFD="0"', 'IFD="7"', "announces; got page 18 of 12"),
        ("ome", "</OME>", "</OMF>", "description that can be parsed"),
        ("ome", "<TiffData", "<TiffDatb", "no fewer and no more; got 12 pages for"),
        ("ome", "<?xml version", "<!DOCTYPE ome", "XML that defines entities"),
        ("shaped", "[3, 4,", "[9, 4,", "the 21600 values it announces; got 7200"),
        ("shaped", "[3, 4,", "[1, 4,", "laid out as its shaped description announces; got generic"),
        ("shaped", "[3, 4,", "[3; 4,", "description that can be parsed"),
        ("shaped", '"shape"', '"shapf"', "begins like those of its writer"),
    ],
)
def test_descriptions_that_do_not_fit_their_pages_are_refused(file, kind, old, new, message):
    options = {} if kind == "shaped" else {kind: True}
    tifffile.imwrite(file, pixels(*SHAPE), metadata={"axes": "TZYX"}, **options, **GRAY)
    data = file.read_bytes()
    assert data.count(old.encode()) == 1
    assert_refused(file, data.replace(old.encode(), new.encode()), message)


def described(text, pages=1):
    """A file of pages of 4 x 4 whose description is `text`."""
    text = text.encode() + b"\0"
    at = 8 + pages * (2 + 10 * 12 + 4)
    tags = [page(at=at + len(text) + 16 * k, _270=(2, len(text), at)) for k in range(pages)]
    return tiff_bytes(*tags, tail=text + bytes(16 * pages))


OME = '<OME UUID="urn:uuid:1"><Image><Pixels {}>{}</Pixels></Image></OME>'
SIZES = 'DimensionOrder="XYZCT" SizeX="4" SizeY="4" SizeC="1" SizeT="1" SizeZ="{}"'
FIRST = OME.format(SIZES.format(1), '<TiffData IFD="0"/>')


def test_an_ome_description_that_fits_is_read(file):
    file.write_bytes(described(FIRST))
    assert read_tiff(file).pixels.shape == (4, 4)


def test_pages_that_the_ome_description_does_not_name_are_refused(file):
    assert_refused(file, described(FIRST, 2), "name each of its pages .*; got 1 of 2")


def test_a_plane_that_is_named_for_another_is_refused(file):
    data = '<TiffData IFD="0" FirstZ="0"/><TiffData IFD="1" FirstZ="0"/>'
    text = OME.format(SIZES.format(2), data)
    assert_refused(file, described(text, 2), "all planes it announces; got none for plane 1")


def test_an_image_that_tifffile_would_skip_is_refused(file):
    wide = SIZES.format(1).replace('SizeX="4" SizeY="4"', 'SizeX="8" SizeY="2"')
    second = f'<Image><Pixels {wide}><TiffData IFD="1"/></Pixels></Image></OME>'
    text = FIRST.replace("</OME>", second)
    assert_refused(file, described(text, 2), "the 2 images its OME metadata announce; got 1")


def test_ome_metadata_that_tifffile_would_overlook_are_refused(file):
    text = FIRST + "<!-- made by hand -->"
    assert_refused(file, described(text), "laid out as its ome description announces; got uniform")


def test_a_cut_stack_of_one_directory_is_refused(file):
    text = '{"shape": [9, 4, 4], "truncated": true}'
    assert_refused(file, described(text), "the 144 values it announces; got 1 pages of 16")


@pytest.mark.parametrize("uuid", ["urn:uuid:2", ""])
def test_planes_in_other_files_are_refused(file, uuid):
    data = f'<TiffData IFD="0"><UUID FileName="../other.tif">{uuid}</UUID></TiffData>'
    text = OME.format(SIZES.format(1), data)
    assert_refused(file, described(text), "OME planes in '../other.tif'. Open the set")


def test_metadata_in_another_file_are_refused(file):
    text = '<OME><BinaryOnly MetadataFile="other.xml" UUID="urn:uuid:1"/></OME>'
    assert_refused(file, described(text), "a reference to another file")


MODULO = (
    "<StructuredAnnotations><XMLAnnotation ID='a' Namespace='modulo'><Value><Modulo>"
    "<ModuloAlongZ Type='lifetime' Start='0' End='1e12' Step='1'/></Modulo></Value>"
    "</XMLAnnotation></StructuredAnnotations><Image>"
)
MANY = {"_278": (4, 1, 1), "_273": (4, 2**29, 200), "_279": (4, 2**29, 200)}
TILE = {"_322": (4, 1, 2**31), "_323": (4, 1, 2**31), "_324": (4, 1, 200)}
TERABYTES = {
    "uncompressed": (page(2**20, 2**20, count=280), "the 1099511627776 bytes it claims"),
    "deflated": (page(2**20, 2**20, compression=8), "the 1099511627776 bytes it claims"),
    "zstd": (page(2**15, 2**14, compression=50000), "the 536870912 bytes it claims"),
    "jpeg 2000": (page(2**20, 2**20, compression=33003), "the 1099511627776 bytes it claims"),
    "samples": (page(_277=(4, 1, 2**32 - 1)), "the 68719476720 bytes it claims"),
    "strips": (page(1, 2**32 - 1, **MANY), "be complete"),
    "tiles": (page(compression=8, **TILE), "the 4611686018427387904 bytes it claims"),
    "bigtiff": (page(2**31, 2**31, count=2**40), "bytes of every strip and tile"),
    "imagej": ("ImageJ=1.53\nslices=999999999\n", "laid out as its imagej"),
    "shaped": ('{"shape": [99999999, 99999999, 4, 4]}', "values it announces"),
    "nested": ('{"shape": ' + "[" * 100_000, "can be parsed"),
    "ome planes": (OME.format(SIZES.format(2**31), '<TiffData IFD="0"/>'), "got 1 pages for"),
    "ome count": (OME.format(SIZES.format(9), '<TiffData PlaneCount="999999999"/>'), "of 1"),
    "ome axis": (FIRST.replace("<Image>", MODULO), "1000000 steps along an axis"),
    "entities": (
        f'<!DOCTYPE a [<!ENTITY b "{"b" * 999}">]>{OME}'.format("", "&b;" * 99999),
        "entities",
    ),
}


@pytest.mark.parametrize("claim", TERABYTES)
def test_claims_of_terabytes_are_refused_at_once_and_in_little_memory(file, claim):
    lie, message = TERABYTES[claim]
    if isinstance(lie, str):
        file.write_bytes(described(lie))
    else:
        file.write_bytes(tiff_bytes(lie, big=claim == "bigtiff", tail=bytes(400)))
    seconds, peak = cost(lambda: assert_refused(file, None, message))
    assert seconds < 1
    assert peak < 20e6


def cost(function):
    """Seconds of the processor that a call takes, and the most bytes it allocates."""
    tracemalloc.start()
    try:
        begin = time.process_time()
        function()
        return time.process_time() - begin, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_image_over_the_limit_is_refused_with_the_remedy(file):
    tifffile.imwrite(file, np.zeros((100, 100), "uint8"), compression="zlib")
    read_tiff(file, memory_limit=10_000)
    with pytest.raises(
        UnreadableImageError, match=r"to 5 kB at most; got 10 kB\. Pass a larger memory_limit"
    ):
        read_tiff(file, memory_limit=5_000)


# ------------------------------------------------------------- failing to decode


def test_pixels_that_cannot_be_decoded_are_one_line_with_the_cause(file):
    tifffile.imwrite(file, pixels(64, 64), compression="zlib", rowsperstrip=8, metadata=None)
    with tifffile.TiffFile(file) as opened:
        at = opened.pages[0].dataoffsets[3] + 5
    data = bytearray(file.read_bytes())
    data[at : at + 20] = bytes(20)
    file.write_bytes(data)
    with pytest.raises(UnreadableImageError, match="be decodable; got ") as caught:
        read_tiff(file)
    assert isinstance(caught.value.__cause__, (imagecodecs.DeflateError, imagecodecs.ZlibError))


@pytest.mark.parametrize("error", [RuntimeError("a\nb"), IndexError()])
def test_whatever_the_decoder_raises_is_one_line(file, monkeypatch, error):
    tifffile.imwrite(file, pixels(8, 9))

    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", fail)
    with pytest.raises(UnreadableImageError, match=type(error).__name__) as caught:
        read_tiff(file)
    assert caught.value.__cause__ is error
    assert "\n" not in str(caught.value)


def test_a_failing_disk_is_the_systems_error(file, monkeypatch):
    tifffile.imwrite(file, pixels(8, 9))

    def fail(*args, **kwargs):
        raise OSError(5, "Input/output error", str(file))

    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", fail)
    with pytest.raises(OSError, match="Input/output error"):
        read_tiff(file)


def test_pixels_of_another_shape_than_announced_are_refused(file, monkeypatch):
    tifffile.imwrite(file, pixels(8, 9))
    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", lambda *_, **__: pixels(9, 8))
    with pytest.raises(UnreadableImageError, match=r"the shape \(8, 9\); got \(9, 8\)"):
        read_tiff(file)


def test_warnings_of_tifffile_stay_off_the_terminal(file, capsys, monkeypatch):
    for name in (None, "tifffile"):  # pytest's own, and those of workers that ran here
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
    file.write_bytes(tiff_bytes(page(at=134, _40000=(99, 1, 0)), tail=bytes(16)))
    tifffile.imread(file)
    assert "invalid data type" in capsys.readouterr().err
    read_tiff(file)
    assert capsys.readouterr() == ("", "")


# --------------------------------------------------------------------- damage


def small_files(folder):
    """One small file of each kind, as (name, bytes, what is read from it)."""
    stack, axes = pixels(5, 24, 28, dtype="uint8"), {"metadata": {"axes": "TZYX"}}
    plain = {"metadata": None, **GRAY}
    kinds = {
        "plain": (stack, plain),
        "imagej": (pixels(*SHAPE), {"imagej": True, **axes}),
        "ome": (pixels(*SHAPE), {"ome": True, **axes, **GRAY}),
        "bigtiff": (stack, {"bigtiff": True, "byteorder": ">", **plain}),
        "lzw": (stack, {"compression": "lzw", "rowsperstrip": 7, **plain}),
        "zlib": (stack, {"compression": "zlib", "tile": (16, 16), **plain}),
    }
    for name, (data, options) in kinds.items():
        path = folder / f"{name}.tif"
        tifffile.imwrite(path, data, **options)
        yield name, path.read_bytes(), read_tiff(path)
    write_labels(folder / "labels.tif", pixels(*SHAPE), axes="TZYX")
    yield "labels", (folder / "labels.tif").read_bytes(), read_tiff(folder / "labels.tif")


def test_a_cut_file_is_refused_unless_nothing_of_it_is_missing(tmp_path):
    refused = 0
    for name, data, whole in small_files(tmp_path):
        for cut in {
            *range(0, len(data), max(1, len(data) // 60)),
            *range(len(data) - 30, len(data)),
        }:
            path = tmp_path / "cut.tif"
            path.write_bytes(data[:cut])
            try:
                image = read_tiff(path)
            except UnreadableImageError:
                refused += 1
                continue
            assert cut > 0.99 * len(data), name  # bytes that nothing refers to
            assert image.axes == whole.axes
            np.testing.assert_array_equal(image.pixels, whole.pixels)
    assert refused > 500


def test_a_damaged_directory_is_refused_or_read_in_the_right_shape(tmp_path):
    chance, counts = random.Random(1), {"refused": 0, "read": 0}
    for name, data, whole in small_files(tmp_path):
        directories = tmp_path / f"{name}.tif"
        with tifffile.TiffFile(directories) as opened:
            spans = [range(p.offset, p.offset + 100) for p in opened.pages]
        for _ in range(50):
            damaged = bytearray(data)
            at = chance.choice(chance.choice(spans))
            damaged[at] = chance.choice([0, 255, damaged[at] ^ 1 << chance.randrange(8)])
            path = tmp_path / "damaged.tif"
            path.write_bytes(damaged)
            try:
                image = read_tiff(path)
            except UnreadableImageError:
                counts["refused"] += 1
                continue
            counts["read"] += 1
            assert image.pixels.size == whole.pixels.size, (name, at)
    assert counts["refused"] > 120
    assert counts["read"] > 40


def read_or_refuse(path, data):
    """Return the image in a file with these bytes, or None if it is refused."""
    path.write_bytes(data)
    try:
        return read_tiff(path)
    except UnreadableImageError:
        return None


def test_no_tag_of_any_page_makes_an_image_of_another_size(tmp_path):
    refused, widths = 0, {1: 1, 3: 2, 4: 4, 5: 8, 16: 8}
    for shift, (name, data, whole) in enumerate(small_files(tmp_path)):
        with tifffile.TiffFile(tmp_path / f"{name}.tif") as opened:
            tags = [tag for page in opened.pages for tag in page.aspage().tags]
        for number, tag in enumerate(tag for tag in tags if int(tag.dtype) in widths):
            place = slice(tag.valueoffset, tag.valueoffset + tag.count * widths[int(tag.dtype)])
            damaged = bytearray(data)
            damaged[place] = (b"\0", b"\xff")[(number + shift) % 2] * len(damaged[place])
            image = read_or_refuse(tmp_path / "damaged.tif", damaged)
            refused += image is None
            assert image is None or image.pixels.size == whole.pixels.size, (name, tag.name)
    assert refused > 250


def test_no_compressed_strip_or_tile_of_any_page_may_be_damaged(tmp_path):
    tried = 0
    for name, data, _ in small_files(tmp_path):
        with tifffile.TiffFile(tmp_path / f"{name}.tif") as opened:
            pages = [page.aspage() for page in opened.pages]
            compressed = int(pages[0].compression) == 8
            parts = [
                pair for p in pages for pair in zip(p.dataoffsets, p.databytecounts, strict=True)
            ]
        for at, count in parts if compressed else ():
            for junk in (bytes(count), b"\xff" * count, random.Random(at).randbytes(count)):
                damaged = bytearray(data)
                damaged[at : at + count] = junk
                assert read_or_refuse(tmp_path / "damaged.tif", damaged) is None, (name, at)
                tried += 1
    assert tried > 50
