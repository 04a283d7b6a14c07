"""Launchers for hawick.cu, with the names and signatures of `hawick2010.cpu`."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import THREADS, Kernel, kernel, launch
from equilabel.papers.meshes import both_ways, count_lines, tile_edges
from equilabel.papers.meshes.cuda import label_by_index, pixel_and_rank

if TYPE_CHECKING:
    from equilabel.domains.graph import Graph
    from equilabel.domains.grid import Grid


# ---- Kernels A to D, for meshes


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its own index."""
    return label_by_index(grid)


def propagate(grid: Grid, labels: cupy.ndarray) -> bool:
    """Give every element the lowest label among it and its neighbors (Algorithm 5).

    Waits for the device, and returns whether any label was lowered.
    """
    function = kernel("papers/hawick2010/hawick", f"propagate<{pixel_and_rank(grid)}>")
    return _over_elements(function, grid, labels)


def propagate_tiles(grid: Grid, labels: cupy.ndarray, tile_size: int) -> bool:
    """Take the lowest label nearby, then propagate labels inside each tile (Algorithm 6).

    Waits for the device, and returns whether any label was lowered.
    """
    shape, steps, offsets = grid.full
    edges = tile_edges(grid.shape, tile_size, stacked=grid.stacked)
    tiles = prod(-(-side // edge) for side, edge in zip(grid.shape, edges, strict=True))
    exponents = sum((edge.bit_length() - 1) << 4 * axis for axis, edge in enumerate(edges))
    changed = cupy.zeros(1, cupy.int32)
    function = kernel("papers/hawick2010/hawick", f"propagate_tiles<{pixel_and_rank(grid)}>")
    known = grid.values[0], shape, steps, offsets, offsets.size, exponents
    function((tiles,), (prod(edges),), (*known, labels, changed))
    return bool(changed)


def sweep(grid: Grid, labels: cupy.ndarray) -> bool:
    """Carry the lowest label along all lines, in each direction once (Algorithm 7).

    Waits for the device, and returns whether any label was lowered.
    """
    values, changed = grid.values[0], cupy.zeros(1, cupy.int32)
    function = kernel("papers/hawick2010/hawick", f"sweep<{pixel_and_rank(grid)}>")
    for k in both_ways(len(grid.steps)):
        lines = count_lines(grid.shape, grid.steps[k])
        launch(function, lines, values, values.size, *grid.full, k, lines, labels, changed)
    return bool(changed)


def init_references(labels: cupy.ndarray) -> cupy.ndarray:
    """Let each label refer to itself."""
    return labels.copy()


def scan(grid: Grid, labels: cupy.ndarray, references: cupy.ndarray) -> bool:
    """Refer each label to the lowest label next to it (Algorithm 8, scanning phase).

    Waits for the device, and returns whether any label has a lower one next to it.
    """
    function = kernel("papers/hawick2010/hawick", f"scan<{pixel_and_rank(grid)}>")
    return _over_elements(function, grid, labels, references)


def analyze(labels: cupy.ndarray, references: cupy.ndarray) -> None:
    """Refer each label in use to the root of its chain (Algorithm 8, analysis phase)."""
    function = kernel("papers/hawick2010/hawick", "analyze")
    launch(function, labels.size, labels.size, labels, references)


def relabel(labels: cupy.ndarray, references: cupy.ndarray) -> None:
    """Replace each label by the one it refers to (Algorithm 8, labeling phase)."""
    function = kernel("papers/hawick2010/hawick", "relabel")
    launch(function, labels.size, labels.size, labels, references)


def _over_elements(function: Kernel, grid: Grid, *arrays: cupy.ndarray) -> bool:
    """Start a kernel with a thread for each element; return whether it found a lower label."""
    values, changed = grid.values[0], cupy.zeros(1, cupy.int32)
    count = grid.full[2].size
    launch(function, values.size, values, values.size, *grid.full, count, *arrays, changed)
    return bool(changed)


# ---- Kernels 1 to 3, for graphs


def init_colors(graph: Graph) -> cupy.ndarray:
    """Give every vertex its own index as its color."""
    return cupy.arange(graph.size, dtype=cupy.int64)


def lower_colors(graph: Graph, colors: cupy.ndarray) -> bool:
    """Lower the color at one end of each edge to that at the other; return whether any changed."""
    sources, targets = graph.edges
    function = kernel("papers/hawick2010/hawick", f"lower_colors<{sources.dtype.str[1:]}>")
    changed = cupy.zeros((), cupy.uint8)
    launch(function, sources.size, sources, targets, sources.size, colors, changed)
    return bool(changed)


def init_frontier(graph: Graph, active: bool) -> cupy.ndarray:
    """Return an array that says for every vertex whether it is active."""
    return cupy.full(graph.size, active, cupy.bool_)


def compare(
    graph: Graph, colors: cupy.ndarray, frontier: cupy.ndarray, following: cupy.ndarray
) -> bool:
    """Compare active vertices with their neighbors; return whether any color changed."""
    function = kernel("papers/hawick2010/hawick", f"compare<{_types(graph)}>")
    return _over_vertices(function, graph, colors, frontier, following)


def clear_colors(graph: Graph) -> cupy.ndarray:
    """Leave every vertex without a color: -1."""
    return cupy.full(graph.size, -1, cupy.int64)


def next_source(colors: cupy.ndarray, start: int) -> int:
    """Return the first vertex without a color from `start` on; -1 if there is none."""
    if start >= colors.size:
        return -1
    first = cupy.full((), colors.size, cupy.uint64)
    function = kernel("papers/hawick2010/hawick", "next_source")
    launch(function, THREADS, colors, start, colors.size, first)
    found = int(first)
    return found if found < colors.size else -1


def start_search(frontier: cupy.ndarray, source: int) -> None:
    """Make the source of a search active."""
    frontier[source] = True


def spread(
    graph: Graph,
    colors: cupy.ndarray,
    source: int,
    frontier: cupy.ndarray,
    following: cupy.ndarray,
) -> bool:
    """Color active vertices, make their neighbors without a color active; return if any is."""
    function = kernel("papers/hawick2010/hawick", f"spread<{_types(graph)}>")
    return _over_vertices(function, graph, colors, source, frontier, following)


def _types(graph: Graph) -> str:
    """Return the types of the arrays of a graph, as template parameters."""
    return f"{graph.offsets.dtype.str[1:]}, {graph.neighbors.dtype.str[1:]}"


def _over_vertices(function: Kernel, graph: Graph, *arguments: object) -> bool:
    """Start a kernel with a thread for each vertex; return whether it set its flag."""
    flag = cupy.zeros((), cupy.uint8)
    size = graph.size
    launch(function, size, graph.offsets, graph.neighbors, size, *arguments, flag)
    return bool(flag)
