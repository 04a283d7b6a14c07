"""`equilabel relate`: tables of contacts, neighbors, children and parents; and `--outlines`."""

import json

import numpy as np
import pandas as pd
import pytest

from batches import picture, tiff
from equilabel import contacts, neighbors, relate
from equilabel.cli import main

CELLS = np.zeros((12, 16), np.uint16)
CELLS[1:6, 1:8], CELLS[6:11, 1:8], CELLS[2:9, 9:15] = 1, 2, 5
SPOTS = np.zeros_like(CELLS)
SPOTS[2, 2], SPOTS[4:7, 5], SPOTS[0, 0], SPOTS[4:6, 10:12] = 1, 2, 3, 9


def test_objects_that_touch_and_are_near(here, capsys):
    pixels = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "µm"}
    pixels |= {"PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "µm"}
    tiff("cells_labels.tif", CELLS, ome=True, metadata=pixels)
    assert main(["relate", "cells_labels.tif", "--out", "out"]) == 0
    said = capsys.readouterr().out
    assert "3 objects, 1 pair that touch" in said
    near = pd.read_csv("out/cells_labels_neighbors.csv")
    pd.testing.assert_frame_equal(near, neighbors(CELLS, spacing=0.5))
    touch = pd.read_csv("out/cells_labels_contacts.csv")
    pd.testing.assert_frame_equal(touch, contacts(CELLS, spacing=0.5))
    assert touch.length.tolist() == [3.5]
    assert "Lengths are in µm." in said
    assert main(["relate", "cells_labels.tif", "--out", "out", "--unit", "nm", "--overwrite"]) == 0
    assert "Lengths are in nm." in capsys.readouterr().out
    assert pd.read_csv("out/cells_labels_contacts.csv").length.tolist() == [3500]


def test_spots_in_cells(here, capsys):
    tiff("spots.tif", SPOTS)
    tiff("cells.tif", CELLS)
    assert main(["relate", "spots.tif", "--to", "cells.tif", "--spacing", "2"]) == 0
    assert "4 objects, 3 in 3 of cells.tif" in capsys.readouterr().out
    below, above = relate(SPOTS, CELLS, spacing=2)
    pd.testing.assert_frame_equal(pd.read_csv("spots_children.csv"), below)
    parents = pd.read_csv("spots_parents.csv")
    pd.testing.assert_frame_equal(parents[list(above)], above)
    assert parents.mean_area.tolist()[2] == 16
    assert not [name for name in parents if "bbox" in name or "centroid" in name]


def test_frames_are_related_one_by_one(here):
    tiff("a.tif", np.stack([CELLS, CELLS]), imagej=True, metadata={"axes": "TYX"})
    assert main(["relate", "a.tif", "--format", "parquet"]) == 0
    assert pd.read_parquet("a_contacts.parquet").frame.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["nothing.tif"], 2, "LABELS must be a file; got 'nothing.tif'"),
        (["cells.tif", "--to", "nothing.tif"], 2, "--to must be a file; got 'nothing.tif'"),
        (["cells.tif", "--to", "small.tif"], 1, "children and parents must have the same shape"),
        (["broken.tif"], 1, "broken.tif: "),
        (["cells.tif", "--to", "broken.tif"], 1, "equilabel: broken.tif: "),
        (["gray.tif"], 1, "LABELS must be whole numbers"),
        (["cells.tif", "--format", "xls"], 2, "--format must be one of"),
        (["cells.tif", "--spacing", "1,2,3"], 1, "--spacing must be 1 or 2 numbers"),
    ],
)
def test_refusals(here, capsys, words, code, text):
    tiff("cells.tif", CELLS)
    tiff("small.tif", CELLS[:3])
    tiff("gray.tif", picture().astype(np.float32) + 0.5)
    (here / "broken.tif").write_bytes(b"II*\0 nothing else")
    before = sorted(here.iterdir())
    assert main(["relate", *words]) == code
    assert text in capsys.readouterr().err
    assert sorted(here.iterdir()) == before


def test_earlier_tables_stay_unless_asked(here, capsys):
    tiff("cells.tif", CELLS)
    (here / "cells_contacts.csv").write_text("mine")
    assert main(["relate", "cells.tif"]) == 2
    assert "Pass --overwrite" in capsys.readouterr().err
    assert (here / "cells_contacts.csv").read_text() == "mine"
    assert main(["relate", "cells.tif", "--overwrite"]) == 0
    assert (here / "cells_contacts.csv").read_text() != "mine"


@pytest.mark.parametrize("command", ["segment", "measure", "batch"])
def test_outlines_are_written_as_geojson(here, command):
    tiff("a.tif", CELLS if command == "measure" else picture())
    words = [command, "a.tif", "--out", "out", "--outlines", "geojson"]
    assert main(words) == 0
    found = json.loads((here / "out/a_outlines.geojson").read_text())["features"]
    table = pd.read_csv("out/a_table.csv")
    assert [each["properties"]["label"] for each in found] == table.label.tolist()
    for each, row in zip(found, table.itertuples(), strict=True):
        assert each["properties"]["measurements"]["area"] == row.area
    if command == "batch":
        assert main([*words, "--resume"]) == 0
        (here / "out/a_outlines.geojson").unlink()
        assert main([*words, "--resume"]) == 0  # labeled anew
        assert (here / "out/a_outlines.geojson").exists()


def test_outlines_as_regions_of_imagej(here):
    from roifile import ImagejRoi

    tiff("a.tif", picture())
    assert main(["segment", "a.tif", "--outlines", "roi"]) == 0
    assert [region.name for region in ImagejRoi.fromfile("a_outlines.zip")] == ["1", "2"]


def test_what_looks_wrong_is_said(here, capsys):
    image = 255 - picture()
    tiff("a.tif", image)
    assert main(["segment", "a.tif"]) == 0
    assert "choose dark (--dark)" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    tiff("b.tif", rng.integers(0, 255, (90, 90)).astype(np.uint8))
    assert main(["segment", "b.tif", "--connectivity", "1", "--threshold", "200"]) == 0
    assert "pixels on average. If they are noise" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["batch", "segment", "measure"])
def test_regions_without_roifile_are_refused_before_work(here, capsys, monkeypatch, command):
    tiff("a.tif", CELLS)
    monkeypatch.setattr("equilabel.cli.trial.find_spec", lambda _: None)
    assert main([command, "a.tif", "--out", "out", "--outlines", "roi"]) == 2
    assert "--outlines roi needs roifile; got none installed" in capsys.readouterr().err
    assert not (here / "out").exists()


def test_outlines_of_images_in_chunks_are_refused(here, capsys):
    zarr = pytest.importorskip("zarr")
    zarr.save_array("a.zarr", picture())
    assert main(["segment", "a.zarr", "--out", "out", "--outlines", "geojson"]) == 2
    assert "--outlines needs the image as a whole, not chunks" in capsys.readouterr().err
    tiff("b.tif", picture())
    words = ["segment", "b.tif", "--out", "out", "--chunked", "--outlines", "geojson"]
    assert main(words) == 2
    assert not (here / "out").exists()


def test_outlines_of_a_movie_of_volumes_are_refused_before_its_segmentation(here, capsys):
    tiff("a.tif", np.ones((2, 3, 8, 9), np.uint8), imagej=True, metadata={"axes": "TZYX"})
    assert main(["segment", "a.tif", "--outlines", "geojson"]) == 1
    said = capsys.readouterr().err
    assert "--outlines needs an image of two axes, frames or planes; got axes 'TZYX'" in said
    assert not list(here.glob("a_*"))
