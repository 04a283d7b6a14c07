"""Labels replaced by means of a table, and the first element of each."""

from .caching import njit


@njit(nogil=True, cache=True)
def renumber(labels, starts, width, numbers):
    """Replace the label of each element of some rows.

    Parameters
    ----------
    labels : (P,) array of int
        Overwritten.
    starts : (R,) array of int64
        Flat index of the first element of each row.
    width : int
        Elements of a row.
    numbers : (N + 1,) array of integers
        In place of labels 0 to N; they fit the type of `labels`. Not checked.
    """
    for start in starts:
        row = labels[start : start + width]
        for i in range(width):
            row[i] = numbers[row[i]]


@njit(nogil=True, cache=True)
def list_firsts(labels, firsts):
    """Find the first element of each label.

    Parameters
    ----------
    labels : (P,) array of int
        Of 0 to N, where 1 to N are in the order of their first elements. Not checked.
    firsts : (N,) array of int64
        Overwritten: flat indices.
    """
    found = 0
    for i in range(labels.size):
        if labels[i] > found:
            firsts[found] = i
            found += 1
            if found == firsts.size:
                return
