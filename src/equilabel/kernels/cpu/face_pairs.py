"""Labels that touch where two blocks meet, as pairs; those found twice in a row are listed once."""

from .caching import njit


@njit(nogil=True, cache=True)
def list_pairs(labels, around, starts, steps, values, others, pairs):
    """Pair the labels of one layer with those opposite, or around these where they do not match.

    Parameters
    ----------
    labels : (R, W) array of int
        Of one layer; 0 is background.
    around : (Q,) array of int
        Of the other layer, with background around it.
    starts : (R,) array of int64
        Index in `around` of what is opposite the first element of each row.
    steps : (K,) array of int64
        From what is opposite an element to others that touch it. Not checked.
    values, others : (N,), (M,) arrays of int64, or (0,)
        Value of each label of either layer, where only equal ones belong together.
    pairs : (P, 2) array of int64
        Overwritten, as far as it goes.

    Returns
    -------
    int
        Number of pairs.
    """
    found = 0
    last, last_other = 0, 0
    some = values.size > 0
    for row in range(labels.shape[0]):
        for column in range(labels.shape[1]):
            label = labels[row, column]
            if label <= 0:
                continue
            place = starts[row] + column
            for k in range(-1, steps.size):
                other = around[place] if k < 0 else around[place + steps[k]]
                if other <= 0 or (some and values[label - 1] != others[other - 1]):
                    continue
                if label != last or other != last_other:
                    if found < pairs.shape[0]:
                        pairs[found, 0] = label
                        pairs[found, 1] = other
                    found += 1
                    last, last_other = label, other
                if k < 0:
                    break
    return found
