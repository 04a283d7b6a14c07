"""The tables of a run: all objects in one, and the summary."""

import csv
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from batches import picture, posix, record, sizes, summary, tiff
from equilabel.cli import batch, main
from equilabel.storage.table import read_table

MICROMETERS = {"ome": True, "metadata": {"axes": "YX", **sizes(0.5, 0.5)}}


def objects(name="out/objects.csv"):
    return read_table(Path(name))


def test_the_table_of_all_objects_is_those_of_the_images_with_file_and_unit(here):
    tiff("in/a.tif", **MICROMETERS)
    tiff("in/=b.tif", picture((5, 24, 32), objects=3), metadata={"axes": "ZYX"})
    tiff("in/c.tif", np.zeros((9, 9), np.uint8))  # without objects
    assert main(["batch", "in", "--out", "out"]) == 0
    tables = [read_table(Path(f"out/{name}_table.csv")) for name in ("=b", "a")]
    tables[0].insert(0, "file", "in/=b.tif")
    tables[1].insert(0, "file", "in/a.tif")
    tables[0].insert(1, "unit", "px")
    tables[1].insert(1, "unit", "µm")
    expected = pd.concat(tables, ignore_index=True)
    pd.testing.assert_frame_equal(objects(), expected)
    assert pd.read_csv("out/objects.csv")["area"].tolist() == [240.0] * 3 + [12.0] * 2


def test_the_table_is_the_same_in_whatever_order_images_are_finished(here, monkeypatch):
    for name in "abc":
        tiff(f"in/{name}.tif", picture(objects=1 + "abc".index(name)))
    main(["batch", "in", "--out", "one"])
    label_here = batch.label_all

    def backwards(jobs, *others, **options):
        return label_here(jobs[::-1], *others, **options)

    monkeypatch.setattr(batch, "label_all", backwards)
    main(["batch", "in", "--out", "two"])
    first, second = (Path(out, "objects.csv").read_bytes() for out in ("one", "two"))
    assert first == second


def test_a_resumed_run_has_all_objects_again(here):
    for name in "ab":
        tiff(f"in/{name}.tif")
    main(["batch", "in", "--out", "out"])
    before = Path("out/objects.csv").read_bytes()
    Path("out/b_table.csv").unlink()
    Path("out/objects.csv").unlink()
    assert main(["batch", "in", "--out", "out", "--resume"]) == 0
    assert Path("out/objects.csv").read_bytes() == before


def test_parquet_has_columns_of_one_type_for_all_images(here):
    pytest.importorskip("pyarrow")
    tiff("in/a.tif", **MICROMETERS)
    tiff("in/b.tif", picture((5, 24, 32)), metadata={"axes": "ZYX"})
    words = ["--format", "parquet", "--properties", "label,area,intensity_max"]
    assert main(["batch", "in", "--out", "out", *words]) == 0
    table = objects("out/objects.parquet")
    assert list(table) == ["file", "unit", "label", "area", "intensity_max"]
    assert table["label"].tolist() == [1, 2, 1, 2]
    assert table["unit"].tolist() == ["µm", "µm", "px", "px"]


def test_units_are_in_the_record_and_if_wanted_in_a_second_line(here):
    tiff("in/a.tif", **MICROMETERS)
    tiff("in/b.tif")
    words = ["batch", "in", "--out", "out", "--properties", "label,area,perimeter,bbox"]
    assert main(words) == 0
    assert record()["files"][0]["outputs"]["table"]["units"] == {
        "area": "µm²",
        "perimeter": "µm",
        **{f"bbox-{k}": "px" for k in range(4)},
    }
    assert main([*words, "--unit-row", "--overwrite"]) == 0
    with Path("out/objects.csv").open(encoding="utf-8", newline="") as file:
        names, units, *_ = csv.reader(file)
    assert dict(zip(names, units, strict=True)) == {
        **{"file": "", "unit": "", "label": "", "area": "µm² or px²", "perimeter": "µm or px"},
        **{f"bbox-{k}": "px" for k in range(4)},
    }
    assert pd.read_csv("out/a_table.csv", skiprows=[1])["area"].tolist() == [12.0, 12.0]
    assert pd.read_csv("out/objects.csv", skiprows=[1])["area"].tolist() == [12.0] * 2 + [48.0] * 2


def test_the_summary_counts_and_averages_each_image(here):
    image = picture()
    image[4:6, 4:6] = 100
    tiff("in/a.tif", image)
    main(["batch", "in", "--out", "out", "--threshold", "50"])
    row, table = summary()["in/a.tif"], objects()
    assert float(row["area_mean"]) == 48
    assert float(row["area_total"]) == 96
    assert float(row["intensity_mean"]) == table["intensity_mean"].mean() < 200


@pytest.mark.parametrize("words", [[], ["--properties", "label,area"]])
def test_the_summary_has_a_row_for_each_frame_of_a_movie(here, words):
    movie = np.stack([picture(objects=count) for count in (2, 0, 3)])
    tiff("in/a.tif", movie, imagej=True, metadata={"axes": "TYX"})
    tiff("in/b.tif")
    main(["batch", "in", "--out", "out", "--threshold", "50", *words])
    table = pd.read_csv("out/summary.csv")
    assert table["file"].tolist() == ["in/a.tif"] * 4 + ["in/b.tif"]
    assert table["frame"].fillna(-1).tolist() == [-1, 0, 1, 2, -1]
    assert table["objects"].tolist() == [5, 2, 0, 3, 2]
    assert table["area_total"].tolist() == [5 * 48, 96, 0, 144, 96]
    assert table["status"].fillna("").tolist() == ["done", "", "", "", "done"]


def test_tables_that_were_changed_meanwhile_are_not_mixed(here, capsys, monkeypatch):
    tiff("a.tif")
    merge = batch.merge_tables

    def spoil(path, parts, **options):
        parts[0][0].write_text("label,area\n1\n", encoding="utf-8")
        merge(path, parts, **options)

    monkeypatch.setattr(batch, "merge_tables", spoil)
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    assert "got 1 cells in a row for 2 columns in" in capsys.readouterr().err
    assert not Path("out/objects.csv").exists()


@posix
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_pipe_in_the_place_of_a_table_is_not_waited_for(here, capsys, monkeypatch, kind):
    tiff("a.tif")
    merge = batch.merge_tables

    def spoil(path, parts, **options):
        parts[0][0].unlink()
        os.mkfifo(parts[0][0])
        merge(path, parts, **options)

    monkeypatch.setattr(batch, "merge_tables", spoil)
    assert main(["batch", "a.tif", "--out", "out", "--format", kind]) == 1
    assert "a pipe in place of a file" in capsys.readouterr().err
