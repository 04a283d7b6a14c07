"""What `label` is asked again and again of small images: checked once, labeled in a single call.

Checking takes several times as long as labeling 16 x 16 pixels. What the checks say follows from
the arguments and from the shape and type of the image alone, so that images of the same ones need
not be checked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import threads
from equilabel.devices import is_on_cuda, shares_memory

from .checks import check_out, make_problem
from .execute import runs_on_host
from .grids import drop_short_axes
from .known import label_on_gpu

if TYPE_CHECKING:
    from equilabel.array_types import Array, HostArray

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
        type(background) not in PLAIN
        or type(connectivity) not in PLAIN
        or type(stacked) not in PLAIN
    ):
        return None
    if type(image) is not np.ndarray:
        if out is not None or not is_on_cuda(image):
            return None
        return label_on_gpu(image, background, connectivity, bool(stacked), counted)
    if image.size >= 2 * threads.WEIGHT:
        return None
    key = image.shape, image.dtype, background, connectivity, stacked
    call = _known.get(key)
    if call is None:
        call = _prepare(image, background, connectivity, bool(stacked))
        if call is None:
            return None
        if len(_known) >= MOST:
            _known.clear()
        _known[key] = call
    plain = None if out is None else check_out(out, image)
    if plain is not None and not _takes_labels(plain, image):
        return None
    found: tuple[HostArray, int] | None = call(image, plain)
    if found is None or found[1] < 0:
        return None
    return found if out is None else (out, found[1])


def _prepare(image: HostArray, background: Any, connectivity: int | None, stacked: bool) -> Any:
    """Check what is asked, and prepare the call that labels such images; None if there is none."""
    problem = make_problem(image, background, connectivity, stacked)
    if problem.image is not image or not image.size or problem.numbered_by_columns:
        return None
    pixels = drop_short_axes(image, stacked)
    hops = min(problem.connectivity, pixels.ndim - stacked)
    prepare = runs_on_host().single_call
    return prepare(pixels.shape, pixels.dtype, problem.foreground, hops, stacked)


def _takes_labels(out: Array, image: HostArray) -> bool:
    """Return whether labels can be written to an array as it is."""
    return bool(out.dtype == np.int32 and out.flags.carray and not shares_memory(out, image))
