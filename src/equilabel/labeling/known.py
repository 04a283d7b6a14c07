"""Small images of a GPU: those like one that was labeled before need no checks, only addresses."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from equilabel.devices import passes

from .execute import Solution, with_number
from .grids import plain_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array

ALIGNED = 16  # bytes that are read at once
MOST = 256  # kinds of images that a thread remembers


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
        if len(labelers) >= MOST:
            labelers.clear()
        labeler = labelers[key] = _prepare(image, background, connectivity, stacked)
    if labeler is None:
        return None
    if out is None:
        found = labeler(image)
    elif type(out) is type(image) and out.shape == image.shape:
        found = labeler(image, out)
    else:
        return None
    return with_number(Solution(*found))[:2] if counted and found is not None else found


def _prepare(image: Array, background: Any, connectivity: int | None, stacked: bool) -> Any:
    """Check what is asked, and prepare what labels such images; None if there is no such thing."""
    grid = plain_grid(image, background, connectivity, stacked)
    if grid is None:
        return None
    prepare = passes("at_once", "cuda").labeler_for
    return prepare(grid.pixels, grid.foreground, grid.connectivity, stacked, image.shape)


def remembered() -> int:
    """Count the labelers of this thread."""
    return sum(labeler is not None for labeler in _memory.labelers.values())


def forget() -> None:
    """Forget all that this thread remembers."""
    _memory.labelers.clear()
