"""The method `runs` in a single call, row by row: fastest for small images of one or two axes.

Each row is united with the one before it, without a table of runs. Rows are not joined in blocks:
so runs come in raster order, and the components need not be put into it.
"""

import numpy as np

from .alignment import SKIP, left_out
from .bits import LAST, NONE, ONE, popcount
from .caching import inlined, njit
from .numbering import is_one, number_range
from .packing import NOTHING, SEVERAL, pack
from .painting import BYTE, paint_few, paint_many, paint_one
from .painting import FEW as FEW_PAINTED
from .run_contacts import first_contacts, unite_straight
from .smaller import smaller
from .vector_paint import paint, spread

VALUES = -2  # returned in place of a number of components
FEW = 3  # runs in a word up to which uniting one after the other is quicker
EIGHT = 8  # runs or pixels that are written at once


@njit(nogil=True, cache=True)
def label_rows(pixels, plan, labels):
    """Label an image.

    Parameters
    ----------
    pixels : (R * columns,) array of unsigned integers
    plan : (6,) array of int64
        Rows; columns; the background; whether there is one; whether values tell components apart;
        and whether pixels that share a corner are neighbors.
    labels : (>= R * columns,) array of int32
        Overwritten, from a multiple of 32 bytes on if there is room for that.

    Returns
    -------
    int
        Number of components, and `SKIP` times the labels before them; `VALUES` if there are several
        values that tell them apart.
    """
    rows, columns = plan[0], plan[1]
    skip = left_out(labels, rows * columns)
    labels = labels[skip : skip + rows * columns]
    bits = np.empty((rows + 2, (columns + 63) >> 6), np.uint64)
    bits[:2] = NONE  # rows before the first
    background = pixels.dtype.type(plan[2])
    found, _ = pack(pixels, columns, background, plan[3] != 0, plan[4] == 0, bits[2:])
    if found == SEVERAL:
        return VALUES
    if found == NOTHING:
        labels[:] = 0
        return skip * SKIP
    parents = np.empty(rows * ((columns + 1) >> 1) + 1 + 64, np.int32)
    runs = link_rows(bits, plan[5] != 0, parents)
    if is_one(parents, 2, runs + 1):
        paint_one(bits[2:], columns, 0, rows, False, False, labels)
        return skip * SKIP + 1
    parents[0] = 0
    components = number_range(parents, 1, runs + 1, np.int32(0))
    paint_rows_in_turn(bits, columns, parents, labels)
    return skip * SKIP + components


@inlined
def link_rows(bits, full, parents):
    """Unite the runs that touch, and return their number.

    Two runs that touch have one column in which the later of the two begins, with the other below
    it or, if corners touch, just before it. So each contact is one bit.

    Parameters
    ----------
    bits : (R + 2, words) array of uint64
        Foreground, after two empty rows.
    full : bool
        Whether corners touch.
    parents : (runs + 65,) array of int32
        Overwritten from 1 on.
    """
    corner = ONE if full else NONE  # by how many columns contacts reach
    first = last = 0
    for row in range(2, bits.shape[0]):
        above, first = first, last
        carry = NONE
        carry_above = NONE
        for word in range(bits.shape[1]):
            v = bits[row, word]
            u = bits[row - 1, word]
            begins = v & ~((v << ONE) | carry)
            begins_above = u & ~((u << ONE) | carry_above)
            count = popcount(begins)
            for k in range(0, count, EIGHT):
                for j in range(EIGHT):
                    parents[np.uint64(last + k + j + 1)] = last + k + j + 1
            # Contacts of runs that begin here: their first ones, so no roots are looked for.
            firsts = begins & (u | (u << corner) | (carry_above & corner))
            events = begins_above & (v | (v << corner) | (carry & corner)) & ~begins
            if full:  # not where the row before the last joins this run to the one before it
                events &= ~((bits[row - 2, word] << ONE) & (u << (ONE + ONE)) & (v << ONE))
            if count > FEW:
                if firsts == NONE:  # those that begin here touch none before it begins
                    firsts = first_contacts(events, begins) & ~(begins ^ (begins - ONE))
                    events &= ~firsts
                if in_order(firsts, begins, begins_above):
                    upto = firsts ^ (firsts - ONE)
                    run = last + popcount(begins & upto)
                    other = above + popcount(begins_above & upto) - 1
                    for k in range(0, popcount(firsts), EIGHT):
                        spread(parents, run + k, BYTE, BYTE, other + k, parents)
                    firsts = NONE
            while firsts != NONE:
                upto = firsts ^ (firsts - ONE)
                run = np.uint64(last + popcount(begins & upto))
                other = np.uint64(above + popcount(begins_above & upto))
                parents[run] = parents[other]
                firsts &= firsts - ONE
            unite_straight(parents, events, (begins, last + 1), (begins_above, above + 1))
            last += count
            above += popcount(begins_above)
            carry = v >> LAST
            carry_above = u >> LAST
    return last


@inlined
def in_order(firsts, begins, begins_above):
    """Return whether the last runs of a word touch just as many in order: a copy unites them.

    Parameters
    ----------
    firsts : uint64
        Where runs that begin in this word touch one of the row above, each for the first time.
    begins, begins_above : uint64
        Where runs begin.
    """
    if firsts == NONE:
        return False
    later = ~(firsts ^ (firsts - ONE))  # columns after the lowest
    if popcount(begins & later) + 1 != popcount(firsts):
        return False
    between = begins_above & later
    if first_contacts(between, firsts << ONE) != between:
        return False
    beyond = 1 if between & ~firsts > firsts else 0  # the last one begins after the last contact
    return popcount(between) + 1 == popcount(firsts) + beyond


@inlined
def paint_rows_in_turn(bits, columns, parents, labels):
    """Write the label of every pixel, from the first row to the last: one may write into the next.

    Parameters
    ----------
    bits : (R + 2, words) array of uint64
    parents : (runs + 65,) array of int32
        Label of each run.
    labels : (R * columns,) array of int32
        Overwritten.
    """
    run = 0
    for row in range(2, bits.shape[0]):
        carry = NONE
        for word in range(bits.shape[1]):
            begin = (row - 2) * columns + 64 * word
            width = smaller(64, columns - 64 * word)
            pixels = bits[row, word]
            begins = pixels & ~((pixels << ONE) | carry)
            carry = pixels >> LAST
            count = popcount(begins)
            if width <= 32 or begin + 64 > labels.size:
                paint_bytes(labels, begin, width, pixels, begins, run, parents)
            elif pixels == NONE:
                paint(labels, begin, NONE, np.int32(0))
            elif count <= FEW_PAINTED:
                paint_few(labels, begin, pixels, begins, run, parents)
            else:
                paint_many(labels, begin, pixels, begins, run, parents)
            run += count


@inlined
def paint_bytes(labels, begin, width, pixels, begins, run, table):
    """Paint a part of a word, eight pixels at a time as long as there are any in the image."""
    k = 0
    while k < width and begin + k + EIGHT <= labels.size:
        shift = np.uint64(k)
        some = (begins >> shift) & BYTE
        spread(labels, begin + k, (pixels >> shift) & BYTE, some, run, table)
        run += popcount(some)
        k += EIGHT
    while k < width:
        shift = np.uint64(k)
        run += np.int64((begins >> shift) & ONE)
        labels[begin + k] = table[run] if (pixels >> shift) & ONE != NONE else np.int32(0)
        k += 1
