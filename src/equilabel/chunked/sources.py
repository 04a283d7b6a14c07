"""Sources of pixels: NumPy, Dask and Zarr arrays, files, and channels of them, block by block."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from equilabel.arguments import normalize_bools
from equilabel.segmentation.binarization import comparable
from equilabel.segmentation.filters import NARROWEST, gaussian, subtract_background
from equilabel.storage.errors import decoding
from equilabel.storage.files import is_remote
from equilabel.storage.ome_zarr import find_image, open_zarr
from equilabel.storage.remote import fingerprint, locate

from .blocks import Blocks
from .checkpoints import checksum
from .outputs import Output, new_output, read_part

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from equilabel.array_types import HostArray

    from .checkpoints import Saved
    from .engine import Run

    Slices = tuple[slice, ...]

SAMPLE = 16  # blocks whose tasks are counted
TWICE = 1.3  # loads of a chunk for each reading of the image, at most
MANY = 4  # loads behind a result that is worth keeping for several blocks
STORED, DONE = "input", "input.done"  # in the folder of a run


class Gray(NamedTuple):
    """Pixels of a block."""

    pixels: HostArray  # to compare with a threshold
    values: HostArray | None  # intensities, channels last; None if they were not read


if TYPE_CHECKING:
    Load = Callable[[], HostArray | Gray]  # reads a part of an image or of a mask, in any process
    Loader = Callable[[Slices], Load]


class Source:
    """An image that is read in parts."""

    kind: Any = "dask"  # what a caller passed and gets back: "numpy", "dask", "zarr" or "path"
    path: Any = None  # of a Zarr or a file
    shape: Any  # length of each axis
    dtype: Any  # type of the pixels
    stored: Any = None  # sides of the chunks in which it is stored, or None

    @property
    def places(self) -> set[str]:
        """Folders of Zarrs, and files, that are read on this machine."""
        return set() if self.path is None or is_remote(self.path) else {str(self.path)}

    def loader(self, part: Slices) -> Load:
        """Return a function that reads a part; it can be sent to another process."""
        raise NotImplementedError

    def identity(self) -> dict[str, Any]:
        """Return a description that changes with the image, as far as known without reading it."""
        raise NotImplementedError

    def settled(
        self, run: Run, saved: Saved, sides: tuple[int, ...], *, spread: bool = False
    ) -> Any:
        """Return a source, or an `Output`, that is read block by block, when the run has begun."""
        return self


class MemorySource(Source):
    """A NumPy array."""

    kind = "numpy"

    def __init__(self, array: HostArray) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a part."""
        return partial(_given, self.array[part])

    def identity(self) -> dict[str, Any]:
        """Return a checksum of all pixels."""
        return {"checksum": checksum(self.array)}


def open_source(image: Any) -> Source:
    """Return a source of an image; raise TypeError, FileNotFoundError or ValueError."""
    if isinstance(image, (str, Path)) or is_remote(image):
        path = locate("label_image", image)
        if not is_remote(path) and not path.exists():
            message = f"label_image must be a path that exists; got {str(path)!r}. Correct it."
            raise FileNotFoundError(message)
        if is_remote(path) or not path.is_file():
            path = find_image(path).path
        return ZarrSource(path if is_remote(path) else str(path.resolve()), "path")
    room = type(image).__module__.partition(".")[0]
    if room == "dask" and hasattr(image, "__dask_graph__") and hasattr(image, "chunks"):
        return DaskSource(image)
    if isinstance(image, np.ndarray):
        return MemorySource(image)
    if is_array(image):
        return ZarrSource(image, "zarr")
    message = (
        "label_image must be an array of NumPy, Dask or Zarr, or the path of a Zarr, OME-Zarr or "
        f"TIFF; got {type(image).__name__}. Convert it, for instance with dask.array.from_array."
    )
    raise TypeError(message)


def is_array(some: Any) -> bool:
    """Return whether an object is a NumPy or Zarr array."""
    room = type(some).__module__.partition(".")[0]
    return isinstance(some, np.ndarray) or (room == "zarr" and hasattr(some, "chunks"))


class ZarrSource(Source):
    """A Zarr array, which may be a view of a TIFF."""

    def __init__(self, image: Any, kind: str) -> None:
        """Take a path, or an array; one on a disk is opened again in each process."""
        given = isinstance(image, str) or is_remote(image)
        self.path, self.kind = image if given else folder_of(image), kind
        self._open: Callable[[], Any] = partial(_given, image)
        if self.path is not None:
            self._open = partial(_open, self.path, secrets.token_hex(8))
        self.array = self._open()
        self.shape, self.dtype = tuple(self.array.shape), np.dtype(self.array.dtype)
        self.stored = tuple(getattr(self.array, "shards", None) or self.array.chunks)

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a part for any process."""
        return partial(_read, self._open, part)

    def identity(self) -> dict[str, Any]:
        """Return a hash of names, sizes and times of files; of an array in memory, checksums."""
        if self.path is None:
            if type(self.array.store).__name__ == "MemoryStore":  # its name is a memory address
                blocks = Blocks(self.shape, self.stored)
                return {"checksums": [checksum(self.loader(part)()) for part in blocks.parts()]}
            at = getattr(self.array.store, "path", None)  # of a ZipStore
            files = _digest(at) if isinstance(at, Path) else None
            return {"store": str(self.array.store), "path": self.array.path, "files": files}
        return {"files": _digest(self.path)}


def _given(array: Any) -> Any:
    """Return an array that is already open."""
    return array


def _read(opener: Callable[[], Any], part: Slices) -> HostArray:
    """Read and decode a part of a Zarr array."""
    with decoding(part):
        return read_part(opener(), part)


@lru_cache(16)
def _open(path: Any, token: str) -> Any:
    """Open a Zarr or a TIFF once for each run: it may change between runs, which `token` tells."""
    from equilabel.storage.tiff import open_lazily

    if is_remote(path):
        return open_zarr(path)
    return open_lazily(path) if Path(path).is_file() else open_zarr(path)


def folder_of(array: Any) -> str | None:
    """Return the folder of a Zarr array, or None if it is not on a disk."""
    store, kind = array.store, type(array.store).__name__
    files = getattr(getattr(store, "fs", None), "sync_fs", None)  # fsspec, as of `dask.from_zarr`
    root = {"LocalStore": "root", "FsspecStore": "path"}.get(kind)
    if root is None or (kind == "FsspecStore" and type(files).__name__ != "LocalFileSystem"):
        return None
    return str(Path(getattr(store, root), array.path).resolve())


def _digest(path: Any) -> str:
    """Return a hash of names, sizes and times of the files of an image."""
    if is_remote(path):
        return hashlib.sha256(json.dumps(fingerprint(path)).encode()).hexdigest()
    path, found = Path(path), hashlib.sha256()
    inside = [Path(at, name) for at, _, names in os.walk(path, followlinks=True) for name in names]
    for file in [path] if path.is_file() else sorted(filter(Path.is_file, inside)):
        state = file.stat()
        found.update(f"{file.relative_to(path)}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return found.hexdigest()


# ---- Dask arrays


class DaskSource(Source):
    """A Dask array of which each block is computed separately, when it is needed."""

    def __init__(self, array: Any) -> None:
        """Take an array; raise ValueError if the sizes of its chunks are unknown."""
        if np.isnan(array.shape).any():
            message = (
                "label_image must have chunks of known sizes; got unknown ones. "
                "Call `.compute_chunk_sizes()` on it first."
            )
            raise ValueError(message)
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.stored = array.chunksize

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

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return the tasks of a chunk: all have the same sides once the source is `settled`."""
        from dask.optimization import cull

        place = [one.start // side for one, side in zip(part, self.stored, strict=True)]
        key = (self.array.name, *place)
        shape = tuple(sides[at] for sides, at in zip(self.array.chunks, place, strict=True))
        return partial(_compute, cull(self._graph, [key])[0], key, shape, self.dtype)

    def identity(self) -> dict[str, Any]:
        """Return the name of the array, which Dask derives from its input, and of Zarrs a hash."""
        return {"name": self.array.name, "files": sorted(map(_digest, self.places))}

    @cached_property
    def places(self) -> set[str]:
        """Folders of the Zarrs that are read on this machine."""
        held = [one for one in self._held if is_array(one) and not isinstance(one, np.ndarray)]
        return {each for each in map(folder_of, held) if each is not None}

    @cached_property
    def _held(self) -> list[Any]:
        """Data in the graph: arrays, and results that a client keeps."""
        layers = self.array.__dask_graph__().layers.values()  # an array is in a layer of its own
        tasks = [task for layer in layers for task in getattr(layer, "mapping", {}).values()]
        return [getattr(task, "value", task) for task in tasks]

    def settled(
        self, run: Run, saved: Saved, sides: tuple[int, ...], *, spread: bool = False
    ) -> Any:
        """Return a source that computes no chunk of its input again for each block.

        Results that many blocks need, such as the mean of the image, are computed once. If tasks of
        blocks still have much in common, or blocks are read with pixels around them (`spread`), all
        is stored.
        """
        from dask.optimization import cull

        done = saved.note(DONE)
        if done is not None and done.exists():  # this run was killed later
            return Output.at(saved.note(STORED))
        fitting = DaskSource(self.array.rechunk(sides))
        kept = next((one.client for one in self._held if hasattr(one, "client")), None)
        if kept is not None:  # only the client can compute what its cluster keeps
            if done is None:
                return MemorySource(fitting.array.compute(scheduler=kept.get))
            return self._store(fitting.array, run, saved, kept.get)
        array, graph, keys = fitting.array, fitting._graph, fitting._keys
        while found := _shared(graph, len(keys)):
            with run.noting("reduce"):
                values = dict(zip(found, run.compute(graph, found), strict=True))
                graph = dict(cull({**graph, **values}, keys)[0])
                array = type(array)(graph, array.name, array.chunks, array.dtype, shape=array.shape)
        if not (_overlaps(graph, keys) or (spread and len(keys) > 1)):
            return DaskSource(array)
        return self._store(array, run, saved, run.compute)

    def _store(self, array: Any, run: Run, saved: Saved, scheduler: Any) -> Any:
        """Store an array with the unfinished run, and return it."""
        done = saved.note(DONE)
        with run.noting("store"):
            output = new_output(saved.note(STORED), array.shape, array.chunksize, array.dtype)
            array.store(output.array, lock=False, scheduler=scheduler)
            if done is not None:
                done.touch()
        return output


def _compute(graph: Any, key: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
    """Compute a part of a Dask array in this thread; raise ValueError if it is not as announced."""
    from dask.local import get_sync

    found = np.asarray(get_sync(graph, key))
    if found.shape != shape or not np.can_cast(found.dtype, dtype):
        message = (
            f"label_image must have blocks as announced, {dtype} of shape {shape}; got "
            f"{found.dtype} of shape {found.shape} for block {key[1:]}. Correct how it is made."
        )
        raise ValueError(message)
    return found.astype(dtype, copy=False)


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

    def name(key: Any) -> Any:
        """Return the name of a layer: keys are names, or tuples that begin with them."""
        return key[0] if isinstance(key, tuple) else key

    of_name = Counter(map(name, graph))
    behind: dict[Any, int] = {}  # loads of each key, counted again on each way
    after: set[Any] = set()  # keys that need one that was found
    found = []
    for key in toposort(graph, dependencies=dependencies):
        before = dependencies[key]
        behind[key] = sum(behind[one] for one in before) + (key in loads)
        if not after.isdisjoint(before):
            after.add(key)
        elif (
            len(dependents[key]) > 1 and behind[key] >= MANY and of_name[name(key)] * MANY <= blocks
        ):
            found.append(key)
            after.add(key)
    return found


# ---- Channels and filters


@dataclass(frozen=True)
class GraySource(Source):
    """An image of one or more channels, of which one is filtered to be binarized."""

    base: Any  # a `Source`, or an `Output`
    picks: tuple[int | None, ...]  # index taken along each axis of `base`; None: the whole axis
    channel_axis: int | None  # of `base`; its pick is the channel to binarize
    widths: tuple[float, ...]  # of the Gaussian along each remaining axis, in pixels
    background: tuple[float, ...] = ()  # radii of the box of the top-hat, likewise; empty for none
    dark: bool = False  # as for `subtract_background`
    stacked: bool = False

    @property
    def kind(self) -> str:
        """Kind of the image that the caller passed."""
        return str(self.base.kind)

    @property
    def kept(self) -> tuple[int, ...]:
        """Axes of the base that remain."""
        return tuple(axis for axis, pick in enumerate(self.picks) if pick is None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each remaining axis."""
        return tuple(self.base.shape[axis] for axis in self.kept)

    def settled(
        self, run: Run, saved: Saved, sides: tuple[int, ...], *, spread: bool = False
    ) -> GraySource:
        """Return a source that is read block by block, when the run has begun."""
        whole = list(self.base.shape)
        for axis, side in zip(self.kept, sides, strict=True):
            whole[axis] = side
        spread = spread or any(self.reach)
        return replace(self, base=self.base.settled(run, saved, tuple(whole), spread=spread))

    @property
    def stored(self) -> tuple[int, ...] | None:
        """Sides of chunks along the remaining axes."""
        stored = self.base.stored
        return None if stored is None else tuple(stored[axis] for axis in self.kept)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the gray values."""
        raw = self.base.dtype.newbyteorder("=")
        return self.filtered(np.zeros((1,) * len(self.shape), raw)).dtype

    @property
    def reach(self) -> list[int]:
        """How many pixels around a block must be read along each axis."""
        found = [int(4 * width + 0.5) if width >= NARROWEST else 0 for width in self.widths]
        if self.background:  # a minimum, then a maximum
            found = [far + 2 * int(each) for far, each in zip(found, self.background, strict=True)]
        return found

    def filtered(self, pixels: HostArray) -> HostArray:
        """Return gray values to compare with a threshold."""
        if self.background:
            options: Any = {"dark": self.dark, "stacked": self.stacked}
            pixels = subtract_background(pixels, self.background, **options)
        span = None
        if any(self.widths):
            wide = pixels.dtype.itemsize > (4 if pixels.dtype.kind == "f" else 2)
            dtype = np.dtype(np.float64 if wide else np.float32)
            pixels, span = gaussian(pixels, dtype, self.widths, mode="nearest")
        return comparable(pixels, span)

    def identity(self) -> dict[str, Any]:
        """Return a description that changes if the image changes."""
        known: dict[str, Any] = self.base.identity()
        return known

    def loader(self, part: Slices) -> GrayPart:
        """Return a loader of a block, which also reads the surroundings that filters need."""
        around, inner = expand(part, self.reach, self.shape)
        whole = iter(around)
        wanted = tuple(
            next(whole)
            if pick is None
            else slice(0, length)
            if axis == self.channel_axis
            else slice(pick, pick + 1)
            for axis, (pick, length) in enumerate(zip(self.picks, self.base.shape, strict=True))
        )
        here = replace(self, base=None)  # an image is not sent to other processes
        return GrayPart(self.base.loader(wanted), here, inner)

    def masked(self, mask: Loader) -> Loader:
        """Return a loader of a mask to label, with the image to measure."""
        unfiltered = replace(self, widths=(0.0,) * len(self.widths), background=())
        return lambda part: replace(unfiltered.loader(part), mask=mask(part))


def expand(part: Slices, reach: Sequence[int], shape: Sequence[int]) -> tuple[Slices, Slices]:
    """Return a part of an image with its surroundings, and the position of the part in that."""
    around, inner = [], []
    for one, far, length in zip(part, reach, shape, strict=True):
        start, stop = max(one.start - far, 0), min(one.stop + far, length)
        around.append(slice(start, stop))
        inner.append(slice(one.start - start, one.stop - start))
    return tuple(around), tuple(inner)


@dataclass(frozen=True, eq=False)
class GrayPart:
    """A block of an image that can be read in any process."""

    load: Load
    source: GraySource
    inner: Slices
    mask: Load | None = None  # computes what is labeled instead

    def __call__(self) -> Gray:
        """Read and filter it, or compute its mask without reading it."""
        if self.mask is not None:
            return Gray(cast("HostArray", self.mask()), None)
        pixels, values = self._channels()
        gray = self.source.filtered(pixels)
        return Gray(np.ascontiguousarray(gray[self.inner]), values[self.inner])

    def values(self) -> HostArray:
        """Read only the intensities."""
        return self._channels()[1][self.inner]

    def _channels(self) -> tuple[HostArray, HostArray]:
        """Return the channel to binarize, and all channels, whose axis is the last."""
        picks, channel_axis = self.source.picks, self.source.channel_axis
        raw = cast("HostArray", self.load())  # the base returns one array
        raw = normalize_bools(raw.astype(raw.dtype.newbyteorder("="), copy=False))
        dropped = [
            0 if pick is not None and axis != channel_axis else slice(None)
            for axis, pick in enumerate(picks)
        ]
        values = raw[tuple(dropped)]
        if channel_axis is None:
            return values, values
        axis = sum(pick == slice(None) for pick in dropped[:channel_axis])
        values = np.moveaxis(values, axis, -1)
        return values[..., picks[channel_axis]], values
