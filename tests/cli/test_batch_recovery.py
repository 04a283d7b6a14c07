"""What has its name when a run is killed is kept, and the next run ends with the same bytes."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from batches import SOURCE, label_here, names, picture, posix, summary, tiff
from equilabel.cli import batch, folder, main

BATCH = ("batch", "in", "--out", "out")
ZARR = ("--labels-format", "ome-zarr")
MOVES = (0, 1, 2, 4, 5, 7, 12)  # of 13: run.json, three results and a record for each image


class Killed(BaseException):
    """What nothing is written or cleared away after, as after SIGKILL."""


@pytest.fixture
def kill(here, monkeypatch):
    """Return a function that lets a run over three images die before a certain rename.

    That returns the names of the images that it had finished.
    """
    for name in "abc":
        tiff(f"in/{name}.tif", picture((48, 64), objects=1 + ord(name) % 3))
    monkeypatch.setattr(batch, "label_all", label_here)

    def run_until(moves, *words):
        left, begun = iter(range(moves)), []

        def move(path, final):
            here, there = (folder.UNFINISHED in Path(one).parts for one in (path, final))
            if here != there and next(left, None) is None:  # Zarr writes its files by renames, too
                raise Killed
            os.replace(path, final)  # noqa: PTH105 - what it stands in for

        def label_and_note(jobs, *words, **keywords):
            for job, record in label_here(jobs, *words, **keywords):
                begun.append(job.name)
                yield job, record

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", move)
            patch.setattr(batch, "label_all", label_and_note)
            patch.setattr(folder.shutil, "rmtree", lambda *_, **__: None)
            with pytest.raises(Killed):
                main([*BATCH, *words])
        return begun

    return run_until


def statuses():
    return {Path(name).stem: row["status"] for name, row in summary().items()}


def contents(out="out"):
    """Return the results of images, whose names go on below that of the image."""
    return {name: Path(out, name).read_bytes() for name in names(out) if "_" in name}


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("words", [(), ZARR], ids=["tiff", "ome-zarr"])
@pytest.mark.long
def test_a_run_killed_before_any_rename_is_resumed_to_the_same_bytes(kill, moves, words):
    assert main(["batch", "in", "--out", "quiet", *words]) == 0
    finished = kill(moves, *words)
    assert finished
    assert main([*BATCH, *words, "--resume"]) == 0
    again = [name for name in finished if statuses()[name] == "done"]
    assert len(again) <= 2  # one on its way to its names, and one that waits for that
    assert names() == names("quiet")
    assert contents() == contents("quiet")
    assert not Path("out/.unfinished").exists()


@pytest.mark.parametrize("moves", [1, 2, 3, 5, 6, 7])  # an earlier Zarr is moved away first
@pytest.mark.long
def test_a_run_killed_while_it_replaces_earlier_labels_is_resumed(kill, moves):
    assert main([*BATCH, *ZARR, "--threshold", "10"]) == 0
    assert main(["batch", "in", "--out", "quiet", *ZARR]) == 0
    kill(moves, *ZARR, "--overwrite")
    assert main([*BATCH, *ZARR, "--resume"]) == 0
    assert contents() == contents("quiet")
    assert not Path("out/.unfinished").exists()


# A run as of `equilabel`, whose processes note which images they begin, and whose disk is slow.
NOTING = """
import os, sys, time
from pathlib import Path
from equilabel.cli import folder, main, workers

label, flush = workers.label_one, folder.flush_file

def label_and_note(job, options, provenance):
    note(f"begun {job.name}")
    return label(job, options, provenance)

def note(line):
    with open("notes", "a") as file:
        file.write(line + chr(10))

def flush_slowly(path):
    time.sleep(0.05)
    flush(path)

workers.label_one, folder.flush_file = label_and_note, flush_slowly
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    ("jobs", "words", "images", "kills"),
    [
        (2, (), 15, 1),
        pytest.param(1, (), 40, 3, marks=pytest.mark.long),
        pytest.param(2, ZARR, 40, 3, marks=pytest.mark.long),
    ],
)
def test_a_run_that_is_killed_loses_two_images_a_process_and_two_more_at_most(
    here, jobs, words, images, kills
):
    rng = random.Random(jobs)
    for number in range(images):
        tiff(f"in/{number:02}.tif", picture((64, 64), objects=1 + number % 4))
    Path("noting.py").write_text(NOTING, encoding="utf-8")
    words = ("--no-overlay", *words)
    command = [sys.executable, "noting.py", *BATCH, *words, "--jobs", str(jobs)]
    notes = Path("notes")
    notes.touch()
    for _ in range(kills):
        before = len(lines(notes))
        program = subprocess.Popen(
            [*command, "--resume"],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
        )
        goal, end = before + rng.randint(1, 12), time.monotonic() + 60
        while len(lines(notes)) < goal and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.02))
        kill_all = rng.random() < 0.5  # else its processes notice by themselves
        with suppress(ProcessLookupError):
            (os.killpg if kill_all else os.kill)(program.pid, signal.SIGKILL)
        program.wait()
        assert program.returncode == -signal.SIGKILL
    done = subprocess.run([*command, "--resume"], env={**os.environ, "PYTHONPATH": str(SOURCE)})
    assert done.returncode == 0
    begun = Counter(lines(notes))
    assert len(begun) == images
    again = sum(begun.values()) - len(begun)
    assert again <= kills * (2 * jobs + 2)
    assert main(["batch", "in", "--out", "quiet", *words]) == 0
    assert contents() == contents("quiet")


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()
