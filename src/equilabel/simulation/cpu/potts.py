"""Random numbers from counters; bonds, new states and measurements of spins."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices import threads
from equilabel.devices.jit import called, inlined, njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray


# ---- Random numbers without a state: Philox 4x32-10
# J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3,
# Proc. SC11 (2011), doi:10.1145/2063384.2063405. Four words of 32 bits are a function of a counter
# and a key, so every site has its own numbers in every sweep, on every thread and device. The
# counter is (site, low word of the sweep, high word of the sweep, purpose); the key is the seed.

# Purposes, the last word of the counter. Axes 4 and 5 use the next number.
SPINS, BONDS, STATES, POINTS, FLIPS = 0, 1, 3, 4, 6

ROUNDS = 10
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@inlined
def philox(site, sweep, purpose, seed):
    """Return the four words, each below 2**32, that a site draws in a sweep for one purpose.

    `site` is below 2**32 (not checked); `sweep` and `seed` are uint64.
    """
    zero, one = np.uint64(site), sweep & LOW
    two, three = sweep >> HALF, np.uint64(purpose)
    key, other = seed & LOW, seed >> HALF
    for turn in range(ROUNDS):
        if turn > 0:
            key = (key + WEYL[0]) & LOW
            other = (other + WEYL[1]) & LOW
        first = MULTIPLIERS[0] * zero
        second = MULTIPLIERS[1] * two
        zero = (second >> HALF) ^ one ^ key
        one = second & LOW
        two = (first >> HALF) ^ three ^ other
        three = first & LOW
    return zero, one, two, three


@inlined
def below(limit, word):
    """Turn a word into a number of 0 to `limit` - 1; all are equally likely to 2**-32."""
    return (word * np.uint64(limit)) >> HALF


# ---- Passes of cluster updates of the Potts model (Swendsen and Wang 1987)
# A spin is one of the states 0 to q - 1, one byte. All axes are periodic and at least 2 long, and
# there are fewer than 2**32 sites. Step k leads along the axis ``rank - 1 - k``.
#
# Labels of clusters, int32 or int64, count from `first` in raster order of the first sites. A
# cluster draws its random numbers by its number: all methods give the same chain.


def random_words(sites: HostArray, sweep: int, purpose: int, seed: int) -> NDArray[np.uint32]:
    """Return the four words that each site draws, (N, 4)."""
    words = np.empty((sites.size, 4), np.uint32)
    fill_words(sites, np.uint64(sweep), purpose, np.uint64(seed), words)
    return words


def random_spins(shape: tuple[int, ...], states: int, seed: int) -> NDArray[np.uint8]:
    """Return a random state for every site, all equally likely."""
    spins = np.empty(prod(shape), np.uint8)
    _in_threads(fill_spins, spins.size, states, np.uint64(seed), spins)
    return spins.reshape(shape)


def activate_bonds(
    spins: HostArray, threshold: int, sweep: int, seed: int, opened: HostArray
) -> None:
    """Open each bond between equal spins with a probability (Weigel 2011, Equation 7).

    `threshold` is the probability in units of 2**-32. Bit k of a site of `opened`, of uint8, is set
    if its bond along step k is open.
    """
    shape = np.array(spins.shape, np.int64)
    drawn = np.uint64(threshold), np.uint64(sweep), np.uint64(seed)
    pieces = threads.ranges(spins.size // spins.shape[-1], spins.size)
    flat = spins.reshape(-1), shape, *drawn, opened.reshape(-1)
    threads.each(open_bonds, [(*piece, *flat) for piece in pieces])


def flip_clusters(
    spins: HostArray, labels: HostArray, first: int, states: int, sweep: int, seed: int
) -> None:
    """Give every cluster a new state, all equally likely; spins are overwritten."""
    drawn = states, np.uint64(sweep), np.uint64(seed)
    _in_threads(draw_states, spins.size, labels, first, *drawn, spins.reshape(-1))


def mark_clusters(
    spins: HostArray, labels: HostArray, first: int, tile: int, sweep: int, seed: int
) -> NDArray[np.uint8]:
    """Mark the cluster of a random site of each tile (Weigel 2011, Section III).

    Tiles have the edge `tile`, or less at the far ends of axes. Returns 1 for the chosen clusters,
    by their numbers from 0.
    """
    marked = np.zeros(labels.size, np.uint8)
    shape = np.array(spins.shape, np.int64)
    mark_points(labels, first, shape, tile, np.uint64(sweep), np.uint64(seed), marked)
    return marked


def flip_marked(
    spins: HostArray,
    labels: HostArray,
    first: int,
    marked: HostArray,
    states: int,
    threshold: int,
    sweep: int,
    seed: int,
) -> None:
    """Give every marked cluster one of its other states, with a probability.

    `threshold` is the probability in units of 2**-32; spins are overwritten.
    """
    flat = spins.reshape(-1)
    drawn = np.uint64(threshold), np.uint64(sweep), np.uint64(seed)
    _in_threads(shift_marked, flat.size, labels, first, marked, states, *drawn, flat)


def measure_spins(spins: HostArray, states: int, row: HostArray) -> None:
    """Count bonds between equal spins, and sites in each state.

    `row`, (1 + states,) of int64 and zeros, is overwritten.
    """
    shape = np.array(spins.shape, np.int64)
    pieces = threads.ranges(spins.size // spins.shape[-1], spins.size)
    rows = np.zeros((len(pieces), row.size), np.int64)
    flat = spins.reshape(-1)
    threads.each(count_spins, [(*p, flat, shape, r) for p, r in zip(pieces, rows, strict=True)])
    row[:] = rows.sum(axis=0)


def measure_clusters(labels: HostArray, first: int, row: HostArray) -> None:
    """Count clusters, the sites of the largest, and the sum of the squares of all their sizes.

    `row`, (3,) of int64 and zeros, is overwritten; the sum wraps around as an unsigned number does.
    """
    add_sizes(labels, first, row)


def _in_threads(kernel, size, *arguments):
    """Call a kernel on all sites, cut into ranges."""
    threads.each(kernel, [(*piece, *arguments) for piece in threads.ranges(size, size)])


# -------------------------------------------------------------------- kernels
# Where a kernel takes `begin` and `end`, these are its range of sites (or rows), and the other
# sites are read but not written. Sizes, ranges and labels are not checked.


@njit(nogil=True, cache=True)
def fill_words(sites, sweep, purpose, seed, words):
    """Write the words of each site."""
    for i in range(sites.size):
        drawn = philox(sites[i], sweep, purpose, seed)
        for k in range(4):
            words[i, k] = drawn[k]


@njit(nogil=True, cache=True)
def fill_spins(begin, end, states, seed, spins):
    """Draw the states of a range of sites."""
    for i in range(begin, end):
        spins[i] = below(states, philox(i, np.uint64(0), SPINS, seed)[0])


@called
def look_ahead(row, shape, ahead):
    """Write the distance to the next site along each axis but the last, for sites of a row."""
    rest = row
    stride = shape[-1]
    for axis in range(shape.size - 2, -1, -1):
        side = shape[axis]
        inside = rest % side + 1 < side
        rest //= side
        ahead[axis] = stride if inside else stride * (1 - side)
        stride *= side


@njit(nogil=True, cache=True)
def open_bonds(begin, end, spins, shape, threshold, sweep, seed, opened):
    """Open the bonds of the sites of a range of rows."""
    rank = shape.size
    width = shape[-1]
    ahead = np.empty(rank, np.int64)
    for row in range(begin, end):
        look_ahead(row, shape, ahead)
        for column in range(width):
            i = row * width + column
            ahead[rank - 1] = 1 if column + 1 < width else 1 - width
            bits = 0
            for k in range(rank):
                if spins[i + ahead[rank - 1 - k]] == spins[i]:
                    bits |= 1 << k
            kept = 0
            for four in range(0, rank, 4):  # a call gives four words
                if (bits >> four) & 15:
                    words = philox(i, sweep, BONDS + four // 4, seed)
                    for k in range(4):
                        if words[k] < threshold:
                            kept |= 1 << (four + k)
            opened[i] = bits & kept


@njit(nogil=True, cache=True)
def draw_states(begin, end, labels, first, states, sweep, seed, spins):
    """Give a range of sites the states that their clusters draw; neighbors mostly share theirs."""
    last = -1
    state = 0
    for i in range(begin, end):
        if labels[i] != last:
            last = labels[i]
            state = below(states, philox(last - first, sweep, STATES, seed)[0])
        spins[i] = state


@njit(nogil=True, cache=True)
def mark_points(labels, first, shape, tile, sweep, seed, marked):
    """Mark the cluster of a random site of each tile; tiles are numbered in raster order."""
    rank = shape.size
    count = 1
    for axis in range(rank):
        count *= (shape[axis] + tile - 1) // tile
    for point in range(count):
        rest = point
        site = 0
        stride = 1
        words = philox(point, sweep, POINTS, seed)
        for k in range(rank):
            if k == 4:
                words = philox(point, sweep, POINTS + 1, seed)
            side = shape[rank - 1 - k]
            tiles = (side + tile - 1) // tile
            begin = rest % tiles * tile
            rest //= tiles
            inside = min(tile, side - begin)
            site += (begin + np.int64(below(inside, words[k % 4]))) * stride
            stride *= side
        marked[labels[site] - first] = 1


@njit(nogil=True, cache=True)
def shift_marked(begin, end, labels, first, marked, states, threshold, sweep, seed, spins):
    """Change the spins of a range of sites to the new states of their clusters."""
    last = -1
    shift = 0
    for i in range(begin, end):
        if labels[i] != last:
            last = labels[i]
            shift = 0
            if marked[last - first]:
                words = philox(last - first, sweep, FLIPS, seed)
                if words[0] < threshold:
                    shift = 1 + np.int64(below(states - 1, words[1]))
        spins[i] = (np.int64(spins[i]) + shift) % states


@njit(nogil=True, cache=True)
def count_spins(begin, end, spins, shape, row):
    """Add the counts of a range of rows to `row`."""
    rank = shape.size
    width = shape[-1]
    ahead = np.empty(rank, np.int64)
    for line in range(begin, end):
        look_ahead(line, shape, ahead)
        for column in range(width):
            i = line * width + column
            ahead[rank - 1] = 1 if column + 1 < width else 1 - width
            spin = spins[i]
            row[1 + spin] += 1
            for axis in range(rank):
                row[0] += spins[i + ahead[axis]] == spin


@njit(nogil=True, cache=True)
def add_sizes(labels, first, row):
    """Add up the sizes of clusters and of their squares."""
    sizes = np.zeros(labels.size, np.int64)
    for i in range(labels.size):
        sizes[labels[i] - first] += 1
    for i in range(labels.size):
        size = sizes[i]
        row[0] += size > 0
        row[1] = max(row[1], size)
        row[2] += size * size
