"""What is accumulated for each label, and from which its columns follow."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import passes

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLE = 997  # every which pixel is looked at to guess how many labels there are
ROOM = 4  # rows of a table that each pixel may cost before labels are looked up instead


class Accumulation:
    """Sums over the runs of every label that occurs, in ascending order.

    Parameters
    ----------
    labels : array of int, 1 to 6 axes
        0 is background; checked to be of an integer type.
    values : array or None
        Intensities, of the shape of `labels`, with or without an axis of channels at the end.
    spacing : tuple of float
        Distance of pixels along each spatial axis.
    stacked : bool
        Whether the first axis counts images and is no spatial axis.
    outline : bool
        Whether to count classes of border pixels, for the perimeter.

    Attributes
    ----------
    labels, pixels : (N,) array of int64
        Labels and their pixels.
    sums, first, last : (N, rank) arrays of int64
        Sum, least and greatest + 1 of the coordinates along each spatial axis.
    pairs : (N, rank) array of int64
        Neighbors of the same label along each spatial axis.
    outline : (N, 3) array of int64
        Border pixels by class.
    frames : (N,) array of int64
        Image of a stack in which the label is.
    spacing : (rank,) array of float64

    Raises
    ------
    ValueError
        If a label is negative, or lies in several images of a stack.
    """

    def __init__(
        self,
        labels: NDArray[Any],
        values: NDArray[Any] | None,
        spacing: tuple[float, ...],
        stacked: bool,
        outline: bool,
    ) -> None:
        self._kernels = passes("measuring", "cpu")
        self._flat, ids, table = _tabulate(self._kernels, np.ascontiguousarray(labels), outline)
        self._slots = len(ids)
        self._kept = np.flatnonzero(table[:, 0])
        self._values = None
        if values is not None:
            self._values = values.reshape(self._flat.size, *values.shape[labels.ndim :])
        table = table[self._kept]
        axes = table[:, 1 : 1 + 4 * labels.ndim].reshape(-1, labels.ndim, 4)
        self.spacing = np.array(spacing)
        self.labels = ids[self._kept]
        self.pixels = table[:, 0]
        self.outline = table[:, 1 + 4 * labels.ndim :]
        self.frames = axes[:, 0, 1]
        if stacked:
            _check_frames(self.labels, axes[:, 0])
            axes = axes[:, 1:]
        self.sums, self.first, self.last = axes[:, :, 0], axes[:, :, 1], axes[:, :, 2]
        self.pairs = axes[:, :, 3].copy()
        self.pairs[:, -1] = self.pixels - axes[:, -1, 3]  # the last axis counts runs

    @cached_property
    def intensities(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Mean, least and greatest value of each label, per channel if there are channels."""
        sums, lows, highs = self._kernels.intensities(self._flat, self._values, self._slots)
        low, high = lows[self._kept].astype(np.float64), highs[self._kept].astype(np.float64)
        return sums[self._kept] / self._counts(sums.ndim), low, high

    @cached_property
    def variances(self) -> NDArray[Any]:
        """Mean squared distance of each label's values from their mean."""
        kept = self.intensities[0]
        means = np.zeros((self._slots, *kept.shape[1:]))
        means[self._kept] = kept
        squares = self._kernels.squares(self._flat, self._values, means)[self._kept]
        return np.asarray(squares / self._counts(squares.ndim))

    def _counts(self, axes: int) -> NDArray[np.int64]:
        return self.pixels.reshape(-1, *[1] * (axes - 1))


def _tabulate(
    kernels: Any, labels: NDArray[Any], outline: bool
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Accumulate, at first with room for as many labels as a look at some pixels suggests."""
    flat = labels.reshape(-1)
    seen = int(labels[-1:].max(initial=0)) + int(flat[::SAMPLE].max(initial=0))
    size = seen + SAMPLE
    if size <= ROOM * flat.size + SAMPLE:
        table = kernels.tabulate(labels, size, outline)
        if table is not None:
            return flat, np.arange(size, dtype=np.int64), table
    flat, ids = _compact(flat, kernels.largest(flat))
    return flat, ids, kernels.tabulate(flat.reshape(labels.shape), len(ids), outline)


def _compact(flat: NDArray[Any], largest: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return labels that can index a table, and the label that each index stands for."""
    if largest < 0:
        message = f"label_image must hold no negative labels; got {largest}. 0 is background."
        raise ValueError(message)
    if largest > np.iinfo(np.int64).max:
        message = f"label_image must hold labels below 2**63; got {largest}. Relabel it."
        raise ValueError(message)
    if largest <= ROOM * flat.size:
        return flat, np.arange(largest + 1, dtype=np.int64)
    ids, inverse = np.unique(flat, return_inverse=True)
    if ids[0] != 0:
        ids = np.insert(ids, 0, 0)
        inverse = inverse + 1
    return inverse.reshape(-1), ids.astype(np.int64)


def _check_frames(labels: NDArray[Any], frames: NDArray[Any]) -> None:
    torn = np.flatnonzero(frames[:, 2] - frames[:, 1] > 1)
    if torn.size:
        first = labels[torn[0]]
        message = (
            "label_image must hold every label in one image of the stack; got label "
            f"{first} in several. Label it with `label(..., stacked=True)`."
        )
        raise ValueError(message)
