"""Launchers for komura.cu, named and shaped like `equilabel.kernels.cpu.komura`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from . import komura_graph
from ._compile import Kernel, kernel, launch
from .index import empty_roots

if TYPE_CHECKING:
    from equilabel.bonds import Bonds
    from equilabel.graphs import Graph
    from equilabel.grid import Grid

BATCH = 4  # elements of a thread of `analyze`, as in komura.cu


def initialize(domain: Grid | Bonds | Graph) -> cupy.ndarray:
    """Label every foreground element with its lowest neighbor, or itself."""
    if domain.kind == "graph":
        return komura_graph.initialize(domain)
    if domain.kind == "bonds":
        labels = empty_roots(domain.size)
        function = kernel("komura_bonds", f"label_sites<{_types(domain, labels)}>")
        _over_sites(function, domain, labels)
        return labels
    values, background = domain.values
    shape, steps, offsets = domain.half
    labels = cupy.empty(values.size, cupy.int64)
    pixel = values.dtype
    launch(
        kernel("komura", f"initialize<{pixel.str[1:]}, {shape.size}>"),
        values.size,
        values,
        background is not None,
        pixel.type(0 if background is None else background),
        values.size,
        shape,
        steps,
        offsets,
        offsets.size,
        labels,
    )
    return labels


def analyze(labels: cupy.ndarray) -> None:
    """Point every element at the end of its chain of labels."""
    function = kernel("komura", f"analyze<{labels.dtype.str[1:]}>")
    launch(function, -(-labels.size // BATCH), labels.size, labels)


def reduce_labels(domain: Grid | Bonds | Graph, labels: cupy.ndarray) -> None:
    """Unite every element with its residual list (Algorithm 1)."""
    if domain.kind == "graph":
        komura_graph.reduce_labels(domain, labels)
        return
    if domain.kind == "bonds":
        function = kernel("komura_bonds", f"unite_sites<{_types(domain, labels)}>")
        _over_sites(function, domain, labels)
        return
    values = domain.values[0]
    shape, steps, offsets = domain.half
    launch(
        kernel("komura", f"reduce_labels<{values.dtype.str[1:]}, {shape.size}>"),
        values.size,
        values,
        values.size,
        shape,
        steps,
        offsets,
        offsets.size,
        labels,
    )


def _types(bonds: Bonds, labels: cupy.ndarray) -> str:
    """Name the types of a lattice and its labels, as template parameters."""
    return f"{bonds.open.dtype.str[1:]}, {bonds.rank}, {labels.dtype.str[1:]}"


def _over_sites(function: Kernel, bonds: Bonds, labels: cupy.ndarray) -> None:
    """Start a kernel of komura_bonds.cu."""
    shape, steps, periodic = bonds.arrays
    launch(function, bonds.size, bonds.open, bonds.size, shape, steps, len(steps), periodic, labels)
