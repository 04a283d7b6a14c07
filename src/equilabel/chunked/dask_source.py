"""Dask arrays as a source of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    Slices = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class DaskPart:
    """The tasks that compute a part of a Dask array, and no others."""

    graph: Any
    key: Any

    def __call__(self) -> HostArray:
        """Compute the part in this thread."""
        from dask.local import get_sync

        return np.asarray(get_sync(self.graph, self.key))


class DaskSource:
    """A Dask array of which each block is computed separately, when it is needed."""

    kind = "dask"

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    @property
    def stored(self) -> tuple[int, ...]:
        """Sides of the largest chunk."""
        return tuple(max(sides) for sides in self.array.chunks)

    @cached_property
    def _graph(self) -> dict[Any, Any]:
        """All tasks, fused once for all blocks."""
        from dask.array.optimization import optimize
        from dask.core import flatten

        array = self.array
        return dict(optimize(array.__dask_graph__(), list(flatten(array.__dask_keys__()))))

    @cached_property
    def _starts(self) -> list[dict[tuple[int, int], int]]:
        """For each axis, the number of each chunk by its begin and end."""
        found = []
        for sides in self.array.chunks:
            ends = np.cumsum((0, *sides)).tolist()
            found.append({(a, b): i for i, (a, b) in enumerate(pairwise(ends))})
        return found

    def loader(self, part: Slices) -> DaskPart:
        """Return the tasks of a part, which is one chunk in most cases."""
        from dask.optimization import cull

        pairs = zip(self._starts, part, strict=True)
        place = [starts.get((one.start, one.stop)) for starts, one in pairs]
        if None not in place:
            key = (self.array.name, *place)
            return DaskPart(cull(self._graph, [key])[0], key)
        some = self.array[part]
        source = DaskSource(some.rechunk(some.shape))
        return DaskPart(source._graph, (source.array.name, *(0,) * some.ndim))

    def identity(self) -> dict[str, Any]:
        """Return the name of the array, which Dask derives from its input."""
        return {"name": self.array.name}
