"""Images of a run that are labeled block by block: larger than the limit, and OME-Zarr."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile
import zarr

from batches import label_here, names, record, refused, results, summary
from equilabel import segment
from equilabel.cli import batch, main
from equilabel.storage.tiff import read_tiff

RNG = np.random.default_rng(3)
NOISE = RNG.integers(0, 200, (1000, 1050), np.uint8)
WORDS = ["--out", "out", "--sigma", "1", "--min-size", "30", "--threshold", "110"]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    monkeypatch.setattr(batch, "label_all", label_here)


def scan(path, pixels, channels=("DAPI", "GFP")):
    """Write an OME-Zarr of ZYX, or of CZYX."""
    group = zarr.create_group(path)
    array = group.create_array("0", shape=pixels.shape, chunks=(4,) * pixels.ndim, dtype="u1")
    array[...] = pixels
    letters = "czyx"[-pixels.ndim :]
    units = {"c": {"type": "channel"}}
    other = {"type": "space", "unit": "micrometer"}
    axes = [{"name": name, **units.get(name, other)} for name in letters]
    steps = [{"type": "scale", "scale": [1 if name == "c" else 0.5 for name in letters]}]
    levels = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": steps}]}]
    named = {"channels": [{"label": name} for name in channels]} if "c" in letters else {}
    group.attrs["ome"] = {"version": "0.5", "multiscales": levels, "omero": named}


def test_an_image_above_the_limit_has_the_results_that_it_has_below(here, capsys):
    Path("in").mkdir()
    tifffile.imwrite("in/noise.tif", NOISE, tile=(128, 128), resolution=(4, 4))
    assert main(["batch", "in", *WORDS]) == 0
    whole = {name: Path("out", name).read_bytes() for name in results("noise")[:3]}
    limit = ["--memory-limit", "88MB"]
    said = main(["batch", "in", *WORDS, "--overwrite", *limit]), summary()
    assert said[0] == 1
    assert "pass --too-large chunked" in said[1]["in/noise.tif"]["error"]
    limit += ["--too-large", "chunked"]
    assert main(["batch", "in", *WORDS, "--overwrite", *limit, "--dry-run"]) == 0
    assert "block by block, takes about 87.2 MB of memory" in capsys.readouterr().out
    assert main(["batch", "in", *WORDS, "--overwrite", *limit]) == 0
    assert names() == results("noise")
    assert {name: Path("out", name).read_bytes() for name in whole} == whole
    assert "Labeled block by block: an image that takes about" in summary()["in/noise.tif"]["notes"]
    before = record()["files"][0]["outputs"]
    assert main(["batch", "in", *WORDS, "--resume"]) == 0
    assert summary()["in/noise.tif"]["status"] == "skipped"
    assert record()["files"][0]["outputs"] == before


def test_what_needs_the_whole_image_fails_by_its_option_above_the_limit(here):
    Path("in").mkdir()
    tifffile.imwrite("in/noise.tif", NOISE)
    limit = ["--memory-limit", "9MB", "--too-large", "chunked", "--no-overlay"]
    words = ["--background", "9", "--background-method", "rolling_ball"]
    assert main(["batch", "in", "--out", "out", *limit, *words]) == 1
    row = summary()["in/noise.tif"]
    assert "--background-method needs the image as a whole" in row["error"]
    assert main(["batch", "in", "--out", "again", *limit[:1], "8.1MB", *limit[2:]]) == 1
    assert "even block by block. Pass a larger" in summary("again")["in/noise.tif"]["error"]
    assert main(["batch", "in", "--out", "tiny", *limit[:1], "1MB", *limit[2:]]) == 1
    assert "no-overlay" not in summary("tiny")["in/noise.tif"]["error"]


def test_ome_zarrs_of_a_folder_are_images_of_a_run(here, capsys):
    pixels = NOISE[:24, :480].reshape(2, 12, 24, 20)
    scan("in/scan.ome.zarr", pixels)
    scan("in/below/scan.zarr", pixels[0])
    zarr.create_array("in/plain.zarr", shape=(4, 4), dtype="u1")
    words = ["batch", "in", *WORDS, "--channel", "GFP"]
    assert main([*words, "--recursive"]) == 1
    found = summary()
    assert "must be an OME-Zarr" in found["in/plain.zarr"]["error"]
    assert "--channel must be 0" in found["in/below/scan.zarr"]["error"]
    assert found["in/scan.ome.zarr"]["shape"] == "2 x 12 x 24 x 20"
    options = {"sigma": 1, "min_size": 30, "threshold": 110, "channel_axis": 0, "channel": 1}
    expected = segment(pixels, **options, spacing=(0.5,) * 3, unit="um")
    read = read_tiff("out/scan_labels.tif")
    np.testing.assert_array_equal(read.pixels, expected.labels)
    assert (read.axes, read.spacing) == ("ZYX", dict.fromkeys("ZYX", 0.5))
    pd.testing.assert_frame_equal(pd.read_csv("out/scan_table.csv"), expected.table)
    assert main([*words, "--resume"]) == 1
    assert summary()["in/scan.ome.zarr"]["status"] == "skipped"
    zarr.open_array("in/scan.ome.zarr/0")[0, 3, 3, 3] = 255
    assert main([*words, "--resume"]) == 1
    assert summary()["in/scan.ome.zarr"]["status"] == "done"
    capsys.readouterr()
    assert "must not be in an input" in refused(
        capsys, "batch", "in/scan.ome.zarr", "--out", "in/scan.ome.zarr/results"
    )
    assert main(["batch", "--from", "out/run.json", "--out", "again"]) == 1
    same = Path("again/scan_labels.tif").read_bytes()
    assert same == Path("out/scan_labels.tif").read_bytes()
