"""Counts of runs, and sums of the values under them."""

from __future__ import annotations

import numpy as np

from equilabel.devices.cpu.bits import LAST, NONE, ONE, lowest, popcount
from equilabel.devices.jit import called, inlined, njit
from equilabel.runs.cpu.run_table import AXES, advance, block_at, block_of, label_at, locate

from .neighbor_bits import compare, find_ends, find_starts, within

# ---- From planes of bits to lists of runs
# A run is a row ``(row, begin, end, label)`` of int64, later with a slot, the index of its label
# in a table, in place of the label. Runs are in raster order.


@njit(nogil=True, cache=True)
def list_runs(planes, left, first_row, skip, rows, span):
    """Return the runs of some rows of planes, without their labels, in columns of `span`.

    Row `skip` of `planes`, from `compare`, is `first_row`; plane `left` is the pixel to the left.
    """
    begin, end = span
    words = range(begin >> 6, ((end - 1) >> 6) + 1)
    count = 0
    for row in range(skip, skip + rows):
        for word in words:
            if planes[row, word, 0] != NONE:
                count += popcount(find_starts(planes, row, word, left, begin, end))
    runs = np.empty((count, 4), np.int64)
    run = 0
    last = 0
    row = skip
    while run < count:
        for word in words:
            if planes[row, word, 0] == NONE:
                continue
            here = find_starts(planes, row, word, left, begin, end)
            while here != NONE:
                runs[run, 0] = first_row + row - skip
                runs[run, 1] = 64 * word + lowest(here)
                here &= here - ONE
                run += 1
            here = find_ends(planes, row, word, left, begin, end)
            while here != NONE:
                runs[last, 2] = 64 * word + lowest(here) + 1
                here &= here - ONE
                last += 1
        row += 1
    return runs


@njit(nogil=True, cache=True)
def runs_of_labels(labels, columns, shape, steps, rows, first_row, skip, span, planes):
    """Fill the planes of some rows of labels, and list their runs, as `compare` and `list_runs`.

    Return runs, and their smallest and largest label, or 0 and 0.
    """
    top = first_row - skip
    compare(labels, columns, shape, steps, top, top + planes.shape[0], planes)
    runs = list_runs(planes, steps.shape[0], first_row, skip, rows, span)
    least = (
        np.int64(labels[runs[0, 0] * columns + runs[0, 1]]) if runs.shape[0] > 0 else np.int64(0)
    )
    most = least
    for run in range(runs.shape[0]):
        label = np.int64(labels[runs[run, 0] * columns + runs[run, 1]])
        least = min(least, label)
        most = max(most, label)
        runs[run, 3] = label
    return runs, least, most


@njit(nogil=True, cache=True)
def runs_of_table(table, left, rows, first_row, skip, span, planes):
    """List the runs of some rows of a run table, as `runs_of_labels`; its `parents` are labels."""
    runs = list_runs(planes, left, first_row, skip, rows, span)
    least = np.int64(table.parents.size)
    most = np.int64(0)
    at = np.int64(-1)
    block = np.int64(0)
    for run in range(runs.shape[0]):
        if runs[run, 0] != at:
            at = runs[run, 0]
            block = block_of(table, at)
        label = np.int64(label_at(table, block, runs[run, 1]))
        least = min(least, label)
        most = max(most, label)
        runs[run, 3] = label
    return runs, least, most


@njit(nogil=True, cache=True)
def count_runs(runs, least, most, shape, sides, plan, width):
    """Replace the label of each run by its slot; return the label of each slot, and a table.

    Slots are in the order of first runs; `least` and `most` bound labels; the rest as `add_runs`.
    """
    ids = np.empty(runs.shape[0], np.int64)
    lookup = np.zeros(most - least + 1, np.int32)
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
    table = np.zeros((count, width), np.int64)
    add_runs(runs, shape, sides, plan, table)
    return ids[:count].copy(), table


# ---- From runs to a table of counts, see `equilabel.measuring.counts`
# Sums wrap around at 2**64, so that differences of sums are exact where these fit.


@njit(nogil=True, cache=True)
def add_runs(runs, shape, sides, plan, table):
    """Add pixels, sums, lows and highs of runs to a table, (labels, >= 1 + 3 * axes).

    `shape`, (5,), has the leading axes, of which the last ones are those of the image; `sides`,
    (axes,), are those of the image. `plan` has the rank, and the first columns of `first` and
    `seconds` of the layout, or 0 where there are none.
    """
    position = np.empty(AXES, np.int64)
    axes = sides.size
    rank, first, seconds = plan
    leading = AXES + 1 - axes
    lows = 1 + axes
    highs = 1 + 2 * axes
    x = axes - 1
    size = np.int64(1)
    for axis in range(axes):
        size *= sides[axis]
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
        if first > 0:
            table[slot, first] = max(table[slot, first], size - at * sides[x] - begin)
        if seconds > 0:
            add_products(begin, length, position, rank, slot, seconds, table)


@njit(nogil=True, cache=True)
def add_rows(runs, columns, span, sides, table):
    """Add the runs of some rows of a run table to a table (N + 1, 1 + 3 * axes); see `add_runs`.

    `span` is the first row and the last + 1; `runs.parents` are labels. Runs of a row that follow
    each other and have one label are added at once. Return the least and greatest label, or 1, 0.
    """
    begin, end = span
    position = np.empty(AXES, np.int64)
    least, most = np.int64(runs.parents.size), np.int64(0)
    locate(begin, runs.shape, position)
    for row in range(begin, end):
        block = block_at(runs, position)
        label, first = np.int64(0), np.int64(-1)  # of what is added next; the run that is open
        pixels, total, left, right = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        carry = NONE
        for word in range(runs.bits.shape[1] + 1):
            here, changes = NONE, carry
            if word < runs.bits.shape[1]:
                here = runs.bits[row, word]
                changes = here ^ ((here << ONE) | carry) | (here & runs.starts[block, word])
                carry = here >> LAST
            while changes != NONE:
                x = min(64 * word + lowest(changes), columns)
                bit = changes & (~changes + ONE)
                changes ^= bit
                if first >= 0:
                    pixels += x - first
                    total += (first + x - 1) * (x - first) // 2
                    right = x
                    first = -1
                if here & bit != NONE:
                    found = np.int64(label_at(runs, block, x))
                    if found != label:
                        if label > 0:
                            add_row(position, sides, pixels, total, left, right, table[label])
                        label, left = found, x
                        pixels, total = np.int64(0), np.int64(0)
                        least, most = min(least, label), max(most, label)
                    first = x
        if label > 0:
            add_row(position, sides, pixels, total, left, right, table[label])
        advance(runs.shape, position)
    return (least, most) if most > 0 else (np.int64(1), np.int64(0))


@inlined
def add_row(position, sides, pixels, total, left, right, counts):
    """Add pixels of a row, the sum of their columns, and the first and last + 1, to a label."""
    axes = sides.size
    counts[0] += pixels
    counts[axes] += total
    counts[2 * axes] = max(counts[2 * axes], sides[axes - 1] - left)
    counts[3 * axes] = max(counts[3 * axes], right)
    for axis in range(axes - 1):
        here = position[AXES + 1 - axes + axis]
        counts[1 + axis] += here * pixels
        counts[1 + axes + axis] = max(counts[1 + axes + axis], sides[axis] - here)
        counts[1 + 2 * axes + axis] = max(counts[1 + 2 * axes + axis], here + 1)


@inlined
def add_products(begin, length, position, rank, slot, column, table):
    """Add the products of two spatial coordinates in a run, from a column of the table on."""
    leading = AXES + 1 - rank
    total = (2 * begin + length - 1) * length // 2
    to = column
    for one in range(rank - 1):
        here = position[leading + one]
        for other in range(one, rank - 1):
            table[slot, to] += here * position[leading + other] * length
            to += 1
        table[slot, to] += here * total
        to += 1
    half = (length - 1) * length // 2
    if half % 3 == 0:  # sum of squares of 0 to length - 1; divided before it can wrap around
        squares = half // 3 * (2 * length - 1)
    else:
        squares = half * ((2 * length - 1) // 3)
    table[slot, to] += length * begin * begin + 2 * begin * half + squares


@njit(nogil=True, cache=True)
def add_planes(runs, planes, first_row, entries, table):
    """Add the bits of planes, (rows, words, P) from `first_row` on, under each run.

    Each of `entries`, (E, 3), is a plane, a column of the table, and what a bit counts.
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
    """Add the rows of a table to the rows `slots` of another.

    Columns from `lows` to before `sums` keep the greatest value; all others add up.
    """
    for row in range(part.shape[0]):
        to = slots[row]
        for column in range(part.shape[1]):
            if lows <= column < sums:
                whole[to, column] = max(whole[to, column], part[row, column])
            else:
                whole[to, column] += part[row, column]


# ---- Sums of the values under runs
# A run is a row ``(row, begin, end, slot)`` of int64, as in `run_counts`; values, (pixels,), are
# those of one channel. A kernel is compiled anew for those that are not contiguous.


@njit(nogil=True, cache=True)
def add_values(runs, values, columns, sums, lows, highs, squares):
    """Add the values of each label to sums, lows and highs, (labels,); NaN is kept.

    `squares`, of integers of up to 16 bits, get exact sums of squares; it is empty for others.
    """
    small = squares.size > 0
    for run in range(runs.shape[0]):
        start = runs[run, 0] * columns
        slot = runs[run, 3]
        total = sums.dtype.type(0)
        square = np.int64(0)
        least = lows[slot]
        most = highs[slot]
        odd = least
        for pixel in range(start + runs[run, 1], start + runs[run, 2]):
            value = values[pixel]
            total += value
            least = min(least, value)
            most = max(most, value)
            odd = value if value != value else odd
            if small:
                square += np.int64(value) * np.int64(value)
        sums[slot] += total
        lows[slot] = least if odd == odd else odd
        highs[slot] = most if odd == odd else odd
        if small:
            squares[slot] += square


@njit(nogil=True, cache=True)
def add_squares(runs, values, columns, centers, squares):
    """Add the squared distances of values from the center of their label."""
    for run in range(runs.shape[0]):
        start = runs[run, 0] * columns
        slot = runs[run, 3]
        center = centers[slot]
        total = 0.0
        for x in range(runs[run, 1], runs[run, 2]):
            distance = values[start + x] - center
            total += distance * distance
        squares[slot] += total


# ---- Sums of powers of coordinates, plain or weighted by values


@njit(nogil=True, cache=True)
def add_powers(runs, shape, rank, centers, powers):
    """Add products of powers, up to 3, of coordinates from `centers`, (labels, rank <= 3).

    In `powers`, (labels, 4 ** rank), exponents of the last axis change first.
    """
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - rank
    along = np.empty(4)
    for run in range(runs.shape[0]):
        locate(runs[run, 0], shape, position)
        slot = runs[run, 3]
        length = float(runs[run, 2] - runs[run, 1])
        middle = 0.5 * (runs[run, 1] + runs[run, 2] - 1) - centers[slot, rank - 1]
        spread = length * (length * length - 1.0) / 12.0
        along[0] = length
        along[1] = length * middle
        along[2] = length * middle * middle + spread
        along[3] = middle * (length * middle * middle + 3.0 * spread)
        add_product(along, position, leading, rank, centers, slot, powers)


@njit(nogil=True, cache=True)
def add_weighted(runs, values, columns, shape, rank, centers, powers):
    """Add as `add_powers` does, each pixel weighted by its value.

    `runs` are those in the image and those in coordinates that continue across boundaries.
    """
    here, continued = runs
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - rank
    along = np.empty(4)
    for run in range(here.shape[0]):
        locate(continued[run, 0], shape, position)
        slot = here[run, 3]
        ahead = continued[run, 1] - here[run, 1]
        start = here[run, 0] * columns
        zeroth = 0.0
        first = 0.0
        second = 0.0
        third = 0.0
        for x in range(here[run, 1], here[run, 2]):
            value = float(values[start + x])
            distance = x + ahead - centers[slot, rank - 1]
            zeroth += value
            value *= distance
            first += value
            value *= distance
            second += value
            third += value * distance
        along[0] = zeroth
        along[1] = first
        along[2] = second
        along[3] = third
        add_product(along, position, leading, rank, centers, slot, powers)


@called
def add_product(along, position, leading, rank, centers, slot, powers):
    """Multiply sums along the last axis by powers along the others, and add them to a slot."""
    y = 0.0
    z = 0.0
    if rank > 1:
        y = position[leading + rank - 2] - centers[slot, rank - 2]
    if rank > 2:
        z = position[leading] - centers[slot, 0]
    to = 0
    deep = 1.0
    for _ in range(4 if rank > 2 else 1):
        tall = deep
        for _ in range(4 if rank > 1 else 1):
            for k in range(4):
                powers[slot, to + k] += tall * along[k]
            to += 4
            tall *= y
        deep *= z
