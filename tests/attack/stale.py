"""Images that are replaced between two calls of one process: each is read as it is now."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tifffile
import zarr

from equilabel import label, label_chunked, segment_chunked

from . import Counts


def put(path, pixels, kind):
    """Store an image in place of what is there; a TIFF as a new file that takes the name."""
    if kind == "tiff":
        tifffile.imwrite(path.with_suffix(".new"), pixels)
        path.with_suffix(".new").replace(path)
        return
    shutil.rmtree(path, ignore_errors=True)
    form = {"zarr_format": 2 if kind == "v2" else 3, "chunks": (5, 7)}
    zarr.create_array(path, shape=pixels.shape, dtype=pixels.dtype, **form)[...] = pixels


def change(path, pixels, kind, rng):
    """Change a stored image in one of many ways; return its pixels and its kind."""
    new = (rng.random((int(rng.integers(3, 20)), pixels.shape[1])) < rng.random()).astype(np.uint8)
    how = str(rng.choice(["append", "overwrite", "replace", "other kind"]))
    if kind == "tiff" or how in ("replace", "other kind"):
        if kind != "tiff" and how == "other kind":
            kind = "v2" if kind == "v3" else "v3"
        put(path, new, kind)
        return new, kind
    array = zarr.open_array(path)
    if how == "append":
        array.append(new)
        return np.concatenate([pixels, new]), kind
    new = np.roll(pixels, int(rng.integers(1, 9))) ^ 1
    array[...] = new
    return new, kind


def judge(seed, folder=None):
    """Label an image, change it some times, and label it again; return a verdict, and why."""
    if folder is None:
        with tempfile.TemporaryDirectory() as made:
            return judge(seed, Path(made))
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["v2", "v3", "tiff"]))
    path = folder / ("image.tif" if kind == "tiff" else "image.zarr")
    pixels = (rng.random((12, 11)) < 0.4).astype(np.uint8)
    put(path, pixels, kind)
    for turn in range(4):
        image = zarr.open_array(path) if kind != "tiff" and rng.random() < 0.5 else path
        out = folder / f"{turn}.zarr"
        if rng.random() < 0.5:
            label_chunked(image, out=out, scheduler="synchronous")
        else:
            segment_chunked(image, threshold=0.5, out=out, scheduler="synchronous")
        stored = zarr.open_array(out)
        if stored.shape != pixels.shape or (stored[...] != label(pixels > 0)).any():
            return "wrong", f"judge({seed}): {kind}, turn {turn}"
        pixels, kind = change(path, pixels, kind, rng)
    return "correct", ""


def attack(seconds, seed=0):
    """Change images for some seconds; return `Counts`."""
    counts = Counts("images replaced between calls")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            verdict, about = judge(seed + counts.submitted)
        except Exception as error:
            verdict, about = "lost", f"judge({seed + counts.submitted}): {error!r}"
        counts.submitted += 1
        setattr(counts, verdict, getattr(counts, verdict) + 1)
        counts.notes += [about] if about else []
    return counts


if __name__ == "__main__":
    print(attack(float(sys.argv[1]), int(sys.argv[2])))
