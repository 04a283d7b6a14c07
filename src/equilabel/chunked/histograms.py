"""The threshold of an image by a method, from histograms of its blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.segmentation.filters import extremes
from equilabel.segmentation.thresholds import (
    CRITERIA,
    count_floats,
    count_integers,
    level_of_integers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from equilabel.array_types import HostArray

    from .blocks import Blocks
    from .channels import GraySource
    from .engine import MapTasks, Progress
    from .sources import Gray


class Level(NamedTuple):
    """A threshold: foreground is above it; NaN if no pixel is finite."""

    value: float
    constant: bool  # whether all finite pixels are equal to it


def find_threshold_of_blocks(
    method: str, blocks: Blocks, source: GraySource, map_tasks: MapTasks, progress: Progress
) -> Level:
    """Find the threshold of an image by reading each block once more.

    Images of more than 65,536 possible gray values are read twice. Raises ValueError if the method
    needs all pixels at once, or finds no threshold.
    """
    kind = source.dtype.kind
    if kind == "b":
        return Level(0.5, False)
    if method == "li" and kind == "f":
        message = (
            "threshold must be a number, or a method that needs no more than a histogram, for an "
            "image of floats in chunks; got 'li'. Pass 'otsu', 'triangle', 'yen', 'isodata' or "
            "'minimum', or the number that threshold='li' finds in a part of the image."
        )
        raise ValueError(message)
    found = _survey(blocks, source, map_tasks, progress)
    ends = [one[:2] for one in found if one[0] <= one[1]]
    if not ends:
        return Level(math.nan, False)
    lowest, highest = min(one[0] for one in ends), max(one[1] for one in ends)
    if lowest == highest:
        return Level(lowest, True)
    if method == "mean":
        total, number = (sum(one[place] for one in found) for place in (2, 3))
        return Level(total / number, False)
    with np.errstate(all="ignore"):
        counts, axis = _count(lowest, highest, blocks, source, map_tasks, progress)
        if kind == "f":
            return Level(CRITERIA[method](counts, axis), False)
        return Level(level_of_integers(counts, int(axis[0]), int(axis[1]), method), False)


def _survey(
    blocks: Blocks, source: GraySource, map_tasks: MapTasks, progress: Progress
) -> list[tuple[Any, Any, Any, int]]:
    """Return for each block the smallest and largest pixel, the sum and number of finite ones."""
    found: list[Any] = [None] * blocks.number
    tasks = enumerate(map(source.loader, blocks.parts()))
    results = map_tasks(survey_block, tasks)
    for block, *values in progress.over("threshold", 0, blocks.number, results):
        found[block] = values
    return found


def survey_block(block: int, load: Callable[[], Gray]) -> tuple[int, Any, Any, Any, int]:
    """Return the number of a block and what is needed before its gray values are counted."""
    pixels = load().pixels
    lowest, highest, finite = extremes(pixels)
    if pixels.dtype.kind != "f":
        return block, int(lowest), int(highest), _whole_sum(pixels), pixels.size
    known = pixels if finite else pixels[np.isfinite(pixels)]
    return block, lowest, highest, float(known.sum(dtype=np.float64)), known.size


def find_constant_images(
    blocks: Blocks, source: GraySource, map_tasks: MapTasks, progress: Progress
) -> frozenset[int]:
    """Find the images of a stack whose finite pixels are all equal.

    Of each image, blocks are read until two pixels differ, so mostly one.
    """
    stacked = blocks.stacked
    count = blocks.shape[0] if stacked else 1
    lows, highs = [math.inf] * count, [-math.inf] * count
    progress.notify("threshold", 0, 1)

    def tasks() -> Iterator[tuple[Any, ...]]:
        for part in blocks.parts():
            images = range(part[0].start, part[0].stop) if stacked else range(1)
            if any(not lows[image] < highs[image] for image in images):
                yield images.start, source.loader(part), stacked

    for first, ends in map_tasks(survey_images, tasks()):
        for image, (low, high) in enumerate(ends, first):
            lows[image], highs[image] = min(lows[image], low), max(highs[image], high)
    progress.notify("threshold", 1, 1)
    return frozenset(image for image in range(count) if not lows[image] < highs[image])


def survey_images(
    first: int, load: Callable[[], Gray], stacked: bool
) -> tuple[int, list[tuple[Any, Any]]]:
    """Return the smallest and largest finite pixel of each image in a block."""
    pixels = load().pixels
    images = pixels if stacked else pixels[np.newaxis]
    ends = (extremes(image)[:2] for image in images)
    return first, [(low.item(), high.item()) for low, high in ends]


def _whole_sum(pixels: HostArray) -> int:
    """Return the exact sum of integers."""
    if pixels.dtype.itemsize < 8:
        return int(pixels.sum(dtype=np.int64))
    high, low = pixels >> 32, pixels & 0xFFFFFFFF
    return (int(high.sum(dtype=np.int64)) << 32) + int(low.sum(dtype=np.int64))


def _count(
    lowest: Any,
    highest: Any,
    blocks: Blocks,
    source: GraySource,
    map_tasks: MapTasks,
    progress: Progress,
) -> tuple[HostArray, HostArray]:
    """Add up the histograms of all blocks; return gray values, or the first and their distance."""
    counts: Any = 0
    last = np.empty(0)
    tasks = ((source.loader(part), lowest, highest) for part in blocks.parts())
    results = map_tasks(count_block, tasks)
    for part, axis in progress.over("histogram", 0, blocks.number, results):
        counts, last = counts + part, axis
    return counts, last


def count_block(load: Callable[[], Gray], lowest: Any, highest: Any) -> tuple[HostArray, HostArray]:
    """Count the gray values of a block in the bins of the whole image."""
    pixels = load().pixels
    if pixels.dtype.kind != "f":
        counts, first, width = count_integers(pixels, (lowest, highest))
        return counts, np.array([first, width], object)
    try:
        with np.errstate(over="raise"):
            return count_floats(pixels, lowest, highest)
    except FloatingPointError:
        message = (
            "threshold must be a number where gray values are too large, or too close together, "
            f"for a histogram; got an image of {lowest} to {highest}. Pass a number."
        )
        raise ValueError(message) from None
