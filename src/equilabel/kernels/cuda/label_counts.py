"""Which kernel counts an image of labels, and in which strips."""

from typing import TypeAlias

import numpy as np

from equilabel.kernels.layout import Layout

from ._compile import Kernel, kernel
from .image_layout import MEASURERS, STRIP, Described, describe, kinds_of, words_of

QUAD = 4  # pixels of a lane, as accumulate_quads.cu has them
WIDE = 32 * QUAD  # of a warp
BESIDE = 4  # warps of a block side by side, at most
Counting: TypeAlias = tuple[Kernel, Described, int | np.ndarray]


def find_counting(
    labels: str,
    sides: tuple[int, ...],
    layout: Layout,
    address: int,
    under: tuple[str, np.ndarray],
    *,
    sizes: bool = False,
) -> Counting:
    """Find the kernel that counts labels, the strips of its image, and its last argument.

    Parameters
    ----------
    labels : str
        Their type, as kernels name it.
    sides : tuple of int
        Shape of the image.
    layout : Layout
        What to count.
    address : int
        Of the labels, or any that leaves as much, divided by 16.
    under : (str, () array of bytes)
        As `tell_grays` names the values that are summed too, and tells where they are.
    sizes : bool
        Whether only numbers of pixels are looked at.
    """
    name, grays = under
    if name == "Nothing" and take_quads(sides, layout):
        fours = has_fours(sides[-1], address, int(labels[1:]))
        types = quad_types(labels, layout, fours=fours, sizes=sizes)
        function = kernel("accumulate_quads", f"count_quads<{types}>")
        return function, describe_quads(sides, layout), warps_beside(sides[-1])
    kinds, deep = kinds_of(layout)
    words = 8 if deep else words_of(sides)
    function = kernel("accumulate", f"count_labels<{labels}, {words}, {kinds}, {name}>")
    return function, describe(sides, layout, STRIP, 32 * words), grays


def take_quads(sides: tuple[int, ...], layout: Layout) -> bool:
    """Return whether lanes take quads of pixels: no neighbors are compared, and rows are many."""
    tall = sides[-2] if len(sides) > 1 else 1
    return layout.compared == "none" and sides[-1] >= WIDE and tall >= STRIP // 4


def warps_beside(columns: int) -> int:
    """Return how many warps of a block lie side by side: 1, 2 or 4, and others below them."""
    beside = 1
    while beside < BESIDE and WIDE * beside < columns:
        beside *= 2
    return beside


def describe_quads(sides: tuple[int, ...], layout: Layout) -> Described:
    """Describe strips in which a lane goes down `STRIP` rows of four pixels."""
    beside = warps_beside(sides[-1])
    return describe(sides, layout, STRIP * (MEASURERS // 32 // beside), WIDE * beside)


def has_fours(columns: int, address: int, size: int) -> bool:
    """Return whether four labels of a row can be read at once, wherever they begin."""
    return columns % QUAD == 0 and address % min(16, QUAD * size) == 0


def quad_types(labels: str, layout: Layout, *, fours: bool, sizes: bool = False) -> str:
    """Name what `count_quads` is compiled for: labels of a type; `sizes` alone may be wanted.

    `fours` tells whether four labels of a row can be read at once.
    """
    what = 0 if sizes else 2 if layout.seconds else 1
    return f"{labels}, {what}, {str(fours).lower()}"
