"""Counts of runs, and sums of the values under them."""

from __future__ import annotations

import numpy as np

from equilabel.devices.cpu.bits import NONE, ONE, lowest, popcount
from equilabel.devices.jit import njit
from equilabel.runs.cpu.run_table import AXES, advance, block_of, label_at, locate

from .neighbor_bits import compare, count_starts, find_ends, find_starts, within

# ---- From planes of bits to lists of runs
# A run is a row ``(row, begin, end, label)`` of int64, later with a slot, the index of its label
# in a table, in place of the label. Runs are in raster order.


@njit(nogil=True, cache=True)
def list_runs(labels, columns, span, planes, left, first_row, skip, runs):
    """List the runs of some rows of labels, and return their smallest and largest label.

    `labels` are flat; `span` are the columns to look at. Row `skip` of `planes`, from `compare`,
    is that of `first_row`; plane `left` is that of the pixel to the left. `runs`, (N, 4), is
    overwritten, with N from `count_starts`.
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
    """List the runs of some rows of a run table, as `list_runs` does; its `parents` are labels."""
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
    """Replace the label of each run by its slot; return the number of labels.

    `lookup`, (most - least + 1,), must hold zeros. `ids`, (>= labels,), gets the label of each
    slot, in order of the first run.
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


# ---- From runs to a table of counts, see `equilabel.measuring.counts`
# Sums wrap around at 2**64, so that differences of sums are exact where these fit.


@njit(nogil=True, cache=True)
def add_extents(runs, shape, sides, axes, table):
    """Add pixels, sums, lows and highs of runs to a table, (labels, >= 1 + 3 * axes).

    `shape`, (5,), has the leading axes, of which the last ones are those of the image; `sides`,
    (axes,), are those of the image.
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
    """Add sums of products of two spatial coordinates, from a column of the table on."""
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
        if half % 3 == 0:  # sum of squares of 0 to length - 1; divided before it can wrap around
            squares = half // 3 * (2 * length - 1)
        else:
            squares = half * ((2 * length - 1) // 3)
        table[slot, to] += length * begin * begin + 2 * begin * half + squares


@njit(nogil=True, cache=True)
def add_planes(runs, planes, first_row, entries, table):
    """Add the bits of planes under each run.

    `planes`, (rows, words, P), begin at `first_row`. Each of `entries`, (E, 3), is a plane, the
    column of the table in which it counts, and what a bit counts.
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


# ---- The runs and the table of a small image of labels in a single call

ROOM = 16  # entries of a look-up table for each run, beyond which labels are sorted
FLOOR = 2**16  # entries that it may have in any case


@njit(nogil=True, cache=True)
def measure_image(labels, shape, sides, steps, plan):
    """Count what follows from the runs of all rows, as `sources.measure_strip` does of some.

    `labels` are flat, `shape`, `sides` and `steps` as above; `plan` is `Passes.plan`. Return the
    smallest label; whether labels are too sparse for a look-up table; planes, runs, ids and table.
    If a label is negative or labels are sparse, the last two are empty, and runs hold labels.
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


# ---- Sums of the values under runs
# A run is a row ``(row, begin, end, slot)`` of int64, as in `run_counts`; values, (pixels,), are
# those of one channel. A kernel is compiled anew for those that are not contiguous.


@njit(nogil=True, cache=True)
def add_values(runs, values, columns, sums, lows, highs):
    """Add the values of each label to sums, lows and highs, (labels,); NaN is kept."""
    for run in range(runs.shape[0]):
        start = runs[run, 0] * columns
        slot = runs[run, 3]
        total = sums.dtype.type(0)
        least = lows[slot]
        most = highs[slot]
        odd = least
        for pixel in range(start + runs[run, 1], start + runs[run, 2]):
            value = values[pixel]
            total += value
            least = min(least, value)
            most = max(most, value)
            odd = value if value != value else odd
        sums[slot] += total
        lows[slot] = least if odd == odd else odd
        highs[slot] = most if odd == odd else odd


@njit(nogil=True, cache=True)
def add_small_values(runs, values, columns, sums, lows, highs, squares):
    """Do as `add_values` for integers of up to 16 bits, and sum their squares exactly, too."""
    for run in range(runs.shape[0]):
        start = runs[run, 0] * columns
        slot = runs[run, 3]
        total = np.int64(0)
        square = np.int64(0)
        least = lows[slot]
        most = highs[slot]
        for pixel in range(start + runs[run, 1], start + runs[run, 2]):
            value = values[pixel]
            total += value
            square += np.int64(value) * np.int64(value)
            least = min(least, value)
            most = max(most, value)
        sums[slot] += total
        squares[slot] += square
        lows[slot] = least
        highs[slot] = most


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
    """Add products of powers of coordinates, up to 3 along each of 1 to 3 spatial axes.

    Coordinates are relative to `centers`, (labels, rank). In `powers`, (labels, 4 ** rank),
    exponents of the last axis change first.
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
    """Add as `add_powers` does, each pixel weighted by its value."""
    position = np.empty(AXES, np.int64)
    leading = AXES + 1 - rank
    along = np.empty(4)
    for run in range(runs.shape[0]):
        locate(runs[run, 0], shape, position)
        slot = runs[run, 3]
        start = runs[run, 0] * columns
        zeroth = 0.0
        first = 0.0
        second = 0.0
        third = 0.0
        for x in range(runs[run, 1], runs[run, 2]):
            value = float(values[start + x])
            distance = x - centers[slot, rank - 1]
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


@njit(nogil=True, cache=True)
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
