"""Threads: the work is cut into pieces, and the result does not depend on how."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from equilabel import label, regionprops_table, segment
from equilabel.devices import threads
from references import measure_by_hand
from strategies import LAYOUTS, blobs, noise
from threaded import SHAPES_THAT_JOIN_LATE, check_child

REPEATS = 1 if config.DISABLE_JIT else 5
KINDS = [
    ((700,), 1),
    ((40, 70), 1),
    ((40, 70), 2),
    ((9, 8, 70), 1),
    ((9, 8, 9), 2),
    ((9, 7, 66), 3),
    ((5, 4, 5, 6), 3),
    ((3, 2, 3, 4, 5), 5),
]


# -------------------------------------------------------------------- pieces


@given(
    size=st.integers(0, 300),
    weight=st.integers(0, 2**24),
    grain=st.integers(1, 40),
    count=st.integers(1, 9),
)
def test_pieces_cover_everything_once_and_begin_at_whole_grains(size, weight, grain, count):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(threads.ENVIRONMENT, str(count))
        patch.setattr(threads, "WEIGHT", 100)
        pieces = threads.ranges(size * grain, weight, grain)
    assert [place for piece in pieces for place in range(*piece)] == list(range(size * grain))
    assert all(a % grain == 0 and a < b for a, b in pieces)
    assert len(pieces) <= max(1, min(4 * count, weight // 100)) if count > 1 else len(pieces) <= 1


def test_there_are_pieces_for_every_thread(many_threads):
    many_threads(3)
    assert len(threads.ranges(1000, 1000)) == 12


def test_small_work_stays_in_one_piece(monkeypatch):
    monkeypatch.setenv(threads.ENVIRONMENT, "4")
    assert threads.ranges(1000, threads.WEIGHT) == [(0, 1000)]
    assert len(threads.ranges(1000, 3 * threads.WEIGHT)) == 3


def test_each_answers_in_order_though_threads_finish_in_another(many_threads):
    many_threads(4)
    used = set()

    def work(place):
        used.add(threading.get_ident())
        time.sleep(0.002 * (5 - place % 5))
        return place * place

    assert threads.each(work, [(place,) for place in range(20)]) == [k * k for k in range(20)]
    assert 1 < len(used) <= 4


@pytest.mark.parametrize(("count", "tasks"), [(1, 5), (4, 1), (4, 0)])
def test_one_thread_or_one_task_wakes_no_other(many_threads, count, tasks):
    many_threads(count)
    found = threads.each(lambda _: threading.get_ident(), [(k,) for k in range(tasks)])
    assert found == [threading.get_ident()] * tasks


@pytest.mark.parametrize("bad", [0, 7, 19])
def test_an_error_in_a_thread_reaches_the_caller(many_threads, bad):
    many_threads(3)

    def work(place):
        if place == bad:
            message = f"task {place}"
            raise RuntimeError(message)
        time.sleep(0.001)

    with pytest.raises(RuntimeError, match=f"task {bad}"):
        threads.each(work, [(place,) for place in range(20)])
    assert threads.each(lambda place: place, [(1,), (2,)]) == [1, 2]


def test_no_piece_begins_after_one_has_failed_in_the_calling_thread(many_threads):
    many_threads(2)
    caller, begun, failed, late = threading.get_ident(), threading.Event(), threading.Event(), []

    def work(place):
        if threading.get_ident() == caller:
            assert begun.wait(10)
            failed.set()
            raise KeyboardInterrupt
        begun.set()
        late.append(place) if failed.is_set() else failed.wait(10)
        time.sleep(0.1)

    with pytest.raises(KeyboardInterrupt):
        threads.each(work, [(place,) for place in range(20)])
    assert len(late) <= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are for POSIX")
@pytest.mark.parametrize("teams", [False, True])
@pytest.mark.long
def test_the_interpreter_ends_however_often_labeling_is_interrupted(teams):
    lines = (
        "import os, random, signal, threading, time, numpy as np",
        "from equilabel import label; from equilabel.devices import threads",
        "from equilabel.runs.cpu import team_labels",
        "threads.WEIGHT = 1",
        f"team_labels._left = {0 if teams else 2**60}",
        "image = np.random.default_rng(0).integers(0, 2, (40, 70)).astype('u1')",
        "expected = label(image)",
        "def disturb():",
        "    ready.wait()",
        "    for wait in np.random.default_rng(1).random(150) * 2e-3:",
        "        time.sleep(wait)",
        "        os.kill(os.getpid(), signal.SIGINT)",
        "    busy.clear()",
        "busy, ready = threading.Event(), threading.Event(); busy.set(); interrupts = 0",
        "thread = threading.Thread(target=disturb); thread.start()",
        "while busy.is_set():",
        "    try:",
        "        ready.set()",
        "        label(image)",
        "    except KeyboardInterrupt:",
        "        interrupts += 1",
        "thread.join()",
        "assert interrupts > 9, interrupts",
        "assert (label(image) == expected).all()",
    )
    environment = {**os.environ, threads.ENVIRONMENT: "4"}
    command = [sys.executable, "-c", "\n".join(lines)]
    subprocess.run(command, env=environment, check=True, timeout=120)


def test_threads_may_use_threads(many_threads):
    many_threads(2)
    found = threads.each(
        lambda k: threads.each(lambda j: k + j, [(1,), (2,)]), [(10,), (20,), (30,)]
    )
    assert found == [[11, 12], [21, 22], [31, 32]]


# --------------------------------------------------------------- environment


@pytest.mark.parametrize("word", ["0", "-1", "two", "1.5", " ", "1e3", "2 "])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, word):
    monkeypatch.setenv(threads.ENVIRONMENT, word)
    rule = "EQUILABEL_NUM_THREADS must be a whole number of threads; got "
    large = np.ones((1025, 2048), np.uint8)  # small images are not worth several threads
    for use in (label, regionprops_table):
        with pytest.raises(ValueError, match="EQUILABEL_NUM_THREADS must") as caught:
            use(large)
        assert str(caught.value) == f"{rule}{word!r}. Unset it."


def test_the_environment_sets_the_number_of_threads(monkeypatch):
    monkeypatch.setenv(threads.ENVIRONMENT, "7")
    assert threads.available() == 7


@pytest.mark.parametrize("unset", [True, False])
def test_without_a_word_there_are_as_many_threads_as_cores(monkeypatch, unset):
    monkeypatch.setenv(threads.ENVIRONMENT, "")
    if unset:
        monkeypatch.delenv(threads.ENVIRONMENT)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert threads.available() == 3


def test_where_cores_cannot_be_asked_for_they_are_counted(monkeypatch):
    monkeypatch.delenv(threads.ENVIRONMENT, raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.available() == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert threads.available() == 6


# -------------------------------------------------------------- same results


@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize(("shape", "connectivity"), KINDS)
def test_labels_in_threads_equal_those_in_one(many_threads, shape, connectivity, count):
    images = [make(shape, values=values) for make in (noise, blobs) for values in (2, 3)]
    many_threads(1)
    expected = [label(image, connectivity=connectivity) for image in images]
    many_threads(count)
    for _ in range(REPEATS):
        for image, labels in zip(images, expected, strict=True):
            np.testing.assert_array_equal(label(image, connectivity=connectivity), labels)


@pytest.mark.parametrize(("shape", "connectivity"), KINDS)
def test_the_order_of_pieces_does_not_matter(monkeypatch, many_threads, shape, connectivity):
    images = [make(shape, values=values) for make in (noise, blobs) for values in (2, 3)]
    many_threads(1)
    expected = [label(image, connectivity=connectivity) for image in images]
    many_threads(3)

    def last_first(kernel, tasks):
        return [kernel(*task) for task in reversed(tasks)][::-1]

    monkeypatch.setattr(threads, "each", last_first)
    for image, labels in zip(images, expected, strict=True):
        np.testing.assert_array_equal(label(image, connectivity=connectivity), labels)
        table = regionprops_table(labels, image, ("bbox", "centroid", "intensity_max"))
        theirs = measure_by_hand(labels, (1,) * labels.ndim)
        for name in theirs.keys() & table.keys():
            np.testing.assert_allclose(table[name], theirs[name])


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("name", SHAPES_THAT_JOIN_LATE)
def test_regions_join_across_pieces(many_threads, name, count):
    image = SHAPES_THAT_JOIN_LATE[name]
    many_threads(count)
    for turned in (image, image[::-1], image[:, ::-1], image.T, image > 0):
        for connectivity in (1, 2):
            np.testing.assert_array_equal(label(turned, connectivity=connectivity), turned > 0)
    deep = np.stack([image, np.zeros_like(image), image])
    deep[1, -1, -1] = deep[:, -1, -1].max()
    for connectivity in (1, 2, 3):
        np.testing.assert_array_equal(
            label(deep, connectivity=connectivity).max(), 1 + (deep[1, -1, -1] == 0)
        )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_threads_take_every_layout(many_threads, layout):
    for shape in ((40, 9), (7, 6, 9), (3, 4, 5, 6)):
        for values in (2, 3):
            image = LAYOUTS[layout](noise(shape, "u2", values))
            many_threads(1)
            expected = label(image)
            many_threads(3)
            np.testing.assert_array_equal(label(image), expected)


def test_values_may_differ_from_piece_to_piece(many_threads):
    image = np.ones((40, 9), "u1")
    image[20:] = 2
    many_threads(4)
    assert label(image)[[0, 19, 20, 39], 0].tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("dtype", ["u1", "i8"])
def test_stacks_and_arrays_given_are_served_by_threads(many_threads, dtype):
    image = noise((6, 7, 9), "u1")
    many_threads(1)
    expected = label(image, stacked=True)
    many_threads(3)
    out = np.full(image.shape, 99, dtype)
    np.testing.assert_array_equal(label(image, stacked=True, out=out), expected)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("shape", [(700,), (40, 70), (8, 9, 10)])
def test_statistics_in_threads_equal_those_in_one_thread(many_threads, shape, count):
    labels = label(blobs(shape, values=3))
    values = noise((*shape, 2), "f4", 100)
    names = ["label", "bbox", "area", "centroid", "intensity_mean", "intensity_min"]
    names += ["intensity_max", "intensity_std"]
    names += {2: ["perimeter", "perimeter_edges"], 3: ["surface_area_faces"]}.get(len(shape), [])
    many_threads(1)
    expected = regionprops_table(labels, values, names)
    many_threads(count)
    table = regionprops_table(labels, values, names)
    for name, column in expected.items():
        np.testing.assert_allclose(table[name], column, rtol=1e-12)


def test_the_whole_way_in_threads_equals_that_in_one(many_threads):
    image = blobs((40, 70), "i4", 100)
    options = {"threshold": 50, "fill_holes": True, "min_size": 3, "exclude_border": True}
    many_threads(1)
    expected = segment(image, **options)
    many_threads(3)
    found = segment(image, **options)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_allclose(found.table, expected.table)


def test_callers_may_be_threads_themselves(many_threads):
    images = [noise((30, 40), seed=seed) for seed in range(12)]
    many_threads(1)
    expected = [label(image) for image in images]
    many_threads(3)
    with ThreadPoolExecutor(4) as callers:
        for labels, found in zip(expected, callers.map(label, images), strict=True):
            np.testing.assert_array_equal(found, labels)


# --------------------------------------------------------------------- called off

# What `segment` is asked for, and how many times it goes over all pixels for that, piece by piece.
LONG_STEPS = {
    "smoothing": ({"sigma": 2}, 1),
    "local threshold": ({"threshold": "local", "block_size": 9}, 1),
    "background": ({"background": 3}, 2),
    "dropping": ({"min_size": 3, "split": True}, 1),
}


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("step", LONG_STEPS)
def test_long_steps_can_be_called_off_at_every_piece(monkeypatch, many_threads, step, count):
    options, times = LONG_STEPS[step]
    image = blobs((60, 70), "i4", 100)
    many_threads(count)
    monkeypatch.setattr(import_module("equilabel.devices.threads"), "WEIGHT", 70)

    def looks(**given):
        seen = []
        with threads.interruptible(lambda: seen.append(1)):
            segment(image, **{"threshold": 50, **given})
        return len(seen)

    assert looks(**options) >= looks() + 0.9 * times * len(image)


@pytest.mark.parametrize("method", ["komura", "kalentev"])
def test_published_methods_can_be_called_off_between_passes(method):
    seen = []
    with threads.interruptible(lambda: seen.append(1)):
        label(np.eye(9), method=method)
    assert len(seen) >= 5


def test_what_is_measured_object_by_object_can_be_called_off_at_each():
    labels = np.diag(np.arange(1, 10))
    seen = []
    with threads.interruptible(lambda: seen.append(1)):
        regionprops_table(labels, labels, properties=("label", "image_filled"))
    assert len(seen) >= 9


@pytest.mark.parametrize("step", LONG_STEPS)
def test_what_calls_work_off_reaches_the_caller(many_threads, step):
    many_threads(3)
    image = blobs((60, 70), "i4", 100)
    for last in (1, 5, 20, 40):
        left = iter(range(last))

        def check(left=left):
            if next(left, None) is None:
                raise InterruptedError

        with threads.interruptible(check), pytest.raises(InterruptedError):
            segment(image, **{"threshold": 50, **LONG_STEPS[step][0]})


# ---------------------------------------------------------------------- fork


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # Python 3.12, on any threads
def test_a_child_that_was_forked_labels_too(many_threads):
    image = noise((40, 70))
    many_threads(3)
    expected = label(image)  # wakes the parent's threads, which the child will not have
    check_child(image, expected)
    np.testing.assert_array_equal(label(image), expected)
