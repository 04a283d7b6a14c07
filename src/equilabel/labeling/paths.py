"""Solving of problems: to the device, along a path, and back."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.devices import fetch, is_on_cuda, passes, place, resolve, threads, using
from equilabel.measuring import count_runs, count_sizes, table_of_runs
from equilabel.papers import load_passes, load_recipe

from .output import (
    LARGEST,
    MOST,
    Calls,
    Output,
    calls_of,
    check_fits,
    is_cut,
    memory_needed,
    passes_of,
    takes_labels,
)
from .problem import check_count, check_whole_pixels, make_grid, most_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array, HostArray
    from equilabel.measuring import Request

    from .problem import Problem


class Wanted(NamedTuple):
    """What is wanted of an image besides its labels."""

    request: Request | None = None  # what to count
    table_only: bool = False  # labels are made only if the request needs them
    painted: bool = True  # False: on the CPU, a RunTable instead of labels is enough


LABELS = Wanted()


class Solution(NamedTuple):
    """What was found."""

    labels: Array  # where the image is; None if nobody needs them
    count: Any  # number of labels; on a GPU an array, so that nothing waits for it
    rounds: int = 1  # how often the recipe repeated its passes
    counts: Any = None  # Counts or DeviceTable of the components, if there is a request
    calls: Calls = ({}, {})  # number and seconds of each pass, if the problem asks for it
    runs: Any = None  # RunTable in place of labels, if these are not painted


class Path(NamedTuple):
    """A way to label images: its name, whom it serves, and the function that does it.

    `label` may return None if it finds that it cannot serve an image; the next path takes it.
    """

    name: str
    sentence: str
    serves: Callable[[Problem, Wanted], bool]
    label: Callable[[Problem, Wanted], Solution | None]
    where: str  # its file or room
    gives: str = ""  # measured against the paths after it, see the lab notes


def path_of(problem: Problem, wanted: Wanted = LABELS) -> Path:
    """Return the first path that serves a problem, on the device that holds its image."""
    return next(path for path in PATHS if path.serves(problem, wanted))


def take_path(problem: Problem, wanted: Wanted) -> Solution:
    """Label an image, on the device that holds it, by the first path that can."""
    tried = (path.label(problem, wanted) for path in PATHS if path.serves(problem, wanted))
    found = next(each for each in tried if each is not None)  # the last path serves all
    request = wanted.request
    if request is None or found.counts is not None:
        return found
    return found._replace(counts=request.count(found.labels))


# ---- Whom each path serves


def _is_plain(problem: Problem, wanted: Wanted) -> bool:
    """Return whether labels by the default method are all that is wanted, without a report."""
    return (
        wanted.request is None
        and wanted.painted
        and problem.method.answer == "runs"
        and not (problem.periodic or problem.reported)
    )


def _is_equality(problem: Problem) -> bool:
    """Return whether foreground is compared with a background value, not with a threshold."""
    return problem.foreground.compare in ("all", "!=")


def _serves_small(problem: Problem, wanted: Wanted) -> bool:
    small = problem.device == "cpu" and problem.image.size < 2 * threads.WEIGHT
    return small and _is_plain(problem, wanted) and _is_equality(problem)


def _serves_team(problem: Problem, wanted: Wanted) -> bool:
    image = problem.image
    if problem.device != "cpu" or image.itemsize > 1 or not image.flags.c_contiguous:
        return False
    if not (_is_plain(problem, wanted) and _is_equality(problem)):
        return False
    from equilabel.runs.cpu.team_labels import is_team

    return image.size <= LARGEST and bool(is_team(image.size))


def _serves_bands(problem: Problem, wanted: Wanted) -> bool:
    if problem.device == "cpu" or problem.stacked or problem.foreground.values:
        return False
    from equilabel.runs.cuda.bands import fits

    shape = tuple(side for side in problem.image.shape if side > 1)
    return _is_plain(problem, wanted) and fits(shape)


def _serves_tiles(problem: Problem, wanted: Wanted) -> bool:
    if problem.device == "cpu" or problem.image.size >= MOST:
        return False
    fractions = problem.foreground.values and problem.image.dtype.kind == "f"
    return _is_plain(problem, wanted) and not fractions


def _serves_parts(problem: Problem, _: Wanted) -> bool:
    runs = problem.method.answer == "runs" and not (problem.periodic or problem.reported)
    large = problem.device != "cpu" and problem.image.size > MOST
    return large and runs and is_cut(problem.image.shape)


# ---- What each path does


def _label_nothing(problem: Problem, _: Wanted) -> Solution:
    output = Output(problem.image, problem.out)
    output.room(0)
    return Solution(output.finish(0), 0)


def _label_small(problem: Problem, _: Wanted) -> Solution | None:
    from equilabel.runs.cpu.serial import single_call

    image, out = problem.image, problem.out
    if out is not None and not takes_labels(out, image):
        return None
    grid = make_grid(problem)
    kind = grid.pixels.shape, grid.pixels.dtype, grid.foreground
    call = single_call(*kind, grid.connectivity, grid.stacked)
    found = call.label(grid.pixels, None if out is None else out.reshape(grid.pixels.shape))
    if found is None:
        return None
    if found[1] < 0:
        check_whole_pixels(image, problem.foreground)
    return Solution(found[0].reshape(image.shape) if out is None else out, found[1])


def _label_in_team(problem: Problem, _: Wanted) -> Solution | None:
    from equilabel.runs.cpu.team_labels import label_in_team

    output, out = Output(problem.image, problem.out), problem.out
    if out is not None and not takes_labels(out, problem.image):
        return None
    room = lambda: output.room(min(most_labels(problem), LARGEST))  # noqa: E731
    count = label_in_team(make_grid(problem), room)
    return None if count is None else Solution(output.finish(count), count)


def _label_in_bands(problem: Problem, _: Wanted) -> Solution | None:
    from equilabel.runs.cuda.bands import labeler_for

    grid, out = make_grid(problem), problem.out
    kind = grid.foreground, grid.connectivity, grid.stacked
    labeler = labeler_for(grid.pixels, *kind, problem.image.shape)
    found = None if labeler is None else labeler(grid.pixels, out)
    return None if found is None else Solution(*found)


def _label_tiles(problem: Problem, _: Wanted) -> Solution | None:
    from equilabel.runs.cuda.tiles import label_tiles

    grid, out = make_grid(problem), problem.out
    kind = grid.foreground, grid.connectivity, grid.stacked
    found = label_tiles(grid.pixels, *kind, out)
    if found is None:
        return None
    labels = out if out is not None else found[0].reshape(problem.image.shape)
    return Solution(labels, found[1])


def _label_in_parts(problem: Problem, _: Wanted) -> Solution | None:
    from .parts import label_large

    found = label_large(problem)
    return None if found is None else Solution(*found)


def _label_by_runs(problem: Problem, wanted: Wanted) -> Solution:
    """Find, unite, number and paint runs, each in a pass; count what follows from runs."""
    output, request = Output(problem.image, problem.out), wanted.request
    kernels = passes_of(runs_on(problem.device), problem.device, reported=problem.reported)
    grid = make_grid(problem)
    room = None
    if kernels.TAKES_ROOM:
        room, _ = output.room(most_labels(problem))
    table = load_recipe("runs")(kernels, grid, room=room, **problem.options)
    if not table.whole:
        check_whole_pixels(problem.image, problem.foreground)
    count = kernels.number(table)
    counts: Any = None
    shape = problem.image.shape
    # Counts have a column for each axis, so no axis may have been dropped; and runs do not tell
    # what lies beyond a periodic boundary.
    if request is not None and grid.shape == shape and not problem.periodic:
        full, only = grid.connectivity == grid.rank, wanted.table_only
        lasts = only or not wanted.painted
        counts = table_of_runs(request, table, shape, problem.device, full=full, lasts=lasts)
        if counts is None:
            values, plan = request.values, request.plan
            counts = count_runs(table, shape, values, plan, problem.device, full=full)
        if counts is not None and only and not request.plan.needs_labels:
            return Solution(None, count, counts=counts, calls=calls_of(kernels))
    if not wanted.painted and (request is None or counts is not None):
        return Solution(None, count, counts=counts, runs=table)
    kernels.paint(table, *output.room(int(count) if room is None else 0))
    return Solution(output.finish(count), count, counts=counts, calls=calls_of(kernels))


def _label_by_roots(problem: Problem, wanted: Wanted) -> Solution:
    """Find roots by a published method, and number them."""
    output, request = Output(problem.image, problem.out), wanted.request
    method, device, options = problem.method, problem.device, dict(problem.options)
    grid = make_grid(problem)
    check_whole_pixels(grid.pixels, problem.foreground)
    accumulate = False
    plain = grid.shape == problem.image.shape and not problem.periodic
    if request is not None and method.accumulates and plain:
        accumulate = options["accumulate"] = request.plan.only_sizes
    kernels = passes_of(load_passes(method.name, device), device, reported=problem.reported)
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


@cache
def runs_on(device: str) -> Any:
    """Load the passes of the default method for "cpu" or a GPU."""
    return load_passes("runs", device)


PATHS = (
    Path(
        "nothing",
        "Images without pixels.",
        lambda problem, _: problem.image.size == 0,
        _label_nothing,
        where="labeling/output.py",
    ),
    Path(
        "roots",
        "Published methods: their recipe finds roots, which are numbered.",
        lambda problem, _: problem.method.answer == "roots",
        _label_by_roots,
        where="papers/",
    ),
    Path(
        "single call",
        "On the CPU, images that one thread labels: one compiled call.",
        _serves_small,
        _label_small,
        where="runs/cpu/serial.py",
        gives="0.1 ms a call",
    ),
    Path(
        "team",
        "On the CPU, with four threads or more, masks: the threads stay inside compiled code.",
        _serves_team,
        _label_in_team,
        where="runs/cpu/team_labels.py",
        gives="1.2 to 2.5 times as fast from 8 threads and 2048 x 2048 pixels on",
    ),
    Path(
        "bands",
        "On a GPU, masks in 2D and 3D that fit it at once: one launch.",
        _serves_bands,
        _label_in_bands,
        where="runs/cuda/bands.py",
        gives="512 x 512: 20 us instead of 33 (blobs), 26 instead of 72 (noise)",
    ),
    Path(
        "tiles",
        "On a GPU, other images of less than 2^31 pixels: four launches, prepared once for a kind.",
        _serves_tiles,
        _label_tiles,
        where="runs/cuda/tiles.py",
        gives="5 us a call on the host, and no checks for images like earlier ones",
    ),
    Path(
        "parts",
        "On a GPU, more than 2^31 pixels: one part after the other, joined at their faces.",
        _serves_parts,
        _label_in_parts,
        where="labeling/parts.py",
        gives="4 bytes for each pixel instead of 12: its labels, and no nodes beside them",
    ),
    Path(
        "passes",
        "Others: tables, periodic axes, thresholds on the CPU. Pack, unite, number and paint runs.",
        lambda *_: True,
        _label_by_runs,
        where="runs/",
    ),
)


def solve(
    problem: Problem,
    request: Request | None = None,
    *,
    counted: bool = False,
    table_only: bool = False,
    painted: bool = True,
) -> Solution:
    """Label the image of a problem, and count the requested properties of its components.

    With `counted`, a GPU is waited for, and the number of labels is an int. With `table_only`,
    labels are made only if the request needs them. Without `painted`, runs are returned instead if
    possible.
    """
    home = resolve("auto", problem.image)
    current = home if problem.device == "cpu" else problem.device
    with using(current, lambda: memory_needed(problem)):
        check_fits(problem, current)
        if problem.numbered_by_columns:
            found = _solve_by_columns(problem, request)
        else:
            found = _solve_there(problem, Wanted(request, table_only, painted))
        return found._replace(count=int(found.count)) if counted else found


def paint(problem: Problem, found: Solution, numbers: HostArray | None = None) -> Solution:
    """Return labels for runs that were not painted: 0 to N or, instead, `numbers`, (N + 1,)."""
    table, count = found.runs, found.count
    output = Output(problem.image, problem.out, table.room)
    if numbers is not None:
        count = int(numbers.max())
        table.relabel(numbers)
    runs_on(problem.device).paint(table, *output.room(count))
    return found._replace(labels=output.finish(count), count=count, runs=None)


def with_number(found: Solution) -> Solution:
    """Wait for the number of labels."""
    with using(resolve("auto", found.labels)):
        return found._replace(count=int(found.count))


def _solve_by_columns(problem: Problem, request: Request | None) -> Solution:
    """Label integers of shape (M, N, 1) in the order of scikit-image: column by column."""
    out = problem.out
    turned = problem._replace(
        image=problem.image.swapaxes(-3, -2),
        out=None if out is None else out.swapaxes(-3, -2),
        periodic=_swapped(problem.periodic),
    )
    found = _solve_there(turned, LABELS)
    labels = found.labels.swapaxes(-3, -2).copy(order="C") if out is None else out
    counts = None
    if request is not None:
        counts = request.count(place(labels, problem.device))
    return found._replace(labels=labels, counts=counts)


def _swapped(periodic: tuple[bool, ...]) -> tuple[bool, ...]:
    """Swap the flags of the second and third axis from the end, if there are any."""
    return (*periodic[:-3], *periodic[-2:-4:-1], *periodic[-1:])


def _solve_there(problem: Problem, wanted: Wanted) -> Solution:
    """Label an image on the device of the problem, and move the labels to that of the image."""
    image, out, device = problem.image, problem.out, problem.device
    if is_on_cuda(image) == (device != "cpu"):
        return take_path(problem, wanted)
    moved = problem._replace(image=place(image, device), out=None)
    found = take_path(moved, wanted._replace(painted=True))
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
