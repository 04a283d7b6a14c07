"""Masks of the foreground, block by block: compared, closed, opened, without holes, or stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.labeling import problem_of
from equilabel.segmentation.binarization import compare_locally, compare_with, from_mask
from equilabel.segmentation.morphology import close_mask, open_mask
from equilabel.storage.remote import make_folder

from .channels import expand
from .checkpoints import Checkpoints, MemoryCheckpoints
from .engine import Progress
from .histograms import Level
from .outputs import ArrayOutput, ZarrOutput, create_zarr
from .sources import Gray
from .tasks import Setup, number_blocks, write_blocks, write_masks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.labeling.problem import Problem

    from .blocks import Blocks
    from .channels import GrayPart, GraySource
    from .checkpoints import Saved
    from .engine import MapTasks
    from .outputs import Output
    from .sources import Load, Readable

    Slices = tuple[slice, ...]


def compare(pixels: HostArray, first: int = 0, *, level: Level, dark: bool) -> HostArray:
    """Return the foreground by comparing pixels with a threshold."""
    value, constant = level
    mask: HostArray = compare_with(pixels, value, dark=dark, strict=constant).mask()
    return mask


def compare_with_mean(
    pixels: HostArray,
    first: int,
    *,
    widths: tuple[float, ...],
    shift: float,
    dark: bool,
    stacked: bool,
    constant: frozenset[int],
) -> HostArray:
    """Return the foreground by comparing pixels with the Gaussian mean around them.

    `widths` are those of the Gaussian, in pixels, 0 along the axis of a stack; `shift` is
    subtracted from the mean. Images of the stack in `constant` have no foreground: their pixels are
    equal.
    """
    mask = np.zeros(pixels.shape, np.bool_)
    for place in range(len(pixels)) if stacked else (...,):
        image = first + place if isinstance(place, int) else 0
        if image not in constant:
            mask[place] = compare_locally(pixels[place], widths[stacked:], shift, dark=dark)
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

    base: GraySource | FilteredMask | StoredMask
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


@dataclass(frozen=True)
class StoredMask:
    """A mask that has been written."""

    output: Output
    shape: tuple[int, ...]

    def loader(self, part: Slices) -> Callable[[], HostArray]:
        """Return a loader of a block."""
        return partial(self.output.read, part)


Mask = FilteredMask | StoredMask


@dataclass(frozen=True)
class MaskedSource:
    """A mask to label, and the image to measure."""

    mask: Mask
    gray: GraySource

    @property
    def _values(self) -> GraySource:
        """The image without filters."""
        return replace(self.gray, widths=(0.0,) * len(self.gray.widths), background=())

    def loader(self, part: Slices) -> MaskedPart:
        """Return a loader of a block of both."""
        return MaskedPart(self.mask.loader(part), self._values.loader(part))


@dataclass(frozen=True, eq=False)
class MaskedPart:
    """A block of a mask and of an image that can be read in any process."""

    load: Callable[[], HostArray]
    image: GrayPart

    def __call__(self) -> Gray:
        """Compute the mask, without reading the image."""
        return Gray(self.load(), None)

    def values(self) -> HostArray:
        """Read the image."""
        return self.image.values()


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


def fill(pixels: HostArray, labels: HostArray) -> HostArray:
    """Return a mask with the labeled holes filled."""
    filled: HostArray = pixels | (labels > 0)
    return filled


def has_pixels(
    pixels: NDArray[np.int64], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which components have a marked pixel."""
    return pixels > 0


def is_inside(
    pixels: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    *,
    shape: tuple[int, ...],
    stacked: bool,
) -> NDArray[np.bool_]:
    """Return which components do not reach the border of an image."""
    inside = (begins > 0) & (ends < np.array(shape))
    kept: NDArray[np.bool_] = np.all(inside[:, int(stacked) :], axis=1)
    return kept


class Masks:
    """Makes masks that later stages read; `saved` is that of the whole run."""

    def __init__(
        self, blocks: Blocks, saved: Saved, map_tasks: MapTasks, progress: Progress
    ) -> None:
        self._blocks = blocks
        self._how: dict[str, Any] = {"connectivity": 1, "stacked": blocks.stacked, "device": "cpu"}
        self._saved, self._map_tasks, self._progress = saved, map_tasks, progress

    def hysteresis(self, source: GraySource, low: float, high: float, *, dark: bool) -> StoredMask:
        """Keep components, across faces, with a pixel above `high` (dark: not above `low`).

        Components are those of the pixels beyond the other threshold.
        """
        weak, strong = (high, low) if dark else (low, high)
        level = Level(weak, False)
        problem = partial(problem_of_gray, level=level, dark=dark, **self._how)
        marked = partial(compare, level=Level(strong, False), dark=dark)
        made = {"problem": problem, "marked": marked, "painted": keep_marked}
        return self._made("hysteresis", source, select=has_pixels, **made)

    def stored(self, mask: Mask) -> StoredMask:
        """Store a mask that is slow to compute, because later stages read it twice."""
        return self.written("mask", mask, np.dtype(np.bool_))

    def filled(self, mask: Mask) -> StoredMask:
        """Fill holes: background not connected through faces to the border."""
        problem = partial(problem_of_mask, inverted=True, **self._how)
        select = partial(is_inside, shape=self._blocks.shape, stacked=self._blocks.stacked)
        return self._made("holes", mask, select=select, problem=problem, painted=fill)

    def _made(self, name: str, source: Readable, **made: Any) -> StoredMask:
        """Label blocks across faces, and write a mask of the selected components."""
        saved = self.room(name)
        setup = Setup(blocks=self._blocks, device="cpu", connectivity=1, saved=saved, **made)
        return self.labeled(name, setup, source, np.dtype(np.bool_))

    def labeled(
        self, name: str, setup: Setup, source: Readable, dtype: np.dtype[Any] | None = None
    ) -> StoredMask:
        """Label blocks across faces, and write labels, or what the setup makes of them."""
        progress = self._named(name)
        count = number_blocks(setup, source, self._map_tasks, progress)
        output = self.array(setup.saved, dtype or np.dtype(f"i{4 if count < 2**31 else 8}"))
        write_blocks(setup, source, output, self._map_tasks, progress, fresh=False)
        return StoredMask(output, self._blocks.shape)

    def written(self, name: str, source: Readable, dtype: np.dtype[Any]) -> StoredMask:
        """Write what a source computes of each block."""
        saved = self.room(name)
        output = self.array(saved, dtype)
        how = (self._map_tasks, self._named(name))
        write_masks(saved, self._blocks, source, output, *how)
        return StoredMask(output, self._blocks.shape)

    def room(self, name: str) -> Saved:
        """Create storage for the results of a stage."""
        if not isinstance(self._saved, Checkpoints):
            return MemoryCheckpoints()
        folder = self._saved.folder / name
        make_folder(folder)
        return Checkpoints(folder, self._saved.token, self._saved.together)

    def array(self, saved: Saved, dtype: np.dtype[Any]) -> ArrayOutput | ZarrOutput:
        """Create an array beside the results of a stage."""
        blocks = self._blocks
        if not isinstance(saved, Checkpoints):
            return ArrayOutput(np.empty(blocks.shape, dtype))
        create_zarr(saved.folder / "mask", blocks.shape, blocks.sides, dtype)
        return ZarrOutput.at(saved.folder / "mask", saved.token)

    def _named(self, name: str) -> Progress:
        """Return the progress of a stage, whose name is added to those of its parts."""
        report = self._progress.report
        if report is None:
            return self._progress
        return Progress(lambda stage, done, total: report(f"{name}: {stage}", done, total))
