"""Zarrs that are damaged, lie about themselves, or lack chunks; labels in chunks on a full disk."""

import errno
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from batches import label_here, picture, summary
from equilabel import label, label_chunked, segment_chunked
from equilabel.cli import batch, main
from equilabel.storage.errors import SHORT
from equilabel.storage.images import read_image

zarr = pytest.importorskip("zarr")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.slow

DEEP = "[" * 10**5 + "]" * 10**5


def ome_zarr(path, **form):
    """Write an OME-Zarr of 48 x 64 pixels in six chunks."""
    group = zarr.create_group(path)
    form = {"shape": (48, 64), "chunks": (16, 32), "dtype": "u1", **form}
    array = group.create_array("0", **form)
    array[...] = picture((48, 64))
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
    steps = [{"type": "scale", "scale": [0.5, 0.5]}]
    scales = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": steps}]}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": scales}
    return Path(path)


def rewritten(name, *keys, value):
    """Return what sets an entry of a description; a text is put in as it is."""

    def damage(folder):
        file = folder / name
        content = json.loads(file.read_text("utf-8"))
        inner = content
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = "@" if isinstance(value, str) else value
        file.write_text(json.dumps(content).replace('"@"', str(value)), "utf-8")

    return damage


def cut(folder):
    chunk = folder / "0/c/0/0"
    chunk.write_bytes(chunk.read_bytes()[:-5])


def set_chunks(*sides):
    return rewritten("0/zarr.json", "chunk_grid", "configuration", "chunk_shape", value=sides)


def set_shape(*shape):
    return rewritten("0/zarr.json", "shape", value=shape)


DATASET = ("zarr.json", "attributes", "ome", "multiscales", 0, "datasets", 0)
FAULTS = {
    "deep group": (rewritten("zarr.json", "x", value=DEEP), "have descriptions in JSON"),
    "deep array": (rewritten("0/zarr.json", "x", value=DEEP), "have descriptions in JSON"),
    "digits": (rewritten("0/zarr.json", "x", value="9" * 10**5), "have descriptions in JSON"),
    "text": (lambda folder: (folder / "zarr.json").write_text("no"), "have descriptions in JSON"),
    "large": (
        lambda folder: (folder / "zarr.json").write_text("{}" + " " * 2**24),
        "have descriptions of up to",
    ),
    "no array": (lambda folder: (folder / "0/zarr.json").unlink(), "be a Zarr; got a folder"),
    "elsewhere": (rewritten(*DATASET, "path", value='"../../a"'), "keep its arrays in its own"),
    "huge": (set_shape(10**10, 10**10), "have fewer than 2^63 bytes"),
    "negative": (set_shape(-48, 64), "have the description of an array"),
    "empty": (set_shape(0, 64), "have an axis and no empty one"),
    "huge chunks": (set_chunks(10**11, 32), "have chunks that fit in memory"),
    "other chunks": (set_chunks(17, 32), "be decodable; got"),
    "no codec": (rewritten("0/zarr.json", "codecs", value=[]), "have the description of an array"),
    "cut": (cut, "be decodable; got"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_zarr_that_lies_is_refused_at_once_in_the_words_of_its_fault(here, monkeypatch, fault):
    monkeypatch.setattr(batch, "label_all", label_here)
    damage, rule = FAULTS[fault]
    damage(ome_zarr("in/a.zarr"))
    begun = time.monotonic()
    assert main(["batch", "in", "--out", "out"]) == 1
    assert time.monotonic() - begun < 5
    error = summary()["in/a.zarr"]["error"]
    assert error.startswith(f"image file must {rule}")
    assert error.count("image file must") == 1
    assert len(error) < 600


def test_labels_that_the_disk_cannot_hold_are_refused_before_work(here, monkeypatch):
    monkeypatch.setattr(batch, "label_all", label_here)
    set_shape(10**9, 10**9)(ome_zarr("in/a.zarr"))
    assert main(["batch", "in", "--no-overlay", "--out", "out"]) == 1
    error = summary()["in/a.zarr"]["error"]
    assert "must have room for what is written; got" in error
    assert "for labels of 1 EB or more" in error


def exabytes(folder):
    """Write a Zarr of a few bytes, and describe it as the largest that can be counted."""
    zarr.create_array(folder, shape=(4, 4), chunks=(4, 4), dtype="i4")[...] = 1
    rewritten("zarr.json", "shape", value=[2**30, 2**30])(folder)
    set_chunks_of_array = rewritten(
        "zarr.json", "chunk_grid", "configuration", "chunk_shape", value=[4096, 4096]
    )
    set_chunks_of_array(folder)
    return zarr.open_array(folder, mode="r+")


def test_exabytes_are_refused_by_every_function_before_anything_is_written(here):
    array, labels = exabytes(Path("a.zarr")), exabytes(Path("b.zarr"))
    images = [Path("a.zarr"), array, da.from_zarr(array)]
    before = sorted(Path().rglob("*"))
    for image in images:
        for out in ("out.zarr", labels):
            with pytest.raises(OSError, match=r"must have room .*; got .* for labels of 18 PB"):
                label_chunked(image, out=out)
        with pytest.raises(OSError, match=r"must have room .*; got .* for labels of 18 PB"):
            segment_chunked(image, threshold=0.5, out="out.zarr")
    with pytest.raises(OSError, match="must have room"):
        label_chunked(images[-1])
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("label a.zarr", 2),
        ("label a.zarr --out a.zarr/labels/n", 2),
        ("batch a.zarr --out out --dry-run", 1),
        ("batch a.zarr --out out --labels-format ome-zarr --dry-run", 1),
        ("measure a.zarr --out out --dry-run", 1),
    ],
)
def test_exabytes_are_refused_by_every_command(here, words, code, capsys):
    set_shape(2**31, 2**31)(ome_zarr("a.zarr"))
    before = sorted(Path().rglob("*"))
    assert main(words.split()) == code
    said = "".join(capsys.readouterr())
    assert ("within --memory-limit" if "measure" in words else "must have room") in said
    assert sorted(Path().rglob("*")) == before


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices are files of POSIX")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_chunk_that_is_no_file_is_refused_at_once(here, kind, capsys):
    ome_zarr("a.zarr")
    chunk = Path("a.zarr/0/c/1/1")
    chunk.unlink()
    make = {"pipe": os.mkfifo, "folder": Path.mkdir, "device": lambda p: p.symlink_to("/dev/zero")}
    make[kind](chunk)
    message = f"regular file for each chunk; got a .*{kind} at '.*a.zarr/0/c/1/1'"
    for image in ("a.zarr", zarr.open_array("a.zarr/0")):
        with pytest.raises(ValueError, match=message):
            segment_chunked(image, threshold=100, out="out.zarr", unit=None)
    with pytest.raises(ValueError, match=message):
        read_image("a.zarr")
    assert main(["segment", "a.zarr"]) == 1
    said = capsys.readouterr().err
    assert re.search(message, said)
    assert "Task was destroyed" not in said


def test_chunks_that_are_missing_are_told_in_a_note(here, monkeypatch, capsys):
    monkeypatch.setattr(batch, "label_all", label_here)
    ome_zarr("in/a.zarr")
    whole = ome_zarr("in/b.zarr", config={"write_empty_chunks": True})
    (whole / "0/c/1/1").unlink()
    assert main(["batch", "in", "--out", "out"]) == 0
    assert summary()["in/a.zarr"]["notes"] == ""
    said = "1 of 6 chunks are not stored: their pixels are 0."
    assert said in summary()["in/b.zarr"]["notes"]
    assert said in capsys.readouterr().out


# --------------------------------------------------------------------------------- checksums

NOISE = np.random.default_rng(5).random((20, 24)) < 0.3


@pytest.mark.parametrize("seed", range(3))
def test_no_changed_bit_of_labels_is_read(tmp_path, seed):
    rng = np.random.default_rng(seed)
    zarr.save_array(tmp_path / "image.zarr", NOISE)
    out = label_chunked(tmp_path / "image.zarr", out=tmp_path / "labels.zarr", chunks=8)
    array = zarr.open_array(out, mode="r")
    chunks = sorted(file for file in (out / "c").rglob("*") if file.is_file())
    for _ in range(40):
        chunk = chunks[rng.integers(len(chunks))]
        whole = chunk.read_bytes()
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        chunk.write_bytes(damaged)
        with pytest.raises(ValueError, match="checksum"):
            array[...]
        chunk.write_bytes(whole)
    np.testing.assert_array_equal(array[...], label(NOISE))


def test_a_changed_bit_of_an_image_with_checksums_is_told_with_its_place(tmp_path):
    codecs = [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]
    image = tmp_path / "image.zarr"
    form = {"shape": NOISE.shape, "chunks": (8, 8), "dtype": "?", "compressors": codecs}
    zarr.create_array(image, **form)[...] = NOISE
    chunk = image / "c/1/2"
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[:-6] + bytes([whole[-6] ^ 1]) + whole[-5:])
    with pytest.raises(ValueError, match=r"image file must be decodable; got .*\[8:16, 16:24\]"):
        label_chunked(image, out=tmp_path / "labels.zarr", chunks=8)
    assert not (tmp_path / "labels.zarr").exists()
    chunk.write_bytes(whole)
    out = label_chunked(image, out=tmp_path / "labels.zarr", chunks=8)
    np.testing.assert_array_equal(zarr.open_array(out)[...], label(NOISE))


# ------------------------------------------------------------------------------------- disks


def test_a_run_in_chunks_whose_disk_is_full_goes_on_when_there_is_room(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", str(disk)]
    root = os.name == "posix" and os.geteuid() == 0
    if not root or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a disk")
    try:
        image = tmp_path / "image.zarr"
        pixels = np.random.default_rng(1).random((40, 40, 40)) < 0.3
        zarr.create_array(image, shape=pixels.shape, chunks=(10,) * 3, dtype="?")[...] = pixels
        message = (
            rf"the disk of '{disk}/labels.zarr' must have room .*; got No space left .*\. Make"
        )
        with pytest.raises(OSError, match=message) as told:
            label_chunked(image, out=disk / "labels.zarr", chunks=10)
        assert told.value.errno == errno.ENOSPC
        assert not (disk / "labels.zarr").exists()
        assert sum(file.is_file() for file in disk.rglob("*")) > 10
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        stages = []
        out = label_chunked(
            image,
            out=disk / "labels.zarr",
            chunks=10,
            resume=True,
            progress=lambda *now: stages.append(now),
        )
        assert stages[0][1] > 0  # what is done is kept
        np.testing.assert_array_equal(zarr.open_array(out)[...], label(pixels))
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_what_numpy_says_of_a_full_disk_becomes_its_path_and_a_remedy(here, monkeypatch, capsys):
    def fill(*_):
        message = "3424254 requested and 997344 written"
        raise OSError(message)

    ome_zarr("a.zarr")
    monkeypatch.setattr("equilabel.chunked.checkpoints.pack", fill)
    assert main(["segment", "a.zarr", "--out", "out"]) == 1
    said = capsys.readouterr().err
    assert "the disk of '" in said
    assert "out/a_labels.zarr' must have room for what is written; got a full disk." in said
    assert "Make room, and run again with --resume." in said


HUNGRY = """
import gc, resource, sys
from contextlib import suppress
from pathlib import Path
from equilabel import label_chunked
image, out = sys.argv[1:]
taken = []  # all memory that is left

def progress(stage, done, total):
    if (stage, done) == ("label", 1):
        gc.collect()
        gc.disable()  # what it would free is not there for the run
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**20, used + 2**20))
        for size in (2**k for k in range(24, 15, -1)):
            with suppress(MemoryError):
                while True:
                    taken.append(bytearray(size))

label_chunked(image, out=out, chunks=(16, 512, 512), workers=1, progress=progress)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux says what is used")
def test_a_run_in_chunks_that_is_out_of_memory_goes_on_where_there_is_more(tmp_path):
    image, out = tmp_path / "image.zarr", tmp_path / "labels.zarr"
    pixels = np.zeros((48, 512, 512), bool)
    pixels[::3, ::5, ::7] = True
    pixels[20, 20] = True
    zarr.create_array(image, shape=pixels.shape, chunks=(16, 512, 512), dtype="?")[...] = pixels
    command = [sys.executable, "-c", HUNGRY, image, out]
    alone = {**os.environ, "MALLOC_ARENA_MAX": "1"}  # memory set apart for a thread is not counted
    ended = subprocess.run(command, capture_output=True, text=True, env=alone, timeout=300)
    assert ended.returncode != 0
    assert "MemoryError" in ended.stderr or SHORT.search(ended.stderr)  # no stack for a thread
    assert not out.exists()
    stages, work = [], {"chunks": (16, 512, 512), "resume": True}
    label_chunked(image, out=out, **work, progress=lambda *now: stages.append(now))
    assert stages[0][1] > 0  # what is done is kept
    np.testing.assert_array_equal(zarr.open_array(out)[...], label(pixels))
