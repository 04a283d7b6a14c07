"""Solving of problems: to the device, along a path, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.devices import fetch, is_on_cuda, place, resolve, using

from .checks import check_count
from .parts import check_fits, memory_needed
from .paths import LABELS, Solution, Wanted, take_path

if TYPE_CHECKING:
    from equilabel.measuring import Request

    from .problem import Problem


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
    home = resolve("auto", problem.image)
    current = home if problem.device == "cpu" else problem.device
    with using(current, lambda: memory_needed(problem)):
        check_fits(problem, current)
        if problem.numbered_by_columns:
            found = _solve_by_columns(problem, request)
        else:
            found = _solve_there(problem, Wanted(request, table_only, painted))
        return found._replace(count=int(found.count)) if counted else found


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
