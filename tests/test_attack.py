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

import equilabel
from equilabel import samples, simulation
from equilabel.domains import lattices

pytest.importorskip("imagecodecs")

from attack import Counts, arguments, numbers, pictures, records, tiff
from equilabel.cli import records as cli_records


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
@pytest.mark.long
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


@pytest.mark.long
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
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.verify", lambda self: None)
    assert "wrong" in {pictures.judge(seed)[0] for seed in range(200)}  # without the checksums


def test_poisoned_records_cost_their_image_a_second_labeling_and_nothing_else(monkeypatch):
    clock = itertools.count()  # a record takes a second
    monkeypatch.setattr(records, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    counts = records.attack(20, 2)
    assert counts.submitted == 19
    assert counts.holds, counts.notes
    monkeypatch.setattr(
        cli_records.msgspec, "convert", lambda entry, _: cli_records.Record(**entry)
    )
    assert records.attack(8, 2).wrong > 0


# -------------------------------------------------------------- hostile arguments


def test_every_public_function_is_attacked():
    rooms = {"": equilabel, "lattices.": lattices, "samples.": samples, "simulation.": simulation}
    public = {prefix + name for prefix, room in rooms.items() for name in room.__all__}
    calls = {name.partition(",")[0] for name in arguments.CALLS}
    results = {"simulation.AutocorrelationTime", "simulation.Measurement", "samples.Sample"}
    known = {"lattices", "simulation", "samples.SAMPLES", *arguments.PASSIVE, *results}
    inner = {f"simulation.{name}" for name in ("PottsSimulation", "swendsen_wang")}
    assert public - known - inner <= calls
    constructors = {name for name in vars(equilabel.Graph) if name.startswith("from_")}
    assert {f"Graph.{name}" for name in constructors} <= calls


@pytest.mark.parametrize("name", arguments.CALLS)
def test_a_call_that_is_attacked_is_answered_as_it_stands(name):
    function, _, given = arguments.CALLS[name]
    assert arguments.outcome(lambda: function(**given)) == ("correct", "")


def test_hostile_arguments_are_answered_or_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some are paths
    verdicts, notes = Counter(), []
    for seed in range(2000):
        verdict, why = arguments.judge(seed)
        verdicts[verdict] += 1
        notes += [why] if why else []
    assert notes == []
    assert verdicts["refused"] > 1000
    assert verdicts["correct"] > 100


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: equilabel.measure_components(False),
            "label_image must have 1 to 6 axes to be measured",
        ),
        (lambda: equilabel.split_touching(3), "labels_or_mask must have an axis"),
        (lambda: equilabel.label(np.eye(3) > 0, stacked=0.5), "stacked must be True or False"),
        (lambda: equilabel.label(np.eye(3) > 0, stacked=10**30), "stacked must be True or False"),
        (lambda: equilabel.label([[1], [2, 3]]), "label_image must be an array, or what NumPy"),
        (
            lambda: equilabel.measure_components(np.eye(3, dtype=int), separator=0),
            "separator must be text",
        ),
        (lambda: equilabel.filter_objects("cells", {}), "found must be an array, not a path"),
        (lambda: equilabel.swendsen_wang(4, beta=np.ones(2)), "beta must be a number"),
        (lambda: equilabel.label_chunked("x" * 5000), "label_image must be a path that a file"),
        (lambda: equilabel.smooth(np.eye(3), 10**5000), "sigma must be 0 or more, and finite"),
        (lambda: equilabel.binarize(np.eye(3), "9" * 5000), "threshold must be a number"),
        (lambda: lattices.square(2**30), "shape must fit into the free memory"),
        (lambda: lattices.bethe(3, 2**70), "generations must fit into the free memory"),
        (lambda: samples.hilbert(2**40), "order must be a whole number of 0 to 30"),
        (lambda: equilabel.Graph.from_edges([(0, 1)], size=2**31), "size must fit into the free"),
    ],
)
def test_arguments_that_other_libraries_refused_are_refused_in_words(call, words, monkeypatch):
    monkeypatch.setattr("equilabel.storage.memory.free", lambda: 2**33)
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        call()
    assert arguments.unworded(caught.value) == ""


def test_numbers_of_any_kind_are_numbers():
    half = lattices.cubic(5, open_probability=0.5, seed=2).open
    assert (lattices.cubic(5, open_probability=np.float16(0.5), seed=2).open == half).all()


def test_the_attack_finds_out_a_function_that_refuses_in_words_of_others(monkeypatch):
    careless = arguments.good(lambda q: np.zeros(q), q=3)
    monkeypatch.setattr(arguments, "CALLS", {"careless": careless})
    monkeypatch.setattr(arguments, "parameters", lambda: [("careless", *careless)])
    assert "lost" in {arguments.judge(seed)[0] for seed in range(40)}
