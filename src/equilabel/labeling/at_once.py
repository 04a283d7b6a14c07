"""Labeling of small images in a single call, without checks if a similar one was labeled before."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from equilabel.booleans import normalize_bools
from equilabel.devices import is_on_cuda, passes, threads

from .checks import check_out
from .execute import Solution, runs_on_host, with_number
from .grids import plain_grid
from .output import takes_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array, HostArray


# ---- Small images on a GPU

ALIGNED = 16  # bytes that are read at once
MOST_ON_GPU = 256  # labelers in the cache of a thread


class _Memory(threading.local):
    """Cache of labelers of a thread; each thread has its own, as a labeler has a mutable buffer.

    Keys are class, shape, type, device and alignment of images, and the arguments of `label`; None
    stands for images that a labeler cannot label.
    """

    def __init__(self) -> None:
        self.labelers: dict[Any, Callable[..., tuple[Array, Any] | None] | None] = {}


_memory = _Memory()


def label_on_gpu(
    image: Array,
    background: Any,
    connectivity: Any,
    stacked: bool,
    counted: bool,
    out: Array = None,
) -> tuple[Array, Any] | None:
    """Label a CuPy image in one launch; return labels (int32 or `out`) and count, or None.

    None means unsupported: the caller takes the general path. The cache key covers all checks of
    `label` that depend on the arguments. What may change between calls is checked each time: the
    device of the image, and the current device. Arguments must be hashable, and mean the same if
    they are equal. `counted` says whether to wait for the count.
    """
    labelers = _memory.labelers
    data, kind = image.data, (type(image), image.shape, image.dtype)
    key = kind, data.device_id, data.ptr % ALIGNED, background, connectivity, stacked
    try:
        labeler = labelers[key]
    except KeyError:
        if len(labelers) >= MOST_ON_GPU:
            labelers.clear()
        labeler = labelers[key] = _prepare_on_gpu(image, background, connectivity, stacked)
    if labeler is None:
        return None
    if out is None:
        found = labeler(image)
    elif type(out) is type(image) and out.shape == image.shape:
        found = labeler(image, out)
    else:
        return None
    return with_number(Solution(*found))[:2] if counted and found is not None else found


def _prepare_on_gpu(image: Array, background: Any, connectivity: int | None, stacked: bool) -> Any:
    """Check arguments, and return a labeler for such images, or None if unsupported."""
    grid = plain_grid(image, background, connectivity, stacked)
    if grid is None:
        return None
    prepare = passes("runs.bands", "cuda").labeler_for
    return prepare(grid.pixels, grid.foreground, grid.connectivity, stacked, image.shape)


def remembered() -> int:
    """Return the number of labelers in the cache of this thread."""
    return sum(labeler is not None for labeler in _memory.labelers.values())


def forget() -> None:
    """Clear the cache of this thread."""
    _memory.labelers.clear()


# ---- Small images on the CPU: checked once, labeled in a single call
# Checks take several times as long as labeling 16 x 16 pixels. Their result depends only on the
# arguments and on the shape and type of the image, so it is cached.

PLAIN = frozenset((int, bool, type(None)))  # values of these types mean the same if equal
MOST = 512  # functions in the cache
_known: dict[Any, Any] = {}


def label_at_once(
    image: Array,
    background: Any,
    connectivity: Any,
    stacked: Any,
    out: Array,
    counted: bool = False,
) -> tuple[Array, Any] | None:
    """Label a small image by the default method; return labels (int32 or `out`) and count.

    None if unsupported: the caller takes the general path. Arguments and errors are those of
    `label`. On a GPU, the count is an array unless `counted`.
    """
    if (
        (background is not None and type(background) not in PLAIN)
        or type(connectivity) not in PLAIN
        or type(stacked) is not bool
    ):
        return None
    if type(image) is not ndarray:
        if not is_on_cuda(image):
            return None
        return label_on_gpu(image, background, connectivity, bool(stacked), counted, out)
    if image.size >= 2 * threads.WEIGHT:
        return None
    try:
        label = _known[image.shape, image.dtype, background, connectivity, stacked]
    except KeyError:
        label = _remember(image, background, connectivity, stacked)
    if label is None:
        return None
    if out is None:
        return label(image)  # type: ignore[no-any-return]
    plain = check_out(out, image)
    found = label(image, plain) if takes_labels(plain, image) else None
    return None if found is None else (out, found[1])


def _remember(image: HostArray, background: Any, connectivity: Any, stacked: Any) -> Any:
    """Return a cached function that labels images like this one, or None if unsupported."""
    label = _prepare(image, background, connectivity, bool(stacked))
    if label is not None:
        if len(_known) >= MOST:
            _known.clear()
        _known[image.shape, image.dtype, background, connectivity, stacked] = label
    return label


def _prepare(image: HostArray, background: Any, connectivity: int | None, stacked: bool) -> Any:
    """Check arguments, and return a function that labels such images, or None if unsupported."""
    grid = plain_grid(image, background, connectivity, stacked)
    if grid is None:
        return None
    prepare = runs_on_host().single_call
    pixels = grid.pixels
    label = prepare(pixels.shape, pixels.dtype, grid.foreground, grid.connectivity, stacked).label

    def label_whole(image: HostArray, out: Array = None) -> tuple[HostArray, int] | None:
        found: tuple[HostArray, int] | None = label(image, out)
        return None if found is None or found[1] < 0 else found

    if image.dtype.kind == "f":
        return label_whole
    if image.dtype.kind == "b" and grid.foreground.level:  # pixels are compared with 1, not with 0
        return lambda image, out=None: label(normalize_bools(image), out)
    return label
