"""Components whose bounding boxes overlap many times over: split together, in few images."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from .montage import split_component

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray


def split_sprawling(
    labels: HostArray,
    chosen: NDArray[np.int64],
    tolerance: float,
    steps: Sequence[float],
    connectivity: int,
) -> Iterator[NDArray[np.int32]]:
    """Split components of an image, all those at once that do not touch each other.

    The time this takes is bounded by the size of the image, whatever shape components have.

    Parameters
    ----------
    labels : array of int
    chosen : array of int
        Labels of the components to split.
    tolerance, steps, connectivity
        As for `split_component`.

    Yields
    ------
    array of int32
        What `split_component` returns for components that do not touch, if they have several parts.
    """
    colors = _color(labels, chosen)
    count = int(colors.max(initial=0))
    colored = colors.astype(np.min_scalar_type(count))[labels]  # callers overwrite labels
    for color in range(1, count + 1):
        parts = split_component(colored == color, tolerance, steps, connectivity)
        if parts is not None:
            yield parts


def _color(labels: HostArray, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each chosen label a number from 1, such that labels that touch have different ones."""
    wanted = np.zeros(int(labels.max(initial=0)) + 1, np.bool_)
    wanted[chosen] = True
    near: dict[int, set[int]] = {int(label): set() for label in chosen}
    for one, other in _touching(labels, wanted):
        near[one].add(other)
        near[other].add(one)
    colors = np.zeros(len(wanted), np.int64)
    for label, others in near.items():
        taken = {int(colors[other]) for other in others}
        colors[label] = next(color for color in range(1, len(others) + 2) if color not in taken)
    return colors


def _touching(labels: HostArray, wanted: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """List the pairs of wanted labels that have neighboring pixels."""
    pairs: set[tuple[int, int]] = set()
    for step in product((-1, 0, 1), repeat=labels.ndim):
        if step > (0,) * labels.ndim:
            one = labels[tuple(slice(max(-s, 0), -s if s > 0 else None) for s in step)]
            other = labels[tuple(slice(max(s, 0), s if s < 0 else None) for s in step)]
            both = (one != other) & wanted[one] & wanted[other]
            pairs |= set(zip(one[both].tolist(), other[both].tolist(), strict=True))
    return sorted(pairs)
