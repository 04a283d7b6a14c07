"""Launchers for potts.cu, with the names and signatures of `equilabel.simulation.cpu.potts`.

None of them waits for the device.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING

import cupy
import numpy as np

from equilabel.devices.cuda.kernels import THREADS, kernel, launch

if TYPE_CHECKING:
    from equilabel.array_types import Array

RANKS = 6
LATTICE = np.dtype([("sides", "<u4", (RANKS,)), ("size", "<u4")], align=True)
BLOCKS = 2048


def random_words(sites: Array, sweep: int, purpose: int, seed: int) -> Array:
    """Return the four words that each site draws, (N, 4) of uint32."""
    words = cupy.empty((sites.size, 4), cupy.uint32)
    drawn = np.uint64(sweep), np.uint32(purpose), np.uint64(seed)
    function = kernel("simulation/cuda/potts", "random_words")
    launch(function, sites.size, sites, sites.size, *drawn, words)
    return words


def random_spins(shape: tuple[int, ...], states: int, seed: int) -> Array:
    """Return a random state for every site, all equally likely."""
    spins = cupy.empty(shape, cupy.uint8)
    function = kernel("simulation/cuda/potts", "random_spins")
    launch(function, spins.size, spins.size, np.uint32(states), np.uint64(seed), spins)
    return spins


def activate_bonds(spins: Array, threshold: int, sweep: int, seed: int, opened: Array) -> None:
    """Open each bond between equal spins with a probability (Weigel 2011, Equation 7)."""
    drawn = np.uint64(threshold), np.uint64(sweep), np.uint64(seed)
    function = kernel("simulation/cuda/potts", f"activate_bonds<{spins.ndim}>")
    launch(function, spins.size, spins, _lattice(spins.shape), *drawn, opened)


def flip_clusters(
    spins: Array, labels: Array, first: int, states: int, sweep: int, seed: int
) -> None:
    """Give every cluster a new state, all equally likely; spins are overwritten."""
    function = kernel("simulation/cuda/potts", f"flip_clusters<u{labels.itemsize}>")
    drawn = np.uint32(states), np.uint64(sweep), np.uint64(seed)
    launch(function, spins.size, *_numbered(labels, first), spins.size, *drawn, spins)


def mark_clusters(
    spins: Array, labels: Array, first: int, tile: int, sweep: int, seed: int
) -> Array:
    """Mark the cluster of a random site of each tile (Weigel 2011, Section III)."""
    marked = cupy.zeros(labels.size, cupy.uint8)
    points = prod(-(-side // tile) for side in spins.shape)
    function = kernel("simulation/cuda/potts", f"mark_clusters<{spins.ndim}, u{labels.itemsize}>")
    drawn = np.uint32(tile), points, np.uint64(sweep), np.uint64(seed)
    launch(function, points, *_numbered(labels, first), _lattice(spins.shape), *drawn, marked)
    return marked


def flip_marked(
    spins: Array,
    labels: Array,
    first: int,
    marked: Array,
    states: int,
    threshold: int,
    sweep: int,
    seed: int,
) -> None:
    """Give every marked cluster one of its other states, with a probability."""
    function = kernel("simulation/cuda/potts", f"flip_marked<u{labels.itemsize}>")
    drawn = np.uint64(threshold), np.uint64(sweep), np.uint64(seed)
    sites = *_numbered(labels, first), spins.size, marked
    launch(function, spins.size, *sites, np.uint32(states), *drawn, spins)


def measure_spins(spins: Array, states: int, row: Array) -> None:
    """Count bonds between equal spins, and sites in each state."""
    function = kernel("simulation/cuda/potts", f"measure_spins<{spins.ndim}>")
    arguments = spins, _lattice(spins.shape), np.uint32(states), row
    function((_blocks(spins.size),), (THREADS,), arguments, shared_mem=4 * states)


def measure_clusters(labels: Array, first: int, row: Array) -> None:
    """Count clusters, the sites of the largest, and the sum of the squares of all their sizes."""
    sizes = cupy.zeros(labels.size, cupy.uint32)
    grid = (_blocks(labels.size),), (THREADS,)
    kernel("simulation/cuda/potts", f"add_sizes<u{labels.itemsize}>")(
        *grid, (*_numbered(labels, first), labels.size, sizes)
    )
    kernel("simulation/cuda/potts", "sum_sizes")(*grid, (sizes, labels.size, row))


def _numbered(labels: Array, first: int) -> tuple[Array, np.integer]:
    """Return labels, and the first of them as a number of their type."""
    return labels, labels.dtype.type(first)


@cache
def _lattice(shape: tuple[int, ...]) -> Array:
    """Return a lattice as the bytes of `Lattice` in potts.cu."""
    lattice = np.ones((), LATTICE)
    lattice["sides"][: len(shape)] = shape[::-1]
    lattice["size"] = prod(shape)
    return lattice.view(f"V{LATTICE.itemsize}")  # without names, which are slow to pass


def _blocks(size: int) -> int:
    return min(-(-size // THREADS), BLOCKS)
