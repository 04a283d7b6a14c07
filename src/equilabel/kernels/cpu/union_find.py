"""Union and find over runs, one pair of touching runs at a time or a word of them.

`parents` is a forest with ``parents[run] <= run``; uniting takes the smaller root (label reduction,
Komura 2016), and finding halves paths. Runs are numbered 1, 2, ... block by block; run 0 stands for
"none". ``first[block, word]`` is the number of the first run that begins in a word, so the run
that covers a bit is found by counting the starts up to it.
"""

from .bits import LAST, NONE, ONE, popcount
from .caching import njit


@njit(nogil=True, cache=True, forceinline=True)
def find(parents, run):
    """Return the root of a run and halve the path to it."""
    parent = parents[run]
    while parent != run:
        above = parents[parent]
        parents[run] = above
        run = above
        parent = parents[run]
    return run


@njit(nogil=True, cache=True, forceinline=True)
def unite(parents, one, other):
    """Give two runs one root, the smaller of theirs."""
    mine = parents[one]
    theirs = parents[other]
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


@njit(nogil=True, cache=True, forceinline=True)
def unite_straight(parents, events, starts, run, other_starts, other_run):
    """Unite the runs above each other at every bit of `events`."""
    while events != NONE:
        bit = events & (~events + ONE)
        upto = bit ^ (bit - ONE)
        unite(
            parents,
            run + popcount(starts & upto) - 1,
            other_run + popcount(other_starts & upto) - 1,
        )
        events ^= bit


@njit(nogil=True, cache=True, forceinline=True)
def unite_left(parents, events, starts, run, other_starts, other_run):
    """Unite the run at every bit of `events` with that of the other row one pixel before."""
    while events != NONE:
        bit = events & (~events + ONE)
        below = bit - ONE
        unite(
            parents,
            run + popcount(starts & (bit | below)) - 1,
            other_run + popcount(other_starts & below) - 1,
        )
        events ^= bit


@njit(nogil=True, cache=True, forceinline=True)
def unite_right(parents, events, starts, run, other_starts, other_run, next_starts, next_run):
    """Unite the run at every bit of `events` with that of the other row one pixel after."""
    while events != NONE:
        bit = events & (~events + ONE)
        upto = bit ^ (bit - ONE)
        if bit >> LAST:
            other = next_run + popcount(next_starts & ONE) - 1
        else:
            after = (bit << ONE) | upto
            other = other_run + popcount(other_starts & after) - 1
        unite(parents, run + popcount(starts & upto) - 1, other)
        events ^= bit


@njit(nogil=True, cache=True, forceinline=True)
def unite_events(events, left, right, starts, first, block, other, word, parents):
    """Unite runs of two blocks that touch in a word: straight, and to the left and right."""
    here = starts[block, word]
    above = starts[other, word]
    run = first[block, word]
    other_run = first[other, word]
    unite_straight(parents, events, here, run, above, other_run)
    if left != NONE:
        unite_left(parents, left, here, run, above, other_run)
    if right != NONE:
        after = min(word + 1, starts.shape[1] - 1)
        unite_right(
            parents, right, here, run, above, other_run, starts[other, after], first[other, after]
        )
