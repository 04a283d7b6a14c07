"""What a run had finished when it was killed is not lost, whether or not it had its name."""

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

from batches import SOURCE, label_here, names, picture, posix, refused, results, summary, tiff
from equilabel.cli import batch, folder, main
from equilabel.cli.folder import RECORD

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
def test_a_run_killed_before_any_rename_loses_nothing_that_it_finished(kill, moves, words):
    assert main(["batch", "in", "--out", "quiet", *words]) == 0
    finished = kill(moves, *words)
    assert finished
    assert main([*BATCH, *words, "--resume"]) == 0
    expected = {name: "skipped" if name in finished else "done" for name in "abc"}
    assert statuses() == expected
    assert names() == names("quiet")
    assert contents() == contents("quiet")
    assert not Path("out/.unfinished").exists()


@pytest.mark.parametrize("moves", [1, 2, 3, 5, 6, 7])  # an earlier Zarr is moved away first
@pytest.mark.long
def test_a_run_killed_while_it_replaces_earlier_labels_loses_nothing_either(kill, moves):
    assert main([*BATCH, *ZARR, "--threshold", "10"]) == 0
    assert main(["batch", "in", "--out", "quiet", *ZARR]) == 0
    finished = kill(moves, *ZARR, "--overwrite")
    assert main([*BATCH, *ZARR, "--resume"]) == 0
    assert {name for name, status in statuses().items() if status == "skipped"} == set(finished)
    assert contents() == contents("quiet")
    assert not Path("out/.unfinished").exists()


def left_over(pattern):
    (found,) = Path("out/.unfinished").glob(pattern)
    return found


@pytest.mark.parametrize("name", ["a_labels.tif", "a_table.csv", "a_overlay.png", RECORD])
@pytest.mark.parametrize("harm", ["torn", "gone", "another byte"])
@pytest.mark.long
def test_what_is_damaged_in_unfinished_work_is_made_again(kill, name, harm):
    kill(1)
    path = left_over(f"*/0/{name}")
    whole = path.read_bytes()
    if harm == "gone":
        path.unlink()
    elif harm == "torn":
        path.write_bytes(whole[: len(whole) // 2])
    else:
        path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    assert main([*BATCH, "--resume"]) == 0
    assert statuses()["a"] == "done"
    assert names() == results("a", "b", "c")


def test_a_call_that_is_refused_leaves_finished_work_to_the_next(kill, capsys):
    finished = kill(5)  # those of the first image have their names
    capsys.readouterr()
    assert "--min-size" in refused(capsys, *BATCH, "--resume", "--min-size", "4")
    assert "--resume" in refused(capsys, *BATCH)
    assert main([*BATCH, "--resume"]) == 0
    assert {name for name, status in statuses().items() if status == "skipped"} == set(finished)


def test_a_dry_run_says_what_will_be_kept_or_refused_and_moves_nothing(kill, capsys):
    finished = kill(6)
    before = sorted(Path("out").rglob("*"))
    capsys.readouterr()
    assert main([*BATCH, "--resume", "--dry-run"]) == 0
    assert capsys.readouterr().out.count("complete; kept") == len(finished)
    assert "--min-size" in refused(capsys, *BATCH, "--resume", "--dry-run", "--min-size", "4")
    assert sorted(Path("out").rglob("*")) == before


def test_finished_work_with_other_options_is_not_taken(kill):
    kill(0)
    assert main([*BATCH, "--resume", "--min-size", "4"]) == 0
    assert statuses() == dict.fromkeys("abc", "done")


def test_finished_work_is_not_taken_where_all_is_made_again_or_other_images_are_asked_for(kill):
    kill(0)
    assert main(["batch", "in/b.tif", "in/c.tif", "--out", "out", "--resume"]) == 0
    assert names() == results("b", "c")
    kill(0, "--overwrite")
    assert main([*BATCH, "--overwrite"]) == 0
    assert statuses() == dict.fromkeys("abc", "done")


def test_finished_work_of_an_image_that_has_changed_since_is_made_again(kill):
    kill(1)
    tiff("in/a.tif", picture(objects=1))
    assert main([*BATCH, "--resume"]) == 0
    assert statuses()["a"] == "done"
    assert summary()["in/a.tif"]["objects"] == "1"


@posix
def test_links_among_unfinished_work_are_not_followed(kill):
    kill(1)
    place = left_over("*/0")
    place.rename("elsewhere")
    place.symlink_to(Path("elsewhere").absolute())
    run = place.parent.with_name("link")
    Path("away").mkdir()
    Path("elsewhere").rename("away/0")
    run.symlink_to(Path("away").absolute())
    assert main([*BATCH, "--resume"]) == 0
    assert statuses()["a"] == "done"
    assert Path("away/0/a_table.csv").is_file()


# A run as of `equilabel`, whose processes note which images they begin, and whose disk is slow.
NOTING = """
import os, sys, time
from pathlib import Path
from equilabel.cli import folder, main, workers
from equilabel.storage import files

label, flush = workers.label_one, folder.flush_file

def label_and_note(job, options, provenance):
    record = label(job, options, provenance) if job.resume and done(job) else None
    if record is None or record.status != "skipped":
        note(f"begun {job.name}")
        record = label(job, options, provenance)
    return record

def done(job):
    return folder.record_path(job.out, job.name).exists()

def note(line):
    with open("notes", "a") as file:
        file.write(line + chr(10))

def flush_slowly(path):
    time.sleep(0.05)
    flush(path)

workers.label_one, files.flush_file = label_and_note, flush_slowly
folder.flush_file = flush_slowly
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    ("jobs", "words"), [pytest.param(1, (), marks=pytest.mark.long), (2, ()), (2, ZARR)]
)
def test_a_run_that_is_killed_loses_no_more_images_than_it_has_processes(here, jobs, words):
    rng = random.Random(jobs)
    for number in range(40):
        tiff(f"in/{number:02}.tif", picture((64, 64), objects=1 + number % 4))
    Path("noting.py").write_text(NOTING, encoding="utf-8")
    words = ("--no-overlay", *words)
    command = [sys.executable, "noting.py", *BATCH, *words, "--jobs", str(jobs)]
    notes, kills = Path("notes"), 3
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
    assert len(begun) == 40
    again = sum(begun.values()) - len(begun)
    assert again <= kills * jobs
    assert main(["batch", "in", "--out", "quiet", *words]) == 0
    assert contents() == contents("quiet")


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()
