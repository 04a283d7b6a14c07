"""The output folder: nothing outside it, nothing lost in it, one run at a time."""

import os
import socket
from itertools import product
from pathlib import Path

import pytest

from batches import (
    names,
    picture,
    posix,
    record,
    refused,
    results,
    summary,
    tiff,
    without_privileges,
)
from equilabel.cli import batch, folder, main, one
from equilabel.cli.options import Options
from equilabel.cli.records import provenance
from equilabel.storage import files


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


@pytest.mark.parametrize("name", ["summary.csv", "run.json", "report.html"])
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
        assert "--out must be a folder" in refused(capsys, "batch", "a.tif", "--out", out)


@posix
@pytest.mark.parametrize("out", ["closed", "closed/deeper", "closed/deeper/still"])
def test_an_output_folder_without_permission_is_refused(here, capsys, out):
    tiff("a.tif")
    Path("closed").mkdir(mode=0o000)
    with without_privileges():
        said = refused(capsys, "batch", "a.tif", "--out", out)
    assert "Permission denied" in said


@posix
@pytest.mark.parametrize("out", ["a" * 300, "loop", "loop/x", f"deep/{'a' * 300}/x"])
def test_an_output_folder_that_no_disk_can_hold_is_refused(here, capsys, out):
    tiff("a.tif")
    Path("loop").symlink_to("loop")
    assert "--out must be a folder that can be written" in refused(
        capsys, "batch", "a.tif", "--out", out
    )
    assert not Path("deep").exists()


def test_folders_made_for_a_run_that_is_refused_go_again(here):
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "one/two/three", "--method", "magic"]) == 2
    assert not Path("one").exists()


# ------------------------------------------------------------------------------------ the claim


@posix
def test_two_runs_in_one_folder_are_refused(here, capsys):
    tiff("a.tif")
    with folder.claimed(Path("out")) as place:
        (place / "work").mkdir()
        assert "another run uses" in refused(capsys, "batch", "a.tif", "--out", "out")
        assert (place / "work").is_dir()


@posix
def test_a_claim_whose_file_was_removed_meanwhile_is_none(here, monkeypatch):
    def lock(descriptor):
        held = real(descriptor)
        if not removed:  # the run before ends between the opening of its file and the lock
            removed.append(Path("out/.unfinished/claim").unlink())
        return held

    removed, real = [], files.lock
    monkeypatch.setattr(files, "lock", lock)
    with folder.claimed(Path("out")):
        assert removed
        with pytest.raises(folder.RefusedError, match="another run uses"):
            folder.claimed(Path("out")).__enter__()


WAY = [".unfinished/claim", ".unfinished", ".equilabel", "run.json"]
KINDS = ["pipe", "socket", "link", "dangling link"]


@posix
@pytest.mark.parametrize(
    ("kind", "name"),
    [*product(KINDS, WAY), ("folder", ".unfinished/claim"), ("folder", "run.json")],
)
def test_what_stands_in_the_way_is_not_followed_or_waited_for(here, capsys, kind, name):
    tiff("a.tif")
    Path("away").mkdir()
    Path("away/file").touch()
    path = Path("out", name)
    path.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(path)
        reader = os.open(path, os.O_RDWR)  # so that whoever opens it does not wait for ever
    elif kind == "socket":
        reader = socket.socket(socket.AF_UNIX)
        reader.bind(str(path))
    elif kind == "folder":
        path.mkdir()
    else:
        file = "away" if path.name[0] == "." else "away/file"
        leads = "away/new" if kind == "dangling link" else file
        path.symlink_to(here / leads)
    before = path.lstat()
    code = main(["batch", "a.tif", "--out", "out", "--overwrite"])
    said = capsys.readouterr()
    assert names("away") == ["file"]
    assert Path("away/file").read_bytes() == b""
    if name == "run.json" and kind != "folder":
        assert code == 0
        assert record()["status"] == "done"
    else:
        assert (code, said.err.count("\n")) == (2, 1)
        assert os.path.samestat(path.lstat(), before)
    if kind == "pipe":
        os.close(reader)
    elif kind == "socket":
        reader.close()


def test_every_run_has_a_place_of_its_own(here):
    with folder.claimed(Path("out")) as first:
        pass
    with folder.claimed(Path("out")) as second:
        assert first != second


def test_a_process_of_a_run_that_was_killed_makes_no_folders(here):
    options = Options()
    job = one.Job(tiff("a.tif"), "a", number=0, place=here / "out/.unfinished/gone/0")
    assert "No such file" in one.label_one(job, options, provenance(options)).error
    assert not Path("out").exists()


# ------------------------------------------------------------------------------------- results


def test_a_result_that_cannot_have_its_name_costs_its_row(here):
    tiff("a.tif")
    Path("out/a_table.csv").mkdir(parents=True)
    assert main(["batch", "a.tif", "--out", "out", "--overwrite"]) == 1
    assert "Is a directory" in summary()["a.tif"]["error"]
    assert names() == ["report.html", "run.json", "summary.csv"]


@pytest.mark.parametrize("name", ["summary.csv", "run.json", "report.html"])
def test_records_that_cannot_have_their_name_are_refused_before_work(here, capsys, name):
    tiff("a.tif")
    Path("out", name).mkdir(parents=True)
    assert f"'out/{name}'" in refused(capsys, "batch", "a.tif", "--out", "out", "--overwrite")
    assert names() == []


def test_records_that_cannot_be_written_are_told(here, capsys, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    tiff("a.tif")
    monkeypatch.setattr(batch, "write_summary", fail)
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    assert capsys.readouterr().err.count("disk of --out must have room") == 1
    assert record()["status"] == "done"
    assert main(["batch", "a.tif", "--out", "out", "--resume"]) == 1


def test_a_disk_that_is_full_before_the_first_result_is_refused(here, capsys, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    tiff("a.tif")
    with monkeypatch.context() as patch:
        patch.setattr(batch, "write_run", fail)
        assert main(["batch", "a.tif", "--out", "out"]) == 2
    assert "disk of --out must have room" in capsys.readouterr().err
    assert not Path("out").exists()


def test_results_of_a_kind_that_is_not_written_are_earlier_results_too(here, capsys):
    tiff("a.tif")
    tiff("out/a_overlay.png")
    said = refused(capsys, "batch", "a.tif", "--out", "out", "--no-overlay")
    assert "got 'out/a_overlay.png'" in said


def test_what_a_killed_run_left_is_cleared_away(here):
    tiff("a.tif")
    tiff("out/.unfinished/0/b_labels.tif")  # in the way of the first image
    assert main(["batch", "a.tif", "--out", "out"]) == 0
    assert not Path("out/.unfinished").exists()


def test_records_are_written_where_the_next_run_clears_up(here, monkeypatch):
    def noting(write):
        return lambda path, *words: written.append(path) or write(path, *words)

    written = []
    for name in ("write_run", "write_summary"):
        monkeypatch.setattr(batch, name, noting(getattr(batch, name)))
    tiff("a.tif")
    assert main(["batch", "a.tif", "--out", "out"]) == 0
    assert [path.name for path in written] == ["run.json", "run.json", "summary.csv"]
    assert all(path.parts[:2] == ("out", ".unfinished") for path in written)
    assert names() == results("a")
