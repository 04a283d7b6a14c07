"""Launchers for hawick_1.cu, with the names and signatures of `hawick2010.cpu_1`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy

from equilabel.devices.cuda.kernels import kernel, launch

if TYPE_CHECKING:
    from equilabel.domains.graph import Graph


def init_colors(graph: Graph) -> cupy.ndarray:
    """Give every vertex its own index as its color."""
    return cupy.arange(graph.size, dtype=cupy.int64)


def lower_colors(graph: Graph, colors: cupy.ndarray) -> bool:
    """Lower the color at one end of each edge to that at the other; return whether any changed."""
    sources, targets = graph.edges
    changed = cupy.zeros((), cupy.uint8)
    types = f"{sources.dtype.str[1:]}"
    arguments = (sources, targets, sources.size, colors, changed)
    launch(kernel("papers/hawick2010/hawick_1", f"lower_colors<{types}>"), sources.size, *arguments)
    return bool(changed)
