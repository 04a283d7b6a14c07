"""What labeling returns, a report of it, and the memory that it takes."""

from __future__ import annotations

from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.devices import check_memory, finish, is_on_cuda, library, shares_memory, threads

from .problem import check_count, drop_short_axes

if TYPE_CHECKING:
    from types import ModuleType

    from equilabel.array_types import Array, HostArray

    from .problem import Problem

LARGEST = np.iinfo(np.int32).max
FRESH = 2**25  # bytes from which the system allocates new memory: zeros, page by page
PAGE = 2**21  # bytes of a huge page on usual systems
LINE = 64  # bytes of a cache line


class Output:
    """Array for the labels of one image, on its device: `out`, or a new one if `out` is None.

    `made` is what `room` has returned for the same image, if it was asked before.
    """

    def __init__(self, image: Array, out: Array, made: Array = None) -> None:
        self._image, self._out = image, out
        self._on_cuda = is_on_cuda(image)
        self._flat: Array = made
        self._blank = False
        self._most = 0

    def room(self, most: int) -> tuple[Array, bool]:
        """Return an array for labels up to `most`, flat on the host, and whether it contains zeros.

        `most` may be an upper limit, if the device has not returned the count yet.
        """
        if self._flat is not None:
            return self._flat, self._blank
        self._most = most
        out, on_cuda = self._out, self._on_cuda
        if out is not None and not on_cuda:
            check_count(out, most)
        if out is not None and self._fits(most):
            self._flat = out.reshape(-1)
            if on_cuda:
                self._flat = self._flat.view(f"i{out.itemsize}")
            return self._flat, False
        dtype = np.int32 if most <= LARGEST else np.int64
        if out is not None and not on_cuda:
            dtype = out.dtype.newbyteorder("=")
        shape = self._image.shape
        if on_cuda:  # kernels only use the address
            self._flat = library(self._image).empty(shape, dtype)
        else:
            self._flat, self._blank = _new(prod(shape), np.dtype(dtype), blank=most == 0)
            return self._flat, self._blank
        return self._flat, False

    def finish(self, count: Any) -> Array:
        """Return the labels in their shape, in the caller's array if there is one.

        `count` may be a () array on a GPU; it is waited for only if the type of the labels depends
        on it.
        """
        flat, out, shape = self._flat, self._out, self._image.shape
        if out is None:
            if flat.dtype == np.int64 and int(count) <= LARGEST:
                flat = flat.astype(np.int32)
            return flat if flat.shape == shape else flat.reshape(shape)
        if shares_memory(flat, out):
            return out
        if self._most > np.iinfo(out.dtype).max:
            check_count(out, int(count))
        out[...] = flat.reshape(shape)
        return out

    def _fits(self, most: int) -> bool:
        """Return whether kernels can write labels up to `most` directly to the caller's array."""
        out = self._out
        if not self._on_cuda:
            return bool(out.flags.c_contiguous and out.dtype.isnative)
        wide = out.itemsize in (4, 8) and most <= np.iinfo(out.dtype).max
        return bool(wide and out.flags.c_contiguous and not shares_memory(out, self._image))


def _new(size: int, dtype: np.dtype[Any], *, blank: bool) -> tuple[HostArray, bool]:
    """Make an array on the host, and return whether it is `blank`, that is contains zeros.

    It starts at a cache line, new memory at a huge page: each small page costs a page fault.
    """
    bytes_ = size * dtype.itemsize
    fresh = bytes_ >= FRESH
    boundary, blank = (PAGE, True) if fresh else (LINE, blank)
    memory = (np.zeros if blank else np.empty)(bytes_ + boundary, np.uint8)
    begin = -memory.ctypes.data % boundary
    return memory[begin : begin + bytes_].view(dtype), blank


def takes_labels(out: HostArray, image: HostArray) -> bool:
    """Return whether int32 labels of an image can be written directly to an array on the host."""
    return bool(out.dtype == np.int32 and out.flags.carray and not shares_memory(out, image))


class Report(NamedTuple):
    """Statistics of a method that labeled an image, a lattice or a graph.

    Attributes
    ----------
    method : str
        Key of `METHODS`.
    device : str
        Device that labeled.
    rounds : int
        How often the recipe repeated its passes: scans, cycles or levels, as described by `METHODS`
        and the page on methods; 1 for methods without iteration.
    passes : dict of str to int
        How often each pass was called, by name. A pass is one kernel on a GPU, in a few cases more.
    seconds : dict of str to float
        Time of all calls of each pass, by name; the first one in a process may compile it.
    path : str
        Path that such an image takes without a report, see the page on the architecture; with one,
        the default method takes pass after pass, so that these can be counted. Empty for graphs.
    """

    method: str
    device: str
    rounds: int
    passes: dict[str, int]
    seconds: dict[str, float]
    path: str = ""


class CountedPasses:
    """The passes of a device, counted and timed, and interruptible between them."""

    def __init__(self, passes: ModuleType, device: str) -> None:
        self._passes, self._device = passes, device
        self.calls: dict[str, int] = {}
        self.seconds: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._passes, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            threads.check()
            begun = perf_counter()
            answer = found(*arguments, **options)
            finish(self._device)
            self.calls[name] = self.calls.get(name, 0) + 1
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - begun
            return answer

        return call


Calls = tuple[dict[str, int], dict[str, float]]  # number and seconds of each pass


def passes_of(passes: ModuleType, device: str, *, reported: bool) -> Any:
    """Return passes, or `CountedPasses` if they are reported or can be interrupted."""
    device = device if reported else "cpu"  # a GPU is waited for only to measure time
    return CountedPasses(passes, device) if reported or threads.watch() else passes


def calls_of(passes: Any) -> Calls:
    """Return how often each pass was called and how long it took; empty if not counted."""
    return (passes.calls, passes.seconds) if isinstance(passes, CountedPasses) else ({}, {})


# ---- Memory needed for labeling
# Nodes of an image of up to 2^31 pixels take 4 bytes each, in the memory of the labels; those of a
# larger image would take 8 more. Therefore it is cut along its first axis.

MOST = 2**31  # pixels of a part
LARGE = 2**28  # pixels from which memory is checked: the check takes as long as a small image


def check_fits(problem: Problem, device: str) -> None:
    """Raise DeviceMemoryError if a large image does not fit into the free memory of a GPU."""
    if device != "cpu" and problem.image.size >= LARGE and problem.method.answer == "runs":
        check_memory(device, memory_needed(problem))


def memory_needed(problem: Problem) -> int:
    """Return about how many bytes labels and the tables of the default method need at most."""
    image = problem.image
    size = prod(map(int, image.shape))
    moved = 0 if is_on_cuda(image) and image.flags.c_contiguous else size * image.itemsize
    part, wide = size, size > MOST
    if wide and not problem.periodic:
        shape = drop_short_axes(image, problem.stacked).shape
        part, wide = size // shape[0] * planes_of_part(shape), not is_cut(shape)
    if problem.foreground.values:
        tables = 9 * part // 4
    else:  # in 3D, tiles have shorter rows
        tables = part // (2 if image.ndim - problem.stacked > 2 else 4)
    labels = 0 if problem.out is not None else 4 * size
    return moved + tables + labels + wide * 8 * size


def planes_of_part(shape: tuple[int, ...], most: int = MOST) -> int:
    """Return the number of planes of a part along the first axis; all if the image is not cut.

    >>> planes_of_part((5, 100), 250), planes_of_part((5, 100), 500), planes_of_part((5, 100), 50)
    (2, 5, 5)
    """
    size = prod(map(int, shape))
    planes = most // max(1, size // max(1, shape[0])) if shape else 0
    return planes if size > most and 0 < planes < shape[0] else (shape[0] if shape else 1)


def is_cut(shape: tuple[int, ...]) -> bool:
    """Return whether an image of this shape is labeled in parts."""
    return planes_of_part(shape) < (shape[0] if shape else 1)
