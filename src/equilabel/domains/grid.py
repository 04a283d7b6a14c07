"""`Grid`: an image as passes see it, and which of its pixels are neighbors."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import Array


# ---- Connectivity as geometry: which elements, and which rows, are neighbors


@cache
def offsets(ndim: int, connectivity: int, *, stacked: bool = False) -> NDArray[np.int64]:
    """List the steps from an element to its neighbors in raster order, (K, ndim), read-only.

    The first half leads to earlier elements; row ``K - 1 - k`` is minus row ``k``. `connectivity`
    is 1 to `ndim`, not checked. If `stacked`, no step leads along the first axis.

    >>> offsets(2, 1).tolist()
    [[-1, 0], [0, -1], [0, 1], [1, 0]]
    >>> [len(offsets(3, connectivity)) for connectivity in (1, 2, 3)]
    [6, 18, 26]
    """
    steps = [
        step
        for step in product((-1, 0, 1), repeat=ndim)
        if 0 < sum(map(abs, step)) <= connectivity and not (stacked and step[0])
    ]
    return _frozen(np.array(steps, dtype=np.int64).reshape(len(steps), ndim))


def half(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the steps of `offsets` that lead to earlier elements: each pair of neighbors once."""
    return steps[: len(steps) // 2]


@cache
def steps_around(ndim: int, connectivity: int, axis: int, stacked: bool) -> NDArray[np.int64]:
    """List the steps forward along an axis, which lead around its end; the straight one first.

    >>> steps_around(2, 2, 1, False).tolist()
    [[0, 1], [-1, 1], [1, 1]]
    """
    steps = offsets(ndim, connectivity, stacked=stacked)
    steps = steps[steps[:, axis] == 1]
    return _frozen(steps[np.argsort(np.abs(steps).sum(axis=1), kind="stable")])


@cache
def row_unions(
    ndim: int, connectivity: int, stacked: bool
) -> tuple[tuple[int, int], NDArray[np.int64], NDArray[np.int64]]:
    """Return the block of rows, the edges between such blocks, and those between single rows."""
    block = blocks(ndim, connectivity, stacked=stacked)
    return (
        block,
        block_edges(ndim, connectivity, block, stacked=stacked),
        block_edges(ndim, connectivity, stacked=stacked),
    )


def strides(shape: tuple[int, ...] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distances of flat indices along each axis, in C order."""
    sides = np.asarray(shape, np.int64)
    return np.cumprod(np.append(1, sides[:0:-1]), dtype=np.int64)[::-1][: len(sides)]


def pad(
    shape: tuple[int, ...], steps: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the geometry of an image in a frame of background that no step leaves.

    Only the axes that steps lead along get a frame. Position 0 always belongs to it, because label
    0 means background. `steps` is (K, ndim); those along an axis of length 1 are dropped. Returns
    where each row begins in the padded image, (R,); its number of elements; and the steps as
    distances in the padded image and in the image, (L,).

    >>> pad((2, 3), np.array([[-1, 0], [0, -1], [0, 1], [1, 0]]))
    (array([ 6, 11]), 20, array([-5, -1,  1,  5]), array([-3, -1,  1,  3]))
    """
    inner = np.array(shape, dtype=np.int64)
    steps = steps[~(steps[:, inner == 1] != 0).any(axis=1)]
    margin = np.abs(steps).max(axis=0, initial=0)
    if not margin.any():
        margin[0] = 1
    outer = inner + 2 * margin

    outer_strides = strides(outer)
    corners = np.indices(shape[:-1], dtype=np.int64).reshape(len(shape) - 1, prod(shape[:-1]))
    rows = outer_strides[:-1] @ corners + outer_strides @ margin
    return rows, int(outer.prod()), steps @ outer_strides, steps @ strides(inner)


def face_neighbors(shape: tuple[int, ...], steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the two steps along each axis, (ndim, 2), in those that `pad` keeps.

    -1 if there is no step along the axis.

    >>> face_neighbors((2, 3), np.array([[-1, 0], [0, -1], [0, 1], [1, 0]])).tolist()
    [[0, 3], [1, 2]]
    """
    inner = np.array(shape, dtype=np.int64)
    kept = steps[~(steps[:, inner == 1] != 0).any(axis=1)]
    found = np.full((len(shape), 2), -1, dtype=np.int64)
    for index in np.flatnonzero(np.abs(kept).sum(axis=1) == 1):
        axis = int(np.flatnonzero(kept[index])[0])
        found[axis, int(kept[index, axis] > 0)] = index
    return found


def blocks(ndim: int, connectivity: int, *, stacked: bool = False) -> tuple[int, int]:
    """Return the rows, along the last two leading axes, of the largest blocks whose rows all touch.

    A row is a line along the last axis. In a block, any two rows are neighbors and overlap
    diagonally, so that runs of the union of its rows are connected pixels.

    >>> blocks(2, 1), blocks(2, 2), blocks(3, 2), blocks(3, 3)
    ((1, 1), (1, 2), (1, 2), (2, 2))
    """
    leading = ndim - 1 - stacked
    tall = 2 if leading >= 1 and connectivity >= 2 else 1
    deep = 2 if leading >= 2 and connectivity >= 3 else 1
    return deep, tall


@cache
def block_edges(
    ndim: int, connectivity: int, block: tuple[int, int] = (1, 1), *, stacked: bool = False
) -> NDArray[np.int64]:
    """List the pairs of rows to compare when a block of rows is united with earlier blocks.

    A neighbor row with ``k`` non-zero steps exists if ``k <= connectivity``, and overlaps
    diagonally if ``k + 1 <= connectivity``. There are 1 to 6 axes; `block` is from `blocks`, or (1,
    1). The result is (E, 10), read-only, the nearest block first. Columns: the step to the other
    block along five leading axes (5); whether the overlap is diagonal (1); one or two rows of this
    block and of the other that are compared together (2 + 2), in raster order; a single row occurs
    twice.

    >>> block_edges(2, 2, (1, 2))[:, 4:].tolist()
    [[-1, 1, 0, 0, 1, 1]]
    """
    axes = 5
    leading = min(ndim - 1 - stacked, axes)
    size = np.array([1] * (axes - 2) + list(block))
    members = list(product(range(block[0]), range(block[1])))
    edges = []
    for step in product((-1, 0, 1), repeat=leading):
        if step >= (0,) * leading:
            continue
        outer = np.array((0,) * (axes - leading) + step)
        for diagonal in (True, False):
            touching: dict[int, tuple[int, ...]] = {}
            for here, inner in enumerate(members):
                touching[here] = tuple(
                    there
                    for there, other in enumerate(members)
                    if _touch(outer * size, inner, other, connectivity) == (1 + diagonal)
                )
            for there in sorted(set(touching.values()) - {()}):
                mine = [here for here, others in touching.items() if others == there]
                edges += [
                    [*outer, diagonal, *pair, *other]
                    for pair in _pairs(mine)
                    for other in _pairs(list(there))
                ]
    edges.sort(key=lambda edge: (sum(map(abs, edge[:axes])), [-step for step in edge[:axes]]))
    return _frozen(np.array(edges, dtype=np.int64).reshape(len(edges), 10))


def _frozen(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make a table read-only, because callers share it."""
    table.flags.writeable = False
    return table


def _pairs(rows: list[int]) -> list[tuple[int, int]]:
    """Group rows in pairs; a last one that is alone occurs twice."""
    return [(rows[k], rows[min(k + 1, len(rows) - 1)]) for k in range(0, len(rows), 2)]


def _touch(
    outer: NDArray[np.int64], inner: tuple[int, ...], other: tuple[int, ...], connectivity: int
) -> int:
    """Return 0 if two rows do not touch, 1 if they overlap straight, 2 if diagonally too."""
    step = outer.copy()
    step[-2:] += np.array(other) - np.array(inner)
    if np.abs(step).max() > 1:
        return 0
    hops = int(np.abs(step).sum())
    return 2 if hops < connectivity else int(hops <= connectivity)


# ---- The domain of images

Compare = Literal["all", "!=", ">", "<=", "<"]
COMPARISONS = {"!=": operator.ne, ">": operator.gt, "<=": operator.le, "<": operator.lt}


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
            return COMPARISONS[self.compare](pixels, self.level)


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
        return offsets(len(self.shape), self.connectivity, stacked=self.stacked)

    @cached_property
    def block(self) -> tuple[int, int]:
        """Rows of the largest blocks in which all rows touch each other."""
        return blocks(len(self.shape), self.connectivity, stacked=self.stacked)

    def edges(self, block: tuple[int, int]) -> NDArray[np.int64]:
        """List the pairs of rows to compare when blocks are united with earlier blocks."""
        return block_edges(len(self.shape), self.connectivity, block, stacked=self.stacked)

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
        earlier = half(self.steps)
        offsets = earlier @ strides(self.shape)
        return self._beside(np.array(self.shape, np.int64), earlier, offsets)

    @cached_property
    def full(self) -> tuple[Array, Array, Array]:
        """As `half`, with the steps to all neighbors: (ndim,), (K, ndim) and (K,)."""
        offsets = self.steps @ strides(self.shape)
        return self._beside(np.array(self.shape, np.int64), self.steps, offsets)

    @cached_property
    def padding(self) -> Padding:
        """Geometry of the image in a frame of background, so that no step leaves it."""
        rows, size, jumps, shifts = pad(self.shape, self.steps)
        faces = face_neighbors(self.shape, self.steps)
        sides = np.append(jumps, 0)[faces], np.append(shifts, 0)[faces]
        return Padding(size, *self._beside(rows, jumps, shifts, *sides))

    def _beside(self, *parts: NDArray[np.int64]) -> tuple[Array, ...]:
        """Bring arrays to the device of the pixels."""
        return tuple(np.asarray(part, like=self.pixels) for part in parts)


class Padding(NamedTuple):
    """Geometry of an image in a frame of background, see `equilabel.domains.grid.pad`."""

    size: int  # number of elements, with the frame
    rows: Array  # (R,) of int64: where each row of the image begins
    jumps: Array  # (K,) of int64: steps to neighbors as distances in the frame
    shifts: Array  # (K,) of int64: the same in the image
    face_jumps: Array  # (ndim, 2): the same for the two neighbors along each axis, 0 for none
    face_shifts: Array
