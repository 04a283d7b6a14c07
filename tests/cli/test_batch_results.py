"""What is written for an image."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import tifffile

from batches import names, picture, record, results, sizes, summary, tiff
from equilabel import segment
from equilabel.cli import main
from equilabel.cli.records import Record
from equilabel.storage.table import read_table
from equilabel.storage.tiff import read_tiff
from pictures import pictures

BLOBS, *NUCLEI = pictures(
    ["blobs.tif", "BBBC007/A9 p7d.tif", "BBBC007/17P1_POS0013_D_1UL.tif"],
    ["nuclei_2d.tif", "nuclei_3d.tif", "blobs.tif"],
)


def test_an_image_gets_labels_a_table_and_an_overlay(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out"]) == 0
    assert names() == results("a")
    labels = read_tiff("out/a_labels.tif").pixels
    np.testing.assert_array_equal(labels, segment(picture()).labels)
    assert read_table(Path("out/a_table.csv"))["area"].tolist() == [48, 48]


def test_the_summary_has_a_row_for_an_image(here):
    tiff("a.tif", imagej=True, resolution=(4, 4), metadata={"unit": "um", "axes": "YX"})
    assert main(["batch", "a.tif", "--out", "out"]) == 0
    row = summary()["a.tif"]
    assert float(row.pop("seconds")) > 0
    assert row == {
        "file": "a.tif",
        "frame": "",
        "status": "done",
        "objects": "2",
        "area_mean": "3.0",
        "area_total": "6.0",
        "intensity_mean": "200.0",
        "threshold": "20.0",
        "shape": "24 x 32",
        "axes": "YX",
        "spacing": "0.25 x 0.25",
        "unit": "µm",
        "error": "",
        "notes": "",
    }


def test_the_record_says_all_that_is_needed_to_repeat_a_run(here):
    path = tiff("a.tif")
    main(["batch", "a.tif", "--out", "out", "--threshold", "30,100", "--channel", "0"])
    found = record()
    assert found["status"] == "done"
    assert found["parameters"]["threshold"] == [30, 100]
    assert found["parameters"]["channel"] == 0
    assert set(found["versions"]) >= {"python", "numpy", "numba", "scikit-image", "tifffile"}
    assert found["versions"]["equilabel"]
    assert found["platform"]
    assert found["device"]["used"] == ["cpu"]
    (entry,) = found["files"]
    assert entry["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert entry["outputs"]["labels"]["file"] == "a_labels.tif"
    assert entry["outputs"]["labels"]["bytes"] == Path("out/a_labels.tif").stat().st_size


def test_sizes_and_units_reach_labels_and_tables(here):
    tiff("a.tif", picture((5, 24, 32)), ome=True, metadata={"axes": "ZYX", **sizes(2, 0.5, 0.5)})
    assert main(["batch", "a.tif", "--out", "out"]) == 0
    labels = read_tiff("out/a_labels.tif")
    assert (labels.axes, labels.unit) == ("ZYX", "µm")
    assert labels.spacing == {"Z": 2, "Y": 0.5, "X": 0.5}
    assert read_table(Path("out/a_table.csv"))["area"].tolist() == [5 * 48 * 0.5] * 2


def test_given_spacing_and_unit_replace_those_of_the_file(here):
    tiff("a.tif", ome=True, metadata={"axes": "YX", **sizes(9, 9)})
    words = ["batch", "a.tif", "--out", "out", "--spacing", "0.5,2", "--unit", "nm"]
    assert main(words) == 0
    labels = read_tiff("out/a_labels.tif")
    assert (labels.spacing, labels.unit) == ({"Y": 0.5, "X": 2}, "nm")
    assert read_table(Path("out/a_table.csv"))["area"].tolist() == [48, 48]
    assert summary()["a.tif"]["spacing"] == "0.5 x 2.0"


def test_one_number_of_spacing_holds_for_all_axes(here):
    tiff("a.tif")
    main(["batch", "a.tif", "--out", "out", "--spacing", "3"])
    assert read_table(Path("out/a_table.csv"))["area"].tolist() == [48 * 9] * 2


def test_spacing_for_other_axes_than_there_are_costs_the_row(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", "--spacing", "3,1,1"]) == 1
    assert "1 or 2 numbers for axes 'YX'" in summary()["a.tif"]["error"]


def test_a_unit_without_a_size_is_told(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", "--unit", "nm"]) == 0
    row = summary()["a.tif"]
    said = "The pixel size is not known: --unit was not used."
    assert (row["unit"], row["notes"]) == ("px", said)


def test_sizes_known_in_part_are_kept_but_not_measured_with(here):
    tiff("a.tif", picture((5, 24, 32)), ome=True, metadata={"axes": "ZYX", **sizes(0.5, 0.5)})
    main(["batch", "a.tif", "--out", "out"])
    row = summary()["a.tif"]
    assert (row["spacing"], row["unit"]) == ("", "px")
    assert "in pixels" in row["notes"]
    assert read_table(Path("out/a_table.csv"))["area"].tolist() == [240, 240]
    assert read_tiff("out/a_labels.tif").spacing == {"Y": 0.5, "X": 0.5}


@pytest.mark.parametrize(
    ("axes", "words", "objects"),
    [
        ("TYX", [], 6),
        ("TYX", ["--no-stacked"], 2),
        ("ZYX", [], 2),
        ("ZYX", ["--stacked"], 6),
    ],
)
def test_time_is_a_stack_and_depth_is_not_unless_told(here, axes, words, objects):
    tiff("a.tif", picture((3, 24, 32)), ome=True, metadata={"axes": axes})
    assert main(["batch", "a.tif", "--out", "out", *words]) == 0
    assert summary()["a.tif"]["objects"] == str(objects)
    assert read_tiff("out/a_labels.tif").axes == axes


def test_a_single_image_is_no_stack_of_rows(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", "--stacked"]) == 0
    assert summary()["a.tif"]["objects"] == "2"


@pytest.fixture
def colors(here):
    image = np.stack([picture(objects=1), picture(objects=3)])
    return tiff(
        "a.tif", image, ome=True, metadata={"axes": "CYX", "Channel": {"Name": ["DAPI", "GFP"]}}
    )


@pytest.mark.parametrize(("channel", "objects"), [("0", 1), ("1", 3), ("DAPI", 1), ("GFP", 3)])
def test_a_channel_is_chosen_by_index_or_name(colors, channel, objects):
    assert main(["batch", "a.tif", "--out", "out", "--channel", channel]) == 0
    assert summary()["a.tif"]["objects"] == str(objects)
    assert read_tiff("out/a_labels.tif").axes == "YX"
    assert "intensity_mean-1" in read_table(Path("out/a_table.csv"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "got none. Pass --channel 0 for the first."),
        (["--channel", "2"], "got 2. Pass --channel 0"),
        (["--channel", "red"], "got 'red'. Pass --channel 0"),
        (["--channel", "Dapi"], "got 'Dapi'. Did you mean 'DAPI'?"),
        (["--channel", "gpf"], "got 'gpf'. Did you mean 'GFP'?"),
    ],
)
def test_a_missing_channel_is_told_with_those_there_are(colors, words, complaint):
    assert main(["batch", "a.tif", "--out", "out", *words]) == 1
    rule = "--channel must be one of 0 'DAPI', 1 'GFP' for this image; "
    assert rule + complaint in summary()["a.tif"]["error"]
    assert summary()["a.tif"]["axes"] == "CYX"


def test_channels_may_be_named_by_numbers_or_not_at_all(here, capsys):
    image = np.stack([picture(objects=1), picture(objects=3)])
    lines = {"axes": "CYX", "Channel": {"Name": ["405", "488"]}}
    tiff("lines.tif", image, ome=True, metadata=lines)
    assert main(["batch", "lines.tif", "--out", "out", "--channel", "488"]) == 0
    assert summary()["lines.tif"]["objects"] == "3"
    tiff("many.tif", np.zeros((20, 8, 8), np.uint8), ome=True, metadata={"axes": "CYX"})
    assert main(["batch", "many.tif", "--out", "many"]) == 1
    assert "17, 18, 19 for" in capsys.readouterr().out


def test_an_image_without_channels_has_the_first_alone(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "one", "--channel", "0"]) == 0
    assert main(["batch", "a.tif", "--out", "two", "--channel", "1"]) == 1


def test_the_only_channel_of_an_image_has_a_name_too(here, capsys):
    only = {"axes": "CYX", "Channel": {"Name": ["DAPI"]}}
    tiff("a.tif", picture(objects=3)[None], ome=True, metadata=only)
    assert main(["batch", "a.tif", "--out", "one", "--channel", "DAPI"]) == 0
    assert summary("one")["a.tif"]["objects"] == "3"
    assert main(["batch", "a.tif", "--out", "two", "--channel", "GFP"]) == 1
    assert "--channel must be 0 or 'DAPI' for an image with one channel" in capsys.readouterr().out


def test_the_series_is_read_that_was_asked_for(here):
    with tifffile.TiffWriter("a.tif", ome=True) as file:
        file.write(picture(objects=1), metadata={"axes": "YX"})
        file.write(picture(objects=3), metadata={"axes": "YX"})
    assert main(["batch", "a.tif", "--out", "out", "--series", "1"]) == 0
    assert summary()["a.tif"]["objects"] == "3"


def test_tables_may_be_parquet_and_overlays_left_out(here):
    pytest.importorskip("pyarrow")
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", "--format", "parquet", "--no-overlay"]) == 0
    assert names() == [
        "a_labels.tif",
        "a_table.parquet",
        "objects.parquet",
        "report.html",
        "run.json",
        "summary.csv",
    ]
    assert read_table(Path("out/a_table.parquet"))["area"].tolist() == [48, 48]


def test_options_reach_segment(here):
    image = picture(objects=3)
    image[6:8, 26:28] = 20
    image[0, 0] = 255
    tiff("a.tif", image)
    words = [
        *("--threshold", "100", "--fill-holes", "--min-size", "2", "--exclude-border"),
        *("--connectivity", "1", "--properties", "label,area", "--method", "komura"),
    ]
    assert main(["batch", "a.tif", "--out", "out", *words]) == 0
    table = read_table(Path("out/a_table.csv"))
    assert list(table) == ["label", "area"]
    assert table["area"].tolist() == [48, 48, 48]
    assert record()["files"][0]["method"] == "komura"


@pytest.mark.slow
def test_pictures_are_labeled(here):
    whole = BLOBS.read_bytes()
    Path("half.tif").write_bytes(whole[: len(whole) // 2])
    words = [*map(str, NUCLEI), str(BLOBS), "half.tif"]
    assert main(["batch", *words, "--out", "out", "--min-size", "20"]) == 1
    counts = {Path(name).name: row["objects"] for name, row in summary().items()}
    assert counts.pop("half.tif") == ""
    assert 50 < int(counts.pop(BLOBS.name)) < 70
    assert len(counts) == 2
    assert all(15 < int(count) < 100 for count in counts.values())
    assert isinstance(record()["files"][0], dict)
    assert Record(**record()["files"][0]).complete
