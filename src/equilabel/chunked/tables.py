"""Counts of blocks for the table, and selection of objects by merged sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.measuring import Counts, count_part
from equilabel.measuring.counts import Layout, Values
from equilabel.measuring.parts import merge_counts
from equilabel.measuring.properties import compute_columns, make_plan
from equilabel.segmentation.stages import make_table, select_components, with_tracks
from equilabel.storage.remote import make_folder, remove_tree
from equilabel.storage.table import write_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray
    from equilabel.measuring.properties import Plan

    from .blocks import Blocks
    from .checkpoints import Saved
    from .engine import Run

    CountsOfBlock = dict[int, list[HostArray]]  # by the part of the table


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
        halos = [self.halo * (axis >= self.blocks.stacked) for axis in range(axes)]
        spans = list(zip(halos, blocks.slices(block), blocks.shape, strict=True))
        low = [min(halo, part.start) for halo, part, _ in spans]
        high = [min(halo, length - part.stop) for halo, part, length in spans]
        around = self._surroundings(saved, block, low) if any(halos) else []
        known = [np.unique(final) for _, final, _ in around]
        all_known = np.unique(np.concatenate([numbers, *known]))
        all_known = all_known[all_known > 0].astype(np.int64)
        sides = [a + b + c for a, b, c in zip(low, labels.shape, high, strict=True)]
        # A block has few labels: they are numbered from 1 for counting.
        table = _compact(np.append(numbers.dtype.type(0), numbers), all_known)
        box = [(start, start + side) for start, side in zip(low, labels.shape, strict=True)]
        inner = tuple(slice(*span) for span in box)
        piece = np.zeros(sides, np.int32)
        piece[inner] = table[labels]
        for part, final, local in around:
            piece[part] = _compact(final, all_known)[local]
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
            box=box,
            origin=[a - b for a, b in zip(blocks.origin(block), low, strict=True)],
            shape=blocks.shape,
            spacing=self.spacing,
            stacked=self.blocks.stacked,
        )
        counts = replace(counts, labels=all_known[counts.labels - 1])
        cuts = (counts.labels - 1) // ROWS
        stretches = {*np.unique(cuts).tolist(), *(() if block else (0,))}
        return {one: pack(counts.take(np.flatnonzero(cuts == one))) for one in stretches}

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
        self, saved: Saved, block: int, low: list[int]
    ) -> list[tuple[tuple[slice, ...], HostArray, HostArray]]:
        """List the parts of the halo of a block, which has `low` layers before the block.

        Each has slices in the block with its halo, final labels (N + 1,) of local labels, and
        these.
        """
        blocks, halo, found = self.blocks, self.halo, []
        shape = [part.stop - part.start for part in blocks.slices(block)]
        for step in blocks.steps_around():
            other = blocks.neighbor(block, step)
            if other is None:
                continue
            local, place = saved.faces(other).toward([-move for move in step], halo), []
            for one, move in enumerate(step):
                start = low[one] + shape[one] if move > 0 else low[one] * (not move)
                place.append(slice(start, start + local.shape[one]))
            final = np.zeros(1, np.int64)
            if local.any():
                numbers = saved.numbers(other)
                final = np.zeros(len(numbers) + 1, np.int64)
                there = np.unique(local)
                there = there[there > 0]
                final[there] = numbers[there - 1]
            found.append((tuple(place), final, local))
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
    layout = counted.plan.layout
    arrays = (saved.load("write", saved.group(one), f"{one} {stretch}") for one in some)
    return merge_counts([unpack(each, layout, counted.blocks.shape) for each in arrays])


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


def pack(counts: Counts) -> list[HostArray]:
    """Return counts as a list of arrays, without those that are missing."""
    values = counts.values or (None,) * len(Values._fields)
    fields = [counts.labels, counts.table, counts.high, *values]
    there = np.array([counts.single, *(one is not None for one in fields)])
    return [there, *(one for one in fields if one is not None)]


def unpack(arrays: Sequence[HostArray], layout: Any, shape: tuple[int, ...]) -> Counts:
    """Return the counts that `pack` converted to arrays."""
    (single, *there), *some = arrays
    known = iter(some)
    each: Any = (next(known) if has else None for has in there)
    labels, table, high, *values = each
    kept = Values(*values) if there[3] else None
    return Counts(labels, np.asfortranarray(table), layout, shape, bool(single), kept, high)


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
        layout = Layout(len(self.shape), self.stacked)
        table = np.zeros((len(pixels), layout.width), np.int64)
        table[:, 0] = pixels
        table[:, layout["lows"]] = np.array(self.shape) - begins
        table[:, layout["highs"]] = ends
        counts = Counts(np.arange(1, len(pixels) + 1), table, layout, self.shape)
        limits: Any = {"min_size": self.min_size, "max_size": self.max_size}
        return select_components(counts, **limits, exclude_border=self.exclude_border)
