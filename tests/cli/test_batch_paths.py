"""Which images are meant, and what a path that leads to none costs."""

import os
from pathlib import Path

import pytest

from batches import (
    names,
    posix,
    record,
    refused,
    results,
    summary,
    tiff,
    without_privileges,
)
from equilabel.cli import main


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
        said = capsys.readouterr().out
        assert "in/a_labels.tif: left out, a label image whose table is beside it, 'a_table" in said


def test_results_alone_are_no_images(here, capsys):
    tiff("in/a_labels.tif")
    said = refused(capsys, "batch", "in", "--out", "out")
    assert "got 'in/a_labels.tif', named like a label image. Pass the file" in said


def test_a_pattern_that_matches_a_folder_means_the_images_in_it(here):
    tiff("in/p1/a.tif")
    Path("in/p2").mkdir()
    assert main(["batch", "in/*", "--out", "out"]) == 0
    assert names() == results("a")


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("~nosuchuser/x", "INPUT must exist; got '~nosuchuser/x'"),
        (f"{'a' * 300}.tif", "File name too long"),
        ("loop", "Too many levels of symbolic links"),
        ("loop/x.tif", "Too many levels of symbolic links"),
        ("closed", "folder must be readable; got 'closed': Permission denied"),
        ("listed", "got 'listed/x.tif', Permission denied"),
        ("closed/x.tif", "Permission denied"),
        ("closed/*.tif", "Permission denied"),
        ("in/*.png", "INPUT must match images"),
        ("secret.tif", "'Permission denied' for 'secret.tif'"),
        ("null\0.tif", "no name that a file can have"),
        ("in/a.tif/x.tif", "INPUT must exist"),
        (os.fsdecode(b"\xff.tif"), "INPUT must exist; got '\\udcff.tif'"),
    ],
)
@posix
def test_a_path_that_leads_nowhere_costs_one_line(here, capsys, word, complaint):
    tiff("in/a.tif")
    Path("loop").symlink_to("loop")
    for name, mode in (("closed", 0o000), ("listed", 0o444), ("secret.tif", 0o000)):
        tiff(name if "." in name else f"{name}/x.tif")
        Path(name).chmod(mode)
    with without_privileges():
        assert main(["batch", "in", word, "--out", "out"]) == 1
    said = capsys.readouterr()
    assert said.err == ""
    assert "2 images: 1 labeled, 1 failed" in said.out
    (row,) = [row for row in summary().values() if row["status"] == "failed"]
    assert complaint in row["error"]
    assert summary()["in/a.tif"]["status"] == "done"


@posix
def test_folders_and_files_below_that_cannot_be_read_cost_a_line_each(here):
    for name in ("in/a.tif", "in/closed/b.tif", "in/listed/c.tif", "in/listed/d.tif", "in/z/e.tif"):
        tiff(name)
    Path("in/closed").chmod(0)
    Path("in/listed").chmod(0o444)
    Path("in/z/round").symlink_to(here / "in")
    with without_privileges():
        assert main(["batch", "in", "-r", "--out", "out"]) == 1
    assert {name: row["status"] for name, row in summary().items()} == {
        "in/a.tif": "done",
        "in/closed": "failed",
        "in/listed/c.tif": "failed",
        "in/listed/d.tif": "failed",
        "in/z/e.tif": "done",
    }


@posix
def test_a_pattern_does_not_go_round_in_links(here):
    tiff("in/a.tif")
    Path("in/round").symlink_to(".")
    assert main(["batch", "in/**/*.tif", "--out", "out"]) == 0
    assert names() == results("a")


@posix
def test_a_deleted_working_directory_is_refused(here, capsys, monkeypatch):
    tiff("a.tif")
    Path("gone").mkdir()
    monkeypatch.chdir("gone")
    Path("../gone").rmdir()
    said = refused(capsys, "batch", str(here / "a.tif"), "--out", str(here / "out"))
    assert "working directory must exist" in said


def test_the_home_folder_may_be_written_short(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.setenv("USERPROFILE", str(here))
    tiff("in/a.tif")
    assert main(["batch", "~/in/*.tif", "--out", "~/out"]) == 0
    assert names() == results("a")


def test_a_file_named_like_a_result_is_taken_when_named_itself(here, capsys):
    tiff("in/a_labels.tif")
    tiff("in/b.tif")
    assert main(["batch", "in", "--out", "out"]) == 0
    said = "in/a_labels.tif: left out, named like a label image. Pass the file by its"
    assert said in capsys.readouterr().out
    assert main(["batch", "in", "in/a_labels.tif", "--out", "both"]) == 0
    assert names("both") == results("a_labels", "b")
    assert "skipped" not in capsys.readouterr().out


def test_an_image_of_ones_own_with_the_name_of_a_result_is_renamed_to_be_labeled(here, capsys):
    tiff("a_labels.tif")
    Path("a_table.csv").touch()
    assert "Rename it to label it too." in refused(capsys, "batch", "a_labels.tif", "--out", "out")
    Path("a_labels.tif").rename("a_numbers.tif")
    assert main(["batch", "a_numbers.tif", "--out", "out"]) == 0


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
        ([" "], "INPUT must be a path"),
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


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("batch s3://bucket/a.tif --out out", "INPUT"),
        ("batch a.tif --out s3://bucket/out", "--out"),
        ("batch a.tif --out gs://bucket/out --dry-run", "--out"),
        ("batch --from https://host/run.json --out out", "--from"),
        ("label s3:/bucket/a.zarr", "IMAGE"),
        ("relate a.tif --out s3://bucket/tables", "--out"),
        ("measure a.tif --image s3://bucket/a.zarr --out out", "--image"),
    ],
)
def test_a_url_is_refused_before_a_folder_of_its_name_is_made(here, capsys, words, name):
    tiff("a.tif")
    said = refused(capsys, *words.split())
    assert f"{name} must be a path on this machine, not a URL; got" in said
    assert [path.name for path in Path().iterdir()] == ["a.tif"]
