"""What a batch run says about its images beside their results, and how much memory it takes."""

import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import tifffile

from batches import ome_zarr, picture, record, summary, tiff
from equilabel import segment
from equilabel.cli import main, parsing, streams
from equilabel.cli.records import Record
from equilabel.devices.jit import CacheWarning


def test_an_image_over_the_memory_limit_costs_its_row_and_names_the_option(here):
    tiff("large.tif", picture((400, 40)))
    tiff("small.tif", picture((24, 32)))
    words = ["batch", "large.tif", "small.tif", "--out", "out", "--memory-limit"]
    assert main([*words, "8.1MB", "--no-overlay"]) == 1
    rows = summary()
    assert rows["small.tif"]["status"] == "done"
    assert "within --memory-limit, 8.1 MB; got 400 x 40 of uint8" in rows["large.tif"]["error"]
    assert main([*words, "1GiB", "--no-overlay", "--resume"]) == 0  # it is none of the parameters
    assert summary()["small.tif"]["status"] == "skipped"


def test_images_at_once_share_nine_tenths_of_the_free_memory(monkeypatch):
    monkeypatch.setattr("equilabel.cli.parsing.free", lambda: 80)
    assert [parsing.memory_limit(None, jobs) for jobs in (1, 4)] == [72, 18]


def test_images_of_a_file_that_are_not_read_are_told_of(here, capsys):
    with tifffile.TiffWriter("several.tif") as writer:
        for size in (24, 28, 32):
            writer.write(picture((size, 32)))
    tiff("one.tif")
    assert main(["batch", "several.tif", "one.tif", "--out", "out"]) == 0
    note = "The file holds 3 images; number 0 was read and no other"
    assert summary()["several.tif"]["notes"].startswith(note)
    assert "holds" not in summary()["one.tif"]["notes"]
    assert capsys.readouterr().out.count(f"  note      {note} (choose with --series") == 1
    assert main(["batch", "several.tif", "--out", "other", "--series", "2"]) == 0
    assert summary("other")["several.tif"]["shape"] == "32 x 32"


def test_compiled_code_that_cannot_be_kept_is_told_once_and_for_no_image(here, capsys, monkeypatch):
    def label(*arguments, **keywords):
        warnings.warn("cannot be kept", CacheWarning, stacklevel=1)
        return segment(*arguments, **keywords)

    monkeypatch.setattr("equilabel.segment", label)
    cache = import_module("equilabel.devices.compiling")
    monkeypatch.setattr(cache, "find_obstacle", lambda: "It cannot be kept.")
    for name in "ab":
        tiff(f"{name}.tif")
    assert main(["segment", "a.tif", "--out", "one"]) == 0
    assert capsys.readouterr().out.count("annot be kept") == 1
    assert main(["batch", "a.tif", "b.tif", "--out", "out"]) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).count("cannot be kept") == 1
    assert not any("kept" in row["notes"] for row in summary().values())
    assert record()["device"]["available"][0]["note"] == "It cannot be kept."


def test_notes_are_told_by_how_many_images_have_them():
    notes = [("a",), ("a", "b"), *((f"{k}",) for k in range(6))]
    records = [Record("x.tif", "x", "done", objects=1, notes=each) for each in notes]
    said = streams.count_notes(records)
    assert said[0] == "a (2 images)"
    assert sum("(1 image)" in note for note in said) == 4
    assert said[-1] == "3 more notes are in the summary."


def test_a_folder_of_mixed_units_is_blurred_by_one_length_or_by_one_number_of_pixels(here, capsys):
    image = picture((96, 96))
    size = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    tiff("in/a.tif", image, ome=True, metadata=size)
    nanometres = {"PhysicalSizeXUnit": "nm", "PhysicalSizeYUnit": "nm"}
    size |= {"PhysicalSizeX": 250, "PhysicalSizeY": 250, **nanometres}
    tiff("in/b.tif", image, ome=True, metadata=size)
    words = ["batch", "in", "--out"]
    assert main([*words, "length", "--sigma", "0.5um", "--min-size", "1.1 um^2"]) == 0
    said = capsys.readouterr().out
    assert "sigma 1 px, min size 5 px" in said
    assert "sigma 2 px, min size 18 px" in said
    used = {entry["name"]: entry["in_pixels"] for entry in record("length")["files"]}
    assert used == {
        "a": {"sigma": [1.0, 1.0], "min_size": 5},
        "b": {"sigma": [2.0, 2.0], "min_size": 18},
    }
    assert main([*words, "pixels", "--sigma", "2", "--min-size", "18px"]) == 0
    assert all(entry["in_pixels"] == used["b"] for entry in record("pixels")["files"])
    assert main([*words, "pixels", "--sigma", "2px", "--min-size", "18", "--resume"]) == 0
    assert main([*words, "other", "--spacing", "0.25", "--sigma", "100nm"]) == 0
    assert "--spacing was taken to be in µm, the unit of the file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("size", "unit", "word", "said"),
    [
        (100.0, "cm", "centimeter", "A pixel is 100 cm long along Y, more than a millimeter"),
        (1.0, "km", "kilometer", "A pixel is 1 km long along Y, more than a millimeter"),
        (0.5, "pm", "picometer", "A pixel is 0.5 pm long along Y, less than a picometer"),
        (0.1, "cm", "centimeter", ""),
        (1.0, "pm", "picometer", ""),
    ],
)
def test_a_pixel_size_that_nobody_can_mean_is_told_of_until_another_is_given(
    here, capsys, size, unit, word, said
):
    known = {
        f"PhysicalSize{axis}{end}": value
        for axis in "YX"
        for end, value in (("", size), ("Unit", unit))
    }
    tiff("in/a.tif", ome=True, metadata={"axes": "YX", **known})
    ome_zarr("in/b.zarr", picture(), [word] * 2, [size] * 2)
    for words in ((), ("--spacing", "0.5"), ("--spacing", "0.5", "--unit", "um")):
        assert main(["batch", "in", "--out", "out", "--overwrite", *words]) == 0
        told = [entry["notes"] for entry in record()["files"]]
        if not words:
            end = [f"{said}: pass --spacing and --unit if that is wrong."] if said else []
            assert told == [end] * 2
            assert capsys.readouterr().out.count("long along") == 3 * bool(said)
    assert told == [[], []]
    words = ["measure", "out/a_labels.tif", "--image", "in/a.tif", "--out", "measured"]
    assert main([*words, "--spacing", "3", "--unit", "mm"]) == 0
    assert main([*words, "--unit", "mm", "--overwrite"]) == 0
    (entry,) = record("measured")["files"]
    scale = {"cm": 10, "km": 1e6, "pm": 1e-9}[unit]
    assert entry["spacing"] == {"Y": size * scale, "X": size * scale}  # converted
    assert bool(entry["notes"]) == bool(said)


def test_an_ome_zarr_in_several_units_is_measured_in_one(here):
    ome_zarr("in/a.zarr", picture((3, 24, 32)), ["nanometer", "micrometer", "meter"], [1500, 2, 1])
    ome_zarr("in/b.zarr", picture((3, 24, 32)), ["parsec"] * 3, [1.0, 0.5, 0.5])
    ome_zarr("in/c.zarr", picture((3, 24, 32)), ["", *["micrometer"] * 2], [2.0, 0.5, 0.5])
    assert main(["batch", "in", "--out", "out"]) == 0
    one, far, partly = record()["files"]
    assert (one["spacing"], one["unit"]) == ({"Z": 1.5e-6, "Y": 2e-6, "X": 1.0}, "m")
    assert (far["spacing"], far["unit"]) == ({"Z": 1.0, "Y": 0.5, "X": 0.5}, "")
    assert far["notes"] == ["The unit 'parsec' is no length this package knows; it is left out."]
    assert partly["spacing"] == {}
    assert partly["notes"] == ["The pixel size is known along YX only: lengths are in pixels."]


def test_a_wide_blur_is_questioned_on_the_terminal(here, capsys):
    size = {"axes": "YX", "PhysicalSizeX": 0.0515, "PhysicalSizeY": 0.0515}
    tiff("a.tif", picture((96, 96)), ome=True, metadata=size)
    assert main(["batch", "a.tif", "--out", "out", "--sigma", "2um"]) == 0
    question = "--sigma 2µm is 38.8 pixels and blurs the image over 91 pixels, more than"
    assert question in capsys.readouterr().out
    assert main(["batch", "a.tif", "--out", "pixels", "--sigma", "100px"]) == 0
    assert "--sigma 100px blurs the image over" in capsys.readouterr().out


def test_planes_without_a_name_are_asked_about_until_it_is_said_what_they_are(here, capsys):
    tiff("in/movie.tif", np.stack([picture((32, 32))] * 5), photometric="minisblack")
    tiff("in/one.tif", picture((32, 32)))
    question = "5 planes read as depth, as the file does not name their axis; pass --stacked if"
    for words, asked in (((), True), (("--stacked",), False), (("--no-stacked",), False)):
        assert main(["batch", "in", "--out", "out", "--overwrite", *words]) == 0
        said = capsys.readouterr().out
        assert (f"note: {question}" in said) == asked
        assert (f"note      {question}" in said) == asked
    assert main(["batch", "in/movie.tif", "--out", "out", "--overwrite"]) == 0
    assert capsys.readouterr().out.count(question) == 1


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (np.full((24, 24), np.nan, np.float32), "All pixels are NaN or infinite"),
        (np.full((24, 24), 7, np.uint8), "All pixels have the same gray value, 7"),
        (np.full((24, 24), np.float32([2, np.nan] * 12)), "the same gray value, 2"),
    ],
)
def test_an_image_in_which_nothing_can_be_found_is_not_done_without_a_word(
    here, capsys, image, said
):
    tiff("a.tif", image)
    for words in (("--threshold", "otsu"), ("--threshold", "1")):
        assert main(["batch", "a.tif", "--out", "out", "--overwrite", *words]) == 0
        assert said in capsys.readouterr().out
        assert said in summary()["a.tif"]["notes"]


def test_a_terminal_shows_each_note_once_with_its_file(capsys, monkeypatch):
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    shown = streams.Progress(3, Path("out"))
    shown.begin()
    for name in "abc":
        shown.show(Record(name, name, "done", objects=0, notes=("Nothing there.",)))
    streams.fleeting("")
    assert capsys.readouterr().out.count("Nothing there.") == 1


def test_a_length_in_a_unit_is_not_taken_for_a_time(here):
    size = {"axes": "TYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5}
    tiff("a.tif", np.stack([picture((32, 32))] * 3), ome=True, metadata=size)
    words = ["batch", "a.tif", "--out", "out", "--overwrite", "--no-stacked"]
    for option, value in (("--sigma", "0.5um"), ("--opening", "1um"), ("--min-size", "1um3")):
        assert main([*words, option, value]) == 1
        error = record()["files"][0]["error"]
        assert error.startswith(f"{option} must be in pixels where --no-stacked reads times")
    assert main([*words, "--sigma", "1px"]) == 0
    assert main([*words[:-1], "--sigma", "0.5um", "--min-size", "1um2"]) == 0
