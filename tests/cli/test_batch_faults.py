"""Faults of disks, names, metadata and clocks: none costs a result, none runs anything."""

import csv
import os
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from batches import label_here, names, picture, posix, record, refused, summary, tiff
from equilabel.cli import batch, main

OME = (
    '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0" Name="{}">'
    '<Pixels DimensionOrder="XYZCT" ID="Pixels:0" SizeC="1" SizeT="1" SizeX="32" SizeY="24" '
    'SizeZ="1" Type="uint8"><TiffData/></Pixels></Image></OME>'
)
LAUGHS = "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12))


@pytest.fixture
def small_disk(here):
    """Mount a disk of 40 kB at `out`, and return a function that changes its options."""
    Path("out").mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", "out"]
    root = os.name == "posix" and os.geteuid() == 0
    if not root or subprocess.run(mounting, capture_output=True).returncode:
        pytest.skip("only root may mount a disk")
    yield lambda options: subprocess.run(["mount", "-o", f"remount,{options}", "out"], check=True)
    subprocess.run(["umount", "--lazy", "out"], check=True)


def make_images():
    for name in "abcdef":
        tiff(f"in/{name}.tif", picture((200, 200), objects=5))


def contents(folder):
    return {name: Path(folder, name).read_bytes() for name in names(folder) if name[1] == "_"}


@pytest.mark.parametrize("form", ["tiff", "ome-zarr"])
def test_a_run_whose_disk_is_full_ends_after_resume_as_one_that_had_room(small_disk, capsys, form):
    make_images()
    words = ["batch", "in", "--no-overlay", "--labels-format", form, "--out"]
    assert main([*words, "quiet"]) == 0
    words.append("out")
    assert main(words) == 1
    assert "disk of --out must have room" in capsys.readouterr().out
    whole = contents("quiet")
    found = contents("out")
    assert 0 < len(found) < len(whole)
    assert found.items() <= whole.items()  # what has its name is complete
    small_disk("size=20m")
    assert main([*words, "--resume"]) == 0
    assert contents("out") == whole


def test_a_disk_that_can_only_be_read_is_refused(small_disk, capsys):
    make_images()
    small_disk("ro")
    assert "Read-only file system" in refused(capsys, "batch", "in", "--out", "out")


def test_no_cell_of_any_table_is_a_formula(here):
    for name in ("=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"):
        tiff(f"{name}.tif".replace("/", "\\"))
    assert main(["batch", "*.tif", "--out", "out"]) == 0
    for table in ("summary.csv", "objects.csv"):
        with Path("out", table).open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert sum(cell[:2] in ("'=", "'+", "'-", "'@") for cell in cells) >= 5
        assert [cell for cell in cells if cell[:1] in tuple("=+-@")] == []


ODD = (
    "two words",
    "zellkerne µm é 細胞",
    "-rf",
    "--out",
    "'a' \"b\"",
    "$(x) %s {0}",
    "<b>&amp;",
    "~",
)


@posix
@pytest.mark.parametrize("inputs", [["../in"], ["--", *(f"{name}.tif" for name in ODD)]])
def test_names_that_a_shell_a_page_or_an_option_could_misread(here, monkeypatch, inputs):
    for name in ODD:
        tiff(f"in/{name}.tif")
    monkeypatch.chdir("in")
    words = ["--no-overlay", "--out", "../out", *inputs]
    for more, status in ([], "done"), (["--resume"], "skipped"):
        assert main(["batch", *more, *words]) == 0
        assert [row["status"] for row in summary("../out").values()] == [status] * len(ODD)
    for name in ODD:
        assert {f"{name}_labels.tif", f"{name}_table.csv"} <= set(names("../out"))
    page = Path("../out/report.html").read_text("utf-8")
    assert "&lt;b&gt;&amp;amp;" in page
    assert "<b>&amp;" not in page


@posix
def test_escape_sequences_of_names_and_metadata_reach_neither_terminal_nor_tables(here, capsys):
    tiff("in/\x1b[2Jcleared.tif")
    Path("in/\x1b]0;title\x07.tif").write_bytes(b"\x1b[31m is no image")
    tiff("in/unit.tif", description=b"ImageJ=1.53\nunit=\x1b[31mred\n", metadata=None)
    channel = OME.format("x").replace(
        "<TiffData/>", '<Channel ID="c" Name="&#x9b;31m"/><TiffData/>'
    )
    tiff("in/channel.tif", description=channel, metadata=None)
    assert main(["batch", "in", "--out", "out"]) == 1
    assert main(["batch", "in", "--out", "out", "--channel", "none", "--overwrite"]) == 1
    said = capsys.readouterr()
    written = "".join(Path("out", n).read_text("utf-8") for n in ("summary.csv", "report.html"))
    assert set(map(ord, said.out + said.err + written)) & {*range(32), *range(127, 160)} <= {10, 13}
    assert r"in/\x1b[2Jcleared.tif" in said.out


@pytest.mark.parametrize(
    "description",
    [
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{LAUGHS}]>' + OME.format("&a11;"),
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "{"x" * 10**5}">]>'
        + OME.format("&a;" * 10**4),
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
        + OME.format("&a;"),
        OME[: OME.index("<Image")] + "<a>" * 10**5 + "</a>" * 10**5 + "</OME>",
        '{"shape": [24, 32], "x": ' + "[" * 10**5 + "]" * 10**5 + "}",
        '{"shape": [24, 32], "x": ' + "9" * 10**5 + "}",
        '{"shape": [24, 32, 1000000000000]}',
        "ImageJ=1.53\nimages=99999999999\n",
    ],
    ids=["laughs", "quadratic", "external", "deep XML", "deep JSON", "digits", "shape", "images"],
)
def test_bombs_in_metadata_are_refused_at_once(here, description):
    tiff("a.tif", description=description, metadata=None)
    begun = time.monotonic()
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    assert time.monotonic() - begun < 5
    assert summary()["a.tif"]["error"].startswith("image file must ")
    assert len(summary()["a.tif"]["error"]) < 600


@posix
@pytest.mark.parametrize("words", [["in"], ["in/**/*.tif"]])
def test_images_behind_links_that_go_round_are_labeled_once(here, words):
    tiff("in/a.tif")
    tiff("in/deep/b.tif")
    Path("in/deep/up").symlink_to("..")
    Path("in/itself").symlink_to("itself")
    assert main(["batch", *words, "--recursive", "--out", "out"]) == 0
    assert len(summary()) == 2


def test_a_file_that_vanishes_before_it_is_read_costs_its_row(here, monkeypatch):
    def label_without_b(jobs, *arguments, **keywords):
        Path("in/b.tif").unlink()
        return label_here(jobs, *arguments, **keywords)

    make_images()
    monkeypatch.setattr(batch, "label_all", label_without_b)
    assert main(["batch", "in", "--no-overlay", "--out", "out"]) == 1
    failed = [row for row in summary().values() if row["status"] == "failed"]
    assert len(summary()) == 6
    assert [row["file"] for row in failed] == ["in/b.tif"]
    assert "No such file" in failed[0]["error"]


def test_a_clock_that_jumps_changes_no_result_and_no_record(here, monkeypatch):
    class Jumping(datetime):
        @classmethod
        def now(cls, tz=None):
            jumps.append(-jumps[-1] * 3)
            return datetime(2026, 3, 29, tzinfo=tz) + timedelta(hours=jumps[-1])

    jumps = [1]
    make_images()
    assert main(["batch", "in", "--no-overlay", "--out", "quiet"]) == 0
    monkeypatch.setattr(batch, "datetime", Jumping)
    monkeypatch.setattr(time, "time", lambda: 1e9 + 1e6 * len(jumps) * (-1) ** len(jumps))
    os.utime("in/a.tif", (2**33, 2**33))
    assert main(["batch", "in", "--no-overlay", "--out", "out"]) == 0
    assert record()["begun"] > record()["ended"]
    assert record()["seconds"] >= 0
    assert contents("out") == contents("quiet")
    os.utime("in/a.tif", (1, 1))
    assert main(["batch", "in", "--no-overlay", "--out", "out", "--resume"]) == 0
    assert {row["status"] for row in summary().values()} == {"skipped"}


def test_results_that_cannot_be_written_count_for_nothing(here):
    name = "a" * 245
    tiff(f"{name}.tif")
    tiff("b.tif")
    assert main(["batch", f"{name}.tif", "b.tif", "--out", "out"]) == 1
    row = summary()[f"{name}.tif"]
    assert (row["status"], row["objects"], row["area_mean"]) == ("failed", "", "")
    assert "File name too long" in row["error"]
    assert record()["files"][0]["objects"] is None


def test_results_that_cannot_be_moved_count_for_nothing(here, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    tiff("a.tif")
    monkeypatch.setattr(batch.folder, "settle", full)
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    row = summary()["a.tif"]
    assert (row["status"], row["objects"], row.get("area_mean")) == ("failed", "", None)
