"""Channels of an image; of color images also their luminance, one of their colors, or a stain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_choice, check_whole, shown
from equilabel.devices import library

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import Array

STAINS = ("hematoxylin", "eosin", "dab")
COLORS = ("gray", "red", "green", "blue", *STAINS)
SIDE = 16  # pixels; smaller images are not taken for RGB
LUMINANCE = (0.2125, 0.7154, 0.0721)  # weights of red, green and blue in scikit-image


def gray(pixels: Array, color: str) -> Array:
    """Return a channel of an (..., 3 or 4) color image, its luminance or a stain as float32.

    `pixels` is a NumPy array, an array on a GPU, or a Dask array that is not computed. Stains are
    separated as by ``skimage.color.rgb2hed`` (A. C. Ruifrok and D. A. Johnston, Anal. Quant. Cytol.
    Histol. 23 (2001) 291-299): bright where there is much of it.

    >>> pixels = np.array([[[10, 20, 30]]], np.uint8)
    >>> gray(pixels, "green"), gray(pixels, "gray").round(2)
    (array([[20]], dtype=uint8), array([[18.6]], dtype=float32))
    """
    if color in COLORS[1:4]:
        return pixels[..., COLORS.index(color) - 1]
    xp = library(pixels)
    values = pixels[..., :3].astype(np.float32)
    if color not in STAINS:
        return values @ xp.asarray(np.array(LUMINANCE, np.float32))
    from skimage.color import hed_from_rgb

    if pixels.dtype.kind in "ui":
        values = values / np.float32(np.iinfo(pixels.dtype).max)
    weights = hed_from_rgb[:, STAINS.index(color)] / np.log(1e-6)
    stain = np.log(np.maximum(values, np.float32(1e-6))) @ xp.asarray(weights.astype(np.float32))
    return np.maximum(stain, np.float32(0))


def pick(pixels: Array, axis: int | None, channel: int | str | None) -> Array:
    """Return a channel of an image, by its index or as a color; the image itself without an axis.

    >>> pick(np.array([[[10, 20, 30]]]), -1, 1)
    array([[20]])
    """
    if axis is None:
        return pixels
    if isinstance(channel, str):
        return gray(np.moveaxis(pixels, axis, -1), channel)
    return pixels.take(channel or 0, axis)


def check_color(name: str, color: str, count: int) -> str:
    """Return a color by which an image of so many channels becomes gray, or raise ValueError."""
    found = check_choice(
        name, color.lower(), COLORS, "a number or", "Pass 0 for the first channel."
    )
    if count not in (3, 4):
        message = (
            f"{name} must be a number for an image of other channels than red, green and blue; got "
            f"{color!r} for {count} channels. Pass 0 for the first."
        )
        raise ValueError(message)
    return found


def take_channel(image: Array, axis: int | None, channel: int | str | None) -> tuple[Array, Array]:
    """Return the channel to binarize, and the image to measure with its channels last."""
    color = channel if isinstance(channel, str) and axis is not None else None
    picked = check_channel(image.shape, axis, channel if color is None else 0)
    if picked is None or axis is None:
        return image, image
    channels = np.moveaxis(image, axis, -1)
    if color is not None:
        return gray(channels, check_color("channel", color, channels.shape[-1])), channels
    return channels[..., picked], channels


def check_channel(shape: Sequence[int], axis: int | None, channel: Any) -> int | None:
    """Return the index of the channel to binarize, or None without an axis of channels."""
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
    chosen: int | None = 0 if channel is None and count == 1 else channel
    if chosen is None or not 0 <= chosen < count:
        message = (
            f"channel must be one of 0 to {count - 1}; got {shown(channel)}. "
            "Pass channel=0 for the first."
        )
        raise ValueError(message)
    return chosen


def refuse_colors(image: Array, axis: int | None, *, stacked: bool) -> None:
    """Raise ValueError if an image without an axis of channels has the shape of an RGB image."""
    if axis is not None or image.ndim != 3 + stacked or image.dtype == np.bool_:
        return
    *sides, colors = image.shape[-3:]
    if colors in (3, 4) and min(sides) >= SIDE:
        message = (
            f"channel_axis must be given for an image shaped like RGB; got None for shape "
            f"{image.shape}. Pass channel_axis=-1 and channel='gray', or gray values; if it is a "
            f"volume, put its {colors} planes first: np.moveaxis(image, -1, {int(stacked)})."
        )
        raise ValueError(message)
