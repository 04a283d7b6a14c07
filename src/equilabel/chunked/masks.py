"""Masks of the foreground, block by block: compared, closed, opened, without holes, or stored."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.labeling import problem_of
from equilabel.segmentation.binarization import compare_locally, compare_with, from_mask
from equilabel.segmentation.morphology import close_mask, open_mask

from .channels import expand
from .checkpoints import Checkpoints, MemoryCheckpoints
from .histograms import Level
from .outputs import ArrayOutput, ZarrOutput, create_zarr
from .sources import Gray
from .tasks import Job, Progress, number_blocks, write_blocks, write_masks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.labeling.problem import Problem

    from .blocks import Blocks
    from .channels import GraySource
    from .checkpoints import Saved
    from .engine import Run
    from .outputs import Output
    from .sources import GrayLoad, Load, Readable
    from .tasks import Filter, Rule

    Slices = tuple[slice, ...]


@dataclass(frozen=True)
class Compared:
    """Foreground by comparing pixels with a threshold."""

    level: Level
    dark: bool
    reach: tuple[int, ...] = ()

    def apply(self, pixels: HostArray, first: int) -> HostArray:
        """Return the foreground."""
        value, constant = self.level
        mask: HostArray = compare_with(pixels, value, dark=self.dark, strict=constant).mask()
        return mask


@dataclass(frozen=True)
class ComparedLocally:
    """Foreground by comparing pixels with the Gaussian mean around them."""

    widths: tuple[float, ...]  # of the Gaussian, in pixels; 0 along the axis of a stack
    shift: float  # subtracted from the mean
    dark: bool
    stacked: bool
    constant: frozenset[int]  # images of the stack without foreground: their pixels are equal

    @property
    def reach(self) -> tuple[int, ...]:
        """How many pixels around a part must be read, for the Gaussian."""
        return tuple(int(4 * width + 0.5) for width in self.widths)

    def apply(self, pixels: HostArray, first: int) -> HostArray:
        """Return the foreground."""
        mask = np.zeros(pixels.shape, np.bool_)
        widths = self.widths[self.stacked :]
        for place in range(len(pixels)) if self.stacked else (...,):
            image = first + place if isinstance(place, int) else 0
            if image not in self.constant:
                mask[place] = compare_locally(pixels[place], widths, self.shift, dark=self.dark)
        return mask


@dataclass(frozen=True)
class Rounded:
    """A mask that is closed or opened with a ball."""

    radii: tuple[float, ...]  # in pixels along each axis
    opens: bool

    @property
    def reach(self) -> tuple[int, ...]:
        """How many pixels around a part must be read: two radii, for dilation and erosion."""
        return tuple(2 * math.ceil(radius) for radius in self.radii)

    def apply(self, pixels: HostArray, first: int) -> HostArray:
        """Return the closed or opened mask."""
        mask: HostArray = (open_mask if self.opens else close_mask)(pixels, self.radii)
        return mask


@dataclass(frozen=True)
class FilteredMask:
    """A mask that is computed from an image or another mask, block by block."""

    base: GraySource | FilteredMask | StoredMask
    filter: Filter

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self.base.shape

    def loader(self, part: Slices) -> FilteredPart:
        """Return a loader that computes the mask of a block, from its surroundings too."""
        reach = self.filter.reach or (0,) * len(part)
        around, inner = expand(part, reach, self.shape)
        return FilteredPart(self.base.loader(around), self.filter, around[0].start, inner)


@dataclass(frozen=True, eq=False)
class FilteredPart:
    """A block of a mask that can be computed in any process."""

    load: Load
    filter: Filter
    first: int
    inner: Slices

    def __call__(self) -> HostArray:
        """Read pixels and compute their mask."""
        read = self.load()
        pixels = read.pixels if isinstance(read, Gray) else read
        return np.ascontiguousarray(self.filter.apply(pixels, self.first)[self.inner])


@dataclass(frozen=True)
class StoredMask:
    """A mask that has been written."""

    output: Output
    shape: tuple[int, ...]

    def loader(self, part: Slices) -> StoredPart:
        """Return a loader of a block."""
        return StoredPart(self.output, part)


@dataclass(frozen=True, eq=False)
class StoredPart:
    """A block of a mask that can be read in any process."""

    output: Output
    part: Slices

    def __call__(self) -> HostArray:
        """Read the block."""
        return self.output.read(self.part)


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
    image: GrayLoad

    def __call__(self) -> Gray:
        """Compute the mask, without reading the image."""
        return Gray(self.load(), None)

    def values(self) -> HostArray:
        """Read the image."""
        return self.image.values()


@dataclass(frozen=True)
class Masked:
    """Components are those of a mask or, if `inverted`, of its complement."""

    connectivity: int | None
    stacked: bool
    method: str = "auto"
    device: str = "cpu"
    inverted: bool = False

    def problem(self, pixels: HostArray) -> Problem:
        """Return the problem for `solve`."""
        foreground = from_mask(~pixels if self.inverted else pixels)
        how: Any = {"stacked": self.stacked, "method": self.method, "device": self.device}
        return problem_of(*foreground, self.connectivity, **how)


def keep_marked(pixels: HostArray, labels: HostArray) -> HostArray:
    """Return a mask of the components that are kept."""
    kept: HostArray = labels > 0
    return kept


def fill(pixels: HostArray, labels: HostArray) -> HostArray:
    """Return a mask with the labeled holes filled."""
    filled: HostArray = pixels | (labels > 0)
    return filled


class Stages:
    """Makes masks that later steps read; `saved` is that of the whole run."""

    def __init__(
        self, blocks: Blocks, stacked: bool, saved: Saved, run: Run, progress: Progress
    ) -> None:
        self._blocks, self._stacked = blocks, stacked
        self._saved, self._run, self._progress = saved, run, progress

    def hysteresis(
        self, source: GraySource, rule: Rule, low: float, high: float, *, dark: bool
    ) -> StoredMask:
        """Keep components, across faces, with a pixel above `high` (dark: not above `low`).

        `rule` labels the pixels beyond the other threshold.
        """
        strong = Compared(Level(low if dark else high, False), dark)

        def select(marked: NDArray[np.int64], *_: Any) -> NDArray[np.bool_]:
            return marked > 0

        made = {"rule": rule, "marked": strong, "painted": keep_marked}
        return self._made("hysteresis", source, select, **made)

    def stored(self, mask: Mask) -> StoredMask:
        """Store a mask that is slow to compute, because later steps read it twice."""
        saved, output = self._room("mask")
        progress = self._named("mask")
        write_masks(saved, self._blocks, mask, output, self._run, progress)
        return StoredMask(output, self._blocks.shape)

    def filled(self, mask: Mask) -> StoredMask:
        """Fill holes: background not connected through faces to the border."""
        shape, first = np.array(self._blocks.shape), int(self._stacked)

        def select(_: Any, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
            inside = (begins > 0) & (ends < shape)
            kept: NDArray[np.bool_] = np.all(inside[:, first:], axis=1)
            return kept

        rule = Masked(1, self._stacked, inverted=True)
        return self._made("holes", mask, select, rule=rule, painted=fill)

    def _made(
        self, name: str, source: Readable, select: Callable[..., Any], **made: Any
    ) -> StoredMask:
        """Label blocks across faces, and write a mask of the selected components."""
        saved, output = self._room(name)
        job = Job(
            blocks=self._blocks,
            connectivity=1,
            stacked=self._stacked,
            periodic=(False,) * len(self._blocks.shape),
            turned=False,
            sized=True,
            depth=1,
            saved=saved,
            **made,
        )
        progress = self._named(name)
        number_blocks(job, source, self._run, progress, select)
        write_blocks(job, source, output, self._run, progress, fresh=False)
        return StoredMask(output, self._blocks.shape)

    def _room(self, name: str) -> tuple[Saved, ArrayOutput | ZarrOutput]:
        """Create storage for the results of a step and for its mask."""
        blocks, saved = self._blocks, self._saved
        if not isinstance(saved, Checkpoints):
            return MemoryCheckpoints(), ArrayOutput(np.empty(blocks.shape, np.bool_))
        folder = Path(saved.folder, name)
        folder.mkdir(exist_ok=True)
        create_zarr(folder / "mask", blocks.shape, blocks.sides, np.dtype(np.bool_))
        output = ZarrOutput(str(folder / "mask"), "bool", saved.token)
        return Checkpoints(str(folder), saved.token), output

    def _named(self, name: str) -> Progress:
        """Return the progress of a step, whose name is added to those of its parts."""
        report = self._progress.report
        if report is None:
            return self._progress
        return Progress(lambda step, done, total: report(f"{name}: {step}", done, total))
