"""Kernels that count where labels touch, and search the nearest pixel of another label."""

import numpy as np

from equilabel.devices.jit import called, njit

PIECE = 64  # pixels of a row that are compared before any is looked at
LESS, MORE, PAIRS, FACES = range(4)  # columns of a table of contacts; faces along each axis


@njit(nogil=True, cache=True)
def count_contacts(labels, shape, low, high, steps, first, last, table):
    """Count the pairs of neighbors of different labels, neither 0; return whether there was room.

    `labels`, (P,), are flat in the order of `shape`, (A,). Neighbors along `steps`, (K, A), are
    looked at from pixels of rows `first` to `last` with coordinates `low` to `high`, (A,). `table`,
    (H, 3 + A) of zeros, H a power of two, gets a row for each pair of labels: the smaller, the
    larger, pairs of neighbors, and how many of these share a face along each axis.
    """
    columns, used = shape[-1], 0
    for row in range(first, last):
        if row_beside(row, steps[0], shape, low, high, False) < 0:
            continue
        for k in range(len(steps)):
            other = row_beside(row, steps[k], shape, low, high, True)
            if other < 0:
                continue
            face, hops = 0, 0
            for axis in range(shape.size):
                if steps[k, axis]:
                    face, hops = axis, hops + 1
            column = FACES + face if hops == 1 else PAIRS
            dx = steps[k, -1]
            begin, end = max(low[-1], -dx), min(high[-1], columns - dx)
            start, beside = row * columns + begin, other * columns + begin + dx
            for place in range(0, end - begin, PIECE):
                size = min(PIECE, end - begin - place)
                one, two = labels[start + place :][:size], labels[beside + place :][:size]
                some = False
                for x in range(size):
                    some |= (one[x] != two[x]) & (one[x] != 0) & (two[x] != 0)
                if some:
                    used = add_pairs(one, two, column, table, used)
                    if 2 * used > len(table):
                        return False
    return True


@called
def row_beside(row, step, shape, low, high, beside):
    """Return the row that a step leads to, -1 if there is none; or the row, if it is looked at."""
    index, stride = np.int64(0), np.int64(1)
    for axis in range(shape.size - 2, -1, -1):
        above = row // shape[axis]
        place = row - above * shape[axis]
        row = above
        least, most = low[axis], high[axis]
        if beside:
            place += step[axis]
            least, most = 0, shape[axis]
        if place < least or place >= most:
            return np.int64(-1)
        index += place * stride
        stride *= shape[axis]
    return index


@called
def add_pairs(one, two, column, table, used):
    """Count the pairs of a piece of two rows; return how many rows of the table are used."""
    rows = len(table)
    less, more, slot = np.int64(0), np.int64(0), np.int64(0)
    for x in range(one.size):
        if one[x] == two[x] or one[x] == 0 or two[x] == 0:
            continue
        low, high = np.int64(min(one[x], two[x])), np.int64(max(one[x], two[x]))
        if low != less or high != more:
            less, more = low, high
            slot = (less * np.int64(0x9E3779B1) + more * np.int64(0x85EBCA77)) & (rows - 1)
            slot ^= (slot >> 15) & (rows - 1)
            while table[slot, LESS] and (table[slot, LESS] != less or table[slot, MORE] != more):
                slot = (slot + 1) & (rows - 1)
            if table[slot, LESS] == 0:
                table[slot, LESS], table[slot, MORE] = less, more
                used += 1
        table[slot, PAIRS] += 1
        if column != PAIRS:
            table[slot, column] += 1
    return used


# ---- The nearest pixel of another label, of volumes whose other axes have length 1


@njit(nogil=True, cache=True)
def find_nearest(labels, boxes, spacing, numbers, squares):
    """Find which other object is nearest to each, from pixel to pixel; there are two or more.

    `labels` are (Z, Y, X); `boxes`, (N, 7), the label of each object, the first and last + 1
    coordinates of its box; `spacing` is (3,). `numbers` and `squares`, (N,), get the label of the
    nearest object, the smallest of several, and its squared distance.
    """
    for k in range(len(boxes)):
        own, best = boxes[k, 0], np.inf
        number = np.int64(0)
        for z in range(boxes[k, 1], boxes[k, 4]):
            for y in range(boxes[k, 2], boxes[k, 5]):
                for x in range(boxes[k, 3], boxes[k, 6]):
                    if labels[z, y, x] != own or is_inside(labels, z, y, x):
                        continue
                    best, number = search(labels, z, y, x, False, spacing, best, number)
        numbers[k], squares[k] = number, best


@njit(nogil=True, cache=True)
def find_borders(labels, points, spacing, squares):
    """Write the squared distance from each point, (N, 3) int64, to the nearest other value."""
    for k in range(len(points)):
        z, y, x = points[k]
        squares[k], _ = search(labels, z, y, x, True, spacing, np.inf, np.int64(-1))


@called
def is_inside(labels, z, y, x):
    """Return whether the neighbors of a pixel through its faces have its label."""
    depth, rows, columns = labels.shape
    own = labels[z, y, x]
    return (
        labels[max(z - 1, 0), y, x] == own
        and labels[min(z + 1, depth - 1), y, x] == own
        and labels[z, max(y - 1, 0), x] == own
        and labels[z, min(y + 1, rows - 1), x] == own
        and labels[z, y, max(x - 1, 0)] == own
        and labels[z, y, min(x + 1, columns - 1)] == own
    )


@called
def search(labels, z, y, x, background, spacing, best, number):
    """Search a pixel of another label that is nearer than `best`; return the best and its label.

    Rows are searched from the nearest outwards, each from its middle. Of equally near pixels the
    smallest label is returned. `background` tells whether pixels of 0 are searched, too.
    """
    depth, rows, columns = labels.shape
    own = labels[z, y, x]
    nearest = min(spacing[0], spacing[1])
    for ring in range(max(depth, rows)):
        if (ring * nearest) ** 2 > best:
            break
        for dz in range(max(-ring, -z), min(ring, depth - 1 - z) + 1):
            edge = abs(dz) == ring
            dy = -ring
            while dy <= ring:
                if 0 <= y + dy < rows:
                    aside = (dz * spacing[0]) ** 2 + (dy * spacing[1]) ** 2
                    row = labels[z + dz, y + dy]
                    for dx in range(columns):
                        square = aside + (dx * spacing[2]) ** 2
                        if square > best or (x - dx < 0 and x + dx >= columns):
                            break
                        for place in (x - dx, x + dx):
                            if place < 0 or place >= columns:
                                continue
                            value = row[place]
                            if value == own or (value == 0 and not background):
                                continue
                            if square < best or value < number:
                                best, number = square, np.int64(value)
                dy += 1 if edge else 2 * ring if ring else 1
    return best, number
