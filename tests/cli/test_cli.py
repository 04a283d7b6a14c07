"""What the command line shows, and where to."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from batches import SOURCE, names, posix, results, sizes, tiff
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
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    main(["batch", "in", "--out", "out"])
    shown, bar = capsys.readouterr()
    assert "2/2" in bar
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


@pytest.mark.parametrize("code", [0, 1, 2, 129, 130, 143])
def test_exit_codes_are_told_in_the_help_and_on_the_page(capsys, code):
    assert main(["batch", "--help"]) == 0
    assert re.search(rf"\b{code}\b", capsys.readouterr().out.partition("Exit codes:")[2])
    page = (SOURCE.parent / "docs" / "batch.md").read_text(encoding="utf-8")
    assert f"\n| {code} | " in page.partition("## Exit codes")[2]


def test_the_version_is_told(capsys):
    from equilabel import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"equilabel {__version__}\n"


def test_devices_are_told_with_reasons(capsys):
    from equilabel import devices
    from equilabel.cli.streams import name_options

    assert main(["devices"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for report in devices():
        assert report.name in said
        assert name_options(report.reason) in said


@posix
def test_a_report_names_versions_devices_and_folders_but_not_the_user(capsys, monkeypatch):
    from equilabel import __version__, devices
    from equilabel.devices.compiling import folders

    monkeypatch.setenv("HOME", str(folders()[0].parents[1]))
    assert main(["devices", "--report"]) == 0
    said = capsys.readouterr().out
    told = dict(line.split(": ", 1) for line in said.splitlines())
    assert told["equilabel"] == __version__
    assert told.keys() >= {"python", "system", "numpy", "numba", *(each.name for each in devices())}
    assert "~" in told["compiled code"]
    assert os.environ["HOME"] not in said


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from equilabel.cli import main; main(['--help']);"
        "heavy = {'numba', 'pandas', 'skimage', 'scipy', 'tifffile', 'PIL', 'cupy', 'pyarrow'};"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.stderr == b""


def test_one_image_loads_no_rooms_that_it_does_not_need(here):
    tiff("a.tif")
    code = (
        "import sys; from equilabel.cli import main; main(['segment', 'a.tif']);"
        "idle = {'chunked', 'labeling.graphs', 'domains.graph', 'domains.bonds',"
        " 'measuring.neighbors', 'segmentation.morphology', 'cli.batch', 'cli.workers'};"
        "found = {each for each in idle if f'equilabel.{each}' in sys.modules};"
        "sys.exit(str(found) if found else 0)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert done.returncode == 0


# ------------------------------------------------------------------------------ standard streams


@posix
@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        (">/dev/full", 1, "equilabel: standard output must take text; got 'No space left on"),
        (">&-", 0, ""),
        (">&- 2>&- <&-", 0, ""),
        ("| head -c 0", 1, ""),
    ],
)
def test_help_that_cannot_be_shown_is_no_traceback(tmp_path, how, code, said):
    if "full" in how and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    command = f"'{sys.executable}' -m equilabel --help {how}; exit ${{PIPESTATUS[0]}}"
    done = run_shell(command, tmp_path)
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == bool(said)
    assert done.returncode == code


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.long
def test_a_run_goes_on_where_its_output_is_full_or_closed(tmp_path):
    tiff(tmp_path / "a.tif")
    batch = f"'{sys.executable}' -m equilabel batch a.tif --out"
    done = run_shell(f"{batch} one >/dev/full && {batch} two >&- 2>&- <&-", tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "standard output takes no more text: No space left on device" in done.stderr
    assert names(tmp_path / "one") == names(tmp_path / "two") == results("a")


def run_shell(command, folder):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        ["bash", "-c", command], env=environment, cwd=folder, capture_output=True, text=True
    )


def test_a_bar_on_a_terminal_that_has_gone_ends_no_run(here, monkeypatch):
    class Terminal(io.StringIO):
        def write(self, _):
            raise OSError(5, "Input/output error")

        isatty = lambda self: True  # noqa: E731

    for name in "abc":
        tiff(f"in/{name}.tif")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert main(["batch", "in", "--out", "out"]) == 0
    sys.stdout.close()
    sys.stderr.close()
    assert names() == results(*"abc")


def test_standard_streams_that_were_closed_are_opened_again():
    code = (
        "import os; [os.close(n) for n in range(3)]; from equilabel.cli.streams import *;"
        "open_standard(); fd = os.open('/dev/null', 0); os._exit(0 if fd == 3 else 1)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    assert subprocess.run([sys.executable, "-c", code], env=environment).returncode == 0


def test_a_mistake_of_ours_is_one_line(monkeypatch, capsys):
    def fail(*_, **__):
        return {}["x"]

    monkeypatch.setattr("equilabel.cli.batch.run", fail)
    assert main(["batch", "a.tif", "--out", "out"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("equilabel: KeyError: 'x'. Please report this. (test_cli.py, line ")
    assert said.count("\n") == 1


def test_the_module_ends_with_the_exit_code(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "equilabel", "batch", "none.tif", "--out", "out"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True)
    assert done.returncode == 2
