"""Images as kernels that measure are told of them, see image_layout.cuh, and how they are cut."""

from functools import lru_cache
from math import prod
from typing import TypeAlias

import numpy as np

from equilabel.kernels.layout import Layout

AXES = 6
WARPS = 1 << 14  # that keep a card busy
BLOCKS = 264  # likewise
TALLEST = 256
MEASURERS = 256  # threads of a block that measures labels, as walk.cuh has them
RUN_MEASURERS = 128  # and of one that measures runs
STRIP = 32  # rows of labels that a block takes, or a lane
Described: TypeAlias = tuple[np.ndarray, int]  # an image, and how many strips it has
IMAGE_LAYOUT = np.dtype(
    [
        ("sides", "i8", AXES),
        *((name, "i4") for name in ("axes", "rank", "tall", "segments", "strips", "width")),
        *((name, "i4") for name in ("sums", "lows", "highs", "seconds", "pairs")),
        *((name, "i4") for name in ("euler_face", "euler_full", "outline")),
    ],
    align=True,
)


@lru_cache(64)
def describe(sides: tuple[int, ...], layout: Layout, tall: int, wide: int) -> Described:
    """Describe an image as image_layout.cuh does; return how many strips of a size it has, too."""
    image = np.zeros((), IMAGE_LAYOUT)
    image["sides"] = padded = (1,) * (AXES - len(sides)) + tuple(sides)
    image["axes"], image["rank"], image["width"] = layout.axes, layout.rank, layout.width
    image["tall"] = tall
    image["segments"], image["strips"] = -(-padded[5] // wide), -(-padded[4] // tall)
    for group in ("sums", "lows", "highs", "seconds", "pairs", "euler_face", "euler_full"):
        image[group] = layout[group].start if layout.widths[group] else -1
    image["outline"] = layout["outline"].start if layout.widths["outline"] else -1
    blocks = prod(padded[:4]) * int(image["segments"]) * int(image["strips"])
    return image.view(f"V{IMAGE_LAYOUT.itemsize}"), blocks  # without names, which are slow to pass


def columns_of_warps(sides: tuple[int, ...], wide: int) -> tuple[int, int]:
    """Return how many rows a warp goes down, of `wide` columns, and how many warps there are."""
    rows = sides[-2] if len(sides) > 1 else 1
    beside = -(-sides[-1] // wide) * prod(sides[:-2])
    tall = min(TALLEST, max(8, -(-rows * beside // WARPS)))
    return tall, beside * -(-rows // tall)


def words_of(sides: tuple[int, ...]) -> int:
    """Return how many words of a row of labels a block takes."""
    return 32 if sides[-1] > 256 else 8


@lru_cache(64)
def kinds_of(layout: Layout) -> tuple[str, bool]:
    """Name what neighbor_bits.cuh is to count, and whether rows of three axes are compared."""
    euler = layout.euler_full + 2 * layout.euler_face
    deep = layout.rank == 3 and layout.compared != "none"
    steps = ("none", "faces", "all").index(layout.pairs)
    outline = {"none": 0, "equal": 2, "uneven": 3}[layout.outline]
    seconds = "true" if layout.seconds else "false"
    return f"{3 if deep else 2}, {steps}, {euler}, {outline}, {seconds}", deep


def count_strips(sides: tuple[int, ...], wide: int, tall: int) -> int:
    """Return how many strips of a size an image has."""
    rows = sides[-2] if len(sides) > 1 else 1
    return prod(sides[:-2]) * -(-rows // tall) * -(-sides[-1] // wide)
