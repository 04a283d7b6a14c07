"""Parts of components: maxima of the distance to the outside, and a watershed."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Seeds = tuple[NDArray[np.intp], NDArray[np.int32]]


# ---- Radii of the largest disks (balls) that lie inside a mask, at points between pixels too
# Centers of pixels alone would not do: the middle of a rod of even width lies between pixels, so a
# rod that is not parallel to an axis would be wider and narrower by turns, by half a pixel.

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


# ---- Where a component has necks, and what parts it falls into there
# At each pixel, the distance to the nearest point outside is the radius of the largest disk (ball)
# around it that lies inside. Each object has a maximum of it; between two that touch lies a neck,
# where the best way from one maximum to the other is narrowest. A maximum counts if the radius
# there exceeds that at the neck to any higher one by more than a tolerance: maxima of height h, in
# the words of mathematical morphology. From them a watershed floods the component.
#
# Components that lie beside one another in a montage are searched at the same time: nothing that is
# done to one depends on another.

ROUNDS = 12  # each looks at all pixels; a reconstruction takes as long as 20


def find_seeds(
    radii: NDArray[np.float64],
    owners: NDArray[np.intp],
    tolerance: float,
    steps: Sequence[float],
    connectivity: int,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Find the parts that components fall into, of a montage of them.

    Parameters
    ----------
    radii : (..., C) array of float64
        What `measure_radii` returns for images beside one another along the last axis, whose
        components do not touch.
    owners : (C,) array of int
        To which image each column belongs, from 0. Ascending.
    tolerance : float
        How much wider than its neck an object has to be, as a radius.
    steps : sequence of float
        Distance of pixels along each axis, in the unit of `tolerance`.
    connectivity : int
        Most hops between neighbors.

    Returns
    -------
    seeds : (..., C) array of int32
        Number of the seed at each pixel, from 1, and 0 elsewhere.
    several : (N,) array of bool
        Whether each image has several seeds.
    """
    from scipy import ndimage

    neighbors = ndimage.generate_binary_structure(radii.ndim, connectivity)
    search = _Search(radii, owners, tolerance, min(steps) / 2, neighbors)
    return search.seeds(), search.found > 1


def grow_seeds(
    seeds: NDArray[np.int32],
    radii: NDArray[np.float64],
    mask: NDArray[np.bool_],
    connectivity: int,
) -> NDArray[np.int32]:
    """Flood an image of a component from its seeds.

    Not a montage: where two seeds are equally near, the watershed of scikit-image decides by what
    else it floods.

    Parameters
    ----------
    seeds, radii : array
        As `find_seeds` and `measure_radii` return them.
    mask : array of bool
    connectivity : int

    Returns
    -------
    array of int32
        Number of the seed whose part it is at each pixel, and 0 outside.
    """
    from skimage.segmentation import watershed

    parts: NDArray[np.int32] = watershed(-radii, seeds, connectivity=connectivity, mask=mask)
    return parts


class _Search:
    """Finds the maxima of more than a height, with all around that is not lower by as much.

    From the greatest maximum of each image down, the pixels that can be reached without falling by
    more than the tolerance are looked at: if a higher one is among them, no maximum there counts. A
    few rounds suffice for most components; of others, the reconstruction of scikit-image finds all
    at once.
    """

    def __init__(
        self,
        radii: NDArray[np.float64],
        owners: NDArray[np.intp],
        tolerance: float,
        least: float,
        neighbors: NDArray[np.bool_],
    ) -> None:
        from scipy.ndimage import maximum_filter

        top = maximum_filter(radii, footprint=neighbors) == radii
        places = np.array(np.nonzero(top & (radii > tolerance + least)))  # a neck has a width
        heights, owner = radii[tuple(places)], owners[places[-1]]
        order = np.lexsort((-heights, owner))  # of equals, the first in raster order
        self.places, self.heights, self.owner = places[:, order], heights[order], owner[order]
        self.left = np.ones(len(order), np.bool_)  # maxima that were not yet looked at
        self.found = np.zeros(int(owners[-1]) + 1, np.intp)  # seeds in each image
        self.radii, self.owners = radii, owners  # of the images that are left
        self.columns = np.arange(len(owners))  # where these are
        self.tolerance, self.neighbors = tolerance, neighbors

    def seeds(self) -> NDArray[np.int32]:
        """Return the number of the seed at each pixel, from 1, and 0 elsewhere."""
        seeds, count = np.zeros(self.radii.shape, np.int32), 0
        for rounds in range(ROUNDS + 1):
            maxima = np.bincount(self.owner[self.left], minlength=len(self.found))
            going_on = (maxima > 0) & (maxima + self.found > 1)
            if not going_on.any():
                break
            kept = going_on[self.owners]
            if 2 * np.count_nonzero(kept) <= len(kept) or rounds == ROUNDS:
                self._narrow(going_on)
            places, numbers = self._reconstruct() if rounds == ROUNDS else self._look()
            *others, last = np.unravel_index(places, self.radii.shape)
            seeds[(*others, self.columns[last])] = numbers + count
            count += int(numbers.max(initial=0))
        return seeds

    def _narrow(self, going_on: NDArray[np.bool_]) -> None:
        """Leave out the images that are done."""
        kept, inside = going_on[self.owners], going_on[self.owner]
        self.columns, self.owners = self.columns[kept], self.owners[kept]
        self.radii = self.radii[..., kept]
        self.places, self.heights = self.places[:, inside], self.heights[inside]
        self.owner, self.left = self.owner[inside], self.left[inside]
        self.places[-1] = (np.cumsum(kept) - 1)[self.places[-1]]

    def _look(self) -> Seeds:
        """Look at the greatest maximum that is left in each image."""
        from scipy import ndimage

        left = np.flatnonzero(self.left)
        first = left[np.flatnonzero(np.diff(self.owner[left], prepend=-1))]
        images = self.owner[first]
        level = np.full(len(self.found), np.inf)
        level[images] = self.heights[first] - self.tolerance
        reached, count = ndimage.label(self.radii >= level[self.owners], self.neighbors)
        around = reached[tuple(self.places)]
        highest = np.zeros(count + 1)
        np.maximum.at(highest, around, self.heights)
        good = highest[around[first]] <= self.heights[first]
        region = np.zeros(len(self.found), np.intp)
        region[images] = around[first]
        self.left &= around != region[self.owner]
        self.found[images[good]] += 1
        numbers = np.zeros(count + 1, np.int32)
        numbers[around[first[good]]] = np.arange(1, np.count_nonzero(good) + 1)
        places = np.flatnonzero((numbers > 0)[reached])
        return places, numbers[reached.reshape(-1)[places]]

    def _reconstruct(self) -> Seeds:
        """Find all seeds of the images that are left."""
        from scipy import ndimage

        high = _high_maxima(self.radii, self.tolerance, self.neighbors)
        seeds, _ = ndimage.label(high, self.neighbors)
        *_, last = np.nonzero(seeds)
        _, begin = np.unique(seeds[seeds > 0], return_index=True)
        images, counts = np.unique(self.owners[last[begin]], return_counts=True)
        self.found[images] = counts
        self.left[:] = False
        places = np.flatnonzero(seeds)
        return places, seeds.reshape(-1)[places]


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
