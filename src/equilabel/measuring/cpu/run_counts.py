"""Runs with their labels, and what they add to counts."""

import numpy as np

from equilabel.devices.cpu.bits import NONE, ONE, lowest, popcount
from equilabel.devices.jit import njit
from equilabel.runs.cpu.run_table import AXES, advance, block_of, label_at, locate

from .neighbor_bits import compare, count_starts, find_ends, find_starts, within

# ---- Passes from planes of bits to lists of runs, each with its label
# A run is a row ``(row, begin, end, label)`` of int64; runs stand in raster order.


@njit(nogil=True, cache=True)
def list_runs(labels, columns, span, planes, left, first_row, skip, runs):
    """List the runs of some rows of labels, and return their least and greatest label.

    Parameters
    ----------
    labels : (R * columns,) array of int
    span : (int, int)
        Columns to look at.
    planes : array of uint64
        From `compare`; its row `skip` stands for `first_row`.
    left : int
        The plane of the pixel to the left.
    runs : (N, 4) array of int64
        Overwritten; N as of `count_starts`.
    """
    begin, end = span
    least = np.int64(0)
    most = np.int64(0)
    run = 0
    last = 0
    row = 0
    while run < runs.shape[0]:
        for word in range(begin >> 6, ((end - 1) >> 6) + 1):
            if planes[skip + row, word, 0] == NONE:
                continue
            here = find_starts(planes, skip + row, word, left, begin, end)
            while here != NONE:
                x = 64 * word + lowest(here)
                here &= here - ONE
                label = np.int64(labels[(first_row + row) * columns + x])
                least = label if run == 0 else min(least, label)
                most = label if run == 0 else max(most, label)
                runs[run, 0] = first_row + row
                runs[run, 1] = x
                runs[run, 3] = label
                run += 1
            here = find_ends(planes, skip + row, word, left, begin, end)
            while here != NONE:
                runs[last, 2] = 64 * word + lowest(here) + 1
                here &= here - ONE
                last += 1
        row += 1
    return least, most


@njit(nogil=True, cache=True)
def list_joined(table, planes, left, first_row, skip, runs):
    """List the runs of some rows of a run table, as `list_runs` does of labels.

    Parameters
    ----------
    table : equilabel.runs.cpu.run_table.Runs
        Whose `parents` are labels by now.
    """
    words = table.starts.shape[1]
    columns = 64 * words
    least = np.int64(0)
    most = np.int64(0)
    run = 0
    last = 0
    row = 0
    while run < runs.shape[0]:
        at = first_row + row
        block = block_of(table, at)
        for word in range(words):
            if planes[skip + row, word, 0] == NONE:
                continue
            here = find_starts(planes, skip + row, word, left, 0, columns)
            while here != NONE:
                x = 64 * word + lowest(here)
                label = np.int64(label_at(table, block, x))
                least = label if run == 0 else min(least, label)
                most = label if run == 0 else max(most, label)
                runs[run, 0] = at
                runs[run, 1] = x
                runs[run, 3] = label
                here &= here - ONE
                run += 1
            here = find_ends(planes, skip + row, word, left, 0, columns)
            while here != NONE:
                runs[last, 2] = 64 * word + lowest(here) + 1
                here &= here - ONE
                last += 1
        row += 1
    return least, most


@njit(nogil=True, cache=True)
def assign_slots(runs, least, lookup, ids):
    """Replace the label of each run by its slot, the index of its label; count the labels.

    Parameters
    ----------
    runs : (N, 4) array of int64
        The last column is overwritten.
    lookup : (most - least + 1,) array of int32
        Zeros; overwritten.
    ids : (>= labels,) array of int64
        Overwritten with the label of each slot, in order of the first run.
    """
    count = 0
    for run in range(runs.shape[0]):
        label = runs[run, 3]
        slot = lookup[label - least]
        if slot == 0:
            ids[count] = label
            count += 1
            slot = count
            lookup[label - least] = slot
        runs[run, 3] = slot - 1
    return count


# ---- Passes that add runs to a table of counts, in closed form; `equilabel.measuring.layout`
# tells how
# Sums wrap around at 2**64, so that differences of them are exact wherever these fit.


@njit(nogil=True, cache=True)
def add_extents(runs, shape, sides, axes, table):
    """Add pixels, sums, lows and highs.

    Parameters
    ----------
    runs : (N, 4) array of int64
        Row, first column, last column + 1, and slot, the index of its label in the table.
    shape : (5,) array of int64
        Leading axes.
    sides : (axes,) array of int64
        Sides of the image.
    axes : int
        Axes of the image, of which all but the last are the last of the leading ones.
    table : (labels, >= 1 + 3 * axes) array of int64
        Updated.
    """
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - axes
    lows = 1 + axes
    highs = 1 + 2 * axes
    x = axes - 1
    at = np.int64(-2)
    for run in range(runs.shape[0]):
        if runs[run, 0] == at + 1:
            advance(shape, position)
            at += 1
        elif runs[run, 0] != at:
            at = runs[run, 0]
            locate(at, shape, position)
        begin = runs[run, 1]
        end = runs[run, 2]
        slot = runs[run, 3]
        length = end - begin
        table[slot, 0] += length
        for axis in range(x):
            here = position[leading + axis]
            table[slot, 1 + axis] += here * length
            table[slot, lows + axis] = max(table[slot, lows + axis], sides[axis] - here)
            table[slot, highs + axis] = max(table[slot, highs + axis], here + 1)
        table[slot, 1 + x] += (begin + end - 1) * length // 2
        table[slot, lows + x] = max(table[slot, lows + x], sides[x] - begin)
        table[slot, highs + x] = max(table[slot, highs + x], end)


@njit(nogil=True, cache=True)
def add_first(runs, columns, size, column, table):
    """Keep the smallest flat index of each label, as ``size - index``, in a column of the table."""
    for run in range(runs.shape[0]):
        slot = runs[run, 3]
        index = runs[run, 0] * columns + runs[run, 1]
        table[slot, column] = max(table[slot, column], size - index)


@njit(nogil=True, cache=True)
def add_products(runs, shape, rank, column, table):
    """Add the sums of products of two spatial coordinates, from a column of the table on."""
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - rank
    at = np.int64(-2)
    for run in range(runs.shape[0]):
        if runs[run, 0] != at:
            at = runs[run, 0]
            locate(at, shape, position)
        begin = runs[run, 1]
        slot = runs[run, 3]
        length = runs[run, 2] - begin
        total = (begin + runs[run, 2] - 1) * length // 2
        to = column
        for one in range(rank - 1):
            here = position[leading + one]
            for other in range(one, rank - 1):
                table[slot, to] += here * position[leading + other] * length
                to += 1
            table[slot, to] += here * total
            to += 1
        half = (length - 1) * length // 2
        if half % 3 == 0:  # sum of squares of 0 to length - 1, without dividing what has wrapped
            squares = half // 3 * (2 * length - 1)
        else:
            squares = half * ((2 * length - 1) // 3)
        table[slot, to] += length * begin * begin + 2 * begin * half + squares


@njit(nogil=True, cache=True)
def add_planes(runs, planes, first_row, entries, table):
    """Add the bits of planes under each run.

    Parameters
    ----------
    planes : (rows, words, P) array of uint64
        Planes of the rows from `first_row` on.
    entries : (E, 3) array of int64
        Which plane counts in which column of the table, and how much a bit counts there.
    """
    for run in range(runs.shape[0]):
        row = runs[run, 0] - first_row
        begin = runs[run, 1]
        end = runs[run, 2]
        slot = runs[run, 3]
        for word in range(begin >> 6, ((end - 1) >> 6) + 1):
            inside = within(word, begin, end)
            for entry in range(entries.shape[0]):
                bits = planes[row, word, entries[entry, 0]] & inside
                if bits != NONE:
                    table[slot, entries[entry, 1]] += entries[entry, 2] * popcount(bits)


@njit(nogil=True, cache=True)
def add_table(whole, slots, part, lows, sums):
    """Add the rows of a table to those of another.

    Parameters
    ----------
    slots : (labels,) array of int64
        Line of `whole` for each of `part`.
    lows, sums : int
        Columns from the one to before the other hold greatest values; all others add up.
    """
    for row in range(part.shape[0]):
        to = slots[row]
        for column in range(part.shape[1]):
            if lows <= column < sums:
                whole[to, column] = max(whole[to, column], part[row, column])
            else:
                whole[to, column] += part[row, column]


# ---- The runs and the table of a small image of labels in a single call

ROOM = 16  # entries of a look-up table that each run may cost before labels are sorted instead
FLOOR = 2**16  # entries that it may have in any case


@njit(nogil=True, cache=True)
def measure_image(labels, shape, sides, steps, plan):
    """Count what follows from the runs of all rows, as `strips.measure_strip` does of some.

    Parameters
    ----------
    labels : (R * columns,) array of int
    shape : (5,) array of int64
        Leading axes.
    sides : (axes,) array of int64
        Sides of the image.
    steps : (S, 3) array of int64
        To the neighbors that are compared.
    plan : (5,) array of int64
        Columns of the table, planes of bits, the columns of the first pixel and of products (0 if
        there are none), and spatial axes.

    Returns
    -------
    least : int
        The least label; the arrays are of use only if it is not negative.
    sparse : bool
        Whether labels are so far apart that they have to be sorted: the last two arrays are not
        of use then, and runs hold labels in place of slots.
    planes, runs, ids, table : arrays
        As in `measure_strip`.
    """
    columns = sides[-1]
    rows = labels.size // columns
    planes = np.empty((rows, -(-columns // 64), plan[1]), np.uint64)
    compare(labels, columns, shape, steps, 0, rows, planes)
    left = steps.shape[0]
    count = count_starts(planes, 0, rows, left, 0, columns)
    runs = np.empty((count, 4), np.int64)
    least, most = list_runs(labels, columns, (0, columns), planes, left, 0, 0, runs)
    sparse = most - least >= ROOM * count + FLOOR
    if least < 0 or sparse:
        return least, sparse, planes, runs, np.empty(0, np.int64), np.zeros((0, 0), np.int64)
    ids = np.empty(count, np.int64)
    ids = ids[: assign_slots(runs, least, np.zeros(most - least + 1, np.int32), ids)].copy()
    table = np.zeros((ids.size, plan[0]), np.int64)
    add_extents(runs, shape, sides, sides.size, table)
    if plan[2] > 0:
        add_first(runs, columns, labels.size, plan[2], table)
    if plan[3] > 0:
        add_products(runs, shape, plan[4], plan[3], table)
    return least, False, planes, runs, ids, table
