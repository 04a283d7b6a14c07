"""What `label_graph` accepts, and what it says about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.bonds import Bonds
from equilabel.graphs import Graph

if TYPE_CHECKING:
    from equilabel.array_types import Array


def take_graph(graph: Any) -> Graph | Bonds:
    """Return a graph or a lattice as it is, others as a graph; raise TypeError for the rest."""
    if isinstance(graph, (Graph, Bonds)):
        return graph
    if hasattr(graph, "tocsr"):
        return Graph.from_scipy(graph)
    if hasattr(graph, "adj") and hasattr(graph, "nodes"):
        return Graph.from_networkx(graph)
    message = (
        "graph must be a Graph, Bonds, a sparse array, or a graph of NetworkX; got "
        f"{type(graph).__name__}. Make one with Graph.from_edges."
    )
    raise TypeError(message)


def check_bonds(bonds: Bonds) -> None:
    """Raise ValueError if an open bond leads outside.

    Looks at the bits once, and waits for a GPU once.
    """
    if not bonds.size:
        return
    known = 2 ** len(bonds.steps) - 1
    wrong: list[tuple[str, Array]] = []
    if known < int(np.iinfo(bonds.open.dtype).max):
        beyond = (bonds.open > known).any()
        wrong.append((f"bits of steps 0 to {len(bonds.steps) - 1} alone", beyond))
    for axis in range(bonds.rank):
        for end, move in ((-1, 1), (0, -1)):
            leading = [k for k, step in enumerate(bonds.steps) if step[axis] == move]
            if bonds.periodic[axis] or not leading:
                continue
            bits = bonds.open.dtype.type(sum(2**k for k in leading))
            outside = (bonds.open[(slice(None),) * axis + (end,)] & bits).any()
            wrong.append((f"no open bonds that lead outside along axis {axis}", outside))
    if not wrong:
        return
    found = np.stack([flag for _, flag in wrong])
    if not bool(found.any()):
        return
    rule = wrong[int(found.argmax())][0]
    message = (
        f"bonds must have {rule}; got some. Clear these bits, as the functions of "
        "equilabel.lattices do, or make the axis periodic."
    )
    raise ValueError(message)
