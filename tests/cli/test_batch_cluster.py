"""`equilabel batch --scheduler`: images on a Dask cluster whose workers are processes."""

import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from batches import picture, posix, record, summary, tiff
from clusters import cluster
from equilabel.cli import batch, main, one, workers
from equilabel.cli.options import Options, RefusedError
from equilabel.cli.records import Provenance, provenance

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, posix]

# Unpickled once, in a worker of Dask, it is what aborts the process that unpickles it next.
IN_ITS_PROCESS = """type("Fatal", (), {
    "__reduce__": lambda _: (__import__("os").abort, ()), "__str__": lambda _: "fatal.tif"})()"""
KILL = "__import__('os').kill(__import__('os').getpid(), 9)"


class Evaluated:
    """What is an expression's value where it is unpickled."""

    def __init__(self, expression):
        self.expression = expression

    def __reduce__(self):
        return eval, (self.expression,)

    def __str__(self):
        return "odd.tif"


@pytest.fixture(scope="module")
def address():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(5):
        tiff(f"in/{number}.tif", picture(objects=number % 3))
    Path("in/torn.tif").write_bytes(Path("in/1.tif").read_bytes()[:200])
    return tmp_path


def files(out):
    """Return all results of images and their table: not what holds times."""
    found = Path(out).rglob("*")
    return {
        path.relative_to(out): path.read_bytes()
        for path in found
        if path.is_file() and ("_" in str(path) or path.name == "objects.csv")
    }


@pytest.mark.parametrize(("form", "count"), [("tiff", 16), ("ome-zarr", 26)])
@pytest.mark.long
def test_results_are_those_of_this_machine_byte_for_byte_and_resumed(
    folder, address, capsys, form, count
):
    words = ["batch", "in", "--labels-format", form, "--out"]
    assert main([*words, "here"]) == 1  # one is torn
    assert main([*words, "there", "--scheduler", address]) == 1
    assert files("there") == files("here")
    assert len(files("here")) == count
    for name, row in summary("here").items():
        assert {**summary("there")[name], "seconds": ""} == {**row, "seconds": ""}
    assert "in/torn.tif" in capsys.readouterr().out
    assert not Path("there/.unfinished").exists()
    (
        Path("there", "2_labels.zarr/0/c/0/0") if form != "tiff" else Path("there/2_labels.tif")
    ).unlink()
    assert main([*words, "there", "--scheduler", address, "--resume"]) == 1
    found = [entry["status"] for entry in record("there")["files"]]
    assert found == ["skipped", "skipped", "done", "skipped", "skipped", "failed"]
    assert files("there") == files("here")


def label(folder, address, *paths, stop=lambda: False, options=None):
    (folder / "place").mkdir()
    jobs = [
        one.Job(path, f"name{number}", number=number, place=folder / f"place/{number}")
        for number, path in enumerate(paths)
    ]
    options = options or Options()
    run = workers.Run(options, provenance(options), Path.cwd(), folder / "place", 1)
    found = workers.label_on_cluster(jobs, run, address, stop=stop, begin=lambda: None)
    return {job.number: (job, answer) for job, answer in found}


@pytest.mark.long
def test_a_crash_costs_its_image_and_the_images_of_a_lost_worker_are_made_again(folder, address):
    good, flag = Path("in/1.tif"), str(folder / "flag")
    made = f"(__import__('os').path.exists({flag!r}) or open({flag!r}, 'w').close())"
    path = f"__import__('pathlib').Path({str(good)!r})"
    crash, lost = Evaluated(IN_ITS_PROCESS), Evaluated(f"{path} if {made} else {KILL} or {path}")
    found = label(folder, address, good, crash, lost, good)
    assert Path(flag).exists()
    assert [answer.status for _, (_, answer) in sorted(found.items())] == [
        *("done", "failed", "done", "done")
    ]
    assert found[1][1].attempts == ("SIGABRT", "SIGABRT")
    assert "It was tried twice" in found[1][1].error
    job, _ = found[2]
    assert (job.place / "name2_table.csv").exists()


def test_a_run_that_is_stopped_drops_what_is_not_done(folder, address):
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 1

    assert len(label(folder, address, *[Path("in/1.tif")] * 9, stop=stop)) < 9


@pytest.mark.long
def test_a_lost_scheduler_loses_no_image(folder, monkeypatch, capsys, caplog):
    import dask
    from distributed import Client

    assert main(["batch", "in", "--out", "here"]) == 1
    kept, keep = [], batch.Batch.keep
    monkeypatch.setattr("equilabel.chunked.engine.SOON", 2)
    words = ["batch", "in", "--out", "there"]
    soon = dask.config.set({"distributed.comm.timeouts.connect": "1s"})  # 30 s by default
    with cluster(folder, 2) as (address, (scheduler, *_)), soon:
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2)

        def kill(self, job, record):
            kept.append(record)
            if len(kept) == 2:
                scheduler.kill()
                scheduler.wait()
            return keep(self, job, record)

        monkeypatch.setattr(batch.Batch, "keep", kill)
        assert main([*words, "--scheduler", address]) == 1
    assert 2 <= len(kept) < 6
    warned = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert not [one for one in warned if one.name.startswith("distributed")]
    said = capsys.readouterr()
    message = " ".join(said.err.split())
    assert "--scheduler must stay reachable until all is written; got" in message
    assert "Start it again, and run again; with --resume, what is done is kept" in message
    assert "Traceback" not in message
    assert record("there")["status"] == "failed"
    finished = {entry["file"] for entry in record("there")["files"] if entry["status"] == "done"}
    assert finished == {one.file for one in kept if one.status == "done"}
    before = files("there")
    del before[Path("objects.csv")]  # of those that are done
    assert before.items() <= files("here").items()
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert main([*words, "--resume"]) == 1  # one is torn
    statuses = {entry["file"]: entry["status"] for entry in record("there")["files"]}
    assert {file for file, status in statuses.items() if status == "skipped"} == finished
    assert files("there") == files("here")
    assert not Path("there/.unfinished").exists()


@pytest.mark.long
def test_options_that_suit_no_image_are_refused(folder, address):
    with pytest.raises(RefusedError, match="sigma must be 0 or more"):
        label(folder, address, Path("in/1.tif"), options=Options({"sigma": -1.0}))


def test_machines_that_do_not_see_the_files_are_named(folder, address, monkeypatch, capsys):
    refuse = workers.refuse_cluster
    monkeypatch.setattr(
        workers,
        "refuse_cluster",
        lambda cluster, run, *given: refuse(cluster, replace(run, place=Path("elsewhere")), *given),
    )
    assert main(["batch", "in", "--out", "out", "--scheduler", address]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "workers of --scheduler must see images and --out under the same paths" in said
    assert "Use a folder that all machines share" in said
    assert not Path("out").exists()


def test_what_a_machine_lacks_is_said(folder, monkeypatch):
    options = Options()
    run = workers.Run(options, provenance(options), folder, folder, 1)
    assert workers.examine(run, Path("in/1.tif")) == ""
    assert "got no" in workers.examine(run, Path("in/9.tif"))
    assert "got no" in workers.examine(replace(run, place=folder / "no"), Path("in/1.tif"))
    other = Provenance(run.provenance.parameters, {**run.provenance.versions, "numpy": "1.0"})
    assert "where it was 1.0" in workers.examine(replace(run, provenance=other), Path("in/1.tif"))
    monkeypatch.setattr(workers, "os", SimpleNamespace(name="nt"))
    assert "got Windows" in workers.examine(run, Path("in/1.tif"))


def test_addresses_that_lead_nowhere_are_refused(folder, monkeypatch, capsys):
    monkeypatch.setattr("equilabel.chunked.engine.SOON", 0.3)
    for words, message in (
        (["threads"], "--scheduler must be an address such as tcp://host:8786; got 'threads'"),
        (["tcp://h:1", "--jobs", "2"], "--jobs and --scheduler must not be combined"),
        (["tcp://127.0.0.1:9"], "--scheduler must be the address of a Dask scheduler that runs"),
    ):
        assert main(["batch", "in", "--out", "out", "--scheduler", *words]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("out").exists()


def test_processes_end_with_the_machine_that_started_them(folder):
    options = Options()
    run = workers.Run(options, provenance(options), folder, folder, 1)
    code = (
        "import pickle, sys; from equilabel.cli import workers; "
        "run = pickle.loads(bytes.fromhex(sys.argv[1])); "
        "print(workers.Worker(run).process.pid, flush=True); input()"
    )
    words = [sys.executable, "-c", code, pickle.dumps(run).hex()]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as parent:
        number = int(parent.stdout.readline())
        os.kill(number, 0)
        parent.kill()
    while is_alive(number):  # ended by the time limit of all tests
        time.sleep(0.02)


def is_alive(number):
    """Return whether a process has not ended; whoever inherits it need not have asked how."""
    try:
        os.kill(number, 0)
        state = Path(f"/proc/{number}/stat")
        return not (state.exists() and state.read_text().split()[2] == "Z")
    except OSError:
        return False


@pytest.mark.long
def test_a_worker_that_comes_a_little_later_is_waited_for(folder, monkeypatch, capsys):
    with cluster(folder, 0) as (address, processes):
        with monkeypatch.context() as patch:
            patch.setattr("equilabel.chunked.engine.BEGUN", 0.2)
            assert main(["batch", "in/1.tif", "--out", "none", "--scheduler", address]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"--scheduler must have workers; got none at {address!r}" in said
        words = [address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", *words]
        late = threading.Timer(
            1, lambda: processes.append(subprocess.Popen(worker, stderr=subprocess.DEVNULL))
        )
        late.start()
        monkeypatch.setattr("equilabel.chunked.engine.BEGUN", 60)  # on a busy machine, too
        assert main(["batch", "in/1.tif", "--out", "some", "--scheduler", address]) == 0
    assert Path("some/1_table.csv").exists()


def test_every_way_in_which_dask_cancels_tasks_is_a_lost_scheduler(monkeypatch):
    import asyncio
    import concurrent.futures

    import distributed
    from distributed.client import FuturesCancelledError

    from equilabel.chunked import engine
    from equilabel.chunked.engine import Cluster

    client = SimpleNamespace(
        map=lambda _, packed, **__: packed,
        cancel=lambda *_, **__: None,
        as_current=contextlib.nullcontext,
        nthreads=lambda: {"a": 1},
    )
    kinds = asyncio.CancelledError(), concurrent.futures.CancelledError(), FuturesCancelledError([])
    for error in kinds:
        monkeypatch.setattr(distributed, "wait", Mock(side_effect=error))
        with pytest.raises(engine.LostSchedulerError, match="must stay reachable"):
            list(Cluster(client).outcomes(len, [("a",)], lambda: False))
        with pytest.raises(engine.LostSchedulerError, match="must stay reachable"):
            list(engine._on_cluster(client, len, [("a",)]))
