"""The domain of lattices: sites, and bonds between neighboring sites that are open or closed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from . import neighborhood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array


@dataclass(frozen=True, eq=False)
class Bonds:
    """A lattice whose bonds are open or closed: sites joined by open bonds are connected.

    Every site belongs to a component. A bond is stored once, as a bit of the site from which it
    leads forward in raster order (at a periodic boundary, around to the first sites), so no list
    of neighbors is made.

    Attributes
    ----------
    open : array of unsigned integers, of NumPy or CuPy
        One integer for each site, in C order: bit ``k`` is set if the bond along ``steps[k]`` is
        open. Bits that lead outside, across a boundary that is not periodic, must be 0.
    steps : (K, ndim) array of int64
        Steps to neighbors, of -1, 0 and 1, the first entry that is not 0 being 1. K is at most
        the number of bits of `open`.
    periodic : tuple of bool
        For each axis, whether sites at its end have bonds to those at its beginning.

    Examples
    --------
    A ring of four sites, with the bond from the last to the first and one other open:

    >>> ring = Bonds(np.array([0, 1, 0, 1], np.uint8), np.array([[1]]), (True,))
    >>> ring.neighbors(0).tolist()
    [1, 2, 3, 0]
    """

    kind: ClassVar[Literal["bonds"]] = "bonds"

    open: Array
    steps: NDArray[np.int64]
    periodic: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the lattice."""
        found: tuple[int, ...] = self.open.shape
        return found

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of sites."""
        return int(self.open.size)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Distance of flat indices along each step, away from boundaries, (K,)."""
        return self.steps @ neighborhood.strides(self.shape)

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Shape, steps and periodic axes as arrays, where `open` is.

        Of int64, int64 and bool: (ndim,), (K, ndim) and (ndim,).
        """
        parts = np.array(self.shape, np.int64), self.steps, np.array(self.periodic, np.bool_)
        shape, steps, periodic = (np.asarray(part, like=self.open) for part in parts)
        return shape, steps, periodic

    def neighbors(self, k: int) -> NDArray[np.int64]:
        """Return the flat index of the neighbor of each site along ``steps[k]``; -1 outside."""
        found = np.zeros(self.shape, np.int64)
        outside = np.zeros(self.shape, np.bool_)
        strides = neighborhood.strides(self.shape).tolist()
        for axis, (side, stride) in enumerate(zip(self.shape, strides, strict=True)):
            there = np.arange(side, dtype=np.int64) + self.steps[k, axis]
            along = (side,) + (1,) * (self.rank - axis - 1)
            if not self.periodic[axis]:
                outside |= ((there < 0) | (there >= side)).reshape(along)
            found += (there % side * stride).reshape(along)
        found[outside] = -1
        return found.reshape(-1)
