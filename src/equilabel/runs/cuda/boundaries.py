"""Launchers for boundaries, see tile_borders.cu, with the signatures of the twin on the CPU."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices.cuda.kernels import kernel, launch
from equilabel.domains.grid import steps_around

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equilabel.array_types import Array
    from equilabel.domains.grid import Grid

SIDES = 6  # of an image, as image_layout.cuh has them
MOST_AROUND = 3 ** (SIDES - 1)
BOUNDARY = np.dtype(
    [
        ("sides", "i8", SIDES),
        ("faces", "i8"),
        ("axis", "i4"),
        ("steps", "i4"),
        ("periodic", "i1", SIDES),
        ("step", "i1", (MOST_AROUND, SIDES)),
    ],
    align=True,
)


def join_roots(grid: Grid, roots: Array) -> None:
    """Give components that touch across periodic boundaries one root, the smaller of theirs."""
    many = grid.foreground.values
    values = grid.values[0]
    for boundary, faces in _describe(grid):
        launch(
            kernel("runs/cuda/tile_borders", f"join_faces<{values.dtype.str[1:]}>"),
            faces,
            values,
            np.bool_(many),
            boundary,
            roots,
        )
    launch(kernel("runs/cuda/tile_borders", "settle"), roots.size, roots.size, roots)


def join_runs(table: Any, grid: Grid) -> None:
    """Unite the nodes that touch across periodic boundaries, after `passes.unite` was started."""
    types = f"u{grid.pixels.itemsize}, {table.node}, {table.tile}"
    for boundary, faces in _describe(grid):
        launch(kernel("runs/cuda/tile_borders", f"join_nodes<{types}>"), faces, table.job, boundary)


def _describe(grid: Grid) -> Iterator[tuple[Array, int]]:
    """Yield the boundary of each periodic axis as tile_borders.cu reads it, and its elements."""
    rank = len(grid.shape)
    missing = SIDES - rank
    for axis in np.flatnonzero(grid.periodic):
        steps = steps_around(rank, grid.connectivity, int(axis), grid.stacked)
        faces = prod(grid.shape) // grid.shape[axis]
        boundary = np.zeros((), BOUNDARY)
        boundary["sides"] = (1,) * missing + grid.shape
        boundary["faces"] = faces
        boundary["axis"], boundary["steps"] = missing + axis, len(steps)
        boundary["periodic"][missing:] = grid.periodic
        boundary["step"][: len(steps), missing:] = steps
        yield boundary.view(f"V{BOUNDARY.itemsize}"), faces
