"""Which components can be several objects that touch: told from their counts."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

import numpy as np

from equilabel.measuring.inertia import covariance
from equilabel.measuring.measurement import Measurement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.measuring import Counts

CONVEX = 0.99  # share of its ellipse of inertia that a component fills


def shape_properties(rank: int) -> tuple[str, ...]:
    """List the properties whose counts `may_touch` reads, for a number of spatial axes."""
    return {2: ("bbox", "inertia_tensor", "perimeter_edges"), 3: ("bbox", "inertia_tensor")}.get(
        rank, ("bbox",)
    )


def may_touch(counts: Counts, tolerance: float, steps: Sequence[float]) -> NDArray[np.bool_]:
    """Select components that may be several objects.

    Parameters
    ----------
    counts : Counts
        Of the properties that `shape_properties` lists, at least.
    tolerance : float
        As for `split_component`.
    steps : sequence of float
        Distance of pixels along each spatial axis.

    Returns
    -------
    (N,) array of bool
        False where an object and its neck find no room, or the component is surely convex.
    """
    found = Measurement(counts, (1.0,) * len(steps))
    sides = found.last - found.first
    least = 2 * tolerance + min(steps)  # of the width of an object, without rounding
    at_border = (found.first == 0) | (found.last == found.sides)
    room = (sides + 0.5) * steps >= np.where(at_border, least / 2, least)
    return np.asarray(room.all(axis=1) & ~_convex(found))


def _convex(found: Measurement) -> NDArray[np.bool_]:
    """Select components that fill their ellipse of inertia, and whose rows have no gap."""
    pixels, rank = found.pixels, found.rank
    if rank not in (2, 3):
        return np.zeros(len(pixels), np.bool_)
    spread = covariance(found) + np.eye(rank) / 12  # pixels are squares, not points
    volume = {2: 4 * pi, 3: 4 / 3 * pi * 5**1.5}[rank] * np.sqrt(np.linalg.det(spread))
    convex = pixels >= CONVEX * volume
    if rank == 2:
        faces = np.abs(found.counts.layout.steps).sum(axis=1) == 1
        runs = pixels[:, None] - found.group("pairs")[:, faces]  # of columns, and of rows
        convex &= (runs == (found.last - found.first)[:, ::-1]).all(axis=1)
    return np.asarray(convex)
