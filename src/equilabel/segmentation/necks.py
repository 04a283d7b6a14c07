"""Parts of components: maxima of the distance to the background, and a watershed."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Seeds = tuple[NDArray[np.intp], NDArray[np.int32]]


# ---- Radii of the largest disks (balls) inside a mask, also around points between pixels
# Distances of pixel centers are not enough: the middle of a rod of even width lies between pixels,
# so the radii along a rod that is not parallel to an axis would vary by half a pixel.

FINE = 2**24  # half pixels (halved along each axis) computed at once: half a gigabyte in 2D
WHOLE = 2**15  # half pixels along an axis whose squared distances add up in 32 bits


def measure_radii(
    mask: NDArray[np.bool_], distances: Sequence[float]
) -> tuple[NDArray[np.float64], float]:
    """Return for each pixel the radius of the largest disk (ball) around a point of it, as float64.

    The radius is the greatest distance of 4 (in 3D 8) points of the pixel to the background; `mask`
    must have a background pixel. Also returns by how much radii may vary along a rod of even width:
    0, or half a pixel if objects are too large for this, so that only pixel centers are measured.
    """
    if mask.size << mask.ndim <= FINE:
        return _radii(mask, distances), 0.0
    from scipy.ndimage import distance_transform_edt

    coarse: NDArray[np.float64] = distance_transform_edt(mask, sampling=distances)
    halo = [int(coarse.max() / distance) + 2 for distance in distances]
    side = int((FINE >> mask.ndim) ** (1 / mask.ndim))
    cores = [side - 2 * width for width in halo]
    if min(cores) * 4 < side:
        return coarse, min(distances) / 2
    for begin in product(*map(range, [0] * mask.ndim, mask.shape, cores)):
        inner, outer, within = [], [], []
        for first, core, width in zip(begin, cores, halo, strict=True):
            low = max(first - width, 0)
            inner.append(slice(first, first + core))
            outer.append(slice(low, first + core + width))
            within.append(slice(first - low, first - low + core))
        coarse[tuple(inner)] = _radii(mask[tuple(outer)], distances)[tuple(within)]
    return coarse, 0.0


def _radii(mask: NDArray[np.bool_], distances: Sequence[float]) -> NDArray[np.float64]:
    """Measure the radii of a whole mask at once."""
    if mask.all():  # a block inside an object, whose radii are not used
        return np.zeros(mask.shape)
    for axis in range(mask.ndim):
        mask = mask.repeat(2, axis=axis)
    whole = set(distances) == {1.0} and max(mask.shape) < WHOLE  # faster, and the same numbers
    square = _squares(mask, None if whole else [distance / 2 for distance in distances])
    for axis in range(mask.ndim):
        even, odd = ((slice(None),) * axis + (slice(first, None, 2),) for first in (0, 1))
        square = np.maximum(square[even], square[odd])
    radii: NDArray[np.float64] = np.sqrt(square / 4 if whole else square)
    return radii


def _squares(mask: NDArray[np.bool_], distances: Sequence[float] | None) -> NDArray[Any]:
    """Return squared distances to the nearest background pixel; as int32 if `distances` is None.

    SciPy computes distances from the same indices, but in larger arrays, which takes longer.
    """
    from scipy.ndimage import distance_transform_edt

    total: Any = 0
    nearest = distance_transform_edt(mask, distances, return_distances=False, return_indices=True)
    for axis, place in enumerate(nearest):
        own = np.arange(mask.shape[axis], dtype=place.dtype)
        place -= own.reshape([-1 if a == axis else 1 for a in range(mask.ndim)])
        away = place if distances is None else place * distances[axis]
        away *= away
        total = np.add(total, away, out=away)
    return np.asarray(total)


# ---- Necks of components, and the parts between them
# At each pixel, the distance to the background is the radius of the largest disk (ball) around it
# that lies inside. It has a maximum in each object. A neck is the narrowest part of the widest path
# between two maxima. A maximum is a seed if its radius exceeds the radius of the neck to any higher
# maximum by more than the tolerance (h-maxima in mathematical morphology). A watershed floods the
# component from the seeds.
#
# All components of a montage are searched at the same time; the result of one does not depend on
# the others.

ROUNDS = 12  # each reads all pixels; a reconstruction takes as long as 20


def find_seeds(
    radii: NDArray[np.float64],
    owners: NDArray[np.intp],
    tolerance: float,
    distances: Sequence[float],
    connectivity: int,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the seeds of the parts of components, (..., C) int32, and which images have several.

    `radii`, (..., C), are those of images side by side along the last axis, whose components do not
    touch; `owners`, (C,) and ascending, is the image of each column. `tolerance` is by how much the
    radius of an object must exceed that of its neck, in the unit of `distances`, those of
    neighboring pixels along the axes.
    """
    from scipy import ndimage

    neighbors = ndimage.generate_binary_structure(radii.ndim, connectivity)
    search = _Search(radii, owners, tolerance, min(distances) / 2, neighbors)
    return search.seeds(), search.found > 1


def grow_seeds(
    seeds: NDArray[np.int32],
    radii: NDArray[np.float64],
    mask: NDArray[np.bool_],
    connectivity: int,
) -> NDArray[np.int32]:
    """Flood a component from its seeds: the number of the part at each pixel, 0 outside.

    Not for montages: where two seeds are equally near, the result of scikit-image's watershed
    depends on what else it floods.
    """
    from skimage.segmentation import watershed

    parts: NDArray[np.int32] = watershed(-radii, seeds, connectivity=connectivity, mask=mask)
    return parts


class _Search:
    """Finds the maxima that exceed their necks by more than the tolerance.

    It starts at the greatest maximum of each image and visits the pixels that can be reached
    without going down by more than the tolerance. If a higher maximum is among them, none of the
    maxima reached counts. A few rounds suffice for most components; the rest take a reconstruction.
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
        order = np.lexsort((-heights, owner))  # equal maxima in raster order
        self.places, self.heights, self.owner = places[:, order], heights[order], owner[order]
        self.left = np.ones(len(order), np.bool_)  # maxima that were not visited yet
        self.found = np.zeros(int(owners[-1]) + 1, np.intp)  # seeds in each image
        self.radii, self.owners = radii, owners  # of the images that are not done
        self.columns = np.arange(len(owners))  # their columns in the montage
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
        """Remove the columns of images that are done."""
        kept, inside = going_on[self.owners], going_on[self.owner]
        self.columns, self.owners = self.columns[kept], self.owners[kept]
        self.radii = self.radii[..., kept]
        self.places, self.heights = self.places[:, inside], self.heights[inside]
        self.owner, self.left = self.owner[inside], self.left[inside]
        self.places[-1] = (np.cumsum(kept) - 1)[self.places[-1]]

    def _look(self) -> Seeds:
        """Visit the greatest remaining maximum of each image."""
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
        """Find all seeds of the remaining images."""
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
    """Return the h-maxima of a height, with the pixels around them.

    `skimage.morphology.h_maxima` returns all pixels of the greatest value, so two equal disks would
    be two seeds even without a neck. Cutting `tolerance` off every peak gives the right maxima:
    plateaus of one value, which is copied, not computed.
    """
    from skimage.morphology import local_maxima, reconstruction

    lowered = reconstruction(distance - tolerance, distance, footprint=neighbors)
    found: NDArray[np.bool_] = local_maxima(lowered, footprint=neighbors) & (lowered > 0)
    return found
