"""Results get their names in threads, after they have reached the disk."""

import errno
import os
from pathlib import Path
from threading import Barrier

import pytest

from batches import label_here, names, results, summary, tiff
from equilabel.cli import batch, folder, main
from equilabel.storage.files import flush_tree, replacing, without_flushing

BATCH = ("batch", "in", "--out", "out")


def test_as_many_images_are_kept_at_once_as_there_are_jobs(here, monkeypatch):
    for name in "abcdef":
        tiff(f"in/{name}.tif")
    together, keep = Barrier(3, timeout=60), batch.Batch.keep

    def wait(self, job, record):
        together.wait()  # raises if there are fewer
        return keep(self, job, record)

    monkeypatch.setattr(batch.Batch, "keep", wait)
    assert main([*BATCH, "--jobs", "3"]) == 0
    assert [row["status"] for row in summary().values()] == ["done"] * 6


def test_an_error_while_an_image_is_kept_ends_the_run_with_its_message(here, monkeypatch, capsys):
    for name in "abc":
        tiff(f"in/{name}.tif")

    def fail(*_):
        message = "no more"
        raise RuntimeError(message)

    monkeypatch.setattr(batch.Batch, "keep", fail)
    assert main(BATCH) == 1
    assert "no more" in capsys.readouterr().err
    assert {row["status"] for row in summary().values()} == {"interrupted"}


def test_results_reach_the_disk_before_they_get_their_names(here, monkeypatch):
    tiff("in/a.tif")
    monkeypatch.setattr(batch, "label_all", label_here)
    flushed, fsync = [], os.fsync

    def watch(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}")
        if path.exists():
            flushed.append(path.readlink().name)
            present = {file.name for file in Path("out").glob("a_*")}
            assert flushed[-1] not in present
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    assert main(BATCH) == 0
    if Path("/proc/self/fd").exists():
        assert {"a_labels.tif", "a_table.csv", "a_overlay.png"} <= set(flushed)


def test_results_that_do_not_reach_the_disk_fail_by_themselves(here, monkeypatch):
    for name in "abc":
        tiff(f"in/{name}.tif")
    monkeypatch.setattr(batch, "label_all", label_here)
    flush = folder.flush_file

    def fail(path):
        if path.name == "b_table.csv":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        flush(path)

    monkeypatch.setattr(folder, "flush_file", fail)
    assert main(BATCH) == 1
    assert names() == results("a", "c")
    assert [row["status"] for row in summary().values()] == ["done", "failed", "done"]
    assert os.strerror(errno.EIO) in summary()["in/b.tif"]["error"]


def test_files_of_an_unfinished_folder_are_not_flushed_one_by_one(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    with without_flushing():
        with replacing(tmp_path / "a") as file:
            file.write_text("b")
        flush_tree(tmp_path)
        assert not flushed
    flush_tree(tmp_path)
    assert len(flushed) == 2  # the file and its folder
    with pytest.raises(ValueError, match="told"):
        fail_in(tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    with replacing(tmp_path / "a"):
        assert len(list(tmp_path.iterdir())) == 2  # names are final again


def fail_in(path):
    with without_flushing(), replacing(path) as file:
        file.write_text("d")
        message = "told"
        raise ValueError(message)
