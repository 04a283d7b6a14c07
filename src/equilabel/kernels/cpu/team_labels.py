"""Labels of a large image by a team of threads, see `team_phases`, where that is quicker."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import config

from equilabel import threads

from . import (
    numbering,
    packing,
    painting,
    run_unions,
    runs,
    streaming,
    team,
    team_jobs,
    team_phases,
)
from .addresses import address
from .caching import is_kept
from .run_table import SLACK, RunTable
from .team_jobs import Job, make_job, resumed, sample_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray
    from equilabel.grid import Grid

FEWEST = 4  # threads from which on a team is quicker, and worth compiling what it takes
PATIENCE = 20  # calls after which it is worth compiling
_left = PATIENCE


def label_in_team(grid: Grid, room: Callable[[], tuple[HostArray, bool]]) -> int | None:
    """Label an image, and return the number of components.

    Parameters
    ----------
    grid : Grid
        Not empty.
    room : callable
        Returns a flat array of int32 for the labels, and whether it holds zeros.

    Returns
    -------
    int, or None
        None of images that a team is not made for, or not quicker on: of few threads, of several
        values, or not of bytes.
    """
    image, (compare, level, values) = grid.pixels, grid.foreground
    if not hasattr(os, "fork"):  # no POSIX: `team.sleep` would not be there
        return None
    helpers = min(threads.available(), image.size // threads.WEIGHT) - 1
    if helpers + 1 < FEWEST or compare in runs.COMPARES or grid.periodic:
        return None
    if image.itemsize > 1 or not image.flags.c_contiguous or image.size > np.iinfo("i4").max:
        return None
    table = RunTable.of_grid(grid, grid.block)
    if table.blocks // table.slab < FEWEST or not _is_ready():
        return None
    job = make_job(table, helpers)
    background = np.zeros(1, np.uint8)
    if compare != "all":
        background[0] = np.asarray(level).view(np.uint8)
    out, blank = room()
    streamed = not blank and streaming.is_streamed(table.columns, out)
    given = job.given
    given[team_jobs.BOUNDED], given[team_jobs.BINARY] = compare != "all", not values
    given[team_jobs.BLANK], given[team_jobs.STREAMABLE] = blank, streamed
    job = job._replace(
        kernels=_kernels(table.runs.tall, table.runs.deep, len(table.edges), streamed),
        pixels=image.reshape(-1).view(np.uint8),
        level=background,
        out=out,
    )
    _run(job, helpers)
    if job.found[team_jobs.SEVERAL]:
        return None
    if job.found[team_jobs.RUNS] + SLACK > job.runs.parents.size:
        job = resumed(job)
        _run(job, helpers)
    return int(job.found[team_jobs.COMPONENTS])


@cache
def _kernels(tall: int, deep: int, edges: int, streamed: bool) -> Any:
    """Compile or load the kernels that a job calls, and return their addresses."""
    sample = sample_job()
    table, counts, ends, out = sample.runs, sample.counts, sample.ends, sample.out
    bits, parents, lines, span = table.bits, table.parents, sample.edges, (0, 0, 0, 0)
    asked: dict[int, tuple[Any, ...]] = {
        team_jobs.PACK: (packing.pack, sample.pixels, 0, sample.level[0], True, True, bits),
        team_jobs.BEGIN: (packing.begin, table, 0, 0, counts),
        team_jobs.INDEX: (numbering.index, table, counts, 0, 0),
        team_jobs.ROOTS: (numbering.count_roots, parents, 0, 0),
        team_jobs.NUMBERS: (numbering.number_part, counts, parents, 0, 0, 0, 0, ends),
        team_jobs.FOLLOW: (numbering.follow, parents, 0, 0),
        team_jobs.ROWS: (painting.paint_rows, table, 0, 0, 0, True, out),
        team_jobs.ONE_LABEL: (painting.paint_one, bits, 0, 0, 0, True, True, out),
    }
    if edges:
        asked[team_jobs.LINK] = (run_unions.link, table, lines, 0, span)
        if tall == 1:
            asked[team_jobs.LINK_ROWS] = (run_unions.link_rows_above, table, span)
        else:
            asked[team_jobs.LINK_FIRST] = (run_unions.link_first_edge, table, lines, span)
    if tall * deep > 1:
        asked[team_jobs.ORDER] = (numbering.reorder, table, 0, 0, ends, parents)
        asked[team_jobs.RENAME] = (numbering.relabel, parents, 0, 0, parents)
    if streamed:
        asked[team_jobs.STREAMED] = (streaming.stream_rows, table, 0, 0, 0, out)
    kernels: list[Any] = [0] * team_jobs.KERNELS
    for place, (kernel, *arguments) in asked.items():
        kernels[place] = address(kernel, tuple(arguments))
    return kernels if config.DISABLE_JIT else np.array(kernels, np.uintp)


def _is_ready() -> bool:
    """Return whether calling a team compiles nothing, or would have been quicker often before."""
    global _left
    if _left > 0 and _left == PATIENCE and is_kept(team_phases.work, (sample_job(), -1)):
        _left = 0
    _left = max(0, _left - 1)
    return _left == 0


def _run(job: Job, helpers: int) -> None:
    """Do a job with helpers: what the calling thread hears in between, or they meet, ends it."""
    board = job.board
    errors: list[BaseException] = []

    def direct() -> bool:
        threads.check()
        while not team_phases.work(job, 1):
            threads.check()
        if errors:
            raise errors[0]
        return not job.found[team_jobs.SEVERAL]  # some may still look at pixels

    def help_() -> None:
        try:
            team_phases.work(job, -1)
        except BaseException as error:
            errors.append(error)
            board[team.STOP] = 1

    def leave() -> None:
        board[team.STOP] = board[team.LEFT] = 1

    threads.together(direct, help_, leave, helpers)
