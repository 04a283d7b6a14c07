"""Images that are hard on labelers, one way or another: regular patterns, rectangles and text."""

from __future__ import annotations

from functools import partial
from typing import Any

import cv2
import numpy as np

from equilabel import samples


def comb(side: int, *, upright: bool) -> Any:
    """Set every second column (row), and join them in the last row (column)."""
    image = np.zeros((side, side), np.uint8)
    image[:, ::2] = image[-1] = 1
    return image if upright else np.ascontiguousarray(image.T)


def checkerboard(side: int) -> Any:
    """Set every second pixel, in turn."""
    y, x = np.ogrid[:side, :side]
    return ((y + x) % 2).astype(np.uint8)


def grid_lines(side: int) -> Any:
    """Draw a line on every eighth row and column."""
    image = np.zeros((side, side), np.uint8)
    image[::8] = image[:, ::8] = 1
    return image


def diagonal_stripes(side: int) -> Any:
    """Draw stripes of three pixels, five pixels apart."""
    y, x = np.ogrid[:side, :side]
    return ((y + x) % 8 < 3).astype(np.uint8)


def rectangles(side: int) -> Any:
    """Draw rectangles of all sizes up to a sixteenth of a side, wherever they fall."""
    rng = np.random.default_rng(0)
    image = np.zeros((side, side), np.uint8)
    for _ in range(200):
        (y, x), (tall, wide) = rng.integers(0, side, 2), rng.integers(1, side // 16 + 2, 2)
        image[y : y + tall, x : x + wide] ^= 1
    return image


def text(side: int) -> Any:
    """Write lines of letters."""
    rng = np.random.default_rng(0)
    image = np.zeros((side, side), np.uint8)
    for line in range(14, side, 16):
        letters = "".join(rng.choice([*"abcdefghijklmnopqrstuvwxyz   "], side // 8))
        cv2.putText(image, letters, (2, line), cv2.FONT_HERSHEY_SIMPLEX, 0.4, 1)
    return image


def patterns(side: int) -> dict[str, Any]:
    """Name the makers of these images."""
    return {
        "comb, columns": partial(comb, side, upright=True),
        "comb, rows": partial(comb, side, upright=False),
        "checkerboard": partial(checkerboard, side),
        "grid lines": partial(grid_lines, side),
        "diagonal stripes": partial(diagonal_stripes, side),
        "rectangles": partial(rectangles, side),
        "text": partial(text, side),
    }


def without_noise(side: int) -> dict[str, Any]:
    """Name the makers of the usual images but those of noise."""
    flat = (side, side)
    return {
        "blobs": partial(samples.blobs, flat),
        "nuclei": partial(samples.nuclei_mask, flat),
        "ones": partial(np.ones, flat, np.uint8),
        "zeros": partial(np.zeros, flat, np.uint8),
        "spiral": partial(samples.spiral, side),
        "hilbert": partial(samples.hilbert, side.bit_length() - 2),
    }


def usual(side: int) -> dict[str, Any]:
    """Name the makers of the usual images."""
    flat = (side, side)
    return {
        **without_noise(side),
        "noise 0.1": partial(samples.percolation, flat, 0.1),
        "noise 0.5": partial(samples.percolation, flat, 0.5),
        "noise 0.5 / 4": partial(samples.percolation, flat, 0.5, 4),
    }


def in_3d(depth: int) -> dict[str, Any]:
    """Name the makers of images in 3D."""
    deep = (depth, depth, depth)
    return {
        "blobs 3D": partial(samples.blobs, deep),
        "nuclei 3D": partial(samples.nuclei_mask, deep),
        "noise 3D 0.31": partial(samples.percolation, deep, 0.31),
    }
