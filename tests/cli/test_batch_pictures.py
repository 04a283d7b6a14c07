"""Folders that hold more than TIFFs: pictures are read, and what is not read is told."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from batches import names, picture, refused, summary, tiff
from equilabel.cli import main
from equilabel.storage.tiff import read_tiff


def save(path, pixels=None):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture() if pixels is None else pixels).save(path)


def test_pictures_are_labeled_like_tiffs(here):
    tiff("in/a.tif")
    for name in ("b.png", "c.bmp", "d.PNG"):
        save(f"in/{name}")
    assert main(["batch", "in", "--out", "out"]) == 0
    assert {row["objects"] for row in summary().values()} == {"2"}
    expected = read_tiff("out/a_labels.tif").pixels
    for name in "bcd":
        np.testing.assert_array_equal(read_tiff(f"out/{name}_labels.tif").pixels, expected)


def test_a_picture_beside_a_tiff_of_its_name_keeps_its_ending(here):
    tiff("in/a.tif")
    save("in/a.png", picture(objects=3))
    assert main(["batch", "in", "--out", "out", "--no-overlay"]) == 0
    assert {"a_labels.tif", "a.png_labels.tif", "a.png_table.csv"} <= set(names())
    assert summary()["in/a.png"]["objects"] == "3"


def test_files_that_are_not_read_are_counted_by_kind(here, capsys):
    tiff("in/a.tif")
    for name in ("b.txt", "c.TXT", "d.npy", "README", ".hidden"):
        Path("in", name).touch()
    assert main(["batch", "in", "--out", "out"]) == 0
    said = capsys.readouterr().out
    assert "4 files left out: 2 .txt, 1 .npy, 1 without an ending. Images end in .tif, " in said
    Path("in/a.tif").unlink()
    assert "got 'in' with 2 .txt, 1 .npy, 1 without" in refused(capsys, "batch", "in", "--out", "o")


def test_overlays_of_an_earlier_run_are_no_images(here, capsys):
    tiff("a.tif")
    main(["batch", "a.tif", "--out", "."])
    assert main(["batch", ".", "--out", "out"]) == 0
    said = capsys.readouterr().out
    assert "a_overlay.png: left out, an overlay whose table is beside it, 'a_table.csv'." in said
    assert list(summary()) == ["a.tif"]


def test_a_damaged_picture_costs_its_row(here):
    save("in/a.png")
    whole = Path("in/a.png").read_bytes()
    Path("in/b.png").write_bytes(whole[: len(whole) // 2])
    Path("in/c.jpg").write_bytes(b"no picture")
    assert main(["batch", "in", "--out", "out"]) == 1
    rows = summary()
    assert rows["in/a.png"]["status"] == "done"
    assert "image file must be decodable" in rows["in/b.png"]["error"]
    assert "image file must be a PNG, JPEG or BMP" in rows["in/c.jpg"]["error"]


@pytest.mark.parametrize("words", [[], ["--channel", "green"], ["--channel", "1"]])
def test_colors_are_channels(here, words):
    save("a.png", np.dstack([picture(objects=1), picture(objects=3), picture(objects=2)]))
    assert main(["batch", "a.png", "--out", "out", *words]) == int(not words)
    row = summary()["a.png"]
    assert "Pass --channel gray" in row["error"] if not words else row["objects"] == "3"


@pytest.mark.parametrize("channel", ["green", "2", "gray", "Red"])
def test_a_blank_field_among_images_in_colors_has_their_channels(here, channel):
    save("in/a.png", np.dstack([picture(objects=1), picture(objects=3), picture(objects=2)]))
    save("in/blank.png", np.zeros((24, 32, 3), np.uint8))
    assert main(["batch", "in", "--out", "out", "--channel", channel]) == 0
    assert summary()["in/blank.png"]["objects"] == "0"


def test_masks_may_be_pictures(here):
    labels = np.zeros((24, 32), np.uint16)
    labels[4:12, 4:10], labels[4:12, 14:20] = 700, 3
    save("masks/a_cp_masks.png", labels)
    save("images/a.jpg")
    assert main(["measure", "masks", "--image", "images", "--out", "out"]) == 0
    assert summary()["masks/a_cp_masks.png"]["objects"] == "2"
