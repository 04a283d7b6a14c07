"""What `label` accepts, and what it says about the rest."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from equilabel.devices import is_on_cuda, take

MOST_AXES = 6


def check_type(image: Any) -> None:
    """Raise TypeError unless an image is of bool or integers."""
    if image.dtype.kind not in "bui":
        message = (
            f"label_image must be of bool or an integer type; got {image.dtype}. "
            "Binarize it first, as in `label(image > threshold)` or with `binarize`."
        )
        raise TypeError(message)


def check_axes(image: Any, stacked: bool) -> None:
    """Raise ValueError if a stack has no axis beside that of its images."""
    if stacked and image.ndim < 2:
        message = (
            f"label_image must have 2 or more axes with stacked=True; got {image.ndim}. "
            "Pass stacked=False."
        )
        raise ValueError(message)


def check_connectivity(connectivity: int | None, axes: int) -> int:
    """Return the most hops between neighbors, or raise TypeError or ValueError."""
    if connectivity is None:
        return axes
    try:
        hops = operator.index(connectivity)
    except TypeError as error:
        message = f"connectivity must be a whole number; got {connectivity!r}."
        raise TypeError(message) from error
    if not 1 <= hops <= axes:
        message = (
            f"connectivity must be 1 to {axes} for {axes} spatial axes; got {connectivity!r}. "
            "1 joins pixels that share a face, the highest those that share a corner."
        )
        raise ValueError(message)
    return hops


def check_out(out: Any, image: Any) -> Any:
    """Return `out` as a plain array, or raise TypeError or ValueError if it cannot take labels."""
    if out is None:
        return None
    if isinstance(out, np.ma.MaskedArray):
        message = "out must be an array without a mask; got a masked array. Pass `out.data`."
        raise TypeError(message)
    held = is_on_cuda(out)
    if not (held or isinstance(out, np.ndarray)) or out.dtype.kind not in "ui":
        got = getattr(out, "dtype", type(out).__name__)
        message = f"out must be an array of an integer type; got {got}."
        raise TypeError(message)
    homes = [
        f"device {array.device.id}" if is_on_cuda(array) else "the host" for array in (out, image)
    ]
    if homes[0] != homes[1]:
        message = (
            f"out must be where label_image is, on {homes[1]}; got an array on {homes[0]}. "
            "Move one of them."
        )
        raise ValueError(message)
    if out.shape != image.shape:
        message = f"out must have the shape of label_image, {image.shape}; got {out.shape}."
        raise ValueError(message)
    if not held and not out.flags.writeable:
        message = "out must be writeable; got a read-only array. Pass a copy."
        raise ValueError(message)
    return take(out)


def check_count(out: Any, count: int) -> None:
    """Raise ValueError if an array cannot hold the numbers up to `count`."""
    if count > np.iinfo(out.dtype).max:
        message = (
            f"out must be of a type that holds {count} labels; got {out.dtype}. "
            f"Pass an array of {np.min_scalar_type(count)} or wider."
        )
        raise ValueError(message)


def background_of(image: Any, background: object) -> int | None:
    """Return the background as a value of the image's type; None if no pixel can be background."""
    value = _whole(background)
    if image.dtype.kind == "b":
        return int(value == 1)
    limits = np.iinfo(image.dtype)
    return value if limits.min <= value <= limits.max else None


def slim(image: Any, stacked: bool) -> Any:
    """Drop axes of length 1, along which nothing can join."""
    shape = image.shape
    if 1 not in shape[stacked:] and len(shape) - stacked and len(shape) <= MOST_AXES:
        return image
    keep = [axis for axis in range(image.ndim) if shape[axis] > 1 or (stacked and axis == 0)]
    if len(keep) > MOST_AXES:
        message = (
            f"label_image must have at most {MOST_AXES} axes longer than 1; got {len(keep)}. "
            "Label slices of it, or pass them as a stack."
        )
        raise ValueError(message)
    return image.reshape([shape[axis] for axis in keep] + [1] * (len(keep) == stacked))


def _whole(background: object) -> int:
    """Return the background as an integer; 0 where none is given."""
    if background is None:
        return 0
    if isinstance(background, (int, float, np.integer, np.floating, np.bool_)):
        value = float(background) if isinstance(background, (float, np.floating)) else background
        if value == value // 1:
            return int(value)
    message = f"background must be a whole number; got {background!r}."
    raise TypeError(message)
