"""Runs of two rows that touch in a word of 64 columns, united pair by pair.

Where a row begins in a word is told by two numbers: the bits where runs begin, and the number of
the first of these runs.
"""

from .bits import LAST, NONE, ONE, popcount
from .caching import inlined
from .smaller import smaller
from .union_find import unite


@inlined
def unite_straight(parents, events, mine, theirs):
    """Unite the runs above each other at every bit of `events`; see `unite_contacts`."""
    starts, run = mine
    other_starts, other_run = theirs
    while events != NONE:
        bit = events & (~events + ONE)
        upto = bit ^ (bit - ONE)
        unite(
            parents,
            run + popcount(starts & upto) - 1,
            other_run + popcount(other_starts & upto) - 1,
        )
        events ^= bit


@inlined
def unite_left(parents, events, mine, theirs):
    """Unite the run at every bit of `events` with that of the other row one pixel before."""
    starts, run = mine
    other_starts, other_run = theirs
    while events != NONE:
        bit = events & (~events + ONE)
        below = bit - ONE
        unite(
            parents,
            run + popcount(starts & (bit | below)) - 1,
            other_run + popcount(other_starts & below) - 1,
        )
        events ^= bit


@inlined
def unite_right(parents, events, mine, theirs, beyond):
    """Unite the run at every bit of `events` with that of the other row one pixel after."""
    starts, run = mine
    other_starts, other_run = theirs
    next_starts, next_run = beyond
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


@inlined
def first_contacts(contacts, begins):
    """Keep the first contact between two bits of `begins`: the others are of the same two runs.

    Between two of them, the last bit is set if it is not, so that one can be subtracted from all
    stretches at once; that leaves every bit but the lowest.
    """
    ends = (begins >> ONE) | (ONE << LAST)
    return contacts & ~((contacts | ends) - (begins | ONE))


@inlined
def unite_contacts(runs, straight, left, right, block, other, word):
    """Unite the runs of two blocks that touch in a word: straight, to the left, to the right.

    Parameters
    ----------
    runs : Runs
    straight, left, right : uint64
        A bit for each pixel of `block` where a contact begins with the pixel of `other` in the
        same column, in the one before, and in the one after.
    """
    parents = runs.parents
    starts, other_starts = runs.starts[block, word], runs.starts[other, word]
    mine = starts, runs.first[block, word]
    theirs = other_starts, runs.first[other, word]
    if runs.tall > 1:  # runs of several rows may touch many times
        straight = first_contacts(straight, starts | other_starts)
    unite_straight(parents, straight, mine, theirs)
    if left != NONE:
        if runs.tall > 1:
            left = first_contacts(left, starts | (other_starts << ONE))
        unite_left(parents, left, mine, theirs)
    if right != NONE:
        if runs.tall > 1:
            right = first_contacts(right, starts | (other_starts >> ONE) | (ONE << LAST))
        after = smaller(word + 1, runs.starts.shape[1] - 1)
        beyond = runs.starts[other, after], runs.first[other, after]
        unite_right(parents, right, mine, theirs, beyond)
