"""What follows from roots, whichever method found them."""

from .caching import njit


@njit(nogil=True, cache=True)
def number(roots, labels):
    """Give components the numbers from 1, in raster order of their first elements.

    The label of each root is looked up, so any forest with ``roots[i] <= i`` is resolved on the
    way. This costs nothing. The CUDA twin does not resolve: no method may rely on it.

    Parameters
    ----------
    roots : (N,) array of int64
        Smallest index of each element's component; -1 for background. Not checked.
    labels : (N,) array of integers
        Overwritten; 0 for background. May be `roots` itself. Holds the number of components, or
        it wraps. Not checked.

    Returns
    -------
    int
        Number of components.
    """
    count = 0
    for i in range(roots.size):
        root = roots[i]
        if root < 0:
            labels[i] = 0
        elif root == i:
            count += 1
            labels[i] = count
        else:
            labels[i] = labels[root]
    return count
