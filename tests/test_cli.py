"""What the command line shows, and where to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from batches import SOURCE, names, results, sizes, tiff
from equilabel.cli import main


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
