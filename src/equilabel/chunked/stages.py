"""Masks that are computed before objects are labeled: filtered, by hysteresis, or without holes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .checkpoints import Checkpoints
from .histograms import Level
from .in_memory import MemoryCheckpoints
from .job import Job
from .masks import Compared, Masked, StoredMask
from .outputs import ArrayOutput, ZarrOutput, create_zarr
from .running import Progress, number_blocks, write_blocks, write_masks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .blocks import Blocks
    from .checkpoints import Saved
    from .engine import Run
    from .gray_source import GraySource
    from .job import Rule
    from .masks import Mask
    from .sources import Readable


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
