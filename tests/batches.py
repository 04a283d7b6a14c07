"""Small folders of images for `equilabel batch`, and what it wrote."""

import csv
import ctypes
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tifffile

from equilabel.cli import main, one, trial
from equilabel.cli.options import RefusedError

SOURCE = Path(__file__).parents[1] / "src"
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and links")


def label_here(jobs, run, *, stop, begin):
    """Stand in for `workers.label_all` without its processes, which start slowly."""
    complaint = trial.check(run.options)
    if complaint:
        raise RefusedError(complaint)
    begin()
    for job in jobs:
        if stop():
            return
        yield job, one.label_one(job, run.options, run.provenance)


def picture(shape=(24, 32), objects=2):
    image = np.full(shape, 20, np.uint8)
    for number in range(objects):
        image[..., 4:12, 4 + 10 * number : 10 + 10 * number] = 200
    return image


def tiff(path, image=None, **keywords):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tifffile.imwrite(path, picture() if image is None else image, **keywords)
    return path


def ome_zarr(path, image, units, scale):
    """Write an OME-Zarr with the units of its axes, the last of ZYX, as they are spelled there."""
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(path, mode="w", zarr_format=2)
    group.create_array("0", data=image)
    named = zip("zyx"[-image.ndim :], units, strict=True)
    axes = [{"name": n, "type": "space", **({"unit": u} if u else {})} for n, u in named]
    sized = {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": scale}]}
    group.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": [sized]}]
    return Path(path)


def summary(out="out"):
    with (Path(out) / "summary.csv").open(encoding="utf-8") as file:
        return {row["file"]: row for row in csv.DictReader(file) if not row["frame"]}


def record(out="out"):
    return json.loads((Path(out) / "run.json").read_text(encoding="utf-8"))


def names(folder="out"):
    """List the files below a folder; the records of images have names nobody reads."""
    files = [path.relative_to(folder) for path in Path(folder).rglob("*") if path.is_file()]
    return sorted(path.as_posix() for path in files if path.parts[0] != ".equilabel")


def results(*stems):
    endings = ("_labels.tif", "_overlay.png", "_table.csv")
    of_run = ["objects.csv", "report.html", "run.json", "summary.csv"]
    return sorted([*(s + e for s in stems for e in endings), *of_run])


def refused(capsys, *words):
    """Call with words that are refused; return the one line that says why."""
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def sizes(*values):
    pairs = zip("ZYX"[-len(values) :], values, strict=True)
    return {f"PhysicalSize{axis}": value for axis, value in pairs} | {
        f"PhysicalSize{axis}Unit": "µm" for axis in "ZYX"[-len(values) :]
    }


@contextmanager
def without_privileges():
    """Let the permissions of files count, though these tests may be run by root."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        yield
        return
    if sys.platform != "linux":
        pytest.skip("root may read all")
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    before, now = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, before) == 0
    now[:] = before[:]
    now[0] &= ~0b110  # effective: to override permissions, to read and search all
    assert libc.capset(header, now) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0


def start(*words, **keywords):
    """Start the real program in a group of its own, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, "-m", "equilabel", *words],
        **{
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "encoding": "utf-8",
            "env": {**os.environ, "PYTHONPATH": str(SOURCE)},
            "start_new_session": True,
            **keywords,
        },
    )
