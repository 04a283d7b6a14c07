"""Solving of problems: to the device, through the recipe, and back."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.devices import fetch, is_on_cuda, passes, place, resolve, threads, using
from equilabel.measuring import count_runs, count_sizes, table_of_runs
from equilabel.papers import load_passes, load_recipe

from .checks import check_count, check_whole_pixels
from .grids import drop_short_axes, make_grid, most_labels
from .output import LARGEST, Output, takes_labels
from .parts import MOST, check_fits, label_large, memory_needed
from .report import calls_of, passes_of

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.grid import Grid
    from equilabel.measuring import Request

    from .problem import Problem


class Solution(NamedTuple):
    """Labels, counts and other results of a problem."""

    labels: Array  # where the image is; None if they were not requested
    count: Any  # number of labels; on a GPU an array, so that nothing waits for it
    rounds: int = 1  # how often the recipe repeated its passes
    counts: Any = None  # Counts or DeviceTable, if requested
    calls: dict[str, int] | None = None  # how often each pass was called, if requested
    runs: Any = None  # RunTable, if requested instead of labels


def solve(
    problem: Problem,
    request: Request | None = None,
    *,
    counted: bool = False,
    table_only: bool = False,
    painted: bool = True,
) -> Solution:
    """Label the image of a problem, and count the requested properties of its components.

    They are counted from runs if possible, otherwise from labels. With `counted`, the number of
    labels is an int, for which a GPU must be waited for. With `table_only`, labels are made only if
    the request needs them. Without `painted`, runs are returned instead of labels, if a method on
    the CPU finds these.
    """
    if request is None and painted and not problem.periodic and not problem.reported:
        found = _solve_at_once(problem)
        if found is not None:
            return with_number(found) if counted else found
    home = resolve("auto", problem.image)
    current = home if problem.device == "cpu" else problem.device
    with using(current, lambda: memory_needed(problem)):
        check_fits(problem, current)
        if problem.numbered_by_columns:
            found = _solve_by_columns(problem, request)
        else:
            found = _solve_there(problem, request, table_only, painted)
        return found._replace(count=int(found.count)) if counted else found


def _solve_at_once(problem: Problem) -> Solution | None:
    """Label an image by the default method in a single call, or return None if unsupported."""
    image, foreground, connectivity, stacked, method, device, out, *_ = problem
    on_host = type(image) is np.ndarray
    if method.answer != "runs" or on_host != (device == "cpu") or not image.size:
        return None
    shape = image.shape
    if 1 in shape or not shape:
        if problem.numbered_by_columns:
            return None
        image = drop_short_axes(image, stacked)
        connectivity = min(connectivity, image.ndim - stacked)
    if on_host and out is not None:
        if not takes_labels(out, image):
            return None
        out = out.reshape(image.shape)
    kernels = runs_on_host() if on_host else runs_on_gpu()
    found = kernels.label_at_once(image, foreground, connectivity, stacked, out)
    if found is None:
        return None
    labels, count = found
    if on_host and count < 0:
        check_whole_pixels(image, foreground)
    if problem.out is not None:
        labels = problem.out
    return Solution(labels if labels.shape == shape else labels.reshape(shape), count)


def with_number(found: Solution) -> Solution:
    """Wait for the number of labels."""
    with using(resolve("auto", found.labels)):
        return found._replace(count=int(found.count))


@cache
def runs_on_host() -> Any:
    """Load the passes of the default method for the CPU."""
    return load_passes("runs", "cpu")


@cache
def team_on_host() -> Any:
    """Load the passes of the default method for many threads of the CPU."""
    return passes("runs.team_labels", "cpu")


@cache
def runs_on_gpu() -> Any:
    """Load the passes of the default method for GPUs."""
    return load_passes("runs", "cuda")


def _solve_by_columns(problem: Problem, request: Request | None) -> Solution:
    """Label integers of shape (M, N, 1) in the order of scikit-image: column by column."""
    out = problem.out
    turned = problem._replace(
        image=problem.image.swapaxes(-3, -2),
        out=None if out is None else out.swapaxes(-3, -2),
        periodic=_swapped(problem.periodic),
    )
    found = _solve_there(turned, None, False, True)
    labels = found.labels.swapaxes(-3, -2).copy(order="C") if out is None else out
    counts = None
    if request is not None:
        counts = request.count(place(labels, problem.device))
    return found._replace(labels=labels, counts=counts)


def _swapped(periodic: tuple[bool, ...]) -> tuple[bool, ...]:
    """Swap the flags of the second and third axis from the end, if there are any."""
    return (*periodic[:-3], *periodic[-2:-4:-1], *periodic[-1:])


def _solve_there(
    problem: Problem, request: Request | None, table_only: bool, painted: bool
) -> Solution:
    """Label an image on the device of the problem, and move the labels to that of the image."""
    image, out, device = problem.image, problem.out, problem.device
    if is_on_cuda(image) == (device != "cpu"):
        return _solve_here(problem, request, table_only, painted)
    moved = problem._replace(image=place(image, device), out=None)
    found = _solve_here(moved, request, table_only, True)
    if found.labels is None:
        return found
    if out is None:
        home = "cpu" if device != "cpu" else resolve("auto", image)
        return found._replace(labels=place(found.labels, home))
    check_count(out, int(found.count))
    if is_on_cuda(out):
        out[...] = place(found.labels, resolve("auto", out))
    else:
        fetch(found.labels, out)
    return found._replace(labels=out)


def _solve_here(
    problem: Problem, request: Request | None, table_only: bool, painted: bool
) -> Solution:
    """Label an image on the device that holds it."""
    output = Output(problem.image, problem.out)
    if problem.image.size == 0:
        output.room(0)
        found = Solution(output.finish(0), 0)
    elif problem.method.answer == "runs":
        found = _solve_by_runs(problem, output, request, table_only, painted)
    else:
        found = _solve_by_roots(problem, output, request)
    if request is None or found.counts is not None:
        return found
    return found._replace(counts=request.count(found.labels))


def _solve_by_runs(
    problem: Problem,
    output: Output,
    request: Request | None,
    table_only: bool,
    painted: bool,
) -> Solution:
    """Label by a method that finds runs, which are then numbered, counted and painted."""
    if problem.device != "cpu" and problem.image.size > MOST:
        labeled = label_large(problem)
        if labeled is not None:
            return Solution(*labeled)
    kernels = passes_of(load_passes(problem.method.name, problem.device), problem.reported)
    grid = make_grid(problem)
    if request is None and painted and problem.device == "cpu" and not problem.reported:
        number = _label_in_team(problem, grid, output)
        if number is not None:
            return Solution(output.finish(number), number)
    room = None
    if kernels.TAKES_ROOM:
        room, _ = output.room(most_labels(problem))
    table = load_recipe(problem.method.name)(kernels, grid, room=room, **problem.options)
    if not table.whole:
        check_whole_pixels(problem.image, problem.foreground)
    count = kernels.number(table)
    counts: Any = None
    shape = problem.image.shape
    # Runs cannot be counted if axes were dropped, or across periodic boundaries.
    if request is not None and grid.shape == shape and not problem.periodic:
        full = grid.connectivity == grid.rank
        counts = table_of_runs(request, table, shape, problem.device, full=full, lasts=table_only)
        if counts is None:
            values, plan = request.values, request.plan
            counts = count_runs(table, shape, values, plan, problem.device, full=full)
        if counts is not None and table_only and not request.plan.needs_labels:
            return Solution(None, count, counts=counts, calls=calls_of(kernels))
    if not painted and problem.device == "cpu" and (request is None or counts is not None):
        return Solution(None, count, counts=counts, runs=table)
    kernels.paint(table, *output.room(int(count) if room is None else 0))
    return Solution(output.finish(count), count, counts=counts, calls=calls_of(kernels))


def _label_in_team(problem: Problem, grid: Grid, output: Output) -> int | None:
    """Label an image by threads that are started once; return the number of labels, or None.

    None if `out` is unsupported or this would not be faster.
    """
    out = problem.out
    if out is not None and not takes_labels(out, problem.image):
        return None
    found: int | None = team_on_host().label_in_team(
        grid, lambda: output.room(min(most_labels(problem), LARGEST))
    )
    return found


def _solve_by_roots(problem: Problem, output: Output, request: Request | None) -> Solution:
    """Label by a published method, which finds roots, which are then numbered."""
    method, device, options = problem.method, problem.device, dict(problem.options)
    grid = make_grid(problem)
    check_whole_pixels(grid.pixels, problem.foreground)
    accumulate = False
    plain = grid.shape == problem.image.shape and not problem.periodic
    if request is not None and method.accumulates and plain:
        accumulate = options["accumulate"] = request.plan.only_sizes
    kernels = passes_of(load_passes(method.name, device), problem.reported)
    found = load_recipe(method.name)(kernels, grid, **options)
    counts = None
    if accumulate and request is not None:
        counts = count_sizes(found.counts, grid.shape, request.plan)
    if grid.periodic:
        passes("runs.boundaries", device).join_roots(grid, found.roots)
    threads.check()
    number = passes("runs.numbering", device).number_roots
    if device == "cpu":
        count = number(found.roots, found.roots)
        output.room(int(count))[0][:] = found.roots
    else:
        count = number(found.roots, output.room(most_labels(problem))[0])
    return Solution(output.finish(count), count, found.rounds, counts, calls_of(kernels))
