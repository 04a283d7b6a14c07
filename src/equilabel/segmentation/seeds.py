"""`grow`: objects grown from seeds into their surroundings; and parts around given markers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_flag, normalize_bools
from equilabel.devices import fetch, place, resolve, take, using
from equilabel.measuring import check_spacing
from equilabel.measuring.checks import check_labels
from equilabel.quantities import length_in_pixels, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import HostArray
    from equilabel.quantities import Length


def grow(
    labels: ArrayLike,
    distance: Length | None = None,
    *,
    mask: ArrayLike | None = None,
    image: ArrayLike | None = None,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
) -> HostArray:
    """Grow objects into their surroundings: cells around nuclei.

    Parameters
    ----------
    labels : (M, N[, ...]) array of int
        Objects to grow from, 0 for background. They keep their pixels and their labels.
    distance : float or str, optional
        How far they grow at most: in pixels of the smallest spacing, or with a unit, "2um".
    mask : (M, N[, ...]) array of bool, optional
        Where they may grow: the foreground of the cells, from `binarize`. What is not connected to
        an object stays background.
    image : (M, N[, ...]) array, optional
        Gray values: objects meet where the image is darkest between them, instead of halfway.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis. Default 1.
    unit : str, optional
        Unit of `spacing`. Required if `distance` has a unit.
    stacked : bool
        Whether the first axis counts independent images.

    Returns
    -------
    array of int
        Labels, of the type of `labels` and on its device; computed on the CPU, by scikit-image.

    Raises
    ------
    TypeError, ValueError
        If neither `distance` nor `mask` is given, shapes differ, or an argument is out of range.

    Examples
    --------
    >>> grow(np.array([[0, 0, 1, 0, 0, 0, 2]]), 1)
    array([[0, 1, 1, 1, 0, 2, 2]])
    """
    source, stacked = check_labels(labels), check_flag("stacked", stacked)
    rank = source.ndim - stacked
    distances = check_spacing(spacing, rank)
    if distance is None and mask is None:
        message = (
            "distance or mask must be given; got neither. Pass how far objects grow, such as 5."
        )
        raise ValueError(message)
    scale: Any = {"spacing": None if spacing is None else distances, "unit": unit}
    far = np.inf if distance is None else reach("distance", distance, **scale) * min(distances)
    numbers = fetch(source)
    masks = None if mask is None else beside("mask", mask, numbers).astype(bool)
    images = None if image is None else beside("image", image, numbers)
    out = np.empty_like(numbers)
    for k in range(len(numbers)) if stacked else (...,):
        area, values = (None if each is None else each[k] for each in (masks, images))
        out[k] = _grow_one(numbers[k], far, area, values, distances)
    return place_like(source, out)


def reach(name: str, distance: Any, spacing: Sequence[float] | None, unit: str | None) -> float:
    """Return how far objects grow, in pixels of the smallest spacing; raise the errors of `parse`.

    >>> reach("grow", "2um", (1.0, 0.5), "um")
    4.0
    """
    parse(name, distance)
    finest = None if spacing is None else (min(spacing),)
    return length_in_pixels(name, distance, 1, spacing=finest, unit=unit)[0]


def place_like(source: HostArray, made: HostArray) -> HostArray:
    """Return an array of the host on the device of another one."""
    where = resolve("auto", source)
    if where == "cpu":
        return made
    with using(where):
        there: HostArray = place(made, where)
    return there


def beside(name: str, array: Any, labels: HostArray, of: str = "labels") -> HostArray:
    """Return an array on the host; raise ValueError unless it has the shape of labels."""
    found: HostArray = fetch(normalize_bools(take(array, name)))
    if found.shape != labels.shape:
        message = f"{name} must have the shape of the {of}, {labels.shape}; got {found.shape}."
        raise ValueError(message)
    return found


def _grow_one(
    labels: HostArray,
    far: float,
    mask: NDArray[np.bool_] | None,
    image: HostArray | None,
    spacing: tuple[float, ...],
) -> HostArray:
    """Grow the objects of one image."""
    from scipy.ndimage import distance_transform_edt
    from skimage.segmentation import expand_labels, watershed

    if not labels.any():
        return labels
    if mask is None and image is None:
        return np.asarray(expand_labels(labels, far, spacing=spacing), labels.dtype)
    apart = distance_transform_edt(labels == 0, sampling=spacing)
    area = apart <= far if mask is None else (apart <= far) & mask
    relief = apart if image is None else -finite(image)
    kind = np.int32 if labels.dtype.itemsize <= 4 else np.int64
    grown: HostArray = watershed(relief, labels.astype(kind), mask=area | (labels > 0))
    return grown.astype(labels.dtype)


def finite(image: HostArray) -> NDArray[np.float64]:
    """Return gray values as floats, the lowest one for NaN."""
    values = image.astype(np.float64)
    return np.nan_to_num(values, nan=np.nanmin(values) if np.isfinite(values).any() else 0.0)


# ---- Parts around given markers


def check_markers(markers: Any, labels: HostArray, of: str = "labels") -> HostArray:
    """Return markers on the host; raise TypeError or ValueError unless they are beside labels."""
    seeds = beside("markers", markers, labels, of)
    if seeds.dtype.kind not in "bui":
        message = f"markers must be a mask or integers; got {seeds.dtype}. Pass label(markers)."
        raise TypeError(message)
    return seeds


def split_at_markers(
    labels: HostArray,
    markers: Any,
    image: HostArray | None,
    *,
    spacing: tuple[float, ...],
    stacked: bool,
) -> HostArray:
    """Split objects that hold several markers, by shape or by gray values; return new labels.

    Each pixel belongs to the marker that floods it first, from the greatest distance to the
    background (from the brightest pixel, with an image) downwards. Objects with one marker or none
    stay whole. Each region of a mask, or of numbers that are all the same, is a marker. Labels of
    parts follow those of the objects.
    """
    from scipy.ndimage import find_objects
    from skimage.segmentation import watershed

    seeds = check_markers(markers, labels)
    if (seeds == seeds.max(initial=0)).sum() == np.count_nonzero(seeds):  # a mask, of any type
        from equilabel.labeling import label

        seeds = label(seeds != 0, stacked=stacked)
    if not (seeds[labels > 0] > 0).any() and (seeds > 0).any():
        message = "markers must lie in objects; got none that does. Pass markers inside the mask."
        raise ValueError(message)
    out = labels.copy()
    most = int(labels.max(initial=0))
    for number, box in enumerate(find_objects(labels), 1):
        if box is None:
            continue
        own = labels[box] == number
        known, numbered = np.unique(seeds[box] * own, return_inverse=True)
        count = len(known) - (known[0] == 0)
        if count < 2:
            continue
        numbered = numbered.reshape(own.shape) + (known[0] != 0)
        relief = -_radii(own, spacing, stacked) if image is None else -finite(image[box])
        parts = watershed(relief, numbered.astype(np.int32), mask=own)
        out[box][own] = most + parts[own]
        most += count
    return out


def _radii(own: NDArray[np.bool_], spacing: tuple[float, ...], stacked: bool) -> HostArray:
    """Return the distance of each pixel of an object to the background, which is all around it."""
    from scipy.ndimage import distance_transform_edt

    margins = [int(not (stacked and axis == 0)) for axis in range(own.ndim)]
    padded = np.pad(own, [(margin, margin) for margin in margins])
    apart = distance_transform_edt(padded, sampling=(1.0,) * (own.ndim - len(spacing)) + spacing)
    inner = (slice(m, m + side) for m, side in zip(margins, own.shape, strict=True))
    return np.asarray(apart[tuple(inner)])
