"""Checks of the arguments of `segment` and its stages."""

from __future__ import annotations

import math
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from equilabel import arguments
from equilabel.arguments import check_choice, check_whole, is_sequence, shown
from equilabel.colors import check_color, gray
from equilabel.devices import take
from equilabel.quantities import WIDEST, length_in_pixels, odd, parse, size_in_pixels
from equilabel.storage.metadata import TiffImage

from .filters import per_axis, widths_in_pixels
from .thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import HostArray
    from equilabel.quantities import Lengths, Size


# ---- Arguments of `binarize`

KINDS = "a number, (low, high) or"


def check_threshold(threshold: object) -> str | float | tuple[float, float]:
    """Return a method, a number or (low, high); raise TypeError or ValueError."""
    if isinstance(threshold, str):
        words = (*THRESHOLDS, "local", "per_object")
        known = threshold.lower() if threshold.lower() in words else threshold
        return check_choice("threshold", known, words, KINDS, "Pass 'otsu' if unsure.")
    if is_sequence(threshold) and len(threshold) == 2:  # type: ignore[arg-type]
        low, high = (check_number("threshold", number) for number in threshold)  # type: ignore[attr-defined]
        if low > high:
            message = (
                f"threshold must be (low, high) with low <= high; got {shown(threshold)}. Swap "
                "them."
            )
            raise ValueError(message)
        return float(low), float(high)
    return check_number("threshold", threshold)


def check_number(name: str, value: Any) -> float:
    """Return a number that is not NaN; raise TypeError or ValueError. Integers stay integers."""
    level = name == "threshold"
    kinds = "a number, (low, high) or a method" if level else "a number"
    number = arguments.check_number(name, value, finite=not level, kinds=kinds)
    return int(value) if isinstance(value, Integral) and not math.isinf(number) else number


def check_block(
    block_size: Any,
    ndim: int,
    *,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool,
) -> list[float]:
    """Return the sides of the block of a local threshold; raise TypeError or ValueError."""
    if block_size is None:
        message = (
            "block_size must be given where threshold='local'; got None. "
            "Pass an odd number of pixels larger than the objects, such as 51."
        )
        raise ValueError(message)
    inner = ndim - stacked
    sides: Any = block_size
    if is_sequence(sides) and stacked and len(sides) == ndim:
        sides = sides[1:]
    distances = None
    if spacing is not None:
        distances = per_axis("spacing", spacing, ndim, stacked=stacked)[stacked:]
    found = list(length_in_pixels("block_size", sides, inner, spacing=distances, unit=unit))
    for axis, side in enumerate(sides if is_sequence(sides) else [sides] * inner):
        if parse("block_size", side).is_physical:
            found[axis] = float(odd(found[axis]))
    found = [1.0] * stacked + found
    if not all(1 <= side <= 6 * WIDEST + 1 and side % 2 == 1 for side in found) or max(found) < 3:
        message = (
            f"block_size must be odd, 3 to {6 * WIDEST + 1:.0f} pixels; got {shown(block_size)}. "
            "Pass an odd number larger than the objects, such as 51."
        )
        raise ValueError(message)
    return found


def reject_unused(threshold: object, **given: tuple[object, object]) -> None:
    """Raise ValueError if an argument is given that this threshold does not use."""
    for name, (value, default) in given.items():
        alike = isinstance(value, Real) and value == default
        if value is not default and not alike:
            message = (
                f"{name} must be left out unless threshold='local'; "
                f"got {shown(value)} and threshold={shown(threshold)}. Leave it out, or pass "
                "'local'."
            )
            raise ValueError(message)


# ---- Other arguments of `segment`: channels and sizes

SIDE_OF_COLORS = 16  # pixels; smaller images are not taken for RGB


def take_channel(
    image: HostArray, axis: int | None, channel: int | str | None
) -> tuple[HostArray, HostArray]:
    """Return the channel to binarize, and the image to measure, whose last axis holds the channels.

    Raises TypeError or ValueError if the axis or the channel does not exist or is missing.
    """
    if isinstance(channel, str) and axis is not None:
        check_channel(image.shape, axis, 0)
        channels = np.moveaxis(image, axis, -1)
        return gray(channels, check_color("channel", channel, channels.shape[-1])), channels
    picked = check_channel(image.shape, axis, channel)
    if picked is None or axis is None:
        return image, image
    channels = np.moveaxis(image, axis, -1)
    return channels[..., picked], channels


def check_channel(shape: Sequence[int], axis: int | None, channel: Any) -> int | None:
    """Return the index of the channel to binarize, or None without an axis of channels.

    Raises the errors of `take_channel`.
    """
    axis = None if axis is None else check_whole("channel_axis", axis)
    if channel is not None and (axis is not None or not isinstance(channel, str)):
        channel = check_whole("channel", channel)
    if axis is None:
        if channel is not None:
            message = (
                "channel needs channel_axis, the axis that counts channels; got "
                f"{shown(channel)} and channel_axis=None. Pass channel_axis, such as -1, "
                "or leave channel out."
            )
            raise ValueError(message)
        return None
    rank = len(shape)
    if not -rank <= axis < rank:
        message = f"channel_axis must be an axis of the image, 0 to {rank - 1}; got {shown(axis)}."
        raise ValueError(message)
    count = shape[axis]
    if channel is None and count != 1:
        message = (
            f"channel must be one of 0 to {count - 1}, as the image has several; got None. "
            "Pass channel=0 for the first."
        )
        raise ValueError(message)
    if channel is not None and not 0 <= channel < count:
        message = f"channel must be one of 0 to {count - 1}; got {shown(channel)}."
        raise ValueError(message)
    return channel or 0


def image_of(labels: HostArray, image: Any) -> Any:
    """Return the image of labels, which may have channels behind their axes, or None; or raise."""
    if image is None:
        return None
    pixels = take(image)
    if pixels.shape[: labels.ndim] != labels.shape:
        message = (
            f"image must have the shape of labels, {labels.shape}; got {pixels.shape}. Pass the "
            "image that the labels were made of, with channels along the last axis."
        )
        raise ValueError(message)
    return pixels


def refuse_colors(image: HostArray, axis: int | None, *, stacked: bool) -> None:
    """Raise ValueError if an image without an axis of channels has the shape of an RGB image."""
    if axis is not None or image.ndim != 3 + stacked or image.dtype == np.bool_:
        return
    *sides, colors = image.shape[-3:]
    if colors in (3, 4) and min(sides) >= SIDE_OF_COLORS:
        message = (
            f"channel_axis must be given for an image shaped like RGB; got None for shape "
            f"{image.shape}. Pass channel_axis=-1 and channel='gray', or gray values; if it is a "
            f"volume, put its {colors} planes first: np.moveaxis(image, -1, {int(stacked)})."
        )
        raise ValueError(message)


def check_sizes(
    min_size: Size,
    max_size: Size | None,
    rank: int,
    *,
    spacing: Sequence[float] | None,
    unit: str | None,
) -> tuple[int, int | None]:
    """Return the smallest and the largest size in pixels; raise TypeError or ValueError.

    >>> check_sizes("1um2", "2.1um2", 2, spacing=(0.5, 0.5), unit="um")
    (4, 8)
    """
    known: Any = {"spacing": spacing, "unit": unit}
    found = []
    for name, size in (("min_size", min_size), ("max_size", max_size)):
        if size is not None and not isinstance(size, str):
            check_whole(name, size)
        found.append(None if size is None else size_in_pixels(name, size, rank, **known))
    least, most = found
    if least is None:
        message = "min_size must be a whole number or text; got None. Pass 0 to keep all objects."
        raise TypeError(message)
    smallest = math.ceil(least)
    largest = None if most is None else math.floor(most)
    if largest is not None and largest < max(smallest, 1):
        given = f"{shown(max_size)} < {shown(min_size)}"
        pixels = "" if isinstance(max_size, Integral) else f", {largest} and {smallest} pixels"
        message = f"max_size must be at least min_size and 1; got {given}{pixels}."
        raise ValueError(message)
    return smallest, largest


def in_pixels(
    axes: int,
    sigma: Lengths,
    block_size: Lengths | None,
    depth: float | None,
    smallest: int,
    largest: int | None,
    *,
    reach: float = 0.0,
    stacked: bool,
    **scale: Any,
) -> dict[str, Any]:
    """Return the lengths and sizes that were used, in pixels, by the names of their parameters.

    Lengths are those along the spatial axes; `axes` is the number of all axes of the image.
    """
    first = int(stacked)
    widths = widths_in_pixels(sigma, axes, stacked=stacked, **scale)
    used: dict[str, Any] = {"sigma": tuple(widths[first:])}
    if block_size is not None:
        sides = check_block(block_size, axes, stacked=stacked, **scale)
        used["block_size"] = tuple(map(int, sides[first:]))
    if depth is not None:
        used["split"] = depth
    if reach:
        used["grow"] = reach
    return {**used, "min_size": smallest, "max_size": largest}


# ---- Images that know their axes and pixel size

Function = TypeVar("Function", bound="Callable[..., Any]")


def knows_images(function: Function) -> Function:
    """Let a function take what `read` returns for `image`, and for `labels` if it has them.

    Spacing, unit, stack and channels are those of the image, unless they are passed.
    """
    known = signature(function).parameters

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given: dict[str, Any] = dict(zip(known, args, strict=False)) | kwargs
        images = [name for name in ("image", "labels") if isinstance(given.get(name), TiffImage)]
        if not images:
            return function(*args, **kwargs)
        facts: dict[str, Any] = {}
        for name in images:
            given[name], facts = _arguments(given[name], last="channel_axis" not in known)
        own = {name: value for name, value in facts.items() if name in known}
        return function(**{**own, **given})

    return cast("Function", call)


def _arguments(image: TiffImage, *, last: bool) -> tuple[HostArray, dict[str, Any]]:
    """Return the pixels of an image, and the arguments that follow from its axes."""
    axes = image.axes.replace("C", "")
    stacked = axes[:1] == "T"
    facts: dict[str, Any] = {"stacked": stacked}
    if all(axis in image.spacing for axis in axes[stacked:]):
        facts["spacing"] = tuple(image.spacing[axis] for axis in axes[stacked:])
        facts["unit"] = image.unit or None
    if "C" not in image.axes:
        return image.pixels, facts
    axis = image.axes.index("C")
    if last:
        return np.moveaxis(image.pixels, axis, -1), facts
    return image.pixels, {**facts, "channel_axis": axis}
