"""What measuring asks of the passes of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray

Box: TypeAlias = "Sequence[tuple[int, int]]"
"""First and last + 1 pixel along each axis."""


class Accumulator(Protocol):
    """Counts of every label of an image, and further sums over its pixels.

    Attributes
    ----------
    labels : (N,) array of int64
        Labels that occur, ascending.
    table : (N, layout.width) array of int64
        As `equilabel.kernels.layout` says.
    """

    labels: NDArray[np.int64]
    table: NDArray[np.int64]

    def values(self, values: Array) -> tuple[HostArray, ...]:
        """Sum the values of each label, and find the least and greatest."""
        ...

    def squares(self, values: Array, centers: HostArray) -> NDArray[np.float64]:
        """Sum the squared distances of values from a center for each label and channel."""
        ...

    def powers(self, centers: HostArray) -> NDArray[np.float64]:
        """Sum the products of powers of coordinates, up to 3 along each spatial axis."""
        ...

    def weighted(self, values: Array, channel: int, centers: HostArray) -> NDArray[np.float64]:
        """Sum as `powers` does, each pixel weighted by its value in one channel."""
        ...
