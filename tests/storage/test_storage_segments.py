"""What a codec returns has the size and type that the page announces, or the file is refused."""

import time
import tracemalloc
from io import BytesIO

import numpy as np
import pytest
import tifffile
from PIL import Image

from equilabel.storage import memory
from equilabel.storage.tiff import UnreadableImageError, read_tiff
from pictures import READS_FAX

imagecodecs = pytest.importorskip("imagecodecs")

CODECS = {
    "jpeg": ("uint8", 1),
    "jpeg2000": ("uint16", 1),
    "jpegxl": ("uint16", 1),
    "lerc": ("uint16", 1),
    "png": ("uint16", 1),
    "webp": ("uint8", 3),
    "zstd": ("uint16", 1),
    "lzw": ("uint16", 1),
    "zlib": ("uint16", 1),
    "lzma": ("uint16", 1),
    "packbits": ("uint16", 1),
}
FAX = {"tiff_ccitt": 2, "group3": 3, "group4": 4}
reads_fax = pytest.mark.skipif(not READS_FAX, reason="tifffile decodes no fax codes before 2026.3")


def pixels(codec, *shape):
    dtype, samples = CODECS[codec]
    shape = (*shape, samples) if samples > 1 else shape
    values = np.random.default_rng(0).integers(0, 3, np.prod(shape)).cumsum() % 251
    return values.astype(dtype).reshape(shape)


def write(file, codec, data, **options):
    """Write a plain file of one image in a codec, without loss where it can be."""
    if codec == "webp":
        options["compressionargs"] = {"lossless": True}
    photometric = "rgb" if data.shape[2:] == (3,) else "minisblack"
    options = {"photometric": photometric, "metadata": None, "compression": codec} | options
    tifffile.imwrite(file, data, **options)


def edit(file, **tags):
    with tifffile.TiffFile(file, mode="r+b") as opened:
        for name, value in tags.items():
            opened.pages[0].tags[name].overwrite(value)


def assert_refused(file, message):
    with pytest.raises(UnreadableImageError, match=message):
        read_tiff(file)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "image.tif"


# ------------------------------------------------------------------ every codec


@pytest.mark.parametrize("layout", [{"rowsperstrip": 24}, {"tile": (32, 32)}])
@pytest.mark.parametrize("codec", CODECS)
def test_strips_and_tiles_that_end_with_the_image_are_read(file, codec, layout):
    data = pixels(codec, 80, 97)
    write(file, codec, data, **layout)
    read = read_tiff(file).pixels
    read = np.moveaxis(read, 0, -1) if read.ndim == 3 else read
    assert (read.shape, read.dtype) == (data.shape, data.dtype)
    assert codec == "jpeg" or np.array_equal(read, data)


@pytest.mark.parametrize(
    ("tags", "rows"),
    [
        ({"ImageWidth": 48}, 24),
        ({"ImageLength": 73}, 80),
        ({"BitsPerSample": 8}, 24),
        ({"BitsPerSample": 32}, 80),
    ],
)
@pytest.mark.parametrize("codec", CODECS)
def test_a_tag_that_the_codec_contradicts_is_refused(file, codec, tags, rows):
    data = pixels(codec, 80, 96)
    if tags == {"BitsPerSample": 8} and data.dtype == np.uint8:
        tags = {"BitsPerSample": 16}
    if data.ndim == 3 and "BitsPerSample" in tags:
        tags = {"BitsPerSample": (16, 16, 16)}
    write(file, codec, data, rowsperstrip=rows)
    edit(file, **tags)
    assert_refused(file, r"image file must (have|decode|be decodable)")


@pytest.mark.parametrize("codec", ["webp", "png", "jpeg2000", "jpegxl", "lerc"])
def test_bytes_are_not_taken_for_truth_values(file, codec):
    data = pixels(codec, 80, 96).astype("uint8")
    write(file, codec, data)
    edit(file, BitsPerSample=1 if data.ndim == 2 else (1, 1, 1))
    assert_refused(file, "values of bool; got a codec of whole bytes")


@pytest.mark.parametrize("codec", CODECS)
def test_every_strip_is_looked_at(file, codec):
    """A strip in the middle that holds the first half of every row."""
    data = pixels(codec, 80, 96)
    write(file, codec, data, rowsperstrip=16)
    half = file.with_name("half.tif")
    write(half, codec, data[:, :48], rowsperstrip=16)
    with tifffile.TiffFile(half) as opened:
        page = opened.pages[0]
        at, count = page.dataoffsets[2], page.databytecounts[2]
        strip = half.read_bytes()[at : at + count]
    with tifffile.TiffFile(file) as opened:
        offsets, counts = list(opened.pages[0].dataoffsets), list(opened.pages[0].databytecounts)
    stored = file.read_bytes()
    file.write_bytes(stored + strip)
    offsets[2], counts[2] = len(stored), count
    edit(file, StripOffsets=offsets, StripByteCounts=counts)
    with pytest.raises(UnreadableImageError):
        read_tiff(file)


@pytest.mark.parametrize("rows", [40, 39, 32])
def test_jpegs_in_color_are_read(file, rows):
    """Their blocks are 16 rows high, the last strip is not."""
    data = np.full((rows, 64, 3), 99, "uint8")
    tifffile.imwrite(file, data, compression="jpeg", rowsperstrip=16, photometric="rgb")
    assert read_tiff(file).pixels.shape == (3, rows, 64)


@pytest.mark.parametrize("codec", ["lzw", "zlib"])
def test_a_last_strip_that_is_filled_up_is_read(file, codec):
    data = pixels(codec, 48, 96)
    write(file, codec, data, rowsperstrip=24)
    edit(file, ImageLength=40)
    np.testing.assert_array_equal(read_tiff(file).pixels, data[:40])


@pytest.mark.parametrize("codec", ["lzw", "packbits"])
def test_bits_stored_the_other_way_round_are_read(file, codec):
    data = pixels(codec, 8, 96)
    write(file, codec, data)
    with tifffile.TiffFile(file) as opened:
        at, count = opened.pages[0].dataoffsets[0], opened.pages[0].databytecounts[0]
    stored = bytearray(file.read_bytes())
    stored[at : at + count] = imagecodecs.bitorder_encode(bytes(stored[at : at + count]))
    file.write_bytes(stored)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        software = opened.pages[0].tags["Software"]
        opened.filehandle.seek(software.offset)  # FillOrder in its place, out of order
        opened.filehandle.write((266).to_bytes(2, "little") + (3).to_bytes(2, "little"))
        opened.filehandle.write((1).to_bytes(4, "little") + (2).to_bytes(4, "little"))
    np.testing.assert_array_equal(read_tiff(file).pixels, data)


@pytest.mark.parametrize("codec", ["png", "jpeg", "jpeg2000", "jpegxl", "lerc"])
def test_tiles_that_end_with_the_image_are_read_in_codecs_where_they_are_found(file, codec):
    data = pixels(codec, 32, 48)
    write(file, codec, data, tile=(32, 32))
    cut = file.with_name("cut.tif")
    write(cut, codec, data[:, 32:], rowsperstrip=32)
    with tifffile.TiffFile(cut) as opened:
        at, count = opened.pages[0].dataoffsets[0], opened.pages[0].databytecounts[0]
    with tifffile.TiffFile(file) as opened:
        offsets, counts = list(opened.pages[0].dataoffsets), list(opened.pages[0].databytecounts)
    stored, part = bytearray(file.read_bytes()), cut.read_bytes()[at : at + count]
    assert count <= counts[1]
    stored[offsets[1] : offsets[1] + counts[1]] = part + bytes(counts[1] - count)
    file.write_bytes(stored)
    edit(file, TileByteCounts=[counts[0], count])
    if codec in ("png", "jpeg"):
        assert np.abs(read_tiff(file).pixels.astype(int) - data).max() < (
            60 if codec == "jpeg" else 1
        )
    else:
        assert_refused(file, "strips or tiles of 32 x 32 x 1 values.*; got .*16")


def test_jpeg_xr_is_refused_because_its_decoder_crashes(file):
    data = pixels("lzw", 80, 96)
    tifffile.imwrite(file, data, compression="jpegxr", photometric="minisblack", metadata=None)
    assert_refused(file, "decoded safely; got JPEG XR, .*. Export it uncompressed")


# --------------------------------------------------------- before it is decoded


@pytest.mark.parametrize("codec", ["webp", "png", "jpeg2000", "jpegxl", "lerc", "jpeg"])
def test_a_large_picture_in_a_small_strip_is_refused_before_it_is_decoded(file, codec):
    name = {"jpeg2000": "jpeg2k"}.get(codec, codec)
    encode = getattr(imagecodecs, f"{name}_encode")
    options = {"effort": 1, "lossless": True} if codec == "jpegxl" else {}
    stream = encode(np.zeros((3000, 3000, 3), "uint8"), **options)
    small = np.zeros((64, 96, 3), "uint8")
    tifffile.imwrite(file, small, compression=codec, photometric="rgb", ome=True)
    stored = file.read_bytes()
    file.write_bytes(stored + stream)
    edit(file, StripOffsets=[len(stored)], StripByteCounts=[len(stream)])
    begin = time.process_time()
    tracemalloc.start()
    try:
        assert_refused(file, r"have strips or tiles of 64 x 96 x 3 values.*; got .*3000")
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()
    assert time.process_time() - begin < 0.5


def test_an_image_of_more_than_half_the_free_memory_is_refused_with_the_option(file, monkeypatch):
    tifffile.imwrite(file, np.zeros((2500, 2000), "uint8"), compression="zlib")
    monkeypatch.setattr(memory, "free", lambda: 10_000_000)
    read_tiff(file)
    monkeypatch.setattr(memory, "free", lambda: 9_999_998)
    assert_refused(
        file,
        r"to 5 MB at most, half of the memory that is free; got 5 MB. Pass a larger memory_limit",
    )
    read_tiff(file, memory_limit=5_000_000)


def test_tiles_far_larger_than_the_image_count_as_what_they_take(file):
    tifffile.imwrite(file, np.zeros((16, 16), "uint8"), tile=(1024, 1024), compression="zlib")
    read_tiff(file, memory_limit=2**20)
    with pytest.raises(UnreadableImageError, match=r"to 1.05 MB at most; got 1.05 MB"):
        read_tiff(file, memory_limit=2**20 - 1)


@pytest.mark.parametrize("shift", [0, 10])
def test_tiles_that_share_bytes_are_refused(file, shift):
    write(file, "zlib", pixels("zlib", 64, 64), tile=(32, 32))
    with tifffile.TiffFile(file) as opened:
        offsets = list(opened.pages[0].dataoffsets)
        counts = [min(opened.pages[0].databytecounts)] * 4
    offsets[2] = offsets[1] + shift
    edit(file, TileOffsets=offsets, TileByteCounts=counts)
    assert_refused(file, f"bytes of its own for every .*; got two that share byte {offsets[2]}")


def test_pages_that_share_bytes_are_refused(file):
    tifffile.imwrite(file, pixels("zlib", 3, 16, 16), photometric="minisblack", metadata=None)
    with tifffile.TiffFile(file, mode="r+b") as opened:
        first = opened.pages[0].dataoffsets[0]
        opened.pages[2].aspage().tags["StripOffsets"].overwrite(first)
    assert_refused(file, "bytes of its own")


def test_a_lack_of_memory_is_not_a_fault_of_the_file(file, monkeypatch):
    tifffile.imwrite(file, np.zeros((8, 9), "uint8"))

    def fail(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", fail)
    with pytest.raises(MemoryError):
        read_tiff(file)


# ----------------------------------------------------------------- fax codes


def fax(file, name, shape=(80, 96), **tags):
    """Write blocks of black and white in a fax code, in one strip."""
    blocks = np.random.default_rng(0).random((10, 13)) > 0.5
    data = np.kron(blocks, np.ones((8, 8), bool))[: shape[0], : shape[1]]
    Image.fromarray(data).save(file, compression=name, tiffinfo={278: shape[0]} | tags)
    return data


@reads_fax
@pytest.mark.parametrize("shape", [(80, 96), (77, 91), (1, 1)])
@pytest.mark.parametrize("name", FAX)
def test_fax_codes_are_read(file, name, shape):
    data = fax(file, name, shape)
    read_tiff(file)
    np.testing.assert_array_equal(read_tiff(file).pixels, data)


@reads_fax
@pytest.mark.parametrize("options", [1, 4, 5])
def test_all_kinds_of_group_3_are_read(file, options):
    data = BytesIO()
    expected = fax(file, "group3")
    Image.fromarray(expected).save(
        data, "TIFF", compression="group3", tiffinfo={278: 80, 292: options}
    )
    file.write_bytes(data.getvalue())
    np.testing.assert_array_equal(read_tiff(file).pixels, expected)


# -------------------------------------------------------------------- memory


@pytest.mark.parametrize("version", [1, 2])
def test_free_memory_is_what_a_container_leaves(tmp_path, monkeypatch, version):
    names = {
        2: ("memory.max", "memory.current", "inactive_file", "0::/job/step"),
        1: (
            *("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
            "4:cpu,memory:/job/step",
        ),
    }
    limit, usage, cached, line = names[version]
    root = tmp_path if version == 2 else tmp_path / "memory"
    for folder, most in ((root, "max"), (root / "job", "5000000"), (root / "job/step", "9000000")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / limit).write_text(most)
        (folder / usage).write_text("1000000")
        (folder / "memory.stat").write_text(f"anon 7\n{cached} 200000\n")
    group = tmp_path / "cgroup"
    group.write_text(f"{line}\n")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "OWN_GROUPS", group)
    assert memory.free() == 4_200_000


def test_free_memory_is_known_without_linux(tmp_path, monkeypatch):
    for name in ("CGROUPS", "OWN_GROUPS", "MEMINFO"):
        monkeypatch.setattr(memory, name, tmp_path / "missing")
    assert memory.free() > 2**26
