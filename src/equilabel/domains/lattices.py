"""Lattices of physics: sites, and bonds between neighboring sites that are open or closed.

`square`, `cubic`, `triangular` and `honeycomb` return `Bonds`, one bit for each bond;
``Graph.from_bonds`` turns them into a graph. `bethe` returns a `Graph`. With ``open_probability=p``
each bond is open with probability p, independently of all others: bond percolation.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np

from equilabel.arguments import check_choice, check_number, check_shape, check_whole, shown
from equilabel.storage.memory import check_room

from .bonds import Bonds
from .graph import Graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import Array

__all__ = ["bethe", "cubic", "honeycomb", "square", "triangular"]

Shape = int | tuple[int, ...]
Periodic = bool | tuple[bool, ...]
BYTES = 28  # for each site, while a lattice is made


def square(
    shape: Shape,
    *,
    periodic: Periodic = False,
    open_probability: float = 1.0,
    seed: int = 0,
    like: Array = None,
) -> Bonds:
    """Make a square lattice: 4 neighbors.

    Parameters
    ----------
    shape : int or (int, int)
        Number of sites along each axis; one number for both.
    periodic : bool, or one bool for each axis
        Whether sites at the end of an axis have bonds to those at its beginning.
    open_probability : float
        Probability of each bond to be open, 0 to 1.
    seed : int
        Seed of the random choice; the same seed opens the same bonds on every device.
    like : array, optional
        An array of CuPy, to make the lattice on its GPU.

    Returns
    -------
    Bonds

    Raises
    ------
    TypeError, ValueError
        If a side is less than 1, the probability is not in [0, 1], or there is too little memory.

    Examples
    --------
    >>> square(3).open.tolist()
    [[3, 3, 2], [3, 3, 2], [1, 1, 0]]
    >>> square((2, 3), periodic=True).open.tolist()
    [[3, 3, 3], [3, 3, 3]]
    """
    steps = [(0, 1), (1, 0)]
    return _bonds(_sides(shape, 2), steps, periodic, open_probability, seed, like)


def cubic(
    shape: Shape,
    *,
    periodic: Periodic = False,
    open_probability: float = 1.0,
    seed: int = 0,
    like: Array = None,
) -> Bonds:
    """Make a simple cubic lattice: 6 neighbors. Parameters are those of `square`.

    Examples
    --------
    >>> cubic(2).open.tolist()
    [[[7, 6], [5, 4]], [[3, 2], [1, 0]]]
    """
    steps = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    return _bonds(_sides(shape, 3), steps, periodic, open_probability, seed, like)


def triangular(
    shape: Shape,
    *,
    periodic: Periodic = False,
    open_probability: float = 1.0,
    seed: int = 0,
    like: Array = None,
) -> Bonds:
    """Make a triangular lattice: 6 neighbors, a square lattice with one of the diagonals.

    Parameters are those of `square`. The threshold of bond percolation is 2 sin(pi / 18).

    Examples
    --------
    >>> triangular(2).open.tolist()
    [[7, 2], [1, 0]]
    """
    steps = [(0, 1), (1, 0), (1, 1)]
    return _bonds(_sides(shape, 2), steps, periodic, open_probability, seed, like)


def honeycomb(
    shape: Shape,
    *,
    periodic: Periodic = False,
    open_probability: float = 1.0,
    seed: int = 0,
    like: Array = None,
) -> Bonds:
    """Make a honeycomb lattice: 3 neighbors, laid out as a brick wall.

    Site ``(y, x)`` has a bond to ``(y + 1, x)`` if ``y + x`` is even; the other bonds along the
    first axis do not exist, and are never open. Parameters are those of `square`; sides of
    periodic axes must be even. The threshold of bond percolation is 1 - 2 sin(pi / 18).

    Examples
    --------
    >>> honeycomb((2, 4)).open.tolist()
    [[3, 1, 3, 0], [1, 1, 1, 0]]
    """
    sides = _sides(shape, 2)
    wraps = _wraps(periodic, 2)
    if any(side % 2 and wrap for side, wrap in zip(sides, wraps, strict=True)):
        message = (
            f"shape must be even along periodic axes of a honeycomb lattice; got {sides}. "
            "Take one site more, or an open boundary."
        )
        raise ValueError(message)
    bonds = _bonds(sides, [(0, 1), (1, 0)], wraps, open_probability, seed, like)
    bonds.open[::2, 1::2] &= 1
    bonds.open[1::2, ::2] &= 1
    return bonds


def bethe(
    z: int,
    generations: int,
    order: Literal["standard", "random"] = "standard",
    *,
    open_probability: float = 1.0,
    seed: int = 0,
    like: Array = None,
) -> Graph:
    """Make a Bethe lattice: a tree in which each inner site has z neighbors (Komura 2016).

    Parameters
    ----------
    z : int
        Coordination number, 2 or more.
    generations : int
        Shells of sites around the central site; 0 for that site alone.
    order : {"standard", "random"}
        Whether sites are numbered from the center outwards, or at random.
    open_probability : float
        Probability of each bond to be open, 0 to 1; closed bonds are left out.
    seed : int
        Seed for open bonds and the random order; the result is the same on every device.
    like : array, optional
        An array of CuPy, to make the lattice on its GPU.

    Returns
    -------
    Graph
        With 1 + z ((z - 1)^generations - 1) / (z - 2) sites; 1 + 2 generations for z = 2.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range.

    Examples
    --------
    >>> bethe(3, 2).degrees.tolist()
    [3, 3, 3, 3, 1, 1, 1, 1, 1, 1]
    """
    z, generations = check_whole("z", z, 2), check_whole("generations", generations, 0)
    seed = check_whole("seed", seed, 0)
    check_choice("order", order, ("standard", "random"))
    probability = check_number("open_probability", open_probability, 0, 1)
    _check_like(like)
    shells = generations if z == 2 else min(generations, 64)  # 64 do not fit into any memory
    size = 1 + 2 * shells if z == 2 else 1 + z * ((z - 1) ** shells - 1) // (z - 2)
    check_room("generations", generations, 4 * BYTES * size)
    children = np.arange(1, size, like=like)
    parents = np.maximum((children - 2) // (z - 1), 0)
    if order == "random":
        numbers = np.argsort(_random_bits(size, 1, seed, like))
        parents, children = numbers[parents], numbers[children]
    opened = _chance(children.size, 0, probability, seed, like)
    return Graph.from_edges(parents[opened], children[opened], size=size)


# --------------------------------------------------------------------- checks


def _sides(shape: Shape, rank: int) -> tuple[int, ...]:
    """Return the side along each axis."""
    given = shape if isinstance(shape, (tuple, list)) else (shape,) * rank
    return check_shape("shape", given, rank, rank, least=1)


def _wraps(periodic: Periodic, rank: int) -> tuple[bool, ...]:
    """Return for each axis whether it is periodic."""
    given = periodic if isinstance(periodic, (tuple, list)) else (periodic,) * rank
    if len(given) != rank or not all(isinstance(each, (bool, np.bool_)) for each in given):
        message = f"periodic must be a bool or {rank} of them; got {shown(periodic)}."
        raise ValueError(message)
    return tuple(bool(each) for each in given)


def _check_like(like: Array) -> None:
    """Raise TypeError unless NumPy functions can make arrays like this one."""
    if like is not None and not hasattr(like, "__array_function__"):
        message = f"like must be an array of NumPy or CuPy; got {shown(like)}."
        raise TypeError(message)


# ---------------------------------------------------------------------- bonds


def _bonds(
    sides: tuple[int, ...],
    steps: Sequence[tuple[int, ...]],
    periodic: Periodic,
    probability: float,
    seed: int,
    like: Array,
) -> Bonds:
    """Make a lattice with a bond along each step wherever it leads to a site."""
    probability = check_number("open_probability", probability, 0, 1)
    wraps, seed = _wraps(periodic, len(sides)), check_whole("seed", seed, 0)
    _check_like(like)
    check_room("shape", sides, BYTES * prod(sides))
    opened = np.zeros(sides, np.uint8, like=like)
    for k, step in enumerate(steps):
        chosen = _chance(prod(sides), k, probability, seed, like).reshape(sides)
        for axis, (side, move) in enumerate(zip(sides, step, strict=True)):
            if move and not wraps[axis]:
                chosen[(slice(None),) * axis + (side - 1 if move > 0 else 0,)] = False
        opened |= chosen.view(np.uint8) << k
    return Bonds(opened, np.array(steps, np.int64), wraps)


def _chance(size: int, k: int, probability: float, seed: int, like: Array) -> Array:
    """Return for each bond of a kind whether it is open, (size,) of bool."""
    if probability in (0, 1):
        same = np.empty(size, np.bool_, like=like)
        same[:] = bool(probability)
        return same
    bits = _random_bits(size, k, seed, like)
    found: Array = (bits >> np.uint64(11)) < np.uint64(round(probability * 2**53))
    return found


def _random_bits(size: int, k: int, seed: int, like: Array) -> Array:
    """Return random 64-bit numbers, all of them different, (size,).

    A counter is mixed into a random number (splitmix64: G. L. Steele, D. Lea, C. H. Flood, OOPSLA
    2014, doi:10.1145/2660193.2660195), so that the numbers do not depend on the order of bonds or
    on the device.
    """
    start = int(np.random.SeedSequence([seed, k]).generate_state(1, np.uint64)[0])
    mixed = np.arange(size, dtype=np.uint64, like=like)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64(start)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed
