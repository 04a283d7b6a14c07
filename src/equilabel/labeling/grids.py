"""Grids for passes, made from problems: without axes of length 1, in memory as kernels read it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from equilabel.devices import library
from equilabel.domains.grid import Grid

from .checks import check_whole_pixels, make_problem

if TYPE_CHECKING:
    from equilabel.array_types import Array

    from .problem import Problem


def make_grid(problem: Problem) -> Grid:
    """Return the grid of a problem, without its axes of length 1."""
    pixels = drop_short_axes(problem.image, problem.stacked)
    foreground = problem.foreground
    if not pixels.flags.c_contiguous and (
        problem.device != "cpu" or problem.method.answer != "runs"
    ):
        pixels = library(pixels).ascontiguousarray(pixels)
    connectivity = min(problem.connectivity, pixels.ndim - problem.stacked)
    around = long_periodic(problem) if problem.periodic else ()
    grid = Grid(pixels, foreground, connectivity, problem.stacked, around)
    if problem.device != "cpu" and foreground.values and pixels.dtype.kind == "f":
        check_whole_pixels(pixels, foreground)
        flat, level = grid.values  # kernels compare bits
        foreground = foreground._replace(level=level)
        flat = flat.reshape(pixels.shape)
        grid = Grid(flat, foreground, connectivity, problem.stacked, around)
    return grid


def plain_grid(
    image: Array, background: Any, connectivity: int | None, stacked: bool
) -> Grid | None:
    """Return the grid of an image, or None if the image cannot be labeled where and as it is.

    Arguments are those of `label`, and are checked.
    """
    problem = make_problem(image, background, connectivity, stacked)
    if problem.image is not image or not image.size or problem.numbered_by_columns:
        return None
    pixels = drop_short_axes(image, stacked)
    hops = min(problem.connectivity, pixels.ndim - stacked)
    return Grid(pixels, problem.foreground, hops, stacked)


def long_periodic(problem: Problem) -> tuple[bool, ...]:
    """Return which axes that `drop_short_axes` keeps are periodic; empty if none are.

    Axes of up to 2 pixels are treated as open: their pixels are neighbors in any case.
    """
    each = enumerate(zip(problem.image.shape, problem.periodic, strict=True))
    kept = tuple(
        periodic and side > 2
        for axis, (side, periodic) in each
        if side > 1 or (problem.stacked and axis == 0)
    )
    return kept if any(kept) else ()


def drop_short_axes(image: Array, stacked: bool) -> Array:
    """Remove axes of length 1, along which nothing can be connected; at least one axis remains."""
    shape = image.shape
    if 1 not in shape[stacked:] and len(shape) > stacked:
        return image
    keep = [side for axis, side in enumerate(shape) if side > 1 or (stacked and axis == 0)]
    return image.reshape(keep + [1] * (len(keep) == stacked))


def most_labels(problem: Problem) -> int:
    """Return an upper limit of the number of labels of an image."""
    size = prod(map(int, problem.image.shape))
    return size if problem.foreground.values else (size + 1) // 2
