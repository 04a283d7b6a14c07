"""Kernels that measure distances to the background, and split components at their necks.

Each component is copied to an array of its own with a margin of one cell on all sides. Cells are
background, foreground, or beyond the end of the image, where components are assumed to continue.
"""

import numpy as np

from equilabel.devices.jit import called, njit

BACKGROUND, FOREGROUND, BEYOND = np.uint8(0), np.uint8(1), np.uint8(2)  # kinds of cells
STRIP = 256  # cells of a row that are measured together: they stay in the cache
ROOM = 16  # levels, per cell, up to which squared radii are levels of the flood
FEW = 32  # heights that are sorted by insertion
WHOLE = 2**13  # cells along an axis whose squared distances add up in 32 bits
FAR = {np.dtype(np.int32): 2**29, np.dtype(np.float64): np.inf}  # from background: there is none


# ---- Squared distances to the background, added up one axis after the other


@njit(nogil=True, cache=True)
def find_near(cells, sides, costs, far, limit, one, other, near):
    """Find the cells of an array of (A,) `sides` with background up to the square `limit` away.

    `costs`, (A, 2, L), are squared distances to the cell k places before and after one, up to
    `far`; `one` and `other`, (C,) of their type, and `near`, the result, are overwritten.
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
# two halves along each axis, and as many points as there are combinations of them. What is kept is
# the greatest squared distance of the points of a cell; it is 0 for cells that are not foreground.


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
    """Write the least sum of squares along an axis for the cells at a place of it."""
    here = source[begin + place * inner :][: out.size]
    most = here[0]
    for x in range(out.size):
        out[x] = here[x]
        most = max(most, here[x])
    for k in range(1, max(place + 1, length - place)):  # until all are too far
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


# ---- Components


@njit(nogil=True, cache=True)
def find_heights(labels, values, lows, spans, steps, heights):
    """Write squares of the levels of pixels, 1 to `steps`, in the range of their component.

    `labels`, `values` and `heights`, int32, are (P,); `lows` and `spans`, (N + 1,), are the least
    value and the range of each component.
    """
    for pixel in range(labels.size):
        label = labels[pixel]
        share = min(max((values[pixel] - lows[label]) / spans[label], 0.0), 1.0) * (steps - 1)
        below = int(share)
        over = share - below
        level = 1 + below + (over > 0.5 or (over == 0.5 and below % 2 == 1))  # halves to even ones
        heights[pixel] = level * level


@njit(nogil=True, cache=True)
def find_parts(labels, shape, boxes, margins, steps, costs, scale, limits, heights, parts, counts):
    """Split components of (N, 1 + 2 A) boxes; write the numbers of their parts to `counts`, (N,).

    `labels` are (P,) of (A,) `shape`, `margins` 1 for a spatial axis, `steps`, (K, A), those to
    neighbors. `costs`, (A, 2, 2, L), are squared distances from either half of a pixel to pixels
    before and after it, their roots times `scale` radii; `heights`, (P,) or empty, replace them.
    `limits` are the tolerance, the smallest radius of an object, and the distance from where there
    is no background. `parts`, (P,) from 1 in the order of radii, are written where there are two.
    """
    axes = shape.size
    sides, origin = np.empty(axes, np.int64), np.empty(axes, np.int64)
    for component in range(len(boxes)):
        size, offsets = 1, np.zeros(len(steps), np.int64)
        for axis in range(axes - 1, -1, -1):
            origin[axis] = boxes[component, 1 + axis] - margins[axis]
            sides[axis] = boxes[component, 1 + axes + axis] + margins[axis] - origin[axis]
            for k in range(offsets.size):
                offsets[k] += steps[k, axis] * size
            size *= sides[axis]
        cells = np.empty(size, np.uint8)
        copy_cells(labels, shape, boxes[component, 0], origin, sides, cells)
        squares = np.zeros(size, costs.dtype)
        if heights.size:
            copy_pixels(heights, shape, origin, sides, cells, squares, False)
        else:
            inner, top = spans(sides, margins)
            one, other = np.empty(size, squares.dtype), np.empty(size, squares.dtype)
            far, image = costs.dtype.type(limits[2]), (cells, sides, margins, costs)
            for choice in range(2 ** (axes - top - 1)):
                measure_slab(*image, far, choice, 0, sides[top], one, other)
                measure_along(*image, choice, 0, inner, one, other, squares)
        marks = np.zeros(size, np.int32)
        counts[component] = find_seeds(cells, squares, offsets, scale, limits, marks)
        if counts[component] > 1:
            states, begins, ends, waiting = begin_flood(cells, squares, offsets, marks)
            flood_down(states, begins, ends, waiting, offsets, marks, ends.size, size)
            copy_pixels(parts, shape, origin, sides, cells, marks, True)


@called
def row_start(row, shape, origin, sides):
    """Return the flat index, in an image, of the first cell of a row; -2 if it is beyond.

    The first cell may be one place before the first column.
    """
    start, stride = origin[-1], shape[-1]
    for axis in range(shape.size - 2, -1, -1):
        above = row // sides[axis]
        place = origin[axis] + row - above * sides[axis]
        if place < 0 or place >= shape[axis]:
            return np.int64(-2)
        start += place * stride
        stride *= shape[axis]
        row = above
    return start


@njit(nogil=True, cache=True)
def copy_cells(labels, shape, label, origin, sides, cells):
    """Copy what is inside and outside of a component; the arrays are those of `find_parts`."""
    columns = sides[-1]
    low = max(-origin[-1], 0)
    high = min(shape[-1] - origin[-1], columns)
    cells[:] = BEYOND
    for row in range(cells.size // columns):
        start, out = row_start(row, shape, origin, sides), cells[row * columns :][:columns]
        for x in range(low, high if start >= -1 else 0):
            out[x] = labels[start + x] == label


@njit(nogil=True, cache=True)
def copy_pixels(image, shape, origin, sides, cells, own, back):
    """Copy the pixels of a component from an image to `own`, or back; other cells stay."""
    columns = sides[-1]
    for row in range(cells.size // columns):
        start, begin = row_start(row, shape, origin, sides), row * columns
        for x in range(columns):
            if cells[begin + x] == FOREGROUND:
                if back:
                    image[start + x] = own[begin + x]
                else:
                    own[begin + x] = image[start + x]


# ---- Seeds and parts
# A neck is the narrowest part of the widest path between two maxima of the radius. A maximum is a
# seed if its radius exceeds that of the neck to any higher maximum by more than the tolerance
# (h-maxima in mathematical morphology). The component is flooded from the seeds: pixels are reached
# from the greatest radius to the smallest, those of one radius in rounds. Each takes the number of
# the greatest neighbor reached before, the smallest number of equal ones.


@njit(nogil=True, cache=True)
def find_seeds(cells, squares, offsets, scale, limits, marks):
    """Mark the pixels of each seed with its number, from 1; return how many seeds there are.

    From each maximum, greatest first, pixels are visited that can be reached without going down by
    more than the tolerance. It is a seed unless a higher pixel, or one of another maximum, is among
    them. `marks` are 0 before.
    """
    tolerance, smallest, far = limits
    visited = np.empty(cells.size, np.int32)
    found = 0
    for cell in range(cells.size):
        if cells[cell] == FOREGROUND and np.sqrt(squares[cell]) * scale > smallest:
            if squares[cell] >= far:
                return 0  # no background
            top = True
            for offset in offsets:
                if squares[cell + offset] > squares[cell]:
                    top = False
                    break
            if top:
                visited[found] = cell
                found += 1
    maxima, heights = np.empty(found, np.int32), np.empty(found)
    for k in range(found):
        maxima[k], heights[k] = visited[k], squares[visited[k]]
    count = np.int32(0)
    for k in order_down(heights):
        maximum = maxima[k]
        if marks[maximum]:
            continue
        height = squares[maximum]
        level = np.sqrt(height) * scale - tolerance
        marks[maximum] = count + 1
        visited[0], used, done, good = maximum, 1, 0, True
        while good and done < used:
            cell = visited[done]
            done += 1
            for offset in offsets:
                other = cell + offset
                if cells[other] != FOREGROUND or marks[other] == count + 1:
                    continue
                if np.sqrt(squares[other]) * scale < level:
                    continue
                if marks[other] or squares[other] > height:
                    good = False
                    break
                marks[other] = count + 1
                visited[used] = other
                used += 1
        if good:
            count += 1
        else:
            for place in range(used):
                marks[visited[place]] = -1
    return count


LEVEL, MARK, OFFER, HEIGHT = range(4)  # columns of the state of cells


@njit(nogil=True, cache=True)
def begin_flood(cells, squares, offsets, marks):
    """Return what `flood_down` needs, when the neighbors of seeds wait."""
    # The level; the number, 0 before it is known and -1 for no pixel; the best number that was
    # offered, and the level of the neighbor that did, or -1. All is read at once, so lies together.
    states = np.empty((cells.size, 4), np.int32)
    levels = rank_levels(squares, states)
    begins = np.zeros(levels + 1, np.int64)  # of the pixels of each level, in `waiting`
    for cell in range(cells.size):
        states[cell, MARK], states[cell, OFFER], states[cell, HEIGHT] = -1, -1, -1
        if cells[cell] == FOREGROUND:
            states[cell, MARK] = max(marks[cell], 0)
            begins[states[cell, LEVEL] + 1] += 1
    for level in range(levels):
        begins[level + 1] += begins[level]
    waiting, ends = np.empty(begins[levels], np.int32), np.empty(levels, np.int64)
    for level in range(levels):
        ends[level] = begins[level]
    for cell in range(cells.size):
        if marks[cell] > 0:
            spread(cell, levels, offsets, states, ends, waiting, waiting, 0)
    return states, begins, ends, waiting


@njit(nogil=True, cache=True)
def flood_down(states, begins, ends, waiting, offsets, marks, level, most):
    """Flood from below a level down, until about so many pixels are reached; return the level."""
    size = waiting.size
    now, later = np.empty(size, np.int32), np.empty(size, np.int32)  # a round, and the next
    done = 0
    while level > 0 and done < most:
        level -= 1
        used = ends[level] - begins[level]
        for k in range(used):
            now[k] = waiting[begins[level] + k]
        while used:
            done += used
            for k in range(used):
                cell = now[k]
                states[cell, MARK] = marks[cell] = states[cell, OFFER]
            more = 0
            for k in range(used):
                more = spread(np.int64(now[k]), level, offsets, states, ends, waiting, later, more)
            now, later, used = later, now, more
    return level


@called
def spread(cell, most, offsets, states, ends, waiting, later, count):
    """Offer the number of a pixel to its neighbors; return the new `count`.

    Those that no other pixel has offered one wait with the others of their level or, if it is
    `most` or higher, become one of the `count` pixels of the next round.
    """
    own, mark = states[cell, LEVEL], states[cell, MARK]
    for offset in offsets:
        other = states[cell + offset]
        height = other[HEIGHT]
        if other[MARK] or own < height or (own == height and mark >= other[OFFER]):
            continue
        other[OFFER], other[HEIGHT] = mark, own
        if height >= 0:
            continue
        level = other[LEVEL]
        if level < most:
            waiting[ends[level]] = cell + offset
            ends[level] += 1
        else:
            later[count] = cell + offset
            count += 1
    return count


@njit(nogil=True)
def rank_levels(squares, states):
    """Write the level of each cell, in the order of squares; return how many levels there are."""
    most = squares[0]
    for cell in range(squares.size):
        most = max(most, squares[cell])
    if squares.itemsize == 4 and most < ROOM * squares.size:
        for cell in range(squares.size):
            states[cell, LEVEL] = np.int32(squares[cell])
        return np.int64(most) + 1
    heights = np.empty(squares.size)
    for cell in range(squares.size):
        heights[cell] = squares[cell]
    order = order_down(heights)
    level = np.int64(0)
    for k in range(squares.size - 1, -1, -1):
        states[order[k], LEVEL] = level
        level += k > 0 and squares[order[k - 1]] > squares[order[k]]
    return level + 1


@njit(nogil=True)
def order_down(heights):
    """Return places from the greatest height to the smallest, equal ones as they lie.

    Heights, (N,) float64, are 0 at least, so their bits are in the same order. They are sorted by
    one byte after the other; numba's own sort takes three seconds to compile.
    """
    bits, size = heights.view(np.uint64), heights.size
    order, other = np.empty(size, np.int32), np.empty(size, np.int32)
    for k in range(size):
        order[k] = k
    if size <= FEW:
        for k in range(1, size):
            place = k
            while place and heights[order[place - 1]] < heights[k]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = k
        return order
    begins = np.empty(257, np.int64)
    for shift in range(0, 64, 8):
        begins[:] = 0
        for k in range(size):
            begins[256 - (bits[k] >> shift & 255)] += 1
        if begins[256 - (bits[0] >> shift & 255)] == size:
            continue
        for digit in range(256):
            begins[digit + 1] += begins[digit]
        for k in range(size):
            digit = 255 - (bits[order[k]] >> shift & 255)
            other[begins[digit]] = order[k]
            begins[digit] += 1
        order, other = other, order
    return order


# ---- Numbers of objects


@njit(nogil=True, cache=True)
def place_parts(labels, shape, boxes, begins, parts, firsts):
    """Give the parts of components labels of their own, from `begins`, (N,), on.

    The first pixels of all parts are written to `firsts`, in the order of their labels.
    """
    axes = shape.size
    sides = np.empty(axes, np.int64)
    for component in range(len(boxes)):
        label, origin = boxes[component, 0], boxes[component, 1 : 1 + axes].copy()
        size = 1
        for axis in range(axes):
            sides[axis] = boxes[component, 1 + axes + axis] - origin[axis]
            size *= sides[axis]
        for row in range(size // sides[-1]):
            start = row_start(row, shape, origin, sides)
            for x in range(start, start + sides[-1]):
                if labels[x] == label:
                    own = begins[component] + parts[x] - 1
                    labels[x] = own
                    own -= begins[0]
                    if firsts[own] < 0:
                        firsts[own] = x
