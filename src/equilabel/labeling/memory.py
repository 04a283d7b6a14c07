"""How much memory labeling takes, told before it starts."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from equilabel.devices import check_memory, is_on_cuda

from .grids import drop_short_axes
from .parts import MOST, is_cut, planes_of_part

if TYPE_CHECKING:
    from .problem import Problem

LARGE = 2**28  # pixels for which memory is looked at first: that takes as long as a small image


def check_fits(problem: Problem, device: str) -> None:
    """Raise DeviceMemoryError if a large image cannot be labeled in the memory that is free.

    Parameters
    ----------
    device : str
        The current device.
    """
    if device != "cpu" and problem.image.size >= LARGE and problem.method.answer == "runs":
        check_memory(device, memory_needed(problem))


def memory_needed(problem: Problem) -> int:
    """Return about how many bytes labels and the tables of the default method take at most."""
    image = problem.image
    size = prod(map(int, image.shape))
    moved = 0 if is_on_cuda(image) and image.flags.c_contiguous else size * image.itemsize
    part, wide = size, size > MOST
    if wide and not problem.periodic:
        shape = drop_short_axes(image, problem.stacked).shape
        part, wide = size // shape[0] * planes_of_part(shape), not is_cut(shape)
    if problem.foreground.values:
        tables = 9 * part // 4
    else:  # rows of tiles that span two axes are short
        tables = part // (2 if image.ndim - problem.stacked > 2 else 4)
    labels = 0 if problem.out is not None else 4 * size
    return moved + tables + labels + wide * 8 * size
