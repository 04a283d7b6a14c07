"""A team of threads that leave Python once labels as one thread does, and ends however it ends."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from numba import config

from equilabel import label
from equilabel.devices import threads
from equilabel.devices.jit import generalized, njit
from equilabel.labeling import output
from equilabel.runs.cpu import painting, team, team_labels
from equilabel.runs.cpu import passes as runs
from equilabel.runs.cpu import team as team_jobs
from equilabel.runs.cpu import team_labels as team_phases
from equilabel.samples import spiral
from references import expected_labels
from strategies import LAYOUTS, blobs, noise
from threaded import SHAPES_THAT_JOIN_LATE, check_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="teams are for POSIX")

SHAPES = [(37, 64), (40, 70), (301, 5), (12, 200), (9, 8, 70), (6, 33, 9), (5, 4, 5, 6)]
KINDS = {
    "zeros": lambda shape: np.zeros(shape, np.uint8),
    "ones": lambda shape: np.ones(shape, np.uint8),
    "noise": lambda shape: noise(shape, "u1", 2, seed=1),
    "few": lambda shape: (noise(shape, "u1", 30, seed=2) == 0).view(np.uint8),
    "blobs": lambda shape: blobs(shape, values=2),
    "stripes": lambda shape: np.zeros(shape, np.uint8) + np.arange(shape[-1], dtype="u1") % 2,
}


@pytest.fixture
def jobs(monkeypatch):
    """List the jobs that teams have done; one that was resumed counts once."""
    done, run = [], team_labels._run

    def noted(job, helpers):
        run(job, helpers)
        if job.phases[0, 0] == team_jobs.FIND:
            done.append(job)

    monkeypatch.setattr(team_labels, "_run", noted)
    monkeypatch.setattr(team_labels, "_left", 0)
    return done


def check_equal(many_threads, image, count, **options):
    """Compare the labels of a team with those of one thread."""
    many_threads(1)
    expected, number = label(image, return_num=True, **options)
    many_threads(count)
    labels, found = label(image, return_num=True, **options)
    assert found == number
    np.testing.assert_array_equal(labels, expected)


# -------------------------------------------------------------- same results


@pytest.mark.parametrize(
    ("shape", "kind", "count"),
    [
        (shape, kind, (4, 16)[(row + column) % 2])
        for row, shape in enumerate(SHAPES)
        for column, kind in enumerate(KINDS)
    ],
    ids=str,
)
def test_a_team_labels_as_one_thread_does(many_threads, jobs, shape, kind, count):
    image = KINDS[kind](shape)
    asked = [{"connectivity": hops} for hops in range(1, len(shape) + 1)]
    asked += [{**each, "stacked": True} for each in asked[:-1]]
    for each in asked:
        for kind_of_pixels in ("u1", "?", "i1") if kind == "noise" else ("u1",):
            check_equal(many_threads, image.astype(kind_of_pixels), count, **each)
    assert len(jobs) >= 3  # of blocks in too few lines, a team makes nothing


@pytest.mark.parametrize("name", SHAPES_THAT_JOIN_LATE)
def test_regions_join_across_all_parts(many_threads, jobs, name):
    image = SHAPES_THAT_JOIN_LATE[name]
    for turned in (image, image[::-1].copy(), image[:, ::-1].copy(), image.T.copy()):
        for hops in (1, 2):
            check_equal(many_threads, turned, 16, connectivity=hops)
    for hops in (1, 2):
        check_equal(many_threads, spiral(131), 16, connectivity=hops)
    assert len(jobs) == 10


@pytest.mark.parametrize("large", [0, 2**25], ids=["past the caches", "through the caches"])
def test_labels_are_written_past_the_caches_or_through_them(monkeypatch, many_threads, jobs, large):
    monkeypatch.setattr(painting, "LARGE", large)
    for kind in KINDS.values():
        for shape in ((40, 128), (33, 68)):
            image = kind(shape)
            out = np.full(shape, 9, np.int32)
            check_equal(many_threads, image, 4, out=out)
    assert len(jobs) == 2 * len(KINDS)
    assert {job.given[team_jobs.STREAMABLE] for job in jobs} == {large == 0}


def test_a_background_of_another_value_and_none_are_respected(many_threads, jobs):
    image = noise((40, 70), "u1", 2) + np.uint8(200)
    for background in (200, 201):
        check_equal(many_threads, image, 4, background=background)
    assert len(jobs) == 2


def test_a_team_leaves_images_of_several_values_to_others(many_threads, jobs):
    image = np.zeros((40, 70), np.uint8)
    image[3:20, 5:] = 1
    image[30:, 5:] = 2
    check_equal(many_threads, image, 4)
    image[29, 30] = 1  # of one piece
    check_equal(many_threads, image, 4)
    assert all(job.found[team_jobs.SEVERAL] for job in jobs)
    assert len(jobs) == 2


@pytest.mark.parametrize("out", ["i8", "u1", "rows apart"])
def test_arrays_that_a_team_cannot_write_to_receive_labels_too(many_threads, jobs, out):
    image = noise((40, 70), "u1", 2) * (np.arange(40) % 9 == 0)[:, None]
    room = np.empty((40, 140), "i4")[:, ::2] if out == "rows apart" else np.empty((40, 70), out)
    check_equal(many_threads, image > 0, 4, out=room)
    assert not jobs


def test_images_that_a_team_is_not_made_for_are_labeled_as_ever(many_threads, jobs):
    for layout in LAYOUTS.values():
        image = layout(noise((40, 70), "u2", 2))
        check_equal(many_threads, image, 4)
    for count in (2, 3):
        check_equal(many_threads, noise((40, 70), "u1", 2), count)
    check_equal(many_threads, noise((40, 70), "u1", 2), 4, periodic=(True, False))
    assert not jobs


def test_many_runs_get_the_room_they_take(monkeypatch, many_threads, jobs):
    resume, resumed = team.resumed, []

    def noted(job):
        resumed.append(resume(job))
        return resumed[-1]

    monkeypatch.setattr(team, "resumed", noted)
    image = np.zeros((40, 70), np.uint8) + np.arange(70, dtype="u1") % 2
    image[::3] = 0
    for hops in (1, 2):
        check_equal(many_threads, image, 4, connectivity=hops)
    assert len(jobs) == len(resumed) == 2
    assert [job.found[team_jobs.RUNS] - 1 for job in resumed] == [35 * 26, 35 * 20]


# ----------------------------------------------------------------- compiling


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_a_team_is_compiled_once_and_when_it_would_have_been_quicker_often(
    monkeypatch, many_threads, jobs
):
    image = noise((40, 70), "u1", 2)
    check_equal(many_threads, image, 4)
    image.flags.writeable = False
    check_equal(many_threads, image, 4)
    real, sample = (generalized(numba.typeof(job)) for job in (jobs[0], team_jobs.sample_job()))
    assert real == sample
    assert len({tuple(each.args) for each in team_phases.work.nopython_signatures}) == 1
    jobs.clear()
    monkeypatch.setattr(team_labels, "_left", 3)
    monkeypatch.setattr(team_labels, "PATIENCE", 3)
    monkeypatch.setattr(team_labels, "is_kept", lambda *_: False)
    for _ in range(4):
        check_equal(many_threads, image, 4)
    assert len(jobs) == 2


# ---------------------------------------------------------------------- ends


@pytest.mark.parametrize(("turn", "helped"), [(1, True), (1, False), (5, False)])
def test_what_the_caller_hears_in_between_ends_the_work(
    monkeypatch, many_threads, jobs, turn, helped
):
    image, heard = noise((40, 70), "u1", 2), []

    def interrupt():
        heard.append(threading.get_ident())
        if len(heard) == turn:
            raise KeyboardInterrupt

    many_threads(4)
    if not helped:  # by whom all could be done before
        monkeypatch.setattr(threads, "together", lambda direct, *_: direct())
    with threads.interruptible(interrupt), pytest.raises(KeyboardInterrupt):
        label(image)
    assert set(heard) == {threading.get_ident()}
    assert not jobs
    check_equal(many_threads, image, 4)
    assert len(jobs) == 1


def test_an_error_in_a_helper_ends_the_work_and_reaches_the_caller(monkeypatch, many_threads, jobs):
    work, begun = team_phases.work, threading.Event()

    def fail(job, most):
        if most == 1:
            assert begun.wait(10)
            return work(job, most)
        job.board[team.PHASES] += 1  # claims a piece, which is never done
        begun.set()
        time.sleep(0.01)
        raise MemoryError

    monkeypatch.setattr(team_phases, "work", fail)
    many_threads(4)
    with pytest.raises(MemoryError):
        label(noise((40, 70), "u1", 2))
    assert not jobs


@pytest.mark.parametrize("end", ["all is done", "some is left", "fails"])
def test_helpers_are_waited_for_unless_all_is_done(end):
    begun, left, go, done = (threading.Event() for _ in range(4))

    def direct():
        assert begun.wait(10)
        if end == "fails":
            raise KeyboardInterrupt
        return end == "all is done"

    def help_():
        begun.set()
        assert left.wait(10)
        go.wait(10 if end == "all is done" else 0.1)
        done.set()

    try:
        threads.together(direct, help_, left.set, 1)
    except KeyboardInterrupt:
        assert end == "fails"
    assert done.is_set() == (end != "all is done")
    go.set()
    assert done.wait(10)


def test_helpers_wait_but_a_moment_for_the_other_to_leave(monkeypatch, many_threads, jobs):
    def interrupted(direct, help_, *_):
        assert direct()
        help_()  # all is done, and LEFT is not written
        return True

    many_threads(4)
    monkeypatch.setattr(threads, "together", interrupted)
    image = noise((40, 70), "u1", 2)
    np.testing.assert_array_equal(label(image), expected_labels(image, None, 2))
    assert len(jobs) == 1


def test_memory_that_a_team_left_as_it_was_still_holds_zeros(monkeypatch, many_threads, jobs):
    rooms = []
    paint = runs.paint

    def note(table, out, blank):
        rooms.append(blank)
        paint(table, out, blank)

    monkeypatch.setattr(runs, "paint", note)
    monkeypatch.setattr(output, "FRESH", 0)
    many_threads(4)
    label(noise((40, 70), "u1", 3))
    assert rooms == [True]  # the team that declined has not written to it


def test_helpers_that_begin_late_find_nothing_to_do(monkeypatch, many_threads, jobs):
    helped = []

    def alone(direct, help_, leave, _):
        helped.append(help_)
        assert direct()
        leave()

    monkeypatch.setattr(threads, "together", alone)
    check_equal(many_threads, noise((40, 70), "u1", 2), 4)
    before = jobs[0].board.copy()
    helped[0]()
    np.testing.assert_array_equal(jobs[0].board, before)


def test_callers_may_be_threads_themselves(many_threads, jobs):
    images = [noise((60, 70), "u1", 2, seed=seed) for seed in range(24)]
    many_threads(1)
    expected = [label(image) for image in images]
    many_threads(4)
    with ThreadPoolExecutor(6) as callers:
        for labels, found in zip(expected, callers.map(label, images), strict=True):
            np.testing.assert_array_equal(found, labels)
    assert len(jobs) == len(images)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # Python 3.12, on any threads
def test_a_child_that_was_forked_labels_too(many_threads, jobs):
    image = noise((40, 70), "u1", 2)
    check_equal(many_threads, image, 4)
    expected = label(image)
    check_child(image, expected)
    assert len(jobs) == 2


# ------------------------------------------------------------- pieces, claimed


@njit(nogil=True)
def take_part(board, phases, pieces, spins, done, faults):
    """Add 1 to an entry for each piece; count the phases that were opened too early."""
    while True:
        phase = team.read(board, team.OPEN)
        if phase >= phases or team.stopped(board):
            return
        piece = team.claim(board, phase, pieces)
        if piece < 0:
            team.wait(board, team.OPEN, phase, spins)
            continue
        done[phase, piece] += 1
        if team.finish(board, phase, pieces):
            for k in range(pieces):
                faults[phase] += done[phase, k] != 1
            if phase + 1 < phases:
                for k in range(pieces):
                    faults[phase] += done[phase + 1, k] != 0
            team.open_next(board, phase)


@pytest.mark.parametrize("spins", [0, 300])
@pytest.mark.parametrize("count", [1, 2, 12])
def test_every_piece_is_done_once_and_no_phase_begins_early(count, spins):
    phases, pieces = (20, 7) if config.DISABLE_JIT else (300, 37)
    board = team.new_board(phases)
    done, faults = np.zeros((phases, pieces), np.int64), np.zeros(phases, np.int64)
    asked = (board, phases, pieces, spins, done, faults)
    crew = [threading.Thread(target=take_part, args=asked) for _ in range(count)]
    for each in crew:
        each.start()
    for each in crew:
        each.join(60)
    assert (done == 1).all()
    assert not faults.any()
    assert board[team.OPEN] == phases


def test_who_waits_leaves_when_all_are_to_stop():
    board = team.new_board(1)
    board[team.PHASES] = 2  # claimed, by nobody
    none = np.zeros((1, 2), np.int64), np.zeros(1, np.int64)
    waiting = threading.Thread(target=take_part, args=(board, 1, 2, 0, *none))
    waiting.start()
    time.sleep(0.01)
    assert waiting.is_alive()
    board[team.STOP] = 1
    waiting.join(10)
    assert not waiting.is_alive()
