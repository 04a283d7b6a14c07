"""Images like earlier ones: the checks of those stand."""

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


# ---- Small images of a GPU: those like one that was labeled before need no checks, only addresses

ALIGNED = 16  # bytes that are read at once
MOST_ON_GPU = 256  # kinds of images that a thread remembers


class _Memory(threading.local):
    """What a thread remembers: a labeler is told addresses, so each thread has its own.

    Attributes
    ----------
    labelers : dict
        By class, shape, type, device and alignment of images, and the arguments of `label`; None
        where it takes more than a labeler.
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
    """Label an image of CuPy in one launch, or return None if that takes more.

    What the checks of `label` say follows from what labelers are remembered by. They look at the
    rest, which may differ from call to call: where the image is, and the current device.

    Parameters
    ----------
    image : cupy array
    background, connectivity, stacked
        As `label` takes them; equal only to what means the same.
    counted : bool
        Whether to wait for the number of labels.
    out : array, optional
        Receives the labels.

    Returns
    -------
    labels : array of int32, of the shape of the image, or `out`
    count : int or Count

    Raises
    ------
    TypeError, ValueError, DeviceUnavailableError
        As `label` does.
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
    """Check what is asked, and prepare what labels such images; None if there is no such thing."""
    grid = plain_grid(image, background, connectivity, stacked)
    if grid is None:
        return None
    prepare = passes("runs.bands", "cuda").labeler_for
    return prepare(grid.pixels, grid.foreground, grid.connectivity, stacked, image.shape)


def remembered() -> int:
    """Count the labelers of this thread."""
    return sum(labeler is not None for labeler in _memory.labelers.values())


def forget() -> None:
    """Forget all that this thread remembers."""
    _memory.labelers.clear()


# ---- What `label` is asked again and again of small images: checked once, labeled in a single call
# Checking takes several times as long as labeling 16 x 16 pixels. What the checks say follows from
# the arguments and from the shape and type of the image alone, so that images of the same ones need
# not be checked again.

PLAIN = frozenset((int, bool, type(None)))  # equal only if they mean the same
MOST = 512  # kinds of images that are remembered
_known: dict[Any, Any] = {}


def label_at_once(
    image: Array,
    background: Any,
    connectivity: Any,
    stacked: Any,
    out: Array,
    counted: bool = False,
) -> tuple[Array, Any] | None:
    """Label a small image by the default method; the arguments are those of `label`.

    Returns
    -------
    labels : array of int32, or `out`
    count : int
        Of an image of a GPU an array, unless it is to be `counted`.

    Nothing is returned of other images, and of what `label` has to look at more closely.

    Raises
    ------
    TypeError, ValueError
        As `label` does.
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
    """Return what labels images like this one, also of later calls; None if there is none."""
    label = _prepare(image, background, connectivity, bool(stacked))
    if label is not None:
        if len(_known) >= MOST:
            _known.clear()
        _known[image.shape, image.dtype, background, connectivity, stacked] = label
    return label


def _prepare(image: HostArray, background: Any, connectivity: int | None, stacked: bool) -> Any:
    """Check what is asked, and prepare the call that labels such images; None if there is none."""
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
    if image.dtype.kind == "b" and grid.foreground.level:  # compared with 1, not with 0
        return lambda image, out=None: label(normalize_bools(image), out)
    return label
