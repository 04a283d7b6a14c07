"""Launchers for graphs.cu, with the names and signatures of the passes on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import THREADS, empty_roots, kernel, launch

if TYPE_CHECKING:
    from equilabel.domains.graph import Graph

SAMPLE = 1024  # threads of `find_largest`
FIRST, PIECE, BATCH = 2, 2048, 4  # as in graphs.cu
BLOCKS = 2048  # blocks that share the pieces of long lists


def initialize(domain: Graph) -> cupy.ndarray:
    """Point every vertex at a smaller neighbor among its first ones, or at itself."""
    size = domain.size
    parents = cupy.empty(size, cupy.uint32 if size < 2**32 else cupy.uint64)
    function = kernel("runs/cuda/graphs", f"initialize<{_types(domain, parents)}>")
    launch(function, size, domain.offsets, domain.neighbors, size, parents)
    return parents


def compress(parents: cupy.ndarray) -> None:
    """Point every vertex at its root."""
    function = kernel("runs/cuda/graphs", f"compress<{parents.dtype.str[1:]}>")
    launch(function, -(-parents.size // BATCH), parents.size, parents)


def unite_first(domain: Graph, parents: cupy.ndarray) -> None:
    """Unite every vertex with its first neighbors."""
    size = domain.size
    function = kernel("runs/cuda/graphs", f"unite_first<{_types(domain, parents)}>")
    launch(function, size, domain.offsets, domain.neighbors, size, parents)


def find_largest(parents: cupy.ndarray) -> cupy.ndarray:
    """Return the root that at least half of a sample of vertices have, or -1, on the device."""
    largest = cupy.empty((), parents.dtype)
    function = kernel("runs/cuda/graphs", f"find_largest<{parents.dtype.str[1:]}>")
    function((1,), (SAMPLE,), (parents, parents.size, largest))
    return largest


def unite_all(domain: Graph, parents: cupy.ndarray) -> None:
    """Unite every vertex with its smaller neighbors."""
    _unite(domain, parents, 0, 0)


def unite_rest(domain: Graph, parents: cupy.ndarray, largest: cupy.ndarray) -> None:
    """Unite vertices outside the component of `largest` with their other neighbors."""
    _unite(domain, parents, largest, FIRST)


def _unite(domain: Graph, parents: cupy.ndarray, largest: cupy.ndarray | int, first: int) -> None:
    """Unite vertices with their neighbors from the `first` on; if `largest` is 0, all of them."""
    size, types = domain.size, _types(domain, parents)
    arrays = domain.offsets, domain.neighbors
    most = 2 * (domain.neighbors.size // PIECE) + 1
    pieces = (  # of long lists, and their number
        cupy.empty(most, domain.neighbors.dtype),
        cupy.empty(most, domain.offsets.dtype),
        cupy.zeros((), cupy.uint64),
    )
    function = kernel("runs/cuda/graphs", f"unite_rest<{types}>")
    launch(function, size, *arrays, size, parents, largest, first, *pieces)
    function = kernel("runs/cuda/graphs", f"unite_pieces<{types}>")
    launch(function, min(BLOCKS * THREADS, 32 * most), *arrays, parents, largest, *pieces)


def finish(parents: cupy.ndarray) -> cupy.ndarray:
    """Return the root of every vertex."""
    roots = empty_roots(parents.size)
    if roots.itemsize == parents.itemsize:
        roots = parents.view(roots.dtype)
    types = f"{parents.dtype.str[1:]}, {roots.dtype.str[1:]}"
    function = kernel("runs/cuda/graphs", f"finish<{types}>")
    launch(function, -(-parents.size // BATCH), parents, parents.size, roots)
    return roots


def _types(domain: Graph, parents: cupy.ndarray) -> str:
    """Return the types of a graph and its parents, as template parameters."""
    arrays = domain.offsets, domain.neighbors, parents
    return ", ".join(each.dtype.str[1:] for each in arrays)
