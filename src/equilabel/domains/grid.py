"""The domain of images: which pixels are foreground, and which are neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from . import neighborhood

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array

Compare = Literal["all", "!=", ">", "<=", "<"]


class Foreground(NamedTuple):
    """Which pixels of an image are foreground, and whether their values tell components apart."""

    compare: Compare  # foreground pixels compare so with `level`; "all" pixels. NaN never is
    level: Any  # scalar of the type of the pixels, or None
    values: bool  # neighbors of different values belong to different components

    def mask(self, pixels: Array) -> Array:
        """Return the foreground as an array of bool on the same device; it may be `pixels`."""
        if self.compare == "!=" and pixels.dtype == np.bool_ and not self.level:
            return pixels
        if self.compare == "all":
            return np.ones_like(pixels, np.bool_)
        with np.errstate(all="ignore"):
            if self.compare == "!=":
                return pixels != self.level
            if self.compare == ">":
                return pixels > self.level
            return pixels <= self.level if self.compare == "<=" else pixels < self.level


@dataclass(frozen=True, eq=False)
class Grid:
    """An image as the passes of a method see it, with its neighborhood in several forms.

    Foreground pixels are connected with neighbors of equal value, or with all foreground neighbors.
    """

    kind: ClassVar[Literal["grid"]] = "grid"

    pixels: Array  # of bool, int or float; not empty, 0 to 6 axes, in native byte order
    foreground: Foreground
    connectivity: int  # 1 to the number of axes that are not stacked
    stacked: bool = False  # the first axis counts independent images
    # For each axis, whether its last elements are neighbors of its first; empty if none are.
    # Recipes see open boundaries; the passes of `boundaries` join components across periodic axes
    # of at least 3 elements. On shorter axes, periodicity changes nothing.
    periodic: tuple[bool, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the image."""
        found: tuple[int, ...] = self.pixels.shape
        return found

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return len(self.shape) - self.stacked

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """Steps to all neighbors, in raster order, (K, ndim)."""
        return neighborhood.offsets(len(self.shape), self.connectivity, stacked=self.stacked)

    @cached_property
    def block(self) -> tuple[int, int]:
        """Rows of the largest blocks in which all rows touch each other."""
        return neighborhood.blocks(len(self.shape), self.connectivity, stacked=self.stacked)

    def edges(self, block: tuple[int, int]) -> NDArray[np.int64]:
        """List the pairs of rows to compare when blocks are united with earlier blocks."""
        return neighborhood.block_edges(
            len(self.shape), self.connectivity, block, stacked=self.stacked
        )

    @cached_property
    def values(self) -> tuple[Array, Any]:
        """Flat unsigned integers that are equal where pixels are, and the value of background.

        The background is None if there is none. If values do not matter, foreground is 1.
        """
        pixels, (compare, level, many) = self.pixels, self.foreground
        if not many:
            return self.foreground.mask(pixels).reshape(-1).view(np.uint8), np.uint8(0)
        if pixels.dtype.kind == "f":
            pixels = pixels + 0.0  # -0.0 becomes 0.0, so that equal values have equal bits
        bits = pixels.reshape(-1).view(f"u{pixels.itemsize}")
        if compare == "all":
            return bits, None
        return bits, np.asarray(level, pixels.dtype).reshape(1).view(bits.dtype)[0]

    @property
    def bounded_values(self) -> tuple[Array, bool, Any]:
        """Values, whether there is a background, and its value (0 if there is none)."""
        values, background = self.values
        if background is None:
            return values, False, values.dtype.type(0)
        return values, True, background

    @cached_property
    def half(self) -> tuple[Array, Array, Array]:
        """Shape, steps to earlier neighbors, and these steps as distances of flat indices.

        Each pair of neighbors occurs once. Arrays of int64 on the device of the pixels: (ndim,),
        (K / 2, ndim) and (K / 2,).
        """
        earlier = neighborhood.half(self.steps)
        offsets = earlier @ neighborhood.strides(self.shape)
        return self._beside(np.array(self.shape, np.int64), earlier, offsets)

    @cached_property
    def full(self) -> tuple[Array, Array, Array]:
        """As `half`, with the steps to all neighbors: (ndim,), (K, ndim) and (K,)."""
        offsets = self.steps @ neighborhood.strides(self.shape)
        return self._beside(np.array(self.shape, np.int64), self.steps, offsets)

    @cached_property
    def padding(self) -> Padding:
        """Geometry of the image in a frame of background, so that no step leaves it."""
        rows, size, jumps, shifts = neighborhood.pad(self.shape, self.steps)
        faces = neighborhood.face_neighbors(self.shape, self.steps)
        sides = np.append(jumps, 0)[faces], np.append(shifts, 0)[faces]
        return Padding(size, *self._beside(rows, jumps, shifts, *sides))

    def _beside(self, *parts: NDArray[np.int64]) -> tuple[Array, ...]:
        """Bring arrays to the device of the pixels."""
        return tuple(np.asarray(part, like=self.pixels) for part in parts)


class Padding(NamedTuple):
    """Geometry of an image in a frame of background, see `equilabel.domains.neighborhood.pad`."""

    size: int  # number of elements, with the frame
    rows: Array  # (R,) of int64: where each row of the image begins
    jumps: Array  # (K,) of int64: steps to neighbors as distances in the frame
    shifts: Array  # (K,) of int64: the same in the image
    face_jumps: Array  # (ndim, 2): the same for the two neighbors along each axis, 0 for none
    face_shifts: Array
