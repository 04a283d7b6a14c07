"""`equilabel segment` of images in chunks."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile
import zarr

from batches import posix, refused
from equilabel import segment
from equilabel.chunked import splitting, tables
from equilabel.cli import main
from equilabel.storage.images import read_image
from equilabel.storage.table import read_table

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(5)
IMAGE = (RNG.random((2, 12, 60, 50)) * 200 + 20).astype(np.uint8)
KNOWN = {"sigma": 1, "min_size": 4, "spacing": (1.0, 0.5, 0.5), "unit": "µm"}
WORDS = ["--sigma", "1", "--min-size", "1um3"]


def scan(path="scan.ome.zarr"):
    """Write an OME-Zarr of two channels, DAPI and GFP."""
    group = zarr.create_group(path)
    array = group.create_array("0", shape=IMAGE.shape, chunks=(1, 6, 16, 16), dtype="u1")
    array[...] = IMAGE
    axes = [{"name": "c", "type": "channel"}] + [
        {"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"
    ]
    scale = [{"type": "scale", "scale": [1, 1, 0.5, 0.5]}]
    levels = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}]
    channels = {"channels": [{"label": "DAPI"}, {"label": "GFP"}]}
    group.attrs["ome"] = {"version": "0.5", "multiscales": levels, "omero": channels}


def test_labels_of_an_ome_zarr_are_put_into_it(here, capsys):
    scan()
    out = "scan.ome.zarr/labels/nuclei"
    words = ["segment", "scan.ome.zarr", "--channel", "GFP", *WORDS, "--chunks", "12,32,32"]
    assert main([*words, "--out", out]) == 0
    expected = segment(IMAGE, channel_axis=0, channel=1, **KNOWN)
    assert f"{expected.num} objects, " in capsys.readouterr().out
    np.testing.assert_array_equal(zarr.open_array(f"{out}/0")[...], expected.labels)
    pd.testing.assert_frame_equal(read_table(f"{out}/table.csv"), expected.table)
    known = json.loads(Path(out, "record.json").read_text("utf-8"))
    assert known["record"]["outputs"]["table"]["units"]["area"] == "µm³"
    listed = zarr.open_group("scan.ome.zarr/labels").attrs["ome"]["labels"]
    assert listed == ["nuclei"]
    assert "Pass --overwrite" in refused(capsys, *words, "--out", out)
    assert main([*words, "--out", out, "--resume"]) == 0
    assert main([*words[:-2], "--dark", "--out", out, "--overwrite"]) == 0
    capsys.readouterr()
    refused(capsys, *words[:-1], "9,9", "--out", out, "--overwrite")
    dark = segment(IMAGE[1], **KNOWN, dark=True).labels
    np.testing.assert_array_equal(zarr.open_array(f"{out}/0")[...], dark)
    assert not list(Path("scan.ome.zarr/labels").glob(".*"))  # earlier labels are gone


def test_stages_to_the_foreground_are_those_of_the_whole_image(here, capsys):
    scan()
    words = ["segment", "scan.ome.zarr", "--channel", "GFP", "--sigma", "1", "--chunks", "12,32,32"]
    stages = ["--background", "9px", "--threshold", "103,115", "--opening", "1px", "--fill-holes"]
    assert main([*words, *stages, "--out", "labels.zarr"]) == 0
    assert "  hysteresis: labeling: 0 of 4" in capsys.readouterr().out
    expected = segment(
        IMAGE[1], sigma=1, spacing=(1.0, 0.5, 0.5), unit="µm", background="9px",
        threshold=(103, 115), opening="1px", fill_holes=True,
    )  # fmt: skip
    assert expected.num > 5
    np.testing.assert_array_equal(zarr.open_array("labels.zarr/0")[...], expected.labels)


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": "per_object", "split": 0.5},
        {"threshold": "local", "block_size": 15, "offset": "auto"},
    ],
)
def test_thresholds_that_differ_in_an_image_are_those_of_the_whole_image(here, options):
    scan()
    words = ["segment", "scan.ome.zarr", "--channel", "GFP", "--sigma", "1", "--chunks", "12,32,32"]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", f"{value}"]
    assert main([*words, "--out", "labels.zarr"]) == 0
    expected = segment(IMAGE[1], sigma=1, spacing=(1.0, 0.5, 0.5), unit="µm", **options)
    assert expected.num > 1
    np.testing.assert_array_equal(zarr.open_array("labels.zarr/0")[...], expected.labels)


def test_objects_of_a_movie_in_chunks_are_tracked(here):
    movie = np.stack([np.roll(IMAGE[0, 0], frame, 1) for frame in range(4)])
    array = zarr.create_array("movie.zarr", shape=movie.shape, chunks=(1, 16, 16), dtype="u1")
    array[...] = movie
    words = ["segment", "movie.zarr", "--stacked", "--sigma", "1", "--track"]
    assert main([*words, "--out", "labels.zarr"]) == 0
    expected = segment(movie, sigma=1, stacked=True, track=True).table
    found = read_table("labels.zarr/table.csv")
    assert expected.track.max() < len(expected)
    for name in ("frame", "label", "track", "parent"):
        np.testing.assert_array_equal(found[name], expected[name])


def test_a_tiff_larger_than_the_limit_is_read_in_chunks(here, capsys):
    options = {"axes": "ZCYX", "unit": "um", "spacing": 1}
    image = np.ascontiguousarray(np.moveaxis(IMAGE, 0, 1))
    tifffile.imwrite("scan.tif", image, imagej=True, resolution=(2, 2), metadata=options)
    words = ["segment", "scan.tif", "--channel", "1", *WORDS, "--memory-limit", "20kB"]
    said = refused(capsys, *words, "--background", "9", "--background-method", "rolling_ball")
    assert "of memory, more than --memory-limit 20 kB. Leave it out" in said
    assert main([*words, "--chunks", "5,64,64", "--out", "out", "--unit-row"]) == 0
    expected = segment(IMAGE[1], **KNOWN)
    labels = zarr.open_array("out/scan_labels.zarr")[...]
    np.testing.assert_array_equal(labels, expected.labels)
    assert len(read_table("out/scan_table.csv")) == expected.num + 1


def test_axes_that_are_guessed_are_noted(here, capsys):
    tifffile.imwrite("plain.tif", IMAGE[1])
    assert main(["segment", "plain.tif", "--memory-limit", "20kB", "--chunks", "5,64,64"]) == 0
    note = "12 planes read as depth, as the file does not name their axis"
    assert note in capsys.readouterr().out
    assert note in json.loads(Path("plain_record.json").read_text("utf-8"))["record"]["notes"][0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--background", "9", "--background-method", "rolling_ball", "--memory-limit", "9kB"],
            "--background-method needs the image as a whole, not chunks; got a Zarr. Leave it out; "
            "an OME-Zarr that fits into memory takes it",
        ),
        (
            ["--background", "9", "--background-method", "rolling_ball", "--out", "out.zarr"],
            "--background-method needs the image as a whole",
        ),
        (["--overlay"], "--overlay needs the image as a whole"),
        (
            ["--channel", "0", "--properties", "solidity"],
            "--properties must be counts that blocks add up to",
        ),
        (["--channel", "0", "--series", "1"], "--series must be 0 for a Zarr; got 1"),
        (["--split", "--series", "1"], "--series must be 0 for a Zarr; got 1"),
        (["--channel", "DAPJ"], "Did you mean 'DAPI'?"),
        (["--channel", "0", "--chunks", "3,3"], "--chunks must be 1 or more"),
        (["--scheduler", "cloud"], "--scheduler must be threads, processes, or an address"),
        (["--out", "scan.ome.zarr"], "--out must not be the image or in it"),
        (["--resume", "--overwrite"], "must not be combined"),
    ],
)
def test_what_cannot_be_done_in_chunks_is_refused_by_its_option(here, capsys, words, message):
    scan()
    before = sorted(Path().rglob("*"))
    assert message in refused(capsys, "segment", "scan.ome.zarr", *words)
    assert sorted(Path().rglob("*")) == before


def test_gray_values_of_colors_need_the_whole_image(here, capsys):
    pixels = np.dstack([IMAGE[0, 0], IMAGE[0, 1], IMAGE[0, 2]])
    tifffile.imwrite("he.tif", pixels, photometric="rgb")
    words = ["segment", "he.tif", "--chunked", "--out", "out", "--channel"]
    said = refused(capsys, *words, "hematoxylin")
    assert "--channel hematoxylin needs the image as a whole, not chunks" in said
    assert main([*words, "red"]) == 0


STOPPED = """
import os, signal, sys
import equilabel.cli.streams as streams
from equilabel.cli import main

class Stopping(streams.Stages):
    def __call__(self, stage, done, total):
        super().__call__(stage, done, total)
        if (stage, done) == ("write", 5):
            os.kill(os.getpid(), signal.SIGINT)

streams.Stages = Stopping
sys.exit(main(sys.argv[1:]))
"""


@posix
@pytest.mark.long
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(here, capsys):
    scan()
    words = ["segment", "scan.ome.zarr", "--channel", "0", *WORDS, "--chunks", "16", "--out", "out"]
    command = [sys.executable, "-c", STOPPED, *words]
    # A shell that starts programs in the background lets them ignore Ctrl-C.
    listening = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        signal.signal(signal.SIGINT, listening)
    assert done.returncode == 130, done.stderr
    assert re.search(r"interrupted in stage 'writing labels', 5 of 16; what is done", done.stderr)
    assert "run the same command with --resume." in done.stderr
    assert [path.name for path in Path("out").iterdir()] == [".scan_labels.zarr.unfinished"]
    assert "Pass --resume to go on with it" in refused(capsys, *words)
    assert main([*words, "--resume"]) == 0
    said = capsys.readouterr().out
    assert "labeling: 16 of 16" in said
    assert int(re.search(r"writing labels: (\d+) of 16", said)[1]) >= 5
    np.testing.assert_array_equal(
        zarr.open_array("out/scan_labels.zarr/0")[...], segment(IMAGE[0], **KNOWN).labels
    )


@pytest.mark.parametrize(
    ("word", "options"),
    [
        ("segment", {"split": "1um"}),
        ("batch", {"split": "1um"}),
        ("segment", {"threshold": "per_object"}),
        ("batch", {"threshold": "li"}),
    ],
)
def test_a_zarr_that_fits_is_split_as_a_whole(here, word, options):
    scan()
    ((name, value),) = options.items()
    words = [word, "scan.ome.zarr", "--channel", "DAPI", *WORDS, f"--{name}", value, "--out", "out"]
    assert main([*words, "--no-overlay"]) == 0
    expected = segment(IMAGE[0], **KNOWN, **options)
    labels = read_image(Path("out", "scan_labels.tif")).pixels
    np.testing.assert_array_equal(labels, expected.labels)
    assert (labels != segment(IMAGE[0], **KNOWN).labels).any()


def test_objects_of_a_zarr_are_split_in_chunks_and_a_note_names_those_left_whole(
    here, capsys, monkeypatch
):
    scan()
    words = ["segment", "scan.ome.zarr", "--channel", "DAPI", *WORDS, "--split", "1um"]
    words += ["--chunks", "6,16,16", "--out"]
    assert "with --chunked; got --grow, which needs the image as a whole" in refused(
        capsys, *words, "out", "--grow", "1"
    )
    assert main([*words, "out"]) == 0
    assert Path("out/scan_labels.zarr").exists()
    assert main([*words, "out.zarr"]) == 0
    assert "stayed whole" not in capsys.readouterr().out
    expected = segment(IMAGE[0], **KNOWN, split="1um")
    np.testing.assert_array_equal(zarr.open_array("out.zarr/0")[...], expected.labels)
    monkeypatch.setattr(splitting, "LEAST", 1)
    assert main([*words, "again.zarr"]) == 0
    assert "stayed whole: 0:" in capsys.readouterr().out


def test_a_table_of_many_rows_replaces_one_of_few_and_the_reverse(here, capsys, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(tables, "ROWS", 7)
    scan()
    words = ["segment", "scan.ome.zarr", "--channel", "DAPI", "--out", "out", "--overwrite"]
    folder, few, many = "scan_table.parquet", ["--threshold", "255"], ["--threshold", "180"]
    for more, kept in ((many, folder), (many, folder), (few, "scan_table.csv"), (many, folder)):
        capsys.readouterr()
        assert main([*words, *more]) == 0
        assert [path.name for path in Path("out").glob("*table*")] == [kept]
        assert f"out/{kept}" in capsys.readouterr().out
    assert main([*words, *few, "--format", "parquet"]) == 0
    assert Path("out", folder).is_file()
    assert main([*words[:-1], *few, "--resume"]) == 0  # as CSV
    capsys.readouterr()
    assert "must not replace earlier" in refused(capsys, *words[:-1], "--format", "parquet")


def test_numbers_by_blocks_are_asked_for_by_an_option(here, capsys):
    scan()
    words = ["segment", "scan.ome.zarr", "--channel", "DAPI", "--threshold", "180"]
    words += ["--chunks", "6,16,16", "--numbering", "blocks", "--out", "out"]
    assert main(words) == 0
    expected = segment(IMAGE[0], threshold=180).labels
    labels = zarr.open_array("out/scan_labels.zarr/0")[...]
    pairs = np.unique(np.stack([labels.ravel(), expected.ravel()]), axis=1)
    assert pairs.shape[1] == expected.max() + 1
    assert (labels != expected).any()
    tifffile.imwrite("plain.tif", IMAGE[1])
    capsys.readouterr()
    assert "--numbering needs an image in chunks" in refused(
        capsys, "segment", "plain.tif", "--numbering", "blocks"
    )
