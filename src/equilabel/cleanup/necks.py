"""Where a component has necks, and what parts it falls into there.

At each pixel, the distance to the nearest point outside is the radius of the largest disk (ball)
around it that lies inside. Each object has a maximum of it; between two that touch lies a neck,
where the best way from one maximum to the other is narrowest. A maximum counts if the radius there
exceeds that at the neck to any higher one by more than a tolerance: maxima of height h, in the
words of mathematical morphology. From them a watershed floods the component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .radii import measure_radii

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROUNDS = 12  # each looks at all pixels; a reconstruction takes as long as 20


def split_component(
    mask: NDArray[np.bool_], tolerance: float, steps: Sequence[float], connectivity: int
) -> NDArray[np.int32] | None:
    """Split a component at its necks.

    Parameters
    ----------
    mask : array of bool
        The component with a pixel of background around it, except where the image ends: there it
        is taken to go on. It may hold several components that do not touch.
    tolerance : float
        How much wider than its neck an object has to be, as a radius.
    steps : sequence of float
        Distance of pixels along each axis, in the unit of `tolerance`.
    connectivity : int
        Most hops between neighbors.

    Returns
    -------
    array of int32, or None
        Number of the part at each pixel, from 1, and 0 outside. None if there is one part.
    """
    from scipy import ndimage

    if mask.all():
        return None
    distance, rounding = measure_radii(mask, steps)
    tolerance += rounding
    neighbors = ndimage.generate_binary_structure(mask.ndim, connectivity)
    seeds = _find_seeds(distance, tolerance, min(steps) / 2, neighbors)
    if seeds is None:
        return None
    from skimage.segmentation import watershed

    parts: NDArray[np.int32] = watershed(-distance, seeds, connectivity=neighbors, mask=mask)
    return parts


def _find_seeds(
    distance: NDArray[np.float64], tolerance: float, least: float, neighbors: NDArray[np.bool_]
) -> NDArray[np.int32] | None:
    """Find the maxima of more than a height, with all around that is not lower by as much.

    From the greatest maximum down, the pixels that can be reached without falling by more than the
    tolerance are looked at: if a higher one is among them, no maximum there counts. A few rounds
    suffice for most components; of others, the reconstruction of scikit-image finds all at once.
    """
    from scipy import ndimage

    top = ndimage.maximum_filter(distance, footprint=neighbors) == distance
    maxima = np.flatnonzero(top & (distance > tolerance + least))  # a neck has a width
    seeds, count = np.zeros(distance.shape, np.int32), 0
    for _ in range(ROUNDS):
        if not len(maxima):
            return seeds if count > 1 else None
        heights = distance.ravel()[maxima]
        highest = maxima[heights.argmax()]
        height = distance.ravel()[highest]
        reached, _ = ndimage.label(distance >= height - tolerance, neighbors)
        around = reached == reached.ravel()[highest]
        if distance[around].max() <= height:
            count += 1
            seeds[around] = count
        maxima = maxima[~around.ravel()[maxima]]
    seeds, count = ndimage.label(_high_maxima(distance, tolerance, neighbors), neighbors)
    return seeds if count > 1 else None


def _high_maxima(
    distance: NDArray[np.float64], tolerance: float, neighbors: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Find the maxima of more than a height, and what is around them.

    `skimage.morphology.h_maxima` would return all pixels of the greatest value, so two equal
    disks as two seeds even without a neck. The maxima of what remains if `tolerance` is cut off
    from every peak are right: they are plateaus of one value, copied and not computed.
    """
    from skimage.morphology import local_maxima, reconstruction

    lowered = reconstruction(distance - tolerance, distance, footprint=neighbors)
    found: NDArray[np.bool_] = local_maxima(lowered, footprint=neighbors) & (lowered > 0)
    return found
