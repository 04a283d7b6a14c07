"""Union-find: forests of indices, ``parents[i] <= i``, whose roots are their own parents."""

import numpy as np

from equilabel.devices.jit import inlined, njit


@inlined
def find(parents, index):
    """Return the root of an element, as an unsigned number, and halve the path to it."""
    index = np.uint64(index)  # unsigned: no index counts from the end
    parent = np.uint64(parents[index])
    while parent != index:
        above = np.uint64(parents[parent])
        parents[index] = above
        index = above
        parent = np.uint64(parents[index])
    return index


@inlined
def root_of(parents, index):
    """Return the root of an element, and change nothing."""
    parent = parents[index]
    while parent != index:
        index = parent
        parent = parents[index]
    return index


@inlined
def unite(parents, one, other):
    """Give two elements one root, the smaller of theirs, and halve the paths to it."""
    one = np.uint64(one)
    other = np.uint64(other)
    mine = np.uint64(parents[one])
    theirs = np.uint64(parents[other])
    if mine == theirs:
        return
    if mine == one and theirs < one:
        parents[one] = theirs
        return
    one = find(parents, one)
    other = find(parents, other)
    if one < other:
        parents[other] = one
    elif other < one:
        parents[one] = other


@njit(nogil=True, cache=True)
def unite_roots(parents, one, other):
    """Give two elements one root, the smaller of theirs (Komura 2016, Algorithm 1).

    As on a GPU, where another thread may lower the same root at any moment. Here elements come one
    by one, and the first attempt is the last.
    """
    high = root_of(parents, one)
    low = root_of(parents, other)
    done = high == low
    if high < low:
        high, low = low, high
    while not done:
        before = atomic_min(parents, high, low)
        if before == low:
            done = True
        elif before > low:
            high = before
        else:  # another chain was joined here meanwhile: join it to this one
            high, low = low, before


@njit(nogil=True, cache=True)
def atomic_min(parents, index, root):
    """Lower the parent of an element to `root` if that is less; return what it was."""
    before = parents[index]
    if root < before:
        parents[index] = root
    return before
