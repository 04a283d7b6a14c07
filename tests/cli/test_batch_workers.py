"""Worker processes: every way they can end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import light_worker
from batches import SOURCE, names, picture, posix, results, start, summary, tiff
from equilabel.cli import batch, main, one, workers
from equilabel.cli.options import Options, RefusedError
from equilabel.cli.records import provenance

pytestmark = pytest.mark.slow
NO_MEMORY = "(_ for _ in ()).throw(MemoryError)"
KILL = "__import__('os').kill(__import__('os').getpid(), {})"


class Fatal:
    """What does something to the worker that receives it: a call, or an expression."""

    def __init__(self, call, *words):
        self.call, self.words = call, words

    def __reduce__(self):
        return self.call, self.words

    def __str__(self):
        return "fatal.tif"


def once(flag, expression, otherwise):
    """Do something in the worker that receives it first; another one gets what is meant."""
    return Fatal(eval, f"{expression} if not {made(flag)} else {otherwise}")


def made(flag):
    return f"(__import__('os').path.exists({str(flag)!r}) or open({str(flag)!r}, 'w').close())"


def path(file):
    return f"__import__('pathlib').Path({str(file)!r})"


def label_with(tmp_path, *paths, count=1, limit=None, options=None, stop=lambda: False):
    (tmp_path / "place").mkdir()
    jobs = [
        one.Job(path, f"name{number}", number=number, place=tmp_path / f"place/{number}")
        for number, path in enumerate(paths)
    ]
    given = options or Options(), provenance(Options()), Path.cwd(), tmp_path / "place"
    run = workers.Run(*given, count, limit)
    found = workers.label_all(jobs, run, stop=stop, begin=lambda: None)
    return {job.number: answer for job, answer in found}


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(workers, "PAUSE", 0)


@pytest.fixture
def light(tmp_path, monkeypatch):
    """Work without images; returns a function that gives workers paths to label."""
    monkeypatch.setattr(workers, "serve", light_worker.serve)
    return lambda *paths, **keywords: label_with(tmp_path, *paths, **keywords)


# ----------------------------------------------------------------------------- at an image


@posix
def test_a_worker_that_dies_costs_its_image_alone(light):
    found = light("a.tif", Fatal(os.abort), "a.tif")
    assert [found[number].status for number in range(3)] == ["done", "failed", "done"]
    assert "got SIGABRT" in found[1].error
    assert found[1].attempts == ("SIGABRT", "SIGABRT")
    assert found[0].attempts == ()


@posix
@pytest.mark.long
def test_every_end_of_a_worker_has_its_name(light):
    ends = {
        "exit code 3": Fatal(os._exit, 3),
        "SIGKILL": Fatal(eval, KILL.format(9)),
        "SIGSEGV": Fatal(eval, KILL.format(11)),
        f"signal {signal.SIGRTMIN + 1}": Fatal(eval, KILL.format(signal.SIGRTMIN + 1)),
        "out of memory": Fatal(eval, NO_MEMORY),
    }
    found = light(*ends.values(), count=2)
    assert [found[number].attempts for number in range(5)] == [(end, end) for end in ends]
    for record in found.values():
        assert f"got {record.attempts[0]}" in record.error
        assert "tried twice" in record.error
    assert "must fit in memory" in found[1].error
    assert "must fit in memory" in found[4].error


@posix
@pytest.mark.parametrize(
    "expression", [KILL.format(9), pytest.param(NO_MEMORY, marks=pytest.mark.long)]
)
def test_an_image_is_tried_again_alone(light, tmp_path, expression):
    fatal = once(tmp_path / "flag", expression, path("a.tif"))
    found = light(fatal, "a.tif", "a.tif", count=2)
    assert [found[number].status for number in range(3)] == ["done"] * 3
    assert list(found)[-1] == 0  # last, when nothing else was going on
    assert len(found[0].attempts) == 1


def test_an_image_that_takes_too_long_is_given_up(light):
    (found,) = light(Fatal(time.sleep, 60), limit=0.5).values()
    assert found.status == "failed"
    assert "--time-limit; got 0.5 s" in found.error
    assert found.attempts == ("time limit",)  # it was alone already


@posix
@pytest.mark.parametrize("fatal", [Fatal(os.abort), Fatal(time.sleep, 60)])
@pytest.mark.long
def test_a_worker_that_ends_does_not_take_the_image_after_it_along(light, fatal):
    files = ["a.tif"] * 14
    files[4] = fatal
    found = light(*files, count=2, limit=1)
    assert sorted(found) == list(range(14))
    statuses = [found[number].status for number in range(14)]
    assert statuses == ["done"] * 4 + ["failed"] + ["done"] * 9
    assert all(found[number].attempts == () for number in found if number != 4)


@posix
def test_signals_to_end_are_left_to_the_parent(light):
    both = f"({KILL.format(15)}, {KILL.format(2)}, {KILL.format(1)}, {path('a.tif')})[3]"
    (found,) = light(Fatal(eval, both)).values()
    assert (found.status, found.attempts) == ("done", ())


# ---------------------------------------------------------------------------- at the start


@posix
def test_a_worker_that_dies_while_starting_is_started_again(light, tmp_path):
    options = once(tmp_path / "flag", KILL.format(9), "{}")  # the light worker looks at none
    found = light("a.tif", "a.tif", options=options)
    assert [record.status for record in found.values()] == ["done", "done"]
    assert [record.attempts for record in found.values()] == [(), ()]


@posix
def test_signals_that_are_heard_while_starting_are_left_to_the_parent(light):
    options = Fatal(eval, f"({KILL.format(15)}, {KILL.format(2)}, {KILL.format(1)}, {{}})[3]")
    (found,) = light("a.tif", options=options).values()
    assert (found.status, found.attempts) == ("done", ())


@posix
@pytest.mark.long
def test_workers_that_never_start_are_told_before_work(light):
    with pytest.raises(
        RefusedError, match=r"must start; got 3 failures, the last: exit code 3 of a process"
    ):
        light("a.tif", "b.tif", options=Fatal(os._exit, 3))


def test_a_worker_that_hangs_while_starting_is_not_waited_for_for_ever(light, monkeypatch):
    monkeypatch.setattr(workers, "START", 0.3)
    monkeypatch.setattr(workers, "STARTS", 1)
    with pytest.raises(
        RefusedError, match=r"got 1 failures, the last: no answer in 0.3 s of a process that"
    ):
        light("a.tif", options=Fatal(time.sleep, 60))


@posix
def test_a_worker_that_cannot_be_replaced_costs_images_not_the_summary(light, monkeypatch):
    def refuse(*_):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    fatal = Fatal(os._exit, 3)
    real = workers.Worker
    monkeypatch.setattr(
        workers,
        "Worker",
        lambda *words: (monkeypatch.setattr(workers, "Worker", refuse), real(*words))[1],
    )
    found = light("a.tif", fatal, "a.tif")
    assert [found[number].status for number in range(3)] == ["done", "failed", "failed"]
    assert found[1].attempts == ("exit code 3", "not started")
    assert found[2].attempts == ("not started",)
    assert "worker processes must start; got 3 failures" in found[2].error


def test_the_others_go_on_where_one_worker_cannot_start(light, monkeypatch):
    def start(*words):
        if started:
            raise OSError(24, "Too many open files")
        started.append(words)
        return real(*words)

    started, real = [], workers.Worker
    monkeypatch.setattr(workers, "Worker", start)
    found = light(*["a.tif"] * 8, count=3)
    assert [record.status for record in found.values()] == ["done"] * 8


def test_workers_refuse_bad_options_before_work(here, monkeypatch, capsys):
    monkeypatch.setattr(batch, "label_all", workers.label_all)
    tiff("a.tif")
    words = ["batch", "a.tif", "missing.tif", "a_labels.tif", "--out", "out"]
    Path("a_labels.tif").touch()
    Path("a_table.csv").touch()
    assert main([*words, "--method", "magic"]) == 2
    said = capsys.readouterr()
    assert "--method must be" in said.err
    assert said.out == ""  # no heading, nor what is left out
    assert not Path("out").exists()


# ------------------------------------------------------------------------------- together


def test_several_workers_give_what_one_gives(here, monkeypatch):
    monkeypatch.setattr(batch, "label_all", workers.label_all)
    for number in range(4):
        tiff(f"in/{number}.tif", picture(objects=number % 3 + 1))
    assert main(["batch", "in", "--out", "out", "--jobs", "2"]) == 0
    assert [row["objects"] for row in summary().values()] == ["1", "2", "3", "1"]
    assert names() == results(*"0123")


ORPHAN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_batch_workers import Fatal, label_with
label_with(Path(sys.argv[2]), Fatal(eval, sys.argv[3]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.long
def test_a_worker_does_not_outlive_its_parent(tmp_path):
    flag = tmp_path / "pid"
    busy = f"(open({str(flag)!r}, 'w').write(str(__import__('os').getpid())), {NAP})"
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(Path(__file__).parent), str(tmp_path), busy],
        env={**os.environ, "PYTHONPATH": f"{SOURCE}:{Path(__file__).parents[1]}"},
    )
    assert waited(lambda: flag.exists() and flag.read_text())
    child = Path("/proc", flag.read_text())
    assert child.exists()
    parent.kill()
    parent.wait()
    assert waited(lambda: not child.exists() or "(zombie)" in (child / "status").read_text())


NAP = "__import__('time').sleep(60)"


def waited(condition, seconds=30):
    """Wait until something holds; tell whether it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


@posix
@pytest.mark.long
def test_few_files_may_be_open(tmp_path, monkeypatch):
    import resource

    monkeypatch.chdir(tmp_path)
    for number in range(3):
        tiff(f"in/{number}.tif")
    program = start(
        *("batch", "in", "--out", "out", "--jobs", "4"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)),
    )
    said, error = program.communicate(timeout=60)
    assert "Traceback" not in said + error
    assert program.returncode in (0, 2), said + error


def test_a_second_attempt_is_told(tmp_path):
    options = Options()
    (tmp_path / "place").mkdir()
    place = tmp_path / "place/0-again"
    job = one.Job(tiff(tmp_path / "a.tif"), "a", number=0, place=place, attempts=("SIGKILL",))
    found = one.label_one(job, options, provenance(options))
    assert found.notes == ("A first attempt ended with SIGKILL; the second, alone, succeeded.",)
    assert found.attempts == ("SIGKILL",)
    assert '"SIGKILL"' in (place / "record.json").read_text(encoding="utf-8")


def test_the_causes_of_an_end_are_told_apart():
    said = {
        workers.explain_end(how, 5) for how in (workers.TIME, "out of memory", "SIGKILL", "SIGBUS")
    }
    assert len(said) == 4


@posix
def test_semaphores_of_killed_workers_are_removed_without_a_word(tmp_path):
    code = (
        "from multiprocessing import resource_tracker\n"
        "from equilabel.cli import workers\n"
        "workers._start_tracker()\n"
        "resource_tracker.register('/equilabel-test-none', 'semaphore')\n"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stderr) == (0, "")


def test_windows_starts_workers_without_a_process_for_semaphores(monkeypatch):
    def fail():
        raise ModuleNotFoundError("_posixsubprocess")  # noqa: EM101 - as Python on Windows

    monkeypatch.setattr(workers.resource_tracker, "ensure_running", fail)
    monkeypatch.setattr(workers, "os", SimpleNamespace(name="nt"))
    workers._start_tracker()
