"""Memory of the device that holds zeros: those who take it leave zeros behind."""

import threading
from typing import Any

import cupy

KEPT = 1 << 22  # bytes of a device that a thread keeps


class Zeros(threading.local):
    """What each thread keeps of each device, for kernels that need zeros and clear them again."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}

    def take(self, size: int, device: int, stream: int) -> Any:
        """Return memory of the current device, for work on a stream; nobody else has it then."""
        memory = self._kept.pop(device, None) if size <= KEPT else None
        if memory is not None and memory.mem.size >= size:
            return memory
        memory = cupy.cuda.alloc(size)
        cupy.cuda.runtime.memsetAsync(memory.ptr, 0, memory.mem.size, stream)
        return memory

    def give_back(self, memory: Any, device: int) -> None:
        """Take back memory whose user has ended and has left zeros."""
        self._kept[device] = memory
