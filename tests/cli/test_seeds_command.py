"""`--markers`, `--mask` and `--grow`: files beside images, in records, and what is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from batches import label_here, names, record, refused, summary, tiff
from equilabel import segment
from equilabel.cli import batch, main
from equilabel.storage.tiff import read_tiff

Y, X = np.mgrid[:40, :60]
TWO = ((Y - 20) ** 2 + (X - 20) ** 2 < 120) | ((Y - 20) ** 2 + (X - 36) ** 2 < 120)
IMAGE = np.where(TWO, 200, 20).astype(np.uint8)
POINTS = np.where((Y == 20) & ((X == 20) | (X == 36)), 255, 0).astype(np.uint8)
LEFT = (X < 40).astype(np.uint8)
SEEDED = ["--markers", "seeds/{name}_points.tif", "--mask", "left.tif", "--grow", "2px"]


@pytest.fixture
def files(here, monkeypatch):
    """Two images of two discs that touch, with a point in each, in one process."""
    monkeypatch.setattr(batch, "label_all", label_here)
    for name in ("day1/a", "day1/b"):
        tiff(f"in/{name}.tif", IMAGE)
        tiff(f"seeds/{name}_points.tif", POINTS)
    tiff("left.tif", LEFT)
    return here


def found(path):
    return read_tiff(path).pixels


def test_one_image(files, capsys):
    expected = segment(IMAGE, markers=POINTS > 0, mask=LEFT, grow=2)
    assert expected.num == 2
    points = ["--markers", "seeds/day1/a_points.tif", "--mask", "left.tif", "--grow", "2"]
    assert main(["segment", "in/day1/a.tif", *points]) == 0
    said = capsys.readouterr().out
    assert said.startswith("in/day1/a.tif: 2 objects, threshold 20, grow 2 px, ")
    np.testing.assert_array_equal(found("a_labels.tif"), expected.labels)
    assert pd.read_csv("a_table.csv").area.tolist() == expected.table.area.tolist()


def test_a_batch_finds_the_files_of_each_image_and_its_record_knows_them(files, monkeypatch):
    out = ["batch", "in", "--recursive", "--out", "out", *SEEDED]
    assert main(out) == 0
    expected = segment(IMAGE, markers=POINTS > 0, mask=LEFT, grow=2).labels
    for name in "ab":
        np.testing.assert_array_equal(found(f"out/day1/{name}_labels.tif"), expected)
    first, second = record()["files"]
    assert (first["markers"], first["mask"]) == ("seeds/day1/a_points.tif", "left.tif")
    assert first["sha256"].count(",") == 2
    tiff("seeds/day1/b_points.tif", POINTS * (X < 30))  # corrected
    assert main([*out, "--resume"]) == 0
    assert [row["status"] for row in summary().values()] == ["skipped", "done"]
    assert [row["objects"] for row in summary().values()] == ["2", "1"]
    assert record()["files"][1]["sha256"] != second["sha256"]
    monkeypatch.chdir(files / "in")  # paths are those of the run
    assert main(["batch", "--from", "../out/run.json", "--out", "../again"]) == 0
    np.testing.assert_array_equal(found("../again/day1/a_labels.tif"), expected)
    assert names("../again") == names("../out")


def test_an_image_without_its_markers_fails_alone(files, capsys):
    Path("seeds/day1/b_points.tif").unlink()
    assert main(["batch", "in", "-r", "--out", "out", *SEEDED]) == 1
    rows = list(summary().values())
    assert [row["status"] for row in rows] == ["done", "failed"]
    assert "--markers must have one file for each image; got none for 'day1/b'" in rows[1]["error"]
    assert main(["batch", "in", "-r", "--out", "no", *SEEDED, "--dry-run"]) == 1


def test_markers_may_lie_beside_their_images(files):
    for name in "ab":
        tiff(f"in/day1/{name}_points.tif", POINTS)
    words = ["--out", "out", "--markers", "in/day1/{name}_poin*.tif"]
    assert main(["batch", "in/day1", *words]) == 0
    assert [row["objects"] for row in summary().values()] == ["2", "2"]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--markers", "nothing.tif"], 2, "--markers must be a file, or a pattern with {name}"),
        (["--mask", "seeds"], 2, "--mask must be a file, or a pattern with {name}; got 'seeds'"),
        (["--mask", "{name}_x.tif"], 2, "--mask must have one file for each image; got none"),
        (["--markers", "small.tif"], 1, "--markers must have the shape of the image, 40 x 60"),
        (["--mask", "none.tif"], 1, "--mask must have pixels in which objects may be; got none"),
        (["--markers", "outside.tif"], 1, "--markers must lie in objects; got none that does"),
        (["--markers", "gray.tif"], 1, "--markers must be whole numbers; got 0.5"),
        (["--markers", "colors.tif"], 1, "--markers must have one number for each pixel"),
        (["--mask", "words.csv"], 1, "--mask must be an image; got 'words.csv': image file must"),
        (["--markers", "in"], 2, "--markers must be a file, or a pattern with {name}"),
        (["--split-by", "intensity"], 2, "--split must be given with --split-by intensity"),
        (["--grow", "2um"], 1, "--grow"),
        (["--grow", "2um2"], 2, "--grow must be a length"),
        (["--grow", "-1"], 2, "--grow must be 0 or more"),
        (["--markers", "left.tif", "--chunked"], 2, "--markers needs the image as a whole"),
        (["--grow", "2", "--chunked"], 2, "--grow needs the image as a whole"),
    ],
)
def test_refusals(files, capsys, words, code, text):
    tiff("small.tif", POINTS[1:])
    tiff("none.tif", POINTS * 0)
    Path("words.csv").write_text("label,area")
    tiff("outside.tif", np.where(TWO, 0, 1).astype(np.uint8) * (X < 2))
    tiff("gray.tif", POINTS.astype(np.float32) + 0.5)
    tiff("colors.tif", np.stack([POINTS, POINTS, POINTS // 2], -1), photometric="rgb")
    before = sorted(files.rglob("*"))
    assert main(["segment", "in/day1/a.tif", *words]) == code
    assert text in capsys.readouterr().err
    assert sorted(files.rglob("*")) == before


def test_results_do_not_replace_the_markers(files, capsys):
    tiff("a_labels.tif", POINTS)
    said = refused(capsys, "segment", "in/day1/a.tif", "--markers", "a_labels.tif", "--overwrite")
    assert "results must not replace an input; got 'a_labels.tif'" in said
    out = ["batch", "in/day1/a.tif", "--out", ".", "--markers", "a_labels.tif", "--overwrite"]
    assert "results must not replace an input" in refused(capsys, *out)
