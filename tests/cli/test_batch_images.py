"""Images that cannot be labeled cost a row each, and never the run."""

import io
import os
import sys
from pathlib import Path

import pytest

from batches import names, posix, record, results, summary, tiff
from equilabel import segment
from equilabel.cli import main, one
from equilabel.cli.options import Options
from equilabel.cli.records import provenance
from equilabel.storage.tiff import read_tiff


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
    assert names() == ["report.html", "run.json", "summary.csv"]


def test_a_failure_gives_its_room_back_at_once(here, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("equilabel.storage.tiff.write_labels", fail)
    job = one.Job(tiff("a.tif"), "a", number=0, place=here / "place")
    assert one.label_one(job, Options(), provenance(Options())).status == "failed"
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
        (OSError(12, "Cannot allocate memory"), "must fit in memory; got Cannot allocate memory"),
        (ImportError("libX.so: failed to map segment"), "must fit in memory; got libX.so: failed"),
        (OSError(24, "Too many open files"), "Raise the limit with `ulimit -n`"),
        (OSError(36, "File name too long", "f"), "'File name too long' for 'f'. Shorten the name."),
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


def test_memory_that_runs_out_is_told_whatever_a_library_makes_of_it(here, monkeypatch):
    def fail(*_, **__):
        try:
            raise MemoryError
        except MemoryError:
            int("no number")

    tiff("a.tif")
    monkeypatch.setattr("equilabel.storage.tiff.read_tiff", fail)
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    assert "must fit in memory; got no more of it" in summary()["a.tif"]["error"]
    assert record()["files"][0]["attempts"] == ["out of memory"]


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
    assert len(names()) == 7


def test_a_terminal_that_knows_only_ascii_ends_no_run(here, monkeypatch):
    tiff("in/µm.tif")
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["batch", "in", "--out", "out"]) == 0
    assert b"\\xb5m.tif: 2 objects" in terminal.buffer.getvalue()


def test_cells_of_the_summary_are_no_formulas(here):
    for name in ("=1+1.tif", "a;=1+1;.tif", "b|＝1.tif"):  # noqa: RUF001 - fullwidth is meant
        tiff(name)
    assert main(["batch", "*.tif", "--out", "out"]) == 0
    assert set(summary()) == {"'=1+1.tif", "a;'=1+1;.tif", "b|'＝1.tif"}  # noqa: RUF001
