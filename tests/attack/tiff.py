"""TIFFs of every kind, damaged at random: refused in words, or read as what they are.

An input is a whole file and a few changes, both from one seed: ``python -m attack.tiff SECONDS
SEED`` runs the attack, ``judge(seed)`` repeats one input. A reading is right if it is the picture
that was written. Some changes cannot be noticed, such as a bit of an uncompressed pixel: then it
has to have the size that was written, to be what tifffile reads, and every strip and tile has to
decode, without being told a size, to the one that is announced. Fax codes decode to any size, and
a kind of numbers may be taken for another of as many bytes: see ``docs/faults.md``.
"""

from __future__ import annotations

import lzma
import math
import sys
import tempfile
import time
import zlib
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import imagecodecs
import numpy as np
import tifffile

from equilabel.storage.metadata import canonical
from equilabel.storage.tiff import UnreadableImageError, read_tiff

from . import Counts
from .tiff_changes import mutated
from .tiff_files import pages_of, whole_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

MEMORY_LIMIT = 2**26  # bytes an image may decode to
MOST_MEMORY = 2**32  # bytes of address space a reader may have
MOST_SECONDS = 10
LERC, FAX = 34887, (2, 3, 4)


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
    with tifffile.TiffFile(path) as one, tifffile.TiffFile(path, is_shaped=False) as other:
        alike = len({each.shape for each in one.series}) == 1 < len(one.series)
        together = alike and not _tells_of_others(image)  # written one by one, read as a stack
        series = other.series if together else one.series
        if not _fits(image, name, changes, series[0]):
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


def _fits(image, name, changes, series):
    """Return whether a picture has the size of the whole file's, as far as its bytes tell."""
    found, truth, pages = image.pixels, whole_files()[name][1], pages_of(name)
    if series.keyframe.compression in FAX:
        return True  # whose codes fit any size
    if _extent(found, name) == _extent(truth, name) and found.itemsize == truth.itemsize:
        return True
    if 0 < sum(map(_stored, series)) == sum(map(_stored, pages)):
        return True
    if _tells_of_others(image) and truth.ndim > 2 and len(pages) > 1:
        return True  # pages that are no longer alike are images of their own
    unlinked = "relink_pages" in changes or "clear" in changes
    if unlinked and "cut" in changes:
        return len(series) < len(pages)  # a shorter stack in a shorter file
    return "graft" in changes and len(series) == len(pages)  # one that fits another size


def _tells_of_others(image):
    """Return whether a note says that the file holds more images than the one that was read."""
    return any(f"holds {image.series_count} images" in note for note in image.notes)


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
    if page.is_tiled:  # which are filled up
        length = -(-length // page.tilelength) * page.tilelength
        width = -(-width // page.tilewidth) * page.tilewidth
    bits = page.bitspersample
    pixel = sum(bits) if isinstance(bits, tuple) else bits * samples
    return planes * depth * length * -(-width * pixel // 8)


def _part(page, data):
    """Decode a strip or tile without a hint, and hold its size against what is announced."""
    code, samples = int(page.compression), page.shaped[4]
    length = page.tilelength if page.is_tiled else min(page.rowsperstrip, page.imagelength)
    width = page.tilewidth if page.is_tiled else page.imagewidth
    rest = page.imagelength % length or length
    if code in (1, *FAX):
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
        widths = {width, page.imagewidth % width or width} if code in (7, 34933) else {width}
        sizes = [
            (rows, columns, samples)[: 3 if samples > 1 else 2]
            for rows in (length, rest)
            for columns in widths  # tiles of JPEG and PNG may end with the image
        ]
        good = part.shape in sizes and part.itemsize == page.dtype.itemsize
        return "" if good else f"a part of {part.shape} in {part.dtype}"
    line = -(-width * samples * np.max(page.bitspersample) // 8)
    return "" if len(part) in (line * length, line * rest) else f"a part of {len(part)} bytes"


# --------------------------------------------------------------------- the attack


def attack(
    seconds: float,
    seed: int,
    serve: Callable[[Connection], None] | None = None,
    most: float = math.inf,
    limit: float | None = None,
) -> Counts:
    """Let damaged files be read by a process of its own, bounded in memory and time.

    Parameters
    ----------
    seconds : float
        How long to go on.
    seed : int
        Of the files.
    serve : callable, optional
        What the process does.
    most : float
        How many files at most.
    limit : float, optional
        Seconds that an answer may take.
    """
    counts = Counts("damaged TIFF files")
    reader, link = _reader(serve or _serve)
    end = time.monotonic() + seconds
    while time.monotonic() < end and counts.submitted < most:
        number = seed * 10**9 + counts.submitted
        counts.submitted += 1
        with suppress(OSError, EOFError):  # it died
            link.send(number)
            if link.poll(limit or MOST_SECONDS):
                verdict, why = link.recv()
                setattr(counts, verdict, getattr(counts, verdict) + 1)
                counts.notes += [why] if why else []
                continue
        reader.kill()
        reader.join()
        counts.lost += 1
        counts.notes.append(f"judge({number}): no answer, exit code {reader.exitcode}")
        reader, link = _reader(serve or _serve)
    reader.kill()
    reader.join()
    return counts


def _reader(serve):
    context = get_context("spawn")
    link, theirs = context.Pipe()
    reader = context.Process(target=serve, args=(theirs,), daemon=True)
    reader.start()
    theirs.close()
    link.recv()
    return reader, link


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
