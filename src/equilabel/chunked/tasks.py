"""Stages of a run: label blocks, compare them, number components, write labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from equilabel.devices import (
    fetch,
    fetch_block,
    fetch_renumbered,
    is_on_cuda,
    own_gpu,
    send_block,
    stage_block,
)
from equilabel.domains import grid
from equilabel.labeling import solve
from equilabel.measuring import Request
from equilabel.measuring.properties import make_plan

from .checkpoints import Faces, Part, checksum
from .merging import FACES, cut_faces, number_components, pairs_across
from .outputs import BlockRuns, copy_past_caches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.labeling.problem import Problem

    from .blocks import Blocks
    from .channels import GrayPart
    from .checkpoints import Saved
    from .engine import MapTasks
    from .outputs import HeldLabels, Kept, Output
    from .sources import Gray, Load, Readable
    from .tables import Counted


@dataclass(frozen=True)
class Setup:
    """What the tasks of all blocks of an image share: their first argument."""

    blocks: Blocks
    problem: Callable[[Array], Problem]  # makes the problem for `solve` from pixels
    device: str  # as for `label`
    connectivity: int
    saved: Saved
    turned: bool = False  # numbered column by column, as scikit-image numbers shape (M, N, 1)
    depth: int = 1  # layers of labels that are stored at the ends of blocks
    select: Callable[..., NDArray[np.bool_]] | None = None
    """Returns which components are kept by size or position, as for `number_components`."""
    counted: Counted | None = None
    kept: Kept | None = None  # keeps labels of blocks, or their runs, from labeling to writing
    held: HeldLabels | None = None  # keeps them on GPUs, if there is room
    marked: Callable[[HostArray], HostArray] | None = None
    """Returns which pixels are counted for selecting components, instead of all."""
    painted: Callable[[HostArray, HostArray], HostArray] | None = None
    """Returns what is written, from the pixels and the final labels of a block."""
    attributes: Mapping[str, Any] = field(default_factory=dict)  # stored with the labels, as JSON


class ChangedInputError(RuntimeError):
    """The image changed while it was labeled."""


def label_block(setup: Setup, block: int, load: Load) -> tuple[int, int]:
    """Label a block alone, and store what other tasks need; return its number and its count."""
    pixels, _ = _parted(load())
    origin = np.array(setup.blocks.origin(block), np.int64)
    values = np.empty(0, pixels.dtype)
    known = checksum(pixels) if setup.kept is None else 0
    staged = stage_block(pixels, setup.device)
    with own_gpu(setup.device):
        problem = _problem(setup, staged)
        labels, firsts, flat, sizes = _components(setup, problem, pixels, origin)
        if problem.foreground.values:
            at = send_block(flat) if is_on_cuda(problem.image) else flat
            values = fetch_block(problem.image.reshape(-1)[at]).copy()
        stays = setup.held is not None and setup.held.keep(block, labels, len(firsts))
        ends = cut_faces(labels, setup.blocks, block, setup.depth, len(firsts))
        if setup.kept is not None and not stays:
            here = labels if isinstance(labels, BlockRuns) else fetch_block(labels)
            setup.kept.keep(block, setup.blocks.slices(block), here)
    faces = Faces(*ends, values)
    setup.saved.save_part(block, Part(known, firsts, values, sizes), faces)
    FACES.add(setup.saved, block, faces)
    return block, len(firsts)


def _parted(read: HostArray | Gray) -> tuple[HostArray, HostArray | None]:
    """Return pixels to label, and intensities to measure if they were read."""
    return read if isinstance(read, tuple) else (read, None)


def _problem(setup: Setup, staged: Any) -> Problem:
    """Return the problem for `solve`, on the GPU of this worker if the setup is for GPUs."""
    return setup.problem(send_block(staged) if setup.device.startswith("cuda") else staged)


def _components(
    setup: Setup, problem: Problem, pixels: HostArray, origin: NDArray[np.int64]
) -> tuple[HostArray | BlockRuns, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Label a block alone; return labels, first elements in the image and in the block, and sizes.

    Labels are `BlockRuns` if these are kept. First elements are (N,); sizes are those of `Part`.
    """
    shape, axes = problem.image.shape, problem.image.ndim
    none = np.empty((0, 0), np.int64)
    painted = setup.kept is None or setup.marked is not None
    if setup.turned:
        labels = fetch(solve(problem).labels)
        return labels, *_turned_firsts(setup, labels, origin), none
    if not (setup.select or problem.numbered_by_columns):
        labels, count, *_, runs = solve(problem, counted=True, painted=painted)
        if runs is not None:
            kept = BlockRuns.of(runs, shape, count)
            flat = kept.firsts()
            return kept, _in_image(flat, shape, origin, setup.blocks.shape), flat, none
        flat = _list_firsts(labels, count)
        return labels, _in_image(flat, shape, origin, setup.blocks.shape), flat, none
    stacked = setup.blocks.stacked
    plan = make_plan(("num_pixels",), (), axes, stacked, True, first=True)
    found = solve(problem, Request(plan, None, (1.0,) * (axes - stacked)), counted=True)
    labels, counts = found.labels, found.counts
    firsts = _in_image(counts.first_pixels, shape, origin, setup.blocks.shape)
    if setup.select is None:
        return labels, firsts, counts.first_pixels, none
    numbers = counts.pixels
    if setup.marked is not None:
        inside = labels[np.asarray(setup.marked(pixels), like=labels)]
        numbers = fetch(np.bincount(inside, minlength=len(numbers) + 1))[1:]
    spans = (numbers[:, None], counts.begins + origin, counts.ends + origin)
    return labels, firsts, counts.first_pixels, np.concatenate(spans, axis=1)


def _list_firsts(labels: Array, count: int) -> NDArray[np.int64]:
    """Return the first element of each label; labels are 1 to `count` in raster order."""
    from equilabel.devices.cpu.renumbering import list_firsts

    if is_on_cuda(labels):
        from equilabel.devices.cuda import blocks

        found = fetch_block(blocks.list_firsts(labels, count))
        return found.copy()  # its memory is reused
    flat = np.empty(count, np.int64)
    list_firsts(labels.reshape(-1), flat)
    return flat


def _in_image(
    flat: NDArray[np.int64],
    sides: tuple[int, ...],
    origin: NDArray[np.int64],
    shape: tuple[int, ...],
) -> NDArray[np.int64]:
    """Convert flat indices in a block to flat indices in the whole image."""
    from equilabel.devices.cpu.renumbering import place_in_image

    found = np.empty(len(flat), np.int64)
    place_in_image(flat, np.array(sides, np.int64), origin, grid.strides(shape), found)
    return found


def _turned_firsts(
    setup: Setup, labels: HostArray, origin: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first elements as `_components`, counted column by column."""
    shape = setup.blocks.shape
    turned = labels.swapaxes(-3, -2)
    found, first = np.unique(turned, return_index=True)
    places = np.stack(np.unravel_index(first[found > 0], turned.shape), axis=1)
    places[:, [-3, -2]] = places[:, [-2, -3]]
    flat = places @ grid.strides(labels.shape)
    places += origin
    places[:, [-3, -2]] = places[:, [-2, -3]]
    sides = (*shape[:-3], shape[-2], shape[-3], shape[-1])
    return places @ grid.strides(sides), flat


def compare_blocks(setup: Setup, some: Sequence[int]) -> list[tuple[int, int, NDArray[np.int64]]]:
    """Return the pairs of components that touch, between some blocks and those that follow them."""
    faces_of = FACES.reader(setup.saved)
    found = []
    for block in some:
        pairs = pairs_across(block, setup.blocks, faces_of, setup.connectivity)
        found += [(block, other, both) for other, both in pairs]
    return found


def write_block(setup: Setup, block: int, load: Load, output: Output) -> int:
    """Write the final labels of a block, and count them if something is measured."""
    part = setup.blocks.slices(block)
    numbers = setup.saved.numbers(block)
    numbers = np.append(numbers.dtype.type(0), numbers)
    counts: Sequence[HostArray] = ()
    held = None if setup.held is None else setup.held.take(block)
    if held is not None:
        with own_gpu(setup.device, held):
            counts = _count(setup, block, held, None, load)
            final = _renumbered(held, numbers, output, part)
        return _store(setup, block, output, final, counts)
    if setup.kept is not None:
        if setup.counted is not None:
            counts = _count(setup, block, setup.kept.labels(block, part), None, load)
        setup.kept.finish(block, part, numbers)
        setup.saved.save_done(block, (np.zeros(1), *counts))
        return block
    pixels, values = _parted(load())
    if checksum(pixels) != setup.saved.part(block).checksum:
        message = (
            "label_image must stay as it is until its labels are written; got other pixels in "
            f"{part} than before. Remove what was begun, and run again."
        )
        raise ChangedInputError(message)
    staged = stage_block(pixels, setup.device)
    with own_gpu(setup.device):
        labels = solve(_problem(setup, staged)).labels
        counts = _count(setup, block, labels, values, load)
        final = _renumbered(labels, numbers, output, part)
    if setup.painted is not None:
        final = setup.painted(pixels, final)
    return _store(setup, block, output, final, counts)


def _store(
    setup: Setup, block: int, output: Output, final: HostArray, counts: Sequence[HostArray]
) -> int:
    """Write the final labels of a block, and store that this is done."""
    if final is not None:
        if final.dtype != output.dtype:
            final = final.view(output.dtype)  # an unsigned type of the same size
        output.write(setup.blocks.slices(block), final)
    known = checksum(final) if setup.saved.lasting else 0
    setup.saved.save_done(block, (np.array([known]), *counts))
    return block


def _count(
    setup: Setup, block: int, labels: Array, values: HostArray | None, load: Load
) -> Sequence[HostArray]:
    """Count a block if something is measured; intensities are read if they were not."""
    if setup.counted is None:
        return ()
    if values is None and setup.counted.intensity:
        values = cast("GrayPart", load).values()
    labels = fetch(labels)
    if labels.itemsize < 4:
        labels = labels.astype(np.int32)
    return setup.counted.count(setup.saved, setup.blocks, block, labels, values)


def _renumbered(
    labels: Array, numbers: HostArray, output: Output, part: tuple[slice, ...]
) -> HostArray:
    """Return final labels on the host, of a signed type; labels on the host are overwritten.

    None if a GPU has already written them to the memory of the output.
    """
    from equilabel.devices.cpu.renumbering import renumber

    signed = np.int64 if output.dtype.itemsize == 8 else np.int32
    if is_on_cuda(labels):
        moved = fetch_renumbered(labels, numbers.astype(signed, copy=False), output.view(part))
        if not output.keeps:
            return moved
        mine = np.empty(moved.shape, moved.dtype)  # the pinned memory is reused
        copy_past_caches(moved, mine, tuple(map(slice, [0] * mine.ndim, mine.shape)))
        return mine
    final: HostArray = np.ascontiguousarray(labels, signed)
    one_row = (np.zeros(1, np.int64), final.size)
    renumber(final.reshape(-1), *one_row, numbers)
    return final


def write_mask(
    saved: Saved, blocks: Blocks, block: int, load: Callable[[], HostArray], output: Output
) -> int:
    """Compute the mask of a block, and write it."""
    mask = load()
    output.write(blocks.slices(block), mask)
    saved.save_done(block, (np.array([checksum(mask)]),))
    return block


def check_block(saved: Saved, blocks: Blocks, block: int, output: Output) -> tuple[int, bool]:
    """Return the number of a block, and whether its final labels exist as they were written."""
    try:
        known = saved.done(block)[0]
    except OSError:
        return block, False
    try:
        return block, checksum(output.read(blocks.slices(block))) == int(known[0])
    except Exception:
        return block, False


# ---- All blocks of an image

TOGETHER = 32  # most blocks that are compared in one task
TASKS = 12  # of comparing, if there are enough blocks: more would wait for Python's lock


class Progress(NamedTuple):
    """Reports the progress of a run to the caller."""

    report: Callable[[str, int, int], None] | None

    def over(self, stage: str, done: int, total: int, results: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of a stage; report its begin, and one more block after each result."""
        self.notify(stage, done, total)
        for number, result in enumerate(results, done + 1):
            yield result
            self.notify(stage, number, total)

    def notify(self, *news: Any) -> None:
        """Report a stage, blocks done, and all blocks."""
        if self.report is not None:
            self.report(*news)


def number_blocks(setup: Setup, source: Readable, map_tasks: MapTasks, progress: Progress) -> int:
    """Label all blocks that are not labeled yet, and number the components of the whole image.

    Returns the number of labels. `map_tasks` is that of a started `Engine`.
    """
    blocks, saved = setup.blocks, setup.saved
    ready = [block for block in range(blocks.number) if saved.has_part(block)]
    counts = np.zeros(blocks.number, np.int64)
    for block in ready:
        counts[block] = len(saved.part(block).firsts)
    rest = sorted(set(range(blocks.number)) - set(ready))
    tasks = ((setup, block, source.loader(blocks.slices(block))) for block in rest)
    results = map_tasks(label_block, tasks)
    for block, count in progress.over("label", len(ready), blocks.number, results):
        counts[block] = count
    offsets = np.zeros(blocks.number + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    pairs = _compare(setup, map_tasks, progress)
    device = "cpu" if setup.held is None else setup.device
    labels, count = number_components(saved, offsets, pairs, setup.select, device)
    saved.save_numbers(labels, offsets)
    return count


def _compare(
    setup: Setup, map_tasks: MapTasks, progress: Progress
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Yield the pairs of components of all blocks that touch, in any order."""
    total = setup.blocks.number
    if total == 1 and not any(setup.blocks.periodic):
        return
    some_blocks = min(TOGETHER, -(-total // TASKS))
    starts = range(0, total, some_blocks)
    groups = [range(start, min(start + some_blocks, total)) for start in starts]
    results = map_tasks(compare_blocks, ((setup, group) for group in groups))
    for found in progress.over("merge", 0, len(groups), results):
        yield from found


def write_blocks(
    setup: Setup,
    source: Readable,
    output: Output,
    map_tasks: MapTasks,
    progress: Progress,
    *,
    fresh: bool,
) -> None:
    """Write the final labels of all blocks that are not written yet; if `fresh`, of all blocks."""
    blocks = setup.blocks
    rest = (
        list(range(blocks.number)) if fresh else _unwritten(setup.saved, blocks, output, map_tasks)
    )
    tasks = ((setup, block, source.loader(blocks.slices(block)), output) for block in rest)
    done = blocks.number - len(rest)
    for _ in progress.over("write", done, blocks.number, map_tasks(write_block, tasks)):
        pass
    FACES.clear()


def write_masks(
    saved: Saved,
    blocks: Blocks,
    source: Readable,
    output: Output,
    map_tasks: MapTasks,
    progress: Progress,
) -> None:
    """Compute and write the masks of all blocks that are not written yet."""
    rest = _unwritten(saved, blocks, output, map_tasks)
    parts = ((block, source.loader(blocks.slices(block))) for block in rest)
    results = map_tasks(write_mask, ((saved, blocks, *part, output) for part in parts))
    for _ in progress.over("write", blocks.number - len(rest), blocks.number, results):
        pass


def _unwritten(saved: Saved, blocks: Blocks, output: Output, map_tasks: MapTasks) -> list[int]:
    """List the blocks that are not written, or have changed since."""
    known = [block for block in range(blocks.number) if saved.has_done(block)]
    intact = map_tasks(check_block, ((saved, blocks, block, output) for block in known))
    return sorted(set(range(blocks.number)) - {block for block, whole in intact if whole})
