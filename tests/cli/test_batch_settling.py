"""Results get their names in threads, after they have reached the disk."""

import errno
import os
from pathlib import Path
from threading import Barrier, Event

import pytest

from batches import label_here, names, results, summary, tiff
from equilabel.cli import batch, folder, main
from equilabel.cli.workers import settling
from equilabel.storage.files import passing_names, replacing

BATCH = ("batch", "in", "--out", "out")


def identity(_, record):
    return record


def test_records_are_shown_in_their_order_where_there_is_one_thread():
    shown = []
    with settling(identity, shown.append, 1) as add:
        for number in range(50):
            add(None, number)
    assert shown == list(range(50))


def test_as_many_images_are_kept_at_once_as_there_are_threads():
    together = Barrier(3, timeout=60)

    def keep(_, record):
        together.wait()  # raises if there are fewer
        return record

    shown = []
    with settling(keep, shown.append, 3) as add:
        for number in range(6):
            add(None, number)
    assert sorted(shown) == list(range(6))


def test_no_more_images_wait_to_be_kept_than_there_are_threads():
    go, kept = Event(), []

    def keep(_, record):
        go.wait(60)
        kept.append(record)
        return record

    with settling(keep, lambda _: None, 2) as add:
        add(None, 0)
        add(None, 1)
        assert not kept
        go.set()
        add(None, 2)  # waits for the first
        assert 0 in kept


def add_to(settled, times):
    with settled as add:
        for number in range(times):
            add(None, number)


@pytest.mark.parametrize(("times", "threads"), [(1, 2), (2, 1)])
def test_what_a_thread_raises_reaches_the_caller(times, threads):
    def fail(_, record):
        raise RuntimeError(record)

    with pytest.raises(RuntimeError, match="0"):
        add_to(settling(fail, print, threads), times)


def test_an_error_of_the_caller_comes_first_and_what_was_added_is_kept():
    kept = []

    def fail_afterwards():
        with settling(lambda _, record: kept.append(record), lambda _: None, 2) as add:
            add(None, 0)
            raise KeyError

    with pytest.raises(KeyError):
        fail_afterwards()
    assert kept == [0]


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


def test_files_with_passing_names_are_written_once_and_flushed_on_demand(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    for flush, count in ((True, 1), (False, 1)):
        with passing_names(flush=flush), replacing(tmp_path / "a") as file:
            assert file == tmp_path / "a"
            file.write_text("b")
        assert len(flushed) == count
    with pytest.raises(ValueError, match="told"):
        fail_in(tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    with replacing(tmp_path / "a"):
        assert len(list(tmp_path.iterdir())) == 2  # names are final again


def fail_in(path):
    with passing_names(), replacing(path) as file:
        file.write_text("d")
        message = "told"
        raise ValueError(message)
