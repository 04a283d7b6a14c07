"""The command line, end to end: small TIFFs in, results and records out."""

import csv
import hashlib
import inspect
import io
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import tifffile

from equilabel import METHODS, segment
from equilabel.cli import batch, commands, main, one, options, progress, workers
from equilabel.cli.options import Options, RefusedError
from equilabel.cli.records import Record
from equilabel.kernels.cpu.caching import CacheWarning
from equilabel.storage.table import read_table
from equilabel.storage.tiff import read_tiff

DATA = Path(__file__).parents[2] / "shared" / "data"
SOURCE = Path(__file__).parents[1] / "src"
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and links")


def label_here(jobs, options, fingerprint, *, count, limit, stop):
    """Stand in for `workers.label_all` without its processes, which start slowly."""
    complaint = one.check(options)
    if complaint:
        raise RefusedError(complaint)
    for job in jobs:
        if stop():
            return
        yield job, one.label_one(job, options, fingerprint)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory, and work done in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batch, "label_all", label_here)
    return tmp_path


def picture(shape=(24, 32), objects=2):
    image = np.full(shape, 20, np.uint8)
    for number in range(objects):
        image[..., 4:12, 4 + 10 * number : 10 + 10 * number] = 200
    return image


def tiff(path, image=None, **keywords):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    tifffile.imwrite(path, picture() if image is None else image, **keywords)
    return path


def summary(out="out"):
    with (Path(out) / "summary.csv").open(encoding="utf-8") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def record(out="out"):
    return json.loads((Path(out) / "run.json").read_text(encoding="utf-8"))


def names(folder="out"):
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if p.is_file())


def results(*stems):
    endings = ("_labels.tif", "_overlay.png", "_table.csv")
    return sorted([*(s + e for s in stems for e in endings), "run.json", "summary.csv"])


def refused(capsys, *words):
    """Call with words that are refused; return the one line that says why."""
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


# ------------------------------------------------------------------- what is written for an image


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
        "status": "done",
        "objects": "2",
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


def sizes(*values):
    pairs = zip("ZYX"[-len(values) :], values, strict=True)
    return {f"PhysicalSize{axis}": value for axis, value in pairs} | {
        f"PhysicalSize{axis}Unit": "µm" for axis in "ZYX"[-len(values) :]
    }


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


def test_sizes_known_in_part_are_kept_but_not_measured_with(here):
    tiff("a.tif", picture((5, 24, 32)), ome=True, metadata={"axes": "ZYX", **sizes(0.5, 0.5)})
    main(["batch", "a.tif", "--out", "out"])
    row = summary()["a.tif"]
    assert (row["spacing"], row["unit"]) == ("", "")
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
    [([], "0 to 1"), (["--channel", "2"], "0 to 1"), (["--channel", "RFP"], "['DAPI', 'GFP']")],
)
def test_a_missing_channel_is_told_with_those_there_are(colors, words, complaint):
    assert main(["batch", "a.tif", "--out", "out", *words]) == 1
    assert complaint in summary()["a.tif"]["error"]
    assert summary()["a.tif"]["axes"] == "CYX"


def test_an_image_without_channels_has_the_first_alone(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "one", "--channel", "0"]) == 0
    assert main(["batch", "a.tif", "--out", "two", "--channel", "1"]) == 1


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
    assert names() == ["a_labels.tif", "a_table.parquet", "run.json", "summary.csv"]
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


# ---------------------------------------------------------------------------- the same signature


def test_every_option_of_segment_has_its_name_and_default():
    ours = inspect.signature(commands.batch).parameters
    theirs = inspect.signature(segment).parameters
    decided_by_the_file = {"image", "channel_axis", "progress"}  # or shown by the command itself
    assert set(theirs) - decided_by_the_file <= set(ours)
    readers = {"threshold": options.threshold, "sigma": options.sigma}
    for name in set(theirs) - decided_by_the_file - {"stacked"}:
        default = readers.get(name, lambda value: value)(ours[name].default)
        assert default == theirs[name].default, name
    assert ours["stacked"].default is None  # by the axes of the file


def test_devices_and_methods_are_those_there_are():
    from typing import get_args, get_type_hints

    from equilabel.devices import DEVICES

    hints = get_type_hints(commands.batch, include_extras=True)
    assert get_args(get_args(hints["device"])[0]) == DEVICES
    assert all(name in hints["method"].__metadata__[0].help for name in METHODS)


# --------------------------------------------------------------------------------- which images


def test_files_folders_and_patterns_are_taken(here):
    for name in ("one.tif", "many/b.TIFF", "many/c.ome.tif", "many/notes.txt", "p1/d.tif"):
        tiff(name)
    assert main(["batch", "one.tif", "many", "p?/*", "--out", "out"]) == 0
    assert names() == results("one", "b", "c", "d")


def test_a_file_given_twice_is_labeled_once(here):
    tiff("in/a.tif")
    absolute = str(here / "in" / "a.tif")
    assert main(["batch", "in", absolute, "in/*.tif", "--out", "out"]) == 0
    assert len(record()["files"]) == 1


def test_recursive_results_keep_the_subfolders(here, capsys):
    for name in ("in/a.tif", "in/x/a.tif", "in/x/y/a.tif", "in/.hidden/a.tif", "in/._a.tif"):
        tiff(name)
    assert main(["batch", "in", "--recursive", "--out", "in/out"]) == 0
    assert names("in/out") == results("a", "x/a", "x/y/a")
    assert main(["batch", "in", "--recursive", "--out", "in/out", "--overwrite"]) == 0
    assert names("in/out") == results("a", "x/a", "x/y/a")
    assert "left out" not in capsys.readouterr().out  # the search did not go into the results


def test_results_of_an_earlier_run_are_no_images(here, capsys):
    tiff("in/a.tif")
    assert main(["batch", "in", "--out", "in"]) == 0
    every = [str(path) for path in Path("in").glob("*.tif")]  # as a shell would
    for words in (["in"], ["in/*.tif"], every):
        assert main(["batch", *words, "--out", "in", "--overwrite"]) == 0
        assert names("in") == sorted([*results("a"), "a.tif"])
        assert "in/a_labels.tif: left out" in capsys.readouterr().out


def test_results_alone_are_no_images(here, capsys):
    tiff("in/a_labels.tif")
    said = refused(capsys, "batch", "in", "--out", "out")
    assert "results of an earlier run, 'in/a_labels.tif'" in said


def test_a_pattern_that_matches_a_folder_means_the_images_in_it(here):
    tiff("in/p1/a.tif")
    Path("in/p2").mkdir()
    assert main(["batch", "in/*", "--out", "out"]) == 0
    assert names() == results("a")


def test_a_folder_that_cannot_be_read_costs_a_row(here, monkeypatch):
    def walk(folder, onerror):
        onerror(PermissionError(13, "Permission denied", f"{folder}/secret"))
        yield str(folder), ["secret"], ["a.tif"]

    tiff("in/a.tif")
    monkeypatch.setattr("equilabel.cli.inputs.os.walk", walk)
    assert main(["batch", "in", "--out", "out"]) == 1
    assert "Permission denied" in summary()["in/secret"]["error"]
    assert summary()["in/a.tif"]["status"] == "done"


def test_a_file_named_like_a_result_is_taken_when_named_itself(here):
    tiff("a_labels.tif")
    assert main(["batch", "a_labels.tif", "--out", "out"]) == 0
    assert names() == results("a_labels")


def test_a_name_with_the_signs_of_a_pattern_is_a_name(here):
    tiff("a[1].tif")
    assert main(["batch", "a[1].tif", "--out", "out"]) == 0
    assert names() == results("a[1]")


def test_two_inputs_with_one_name_are_refused_before_work(here, capsys):
    tiff("x/a.tif")
    tiff("y/A.tiff")
    said = refused(capsys, "batch", "x/a.tif", "y", "--out", "out")
    assert "'x/a.tif'" in said
    assert "'y/A.tiff'" in said
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["none.tif"], "INPUT must exist; got 'none.tif'"),
        (["none/*.tif"], "INPUT must match images"),
        (["empty"], "--recursive"),
        (["empty", "--recursive"], "folder must hold images"),
        ([" "], "INPUT must be a file"),
    ],
)
def test_no_image_at_all_is_refused(here, capsys, words, complaint):
    Path("empty").mkdir()
    assert complaint in refused(capsys, "batch", *words, "--out", "out")
    assert not Path("out").exists()


def test_a_missing_input_among_others_costs_its_row(here):
    tiff("a.tif")
    Path("empty").mkdir()
    assert main(["batch", "a.tif", "none.tif", "empty", "x*.tif", "--out", "out"]) == 1
    assert [row["status"] for row in summary().values()] == ["done", *["failed"] * 3]


@posix
def test_what_would_block_or_lead_nowhere_is_not_opened(here):
    tiff("in/a.tif")
    os.mkfifo("in/pipe.tif")
    Path("in/link.tif").symlink_to("nowhere")
    assert main(["batch", "in", "--out", "out"]) == 1
    errors = {name: row["error"] for name, row in summary().items()}
    assert "neither file nor folder" in errors["in/pipe.tif"]
    assert "a link to nothing" in errors["in/link.tif"]


# ---------------------------------------------------------------------------------- bad images


def test_bad_images_cost_a_row_each_and_never_the_run(here):
    whole = tiff("in/good.tif").read_bytes()
    Path("in/empty.tif").touch()
    Path("in/half.tif").write_bytes(whole[: len(whole) // 2])
    Path("in/text.tif").write_text("not a TIFF")
    assert main(["batch", "in", "--out", "out"]) == 1
    rows = summary()
    assert rows.pop("in/good.tif")["status"] == "done"
    assert [(row["status"], row["objects"]) for row in rows.values()] == [("failed", "")] * 3
    assert all("; got " in row["error"] for row in rows.values())
    assert names() == results("good")


def test_a_failure_while_writing_leaves_nothing_of_the_image(here, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    tiff("a.tif")
    monkeypatch.setattr("equilabel.storage.tiff.write_labels", fail)
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    assert "must have room" in summary()["a.tif"]["error"]
    assert names() == ["run.json", "summary.csv"]


def test_a_failure_gives_its_room_back_at_once(here, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("equilabel.storage.tiff.write_labels", fail)
    job = one.Job(0, tiff("a.tif"), "a", here / "place")
    assert one.label_one(job, Options(), "").status == "failed"
    assert not job.place.exists()


def test_a_failure_leaves_the_results_of_an_earlier_run(here):
    tiff("a.tif")
    main(["batch", "a.tif", "--out", "out"])
    before = Path("out/a_table.csv").read_bytes()
    Path("a.tif").write_text("broken")
    assert main(["batch", "a.tif", "--out", "out", "--overwrite"]) == 1
    assert Path("out/a_table.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("error", "complaint"),
    [
        (MemoryError("Unable to allocate 9 TiB"), "must fit in memory; got Unable to allocate"),
        (KeyError("x"), "KeyError: 'x'. Please report"),
        (PermissionError(13, "Permission denied", "f"), "'Permission denied' for 'f'"),
        (ValueError("two\nlines"), "two lines"),
    ],
)
def test_errors_of_every_kind_become_one_line(here, monkeypatch, error, complaint):
    def fail(*_, **__):
        raise error

    tiff("a.tif")
    monkeypatch.setattr("equilabel.storage.tiff.read_tiff", fail)
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    assert complaint in summary()["a.tif"]["error"]
    assert "\n" not in summary()["a.tif"]["error"]


def test_a_file_that_changes_while_it_is_read_is_noticed(here, monkeypatch):
    def read(path, **keywords):
        image = read_tiff(path, **keywords)
        with Path(path).open("ab") as file:
            file.write(b"more")
        return image

    tiff("a.tif")
    monkeypatch.setattr("equilabel.storage.tiff.read_tiff", read)
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    assert "must not change" in summary()["a.tif"]["error"]


def test_warnings_become_notes(here, monkeypatch):
    def warn(image, **keywords):
        import warnings

        warnings.warn("looks odd", UserWarning, stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
        return segment(image, **keywords)

    tiff("a.tif")
    monkeypatch.setattr("equilabel.segment", warn)
    main(["batch", "a.tif", "--out", "out"])
    assert summary()["a.tif"]["notes"] == "looks odd"


@posix
def test_names_no_terminal_can_show_are_escaped(here, capsys):
    tiff(os.fsdecode(b"in/\xff\n[red]=1+1.tif"))
    assert main(["batch", "in", "--out", "out"]) == 0
    assert "in/\\udcff\\n[red]=1+1.tif: 2 objects" in capsys.readouterr().out
    assert record()["files"][0]["name"] == "\\udcff\\n[red]=1+1"
    assert len(names()) == 5


def test_a_terminal_that_knows_only_ascii_ends_no_run(here, monkeypatch):
    tiff("in/µm.tif")
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["batch", "in", "--out", "out"]) == 0
    assert b"\\xb5m.tif: 2 objects" in terminal.buffer.getvalue()


def test_cells_of_the_summary_are_no_formulas(here):
    tiff("=1+1.tif")
    assert main(["batch", "=1+1.tif", "--out", "out"]) == 0
    assert list(summary()) == ["'=1+1.tif"]


# --------------------------------------------------------------------------------- bad options


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--threshold", "magic"], "threshold must be"),
        (["--threshold", "1,2,3"], "threshold must be"),
        (["--threshold", "nan"], "threshold must be"),
        (["--threshold", "20,10"], "threshold"),
        (["--threshold", "local", "--block-size", "4"], "block_size"),
        (["--offset", "nan"], "offset must be"),
        (["--sigma", "x"], "sigma must be"),
        (["--sigma", "-1"], "sigma must be"),
        (["--connectivity", "0"], "connectivity must be"),
        (["--connectivity", "9"], "connectivity must be"),
        (["--min-size", "-1"], "min_size must be"),
        (["--min-size", "9", "--max-size", "3"], "max_size must be"),
        (["--properties", "label,beauty"], "beauty"),
        (["--properties", ","], "properties must be"),
        (["--method", "magic"], "method must be"),
        (["--device", "abacus"], "abacus"),
        (["--spacing", "0,1"], "spacing must be"),
        (["--spacing", "1,1,1,1"], "spacing must be"),
        (["--unit", "parsec"], "unit must be"),
        (["--jobs", "0"], "jobs must be"),
        (["--time-limit", "0"], "time_limit must be"),
        (["--memory-limit", "0 GB"], "memory_limit must be"),
        (["--memory-limit", "much"], "memory_limit must be"),
        (["--format", "xls"], "xls"),
        (["--series", "x"], "series"),
        (["--resume", "--overwrite"], "resume and overwrite"),
        (["--tresh", "1"], "--tresh"),
    ],
)
def test_bad_options_are_refused_in_one_line_before_work(here, capsys, words, complaint):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", *words]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not Path("out").exists()


def test_an_image_over_the_memory_limit_costs_its_row_and_names_the_option(here):
    tiff("large.tif", picture((40, 40)))
    tiff("small.tif", picture((24, 32)))
    words = ["batch", "large.tif", "small.tif", "--out", "out", "--memory-limit"]
    assert main([*words, "1kB"]) == 1
    rows = summary()
    assert rows["small.tif"]["status"] == "done"
    assert "decode to 1 kB at most; got 1.6 kB" in rows["large.tif"]["error"]
    assert "--memory-limit" in rows["large.tif"]["error"]
    assert main([*words, "1GiB", "--resume"]) == 0  # it is none of the parameters
    assert summary()["small.tif"]["status"] == "skipped"


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
    monkeypatch.setattr(
        "equilabel.kernels.cpu.cache_folders.find_obstacle", lambda: "It cannot be kept."
    )
    for name in "ab":
        tiff(f"{name}.tif")
    assert main(["batch", "a.tif", "b.tif", "--out", "out"]) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).count("cannot be kept") == 1
    assert not any("kept" in row["notes"] for row in summary().values())
    assert record()["device"]["available"][0]["note"] == "It cannot be kept."


def test_notes_are_told_by_how_many_images_have_them(capsys):
    notes = [("a",), ("a", "b"), *((f"{k}",) for k in range(6))]
    records = [Record("x.tif", "x", "done", objects=1, notes=each) for each in notes]
    progress.say_notes(records)
    said = capsys.readouterr().out
    assert "  note      a (2 images)\n" in said
    assert said.count("(1 image)") == 4
    assert "  notes     3 more are in the summary" in said


def test_images_at_once_share_half_of_the_free_memory(monkeypatch):
    monkeypatch.setattr("equilabel.storage.memory.free", lambda: 80)
    assert [options.memory_limit(None, jobs) for jobs in (1, 4)] == [40, 10]


def test_bad_options_leave_earlier_results(here, capsys):
    tiff("a.tif")
    main(["batch", "a.tif", "--out", "out"])
    before = Path("out/run.json").read_bytes()
    assert main(["batch", "a.tif", "--out", "out", "--overwrite", "--method", "magic"]) == 2
    assert Path("out/run.json").read_bytes() == before
    assert names() == results("a")


@pytest.mark.parametrize("method", ["otsu", "li", "triangle", "yen", "isodata", "mean", "minimum"])
def test_every_threshold_passes_the_trial_of_options(method):
    assert one.check(Options({"threshold": method})) == ""


@pytest.mark.parametrize(
    "keywords",
    [
        {"connectivity": 3},
        {"connectivity": 1},
        {"sigma": (0.0, 1.0)},
        {"sigma": (0.0, 1.0, 1.0)},
        {"properties": ("label", "perimeter")},
        {"properties": ("label", "surface_area_faces")},
        {"threshold": "local", "block_size": 11},
        {"threshold": 1e9},
    ],
)
def test_what_suits_images_of_one_rank_passes_the_trial_of_options(keywords):
    assert one.check(Options(keywords)) == ""


@pytest.mark.parametrize(
    ("words", "complaint"), [([], "INPUT"), (["a.tif"], "--out"), (["--help", "x"], "")]
)
def test_missing_words_are_told(here, capsys, words, complaint):
    code = main(["batch", *words])
    assert code == (2 if complaint else 0)
    assert complaint in capsys.readouterr().err


# --------------------------------------------------------------------------- the output folder


def test_earlier_results_are_never_overwritten_unasked(here, capsys):
    tiff("a.tif")
    tiff("out/a_labels.tif", picture(objects=1))
    before = Path("out/a_labels.tif").read_bytes()
    said = refused(capsys, "batch", "a.tif", "--out", "out")
    assert "got 'out/a_labels.tif'" in said
    assert "--overwrite" in said
    assert names() == ["a_labels.tif"]
    assert Path("out/a_labels.tif").read_bytes() == before
    assert main(["batch", "a.tif", "--out", "out", "--overwrite"]) == 0
    assert names() == results("a")


@pytest.mark.parametrize("name", ["summary.csv", "run.json"])
def test_earlier_records_are_never_overwritten_unasked(here, capsys, name):
    tiff("a.tif")
    Path("out").mkdir()
    Path("out", name).touch()
    assert name in refused(capsys, "batch", "a.tif", "--out", "out")


def test_an_input_is_never_overwritten(here, capsys):
    tiff("a.tif")
    tiff("a_labels.tif")
    words = ("batch", "a.tif", "a_labels.tif", "--out", ".", "--overwrite")
    assert "must not replace an input" in refused(capsys, *words)


@posix
def test_links_in_the_output_folder_lead_nowhere(here, capsys):
    tiff("in/sub/a.tif")
    Path("away").mkdir()
    Path("out").mkdir()
    Path("out/sub").symlink_to(here / "away")
    words = ("batch", "in", "-r", "--out", "out", "--overwrite")
    assert "must stay inside 'out'" in refused(capsys, *words)
    assert names("away") == []


@posix
def test_a_link_in_the_place_of_unfinished_work_is_refused(here, capsys):
    tiff("a.tif")
    Path("away/deep").mkdir(parents=True)
    Path("out").mkdir()
    Path("out/.unfinished").symlink_to(here / "away")
    assert "a link" in refused(capsys, "batch", "a.tif", "--out", "out")
    assert Path("away/deep").is_dir()


@posix
def test_a_link_in_the_place_of_a_result_is_replaced_not_followed(here):
    tiff("a.tif")
    Path("out").mkdir()
    Path("precious").write_text("keep")
    Path("out/a_table.csv").symlink_to(here / "precious")
    assert main(["batch", "a.tif", "--out", "out", "--overwrite"]) == 0
    assert Path("precious").read_text() == "keep"
    assert not Path("out/a_table.csv").is_symlink()


def test_names_above_or_elsewhere_stay_inside(here, monkeypatch):
    tiff("a.tif")
    tiff("far/b.tif")
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    assert main(["batch", "../a.tif", str(here / "far/b.tif"), "--out", "out"]) == 0
    assert names() == results("a", "b")


def test_an_output_folder_that_cannot_be_is_refused(here, capsys):
    tiff("a.tif")
    Path("file").touch()
    for out in ("file", "file/deeper"):
        assert "out must be a folder" in refused(capsys, "batch", "a.tif", "--out", out)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_an_output_folder_without_permission_is_refused(here, capsys):
    tiff("a.tif")
    Path("out").mkdir(mode=0o500)
    assert "Permission denied" in refused(capsys, "batch", "a.tif", "--out", "out")


@posix
def test_two_runs_in_one_folder_are_refused(here, capsys):
    from equilabel.cli.folder import claimed

    tiff("a.tif")
    with claimed(Path("out")) as place:
        (place / "work").mkdir()
        assert "held by another" in refused(capsys, "batch", "a.tif", "--out", "out")
        assert (place / "work").is_dir()


def test_a_result_that_cannot_have_its_name_costs_its_row(here):
    tiff("a.tif")
    Path("out/a_table.csv").mkdir(parents=True)
    assert main(["batch", "a.tif", "--out", "out", "--overwrite"]) == 1
    assert "Is a directory" in summary()["a.tif"]["error"]
    assert names() == ["run.json", "summary.csv"]


def test_records_that_cannot_be_written_are_told(here, capsys):
    tiff("a.tif")
    Path("out/summary.csv").mkdir(parents=True)
    assert main(["batch", "a.tif", "--out", "out", "--overwrite"]) == 1
    assert "out/summary.csv" in capsys.readouterr().err
    assert record()["status"] == "done"


def test_what_a_killed_run_left_is_cleared_away(here):
    tiff("a.tif")
    tiff("out/.unfinished/0/b_labels.tif")  # in the way of the first image
    assert main(["batch", "a.tif", "--out", "out"]) == 0
    assert not Path("out/.unfinished").exists()


# -------------------------------------------------------------------------------------- resume


@pytest.fixture
def finished(here):
    """A finished run over a.tif and b.tif; returns a function that resumes and tells statuses."""
    tiff("in/a.tif")
    tiff("in/b.tif")
    assert main(["batch", "in", "--out", "out"]) == 0

    def resume(*words):
        assert main(["batch", "in", "--out", "out", "--resume", *words]) == 0
        return [row["status"] for row in summary().values()]

    return resume


def test_resume_skips_what_is_complete(finished):
    before = Path("out/a_labels.tif").stat().st_mtime_ns
    assert finished() == ["skipped", "skipped"]
    assert Path("out/a_labels.tif").stat().st_mtime_ns == before
    assert summary()["in/a.tif"]["objects"] == "2"
    assert finished() == ["skipped", "skipped"]


def test_resume_makes_what_is_missing(finished):
    Path("out/b_overlay.png").unlink()
    assert finished() == ["skipped", "done"]
    assert names() == results("a", "b")


def test_resume_makes_what_is_damaged(finished):
    with Path("out/b_labels.tif").open("ab") as file:
        file.write(b"x")
    assert finished() == ["skipped", "done"]


def test_resume_makes_what_has_another_input(finished):
    stat = Path("in/b.tif").stat()
    tiff("in/b.tif", picture(objects=1))
    os.utime("in/b.tif", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert finished() == ["skipped", "done"]
    assert summary()["in/b.tif"]["objects"] == "1"


def test_resume_makes_all_again_with_other_parameters(finished):
    assert finished("--threshold", "100") == ["done", "done"]
    assert finished("--threshold", "100") == ["skipped", "skipped"]


def test_resume_makes_all_again_with_another_version(finished, monkeypatch):
    monkeypatch.setattr("equilabel.__version__", "99")
    assert finished() == ["done", "done"]


def test_resume_tries_failures_again(finished):
    Path("in/c.tif").write_text("broken")
    assert main(["batch", "in", "--out", "out", "--resume"]) == 1
    tiff("in/c.tif")
    assert finished() == ["skipped", "skipped", "done"]


def test_resume_with_fewer_images_forgets_none(finished):
    assert main(["batch", "in/b.tif", "--out", "out", "--resume"]) == 0
    assert set(summary()) == {"in/a.tif", "in/b.tif"}
    assert finished() == ["skipped", "skipped"]


def test_resume_begins_where_nothing_is(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", "--resume"]) == 0


@pytest.mark.parametrize("text", [None, "", "{}", '{"files": [{"x": 1}]}', '{"files": 3}'])
def test_resume_needs_the_record(finished, capsys, text):
    capsys.readouterr()
    Path("out/run.json").unlink()
    if text is not None:
        Path("out/run.json").write_text(text)
    said = refused(capsys, "batch", "in", "--out", "out", "--resume")
    assert "resume needs the run.json" in said


# ----------------------------------------------------------------------------------- interrupts


def test_an_interrupt_keeps_what_is_finished(here, monkeypatch, capsys):
    def label_some(jobs, options, fingerprint, **keywords):
        yield next(label_here(jobs, options, fingerprint, **keywords))
        raise KeyboardInterrupt

    for name in "abc":
        tiff(f"in/{name}.tif")
    monkeypatch.setattr(batch, "label_all", label_some)
    assert main(["batch", "in", "--out", "out"]) == 130
    assert [row["status"] for row in summary().values()] == ["done", *["interrupted"] * 2]
    assert record()["status"] == "interrupted"
    assert names() == results("a")
    assert "1 labeled, 2 interrupted" in capsys.readouterr().out
    monkeypatch.setattr(batch, "label_all", label_here)
    assert main(["batch", "in", "--out", "out", "--resume"]) == 0
    assert [row["status"] for row in summary().values()] == ["skipped", "done", "done"]


def test_an_interrupt_while_resuming_forgets_nothing(finished, monkeypatch):
    def interrupt(*_, **__):
        yield from ()
        raise KeyboardInterrupt

    tiff("in/c.tif")
    monkeypatch.setattr(batch, "label_all", interrupt)
    assert main(["batch", "in", "--out", "out", "--resume"]) == 130
    statuses = [row["status"] for row in summary().values()]
    assert statuses == ["skipped", "skipped", "interrupted"]
    monkeypatch.setattr(batch, "label_all", label_here)
    assert finished() == ["skipped", "skipped", "done"]


def test_a_sudden_end_while_resuming_forgets_nothing(finished, monkeypatch):
    def die(jobs, options, fingerprint, **keywords):
        yield next(label_here(jobs, options, fingerprint, **keywords))
        raise ZeroDivisionError  # nothing is written after it, as after SIGKILL

    monkeypatch.setattr(batch, "label_all", die)
    with pytest.raises(ZeroDivisionError):
        main(["batch", "in", "--out", "out", "--resume"])
    assert record()["status"] == "running"
    monkeypatch.setattr(batch, "label_all", label_here)
    assert finished() == ["skipped", "skipped"]


def test_an_interrupt_before_work_is_quiet(here, monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    tiff("a.tif")
    monkeypatch.setattr(batch, "find", interrupt)
    assert main(["batch", "a.tif", "--out", "out"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def start(*words):
    """Start the real program in a group of its own, as a terminal does."""
    code = "import sys; from equilabel.cli import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        start_new_session=True,
    )


@pytest.mark.slow
@posix
def test_ctrl_c_ends_the_program_and_its_workers_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for index in range(200):
        tiff(f"in/{index:03}.tif")
    program = start("batch", "in", "--out", "out", "--jobs", "2")
    assert "200 images" in program.stdout.readline()
    program.stdout.readline()  # the first result
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does: workers hear it too
    _, error = program.communicate(timeout=20)
    assert (program.returncode, error) == (130, "")
    statuses = [row["status"] for row in summary().values()]
    assert len(statuses) == 200
    assert set(statuses) == {"done", "interrupted"}
    done = [Path(name).stem for name, row in summary().items() if row["status"] == "done"]
    assert names() == results(*done)


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_heard_without_tearing_work(number):
    before = signal.getsignal(number)
    with batch.interruptions() as heard:
        os.kill(os.getpid(), number)
        time.sleep(0.01)
        assert heard == [number]
    assert signal.getsignal(number) is before


@posix
def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with batch.interruptions() as heard:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        assert heard == []
    finally:
        signal.signal(signal.SIGINT, before)


# -------------------------------------------------------------------------------------- workers


class Fatal:
    """A path that does something to the worker that receives it."""

    def __init__(self, call, *words):
        self.call, self.words = call, words

    def __reduce__(self):
        return self.call, self.words

    def __str__(self):
        return "fatal.tif"


def label_with(tmp_path, *paths, count=1, limit=None):
    jobs = [
        one.Job(number, path, f"name{number}", tmp_path / str(number))
        for number, path in enumerate(paths)
    ]
    found = workers.label_all(
        jobs, Options(), "print", count=count, limit=limit, stop=lambda: False
    )
    return {job.number: answer for job, answer in found}


@pytest.mark.slow
@posix
def test_a_worker_that_dies_costs_its_image_alone(tmp_path):
    good = tiff(tmp_path / "a.tif")
    found = label_with(tmp_path, good, Fatal(os.abort), good)
    assert [found[number].status for number in range(3)] == ["done", "failed", "done"]
    assert "got SIGABRT" in found[1].error


@pytest.mark.slow
def test_an_image_that_takes_too_long_is_given_up(tmp_path):
    (found,) = label_with(tmp_path, Fatal(time.sleep, 60), limit=0.5).values()
    assert found.status == "failed"
    assert "--time-limit; got 0.5 s" in found.error


@pytest.mark.slow
def test_several_workers_give_what_one_gives(here, monkeypatch):
    monkeypatch.setattr(batch, "label_all", workers.label_all)
    for number in range(4):
        tiff(f"in/{number}.tif", picture(objects=number % 3 + 1))
    assert main(["batch", "in", "--out", "out", "--jobs", "2"]) == 0
    assert [row["objects"] for row in summary().values()] == ["1", "2", "3", "1"]
    assert names() == results(*"0123")


@pytest.mark.slow
def test_workers_refuse_bad_options_before_work(here, monkeypatch, capsys):
    monkeypatch.setattr(batch, "label_all", workers.label_all)
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out", "--method", "magic"]) == 2
    assert "method must be" in capsys.readouterr().err
    assert not Path("out").exists()


# ----------------------------------------------------------------------------- what is shown


def test_plain_lines_where_there_is_no_terminal(here, capsys):
    tiff("in/a.tif")
    Path("in/b.tif").touch()
    main(["batch", "in", "--out", "out"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 images, results in out"
    assert lines[1].startswith("[1/2] in/a.tif: 2 objects, threshold 20, ")
    assert lines[2].startswith("[2/2] in/b.tif: failed: ")
    assert "2 images: 1 labeled, 1 failed, in " in lines[4]
    assert lines[-2].split() == ["summary", str(Path("out/summary.csv"))]


def test_a_bar_on_a_terminal_shows_failures_alone(here, capsys, monkeypatch):
    tiff("in/a.tif")
    Path("in/b.tif").touch()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    main(["batch", "in", "--out", "out"])
    shown = capsys.readouterr().out
    assert "2/2" in shown
    assert "in/b.tif: failed" in shown
    assert "a.tif: 2 objects" not in shown


def test_images_in_different_units_are_pointed_out(here, capsys):
    tiff("in/a.tif", ome=True, metadata={"axes": "YX", **sizes(2, 2)})
    tiff("in/b.tif")
    main(["batch", "in", "--out", "out"])
    assert "different units: pixels, µm" in capsys.readouterr().out


def test_a_reader_that_goes_away_does_not_end_the_run(here, monkeypatch):
    class Gone:
        def write(self, _):
            raise BrokenPipeError

        flush = isatty = lambda self: None

    for name in "abc":
        tiff(f"in/{name}.tif")
    monkeypatch.setattr(sys, "stdout", Gone())
    assert main(["batch", "in", "--out", "out"]) == 0
    sys.stdout.close()
    assert names() == results(*"abc")


@pytest.mark.parametrize("words", [["--help"], ["batch", "--help"], []])
def test_help_shows_the_way(capsys, words):
    assert main(words) == 0
    assert "equilabel batch images --out results" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    from equilabel import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"equilabel {__version__}\n"


def test_devices_are_told_with_reasons(capsys):
    from equilabel import devices

    assert main(["devices"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for report in devices():
        assert report.name in said
        assert report.reason in said


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from equilabel.cli import main; main(['--help']);"
        "heavy = {'numba', 'pandas', 'skimage', 'scipy', 'tifffile', 'PIL', 'cupy', 'pyarrow'};"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.stderr == b""


# -------------------------------------------------------------------------------- real images


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="shared microscopy images are not here")
def test_real_images_are_labeled(here):
    whole = (DATA / "blobs.tif").read_bytes()
    Path("half.tif").write_bytes(whole[: len(whole) // 2])
    words = [str(DATA / "BBBC007"), str(DATA / "blobs.tif"), "half.tif"]
    assert main(["batch", *words, "--out", "out", "--min-size", "20"]) == 1
    counts = {Path(name).name: row["objects"] for name, row in summary().items()}
    assert counts.pop("half.tif") == ""
    nuclei = [int(count) for name, count in counts.items() if name != "blobs.tif"]
    assert all(15 < count < 100 for count in nuclei)
    assert 50 < int(counts["blobs.tif"]) < 70
    assert isinstance(record()["files"][0], dict)
    assert Record(**record()["files"][0]).complete
