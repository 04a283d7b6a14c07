"""Kernels that add up squared distances to the background, one axis after the other."""

import numpy as np

from equilabel.devices.jit import called, njit

BACKGROUND, FOREGROUND = np.uint8(0), np.uint8(1)  # kinds of cells; others are neither
STRIP = 256  # cells of a row that are measured together: they stay in the cache


@njit(nogil=True, cache=True)
def find_near(cells, sides, costs, far, limit, one, other, near):
    """Find the cells with background within a distance.

    Parameters
    ----------
    cells : (C,) uint8
        Cells of an array of the given `sides`, (A,) int64.
    costs : (A, 2, L) int32 or float64
        Squared distances to the cell k places before and after one, up to `far`.
    far, limit : int32 or float64
        A square that is more than `limit`, and the largest one that is near.
    one, other : (C,) of the type of `costs`
        Overwritten.
    near : (C,) bool
        Overwritten by the result.
    """
    along_rows(cells, sides[-1], costs[-1], far, one)
    source, target, inner = one, other, sides[-1]
    for axis in range(sides.size - 2, -1, -1):
        along_axis(source, 0, cells.size, sides[axis], inner, costs[axis], target)
        source, target, inner = target, source, inner * sides[axis]
    for cell in range(cells.size):
        near[cell] = source[cell] <= limit


# ---- Radii of the largest disks (balls) around the points of each pixel
# Distances of pixel centers are not enough: the middle of a rod of even width lies between pixels,
# so the radii along a rod that is not parallel to an axis would vary by half a pixel. A pixel has
# two halves along each axis, and as many points as there are combinations of them.


@njit(nogil=True)
def measure(cells, sides, margins, costs, far, squares):
    """Write the greatest squared distance of the points of each cell to background.

    `squares` are 0 before. Cells that are not foreground stay 0.
    """
    inner, top = spans(sides, margins)
    one, other = np.empty(cells.size, squares.dtype), np.empty(cells.size, squares.dtype)
    for choice in range(2 ** (sides.size - top - 1)):
        measure_slab(cells, sides, margins, costs, far, choice, 0, sides[top], one, other)
        measure_along(cells, sides, margins, costs, choice, 0, inner, one, other, squares)


@called
def spans(sides, margins):
    """Return the cells of a place of the first spatial axis, and this axis."""
    top, inner = 0, 1
    while not margins[top]:
        top += 1
    for axis in range(top + 1, sides.size):
        inner *= sides[axis]
    return inner, top


@njit(nogil=True, cache=True)
def measure_slab(cells, sides, margins, costs, far, choice, first, last, one, other):
    """Add up squared distances along all axes but the first spatial one, of some places of it.

    `choice` has a bit for the half of the pixel along each of these axes, the last axis first.
    Sums of one axis or of three are written to `one`, (C,), those of two to `other`, and so on.
    """
    inner, top = spans(sides, margins)
    begin, end, columns = first * inner, last * inner, sides[-1]
    along_rows(cells[begin:end], columns, costs[-1, choice & 1], far, one[begin:end])
    source, target, inner = one, other, columns
    for axis in range(sides.size - 2, top, -1):
        cost, length = costs[axis, (choice >> (sides.size - 1 - axis)) & 1], sides[axis]
        along_axis(source, begin, end, length, inner, cost, target)
        source, target, inner = target, source, inner * length


@njit(nogil=True, cache=True)
def measure_along(cells, sides, margins, costs, choice, first, last, one, other, squares):
    """Add squared distances along the first spatial axis, of some cells of each place of it.

    Keeps the greatest sums in `squares`; other arguments are those of `measure_slab`.
    """
    inner, top = spans(sides, margins)
    source = one if (sides.size - top) % 2 == 0 else other
    row = np.empty(STRIP, squares.dtype)
    for place in range(sides[top]):
        for low in range(first, last, STRIP):
            begin, width = place * inner + low, min(STRIP, last - low)
            into, found = squares[begin : begin + width], row[:width]
            for half in range(2):
                nearest(source, low, place, sides[top], inner, costs[top, half], found)
                for x in range(width):
                    into[x] = max(into[x], found[x])
            for x in range(width):
                into[x] *= cells[begin + x] == FOREGROUND


@called
def along_axis(source, begin, end, length, inner, cost, target):
    """Write the least sums of squares along an axis of `length` places, `inner` cells apart."""
    for start in range(begin, end, length * inner):
        for place in range(length):
            for low in range(0, inner, STRIP):
                into = target[start + place * inner + low :][: min(STRIP, inner - low)]
                nearest(source, start + low, place, length, inner, cost, into)


@called
def along_rows(cells, columns, cost, far, out):
    """Write the squared distance of each cell to the nearest background of its row, or `far`."""
    for begin in range(0, cells.size, columns):
        here, there = cells[begin : begin + columns], out[begin : begin + columns]
        gap = -1
        for x in range(columns):
            gap = 0 if here[x] == BACKGROUND else gap + 1 if gap >= 0 else -1
            there[x] = cost[0, gap] if gap >= 0 else far
        gap = -1
        for x in range(columns - 1, -1, -1):
            gap = 0 if here[x] == BACKGROUND else gap + 1 if gap >= 0 else -1
            if gap >= 0:
                there[x] = min(there[x], cost[1, gap])


@called
def nearest(source, begin, place, length, inner, cost, out):
    """Write the least sum of squares along an axis for the cells at a place of it.

    Reads further places, in either direction, until these are too far for any of the cells.
    """
    here = source[begin + place * inner :][: out.size]
    most = here[0]
    for x in range(out.size):
        out[x] = here[x]
        most = max(most, here[x])
    for k in range(1, max(place + 1, length - place)):
        low, high = cost[0, k], cost[1, k]
        if min(low, high) >= most:
            return
        if k <= place:
            side = source[begin + (place - k) * inner :][: out.size]
            for x in range(out.size):
                out[x] = min(out[x], side[x] + low)
        if place + k < length:
            side = source[begin + (place + k) * inner :][: out.size]
            for x in range(out.size):
                out[x] = min(out[x], side[x] + high)
        most = out[0]
        for x in range(out.size):
            most = max(most, out[x])
