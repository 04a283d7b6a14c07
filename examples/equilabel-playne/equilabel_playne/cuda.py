"""Launchers for playne.cu, with the names and signatures of `equilabel_playne.cpu`.

Without a GPU they are compiled and not run: `pytest -m gpu tests/papers/test_outside.py` runs them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from .window import geometry

if TYPE_CHECKING:
    from equilabel.domains.grid import Grid

SOURCE = Path(__file__).with_name("playne.cu")
THREADS = 256  # of a block
TYPES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}


def initialize(grid: Grid) -> cupy.ndarray:
    """Label every foreground element with its lowest neighbor, or itself."""
    values, bounded, background = grid.bounded_values
    labels = cupy.arange(values.size, dtype=np.int64)
    if bounded:
        labels[values == background] = -1
    _start("point_at_lowest", grid, labels, values)
    return labels


def resolve(labels: cupy.ndarray) -> None:
    """Point every element at the root of its chain of labels."""
    _launch("resolve_chains", "long long", labels, labels.size)


def reduce_labels(grid: Grid, labels: cupy.ndarray) -> None:
    """Unite every element with its neighbors that it is not connected with otherwise."""
    _start("unite_parts", grid, labels, grid.values[0])


def _start(name: str, grid: Grid, labels: cupy.ndarray, values: cupy.ndarray) -> None:
    """Start a kernel that looks at the window of each element."""
    shape, steps, offsets, neighbors, links = geometry(grid)
    tables = map(cupy.asarray, (shape, steps, offsets))
    rest = np.int64(neighbors), cupy.asarray(links), np.int32(len(shape)), np.int32(len(steps))
    _launch(name, TYPES[values.itemsize], labels, values, labels.size, *tables, *rest)


def _launch(name: str, value: str, labels: cupy.ndarray, *arguments: Any) -> None:
    """Start a kernel for values of a type, with a thread for each label."""
    words = [np.int64(each) if type(each) is int else each for each in arguments]
    _kernel(name, value)((-(-labels.size // THREADS),), (THREADS,), (labels, *words))


@cache
def _kernel(name: str, value: str) -> cupy.RawKernel:
    wanted = f"{name}<{value}>"
    module = cupy.RawModule(
        code=SOURCE.read_text(), options=("--std=c++17",), name_expressions=[wanted]
    )
    return module.get_function(wanted)
