"""Dask arrays: blocks computed one by one, after what all blocks need has been computed once."""

from __future__ import annotations

from collections import Counter
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .checkpoints import new_token
from .outputs import ArrayOutput, ZarrOutput, create_zarr

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

    from equilabel.array_types import HostArray

    from .checkpoints import Saved
    from .engine import Engine, Progress
    from .outputs import Output

    Slices = tuple[slice, ...]

SAMPLE = 16  # blocks whose tasks are counted
TWICE = 1.3  # loads of a chunk for each reading of the image, at most
MANY = 4  # loads behind a result that is worth keeping for several blocks
STORED, DONE = "input", "input.done"  # in the folder of a run


class DaskSource:
    """A Dask array of which each block is computed separately, when it is needed."""

    kind = "dask"

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    @classmethod
    def of(cls, array: Any) -> DaskSource:
        """Return the source of an array; raise ValueError if the sizes of chunks are unknown."""
        if any(np.isnan(side) for sides in array.chunks for side in sides):
            message = (
                "label_image must have chunks of known sizes; got unknown ones. "
                "Call `.compute_chunk_sizes()` on it first."
            )
            raise ValueError(message)
        return cls(array)

    @property
    def stored(self) -> tuple[int, ...]:
        """Sides of the largest chunk."""
        return tuple(max(sides) for sides in self.array.chunks)

    @cached_property
    def _keys(self) -> list[Any]:
        """The keys of all chunks."""
        from dask.core import flatten

        return list(flatten(self.array.__dask_keys__()))

    @cached_property
    def _graph(self) -> dict[Any, Any]:
        """All tasks, fused once for all blocks."""
        from dask.array.optimization import optimize

        return dict(optimize(self.array.__dask_graph__(), self._keys))

    @cached_property
    def _starts(self) -> list[dict[tuple[int, int], int]]:
        """For each axis, the number of each chunk by its begin and end."""
        found = []
        for sides in self.array.chunks:
            ends = np.cumsum((0, *sides)).tolist()
            found.append({(a, b): i for i, (a, b) in enumerate(pairwise(ends))})
        return found

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return the tasks of a part, which is one chunk in most cases."""
        from dask.optimization import cull

        pairs = zip(self._starts, part, strict=True)
        place = [starts.get((one.start, one.stop)) for starts, one in pairs]
        if None not in place:
            key = (self.array.name, *place)
            return partial(_compute, cull(self._graph, [key])[0], key)
        some = self.array[part]
        source = DaskSource(some.rechunk(some.shape))
        return partial(_compute, source._graph, (source.array.name, *(0,) * some.ndim))

    def identity(self) -> dict[str, Any]:
        """Return the name of the array, which Dask derives from its input."""
        return {"name": self.array.name}

    def settled(
        self,
        engine: Engine,
        saved: Saved,
        progress: Progress,
        sides: tuple[int, ...],
        *,
        spread: bool = False,
    ) -> Any:
        """Return a source that computes no chunk of its input again for each block.

        Results that many blocks need, such as the mean of the image, are computed once. If the
        tasks of blocks, of some `sides`, still have much in common, as after `map_overlap`, or if
        blocks are read with pixels around them (`spread`), the array is computed once and stored.
        """
        done = saved.note(DONE)
        if done is not None and done.exists():  # this run was killed later
            return Stored(self.shape, self.dtype, _stored_at(done))
        fitting = DaskSource(self.array.rechunk(sides))
        array, graph, keys = fitting.array, fitting._graph, fitting._keys
        while found := _shared(graph, len(keys)):
            progress.notify("reduce", 0, 1)
            values = dict(zip(found, engine.compute(graph, found), strict=True))
            graph = _without(graph, values, keys)
            array = type(array)(graph, array.name, array.chunks, array.dtype, shape=array.shape)
            progress.notify("reduce", 1, 1)
        if not (_overlaps(graph, keys) or (spread and len(keys) > 1)):
            return DaskSource(array)
        progress.notify("store", 0, 1)
        stored = _store(array, saved, engine)
        if done is not None:
            done.touch()
        progress.notify("store", 1, 1)
        return Stored(self.shape, self.dtype, stored)


class Stored:
    """A Dask array whose chunks have been computed and stored."""

    kind, stored = "dask", None

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], output: Output) -> None:
        self.shape, self.dtype, self._output = shape, dtype, output

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a part."""
        return partial(self._output.read, part)


def _compute(graph: Any, key: Any) -> HostArray:
    """Compute a part of a Dask array in this thread."""
    from dask.local import get_sync

    return np.asarray(get_sync(graph, key))


def _loads(graph: Any, dependencies: Any) -> set[Hashable]:
    """Return the tasks that depend on data alone: they read or make chunks."""
    data = {key for key, task in graph.items() if not hasattr(task, "func")}
    return {key for key, before in dependencies.items() if key not in data and before <= data}


def _overlaps(graph: Any, keys: list[Any]) -> bool:
    """Return whether blocks load more than their share of chunks, by a sample of them."""
    from dask.core import get_deps
    from dask.optimization import cull

    loads = _loads(graph, get_deps(graph)[0])
    sample = keys[:: -(-len(keys) // SAMPLE)]
    total = sum(len(loads & cull(graph, [key])[0].keys()) for key in sample)
    return total * len(keys) > TWICE * max(len(loads), len(keys)) * len(sample)


def _shared(graph: Any, blocks: int) -> list[Any]:
    """Return the first results, few and of many chunks, that several tasks need."""
    from dask.core import get_deps, toposort

    dependencies, dependents = get_deps(graph)
    loads = _loads(graph, dependencies)
    of_name = Counter(_name(key) for key in graph)
    behind: dict[Any, int] = {}  # loads of each key, counted again on each way
    after: set[Any] = set()  # keys that need one that was found
    found = []
    for key in toposort(graph, dependencies=dependencies):
        before = dependencies[key]
        behind[key] = sum(behind[one] for one in before) + (key in loads)
        if not after.isdisjoint(before):
            after.add(key)
        elif (
            len(dependents[key]) > 1
            and behind[key] >= MANY
            and of_name[_name(key)] * MANY <= blocks
        ):
            found.append(key)
            after.add(key)
    return found


def _name(key: Any) -> Any:
    """Return the name of a layer: keys are names, or tuples that begin with them."""
    return key[0] if isinstance(key, tuple) else key


def _without(graph: Any, values: dict[Any, Any], keys: list[Any]) -> dict[Any, Any]:
    """Return what a graph still has to compute, with values in place of some tasks."""
    from dask.optimization import cull

    return dict(cull({**graph, **values}, keys)[0])


def _store(array: Any, saved: Saved, engine: Engine) -> Output:
    """Compute all chunks at once, and store them with the unfinished run, or in memory."""
    sides = array.chunksize
    folder = saved.note(STORED)
    if folder is None:
        output: Output = ArrayOutput(np.empty(array.shape, array.dtype))
    else:
        create_zarr(folder, array.shape, sides, array.dtype, fresh=True)
        output = _stored_at(folder)
    array.store(output.array, lock=False, scheduler=engine.compute)
    return output


def _stored_at(place: Path) -> ZarrOutput:
    """Return the array that is stored beside a file of a run."""
    return ZarrOutput.at(place.with_name(STORED), new_token())
