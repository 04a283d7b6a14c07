"""Steps of `segment_chunked`: threshold, labels and table."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from equilabel.labeling import problem_of
from equilabel.measuring.columns import compute_columns
from equilabel.segmentation.binarization import compare_with, widths_of_block
from equilabel.segmentation.steps import make_table
from equilabel.storage.files import replacing

from .histograms import Level, find_constant_images, find_level
from .job import Job
from .masks import Compared, ComparedLocally, FilteredMask, Masked, MaskedSource, Rounded
from .stages import Stages
from .targets import Found, Steps
from .workfolder import read_object

if TYPE_CHECKING:
    from pathlib import Path

    from equilabel.array_types import Array
    from equilabel.labeling.problem import Problem

    from .blocks import Blocks
    from .checkpoints import Saved
    from .counting import Counted
    from .engine import Run
    from .gray_source import GraySource
    from .job import Rule
    from .masks import Mask
    from .running import Progress
    from .selecting import Selection
    from .sources import Readable

LEVEL = "threshold.json"


@dataclass(frozen=True)
class Thresholding:
    """Foreground by comparing pixels with a threshold."""

    level: Level
    dark: bool
    connectivity: int | None
    stacked: bool
    method: str
    device: str

    def problem(self, pixels: Array) -> Problem:
        """Return the problem for `solve`."""
        value, constant = self.level
        foreground = compare_with(pixels, value, dark=self.dark, strict=constant)
        return problem_of(
            *foreground,
            self.connectivity,
            stacked=self.stacked,
            method=self.method,
            device=self.device,
        )


class Cleaning(NamedTuple):
    """Parameters of the steps that compute a mask before objects are labeled."""

    block: tuple[float, ...]  # of a local threshold, in pixels; empty for another threshold
    offset: float  # of a local threshold
    closing: tuple[float, ...]  # radii along each axis, in pixels; empty for none
    opening: tuple[float, ...]
    fill_holes: bool

    @property
    def needed(self) -> bool:
        """Whether comparing pixels with a threshold is not enough."""
        return bool(self.closing or self.opening or self.fill_holes)


@dataclass(frozen=True, eq=False)
class Segmenting:
    """The steps of `segment_chunked`."""

    threshold: float | str | tuple[float, float]
    rule: Thresholding  # its level is not used
    cleaning: Cleaning
    source: GraySource
    blocks: Blocks
    connectivity: int
    selection: Selection
    counted: Counted
    depth: int  # layers of labels that are stored at the ends of blocks

    @property
    def steps(self) -> Steps:
        """The steps for `label_whole`."""
        select = self.selection.select if self.selection.needed else None
        return Steps(self.make_job, select, self.finish)

    def arguments(self, problem: Problem) -> dict[str, Any]:
        """Return the arguments on which labels and table depend, as JSON."""
        return {
            "threshold": self.threshold,
            "background": list(self.source.background),
            "smoothing": list(self.source.widths),
            "dark": self.rule.dark,
            **self.cleaning._asdict(),
            "connectivity": self.connectivity,
            "selection": self.selection.described(),
            "properties": list(self.counted.names),
            "spacing": list(self.counted.spacing),
            "picks": list(self.source.picks),
            "stacked": self.rule.stacked,
            "blocks": list(self.blocks.sides),
            "method": problem.method.name,
        }

    def make_job(self, saved: Saved, run: Run, progress: Progress) -> tuple[Job, Readable]:
        """Find the threshold, and return the job and the pixels to label."""
        rule: Rule = self.rule
        source: Readable = self.source
        level, mask = self._foreground(saved, run, progress)
        if mask is None:
            rule = replace(self.rule, level=level)
        else:
            one = self.rule
            rule = Masked(one.connectivity, one.stacked, one.method, one.device)
            source = MaskedSource(mask, self.source)
        job = Job(
            blocks=self.blocks,
            rule=rule,
            connectivity=self.connectivity,
            stacked=self.rule.stacked,
            periodic=(False,) * len(self.blocks.shape),
            turned=False,
            sized=self.selection.needed,
            depth=self.depth,
            saved=saved,
            counted=self.counted,
            told={"threshold": float(level.value) if isinstance(level, Level) else level},
        )
        return job, source

    def finish(self, job: Job) -> Found:
        """Make the table."""
        import pandas as pd

        counted = self.counted
        columns = counted.plan(len(self.blocks.shape)).columns
        found = compute_columns(counted.merge(job), columns, counted.spacing, "-")
        return Found(pd.DataFrame(make_table(found, counted.names)), job.told)

    def _foreground(self, saved: Saved, run: Run, progress: Progress) -> tuple[Any, Mask | None]:
        """Return the threshold, and a mask of the foreground if comparing with it is not enough."""
        mask: Mask | None = None
        level: Any = self.threshold
        stages = Stages(self.blocks, self.rule.stacked, saved, run, progress)
        if level == "local":
            mask, level = self._local(run, progress), None
        elif isinstance(level, tuple):
            low, high = level
            weak = Thresholding(
                Level(high if self.rule.dark else low, False),
                self.rule.dark,
                1,
                self.rule.stacked,
                "auto",
                "cpu",
            )
            mask = stages.hysteresis(self.source, weak, low, high, dark=self.rule.dark)
        else:
            level = self._level(saved.note(LEVEL), run, progress)
            if self.cleaning.needed or self.source.background:
                mask = FilteredMask(self.source, Compared(level, self.rule.dark))
        if mask is not None:
            for radii, opens in ((self.cleaning.closing, False), (self.cleaning.opening, True)):
                mask = FilteredMask(mask, Rounded(radii, opens)) if radii else mask
            if isinstance(mask, FilteredMask) and self._slow:
                mask = stages.stored(mask)
            mask = stages.filled(mask) if self.cleaning.fill_holes else mask
        return level, mask

    @property
    def _slow(self) -> bool:
        """Whether a mask takes longer to compute than to write and to read."""
        how = self.cleaning
        return bool(self.source.background or how.block or how.closing or how.opening)

    def _local(self, run: Run, progress: Progress) -> FilteredMask:
        """Return the foreground by a local threshold."""
        stacked, how = self.rule.stacked, self.cleaning
        known = (self.blocks, self.source, run, progress)
        constant = find_constant_images(*known, stacked=stacked)
        widths = tuple(widths_of_block(how.block))
        local = ComparedLocally(widths, how.offset, self.rule.dark, stacked, constant)
        return FilteredMask(self.source, local)

    def _level(self, file: Path | None, run: Run, progress: Progress) -> Level:
        """Return the threshold, which is computed once: a resumed run reads it."""
        if not isinstance(self.threshold, str):
            return Level(cast("float", self.threshold), False)
        known = (file is not None and read_object(file)) or {}
        value, constant = known.get("value"), known.get("constant")
        if isinstance(value, (int, float)) and isinstance(constant, bool):
            return Level(value, constant)
        level = find_level(self.threshold, self.blocks, self.source, run, progress)
        value = level.value.item() if hasattr(level.value, "item") else level.value
        level = Level(value, bool(level.constant))
        if file is not None:
            with replacing(file) as unfinished:
                unfinished.write_text(json.dumps(level._asdict()), "utf-8")
        return level
