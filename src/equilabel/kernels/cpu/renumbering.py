"""Labels replaced by means of a table."""

from .caching import njit


@njit(nogil=True, cache=True)
def renumber(labels, numbers):
    """Replace the label of each element.

    Parameters
    ----------
    labels : (P,) array of int
        Overwritten. 0 for background, which stays.
    numbers : (N,) array of integers
        In place of labels 1 to N; they fit the type of `labels`. Not checked.
    """
    for i in range(labels.size):
        if labels[i]:
            labels[i] = numbers[labels[i] - 1]
