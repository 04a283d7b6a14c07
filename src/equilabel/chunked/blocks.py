"""Blocks of an image, and their neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


LARGE = 2**24  # elements of a block by default


@dataclass(frozen=True)
class Blocks:
    """Blocks of equal sides of an image without empty axes; the last along an axis may be shorter.

    >>> blocks = Blocks((5, 4), (2, 4))
    >>> blocks.counts, blocks.slices(2)
    ((3, 1), (slice(4, 5, None), slice(0, 4, None)))
    >>> around = Blocks((5, 4), (2, 4), periodic=(True, False))
    >>> blocks.neighbor(2, (1, 0)), around.neighbor(2, (1, 0))
    (None, 0)
    >>> blocks.steps_forward(2)
    [(0, 1), (1, -1), (1, 0), (1, 1)]
    """

    shape: tuple[int, ...]
    sides: tuple[int, ...]
    stacked: bool = False  # whether the first axis counts independent images
    periodic: tuple[bool, ...] = ()  # whether the last block along an axis touches the first one

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of blocks along each axis."""
        pairs = zip(self.shape, self.sides, strict=True)
        return tuple(-(-length // side) for length, side in pairs)

    @cached_property
    def number(self) -> int:
        """Number of blocks; they are numbered from 0 in raster order."""
        return prod(self.counts)

    def index(self, block: int) -> tuple[int, ...]:
        """Return the position of a block along each axis."""
        places = []
        for count in reversed(self.counts):
            block, place = divmod(block, count)
            places.append(place)
        return tuple(reversed(places))

    def slices(self, block: int) -> tuple[slice, ...]:
        """Return the part of the image that a block covers."""
        each = zip(self.index(block), self.sides, self.shape, strict=True)
        return tuple(
            slice(place * side, min((place + 1) * side, length)) for place, side, length in each
        )

    def origin(self, block: int) -> tuple[int, ...]:
        """Return the first element of a block."""
        return tuple(part.start for part in self.slices(block))

    def parts(self) -> Iterator[tuple[slice, ...]]:
        """Yield the part of the image that each block covers."""
        return map(self.slices, range(self.number))

    def neighbor(self, block: int, step: Sequence[int]) -> int | None:
        """Return the block one step away, or None beyond the border of the image."""
        periodic = self.periodic or (False,) * len(self.shape)
        found = 0
        for place, move, count, around in zip(
            self.index(block), step, self.counts, periodic, strict=True
        ):
            there = place + move
            if not 0 <= there < count:
                if not around:
                    return None
                there %= count
            found = found * count + there
        return found

    def steps_forward(self, hops: int) -> list[tuple[int, ...]]:
        """List one of the two opposite steps to each neighbor, up to `hops` axes at once."""
        axes = len(self.shape)
        return [
            step
            for step in product((-1, 0, 1), repeat=axes)
            if step > (0,) * axes and sum(map(abs, step)) <= hops and not (self.stacked and step[0])
        ]

    def steps_around(self) -> list[tuple[int, ...]]:
        """List the steps to all neighbors."""
        forward = self.steps_forward(len(self.shape))
        return forward + [tuple(-move for move in step) for step in forward]


def large_sides(
    shape: tuple[int, ...], stored: tuple[int, ...], most: int = LARGE
) -> tuple[int, ...]:
    """Return the sides of blocks of up to `most` elements: joined chunks, as cubic as possible.

    A block has more elements if a single chunk has.

    >>> large_sides((2048, 2048, 2048), (64, 64, 64))
    (256, 256, 256)
    """
    sides = [min(side, length) for side, length in zip(stored, shape, strict=True)]
    while True:
        open_axes = [axis for axis, side in enumerate(sides) if side < shape[axis]]
        if not open_axes:
            return tuple(sides)
        axis = min(open_axes, key=lambda one: sides[one])
        if 2 * prod(sides) > most:
            return tuple(sides)
        sides[axis] = min(2 * sides[axis], shape[axis])
