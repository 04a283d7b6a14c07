"""Passes of the method `runs` on the GPU; none of them waits for the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cupy
import numpy as np

from . import boundaries
from .tiles import (
    ADDRESSES,
    JOB,
    NUMBER,
    PACK,
    PAINT,
    UNITE,
    Count,
    Work,
    prepare,
    prepare_bonds,
)

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.bonds import Bonds
    from equilabel.domains.grid import Grid

    from .tiles import Tiling

TAKES_ROOM = True  # `pack` needs the memory of the labels


@dataclass
class RunTable:
    """The tables of one image on the device; it owns their memory."""

    work: Work
    job: Array  # a single element, of as many bytes: argument of every pass, see tiling.cuh
    arguments: int  # address of the arguments of all passes
    stream: int  # on which passes are started
    count: Count  # components, once they are numbered
    room: cupy.ndarray  # for the labels
    memory: tuple[object, ...]  # keeps alive the memory that the job points to
    domain: Grid | None = None  # the image, if it has periodic axes

    whole = True  # values are whole numbers: floats are not supported here

    @property
    def tiling(self) -> Tiling:
        """Tiles that the image is cut into."""
        return self.work.tiling

    @property
    def node(self) -> str:
        """Type of nodes in kernels."""
        return f"u{self.work.node_bytes}"

    @property
    def many(self) -> bool:
        """Whether neighboring runs are united only if their values are equal."""
        return self.work.tiling.many

    @property
    def tile(self) -> str:
        """Type of tiles in kernels."""
        return self.work.tiling.kind

    def start(self, number: int) -> None:
        """Start a pass by its number, if it has any blocks."""
        self.work.start(number, self.stream, self.arguments)

    def relabel(self, numbers: Array) -> None:
        """Let `paint` write `numbers`, (N + 1,), in place of the labels 0 to N of runs."""
        there = cupy.asarray(numbers, self.room.dtype)
        self.memory = (*self.memory, there)
        last = len(self.work.tiling.plan) + ADDRESSES.size - 8
        self.job.reshape(1).view(np.uint8)[last : last + 8].view(np.uint64)[0] = there.data.ptr


def pack(domain: Grid | Bonds, room: cupy.ndarray) -> RunTable:
    """Turn pixels, or bonds, into bits, and the runs of every tile into nodes.

    The domain is not empty, C-contiguous, on the current device, and shares no memory with `room`,
    (size,) of int32 or int64, which receives the labels and holds nodes until then.
    """
    device = cupy.cuda.runtime.getDevice()
    image = domain.pixels if domain.kind == "grid" else cupy.ascontiguousarray(domain.open)
    ends = room.itemsize, (image.data.ptr % 16, room.data.ptr % 16), device
    if domain.kind == "grid":
        how = domain.foreground, domain.connectivity, domain.stacked
        work = prepare(image.shape, image.dtype, *how, *ends)
    else:
        steps = tuple(map(tuple, domain.steps.tolist()))
        work = prepare_bonds(image.shape, image.dtype, steps, domain.periodic, *ends)
    nodes = room
    if work.node_bytes != room.itemsize:
        nodes = cupy.empty(room.size, f"u{work.node_bytes}")
    tables = cupy.cuda.alloc(work.begins[-1])
    arguments, memory = work.tell(image.data.ptr, room.data.ptr, tables.ptr, nodes.data.ptr)
    table = RunTable(
        work,
        memory[JOB:].view(f"V{len(work.job)}").reshape(()),
        arguments,
        cupy.cuda.get_current_stream().ptr,
        Count(tables + work.begins[5]),
        room,
        (image, nodes, tables, memory),
        domain if domain.kind == "grid" and domain.periodic else None,
    )
    table.start(PACK)
    return table


def unite(table: RunTable) -> None:
    """Unite nodes where tiles meet, and then across periodic boundaries."""
    table.start(UNITE)
    if table.domain is not None:
        boundaries.join_runs(table, table.domain)


def number(table: RunTable) -> Count:
    """Give labels in raster order to all nodes; return their number N, still on the device.

    Labels are 1 to N, or 0 to N - 1 on a lattice of bonds, which has no background.
    """
    table.start(NUMBER)
    return table.count


def paint(table: RunTable, out: cupy.ndarray, blank: bool) -> None:
    """Write the label of every pixel to `out`, the `room` of `pack`.

    The arguments `out` and `blank` are those of the twin on the CPU: the job knows the address.
    """
    table.start(PAINT)
