"""Union-find over edges that come a few at a time: no edge is held, and no list of neighbors."""

from .caching import njit
from .union_find import unite


@njit(nogil=True, cache=True)
def unite_edges(parents, edges):
    """Unite the two ends of every edge.

    Parameters
    ----------
    parents : (P,) array of int32 or int64
        A forest, see `union_find`; `arange(P)` at first. Overwritten.
    edges : (E, 2) array of int64
        Less than P. Not checked.
    """
    for i in range(edges.shape[0]):
        unite(parents, edges[i, 0], edges[i, 1])


@njit(nogil=True, cache=True)
def lower_firsts(parents, firsts):
    """Point every element at its root, and collect the least value of each component there.

    Parameters
    ----------
    parents : (P,) array of int32 or int64
        A forest. Overwritten.
    firsts : (P,) array of int64
        Overwritten: that of a root becomes the least of its component.

    Returns
    -------
    int
        Number of roots.
    """
    count = 0
    for i in range(parents.size):
        root = parents[parents[i]]  # that of an earlier element is resolved
        parents[i] = root
        count += root == i
        if firsts[i] < firsts[root]:
            firsts[root] = firsts[i]
    return count


@njit(nogil=True, cache=True)
def list_roots(parents, firsts, keys):
    """Write down the values of all roots, in the order of the roots.

    Parameters
    ----------
    parents : (P,) array of int32 or int64
        Roots of all elements.
    firsts : (P,) array of int64
    keys : (N,) array of int64
        Overwritten; as many as there are roots. Not checked.
    """
    found = 0
    for i in range(parents.size):
        if parents[i] == i:
            keys[found] = firsts[i]
            found += 1


@njit(nogil=True, cache=True)
def number_elements(parents, numbers):
    """Replace the root of every element by the number of the root.

    Parameters
    ----------
    parents : (P,) array of int32 or int64
        Roots of all elements. Overwritten.
    numbers : (N,) array of int64
        Of the roots, in their order.
    """
    found = 0
    for i in range(parents.size):
        root = parents[i]
        if root == i:
            parents[i] = numbers[found]
            found += 1
        else:  # an earlier element, which has its number
            parents[i] = parents[root]
