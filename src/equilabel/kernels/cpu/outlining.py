"""Border pixels of labels, sorted by their neighbors: what an estimate of the perimeter needs."""

from numba import njit

from .bits import LAST, NONE, ONE


@njit(nogil=True, cache=True)
def find_border(here, below, border):
    """Set bits where a label has a neighbor across an edge that is another, or outside."""
    for word in range(border.size):
        some = here[0, word]
        right = here[1, word] >> ONE
        if word + 1 < border.size:
            right |= here[1, word + 1] << LAST
        border[word] = some & ~(here[1, word] & right & here[2, word] & below[2, word])


@njit(nogil=True, cache=True)
def classify(here, below, border_above, border, border_below, marks):
    """Sort border pixels by how many of their neighbors are border pixels of the same label.

    With `a` of them across edges and `b` across corners, ``marks[0]`` is set for a in (2, 3) and
    b < 3, ``marks[1]`` for (a, b) = (0, 2) or (1, 3), ``marks[2]`` for a = 1 and b in (1, 2):
    the three weights of Benkrid and Crookes' estimate of the perimeter.

    Parameters
    ----------
    here, below : (5, words) arrays of uint64
        From `read_row`.
    border_above, border, border_below : (words,) arrays of uint64
        From `find_border`.
    """
    words = border.size
    for word in range(words):
        center = border[word]
        marks[0, word] = NONE
        marks[1, word] = NONE
        marks[2, word] = NONE
        if center == NONE:
            continue
        left = center << ONE
        right = (here[1, word] & center) >> ONE
        above_left = border_above[word] << ONE
        above_right = border_above[word] >> ONE
        below_left = (below[4, word] & border_below[word]) << ONE
        below_right = (below[3, word] & border_below[word]) >> ONE
        if word > 0:
            left |= border[word - 1] >> LAST
            above_left |= border_above[word - 1] >> LAST
            below_left |= (below[4, word - 1] & border_below[word - 1]) >> LAST
        if word + 1 < words:
            right |= (here[1, word + 1] & border[word + 1]) << LAST
            above_right |= border_above[word + 1] << LAST
            below_right |= (below[3, word + 1] & border_below[word + 1]) << LAST
        a1, a2, a4 = tally(
            here[2, word] & border_above[word],
            below[2, word] & border_below[word],
            here[1, word] & left,
            right,
        )
        b1, b2, b4 = tally(
            here[3, word] & above_left, here[4, word] & above_right, below_left, below_right
        )
        none = center & ~a1 & ~a2 & ~a4
        one = center & a1 & ~a2
        marks[0, word] = center & a2 & ~(b1 & b2) & ~b4
        marks[1, word] = (none & b2 & ~b1) | (one & b1 & b2)
        marks[2, word] = one & (b1 ^ b2)


@njit(nogil=True, cache=True)
def tally(p, q, r, s):
    """Add four words bit by bit: the ones, twos and fours of each sum."""
    pq = p ^ q
    rs = r ^ s
    return pq ^ rs, (p & q) ^ (r & s) ^ (pq & rs), p & q & r & s
