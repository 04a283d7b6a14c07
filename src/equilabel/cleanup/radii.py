"""Radii of the largest disks (balls) that lie inside a mask, at points between pixels too.

Centers of pixels alone would not do: the middle of a rod of even width lies between pixels, so a
rod that is not parallel to an axis would be wider and narrower by turns, by half a pixel.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FINE = 2**24  # half pixels, along each axis, that are looked at at once: half a gigabyte in 2D
WHOLE = 2**15  # half pixels along an axis, whose squares add up in 32 bits


def measure_radii(
    mask: NDArray[np.bool_], steps: Sequence[float]
) -> tuple[NDArray[np.float64], float]:
    """Measure for each pixel how large a disk (ball) around a point of it may be.

    Parameters
    ----------
    mask : array of bool
        With a pixel outside at least.
    steps : sequence of float
        Distance of pixels along each axis.

    Returns
    -------
    radii : array of float64
        Distance of the best of 4 (8) points of each pixel to the nearest outside.
    rounding : float
        By how much radii may differ along a rod of even width: 0, or half a pixel where objects are
        so large that memory allows no more than the distance of centers.
    """
    if mask.size << mask.ndim <= FINE:
        return _radii(mask, steps), 0.0
    from scipy.ndimage import distance_transform_edt

    coarse: NDArray[np.float64] = distance_transform_edt(mask, sampling=steps)
    halo = [int(coarse.max() / step) + 2 for step in steps]
    side = int((FINE >> mask.ndim) ** (1 / mask.ndim))
    cores = [side - 2 * width for width in halo]
    if min(cores) * 4 < side:
        return coarse, min(steps) / 2
    for begin in product(*map(range, [0] * mask.ndim, mask.shape, cores)):
        inner, outer, within = [], [], []
        for first, core, width in zip(begin, cores, halo, strict=True):
            low = max(first - width, 0)
            inner.append(slice(first, first + core))
            outer.append(slice(low, first + core + width))
            within.append(slice(first - low, first - low + core))
        coarse[tuple(inner)] = _radii(mask[tuple(outer)], steps)[tuple(within)]
    return coarse, 0.0


def _radii(mask: NDArray[np.bool_], steps: Sequence[float]) -> NDArray[np.float64]:
    """Measure a mask at once."""
    if mask.all():  # a core of an object, of which nothing is used
        return np.zeros(mask.shape)
    for axis in range(mask.ndim):
        mask = mask.repeat(2, axis=axis)
    whole = set(steps) == {1.0} and max(mask.shape) < WHOLE  # faster, and the same numbers
    square = _squares(mask, None if whole else [step / 2 for step in steps])
    for axis in range(mask.ndim):
        even, odd = ((slice(None),) * axis + (slice(first, None, 2),) for first in (0, 1))
        square = np.maximum(square[even], square[odd])
    radii: NDArray[np.float64] = np.sqrt(square / 4 if whole else square)
    return radii


def _squares(mask: NDArray[np.bool_], steps: Sequence[float] | None) -> NDArray[Any]:
    """Return the squares of distances to the nearest pixel outside; as int32 if without steps.

    SciPy computes distances from the same indices, in larger arrays that take longer.
    """
    from scipy.ndimage import distance_transform_edt

    total: Any = 0
    nearest = distance_transform_edt(mask, steps, return_distances=False, return_indices=True)
    for axis, place in enumerate(nearest):
        own = np.arange(mask.shape[axis], dtype=place.dtype)
        place -= own.reshape([-1 if a == axis else 1 for a in range(mask.ndim)])
        away = place if steps is None else place * steps[axis]
        away *= away
        total = np.add(total, away, out=away)
    return np.asarray(total)
