"""Passes of Kernels A to D for meshes and 1 to 3 for graphs (Hawick et al. 2010) on the CPU.

Labels are flat indices, -1 for background; a label is the index of an element of its component.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.devices.cpu.union_find import root_of
from equilabel.devices.jit import njit
from equilabel.papers.meshes import both_ways, count_lines, tile_edges
from equilabel.papers.meshes.cpu import find_line, label_by_index, lowest_near, mark_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.domains.graph import Graph
    from equilabel.domains.grid import Grid


# ---- Kernel A: neighbor propagation (Algorithm 5)


def initialize(grid: Grid) -> NDArray[np.int64]:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def propagate(grid: Grid, labels: NDArray[np.int64]) -> bool:
    """Give every element the lowest label among it and its neighbors; return whether any changed.

    All elements are read before any is written, as if all threads of a GPU ran in lockstep: a label
    moves by one element (Algorithm 5).
    """
    return bool(take_lowest(labels.copy(), grid.values[0], *grid.full, labels, False))


@njit(nogil=True, cache=True)
def take_lowest(labels, values, shape, steps, offsets, lowered, by_label):
    """Find the lowest label next to every element; return whether any is lower than its own.

    The entry of `lowered` of the element, or of its label if `by_label` (an atomicMin in the
    paper), gets the minimum. `labels` and `lowered` are two arrays, (N,); `steps` is (K, ndim), to
    all neighbors, `offsets` the same as distances of flat indices; not checked.
    """
    changed = False
    inside = np.empty(offsets.size, np.bool_)
    width = shape[-1]
    for start in range(0, values.size, width):
        mark_inside(start, shape, steps, inside)
        for column in range(width):
            i = start + column
            if labels[i] < 0:
                continue
            lowest = lowest_near(labels, values, i, column, width, steps, offsets, inside)
            if lowest < labels[i]:
                entry = labels[i] if by_label else i
                lowered[entry] = min(lowered[entry], lowest)
                changed = True
    return changed


# ---- Kernel B: local neighbor propagation (Algorithm 6)
# Tiles stand for the blocks of threads of a GPU.


def propagate_tiles(grid: Grid, labels: NDArray[np.int64], tile_size: int) -> bool:
    """Take the lowest label nearby, then propagate labels inside each tile (Algorithm 6).

    All elements are read before any is written: a label moves through one tile. Returns whether a
    neighbor lowered any; tiles are stable after the first round.
    """
    values = grid.values[0]
    if not take_lowest(labels.copy(), values, *grid.full, labels, False):
        return False
    edges = np.array(tile_edges(grid.shape, tile_size, stacked=grid.stacked), np.int64)
    settle_tiles(labels, values, *grid.full, edges)
    return True


@njit(nogil=True, cache=True)
def settle_tiles(labels, values, shape, steps, offsets, edges):
    """Propagate labels inside each tile until none of its labels changes (loop of Algorithm 6).

    `edges` is (ndim,), the sides of a tile, which may be shorter at the end of an axis. Other
    arrays are those of `take_lowest`.
    """
    rank = shape.size
    tiles = 1
    for axis in range(rank):
        tiles *= -(-shape[axis] // edges[axis])
    extents = np.empty(rank, np.int64)
    for tile in range(tiles):
        rest = tile
        origin = 0
        stride = 1
        for axis in range(rank - 1, -1, -1):
            along = -(-shape[axis] // edges[axis])
            begin = rest % along * edges[axis]
            rest //= along
            extents[axis] = min(edges[axis], shape[axis] - begin)
            origin += begin * stride
            stride *= shape[axis]
        forth = True
        while settle_tile(labels, values, shape, steps, offsets, origin, extents, forth):
            forth = not forth


@njit(nogil=True, cache=True)
def settle_tile(labels, values, shape, steps, offsets, origin, extents, forth):
    """Lower the labels of a tile to the lowest nearby in it, once; return whether any changed.

    In raster order, or backward if not `forth`, elements see labels that were just lowered: in the
    end labels are those of the paper's loop. The tile begins at element `origin` and has `extents`,
    (ndim,).
    """
    rank = shape.size
    coordinates = np.empty(rank, np.int64)
    count = 1
    for axis in range(rank):
        count *= extents[axis]
    changed = False
    for n in range(count):
        rest = n if forth else count - 1 - n
        i = origin
        stride = 1
        for axis in range(rank - 1, -1, -1):
            coordinates[axis] = rest % extents[axis]
            rest //= extents[axis]
            i += coordinates[axis] * stride
            stride *= shape[axis]
        lowest = labels[i]
        if lowest < 0:
            continue
        for k in range(offsets.size):
            inside = True
            for axis in range(rank):
                if not 0 <= coordinates[axis] + steps[k, axis] < extents[axis]:
                    inside = False
            if inside:
                near = labels[i + offsets[k]]
                if 0 <= near < lowest and values[i + offsets[k]] == values[i]:
                    lowest = near
        if lowest < labels[i]:
            labels[i] = lowest
            changed = True
    return changed


# ---- Kernel C: directional propagation (Algorithm 7)


def sweep(grid: Grid, labels: NDArray[np.int64]) -> bool:
    """Carry the lowest label along all lines, in each direction once; return whether any changed.

    Algorithm 7.
    """
    shape, steps, offsets = grid.full
    changed = False
    for k in both_ways(len(steps)):
        lines = count_lines(grid.shape, grid.steps[k])
        found = sweep_lines(labels, grid.values[0], shape, steps[k], offsets[k], lines)
        changed = changed or bool(found)
    return changed


@njit(nogil=True, cache=True)
def sweep_lines(labels, values, shape, step, offset, lines):
    """Carry the lowest label along all lines in one direction; return whether any changed.

    Lines of one direction have no element in common, so their order does not matter (Algorithm 7).
    `step`, (ndim,), is also given as `offset`, a distance of flat indices (not checked); `lines` is
    from `meshes.count_lines`.
    """
    changed = False
    for line in range(lines):
        i, length = find_line(line, shape, step)
        if length < 2:
            continue
        label = labels[i]
        for _ in range(length - 1):
            before = i
            i += offset
            if 0 <= label < labels[i] and values[i] == values[before]:
                labels[i] = label
                changed = True
            else:
                label = labels[i]
    return changed


# ---- Kernel D: label equivalence with references (Algorithm 8)
# A label in use is that of the element whose index it is, its owner; ``references[l]`` is the
# lowest label that label l is known to be equivalent to.


def init_references(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Let each label refer to itself."""
    return labels.copy()


def scan(grid: Grid, labels: NDArray[np.int64], references: NDArray[np.int64]) -> bool:
    """Refer each label to the lowest label next to it (Algorithm 8, scanning phase).

    Returns whether any label has a lower one next to it, so that another round is needed.
    """
    return bool(take_lowest(labels, grid.values[0], *grid.full, references, True))


@njit(nogil=True, cache=True)
def analyze(labels: NDArray[np.int64], references: NDArray[np.int64]) -> None:
    """Refer each label in use to the root of its chain (Algorithm 8, analysis phase).

    It is done at the element that owns the label. A label in use refers to a label in use that is
    not higher. Not checked.
    """
    for i in range(labels.size):
        if labels[i] == i:
            references[i] = root_of(references, i)


@njit(nogil=True, cache=True)
def relabel(labels: NDArray[np.int64], references: NDArray[np.int64]) -> None:
    """Replace each label by the one it refers to (Algorithm 8, labeling phase)."""
    for i in range(labels.size):
        if labels[i] >= 0:
            labels[i] = references[labels[i]]


# ---- Kernel 1: edge by edge (Algorithm 2)


def init_colors(graph: Graph) -> NDArray[np.int64]:
    """Give every vertex its own index as its color."""
    return np.arange(graph.size, dtype=np.int64)


def lower_colors(graph: Graph, colors: NDArray[np.int64]) -> bool:
    """Lower the color at one end of each edge to that at the other; return whether any changed."""
    return bool(compare_ends(*graph.edges, colors))


@njit(nogil=True, cache=True)
def compare_ends(sources, targets, colors):
    """Give the lower color of both ends of each edge to the other end (Algorithm 2).

    `sources` and `targets` are (M,), the edges (not checked); `colors` is (N,) of int64. Returns
    whether any color changed.
    """
    changed = False
    for edge in range(sources.size):
        i = sources[edge]
        j = targets[edge]
        if colors[i] < colors[j]:
            colors[j] = colors[i]
            changed = True
        elif colors[j] < colors[i]:
            colors[i] = colors[j]
            changed = True
    return changed


# ---- Kernel 2: vertex by vertex, if its color changed (Algorithm 3)


def init_frontier(graph: Graph, active: bool) -> NDArray[np.bool_]:
    """Return an array that says for every vertex whether it is active."""
    return np.full(graph.size, active)


def compare(
    graph: Graph,
    colors: NDArray[np.int64],
    frontier: NDArray[np.bool_],
    following: NDArray[np.bool_],
) -> bool:
    """Compare active vertices with their neighbors; return whether any color changed."""
    return bool(compare_neighbors(graph.offsets, graph.neighbors, colors, frontier, following))


@njit(nogil=True, cache=True)
def compare_neighbors(offsets, neighbors, colors, frontier, following):
    """Lower the colors, (N,), of active vertices, or of their neighbors (Algorithm 3).

    `frontier`, (N,) of bool, says which are active, and becomes False; `following`, at first False,
    those of the next round. Returns whether any color changed.
    """
    changed = False
    for i in range(frontier.size):
        if not frontier[i]:
            continue
        frontier[i] = False
        color = colors[i]
        for k in range(offsets[i], offsets[i + 1]):
            j = neighbors[k]
            if color < colors[j]:
                colors[j] = color
                following[j] = True
                changed = True
            elif color > colors[j]:
                color = colors[j]
        if color < colors[i]:
            colors[i] = color
            following[i] = True
            changed = True
    return changed


# ---- Kernel 3: one breadth-first search after the other (Section 4.3.3)


def clear_colors(graph: Graph) -> NDArray[np.int64]:
    """Leave every vertex without a color: -1."""
    return np.full(graph.size, -1, np.int64)


def start_search(frontier: NDArray[np.bool_], source: int) -> None:
    """Make the source of a search active."""
    frontier[source] = True


def spread(
    graph: Graph,
    colors: NDArray[np.int64],
    source: int,
    frontier: NDArray[np.bool_],
    following: NDArray[np.bool_],
) -> bool:
    """Color active vertices, make their neighbors without a color active; return if any is."""
    arrays = graph.offsets, graph.neighbors, colors
    return bool(color_frontier(*arrays, source, frontier, following))


@njit(nogil=True, cache=True)
def next_source(colors: NDArray[np.int64], start: int) -> int:
    """Return the first vertex without a color from `start` on; -1 if there is none."""
    for i in range(start, colors.size):
        if colors[i] < 0:
            return i
    return -1


@njit(nogil=True, cache=True)
def color_frontier(offsets, neighbors, colors, source, frontier, following):
    """Give active vertices the color `source`, make uncolored neighbors active (Section 4.3.3).

    `colors` is (N,), -1 for none; `frontier` and `following` as of `compare_neighbors`. Returns
    whether any is active.
    """
    spreading = False
    for i in range(frontier.size):
        if not frontier[i]:
            continue
        frontier[i] = False
        colors[i] = source
        for k in range(offsets[i], offsets[i + 1]):
            if colors[neighbors[k]] < 0:
                following[neighbors[k]] = True
                spreading = True
    return spreading
