"""Launchers for union_find.cu, named and shaped like the passes of its CPU twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from ._compile import THREADS, kernel, launch
from .index import empty_roots

if TYPE_CHECKING:
    from equilabel.graphs import Graph

SAMPLE = 1024  # threads of `find_largest`
FEW, PIECE = 16, 2048  # as in union_find.cu: neighbors of a thread, and of a warp
BLOCKS = 2048  # that share the pieces of long lists


def initialize(domain: Graph) -> cupy.ndarray:
    """Point every vertex at a smaller neighbor among its first ones, or at itself."""
    size = domain.size
    parents = cupy.empty(size, cupy.uint32 if size < 2**32 else cupy.uint64)
    function = kernel("union_find", f"initialize<{_types(domain, parents)}>")
    launch(function, size, domain.offsets, domain.neighbors, size, parents)
    return parents


def compress(parents: cupy.ndarray) -> None:
    """Point every vertex at its root."""
    function = kernel("union_find", f"compress<{parents.dtype.str[1:]}>")
    launch(function, parents.size, parents.size, parents)


def unite_first(domain: Graph, parents: cupy.ndarray) -> None:
    """Unite every vertex with its first neighbors."""
    size = domain.size
    function = kernel("union_find", f"unite_first<{_types(domain, parents)}>")
    launch(function, size, domain.offsets, domain.neighbors, size, parents)


def find_largest(parents: cupy.ndarray) -> cupy.ndarray:
    """Return the root that most of a sample of vertices have, on the device."""
    largest = cupy.empty((), parents.dtype)
    function = kernel("union_find", f"find_largest<{parents.dtype.str[1:]}>")
    function((1,), (SAMPLE,), (parents, parents.size, largest))
    return largest


def unite_all(domain: Graph, parents: cupy.ndarray) -> None:
    """Unite every vertex with its smaller neighbors."""
    _unite_lists(domain, parents, parents, "true")  # nothing is looked up in the largest


def unite_rest(domain: Graph, parents: cupy.ndarray, largest: cupy.ndarray) -> None:
    """Unite vertices that have another root with their other neighbors."""
    _unite_lists(domain, parents, largest, "false")


def _unite_lists(domain: Graph, parents: cupy.ndarray, largest: cupy.ndarray, every: str) -> None:
    """Unite vertices with neighbors, of short lists first, then of long ones in pieces."""
    offsets, neighbors, size = domain.offsets, domain.neighbors, domain.size
    types = _types(domain, parents)
    most = neighbors.size // FEW + neighbors.size // PIECE + 1
    pieces = (
        cupy.empty(most, neighbors.dtype),
        cupy.empty(most, offsets.dtype),
        cupy.zeros((), cupy.uint64),
    )
    function = kernel("union_find", f"unite_lists<{types}, {every}>")
    launch(function, size, offsets, neighbors, size, parents, largest, *pieces)
    function = kernel("union_find", f"unite_pieces<{types}>")
    threads = min(BLOCKS * THREADS, 32 * most)
    launch(function, threads, offsets, neighbors, parents, *pieces)


def finish(parents: cupy.ndarray) -> cupy.ndarray:
    """Return the root of every vertex."""
    roots = empty_roots(parents.size)
    types = f"{parents.dtype.str[1:]}, {roots.dtype.str[1:]}"
    function = kernel("union_find", f"finish<{types}>")
    launch(function, parents.size, parents, parents.size, roots)
    return roots


def _types(domain: Graph, parents: cupy.ndarray) -> str:
    """Name the types of a graph and its parents, as template parameters."""
    arrays = domain.offsets, domain.neighbors, parents
    return ", ".join(each.dtype.str[1:] for each in arrays)
