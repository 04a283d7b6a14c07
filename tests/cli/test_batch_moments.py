"""Runs that are killed, or asked to end, at a hundred moments: nothing is torn or lost."""

import os
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from batches import label_here, picture, posix, summary, tiff
from equilabel.cli import batch, main

pytestmark = [pytest.mark.slow, posix]

BATCH = ("batch", "in", "--no-overlay", "--out")
CHANGES = ("open", "os.mkdir", "os.remove", "os.rename", "os.rmdir")
MOMENTS, SEEDS = 20, 10  # for each seed


class Killed(BaseException):
    """What nothing in the output folder is touched after, as after SIGKILL."""


class Moment:
    """Something happens before a certain file or folder of `out` is opened, made or removed.

    Attributes
    ----------
    left : int
        How many of these are left; below 0 it has happened.
    what : int, or None
        A signal; None while nothing happens.
    """

    left, what = 0, None

    def __call__(self, event, arguments):
        """Hear of an event, in any thread; see `sys.addaudithook`."""
        if self.what is None or event not in CHANGES or not self.concerns(arguments):
            return
        self.left -= 1
        if self.left < 0 and self.what == signal.SIGKILL:
            raise Killed
        if self.left == -1:
            os.kill(os.getpid(), self.what)

    def concerns(self, arguments):
        paths = [Path(os.fsdecode(one)) for one in arguments if isinstance(one, (str, bytes, Path))]
        # The lock on the claim would end with the process.
        return any("out" in path.parts and path.name != "claim" for path in paths)


@pytest.fixture(scope="module")
def moment():
    one = Moment()
    sys.addaudithook(one)  # for ever: it does nothing in other tests
    yield one
    one.what = None


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).glob("*_*")}


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.long
def test_a_run_disturbed_at_any_moment_ends_with_the_bytes_of_a_quiet_one(
    here, monkeypatch, moment, seed
):
    monkeypatch.setattr(batch, "label_all", label_here)
    chance = random.Random(seed)
    for name in "abcd":
        tiff(f"in/{name}.tif", picture((24, 64), objects=1 + "abcd".index(name)))
    assert main([*BATCH, "quiet"]) == 0
    whole, known, disturbed = contents("quiet"), summary("quiet"), 0
    for _ in range(MOMENTS):
        moment.left = chance.randrange(60)
        moment.what = chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
        code = None
        try:
            with suppress(Killed):
                code = main([*BATCH, "out", "--resume"])
        finally:
            disturbed += moment.left < 0
            moment.what = None
        assert code in (None, 0, 130, 143)
        assert contents("out").items() <= whole.items()  # what has its name is complete
        if chance.random() < 0.3:  # else the next run has nothing to do, sooner or later
            for path in Path("out").glob(f"{chance.choice('abcd')}_*"):
                path.unlink()
    assert disturbed > MOMENTS / 2
    assert main([*BATCH, "out", "--resume"]) == 0
    assert contents("out") == whole
    assert not Path("out/.unfinished").exists()
    rows = summary("out")
    assert {name: row["objects"] for name, row in rows.items()} == {
        name: row["objects"] for name, row in known.items()
    }
    assert {row["status"] for row in rows.values()} <= {"done", "skipped"}
