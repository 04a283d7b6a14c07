"""Lines, tiles and links of a mesh, the same on all devices."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equilabel.domains import neighborhood
from equilabel.domains.bonds import Bonds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from equilabel.array_types import Array
    from equilabel.domains.grid import Grid


# ---- How passes cut a grid into lines and tiles, on every device alike


def count_lines(shape: tuple[int, ...], step: Iterable[int]) -> int:
    """Count the elements on the faces where lines along a step enter a grid.

    Every line begins at one of them. Where faces meet, an element lies on several: all but one of
    them stand for no line.

    Parameters
    ----------
    shape : tuple of int
    step : (ndim,) array_like of int
        From an element to the next on its line; of -1, 0 and 1, not all of them 0.

    Examples
    --------
    >>> count_lines((3, 5), (0, 1)), count_lines((3, 5), (1, -1))
    (3, 8)
    """
    return sum(prod(shape) // side for side, move in zip(shape, step, strict=True) if move)


def longest_line(shape: tuple[int, ...], step: Iterable[int]) -> int:
    """Return the number of elements of the longest line along a step.

    Examples
    --------
    >>> longest_line((3, 5), (0, 1)), longest_line((3, 5), (1, -1))
    (5, 3)
    """
    return min(side for side, move in zip(shape, step, strict=True) if move)


def both_ways(steps: int) -> list[int]:
    """List the indices of a number of steps, as `neighborhood.offsets` sorts them, pair by pair.

    Each step is followed by the one that leads back; the one to later elements comes first.

    Examples
    --------
    >>> both_ways(4)
    [3, 0, 2, 1]
    """
    return [k for pair in range(steps // 2) for k in (steps - 1 - pair, pair)]


def tile_edges(shape: tuple[int, ...], size: int, *, stacked: bool) -> tuple[int, ...]:
    """Choose the edges of tiles: powers of two, as equal as they can be.

    Parameters
    ----------
    shape : tuple of int
    size : int
        Most elements of a tile.
    stacked : bool
        Whether the first axis counts independent images: a tile lies in one of them.

    Returns
    -------
    tuple of int
        No edge is more than twice as long as it need be to hold the whole axis.

    Examples
    --------
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


# ---- An image or a lattice of bonds as meshes are described to passes: four axes, links as bits
# Methods that work on a mesh (Weigel 2011; Apostolakis, Coddington and Marinari 1991) ask of an
# element only which of its neighbors it is linked to. For them an image is a lattice whose bonds
# are open between neighbors of equal value.

AXES = 4  # three spatial axes, and one that counts the images of a stack
FOREGROUND = 1 << 15  # bit of `links`: the element belongs to a component
STEPS = 15  # most steps that the other bits stand for; three axes have 13


class Lattice(NamedTuple):
    """Which neighbors are linked.

    Attributes
    ----------
    links : (N,) array of uint16, flat in C order
        Bit ``k`` is set if the element is linked to its neighbor along ``steps[k]``; bit 15 if it
        is foreground.
    shape : (4,) array of int64
        Shape; axes that are missing come first and have length 1.
    steps : (K, 4) array of int64
        Steps that lead forward in raster order, of -1, 0 and 1. Each pair of neighbors has one.
    periodic : (4,) array of bool
        Whether steps lead around from the end of an axis to its beginning.
    """

    links: Array
    shape: NDArray[np.int64]
    steps: NDArray[np.int64]
    periodic: NDArray[np.bool_]

    def edges(self, tile: int) -> NDArray[np.int64]:
        """Return the edges of tiles, (4,): at most `tile`; 1 along axes without steps."""
        along = (self.steps != 0).any(axis=0)
        return np.where(along, np.minimum(self.shape, tile), 1)

    def tiles(self, tile: int) -> NDArray[np.int64]:
        """Return the number of tiles that have to be joined along each axis, (4,)."""
        along = (self.steps != 0).any(axis=0)
        return np.where(along, -(-self.shape // self.edges(tile)), 1)

    def reaching(self, distance: int) -> NDArray[np.int64]:
        """List the steps k that stay inside somewhere if they are taken so many times."""
        stays = self.periodic | (self.shape > distance) | (self.steps == 0)
        return np.flatnonzero(stays.all(axis=1))

    @property
    def levels(self) -> int:
        """Number of distances 1, 2, 4, ... that are less than the longest side along steps."""
        along = (self.steps != 0).any(axis=0)
        return max(1, int(np.where(along, self.shape, 1).max() - 1).bit_length())


@dataclass
class Multigrid:
    """Labels, and connections at the distances 1, 2, 4, ... (Apostolakis et al. 1991).

    Attributes
    ----------
    lattice : Lattice
    connections : (L, N) array of uint16
        Bit ``k`` of ``connections[m, i]`` is set if element ``i`` is known to be connected with
        the one that is ``2**m`` steps ``k`` away.
    labels : (N,) array of int64
        Index of an element of the same component; -1 for background.
    spare : (N,) array of int64
        Where the next labels are written.
    changed : (1,) array of int32
        Not 0 if a label has changed since this was last asked.
    """

    lattice: Lattice
    connections: Array
    labels: Array
    spare: Array
    changed: Array

    @property
    def levels(self) -> int:
        """Number of distances."""
        return len(self.connections)


def describe(domain: Grid | Bonds, links: Array) -> Lattice:
    """Describe a domain of at most three spatial axes, whose links are known.

    Parameters
    ----------
    domain : Grid or Bonds
    links : (N,) array of uint16
        As in `Lattice`; bits count the rows of `forward_steps`.
    """
    missing = AXES - len(domain.shape)
    steps = forward_steps(domain)
    around = domain.periodic if isinstance(domain, Bonds) else (False,) * len(domain.shape)
    return Lattice(
        links,
        np.array((1,) * missing + domain.shape, np.int64),
        np.ascontiguousarray(np.pad(steps, ((0, 0), (missing, 0)))),
        np.array((False,) * missing + around, np.bool_),
    )


def forward_steps(domain: Grid | Bonds) -> NDArray[np.int64]:
    """Return the steps to later neighbors in raster order, (K, ndim)."""
    if isinstance(domain, Bonds):
        return np.asarray(domain.steps, np.int64)
    return domain.steps[len(neighborhood.half(domain.steps)) :]
