"""A sample of each long attack: what `make attack` does for minutes, for a second."""

import itertools
import os
import signal
import sys
import time
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import tifffile

pytest.importorskip("imagecodecs")

from attack import Counts, numbers, pictures, records, tiff
from equilabel.cli import jsonfiles


def test_counts_hold_if_every_input_was_read_right_or_refused():
    assert Counts("x", submitted=3, correct=1, refused=2).holds
    assert not Counts("x", submitted=4, correct=1, refused=2).holds  # one without an answer
    assert not Counts("x", submitted=3, correct=1, refused=1, wrong=1).holds
    assert not Counts("x", submitted=3, correct=1, refused=1, lost=1).holds


def test_damaged_tiffs_are_refused_or_read_as_what_they_are():
    verdicts, notes = Counter(), []
    for seed in range(300):
        verdict, why = tiff.judge(seed)
        verdicts[verdict] += 1
        notes += [why] if why else []
    assert notes == []
    assert verdicts["refused"] > 150
    assert verdicts["correct"] > 50


def careless(path, **_):
    """Read as tifffile does, which crops, reshapes and casts."""
    with tifffile.TiffFile(path) as opened:
        pixels = np.squeeze(opened.series[0].asarray())
    return SimpleNamespace(pixels=pixels, series_count=1, notes=())


def test_a_reader_that_believes_what_a_codec_returns_is_found_out(monkeypatch):
    monkeypatch.setattr(tiff, "read_tiff", careless)
    verdicts = Counter(tiff.judge(seed)[0] for seed in range(60))
    assert verdicts["wrong"] > 0
    assert verdicts["lost"] > verdicts["correct"] > 0  # it has no words for what it refuses


def mortal(link):
    """Answer the first file, die of the second, and never answer the third."""
    link.send("ready")
    number = link.recv() % 10**9
    if number == 0:
        link.send(("correct", ""))
        number = link.recv() % 10**9
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of memory are POSIX")
def test_readers_that_die_or_hang_are_counted_as_lost(monkeypatch):
    monkeypatch.setattr(tiff, "MOST_SECONDS", 1)
    counts = tiff.attack(60, 5, serve=mortal, most=3)
    assert (counts.correct, counts.refused, counts.wrong) == (1, 0, 0)
    assert counts.lost == counts.submitted - 1 == 2
    assert "judge(5000000001): no answer, exit code -9" in counts.notes


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of memory are POSIX")
def test_the_attack_runs_and_holds():
    counts = tiff.attack(1, 6)
    assert counts.submitted > 2
    assert counts.holds, counts.notes


def test_a_sample_of_questions_about_labels_and_tables_is_answered_right(monkeypatch):
    few = {
        "images": ("?", "u1", "i4"),
        "floats": ("f4",),
        "out": ("i4", "u8"),
        "sums": ("u1", "i8"),
    }
    monkeypatch.setattr(numbers, "TYPES", numbers.TYPES | few)  # each type is compiled for
    verdicts = [numbers.judge(seed) for seed in range(60)]
    assert [about for verdict, about in verdicts if verdict in ("wrong", "lost")] == []
    assert {verdict for verdict, _ in verdicts} == {"correct", "refused"}


def test_the_attack_on_labels_finds_out_a_careless_labeler(monkeypatch):
    monkeypatch.setattr(numbers, "label", lambda image, *_, **__: np.ones(image.shape, int))
    assert "wrong" in {numbers.judge(seed)[0] for seed in range(2, 48, 6)}


def test_damaged_pictures_are_refused_or_read_as_what_they_are(monkeypatch):
    verdicts, notes = Counter(), []
    for seed in range(200):
        verdict, why = pictures.judge(seed)
        verdicts[verdict] += 1
        notes += [why] if why else []
    assert notes == []
    assert min(verdicts["refused"], verdicts["correct"]) > 50
    monkeypatch.setattr("equilabel.storage.pictures._verify", lambda file: None)
    assert "wrong" in {pictures.judge(seed)[0] for seed in range(200)}  # without the checksums


def test_poisoned_records_cost_their_image_a_second_labeling_and_nothing_else(monkeypatch):
    clock = itertools.count()  # a record takes a second
    monkeypatch.setattr(records, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    counts = records.attack(20, 2)
    assert counts.submitted == 19
    assert counts.holds, counts.notes
    monkeypatch.setattr(jsonfiles, "_legible", lambda value: value)
    monkeypatch.setattr(jsonfiles, "_FITTING", {})
    assert records.attack(8, 2).wrong > 0
