"""The attack on `equilabel batch` without its processes: records and results are damaged alone."""

import io
import itertools
from contextlib import chdir, redirect_stderr, redirect_stdout
from types import SimpleNamespace

import pytest

from attack import batch, disturbing
from batches import posix
from equilabel.cli import folder, main

pytestmark = [pytest.mark.slow, posix]


@pytest.fixture(autouse=True)
def _at_once(here, monkeypatch):
    def run(words, place, *_, **__):
        said = io.StringIO()
        with chdir(place), redirect_stdout(said), redirect_stderr(said):
            code = main(words)
        text = said.getvalue()
        return disturbing.Ended(code, text, disturbing.complaint(code, text, silenced=False))

    monkeypatch.setattr(batch, "run", run)
    monkeypatch.setattr(batch.Round, "damages", 1)
    monkeypatch.setattr(batch.Round, "disks", 0)
    clock = itertools.count()  # a round takes a second, however slow the machine is
    monkeypatch.setattr(batch, "time", SimpleNamespace(monotonic=lambda: next(clock)))


@pytest.mark.long
def test_the_attack_holds():
    counts = batch.attack(5, 3)
    assert counts.submitted > 10
    assert counts.holds, counts.notes


@pytest.mark.long
def test_results_that_are_kept_unseen_are_found_out(monkeypatch):
    monkeypatch.setattr(folder, "holds", lambda *_, **__: True)
    counts = batch.attack(4, 3)
    assert counts.wrong + counts.lost > 0
