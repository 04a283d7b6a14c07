"""Gray values of color images: their luminance, one of their colors, or a stain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import check_choice
from equilabel.devices import library

if TYPE_CHECKING:
    from equilabel.array_types import Array

STAINS = ("hematoxylin", "eosin", "dab")
COLORS = ("gray", "red", "green", "blue", *STAINS)
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
