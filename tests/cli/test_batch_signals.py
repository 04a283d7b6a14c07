"""Ctrl-C and requests to terminate, at any moment."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from batches import SOURCE, label_here, names, posix, record, results, start, summary, tiff
from equilabel.cli import batch, main, streams

REQUESTS = [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGINT)]
BATCH = ("batch", "in", "--out", "out")


def interrupt(after):
    """Stand in for `label_all`: a request to end after some images."""

    def label_some(*words, **keywords):
        for number, found in enumerate(label_here(*words, **keywords)):
            if number == after:
                raise KeyboardInterrupt
            yield found

    return label_some


def test_an_interrupt_keeps_what_is_finished(here, monkeypatch, capsys):
    for name in "abc":
        tiff(f"in/{name}.tif")
    monkeypatch.setattr(batch, "label_all", interrupt(after=1))
    assert main(BATCH) == 130
    assert [row["status"] for row in summary().values()] == ["done", *["interrupted"] * 2]
    assert record()["status"] == "interrupted"
    assert names() == results("a")
    assert "1 labeled, 2 interrupted" in capsys.readouterr().out
    monkeypatch.setattr(batch, "label_all", label_here)
    assert main([*BATCH, "--resume"]) == 0
    assert [row["status"] for row in summary().values()] == ["skipped", "done", "done"]


def test_an_interrupt_before_the_first_result_leaves_nothing(here, monkeypatch, capsys):
    tiff("in/a.tif")
    monkeypatch.setattr(batch, "label_all", interrupt(after=0))
    assert main(BATCH) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert not Path("out").exists()


def test_an_interrupt_while_resuming_forgets_nothing(here, monkeypatch):
    for name in "abc":
        tiff(f"in/{name}.tif")
    assert main(BATCH) == 0
    Path("out/c_table.csv").write_text("another size")
    monkeypatch.setattr(batch, "label_all", interrupt(after=0))
    assert main([*BATCH, "--resume"]) == 130
    rows = summary().values()
    assert [row["status"] for row in rows] == ["skipped", "skipped", "interrupted"]
    monkeypatch.setattr(batch, "label_all", label_here)
    assert main([*BATCH, "--resume"]) == 0
    assert [row["status"] for row in summary().values()] == ["skipped", "skipped", "done"]


def test_an_error_of_the_program_itself_keeps_what_is_finished(here, monkeypatch, capsys):
    def label_some(*words, **keywords):
        yield next(label_here(*words, **keywords))
        print(1 // 0)

    for name in "ab":
        tiff(f"in/{name}.tif")
    monkeypatch.setattr(batch, "label_all", label_some)
    assert main(BATCH) == 1
    said = capsys.readouterr().err
    assert "ZeroDivisionError: integer division or modulo by zero. Please report this." in said
    assert said.count("\n") == 1
    assert [row["status"] for row in summary().values()] == ["done", "interrupted"]


@posix
@pytest.mark.parametrize("number", REQUESTS)
def test_a_request_to_end_before_work_is_one_line_and_its_code(here, monkeypatch, capsys, number):
    def request(*_, **__):
        os.kill(os.getpid(), number)
        time.sleep(5)

    tiff("a.tif")
    monkeypatch.setattr(batch, "find", request)
    assert main(["batch", "a.tif", "--out", "out"]) == 128 + number
    assert capsys.readouterr().err == "equilabel: interrupted; nothing was written.\n"


@posix
@pytest.mark.parametrize("number", REQUESTS)
def test_signals_are_heard_without_tearing_work(number):
    before = signal.getsignal(number)
    with streams.collecting() as heard:
        os.kill(os.getpid(), number)
        time.sleep(0.01)
        assert heard == [number]
    assert signal.getsignal(number) is before


@posix
def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with streams.collecting() as heard, streams.handling(streams.interrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        assert heard == []
    finally:
        signal.signal(signal.SIGINT, before)


# Imported first in a process: a signal arrives when a module of a certain name is looked for.
SITECUSTOMIZE = """
import os, sys
class Sender:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["WHEN"]:
            os.kill(os.getpid(), int(os.environ["SIGNAL"]))
sys.meta_path.insert(0, Sender())
"""


@posix
@pytest.mark.parametrize(
    ("module", "number"),
    [*zip(["typer", "numpy", "equilabel.cli.batch"], REQUESTS, strict=True)],
)
def test_ctrl_c_while_the_program_starts_is_one_line(tmp_path, module, number):
    (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE)
    tiff(tmp_path / "a.tif")
    done = subprocess.run(
        [sys.executable, "-m", "equilabel", "batch", "a.tif", "--out", "out"],
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE}",
            "WHEN": module,
            "SIGNAL": str(int(number)),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 128 + number
    assert done.stdout == ""
    assert done.stderr.startswith("equilabel: interrupted")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.long
def test_a_request_to_all_processes_ends_the_run_in_order(tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    for index in range(100):
        tiff(f"in/{index:03}.tif")
    program = start(*BATCH, "--jobs", "2")
    assert "100 images" in program.stdout.readline()
    program.stdout.readline()  # the first result
    os.killpg(program.pid, number)  # as a terminal or a job scheduler does: workers hear it too
    _, error = program.communicate(timeout=20)
    assert (program.returncode, error) == (128 + number, "")
    statuses = [row["status"] for row in summary().values()]
    assert len(statuses) == 100
    assert set(statuses) == {"done", "interrupted"}
    done = [Path(name).stem for name, row in summary().items() if row["status"] == "done"]
    assert names() == results(*done)
