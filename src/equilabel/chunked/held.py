"""Labels of blocks that stay on GPUs from labeling to writing, if there is room."""

from __future__ import annotations

import threading
from math import prod
from typing import TYPE_CHECKING, Any

from equilabel.devices import LANES, current_event, index_of, is_on_cuda, room_on_gpus

if TYPE_CHECKING:
    from equilabel.array_types import Array

    from .blocks import Blocks

AT_WORK = 24  # bytes that an element of a block takes at most while it is processed
SHARE = 0.9  # of the memory that blocks in progress leave free


class HeldLabels:
    """Labels of blocks on GPUs, for workers that are threads of one process.

    They leave enough memory for as many blocks in progress as there are `workers`. Free memory is
    what CuPy may still allocate: `cupy.get_default_memory_pool().set_limit` limits it. `device` is
    "cuda", for all GPUs, or "cuda:<index>".
    """

    def __init__(self, device: str, blocks: Blocks, workers: int) -> None:
        free = room_on_gpus(device)
        each = min(-(-workers // len(free)), LANES) * AT_WORK * prod(blocks.sides)
        self._room = {gpu: int(SHARE * max(0, some - each)) for gpu, some in free.items()}
        self._held: dict[int, tuple[Array, Any]] = {}
        self._lock = threading.Lock()

    def keep(self, block: int, labels: Array, count: int) -> bool:
        """Keep the labels 0 to `count` of a block if they are on a GPU that has room for them."""
        if not is_on_cuda(labels):
            return False
        narrow = labels.astype("u2") if count < 2**16 else labels
        gpu = index_of(labels)
        with self._lock:
            if narrow.nbytes > self._room[gpu]:
                return False
            self._room[gpu] -= narrow.nbytes
            self._held[block] = narrow, current_event()
        return True

    def take(self, block: int) -> Array:
        """Return the labels of a block and release them; None if they are not kept."""
        with self._lock:
            narrow, made = self._held.pop(block, (None, None))
        if made is not None:
            made.synchronize()  # they were made on another stream
        return narrow
