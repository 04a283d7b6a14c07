"""Small TIFFs of every kind, whole, and what is read of them."""

from __future__ import annotations

import tempfile
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

from equilabel.storage.tiff import read_tiff, write_labels

GRAY = {"photometric": "minisblack"}
BYTES = ("zlib", "lzw", "packbits", "zstd", "lzma")
IMAGES = {"jpeg2000": "u2", "jpegxl": "u2", "lerc": "u2", "png": "u2", "jpeg": "u1"}


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
