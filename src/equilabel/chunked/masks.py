"""The foreground of an image in blocks: its threshold, from histograms, and masks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.labeling import problem_of
from equilabel.segmentation.binarization import (
    CONTRAST,
    LAG,
    SAMPLED,
    compare_with,
    differences,
    noise_of,
)
from equilabel.segmentation.filters import extremes
from equilabel.segmentation.morphology import close_mask, open_mask
from equilabel.segmentation.thresholds import (
    CRITERIA,
    UnitScale,
    bins_between,
    count_floats,
    count_integers,
    from_mask,
    level_of_integers,
    sum_of_integers,
)

from .outputs import Output, new_output
from .sources import Gray, expand
from .tables import Counted, Selection
from .tasks import Setup, number_blocks, write_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.labeling.problem import Problem

    from .blocks import Blocks
    from .checkpoints import Saved
    from .engine import Run
    from .sources import GraySource, Load, Loader

    Slices = tuple[slice, ...]


class Level(NamedTuple):
    """A threshold: foreground is above it; NaN if no pixel is finite."""

    value: float
    constant: bool  # whether all finite pixels are equal to it


def find_threshold_of_blocks(method: str, blocks: Blocks, source: GraySource, run: Run) -> Level:
    """Find the threshold from histograms; of more than 65,536 gray values in two readings."""
    kind = source.dtype.kind
    if kind == "b":
        return Level(0.5, False)
    if method == "li" and kind == "f":
        message = (
            "threshold must be a number, or a method that needs no more than a histogram, for an "
            "image in chunks of floats, or one that is smoothed; got 'li'. Pass 'otsu', "
            "'triangle', 'yen', 'isodata', 'mean' or 'minimum', or the number that "
            "threshold='li' finds in a part of the image."
        )
        raise ValueError(message)
    narrow = kind != "f" and source.dtype.itemsize <= 2 and method != "mean"  # all are counted
    if narrow:
        lowest, highest = np.iinfo(source.dtype).min, np.iinfo(source.dtype).max
    else:
        found, lowest, highest = survey(blocks, source, run)
    if not lowest < highest:
        return Level(lowest, True) if lowest == highest else Level(math.nan, False)
    if method == "mean":
        total, number = (sum(one[place] for one in found) for place in (2, 3))
        if kind == "f" and not math.isfinite(total):
            message = (
                "threshold must be a number where gray values are too large to be added; got "
                f"'mean' for an image of {lowest} to {highest}. Pass a number."
            )
            raise ValueError(message)
        return Level(total / number, False)
    with np.errstate(all="ignore"):
        if kind == "f":
            return Level(_find_in_floats(method, blocks, source, run, (lowest, highest)), False)
        counts, (first, width) = _count(blocks, source, run, (lowest, highest))
        if narrow:
            values = np.flatnonzero(counts)
            first, counts = first + int(values[0]), counts[values[0] : values[-1] + 1]
            if len(counts) == 1:
                return Level(first, True)
        return Level(level_of_integers(counts, first, width, method), False)


def _find_in_floats(
    method: str, blocks: Blocks, source: GraySource, run: Run, ends: tuple[Any, Any]
) -> float:
    """Find the threshold of floats whose ends differ; they are scaled where that is needed."""
    try:
        bins_between(source.dtype, *ends)  # fails here, and not in a worker
        counted = _count(blocks, source, run, ends)
        with np.errstate(over="raise"):
            return CRITERIA[method](*counted)
    except FloatingPointError:
        scale = UnitScale.between(*ends)
    share = CRITERIA[method](*_count(blocks, source, run, (0.0, 1.0), scale))
    return scale.level(share, source.dtype)


def _count(
    blocks: Blocks, source: GraySource, run: Run, ends: Any, scale: UnitScale | None = None
) -> tuple[Any, Any]:
    """Return the counts of gray values of all blocks, and what else `count_block` returns."""
    counts: Any = 0
    axis: Any = ()
    some = ((source.loader(part), *ends, scale) for part in blocks.parts())
    for part, last in run.each("histogram", count_block, some, blocks.number):
        counts, axis = counts + part, last
    return counts, axis


def survey(
    blocks: Blocks, source: GraySource, run: Run
) -> tuple[list[tuple[Any, Any, Any, int]], Any, Any]:
    """Return what `survey_block` finds, and the ends of all finite pixels, or infinities."""
    tasks = enumerate(map(source.loader, blocks.parts()))
    surveyed = sorted(run.each("threshold", survey_block, tasks, blocks.number))  # sums of floats
    found = [one for _, (one,) in surveyed]
    return found, min(one[0] for one in found), max(one[1] for one in found)


def survey_block(
    place: int, load: Callable[[], Gray], stacked: bool = False
) -> tuple[int, list[tuple[Any, Any, Any, int]]]:
    """Return a number, and of each image its ends, the sum and the number of finite pixels."""
    pixels = load().pixels
    found: list[tuple[Any, Any, Any, int]] = []
    for image in pixels if stacked else pixels[np.newaxis]:
        low, high, finite = extremes(image)
        known = image if finite else image[np.isfinite(image)]
        if known.dtype.kind == "f":
            with np.errstate(over="ignore"):  # the sum is for the mean alone
                found.append((low, high, float(known.sum(dtype=np.float64)), known.size))
        else:
            found.append((int(low), int(high), sum_of_integers(known), known.size))
    return place, found


def find_constant_images(blocks: Blocks, source: GraySource, run: Run) -> frozenset[int]:
    """Find the images whose finite pixels are all equal: blocks are read until two differ."""
    stacked = blocks.stacked
    count = blocks.shape[0] if stacked else 1
    lows, highs = [math.inf] * count, [-math.inf] * count

    def tasks() -> Iterator[tuple[Any, ...]]:
        for part in blocks.parts():
            images = range(part[0].start, part[0].stop) if stacked else range(1)
            if any(not lows[image] < highs[image] for image in images):
                yield images.start, source.loader(part), stacked

    with run.noting("threshold"):
        for first, found in run.map_tasks(survey_block, tasks()):
            for image, (low, high, *_) in enumerate(found, first):
                lows[image], highs[image] = min(lows[image], low), max(highs[image], high)
    return frozenset(image for image in range(count) if not lows[image] < highs[image])


def find_shifts(
    blocks: Blocks, source: GraySource, run: Run, offset: float | None
) -> list[tuple[int, float]]:
    """List the images of a stack that are not constant, and their offsets for `compare_with_means`.

    Without an `offset`, it follows from the noise of each image.
    """
    constant, stacked = find_constant_images(blocks, source, run), blocks.stacked
    images = [one for one in range(blocks.shape[0] if stacked else 1) if one not in constant]
    if offset is not None:
        return [(image, offset) for image in images]
    of_image = blocks.number // (blocks.counts[0] if stacked else 1)
    reach = [LAG * (axis >= stacked) for axis in range(len(blocks.shape))]
    wide = ((part, *expand(part, reach, blocks.shape)) for part in blocks.parts())
    tasks = ((part, source.loader(around), inner, blocks) for part, around, inner in wide)
    samples: dict[int, list[HostArray]] = {}
    noise = {}
    for first, found in run.each("noise", sample_block, tasks, blocks.number):
        for image, some in enumerate(found, first):
            samples.setdefault(image, []).append(some)
            if len(samples[image]) == of_image:
                noise[image] = noise_of(samples.pop(image))
    return [(image, -CONTRAST * noise[image]) for image in images]


def sample_block(
    part: Slices, load: Callable[[], Gray], inner: Slices, blocks: Blocks
) -> tuple[int, list[HostArray]]:
    """Return the first image of a block and, of each, the differences from which noise follows.

    They are of pixels in the block, which is `inner` in what is read, and those `LAG` behind them.
    """
    pixels = load().pixels[tuple(slice(one.start, None) for one in inner)]
    first, stacked, found = part[0].start * blocks.stacked, int(blocks.stacked), []
    part, whole = part[stacked:], blocks.shape[stacked:]
    step = -(-prod(whole) // SAMPLED)
    for image in pixels if stacked else pixels[np.newaxis]:
        some = [np.empty(0)]
        for axis, side in enumerate(whole):
            lag = min(LAG, side - 1)
            sides = (*whole[:axis], side - lag, *whole[axis + 1 :])
            ends = zip(part, sides, strict=True)
            places = [np.arange(one.start, min(one.stop, length)) for one, length in ends]
            here = [slice(0, len(there)) for there in places]
            behind = [*here[:axis], slice(lag, lag + len(places[axis])), *here[axis + 1 :]]
            if lag and len(places[axis]):
                picked = np.ravel_multi_index(np.ix_(*places), sides).reshape(-1) % step == 0
                some.append(differences(image[tuple(behind)], image[tuple(here)], picked))
        found.append(np.concatenate(some))
    return first, found


def count_block(
    load: Callable[[], Gray], lowest: Any, highest: Any, scale: UnitScale | None = None
) -> tuple[HostArray, Any]:
    """Count the gray values of a block, scaled if wanted, in the bins of the whole image.

    Also returns the centers of bins of floats; of integers the first one, and the width of all.
    """
    pixels = load().pixels
    if pixels.dtype.kind == "f":
        return count_floats(pixels if scale is None else scale.shares(pixels), lowest, highest)
    counts, first, width = count_integers(pixels, (lowest, highest))
    return counts, (first, width)


# ---- Masks that are computed when a block is read


def compare(pixels: HostArray, first: int = 0, *, level: Level, dark: bool) -> HostArray:
    """Return the foreground by comparing pixels with a threshold."""
    value, constant = level
    mask: HostArray = compare_with(pixels, value, dark=dark, strict=constant).mask()
    return mask


def close_or_open(
    mask: HostArray, first: int, *, radii: tuple[float, ...], opens: bool
) -> HostArray:
    """Return a mask closed or opened with a ball."""
    changed: HostArray = (open_mask if opens else close_mask)(mask, radii)
    return changed


@dataclass(frozen=True)
class FilteredMask:
    """A mask that is computed from an image or another mask, block by block."""

    base: GraySource | FilteredMask | Output
    filter: Callable[[HostArray, int], HostArray]
    """Returns the mask of a part from its pixels and its first index along the first axis."""
    reach: tuple[int, ...] = ()
    """How many pixels around a part must be read along each axis; empty for none."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.base.shape

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader that computes the mask of a block, from its surroundings too."""
        around, inner = expand(part, self.reach or (0,) * len(part), self.shape)
        return partial(_filtered, self.base.loader(around), self.filter, around[0].start, inner)


def _filtered(
    load: Load, mask_of: Callable[[HostArray, int], HostArray], first: int, inner: Slices
) -> HostArray:
    """Read pixels, and return the inner part of their mask."""
    read = load()
    pixels = read.pixels if isinstance(read, Gray) else read
    return np.ascontiguousarray(mask_of(pixels, first)[inner])


Mask = FilteredMask | Output


def problem_of_gray(pixels: Array, *, level: Level, dark: bool, **how: Any) -> Problem:
    """Return the problem of labeling pixels by a threshold; `how` is as for `problem_of`."""
    value, constant = level
    return problem_of(*compare_with(pixels, value, dark=dark, strict=constant), **how)


def problem_of_mask(pixels: HostArray, *, inverted: bool = False, **how: Any) -> Problem:
    """Return the problem of labeling a mask or, if `inverted`, its complement."""
    return problem_of(*from_mask(~pixels if inverted else pixels), **how)


# ---- Masks that are computed before objects are labeled


def keep_marked(pixels: HostArray, labels: HostArray) -> HostArray:
    """Return a mask of the components that are kept."""
    kept: HostArray = labels > 0
    return kept


def has_pixels(
    pixels: NDArray[np.int64], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which components have a marked pixel."""
    return pixels > 0


@dataclass(frozen=True)
class Masks:
    """Makes masks that later stages read."""

    blocks: Blocks
    saved: Saved  # that of the whole run
    run: Run

    def within(self, name: str) -> Masks:
        """Return what makes masks of a stage of many, beside those of others."""
        return Masks(self.blocks, self.saved.room(name), self.run.named(name))

    def hysteresis(self, source: GraySource, low: float, high: float, *, dark: bool) -> Output:
        """Keep components beyond a threshold with a pixel above `high` (dark: not above `low`)."""
        weak, strong = (high, low) if dark else (low, high)
        how: Any = {"stacked": self.blocks.stacked, "connectivity": 1, "device": "cpu"}
        return self.made(
            "hysteresis",
            source.loader,
            np.bool_,
            problem=partial(problem_of_gray, level=Level(weak, False), dark=dark, **how),
            marked=partial(compare, level=Level(strong, False), dark=dark),
            select=has_pixels,
            painted=keep_marked,
        )

    def filled(self, mask: Mask) -> Output:
        """Fill holes: background not connected through faces to the border."""
        stacked = self.blocks.stacked
        how: Any = {"stacked": stacked, "connectivity": 1, "device": "cpu"}
        inside = Selection(self.blocks.shape, stacked, 0, None, exclude_border=True)
        how = {"problem": partial(problem_of_mask, inverted=True, **how), "select": inside.select}
        return self.made("holes", mask.loader, np.bool_, painted=np.logical_or, **how)

    def counted(
        self, name: str, source: Loader, names: tuple[str, ...], **how: Any
    ) -> tuple[Output, Saved, Counted]:
        """Store labels across faces, by blocks, and count these properties of their pixels."""
        rank = len(self.blocks.shape) - self.blocks.stacked
        counted, saved = Counted(names, (1.0,) * rank, self.blocks), self.saved.room(name)
        how |= {"by_blocks": True, "depth": max(counted.halo, 1), "counted": counted}
        return self.made(name, source, saved=saved, **how), saved, counted

    def made(
        self, name: str, source: Loader, dtype: Any = None, saved: Saved | None = None, **how: Any
    ) -> Output:
        """Write what a setup, of `how`, makes of the labels of a source across faces.

        Without a `problem`, write what the source computes. Without a type, write labels.
        """
        saved, run = saved or self.saved.room(name), self.run.named(name)
        setup = Setup(blocks=self.blocks, saved=saved, **how)
        if setup.problem is not None:
            count = number_blocks(setup, source, run)
            dtype = dtype or (np.int32 if count < 2**31 else np.int64)
        output = new_output(saved.note("mask"), self.blocks.shape, self.blocks.sides, dtype)
        write_blocks(setup, source, output, run)
        return output
