"""What is compiled is told while it is, can be called off before it begins, and costs no call."""

import gc
import os
import sys
import threading
from functools import wraps
from types import ModuleType, SimpleNamespace

import numba
import numpy as np
import pytest

from batches import picture, tiff
from equilabel import segment
from equilabel.cli import main, one, streams
from equilabel.devices import compiling, jit, threads

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
compiled = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


class CalledOffError(Exception):
    pass


def half(x):
    return x / 2


def double(x):
    return 2 * x


# numba loads a function for its module, which it looks for unless an earlier one is in memory.
TRIAL = ModuleType("equilabel.devices.cpu.trial")
sys.modules[TRIAL.__name__] = TRIAL
half.__module__ = double.__module__ = TRIAL.__name__


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The only folder for compiled code, empty."""
    monkeypatch.setattr(compiling, "folders", lambda: [tmp_path / "cache"])
    return tmp_path / "cache"


def fresh(function=double):
    """Return the function as a new process has it: nothing of it is in memory."""
    return jit.njit(nogil=True, cache=True)(function)


@compiled
@pytest.mark.usefixtures("folder")
def test_a_function_is_told_while_it_is_compiled_and_not_when_it_was_kept():
    told = []
    with compiling.listening(lambda number, busy: told.append((number, busy))):
        fresh()(21)
        fresh(half)(21)
        assert told == [(1, True), (1, False), (2, True), (2, False)]
        gc.collect()  # of the first one nothing is left in memory
        fresh()(21)
    fresh()(2.5)
    assert len(told) == 4


@compiled
@pytest.mark.usefixtures("folder")
def test_what_a_function_calls_counts_with_it_and_what_is_not_ours_does_not():
    inner = jit.inlined(double)

    def outer(x):
        return inner(x) + 1

    outer.__module__ = double.__module__
    told = []
    with compiling.listening(lambda number, busy: told.append((number, busy))):
        assert fresh(outer)(20) == 41
        assert numba.njit(lambda x: x + 1)(1) == 2
    assert told == [(1, True), (1, False)]


@compiled
@pytest.mark.usefixtures("folder")
def test_a_thread_called_off_compiles_no_more_and_another_may():
    kernel, stop = fresh(), threading.Event()

    def check():
        if stop.is_set():
            raise CalledOffError

    with threads.interruptible(check):
        stop.set()
        with pytest.raises(CalledOffError):
            kernel(21)
    assert not kernel.signatures
    assert kernel(21) == 42


def test_a_thread_called_off_begins_no_more_pieces_and_its_helpers_neither(monkeypatch):
    monkeypatch.setattr(threads, "available", lambda: 3)
    done, stop = [], threading.Event()

    def work(number):
        done.append(number)
        stop.set()

    def check():
        if stop.is_set():
            raise CalledOffError

    with pytest.raises(CalledOffError), threads.interruptible(check):
        threads.each(work, [(number,) for number in range(99)])
    assert 1 <= len(done) <= 3
    assert len(threads.each(work, [(number,) for number in range(9)])) == 9


# ----------------------------------------------------------------- the terminal


@pytest.fixture
def terminal(monkeypatch):
    """Collect what `fleeting` shows, as if standard error were a terminal."""
    shown = []
    stream = type("Terminal", (), {"isatty": lambda _: True, "flush": lambda _: None})()
    stream.write = shown.append
    monkeypatch.setattr(streams, "sys", SimpleNamespace(stderr=stream, stdin=stream, stdout=stream))
    monkeypatch.setenv("TERM", "xterm")
    return shown


def test_a_line_on_the_terminal_is_replaced_and_removed_before_the_next(terminal):
    for number in (9, 10):
        streams.fleeting(compiling.describe(number))
    streams.say("done")
    line = "compiling, first time only: 9 functions"
    assert terminal[0] == f"\r{line}"
    assert terminal[1] == "\rcompiling, first time only: 10 functions"
    assert terminal[2].strip() == ""
    assert len(terminal[2]) >= len(line)
    streams.say("nothing to remove")
    assert len(terminal) == 3


def test_where_standard_error_is_no_terminal_nothing_fleets(capsys):
    streams.fleeting("compiling")
    assert capsys.readouterr().err == ""


def test_label_says_so_on_the_terminal(tmp_path, monkeypatch, terminal):
    label_one = one.label_one

    def label(*words):
        compiling.begin()
        compiling.end()
        return label_one(*words)

    monkeypatch.setattr(one, "label_one", label)
    assert main(["segment", str(tiff(tmp_path / "a.tif")), "--out", str(tmp_path)]) == 0
    assert "\rcompiling, first time only: 1 function" in terminal


# ------------------------------------------------------------- tiny images first


def test_a_form_warms_up_on_the_type_and_axes_of_the_layer(monkeypatch):
    warming = pytest.importorskip("equilabel.widget.logic.outcomes")
    layers = pytest.importorskip("napari.layers")
    from equilabel.widget.logic.choices import Choices
    from equilabel.widget.logic.sources import Source

    asked = []

    @wraps(segment)
    def watch(image, **options):
        asked.append((image.dtype, image.ndim, options.get("stacked"), options.get("channel")))
        return segment(image, **options)

    monkeypatch.setattr("equilabel.segment", watch)
    pixels = np.zeros((3, 2, 400, 400), "u2")
    source = Source.of(layers.Image(pixels, axis_labels=("t", "c", "y", "x")))
    warming.warm_up_segmenting(source, Choices(channel=1, dark=True), print)
    colors = Source.of(layers.Image(np.dstack([picture()] * 3), rgb=True))
    warming.warm_up_segmenting(colors, Choices(color="green"), print)
    warming.warm_up_segmenting(None, None, print)
    plane, gray, some = ("u2", 2, None, None), ("u1", 2, None, None), ("u2", 2, None, None)
    assert asked == [plane, ("u2", 4, True, 0), gray, gray, some]  # of a layer, the preview first
