"""Lines, tiles and links of a mesh, the same on all devices."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equilabel.domains.bonds import Bonds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from equilabel.array_types import Array
    from equilabel.domains.grid import Grid


# ---- Lines and tiles of a grid


def count_lines(shape: tuple[int, ...], step: Iterable[int]) -> int:
    """Count the elements on the faces where lines along a step (of -1, 0 and 1) enter a grid.

    Every line begins at one of them. Where faces meet, an element lies on several; all but one of
    them stand for no line.

    >>> count_lines((3, 5), (0, 1)), count_lines((3, 5), (1, -1))
    (3, 8)
    """
    return sum(prod(shape) // side for side, move in zip(shape, step, strict=True) if move)


def longest_line(shape: tuple[int, ...], step: Iterable[int]) -> int:
    """Return the number of elements of the longest line along a step.

    >>> longest_line((3, 5), (0, 1)), longest_line((3, 5), (1, -1))
    (5, 3)
    """
    return min(side for side, move in zip(shape, step, strict=True) if move)


def both_ways(steps: int) -> list[int]:
    """List the indices of steps, as `grid.offsets` sorts them, in pairs of opposite steps.

    The step to later elements comes first in each pair.

    >>> both_ways(4)
    [3, 0, 2, 1]
    """
    return [k for pair in range(steps // 2) for k in (steps - 1 - pair, pair)]


def tile_edges(shape: tuple[int, ...], size: int, *, stacked: bool) -> tuple[int, ...]:
    """Return the edges of tiles of at most `size` elements: powers of two, as equal as possible.

    If `stacked`, a tile lies in one image. No edge is more than twice as long as needed for its
    axis.

    >>> tile_edges((500, 500), 256, stacked=False), tile_edges((9, 64, 64, 64), 256, stacked=True)
    ((16, 16), (1, 4, 8, 8))
    >>> tile_edges((3, 5000), 256, stacked=False)
    (4, 64)
    """
    edges = [1] * len(shape)
    while 2 * prod(edges) <= size:
        axes = [k for k in range(int(stacked), len(shape)) if edges[k] < shape[k]]
        if not axes:
            break
        shortest = min(reversed(axes), key=lambda axis: edges[axis])
        edges[shortest] *= 2
    return tuple(edges)


# ---- Meshes of four axes, with links as bits
# Methods that work on a mesh (Weigel 2011; Apostolakis, Coddington and Marinari 1991) only need the
# links between neighbors: an image is a lattice whose bonds are open between equal values.

AXES = 4  # three spatial axes, and one that counts the images of a stack
FOREGROUND = 1 << 15  # bit of `links`: the element belongs to a component
STEPS = 15  # most steps, one for each of the other bits; three axes have 13


class Lattice(NamedTuple):
    """Which neighbors are linked."""

    links: Array  # (N,) of uint16: bit k, a link along steps[k]; bit 15, foreground
    shape: NDArray[np.int64]  # (4,): missing axes come first and have length 1
    steps: NDArray[np.int64]  # (K, 4): to later elements in raster order; one for each pair
    periodic: NDArray[np.bool_]  # (4,): whether steps lead from the end of an axis to its beginning

    def edges(self, tile: int) -> NDArray[np.int64]:
        """Return the edges of tiles, (4,): at most `tile`; 1 along axes without steps."""
        along = (self.steps != 0).any(axis=0)
        return np.where(along, np.minimum(self.shape, tile), 1)

    def tiles(self, tile: int) -> NDArray[np.int64]:
        """Return the number of tiles that have to be joined along each axis, (4,)."""
        along = (self.steps != 0).any(axis=0)
        return np.where(along, -(-self.shape // self.edges(tile)), 1)

    def reaching(self, distance: int) -> NDArray[np.int64]:
        """List the steps that stay inside, for some element, if taken `distance` times."""
        stays = self.periodic | (self.shape > distance) | (self.steps == 0)
        return np.flatnonzero(stays.all(axis=1))

    @property
    def levels(self) -> int:
        """Number of distances 1, 2, 4, ... that are less than the longest side along steps."""
        along = (self.steps != 0).any(axis=0)
        return max(1, int(np.where(along, self.shape, 1).max() - 1).bit_length())


@dataclass
class Multigrid:
    """Labels, and connections at the distances 1, 2, 4, ... (Apostolakis et al. 1991)."""

    lattice: Lattice
    # (L, N) of uint16: bit k of [m, i] says that i is connected with the element 2^m steps k away
    connections: Array
    labels: Array  # (N,) of int64: index of an element of the component; -1 for background
    spare: Array  # (N,) of int64: receives the next labels
    changed: Array  # (1,) of int32: not 0 if a label has changed since `has_changed`

    @property
    def levels(self) -> int:
        """Number of distances."""
        return len(self.connections)


def describe(domain: Grid | Bonds, links: Array) -> Lattice:
    """Return the mesh of a domain of at most three spatial axes; `links` as in `Lattice`."""
    missing = AXES - len(domain.shape)
    if isinstance(domain, Bonds):
        steps, around = domain.steps, domain.periodic
    else:
        steps, around = domain.steps[len(domain.steps) // 2 :], (False,) * len(domain.shape)
    return Lattice(
        links,
        np.array((1,) * missing + domain.shape, np.int64),
        np.ascontiguousarray(np.pad(steps, ((0, 0), (missing, 0)))),
        np.array((False,) * missing + around, np.bool_),
    )


def describe_bonds(bonds: Bonds) -> Lattice:
    """Return the mesh of a lattice of bonds: those that are open link its sites."""
    known = (1 << len(bonds.steps)) - 1
    links = (bonds.open.reshape(-1) & bonds.open.dtype.type(known)).astype(np.uint16)
    return describe(bonds, links | np.uint16(FOREGROUND))
