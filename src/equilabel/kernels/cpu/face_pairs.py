"""Labels that touch where two blocks meet, as pairs; one that comes again soon is listed once."""

import numpy as np

from .caching import njit

SEEN = 1024  # pairs that were listed last, by a hash of them


@njit(nogil=True, cache=True)
def list_pairs(labels, opposite, rows, columns, corners, values, others, pairs):
    """Pair the labels of one layer with those opposite, or around these where they do not match.

    Parameters
    ----------
    labels, opposite : (R, W) arrays of int
        Of the one layer and of the other; 0 is background.
    rows, columns, corners : bool
        Whether an element touches what is beside the opposite one, along each axis and both.
    values, others : (N,), (M,) arrays of int64, or (0,)
        Value of each label of either layer, where only equal ones belong together.
    pairs : (P, 2) array of int64
        Overwritten, as far as it goes.

    Returns
    -------
    int
        Number of pairs, which may be more than there is room for.
    """
    found = 0
    seen = np.zeros((SEEN, 2), np.int64)
    some = values.size > 0
    height, width = labels.shape
    for row in range(height):
        above, below = max(row - rows, 0), min(row + rows, height - 1)
        for column in range(width):
            label = np.int64(labels[row, column])
            if label <= 0:
                continue
            left, right = max(column - columns, 0), min(column + columns, width - 1)
            straight = np.int64(opposite[row, column])
            matches = straight > 0 and not (some and values[label - 1] != others[straight - 1])
            if matches:
                above_here, below_here, left, right = row, row, column, column
            else:
                above_here, below_here = above, below
            for r in range(above_here, below_here + 1):
                for c in range(left, right + 1):
                    if r != row and c != column and not corners:
                        continue
                    other = np.int64(opposite[r, c])
                    if other <= 0 or (some and values[label - 1] != others[other - 1]):
                        continue
                    slot = (label * 31 + other) & (SEEN - 1)
                    if seen[slot, 0] == label and seen[slot, 1] == other:
                        continue
                    seen[slot, 0], seen[slot, 1] = label, other
                    if found < pairs.shape[0]:
                        pairs[found, 0], pairs[found, 1] = label, other
                    found += 1
    return found
