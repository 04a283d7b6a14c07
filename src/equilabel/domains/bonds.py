"""The domain of lattices: sites, and bonds between neighboring sites that are open or closed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from equilabel.arguments import as_host_array, check_flag, check_sequence, check_whole

from . import grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array


@dataclass(frozen=True, eq=False)
class Bonds:
    """A lattice whose bonds are open or closed: sites joined by open bonds are connected.

    Every site belongs to a component. A bond is stored once, as a bit of the site from which it
    leads forward in raster order (at a periodic boundary, around to the first sites).

    Attributes
    ----------
    open : array of unsigned integers, of NumPy or CuPy
        One integer for each site, in C order: bit ``k`` is set if the bond along ``steps[k]`` is
        open. Bits that lead outside, across a boundary that is not periodic, must be 0.
    steps : (K, ndim) array of int64
        Steps to neighbors, of -1, 0 and 1; the first entry that is not 0 is 1. K is at most the
        number of bits of `open`.
    periodic : tuple of bool
        For each axis, whether sites at its end have bonds to those at its beginning.

    Raises
    ------
    TypeError, ValueError
        If the three do not fit together. Only `label_graph` and ``Graph.from_bonds`` check whether
        open bonds lead outside.

    Examples
    --------
    A ring of four sites; the bond from the last to the first and one other are open:

    >>> ring = Bonds(np.array([0, 1, 0, 1], np.uint8), np.array([[1]]), (True,))
    >>> ring.neighbors(0).tolist()
    [1, 2, 3, 0]
    """

    kind: ClassVar[Literal["bonds"]] = "bonds"

    open: Array
    steps: NDArray[np.int64]
    periodic: tuple[bool, ...]

    def __post_init__(self) -> None:
        held = type(self.open).__module__.partition(".")[0] == "cupy"
        opened = self.open if held else as_host_array("open", self.open)
        dtype = opened.dtype
        if dtype.kind != "u":
            message = (
                f"open must be an array of unsigned integers; got {dtype}. Convert it, as with "
                "np.asarray(bits, np.uint8)."
            )
            raise TypeError(message)
        opened = opened if dtype.isnative else opened.astype(dtype.newbyteorder("="))
        steps = _checked_steps(self.steps, opened)
        periodic = check_sequence("periodic", self.periodic, "a bool for each axis")
        if len(periodic) != opened.ndim:
            entries = f"an entry for each of {opened.ndim} axes"
            message = f"periodic must have {entries}; got {len(periodic)}."
            raise ValueError(message)
        around = tuple(check_flag("periodic", each) for each in periodic)
        for name, value in (("open", opened), ("steps", steps), ("periodic", around)):
            object.__setattr__(self, name, value)

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
        """Distance of flat indices along each step, except around boundaries, (K,)."""
        return self.steps @ grid.strides(self.shape)

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Shape, steps and periodic axes as arrays, on the device of `open`.

        Their types are int64, int64 and bool: (ndim,), (K, ndim) and (ndim,).
        """
        parts = np.array(self.shape, np.int64), self.steps, np.array(self.periodic, np.bool_)
        shape, steps, periodic = (np.asarray(part, like=self.open) for part in parts)
        return shape, steps, periodic

    def neighbors(self, k: int) -> NDArray[np.int64]:
        """Return the flat index of the neighbor of each site along ``steps[k]``; -1 outside."""
        k = check_whole("k", k, 0, len(self.steps) - 1)
        found = np.zeros(self.shape, np.int64)
        outside = np.zeros(self.shape, np.bool_)
        strides = grid.strides(self.shape).tolist()
        for axis, (side, stride) in enumerate(zip(self.shape, strides, strict=True)):
            there = np.arange(side, dtype=np.int64) + self.steps[k, axis]
            along = (side,) + (1,) * (self.rank - axis - 1)
            if not self.periodic[axis]:
                outside |= ((there < 0) | (there >= side)).reshape(along)
            found += (there % side * stride).reshape(along)
        found[outside] = -1
        return found.reshape(-1)


def _checked_steps(given: object, opened: Array) -> NDArray[np.int64]:
    """Return the steps of a lattice as int64, or raise TypeError or ValueError."""
    steps: NDArray[np.int64] = as_host_array("steps", given)
    if steps.dtype.kind not in "iu":
        message = f"steps must be an array of integers; got {steps.dtype}. Convert it."
        raise TypeError(message)
    if steps.ndim != 2 or steps.shape[1] != opened.ndim:
        message = (
            f"steps must have an entry for each of {opened.ndim} axes; got shape {steps.shape}."
        )
        raise ValueError(message)
    if len(steps) > 8 * opened.dtype.itemsize:
        message = (
            f"open must have a bit for each of {len(steps)} steps; got {opened.dtype}. Take a "
            "wider type."
        )
        raise ValueError(message)
    for step in steps.tolist():
        moves = [move for move in step if move]
        if not moves or moves[0] != 1 or not set(moves) <= {1, -1}:
            message = (
                f"steps must be of -1, 0 and 1, the first that is not 0 being 1; got {step}. "
                "Reverse the step, and move its bit to the other site."
            )
            raise ValueError(message)
    return steps.astype(np.int64, copy=False)
