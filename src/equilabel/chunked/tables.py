"""Counts of blocks for the table, and selection of objects by merged sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.measuring import Counts, count_part
from equilabel.measuring.counts import Values
from equilabel.measuring.parts import merge_counts
from equilabel.measuring.properties import compute_columns, make_plan
from equilabel.segmentation.stages import make_table, select_components, with_tracks
from equilabel.storage.remote import make_folder, remove_tree
from equilabel.storage.table import write_table

from .sources import expand

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.measuring.properties import Plan

    from .blocks import Blocks
    from .checkpoints import Saved
    from .engine import Run

    CountsOfBlock = dict[int, list[Any]]  # arrays, by the part of the table


ROWS = 2**20  # labels in a part of the table


@dataclass(frozen=True)
class Counted:
    """Properties to count in each block."""

    names: tuple[str, ...]  # of properties whose counts add up
    spacing: tuple[float, ...]
    blocks: Blocks

    @property
    def plan(self) -> Plan:
        """What to count for these properties."""
        axes, even = len(self.spacing) + self.blocks.stacked, len(set(self.spacing)) < 2
        return make_plan(self.names, (), axes, self.blocks.stacked, even, first=True)

    @property
    def halo(self) -> int:
        """How many layers of other blocks are read around a block."""
        layout = self.plan.layout
        return 0 if layout.compared == "none" else 1 + (layout.outline != "none")

    def count(
        self, saved: Saved, block: int, labels: HostArray, values: HostArray | None
    ) -> CountsOfBlock:
        """Count a block, of `labels` before merging; return arrays for each part of the table."""
        blocks, axes = self.blocks, labels.ndim
        numbers = saved.numbers(block)
        halos = [self.halo * (axis >= blocks.stacked) for axis in range(axes)]
        whole, inner = expand(blocks.slices(block), halos, blocks.shape)
        around = self._surroundings(saved, block, whole) if any(halos) else []
        known = [np.unique(final) for _, final in around]
        all_known = np.unique(np.concatenate([numbers, *known]))
        all_known = all_known[all_known > 0].astype(np.int64)
        sides = [one.stop - one.start for one in whole]
        # A block has few labels: they are numbered from 1 for counting.
        table = _compact(np.append(numbers.dtype.type(0), numbers), all_known)
        piece = np.zeros(sides, np.int32)
        piece[inner] = table[labels]
        for part, final in around:
            piece[part] = _compact(final, all_known)
        gray = None
        if values is not None and self.plan.intensity:
            gray = values  # may be memory of the store or of the caller: read only
            if around:
                gray = np.zeros((*sides, *values.shape[axes:]), values.dtype)
                gray[inner] = values
        counts = count_part(
            piece,
            gray,
            self.names,
            box=[(one.start, one.stop) for one in inner],
            origin=[one.start for one in whole],
            shape=blocks.shape,
            spacing=self.spacing,
            stacked=self.blocks.stacked,
        )
        counts = replace(counts, labels=all_known[counts.labels - 1])
        cuts = (counts.labels - 1) // ROWS
        stretches = {*np.unique(cuts).tolist(), *(() if block else (0,))}
        found = {one: counts.take(np.flatnonzero(cuts == one)) for one in stretches}
        return {
            key: [one.labels, one.table, one.high, np.array(one.single), *(one.values or ())]
            for key, one in found.items()
        }

    def make_tables(
        self, saved: Saved, folder: Any, run: Run, tracks: pd.DataFrame | None = None
    ) -> pd.DataFrame | None:
        """Make the table of all objects, `tracks` included, or write it to a folder in parts."""
        import pandas as pd

        blocks_of = counted_blocks(saved, self.blocks)
        stretches = sorted(blocks_of)
        if len(stretches) == 1:
            folder = None
        if folder is not None:
            remove_tree(folder)
            make_folder(folder)
        of_part: Any = dict.fromkeys(stretches)
        if tracks is not None:
            of_part = {one: tracks[one * ROWS : (one + 1) * ROWS] for one in stretches}
        tasks = ((self, saved, one, blocks_of[one], folder, of_part[one]) for one in stretches)
        found: dict[int, Any] = dict(run.each("table", make_part, tasks, len(stretches)))
        if folder is not None:
            return None
        tables = [found[one] for one in stretches]
        return pd.DataFrame(
            {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}
        )

    def _surroundings(
        self, saved: Saved, block: int, whole: tuple[slice, ...]
    ) -> list[tuple[tuple[slice, ...], HostArray]]:
        """List slices and final labels of each part of a block with its halo that others cover."""
        blocks, found = self.blocks, []
        for step in blocks.steps_around():
            other = blocks.neighbor(block, step)
            if other is None:
                continue
            local = saved.faces(other).toward([-move for move in step], self.halo)
            place = tuple(
                slice(max(a.start, b.start) - a.start, min(a.stop, b.stop) - a.start)
                for a, b in zip(whole, blocks.slices(other), strict=True)
            )
            found.append((place, np.append(0, saved.numbers(other))[local]))
        return found


def counted_blocks(saved: Saved, blocks: Blocks) -> dict[int, list[int]]:
    """List the blocks that have counted labels of each stretch of `ROWS` labels."""
    found: dict[int, list[int]] = {}
    for group in saved.groups(blocks.number):
        for name in saved.names("write", saved.group(group.start)):
            block, _, stretch = name.partition(" ")
            if stretch:
                found.setdefault(int(stretch), []).append(int(block))
    return found


def merged_counts(counted: Counted, saved: Saved, stretch: int, some: Sequence[int]) -> Counts:
    """Return the counts of a stretch of labels, which are in some blocks."""
    layout, parts = counted.plan.layout, []
    for block in some:
        labels, table, high, single, *values = saved.load(
            "write", saved.group(block), f"{block} {stretch}"
        )
        kept = Values(*values) if values else None
        table, shape = np.asfortranarray(table), counted.blocks.shape
        parts.append(Counts(labels, table, layout, shape, bool(single), kept, high))
    return merge_counts(parts)


def make_part(
    counted: Counted,
    saved: Saved,
    stretch: int,
    some: Sequence[int],
    folder: Any,
    tracks: pd.DataFrame | None,
) -> tuple[int, dict[str, HostArray] | None]:
    """Make a part of the table from the counts of some blocks; write it if there is a folder."""
    counts = merged_counts(counted, saved, stretch, some)
    found = compute_columns(counts, counted.plan.columns, counted.spacing, "-")
    table = make_table(found, counted.names)
    if tracks is not None:
        table = with_tracks(table, counted.names, tracks)
    if folder is None:
        return stretch, table
    write_table(folder / f"part-{stretch:05}.parquet", table)
    return stretch, None


def _compact(final: HostArray, known: NDArray[np.int64]) -> NDArray[np.int32]:
    """Replace labels by their positions among the known ones, from 1; 0 stays 0."""
    places = np.searchsorted(known, final) + 1
    return np.where(final > 0, places, 0).astype(np.int32)


class Selection(NamedTuple):
    """Criteria for the objects that are kept."""

    shape: tuple[int, ...]  # of the image
    stacked: bool
    min_size: float  # in pixels
    max_size: float | None
    exclude_border: bool

    @property
    def needed(self) -> bool:
        """Whether any object may be dropped."""
        return self.min_size > 1 or self.max_size is not None or self.exclude_border

    def described(self) -> list[Any]:
        """Return the criteria as JSON."""
        return [float(self.min_size), self.max_size, bool(self.exclude_border)]

    def select(
        self, pixels: NDArray[np.int64], begins: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which objects are kept, from their pixels, first and last + 1 coordinates."""
        columns: Any = {"num_pixels": {"num_pixels": pixels}}
        if self.exclude_border:
            inside = ((begins > 0) & (ends < self.shape)) | (np.array(self.shape) < 2)
            touches = ~inside[:, int(self.stacked) :].all(axis=1)
            columns["touches_border"] = {"touches_border": touches}
        limits: Any = {"min_size": self.min_size, "max_size": self.max_size}
        return select_components(columns, **limits, exclude_border=self.exclude_border)
