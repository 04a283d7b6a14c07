"""TIFFs of every kind, damaged at random: refused in words, or read as what they are.

An input is a whole file and a few changes, both from one seed: ``python -m attack.tiff SECONDS
SEED`` runs the attack, ``judge(seed)`` repeats one input. A reading is right if it is the picture
that was written. Some changes cannot be noticed, such as a bit of an uncompressed pixel: then it
has to have the size that was written, to be what tifffile reads, and every strip and tile has to
decode, without being told a size, to the one that is announced.
"""

from __future__ import annotations

import lzma
import random
import re
import struct
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from functools import cache
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path

import imagecodecs
import numpy as np
import tifffile
from PIL import Image

from equilabel.storage.axes import canonical
from equilabel.storage.tiff import UnreadableImageError, read_tiff, write_labels

from . import Counts

MEMORY_LIMIT = 2**26  # bytes an image may decode to
MOST_MEMORY = 2**32  # bytes of address space a reader may have
MOST_SECONDS = 10
LERC = 34887
GRAY = {"photometric": "minisblack"}
BYTES = ("zlib", "lzw", "packbits", "zstd", "lzma")
IMAGES = {"jpeg2000": "u2", "jpegxl": "u2", "jpegxr": "u2", "lerc": "u2", "png": "u2", "jpeg": "u1"}


# -------------------------------------------------------------------- whole files


def values(*shape, dtype="u2"):
    """Values that no shift, crop or cast leaves as they are."""
    steps = np.random.default_rng(len(shape)).integers(0, 5, np.prod(shape))
    return (steps.cumsum() % 251 * (257 if dtype == "u2" else 1)).astype(dtype).reshape(shape)


@cache
def whole_files():
    """Make a small file of every kind: name to its bytes and what is read of it."""
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, write in _kinds():
            path = Path(folder) / "image.tif"
            write(path)
            files[name] = path.read_bytes(), read_tiff(path).pixels
    return files


@cache
def pages_of(name):
    """Return the pages of a whole file; those of a damaged one may never end."""
    with tifffile.TiffFile(BytesIO(whole_files()[name][0])) as opened:
        return [page.aspage() for page in opened.pages]


def _kinds():
    def tiff(data, **options):
        return lambda path: tifffile.imwrite(path, data, **options)

    plain = {"metadata": None, **GRAY}
    stack, axes = values(3, 2, 20, 28), {"metadata": {"axes": "TZYX"}, **GRAY}
    yield "plain", tiff(values(5, 24, 28), **plain)
    yield "big endian", tiff(values(5, 24, 28), byteorder=">", bigtiff=True, **plain)
    yield "tiles", tiff(values(40, 50), tile=(16, 16), **plain)
    yield (
        "one by one",
        lambda path: [
            tifffile.imwrite(path, page, append=k > 0, **GRAY)
            for k, page in enumerate(values(4, 9, 8))
        ],
    )
    yield "imagej", tiff(stack, imagej=True, **axes)
    yield "ome", tiff(stack, ome=True, **axes)
    yield "shaped", tiff(stack, **axes)
    yield "labels", lambda path: write_labels(path, stack, axes="TZYX", spacing={"X": 0.5})
    yield "one bit", tiff(values(19, 21, dtype="u1") > 100, **plain)
    yield "12 bits", tiff(values(19, 24) // 257, bitspersample=12, **plain)
    yield "color", tiff(values(20, 30, 3, dtype="u1"), photometric="rgb", metadata=None)
    yield "planes", tiff(values(3, 20, 30, dtype="u1"), photometric="rgb", planarconfig=2)
    yield "floats", tiff(values(20, 30).astype("f4"), predictor=3, compression="zlib", **plain)
    for codec in BYTES:
        yield f"{codec} strips", tiff(values(40, 48), compression=codec, rowsperstrip=12, **plain)
        yield f"{codec} tiles", tiff(values(40, 48), compression=codec, tile=(16, 32), **plain)
        stacked = {"compression": codec, "rowsperstrip": 9, **plain}
        yield f"{codec} stack", tiff(values(4, 20, 28), **stacked)
    for codec, dtype in IMAGES.items():
        data = values(40, 48, dtype=dtype)
        yield f"{codec} strips", tiff(data, compression=codec, rowsperstrip=16, **plain)
        yield f"{codec} tiles", tiff(data, compression=codec, tile=(16, 32), **plain)
    color = {"photometric": "rgb", "compression": "webp", "compressionargs": {"lossless": True}}
    yield "webp", tiff(values(40, 48, 3, dtype="u1"), rowsperstrip=16, metadata=None, **color)
    for name in ("tiff_ccitt", "group3", "group4"):
        yield (
            name,
            lambda path, name=name: Image.fromarray(values(48, 56, dtype="u1") > 99).save(
                path, compression=name, tiffinfo={278: 16}
            ),
        )
    yield "several", _several


def _several(path):
    with tifffile.TiffWriter(path) as writer:
        for shape in ((20, 30), (12, 10), (33, 8)):
            writer.write(values(*shape), compression="zlib", **GRAY)


# ------------------------------------------------------------------------ changes


def mutated(seed):
    """Return the name of a whole file, what was changed in it, and the bytes after that."""
    chance = random.Random(seed)
    name = chance.choice(sorted(whole_files()))
    data, changes = bytearray(whole_files()[name][0]), []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        change = chance.choice(CHANGES)
        with suppress(Exception):  # one that this file, or what is left of it, does not allow
            change(data, chance, pages_of(name))
            changes.append(change.__name__)
    return name, " + ".join(changes), bytes(data)


def flip_bits(data, chance, _):
    for _ in range(chance.choice((1, 1, 4, 32))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def flip_in_directories(data, chance, pages):
    for _ in range(chance.choice((1, 1, 2, 5))):
        page = chance.choice(pages)
        at = page.offset + chance.randrange(2 + 12 * len(page.tags))
        data[at] = chance.choice((0, 255, data[at] ^ 1 << chance.randrange(8)))


def flip_in_pixels(data, chance, pages):
    page = chance.choice(pages)
    k = chance.randrange(len(page.dataoffsets))
    for _ in range(chance.choice((1, 2, 20))):
        at = page.dataoffsets[k] + chance.randrange(page.databytecounts[k])
        data[at] ^= 1 << chance.randrange(8)


def cut(data, chance, _):
    del data[chance.randrange(len(data)) :]


def clear(data, chance, _):
    at = chance.randrange(len(data))
    size = min(chance.choice((1, 16, 512)), len(data) - at)
    data[at : at + size] = bytes(size)


def add_junk(data, chance, _):
    at = chance.choice((len(data), len(data), chance.randrange(len(data))))
    data[at:at] = chance.randbytes(chance.choice((1, 100, 5000)))


def edit_tag(data, chance, pages):
    tag = chance.choice(list(chance.choice(pages).tags))
    value = chance.choice((0, 1, 2, 3, 7, 8, 16, 24, 32, 48, 64, 96, 255, 2**16 - 1, 2**31))
    old = tag.value[0] if isinstance(tag.value, tuple) else tag.value
    if isinstance(old, int):
        value = chance.choice((value, value, old * 2, old // 2, old + 1, old - 1))
    _set(data, tag, chance.randrange(tag.count), value)


def edit_size(data, chance, pages):
    names = ("ImageWidth", "ImageLength", "BitsPerSample", "RowsPerStrip", "SamplesPerPixel")
    names += ("TileWidth", "TileLength", "SampleFormat", "Compression", "Predictor", "FillOrder")
    name = chance.choice([name for name in names if name in pages[0].tags])
    old = pages[0].tags[name].value
    old = int(old[0] if isinstance(old, tuple) else old)
    new = chance.choice((old // 2, old * 2, old + 1, old - 1, old + 16, 1, 8, 16))
    if name == "Compression":
        new = chance.choice((1, 2, 5, 7, 8, 32773, 34712, 34887, 34925, 34933, 34934, 50000, 50002))
    for page in pages if chance.random() < 0.7 else [chance.choice(pages)]:
        for k in range(page.tags[name].count):
            _set(data, page.tags[name], k, new)


def edit_description(data, chance, _):
    digits = [match.start() for match in re.finditer(rb"(?<=[=\" \[])\d", bytes(data[:4000]))]
    for _ in range(chance.choice((1, 1, 3))):
        data[chance.choice(digits)] = ord(chance.choice("0123456789"))


def swap_parts(data, chance, pages):
    """Exchange two strips or tiles, of one page or of two."""
    one, other = (chance.choice(pages) for _ in range(2))
    k, m = chance.randrange(len(one.dataoffsets)), chance.randrange(len(other.dataoffsets))
    for index in (0, 1):
        tags = [_places(page)[index] for page in (one, other)]
        values = [_listed(tag)[at] for tag, at in zip(tags, (k, m), strict=True)]
        _set(data, tags[0], k, values[1])
        _set(data, tags[1], m, values[0])


def share_parts(data, chance, pages):
    """Let a strip or tile have the bytes of another, or begin within them."""
    one, other = (chance.choice(pages) for _ in range(2))
    k, m = chance.randrange(len(one.dataoffsets)), chance.randrange(len(other.dataoffsets))
    shift = chance.choice((0, 0, 1, 4))
    _set(data, _places(one)[0], k, other.dataoffsets[m] + shift)
    _set(data, _places(one)[1], k, other.databytecounts[m] - shift)


def graft_part(data, chance, pages):
    """Put a strip or tile of another file in the place of one."""
    name = chance.choice(sorted(whole_files()))
    other, source = whole_files()[name][0], chance.choice(pages_of(name))
    page = chance.choice(pages)
    k, m = chance.randrange(len(page.dataoffsets)), chance.randrange(len(source.dataoffsets))
    at, size = source.dataoffsets[m], source.databytecounts[m]
    places = _places(page)
    _set(data, places[0], k, len(data))
    _set(data, places[1], k, size)
    data += other[at : at + size]


def graft_stream(data, chance, pages):
    """Put a stream of the same codec but of another size or type in the place of one."""
    page = chance.choice(pages)
    dtype = chance.choice(("u1", "u2", "i2", "f4"))
    content = values(*chance.choice(((12, 48), (16, 24), (16, 96), (40, 48), (600, 800))))
    stream = tifffile.TIFF.COMPRESSORS[int(page.compression)](content.astype(dtype))
    k = chance.randrange(len(page.dataoffsets))
    places = _places(page)
    _set(data, places[0], k, len(data))
    _set(data, places[1], k, len(stream))
    data += stream


def relink_pages(data, chance, pages):
    """Leave out pages, repeat them, or change their order."""
    page, goal = chance.choice(pages), chance.choice([0, *(page.offset for page in pages)])
    big, order = data[2:4] in (b"+\0", b"\0+"), "<" if data[:2] == b"II" else ">"
    at = page.offset + (8 + 20 * len(page.tags) if big else 2 + 12 * len(page.tags))
    if chance.random() < 0.2:
        at = 8 if big else 4
    struct.pack_into(f"{order}{'Q' if big else 'I'}", data, at, goal)


CHANGES = (
    *(flip_bits, flip_in_directories, flip_in_directories, flip_in_pixels, cut, clear, add_junk),
    *(edit_tag, edit_tag, edit_size, edit_size, edit_size, edit_description, swap_parts),
    *(share_parts, graft_part, graft_stream, relink_pages),
)


def _places(page):
    names = ("TileOffsets", "TileByteCounts") if page.is_tiled else ("StripOffsets",)
    names = names if page.is_tiled else (*names, "StripByteCounts")
    return [page.tags[name] for name in names]


def _listed(tag):
    return tag.value if isinstance(tag.value, tuple) else (tag.value,)


def _set(data, tag, k, value):
    """Overwrite one value of a tag of numbers."""
    order = "<" if data[:2] == b"II" else ">"
    letter = {1: "B", 3: "H", 4: "I", 16: "Q"}[int(tag.dtype)]
    size = struct.calcsize(letter)
    value = max(0, value) % 256**size
    struct.pack_into(order + letter, data, tag.valueoffset + k * size, value)


# ------------------------------------------------------------------------ verdict


def judge(seed, folder=None):
    """Read one damaged file; return "correct", "refused", "wrong" or "lost", and why.

    Parameters
    ----------
    seed : int
        Of the file.
    folder : Path, optional
        Where to put it; by default a temporary one.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as folder:
            return judge(seed, Path(folder))
    name, changes, data = mutated(seed)
    path = folder / "image.tif"
    path.write_bytes(data)
    about = f"judge({seed}): {name}, {changes or 'no change'}"
    try:
        image = read_tiff(path, memory_limit=MEMORY_LIMIT)
    except UnreadableImageError as error:
        text = str(error)
        good = text.startswith("image file must ") and "; got " in text and "\n" not in text
        return ("refused", "") if good else ("lost", f"{about}: {text!r}")
    except BaseException as error:
        return "lost", f"{about}: {type(error).__name__}: {error}"
    found, truth = image.pixels, whole_files()[name][1]
    if (found.shape, found.dtype) == (truth.shape, truth.dtype) and np.array_equal(
        found, truth, equal_nan=truth.dtype.kind == "f"
    ):
        return "correct", ""
    try:
        problem = _difference(path, image, name, changes)
    except BaseException as error:
        problem = f"the second reading failed: {type(error).__name__}: {error}"
    return ("wrong", f"{about}: {problem}") if problem else ("correct", "")


def _difference(path, image, name, changes):
    """Say what is wrong with a picture that is not the one written; nothing if none can know."""
    found, truth = image.pixels, whole_files()[name][1]
    told = any(f"holds {image.series_count} images" in note for note in image.notes)
    if told and truth.ndim == 3 and found.tobytes() in truth.tobytes():
        return ""  # pages that are no longer alike are images of their own
    if (
        "relink_pages" in changes
        and "cut" in changes
        and np.array_equal(found, truth[: len(found)])
    ):
        return ""  # a shorter stack in a shorter file
    with tifffile.TiffFile(path) as opened:
        series = opened.series
        if len({each.shape for each in series}) == 1 < len(series):
            series = tifffile.TiffFile(path, is_shaped=False).series
        same = _extent(found, name) == _extent(truth, name)
        bytes_of = [sum(map(_stored, pages)) for pages in (series[0], pages_of(name))]
        grafted = "graft" in changes and len(series[0]) == len(pages_of(name))
        if (
            not grafted
            and not (same and found.dtype.itemsize == truth.dtype.itemsize)
            and not (0 < bytes_of[0] == bytes_of[1])
        ):
            return f"{found.shape} of {found.dtype}, written as {truth.shape} of {truth.dtype}"
        for page in series[0]:
            for offset, count in zip(page.dataoffsets, page.databytecounts, strict=True):
                problem = _part(page.keyframe, path.read_bytes()[offset : offset + count])
                if problem:
                    return problem
        with suppress(Exception):  # it is stricter with last strips that are filled up, and others
            second = canonical(series[0].asarray(squeeze=False), series[0].get_axes(False))[0]
            if second.astype(found.dtype).tobytes() != found.tobytes():
                return "not what tifffile reads"
    return ""


def _extent(pixels, name):
    """Count planes, and rows and columns as far as the stored bytes tell them.

    Tiles are filled up, and bits to whole bytes: several sizes go with them.
    """
    page, (length, width) = pages_of(name)[0], pixels.shape[-2:]
    planes = pixels.size // (length * width)
    if page.is_tiled:
        return planes * -(-length // page.tilelength) * -(-width // page.tilewidth)
    bits = page.bitspersample if page.compression == 1 else 8
    return planes, length, -(-width * bits // 8)


def _stored(page):
    """Count the bytes of a page without compression, 0 for codecs that know its size.

    Half the width and twice the bits are as many: nothing tells such a change of two tags.
    """
    page = page.keyframe
    if page.compression in tifffile.TIFF.IMAGE_COMPRESSIONS or page.compression == LERC:
        return 0
    planes, depth, length, width, samples = page.shaped
    bits = page.bitspersample
    pixel = sum(bits) if isinstance(bits, tuple) else bits * samples
    return planes * depth * length * -(-width * pixel // 8)


def _part(page, data):
    """Decode a strip or tile without a hint, and hold its size against what is announced."""
    code, samples = int(page.compression), page.shaped[4]
    length = page.tilelength if page.is_tiled else min(page.rowsperstrip, page.imagelength)
    width = page.tilewidth if page.is_tiled else page.imagewidth
    rest = page.imagelength % length or length
    if code in (1, 2, 3, 4):
        return ""
    if page.fillorder == 2 and code not in (*tifffile.TIFF.IMAGE_COMPRESSIONS, LERC):
        data = imagecodecs.bitorder_decode(data)
    if code in (8, 32946):
        part = zlib.decompress(data)
    elif code == 34925:
        part = lzma.LZMADecompressor().decompress(data)
    elif code == 7:
        part = imagecodecs.jpeg_decode(data, tables=page.jpegtables)
    else:
        part = tifffile.TIFF.DECOMPRESSORS[code](data)
    if isinstance(part, np.ndarray):
        sizes = [(rows, width, samples)[: 3 if samples > 1 else 2] for rows in (length, rest)]
        good = part.shape in sizes and part.dtype == page.dtype
        return "" if good else f"a part of {part.shape} in {part.dtype}"
    line = -(-width * samples * np.max(page.bitspersample) // 8)
    return "" if len(part) in (line * length, line * rest) else f"a part of {len(part)} bytes"


# --------------------------------------------------------------------- the attack


def attack(seconds: float, seed: int) -> Counts:
    """Let damaged files be read by a process of its own, bounded in memory and time."""
    counts, end = Counts("TIFF"), time.monotonic() + seconds
    context = get_context("spawn")
    reader = link = None
    while time.monotonic() < end:
        if reader is None:
            link, theirs = context.Pipe()
            reader = context.Process(target=_serve, args=(theirs,), daemon=True)
            reader.start()
            theirs.close()
            link.recv()
        number = seed * 10**9 + counts.submitted
        counts.submitted += 1
        link.send(number)
        if link.poll(MOST_SECONDS):
            with suppress(EOFError):
                verdict, why = link.recv()
                setattr(counts, verdict, getattr(counts, verdict) + 1)
                counts.notes += [why] if why else []
                continue
        reader.kill()
        reader.join()
        counts.lost += 1
        counts.notes.append(f"judge({number}): no answer, exit code {reader.exitcode}")
        reader = None
    if reader is not None:
        reader.kill()
    return counts


def _serve(link):
    import logging
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    logging.getLogger("tifffile").addHandler(logging.NullHandler())
    with tempfile.TemporaryDirectory() as folder:
        whole_files()
        link.send("ready")
        while True:
            link.send(judge(link.recv(), Path(folder)))


if __name__ == "__main__":
    result = attack(float(sys.argv[1]), int(sys.argv[2]))
    print(*result.notes, result, result.holds, sep="\n")
