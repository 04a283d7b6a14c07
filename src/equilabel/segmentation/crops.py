"""`crops`: each object cut out of its image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import check_flag, check_whole
from equilabel.devices import fetch
from equilabel.measuring import regionprops_table
from equilabel.measuring.checks import check_labels

from .checks import image_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array


class Crop(NamedTuple):
    """An object cut out of its image: the box with its margin, which ends at the border."""

    label: int
    box: tuple[slice, ...]  # of the pixels; the frame of a stack is a number before them
    mask: NDArray[np.bool_]  # the pixels of the object
    image: Array  # the image in the box, with its channels; None without an image


def crops(
    labels: ArrayLike, image: ArrayLike | None = None, margin: int = 0, *, stacked: bool = False
) -> Iterator[Crop]:
    """Cut each object out of its image, one after the other.

    Parameters
    ----------
    labels : (M, N[, ...]) array of int
        The number of the object of each pixel, 0 for background.
    image : (M, N[, ...][, C]) array, optional
        Image of the shape of `labels`, with channels along a last axis.
    margin : int
        Pixels around the bounding box, as far as there are any.
    stacked : bool
        Whether the first axis counts independent images: each object is cut out of its frame.

    Yields
    ------
    Crop
        ``label``, ``box`` (slices of the image), ``mask`` and ``image``, in the order of labels.
        Both are views where that is possible: copy what you change.

    Raises
    ------
    TypeError, ValueError
        If labels are not integers, the shapes differ, or `margin` is negative.

    Examples
    --------
    >>> labels = np.array([[0, 0, 0, 0], [0, 5, 5, 0]])
    >>> for crop in crops(labels, 10 * labels, margin=1):
    ...     print(crop.label, crop.box[1], crop.mask[1].tolist(), crop.image.shape)
    5 slice(0, 4, None) [False, True, True, False] (2, 4)
    """
    numbers, stacked = fetch(check_labels(labels)), check_flag("stacked", stacked)
    margin, rank = check_whole("margin", margin, 0), numbers.ndim - stacked
    pixels = image_of(numbers, image)
    return _each(numbers, pixels, margin, rank, stacked=stacked)


def _each(numbers: Any, pixels: Any, margin: int, rank: int, *, stacked: bool) -> Iterator[Crop]:
    """Yield the crops of all frames."""
    for frame in range(len(numbers)) if stacked else (...,):
        own = numbers[frame]
        found = regionprops_table(own, properties=("label", "bbox"), columns="host")
        ends = np.stack([found[f"bbox-{k}"] for k in range(2 * rank)], axis=1).astype(int)
        for number, edges in zip(found["label"].tolist(), ends.tolist(), strict=True):
            spans = zip(edges[:rank], edges[rank:], strict=True)
            box: Any = tuple(
                slice(max(a - margin, 0), min(b + margin, side))
                for (a, b), side in zip(spans, own.shape, strict=True)
            )
            view = None if pixels is None else pixels[frame][box]
            place = (frame, *box) if stacked else box
            yield Crop(number, place, own[box] == number, view)
