"""`equilabel batch --labels-format ome-zarr`: folders as results of images."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr

from batches import names, picture, posix, record, refused, sizes, start, summary, tiff
from equilabel.chunked import ome_labels
from equilabel.cli import main, trial
from equilabel.storage.ome_zarr import read_zarr
from equilabel.storage.tiff import read_tiff

ZARR = ("--labels-format", "ome-zarr")
RNG = np.random.default_rng(5)
NOISE = RNG.integers(0, 200, (1000, 1050), np.uint8)


def batch(*words, out="out"):
    return main(["batch", *words, "--out", out, *ZARR])


def contents(out="out", below=""):
    """Return the results of images: those of the run have no hyphen below in their names."""
    return {
        name: Path(out, name).read_bytes()
        for name in names(out)
        if "_" in name and name.startswith(below)
    }


def ome(store):
    return json.loads(Path(store, "zarr.json").read_text("utf-8"))["attributes"]["ome"]


def make_images():
    known = {"axes": "TYX", "TimeIncrement": 2.5, "TimeIncrementUnit": "s", **sizes(0.5, 0.25)}
    tiff("in/plane.tif", picture((300, 600), objects=3))
    tiff("in/movie.tif", np.stack([picture(), picture(objects=3)]), ome=True, metadata=known)
    volume = {"axes": "ZYX", **sizes(2.0, 0.5, 0.5)}
    tiff("in/volume.tif", picture((6, 24, 320), objects=30), ome=True, metadata=volume)
    tiff("in/both.tif", picture((2, 3, 24, 32)), imagej=True, metadata={"axes": "TZYX"})
    some = {"axes": "ZYX", **sizes(0.5, 0.5)}
    tiff("in/partly.tif", picture((3, 24, 32)), ome=True, metadata=some)


def test_labels_and_what_is_known_of_them_are_those_of_the_tiffs(here):
    make_images()
    assert main(["batch", "in", "--out", "tiffs"]) == 0
    assert batch("in") == 0
    for name in ("plane", "movie", "volume", "both", "partly"):
        expected = read_tiff(f"tiffs/{name}_labels.tif")
        found = read_zarr(f"out/{name}_labels.zarr")
        for known in ("axes", "spacing", "unit", "interval"):
            assert getattr(found, known) == getattr(expected, known), (name, known)
        assert found.pixels.dtype == expected.pixels.dtype
        np.testing.assert_array_equal(found.pixels, expected.pixels)
        for ending in ("_table.csv", "_overlay.png"):
            assert Path(f"out/{name}{ending}").read_bytes() == (
                Path(f"tiffs/{name}{ending}").read_bytes()
            )


def test_a_store_says_what_it_is_and_has_lower_resolutions(here):
    make_images()
    assert batch("in") == 0
    described = ome("out/volume_labels.zarr")
    (scales,) = described["multiscales"]
    axes = [(axis["name"], axis["type"], axis["unit"]) for axis in scales["axes"]]
    assert axes == [(name, "space", "micrometer") for name in "zyx"]
    assert ome("out/movie_labels.zarr")["multiscales"][0]["axes"][0] == {
        "name": "t", "type": "time", "unit": "second"
    }  # fmt: skip
    steps = [one["coordinateTransformations"][0]["scale"] for one in scales["datasets"]]
    assert steps == [[2.0, 0.5, 0.5], [2.0, 1.0, 1.0]]
    levels = [zarr.open_array(f"out/volume_labels.zarr/{level}") for level in (0, 1)]
    np.testing.assert_array_equal(levels[1][...], levels[0][:, ::2, ::2])
    table = np.genfromtxt("out/volume_table.csv", delimiter=",", names=True)
    rows = described["image-label"]["properties"]
    assert [row["label-value"] for row in rows] == table["label"].tolist()
    assert [row["area"] for row in rows] == pytest.approx(table["area"])


def scan(path):
    """Write an OME-Zarr of TZYX, of seconds and micrometers."""
    group = zarr.create_group(path)
    array = group.create_array("0", shape=(2, 4, 24, 300), chunks=(1, 4, 24, 64), dtype="u1")
    array[...] = picture(array.shape, objects=20)
    units = {"t": "second"}
    kinds = {"t": "time"}
    axes = [
        {"name": name, "type": kinds.get(name, "space"), "unit": units.get(name, "micrometer")}
        for name in "tzyx"
    ]
    steps = [{"type": "scale", "scale": [3.0, 1.0, 0.5, 0.5]}]
    levels = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": steps}]}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": levels}


def test_an_ome_zarr_has_the_labels_that_it_has_one_by_one(here):
    scan("in/scan.ome.zarr")
    before = contents("in")
    assert batch("in") == 0
    assert main(["segment", "in/scan.ome.zarr", "--out", "one"]) == 0
    assert contents("in") == before
    assert ome("out/scan_labels.zarr") == ome("one/scan_labels.zarr")
    found, expected = (read_zarr(f"{out}/scan_labels.zarr") for out in ("out", "one"))
    assert found.interval == expected.interval == 3.0
    np.testing.assert_array_equal(found.pixels, expected.pixels)


def test_a_store_has_the_same_bytes_whatever_its_image_was_read_in(here, monkeypatch):
    Path("in").mkdir()
    tifffile.imwrite("in/noise.tif", NOISE, tile=(128, 128), resolution=(4, 4))
    words = ["in", "--sigma", "1", "--min-size", "30", "--threshold", "110"]
    assert batch(*words) == 0
    whole, parts, read = contents(), [], ome_labels.read_part

    def read_and_note(array, part):
        parts.append(np.prod([one.stop - one.start for one in part]))
        return read(array, part)

    monkeypatch.setattr(ome_labels, "read_part", read_and_note)
    monkeypatch.setattr(ome_labels, "PIECE", 2**20)
    limit = ["--memory-limit", "88MB", "--too-large", "chunked"]
    assert batch(*words, *limit, out="blocks") == 0
    assert "block by block" in summary("blocks")["in/noise.tif"]["notes"]
    assert contents("blocks") == whole
    assert len(parts) > 1
    assert max(parts) <= 2**20
    assert not list(Path("blocks").rglob("blocks*"))


CHUNK = "c_labels.zarr/0/c/0/0"
HARMS = {
    "gone": lambda: Path("out", CHUNK).unlink(),
    "other bytes": lambda: Path("out", CHUNK).write_bytes(Path("out", CHUNK).read_bytes()[::-1]),
    "no store any more": lambda: Path("out/c_labels.zarr/zarr.json").unlink(),
    "one more": lambda: Path("out/c_labels.zarr/0/c/0/9").touch(),
    "another place": lambda: Path("out", CHUNK).rename("out/c_labels.zarr/0/c/0/1"),
    "a link": lambda: (Path("out", CHUNK).rename("kept"), Path("out", CHUNK).symlink_to("kept")),
}


@posix
@pytest.mark.parametrize("harm", HARMS)
def test_a_store_that_has_changed_is_made_again(here, harm):
    for name in "abc":
        tiff(f"in/{name}.tif")
    assert batch("in") == 0
    before = contents()
    HARMS[harm]()
    assert batch("in", "--resume") == 0
    status = [row["status"] for row in summary().values()]
    assert status == ["skipped", "skipped", "done"]
    assert contents() == before


def test_one_format_replaces_the_other_and_nothing_else(here, capsys):
    tiff("in/a.tif")
    assert batch("in") == 0
    capsys.readouterr()
    other = ("batch", "in", "--out", "out")
    assert "got --labels-format tiff where it was ome-zarr" in refused(capsys, *other, "--resume")
    assert "'out/a_labels.zarr' and 6 more" in refused(capsys, *other, "--dry-run")
    assert main([*other, "--overwrite"]) == 0
    assert names() == sorted(["a_labels.tif", *(n for n in names() if "a_labels" not in n)])
    Path("out/a_labels.zarr").mkdir()
    Path("out/a_labels.zarr/mine.txt").touch()
    assert batch("in", "--overwrite") == 1
    assert "Is a directory" in summary()["in/a.tif"]["error"]
    assert Path("out/a_labels.zarr/mine.txt").exists()


def test_stores_are_labels_to_measure_and_no_images(here, capsys):
    make_images()
    assert main(["batch", "in", "--out", "tiffs"]) == 0
    assert batch("in") == 0
    for out in ("tiffs", "out"):
        assert main(["measure", out, "--image", "in", "--out", f"{out}2"]) == 0
        assert main(["measure", out, "--out", f"{out}3"]) == 0
    for again in "23":
        found, expected = contents(f"out{again}"), contents(f"tiffs{again}")
        assert found == expected
    assert "out/plane_labels.zarr" in summary("out2")
    capsys.readouterr()
    assert "a label image whose table is beside it" in refused(
        capsys, "batch", "out/plane_labels.zarr", "--out", "again"
    )
    shutil.copytree("out/plane_labels.zarr", "in/mine.zarr")
    assert main(["batch", "in", "--out", "again", "--dry-run"]) == 0
    assert "mine.zarr: left out, labels, as its description says" in capsys.readouterr().out


def test_labels_and_image_may_both_be_ome_zarrs(here):
    scan("in/scan.ome.zarr")
    assert batch("in") == 0
    words = ["measure", "out/scan_labels.zarr", "--image", "in/scan.ome.zarr", "--out"]
    assert main([*words, "again"]) == 0
    assert (
        Path("again/scan_table.csv").read_bytes().splitlines()[1].split(b",")[:3]
        == Path("out/scan_table.csv").read_bytes().splitlines()[1].split(b",")[:3]
    )
    Path("out/scan_labels.zarr/0/c/1/0/0/0").unlink()
    assert main([*words, "again", "--resume"]) == 0
    said = summary("again")["out/scan_labels.zarr"]["notes"]
    assert "1 of " in said
    assert "chunks are not stored" in said
    Path("out/scan_labels.zarr/0/c").rename("chunks")  # on another disk
    Path("out/scan_labels.zarr/0/c").symlink_to(Path("chunks").absolute())
    assert main([*words, "again", "--overwrite"]) == 0
    assert summary("again")["out/scan_labels.zarr"]["notes"] == said


def test_what_cannot_be_is_refused_by_its_option(here, capsys, monkeypatch):
    tiff("in/a.tif")
    wrong = refused(capsys, "batch", "in", "--out", "out", "--labels-format", "zarr")
    assert "--labels-format must be one of ['tiff', 'ome-zarr']; got 'zarr'" in wrong
    scan("scan.zarr")
    capsys.readouterr()
    words = ["segment", "scan.zarr", "--out", "one", "--labels-format", "tiff"]
    assert "--labels-format needs the image as a whole" in refused(capsys, *words)
    monkeypatch.setattr(trial, "find_spec", lambda name: None)
    for words in (["batch", "in"], ["segment", "in/a.tif"]):
        assert "needs zarr" in refused(capsys, *words, "--out", "out", *ZARR)
    assert not Path("out").exists()


def test_results_in_the_store_of_another_image_are_refused(here, capsys):
    tiff("in/a.tif")
    tiff("in/A_Labels.zarr/b.tif")
    words = ["batch", "in", "--recursive", "--out", "out"]
    said = refused(capsys, *words, *ZARR)
    assert "results must not lie in others; got 'in/A_Labels.zarr/b.tif'" in said


def test_results_do_not_replace_a_store_that_holds_an_input(here, capsys):
    tiff("out/c_labels.zarr/c.tif")
    Path("out/c_labels.zarr/zarr.json").touch()
    inside = ["batch", "out/c_labels.zarr/c.tif", "--out", "out", *ZARR, "--overwrite"]
    assert "results must not replace an input" in refused(capsys, *inside)


def test_one_image_becomes_a_store_too_and_may_be_replaced(here, capsys):
    tiff("a.tif")
    words = ["segment", "a.tif", "--out", "out", *ZARR]
    assert main(words) == 0
    capsys.readouterr()
    before = contents(below="a_labels")
    assert {"a_labels.zarr/zarr.json", "a_labels.zarr/0/c/0/0"} <= set(before)
    assert main(words) == 0  # it replaces its own
    (Path("out") / "a_labels.zarr" / "more").write_text("")
    capsys.readouterr()
    assert "were changed" in refused(capsys, *words)
    assert main([*words, "--overwrite"]) == 0
    assert contents(below="a_labels") == before
    assert not list(Path("out").glob(".*"))
    assert main(["segment", "a.tif", "--from", "out/a_record.json", "--out", "again"]) == 0
    assert contents("again", "a_labels") == before


@pytest.mark.slow
@posix
@pytest.mark.long
def test_two_processes_write_the_bytes_of_one(here):
    make_images()
    assert batch("in") == 0
    with start("batch", "in", "--out", "two", "--jobs", "2", *ZARR) as program:
        assert program.wait(120) == 0
    assert contents("two") == contents()
    same = [[one["outputs"] for one in record(out)["files"]] for out in ("out", "two")]
    assert same[0] == same[1]


def test_an_image_of_a_zarr_is_chosen_by_its_folder_and_not_by_series(here, capsys):
    zarr.create_group("in/two.zarr", attributes={"ome": {"bioformats2raw.layout": 3}})
    for number in ("0", "1"):
        scan(f"in/two.zarr/{number}")
    for more in ([], ["--split", "0.8"]):
        assert main(["batch", "in/two.zarr", "--out", "out", "--overwrite", *more]) == 0
        note = "The Zarr holds 2 images; '0' was read and no other"
        assert note in summary()["in/two.zarr"]["notes"]
        words = ["batch", "in/two.zarr", "--series", "1", "--out", "out", "--overwrite"]
        assert main([*words, *more]) == 1
        error = summary()["in/two.zarr"]["error"]
        assert "--series must be 0 for a Zarr; got 1. Pass" in error
        assert str(Path("in/two.zarr/1")) in error
    assert main(["measure", "in/two.zarr", "--series", "1", "--out", "measured"]) == 1
    assert "--series must be 0 for a Zarr" in summary("measured")["in/two.zarr"]["error"]
