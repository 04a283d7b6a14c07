"""Folders of numbered slices, each of them one volume: `--slices` and the reader behind it."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from batches import names, picture, record, refused, summary, tiff
from equilabel.cli import main
from equilabel.storage.errors import UnreadableImageError
from equilabel.storage.images import read_image
from equilabel.storage.tiff import read_tiff


def stack(folder="scan", numbers=(8, 9, 10, 11), name="z{}.tif", **keywords):
    for number in numbers:
        tiff(Path(folder, name.format(number)), picture() + np.uint8(number), **keywords)
    return Path(folder)


def test_slices_are_read_in_the_order_of_their_numbers(here):
    image = read_image(stack(name="t7_z{}.tif"))
    assert (image.axes, image.pixels[:, 0, 0].tolist(), image.notes) == (
        "ZYX",
        [28, 29, 30, 31],
        (),
    )
    Image.fromarray(np.zeros((24, 32, 3), np.uint8)).save("rgb0.png")  # black: as gray as color
    Image.fromarray(np.full((24, 32, 3), (9, 8, 7), np.uint8)).save("rgb1.png")
    colors = read_image(Path())
    assert (colors.axes, colors.channels) == ("CZYX", ("red", "green", "blue"))
    assert colors.pixels[:, :, 0, 0].tolist() == [[0, 9], [0, 8], [0, 7]]


def test_numbers_that_are_missing_are_asked_about(here):
    stack(numbers=(1, 2, 3, 7, 8, 10))
    (note,) = read_image("scan").notes
    assert note == (
        "Slices may be missing between 'z3.tif' and 'z7.tif', and at 1 more places: numbers rise "
        "by 1 elsewhere."
    )
    assert read_image(stack("even", numbers=(0, 2, 4))).notes == ()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("z12.tif", picture((24, 33)), r"size; got \(24, 32\) in 'z8.tif' and \(24, 33\) in 'z12"),
        ("z12.tif", picture().astype("u2"), r"type; got uint8 in 'z8.tif' and uint16 in 'z12.tif'"),
        (
            "z12.tif",
            picture((5, 24, 32)),
            r"planes; got axes 'ZYX' in 'z12.tif'\. Label it without",
        ),
        ("z12.tif", b"II*\0 damaged", r"^slice 'z12.tif': image file must "),
        ("z12_labels.tif", picture(), r"number alone; got 'z10.tif' and 'z12_labels.tif'\. Move"),
        ("z012.tif", b"", r"different in each name; got 'z012.tif' and 'z12.tif'\. Put each stack"),
    ],
)
def test_a_slice_that_differs_is_refused_by_its_name(here, name, content, said):
    stack(numbers=(8, 9, 10, 12))
    if isinstance(content, bytes):
        Path("scan", name).write_bytes(content)
    else:
        tiff(Path("scan", name), content)
    with pytest.raises(UnreadableImageError, match=said):
        read_image("scan")


def test_channels_among_slices_are_refused_not_stacked(here):
    for channel in "01":
        stack(name=f"z{{}}_c{channel}.tif")
    with pytest.raises(UnreadableImageError, match=r"got 'z10_c0\.tif' and 'z11_c0\.tif'"):
        read_image("scan")


def test_a_volume_over_the_memory_limit_is_refused_after_its_first_slice(here):
    stack()
    with pytest.raises(UnreadableImageError, match=r"at most; got 3.07 kB"):
        read_image("scan", memory_limit=3000)


def test_each_folder_of_slices_is_one_image(here, capsys):
    for folder in ("scans/a", "scans/b/deep"):
        stack(folder, resolution=(4, 4), imagej=True, metadata={"unit": "um"})
    Path("scans/a/notes.txt").touch()
    words = ["batch", "scans", "--slices", "--recursive", "--out", "out"]
    assert main([*words, "--spacing", "2,0.5,0.5"]) == 0
    assert "1 file left out: 1 .txt" in capsys.readouterr().out
    rows = summary()
    assert {row["shape"] for row in rows.values()} == {"4 x 24 x 32"}
    assert {row["spacing"] for row in rows.values()} == {"2.0 x 0.5 x 0.5"}
    assert {"a_labels.tif", "b/deep_labels.tif"} <= set(names())
    assert read_tiff("out/a_labels.tif").axes == "ZYX"
    assert main(["batch", "--from", "out/run.json", "--out", "again"]) == 0
    assert Path("out/a_table.csv").read_bytes() == Path("again/a_table.csv").read_bytes()
    tiff("scans/a/z9.tif", picture() + np.uint8(1))  # another slice: this volume is made again
    assert main([*words, "--spacing", "2,0.5,0.5", "--resume"]) == 0
    assert [each["status"] for each in record()["files"]] == ["done", "skipped"]


def test_one_folder_of_slices_is_labeled_by_label(here, capsys):
    stack()
    assert "if they are slices of one volume, pass --slices" in refused(capsys, "label", "scan")
    assert main(["label", "scan", "--slices", "--no-overlay"]) == 0
    assert read_tiff("scan_labels.tif").pixels.shape == (4, 24, 32)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["batch", "scan/z8.tif", "--out", "o"],
            "got 'scan/z8.tif', a file. Pass the folder 'scan'",
        ),
        (["batch", ".", "--out", "o"], "Pass --recursive to search below it"),
        (["batch", "scan", "--out", "scan"], "must be another folder than that of the slices"),
        (["label", "scan/z8.tif"], "IMAGE must be a folder of slices; got 'scan/z8.tif', a file"),
    ],
)
def test_what_is_no_folder_of_slices_is_refused(here, capsys, words, said):
    stack()
    assert said in refused(capsys, *words, "--slices")
