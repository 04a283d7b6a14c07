"""`equilabel segment`: one image, with the options of `equilabel batch`."""

import errno
import inspect
import json
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import tifffile

from batches import names, picture, refused, tiff
from equilabel import segment
from equilabel.cli import commands, main, one, streams
from equilabel.storage.tiff import read_tiff

RESULTS = ["a_labels.tif", "a_overlay.png", "a_record.json", "a_table.csv"]


def test_it_takes_all_options_of_batch_but_those_of_a_run():
    batch, label = (inspect.signature(f).parameters for f in (commands.batch, commands.segment))
    assert set(batch) - set(label) == {
        *("inputs", "recursive", "jobs", "time_limit", "too_large", "dry_run", "group")
    }
    own = {"image", "chunked", "chunks", "shards", "numbering", "workers"}
    assert set(label) - set(batch) == own
    shared = set(label) - own - {"out", "scheduler"}  # these have other defaults
    assert {name: label[name].default for name in shared} == {
        name: batch[name].default for name in shared
    }


def test_results_are_those_of_batch(here, capsys):
    tiff("in/a.tif", picture(objects=3), resolution=(4, 4), imagej=True, metadata={"unit": "um"})
    options = ["--threshold", "li", "--min-size", "9", "--exclude-border"]
    assert main(["batch", "in/a.tif", "--out", "many", *options]) == 0
    capsys.readouterr()
    assert main(["segment", "in/a.tif", "--out", "one", *options]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("in/a.tif: 3 objects, threshold 53.75, ")
    assert [line.split()[0] for line in said[1:]] == ["labels", "table", "overlay", "record"]
    assert names("one") == RESULTS
    for name in RESULTS:
        if name != "a_record.json":
            assert Path("one", name).read_bytes() == Path("many", name).read_bytes()
    record = json.loads(Path("one/a_record.json").read_text(encoding="utf-8"))
    assert record["parameters"]["threshold"] == "li"
    assert (record["command"], record["folder"]) == (sys.argv, str(Path.cwd()))
    assert record["record"]["outputs"]["table"]["units"]["area"] == "µm²"


def test_results_are_written_here_unless_told_and_only_own_ones_are_replaced(here, capsys):
    tiff("in/a.tif")
    assert main(["segment", "in/a.tif"]) == 0
    assert names(".") == sorted([*RESULTS, "in/a.tif"])
    assert main(["segment", "in/a.tif", "--no-overlay", "--threshold", "199"]) == 0
    assert names(".") == ["a_labels.tif", "a_record.json", "a_table.csv", "in/a.tif"]
    expected = segment(picture(), threshold=199).labels
    np.testing.assert_array_equal(read_tiff("a_labels.tif").pixels, expected)
    Path("a_labels.tif").write_bytes(Path("in/a.tif").read_bytes())  # corrected by hand
    capsys.readouterr()
    said = refused(capsys, "segment", "in/a.tif", "--sigma", "1")
    assert "were changed" in said
    assert "got 'a_labels.tif'. Pass --overwrite" in said
    assert main(["segment", "in/a.tif", "--overwrite"]) == 0
    Path("a_overlay.png").unlink()
    Path("a_record.json").unlink()
    capsys.readouterr()
    assert "and 1 more" in refused(capsys, "segment", "in/a.tif")


def test_results_of_another_image_are_not_replaced(here, capsys):
    tiff("in/a.tif")
    tiff("in/a.tiff")
    assert main(["segment", "in/a.tif"]) == 0
    capsys.readouterr()
    assert "did not write for this image" in refused(capsys, "segment", "in/a.tiff")
    tiff("other/a.tif", picture(objects=3))
    assert "did not write for this image" in refused(capsys, "segment", "other/a.tif")
    Path("in/a.tif").rename("a.tif")  # moved
    tifffile.imwrite("in/b.tif", np.stack([picture(), picture()]), metadata=None)
    tifffile.imwrite("in/b.tif", picture(objects=3)[1:], metadata=None, append=True)
    assert main(["segment", "a.tif", "--sigma", "1"]) == 0
    assert main(["segment", "in/b.tif", "--series", "1"]) == 0
    assert main(["segment", "in/b.tif", "--series", "1", "--sigma", "1"]) == 0
    capsys.readouterr()
    assert "did not write for this image" in refused(capsys, "segment", "in/b.tif")


def test_the_former_name_of_the_command_is_known(here):
    assert main(["label", str(tiff("a.tif"))]) == 0


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("none.tif", "IMAGE must be a file; got 'none.tif', nothing. Check the path."),
        (
            "in",
            "For all images in it, use `equilabel batch in --out results`; if they are slices",
        ),
        ("", "IMAGE must be a path; got ''. Check whether a variable is empty."),
    ],
)
def test_what_is_no_file_is_refused_with_what_to_do(here, capsys, word, said):
    tiff("in/a.tif")
    assert said in refused(capsys, "segment", word, "--out", "out")
    assert not Path("out").exists()


def test_slices_and_results_that_cannot_be_are_refused_at_once(here, capsys):
    tiff("a.tif")
    assert "nothing. Check the path." in refused(capsys, "segment", "nowhere", "--slices")
    assert "a file. Leave --slices out." in refused(capsys, "segment", "a.tif", "--slices")
    Path("out/a_labels.tif").mkdir(parents=True)
    for words in ([], ["--overwrite"]):
        said = refused(capsys, "segment", "a.tif", "--out", "out", *words)
        assert "--out must hold no folder of a result's name" in said


@pytest.mark.parametrize("command", ["batch", "segment", "measure"])
@pytest.mark.parametrize("out", ["", " "])
def test_a_blank_folder_of_results_is_refused(here, capsys, command, out):
    tiff("in/a.tif")
    assert f"--out must be a path; got {out!r}." in refused(capsys, command, "in", "--out", out)
    assert names(".") == ["in/a.tif"]


def test_an_image_never_replaces_itself(here, capsys):
    path = tiff("b_labels.tif")
    Path("a.tif").symlink_to("b_labels.tif")
    Path("b.tif").symlink_to("b_labels.tif")
    before = path.read_bytes()
    assert "replace an input" in refused(capsys, "segment", "b.tif", "--overwrite")
    assert main(["segment", "a.tif"]) == 0
    assert path.read_bytes() == before


def test_a_damaged_image_and_options_for_no_image_leave_nothing(here, capsys):
    tiff("a.tif")
    Path("half.tif").write_bytes(Path("a.tif").read_bytes()[:300])
    assert main(["segment", "half.tif", "--out", "out"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("equilabel: half.tif: image file must hold")
    assert "--threshold must be" in refused(capsys, "segment", "a.tif", "--threshold", "magic")
    assert not Path("out").exists()
    assert names(".") == ["a.tif", "half.tif"]


def test_a_full_disk_is_told_without_an_option_that_there_is_not(here, monkeypatch, capsys):
    tiff("a.tif")
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(one, "write_results", Mock(side_effect=full))
    assert main(["segment", "a.tif"]) == 1
    said = capsys.readouterr().err
    assert "Make room and run again; a run of many images with --resume." in said


def test_a_refusal_compiles_nothing(here, monkeypatch):
    """In a process of its own, with an empty cache: compiling takes half a minute."""
    tiff("half.tif").write_bytes(tiff("a.tif").read_bytes()[:300])
    tiff("rgb.tif", np.arange(243, dtype=np.uint8).reshape(9, 9, 3), photometric="rgb")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "cache")
    code = (
        "from equilabel.cli import main; print([main(['segment', *words.split()]) for words in "
        "('half.tif', 'rgb.tif', 'a.tif --spacing 1,1,1', 'a.tif --threshold magic')])"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "[1, 1, 1, 2]\n"
    assert not [path for path in Path("cache").rglob("*") if path.is_file()]


def test_who_reads_a_pipe_is_told_what_takes_long(capsys, monkeypatch):
    monkeypatch.setattr(streams, "PAUSE", 0.02)
    stages = streams.Stages()
    with stages.beating():
        stages("split")
        time.sleep(0.1)
        stages.compiling(1, busy=True)
        stages.compiling(2, busy=True)
        time.sleep(0.1)
        stages.compiling(2, busy=False)
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert "equilabel: splitting objects, 0 s" in lines
    assert "equilabel: compiling, first time only: 2 functions, 0 s" in lines


def test_a_quick_image_is_waited_for_in_silence(capsys):
    stages = streams.Stages()
    with stages.beating():
        stages("split")
        stages.compiling(1, busy=True)
    assert capsys.readouterr() == ("", "")
