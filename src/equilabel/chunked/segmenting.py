"""What `segment_chunked` does with blocks: a threshold, labels, and a table in the end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equilabel.labeling import problem_of
from equilabel.measuring.columns import compute_columns
from equilabel.pipeline.columns import make_table
from equilabel.storage.files import replacing
from equilabel.thresholding.foreground import compare_with

from .histograms import Level, find_level
from .job import Job
from .results import Found, Steps

if TYPE_CHECKING:
    from pathlib import Path

    from equilabel.array_types import HostArray
    from equilabel.labeling.problem import Problem

    from .blocks import Blocks
    from .checkpoints import Saved
    from .counting import Counted
    from .engine import Run
    from .gray_source import GraySource
    from .running import Progress
    from .selecting import Selection

LEVEL = "threshold.json"


@dataclass(frozen=True)
class Thresholding:
    """Foreground is what compares with a threshold.

    Attributes
    ----------
    level : Level
    dark : bool
    connectivity : int or None
    stacked : bool
    method, device : str
    """

    level: Level
    dark: bool
    connectivity: int | None
    stacked: bool
    method: str
    device: str

    def problem(self, pixels: HostArray) -> Problem:
        """Return what `solve` labels."""
        value, constant = self.level
        foreground = compare_with(pixels, value, dark=self.dark, strict=constant)
        return problem_of(
            *foreground,
            self.connectivity,
            stacked=self.stacked,
            method=self.method,
            device=self.device,
        )


@dataclass(frozen=True, eq=False)
class Segmenting:
    """The steps of `segment_chunked`.

    Attributes
    ----------
    threshold : float or str
        A number, or a method.
    rule : Thresholding
        With any level.
    source : GraySource
    blocks : Blocks
    connectivity : int
    selection : Selection
    counted : Counted
    depth : int
        Layers of labels that are stored at the ends of blocks.
    """

    threshold: float | str
    rule: Thresholding
    source: GraySource
    blocks: Blocks
    connectivity: int
    selection: Selection
    counted: Counted
    depth: int

    @property
    def steps(self) -> Steps:
        """What `label_whole` asks for."""
        select = self.selection.select if self.selection.needed else None
        return Steps(self.make_job, select, self.finish)

    def arguments(self, problem: Problem) -> dict[str, Any]:
        """Return what labels and table depend on beside the image, as JSON."""
        return {
            "threshold": self.threshold,
            "smoothing": list(self.source.widths),
            "dark": self.rule.dark,
            "connectivity": self.connectivity,
            "selection": self.selection.described(),
            "properties": list(self.counted.names),
            "spacing": list(self.counted.spacing),
            "picks": list(self.source.picks),
            "stacked": self.rule.stacked,
            "blocks": list(self.blocks.sides),
            "method": problem.method.name,
        }

    def make_job(self, saved: Saved, run: Run, progress: Progress) -> Job:
        """Find the threshold, and say what is done with each block."""
        level = self._level(saved.note(LEVEL), run, progress)
        rule = self.rule
        return Job(
            blocks=self.blocks,
            rule=Thresholding(
                level, rule.dark, rule.connectivity, rule.stacked, rule.method, rule.device
            ),
            connectivity=self.connectivity,
            stacked=rule.stacked,
            periodic=(False,) * len(self.blocks.shape),
            turned=False,
            sized=self.selection.needed,
            depth=self.depth,
            saved=saved,
            counted=self.counted,
        )

    def finish(self, job: Job) -> Found:
        """Make the table."""
        counted = self.counted
        columns = counted.plan(len(self.blocks.shape)).columns
        found = compute_columns(counted.merge(job), columns, counted.spacing, "-")
        rule: Any = job.rule
        value = float(rule.level.value)
        return Found(make_table(found, counted.names), {"threshold": value})

    def _level(self, file: Path | None, run: Run, progress: Progress) -> Level:
        """Return the threshold, which is found once: a run that goes on reads it."""
        if not isinstance(self.threshold, str):
            return Level(self.threshold, False)
        if file is not None and file.exists():
            return Level(**json.loads(file.read_text("utf-8")))
        level = find_level(self.threshold, self.blocks, self.source, run, progress)
        value = level.value.item() if hasattr(level.value, "item") else level.value
        level = Level(value, bool(level.constant))
        if file is not None:
            with replacing(file) as unfinished:
                unfinished.write_text(json.dumps(level._asdict()), "utf-8")
        return level
