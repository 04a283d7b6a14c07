"""Launchers for graphs.cu, with the names and signatures of the passes on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy

from equilabel.devices.cuda.kernels import THREADS, empty_roots, kernel, launch

if TYPE_CHECKING:
    from equilabel.domains.graph import Graph

SAMPLE = 1024  # threads of `find_largest`
FEW, PIECE, BATCH, PAIR = 16, 2048, 4, 2  # as in graphs.cu
BLOCKS = 2048  # blocks that share the pieces of long lists


def initialize(domain: Graph) -> cupy.ndarray:
    """Point every vertex at a smaller neighbor among its first ones, or at itself."""
    size = domain.size
    parents = cupy.empty(size, cupy.uint32 if size < 2**32 else cupy.uint64)
    function = kernel("runs/cuda/graphs", f"initialize<{_types(domain, parents)}>")
    launch(function, -(-size // PAIR), domain.offsets, domain.neighbors, size, parents)
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
    size, types = domain.size, _types(domain, parents)
    pieces = _pieces(domain, FEW)
    function = kernel("runs/cuda/graphs", f"unite_all<{types}>")
    arrays = domain.offsets, domain.neighbors, size, parents
    launch(function, -(-size // PAIR), *arrays, *pieces)
    _unite_pieces(domain, parents, 0, pieces)


def unite_rest(domain: Graph, parents: cupy.ndarray, largest: cupy.ndarray) -> None:
    """Unite vertices outside the component of `largest` with their other neighbors."""
    size, types = domain.size, _types(domain, parents)
    pieces = _pieces(domain, PIECE)
    function = kernel("runs/cuda/graphs", f"unite_rest<{types}>")
    launch(function, size, domain.offsets, domain.neighbors, size, parents, largest, *pieces)
    _unite_pieces(domain, parents, largest, pieces)


def _pieces(domain: Graph, most: int) -> tuple[cupy.ndarray, cupy.ndarray, cupy.ndarray]:
    """Return room for the pieces of lists that are longer than `most`, and for their number."""
    pieces = domain.neighbors.size // most + domain.neighbors.size // PIECE + 1
    return (
        cupy.empty(pieces, domain.neighbors.dtype),
        cupy.empty(pieces, domain.offsets.dtype),
        cupy.zeros((), cupy.uint64),
    )


def _unite_pieces(
    domain: Graph, parents: cupy.ndarray, largest: cupy.ndarray | int, pieces: tuple[Any, Any, Any]
) -> None:
    """Unite vertices with the pieces of their lists; if `largest` is 0, all with smaller ones."""
    function = kernel("runs/cuda/graphs", f"unite_pieces<{_types(domain, parents)}>")
    threads = min(BLOCKS * THREADS, 32 * pieces[0].size)
    launch(function, threads, domain.offsets, domain.neighbors, parents, largest, *pieces)


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
