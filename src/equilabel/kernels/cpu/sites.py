"""Sites of a mesh of four axes on the CPU: neighbors, and borders between tiles."""

from .caching import inlined, njit


@inlined
def neighbor(shape, periodic, steps, k, distance, site):
    """Return the flat index `distance` times step k away from a site, -1 if that is outside."""
    found = 0
    for axis in range(4):
        there = site[axis] + steps[k, axis] * distance
        if there < 0 or there >= shape[axis]:
            if not periodic[axis]:
                return -1
            there %= shape[axis]
        found = found * shape[axis] + there
    return found


@inlined
def move_on(site, shape):
    """Turn the coordinates of a site into those of the next one in raster order."""
    for axis in range(3, -1, -1):
        site[axis] += 1
        if site[axis] < shape[axis]:
            return
        site[axis] = 0


@inlined
def row_along(shape, periodic, steps, k, distance, site):
    """Return where the row begins that is `distance` times step k away; -1 if it is outside."""
    found = 0
    for axis in range(3):
        there = site[axis] + steps[k, axis] * distance
        if there < 0 or there >= shape[axis]:
            if not periodic[axis]:
                return -1
            there %= shape[axis]
        found = found * shape[axis] + there
    return found * shape[3]


@inlined
def column_at(column, width, periodic):
    """Return a column around the end of its row, -1 if that is outside."""
    if column < 0 or column >= width:
        return column % width if periodic else -1
    return column


@inlined
def next_row(site, shape):
    """Turn the coordinates of a row into those of the next one."""
    for axis in range(2, -1, -1):
        site[axis] += 1
        if site[axis] < shape[axis]:
            return
        site[axis] = 0


@njit(nogil=True, cache=True)
def seam_level(shape, steps, k, edges, site):
    """Return at which level of sewing the step k from a site crosses a border between tiles.

    At level 1 pairs of tiles are joined along each axis, at level 2 pairs of pairs, and so on
    (Figure 7). A step that crosses borders along several axes crosses at the highest of their
    levels.

    Parameters
    ----------
    shape, steps
        As in `Lattice`.
    edges : (4,) array of int64
        Of tiles.
    site : (4,) array of int64
        Coordinates.

    Returns
    -------
    int
        0 inside a tile, -1 around a periodic axis.
    """
    level = 0
    for axis in range(4):
        there = site[axis] + steps[k, axis]
        if there < 0 or there >= shape[axis]:
            return -1
        one, other = site[axis] // edges[axis], there // edges[axis]
        if one != other:
            later, crossed = max(one, other), 1
            while later % 2 == 0:
                later //= 2
                crossed += 1
            level = max(level, crossed)
    return level
