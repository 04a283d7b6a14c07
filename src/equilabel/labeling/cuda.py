"""Labels on a GPU: nothing waits unless the type of the labels hangs on their number."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import library, passes, shares_memory, using
from equilabel.measuring import Request
from equilabel.methods import METHODS, load_recipe
from equilabel.neighborhood import offsets

from .checks import background_of, check_axes, check_connectivity, check_count, slim
from .visiting import visitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from equilabel.methods import Method

LARGEST = 2**31 - 1  # of int32


def label_on_gpu(
    image: Any,
    background: int | None,
    connectivity: int,
    row: Method,
    device: str,
    stacked: bool,
    out: Any,
    request: Request | None = None,
    table_only: bool = False,
) -> tuple[Any, Any]:
    """Label an image of CuPy whose arguments are checked; see `equilabel.labeling.running.run`.

    Returns
    -------
    labels : cupy.ndarray
        `out`, or new.
    count : () cupy.ndarray or int
        Their number: to look at it is to wait.
    """
    xp = library(image)
    if image.size == 0:
        return (xp.zeros(image.shape, np.int32) if out is None else out), 0
    value = background_of(image, background)
    lean = slim(image, stacked)
    if not lean.flags.c_contiguous:
        lean = xp.ascontiguousarray(lean)
    most = (image.size + 1) // 2 if image.dtype.kind == "b" else image.size
    narrow = most <= LARGEST
    straight = out is not None and _is_straight(out, most) and not shares_memory(out, lean)
    if straight:
        flat = out.reshape(-1).view(f"i{out.itemsize}")
    else:
        flat = xp.empty(image.size, np.int32 if narrow else np.int64)
    connectivity = min(connectivity, lean.ndim - stacked)
    visit = None
    if request is not None and row.counts and lean.shape == image.shape:
        visit = visitor(request, row, connectivity == image.ndim - stacked, device, table_only)
    count = _label_into(flat, lean, value, connectivity, row, device, stacked, visit)
    if straight:
        return out, count
    if out is not None:
        if most > np.iinfo(out.dtype).max:
            check_count(out, int(count))
        out[...] = flat.reshape(out.shape)
        return out, count
    if not narrow and int(count) <= LARGEST:
        flat = flat.astype(np.int32)
    return flat.reshape(image.shape), count


def label_compared(
    pixels: Any,
    level: Any,
    compare: str,
    connectivity: int | None,
    device: str,
    stacked: bool,
    properties: Iterable[str] = (),
    intensity_image: Any = None,
    spacing: Any = None,
) -> tuple[Any, int, dict[str, NDArray[Any]]]:
    """Label and measure the pixels of an image of CuPy that compare with a level: no mask is made.

    Parameters
    ----------
    pixels : cupy.ndarray of integers or floats
    level : number
    compare : {">", "<=", "<"}
        How foreground compares with `level`.
    connectivity, stacked, properties, intensity_image, spacing
        As for `equilabel.label`.
    device : str
        A device that `resolve` returned.

    Returns
    -------
    labels : cupy.ndarray of int32 or int64
    count : int
    table : dict of str to (N,) array
    """
    check_axes(pixels, stacked)
    hops = check_connectivity(connectivity, pixels.ndim - bool(stacked))
    request = Request(properties, intensity_image, pixels.shape, spacing, stacked)
    with using(device, lambda: memory_needed(pixels, None)):
        if pixels.size:
            lean = library(pixels).ascontiguousarray(slim(pixels, stacked))
            narrow = (pixels.size + 1) // 2 <= LARGEST
            flat = library(pixels).empty(pixels.size, np.int32 if narrow else np.int64)
            hops = min(hops, lean.ndim - stacked)
            label_runs = passes("runs", device).label_runs
            visit = None
            if lean.shape == pixels.shape:
                full = hops == pixels.ndim - stacked
                visit = visitor(request, METHODS["runs"], full, device, False)
            count = label_runs(lean, level, hops, stacked, flat, compare=compare, visit=visit)
            labels = flat.reshape(pixels.shape)
        else:
            labels, count = library(pixels).zeros(pixels.shape, np.int32), 0
        if request.sums is None:
            request.count_labels(labels)
        return labels, int(count), request.answer(labels)


def memory_needed(image: Any, out: Any) -> int:
    """Return about how many bytes labels and the tables of the default method take at most."""
    size = prod(map(int, image.shape))
    moved: int = image.nbytes if isinstance(image, np.ndarray) else 0
    tables = size // 4 if image.dtype.kind == "b" else 17 * size // 4
    return moved + tables + (0 if out is not None else 4 * size)


def _label_into(
    flat: Any,
    image: Any,
    value: int | None,
    connectivity: int,
    row: Method,
    device: str,
    stacked: bool,
    visit: Callable[[Any], bool] | None,
) -> Any:
    """Write the labels of a C-contiguous image without axes of length 1, and count them."""
    kernels = passes(row.name, device)
    if row.contract == "runs":
        return kernels.label_runs(image, value, connectivity, stacked, flat, visit=visit)
    background = None if value is None else image.dtype.type(value)
    steps = offsets(image.ndim, connectivity, stacked=stacked)
    more = () if visit is None else (visit,)
    roots = load_recipe(row.name)(kernels, image, background, steps, *more).reshape(-1)
    return passes("roots", device).number(roots, flat)


def _is_straight(out: Any, most: int) -> bool:
    """Tell whether kernels can write up to `most` labels to an array as it is."""
    wide = out.itemsize in (4, 8) and most <= np.iinfo(out.dtype).max
    return bool(wide and out.flags.c_contiguous)
