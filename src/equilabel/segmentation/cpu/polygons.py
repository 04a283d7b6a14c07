"""A kernel that follows the outlines of labeled objects along the edges of pixels."""

import numpy as np

from equilabel.devices.jit import called, njit

DOWN = np.array([0, 1, 0, -1])  # along the upper, right, lower and left side of a pixel
RIGHT = np.array([1, 0, -1, 0])


@njit(nogil=True, cache=True)
def trace_rings(labels, marks, points, rings):
    """Follow all outlines, with the object on the right; pixels that meet at corners are apart.

    `labels` are (M, N), `marks` zeros of (M, N) uint8. Corners are written to `points`, (P, 2)
    int32: those of a pixel (y, x) are y and y + 1, x and x + 1. To `rings`, (R, 3) int64, the first
    point of each, the flat index of a pixel inside of it, and whether it may pass through a corner
    twice. Returns how many there are; those beyond P and R are not written.
    """
    rows, columns = labels.shape
    used, count = 0, 0
    for y in range(rows):
        for x in range(columns):
            own = labels[y, x]
            if own == 0 or marks[y, x] or (y > 0 and labels[y - 1, x] == own):
                continue
            start = used
            row, column, side = y, x, 0
            twice = False
            while True:
                if side == 0:
                    marks[row, column] = 1
                down, right = DOWN[side], RIGHT[side]
                ahead = (row + down, column + right)
                beside = has_label(labels, ahead[0] - right, ahead[1] + down, own)
                if not has_label(labels, ahead[0], ahead[1], own):
                    turn, twice = 1, twice or beside
                else:
                    turn = 3 if beside else 0
                if turn:
                    if used < len(points):
                        points[used, 0] = row + (side == 1 or side == 2)
                        points[used, 1] = column + (side == 0 or side == 1)
                    used += 1
                if turn == 3:
                    ahead = (ahead[0] - right, ahead[1] + down)
                if turn != 1:
                    row, column = ahead
                side = (side + turn) % 4
                if row == y and column == x and side == 0:
                    break
            if count < len(rings):
                rings[count, 0], rings[count, 1], rings[count, 2] = start, y * columns + x, twice
            count += 1
    return used, count


@called
def has_label(labels, row, column, own):
    """Return whether there is a pixel, and it has a label."""
    rows, columns = labels.shape
    return 0 <= row < rows and 0 <= column < columns and labels[row, column] == own
