"""PNG, JPEG and BMP, damaged at random: refused in words, or read as what they are.

A PNG has checksums: what is read of it has to be the picture that was written. JPEG and BMP have
none, and damage to their pixels cannot be noticed: what is read has to have the size that was
written, or the one that another decoder finds in the damaged file.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import imagecodecs
import numpy as np
from PIL import Image

from equilabel.storage.errors import UnreadableImageError
from equilabel.storage.pictures import read_picture

from . import tiff

if TYPE_CHECKING:
    from . import Counts

MEMORY_LIMIT = 2**26


@cache
def whole_files():
    """Make a small picture of every kind: name to ending, bytes and what is read of it."""
    rng = np.random.default_rng(0)
    gray = rng.integers(0, 256, (6, 8)).astype(np.uint8).repeat(5, 0).repeat(6, 1)
    colors = np.stack([gray, gray[::-1], gray[:, ::-1]], -1)
    kinds = {
        "gray": (".png", gray, {}),
        "colors": (".png", colors, {}),
        "16 bits": (".png", gray.astype(np.uint16) * 257, {}),
        "bits": (".png", gray > 99, {}),
        "palette": (".png", Image.fromarray(colors).quantize(16), {}),
        "jpeg": (".jpg", gray, {"quality": 90}),
        "jpeg colors": (".jpg", colors, {"quality": 90}),
        "progressive": (".jpg", colors, {"progressive": True}),
        "restarts": (".jpg", gray, {"restart_marker_rows": 1}),
        "bmp": (".bmp", gray, {}),
        "bmp colors": (".bmp", colors, {}),
        "bmp bits": (".bmp", gray > 99, {}),
    }
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (ending, pixels, options) in kinds.items():
            path = Path(folder, "image").with_suffix(ending)
            whole = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
            whole.save(path, **options)
            found[name] = ending, path.read_bytes(), read_picture(path).pixels
        path = Path(folder) / "deep.png"
        path.write_bytes(imagecodecs.png_encode(colors.astype(np.uint16) * 257))
        found["16 bits, colors"] = ".png", path.read_bytes(), read_picture(path).pixels
    return found


def damaged(seed):
    """Return the name of a whole file, what was done to it, and the bytes that it became."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(sorted(whole_files())))
    data, done = bytearray(whole_files()[name][1]), []
    for _ in range(rng.integers(0, 4)):
        what = str(rng.choice(["flip", "clear", "cut", "insert", "repeat", "header"]))
        at, length = int(rng.integers(len(data) or 1)), int(rng.integers(1, 40))
        if what in ("flip", "header") and data:
            data[at % 60 % len(data) if what == "header" else at] ^= 1 << int(rng.integers(8))
        elif what == "clear":
            data[at : at + length] = bytes(len(data[at : at + length]))
        elif what == "cut":
            del data[at:]
        elif what == "insert":
            data[at:at] = rng.bytes(length)
        elif what == "repeat":
            data[at:at] = data[at : at + length]
        done.append(what)
    return name, done, bytes(data)


def judge(seed, folder=None):
    """Read one damaged picture; return "correct", "refused", "wrong" or "lost", and why."""
    if folder is None:
        with tempfile.TemporaryDirectory() as folder:
            return judge(seed, Path(folder))
    name, done, data = damaged(seed)
    ending, whole, truth = whole_files()[name]
    path = folder / f"image{ending}"
    path.write_bytes(data)
    about = f"judge({seed}): {name}, {done or 'no change'}"
    try:
        found = read_picture(path, memory_limit=MEMORY_LIMIT).pixels
    except UnreadableImageError as error:
        text = str(error)
        good = text.startswith("image file must ") and "; got " in text and "\n" not in text
        if data == whole:
            return "lost", f"{about}: a whole file was refused: {text}"
        return ("refused", "") if good else ("lost", f"{about}: {text!r}")
    except BaseException as error:
        return "lost", f"{about}: {type(error).__name__}: {error}"
    same = (found.shape, found.dtype) == (truth.shape, truth.dtype)
    if same and (ending != ".png" or np.array_equal(found, truth)):
        return "correct", ""
    if ending != ".png" and found.shape[-2:] in (truth.shape[-2:], _size(ending, data)):
        return "correct", ""
    return "wrong", f"{about}: {found.shape} of {found.dtype}, written as {truth.shape}"


def _size(ending, data):
    """Return length and width that another decoder finds."""
    decode = imagecodecs.jpeg8_decode if ending == ".jpg" else imagecodecs.bmp_decode
    try:
        return decode(data).shape[:2]
    except Exception:  # it is stricter, or knows less: then the size says it
        with Image.open(BytesIO(data)) as picture:
            return picture.size[::-1]


def serve(judge, link):
    """Judge pictures for `tiff.attack`, with bounded memory."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (tiff.MOST_MEMORY, tiff.MOST_MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        whole_files()
        link.send("ready")
        while True:
            link.send(judge(link.recv(), Path(folder)))


def attack(seconds: float, seed: int) -> Counts:
    """Let damaged pictures be read by a process of its own, as damaged TIFFs are."""
    return replace(tiff.attack(seconds, seed, partial(serve, judge)), name="damaged pictures")


if __name__ == "__main__":
    result = attack(float(sys.argv[1]), int(sys.argv[2]))
    print(*result.notes, result, result.holds, sep="\n")
