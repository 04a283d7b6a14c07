"""Cache of the labels at the ends of blocks, which neighbors need again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from .in_memory import MemoryCheckpoints

if TYPE_CHECKING:
    from collections.abc import Callable

    from .checkpoints import Faces, Saved

CACHED = 2**26  # bytes of faces in the cache of a process


class FaceCache:
    """Faces of the blocks that were read last, up to some bytes."""

    def __init__(self, most: int = CACHED) -> None:
        self._most, self._size, self._lock = most, 0, threading.Lock()
        self._held: OrderedDict[tuple[Saved, int], Faces] = OrderedDict()

    def reader(self, saved: Saved) -> Callable[[int], Faces]:
        """Return a function that reads the faces of a block."""
        if isinstance(saved, MemoryCheckpoints):
            return saved.faces

        def read(block: int) -> Faces:
            key = (saved, block)
            with self._lock:
                if key in self._held:
                    self._held.move_to_end(key)
                    return self._held[key]
            faces = saved.faces(block)
            with self._lock:
                if key not in self._held:
                    self._held[key] = faces
                    self._size += faces.nbytes
                while self._size > self._most and len(self._held) > 1:
                    self._size -= self._held.popitem(last=False)[1].nbytes
            return faces

        return read

    def add(self, saved: Saved, block: int, faces: Faces) -> None:
        """Add the faces of a block that has just been labeled, if there is room."""
        with self._lock:
            room = self._most - self._size
            if faces.nbytes <= room and not isinstance(saved, MemoryCheckpoints):
                self._held[saved, block] = faces
                self._size += faces.nbytes

    def clear(self) -> None:
        """Remove all faces."""
        with self._lock:
            self._held.clear()
            self._size = 0


FACES = FaceCache()
