"""Labels of the neighbors of an element on the CPU."""

from .caching import inlined


@inlined
def lowest_near(labels, values, i, column, width, steps, offsets, inside):
    """Return the lowest label among a foreground element and its neighbors of equal value.

    Parameters
    ----------
    labels : (N,) array of int64
        -1 for background.
    values : (N,) array of unsigned integers
    i, column, width : int
        The element, its place in its row, and the length of rows.
    steps : (K, ndim) array of int64
        To all neighbors.
    offsets : (K,) array of int64
        The same steps as distances between flat indices. Not checked.
    inside : (K,) array of bool
        Which steps stay inside the grid along all axes but the last, see `komura.mark_inside`.
    """
    lowest = labels[i]
    for k in range(offsets.size):
        if inside[k] and 0 <= column + steps[k, -1] < width:
            near = labels[i + offsets[k]]
            if 0 <= near < lowest and values[i + offsets[k]] == values[i]:
                lowest = near
    return lowest
