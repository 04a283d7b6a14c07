"""Border pixels of labels, sorted by their neighbors: what an estimate of the perimeter needs.

A border pixel has a neighbor across an edge that is not of its label. Of its neighbors, those that
are border pixels of the same label count: `a` across edges and `b` across corners. Benkrid and
Crookes give it the weight 1 for a in (2, 3) and b < 3, sqrt(2) for (a, b) = (0, 2) or (1, 3), and
their mean for a = 1 and b in (1, 2).
"""

from .bits import LAST, NONE, ONE
from .caching import inlined, njit

EQUAL = 3  # planes filled by `classify`: weight 1, sqrt(2), and the mean of both
UNEVEN = 8  # straight along x, y, (x y), (x x y), (x y y); diagonal; half diagonal, half x or y


@njit(nogil=True, cache=True)
def find_border(planes, border):
    """Set bits where a label has a neighbor across an edge that is another, or outside.

    Parameters
    ----------
    planes : (rows, words, >= 5) array of uint64
        From `neighbor_bits.compare` with all steps in 2D.
    border : (rows, words) array of uint64
        Overwritten. The last row lacks the one below it.
    """
    rows, words = border.shape
    for row in range(rows):
        for word in range(words):
            left = planes[row, word, 4]
            right = left >> ONE
            if word + 1 < words:
                right |= planes[row, word + 1, 4] << LAST
            below = planes[row + 1, word, 2] if row + 1 < rows else NONE
            border[row, word] = planes[row, word, 0] & ~(
                left & right & planes[row, word, 2] & below
            )


@njit(nogil=True, cache=True)
def classify(planes, border, first, last, uneven, to):
    """Sort the border pixels of some rows into planes.

    Parameters
    ----------
    border : (rows, words) array of uint64
        From `find_border`; right from the row before `first` to the one after `last`.
    uneven : bool
        Whether to tell steps along x and y apart: `UNEVEN` planes instead of `EQUAL`.
    to : int
        Planes from here on are overwritten.
    """
    for row in range(first, last):
        for word in range(border.shape[1]):
            center = border[row, word]
            for k in range(UNEVEN if uneven else EQUAL):
                planes[row, word, to + k] = NONE
            if center == NONE:
                continue
            north, south, west, east, diagonals = border_beside(planes, border, row, word)
            a1, a2, a4 = tally(north, south, west, east)
            b1, b2, b4 = diagonals
            straight = center & a2 & ~(b1 & b2) & ~b4
            one = center & a1 & ~a2
            diagonal = (center & ~a1 & ~a2 & ~a4 & b2 & ~b1) | (one & b1 & b2)
            mixed = one & (b1 ^ b2)
            if uneven:
                some_x = west ^ east
                some_y = north ^ south
                both_x = west & east
                both_y = north & south
                planes[row, word, to] = straight & both_x & ~north & ~south
                planes[row, word, to + 1] = straight & both_y & ~west & ~east
                planes[row, word, to + 2] = straight & some_x & some_y
                planes[row, word, to + 3] = straight & both_x & some_y
                planes[row, word, to + 4] = straight & both_y & some_x
                planes[row, word, to + 5] = diagonal
                planes[row, word, to + 6] = mixed & some_x
                planes[row, word, to + 7] = mixed & some_y
            else:
                planes[row, word, to] = straight
                planes[row, word, to + 1] = diagonal
                planes[row, word, to + 2] = mixed


@inlined
def border_beside(planes, border, row, word):
    """Mark where the neighbors of the pixels of a word are border pixels of the same label.

    Returns
    -------
    north, south, west, east : uint64
    diagonals : (uint64, uint64, uint64)
        How many of the four at the corners are: from `tally`.
    """
    rows, words = border.shape
    north = NONE
    northwest = NONE
    northeast = NONE
    if row > 0:
        north = border[row - 1, word]
        northwest = north << ONE
        northeast = north >> ONE
        if word > 0:
            northwest |= border[row - 1, word - 1] >> LAST
        if word + 1 < words:
            northeast |= border[row - 1, word + 1] << LAST
    south = NONE
    southwest = NONE
    southeast = NONE
    if row + 1 < rows:
        south = planes[row + 1, word, 2] & border[row + 1, word]
        southwest = (planes[row + 1, word, 3] & border[row + 1, word]) << ONE
        southeast = (planes[row + 1, word, 1] & border[row + 1, word]) >> ONE
        if word > 0:
            southwest |= (planes[row + 1, word - 1, 3] & border[row + 1, word - 1]) >> LAST
        if word + 1 < words:
            southeast |= (planes[row + 1, word + 1, 1] & border[row + 1, word + 1]) << LAST
    west = border[row, word] << ONE
    east = (planes[row, word, 4] & border[row, word]) >> ONE
    if word > 0:
        west |= border[row, word - 1] >> LAST
    if word + 1 < words:
        east |= (planes[row, word + 1, 4] & border[row, word + 1]) << LAST
    diagonals = tally(
        planes[row, word, 1] & northwest,
        planes[row, word, 3] & northeast,
        southwest,
        southeast,
    )
    return north & planes[row, word, 2], south, west & planes[row, word, 4], east, diagonals


@inlined
def tally(p, q, r, s):
    """Add four words bit by bit: the ones, twos and fours of each sum."""
    pq = p ^ q
    rs = r ^ s
    return pq ^ rs, (p & q) ^ (r & s) ^ (pq & rs), p & q & r & s
