"""Images like earlier ones: their arguments were checked then, and what labels them is kept."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from equilabel.arguments import normalize_bools
from equilabel.devices import is_on_cuda, threads

from .output import takes_labels
from .paths import Solution, with_number
from .problem import check_out, plain_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array

    Labeler = Callable[[Array, Array], tuple[Array, Any] | None]

# Checks take several times as long as labeling 16 x 16 pixels. Their result depends only on the
# arguments and on the shape and type of the image, so it is kept.

ALIGNED = 16  # bytes that a GPU reads at once
PLAIN = frozenset((int, bool, type(None)))  # values of these types mean the same if equal
MOST = 512  # kinds of images that are remembered


class _Memory(threading.local):
    """What each thread remembers: labelers of GPUs keep the arguments of a launch in a buffer."""

    def __init__(self) -> None:
        self.labelers: dict[Any, Labeler | None] = {}


_memory = _Memory()


def label_again(
    image: Array, background: Any, connectivity: Any, stacked: Any, out: Array, counted: bool
) -> tuple[Array, Any] | None:
    """Label an image by what labeled such images before; return labels (int32 or `out`), count.

    None if unsupported: the caller checks the arguments and takes a path. Arguments and errors are
    those of `label`. On a GPU, the count is an array unless `counted`.
    """
    if (
        (background is not None and type(background) not in PLAIN)
        or type(connectivity) not in PLAIN
        or type(stacked) is not bool
    ):
        return None
    if type(image) is ndarray:
        if image.size >= 2 * threads.WEIGHT:
            return None
        key: Any = (image.shape, image.dtype, background, connectivity, stacked)
    elif is_on_cuda(image):
        data = image.data
        key = type(image), image.shape, image.dtype, data.device_id, data.ptr % ALIGNED
        key += background, connectivity, stacked
    else:
        return None
    labelers = _memory.labelers
    try:
        labeler = labelers[key]
    except KeyError:
        labeler = _prepare(image, background, connectivity, stacked)
        if len(labelers) >= MOST:
            labelers.clear()
        labelers[key] = labeler
    if labeler is None:
        return None
    if type(image) is ndarray:
        plain = None if out is None else check_out(out, image)
        if plain is not None and not takes_labels(plain, image):
            return None
        found = labeler(image, plain)
        if found is None or found[1] < 0:  # not compiled yet, or not all values are whole
            return None
        return found if out is None else (out, found[1])
    if out is not None and (type(out) is not type(image) or out.shape != image.shape):
        return None
    found = labeler(image, out)
    return with_number(Solution(*found))[:2] if counted and found is not None else found


def forget() -> None:
    """Forget all kinds of images in this thread."""
    _memory.labelers.clear()


def _prepare(image: Array, background: Any, connectivity: int | None, stacked: bool) -> Any:
    """Check the arguments, and return what labels such images; None if they take more."""
    grid = plain_grid(image, background, connectivity, stacked)
    if grid is None:
        return None
    pixels, foreground, hops = grid.pixels, grid.foreground, grid.connectivity
    if type(image) is not ndarray:
        from equilabel.runs.cuda.bands import labeler_for
        from equilabel.runs.cuda.tiles import label_tiles

        bands = labeler_for(pixels, foreground, hops, stacked, image.shape)
        return bands or (lambda image, out: label_tiles(image, foreground, hops, stacked, out))
    from equilabel.runs.cpu.serial import single_call

    label = single_call(pixels.shape, pixels.dtype, foreground, hops, stacked).label
    if image.dtype.kind == "b" and foreground.level:  # compared with 1, not with 0
        return lambda image, out: label(normalize_bools(image), out)
    return label
