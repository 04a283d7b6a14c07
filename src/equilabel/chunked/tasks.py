"""Steps of a run: label blocks, compare them, number components, write labels."""

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
    passes,
    send_block,
    stage_block,
)
from equilabel.domains import neighborhood
from equilabel.labeling import solve
from equilabel.measuring import Request
from equilabel.measuring.plan import make_plan

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
    from .engine import Run
    from .outputs import HeldLabels, Kept, Output
    from .sources import Gray, Load, Readable
    from .tables import Counted


@dataclass(frozen=True)
class Job:
    """Parameters of a run that are the same for all blocks of an image."""

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


def label_block(job: Job, block: int, load: Load) -> tuple[int, int]:
    """Label a block alone, and store what other tasks need; return its number and its count."""
    pixels, _ = _parted(load())
    origin = np.array(job.blocks.origin(block), np.int64)
    values = np.empty(0, pixels.dtype)
    known = checksum(pixels) if job.kept is None else 0
    staged = stage_block(pixels, job.device)
    with own_gpu(job.device):
        problem = _problem(job, staged)
        labels, firsts, flat, sizes = _components(job, problem, pixels, origin)
        if problem.foreground.values:
            at = send_block(flat) if is_on_cuda(problem.image) else flat
            values = fetch_block(problem.image.reshape(-1)[at]).copy()
        stays = job.held is not None and job.held.keep(block, labels, len(firsts))
        ends = cut_faces(labels, job.blocks, block, job.depth, len(firsts))
        if job.kept is not None and not stays:
            here = labels if isinstance(labels, BlockRuns) else fetch_block(labels)
            job.kept.keep(block, job.blocks.slices(block), here)
    faces = Faces(*ends, values)
    job.saved.save_part(block, Part(known, firsts, values, sizes), faces)
    FACES.add(job.saved, block, faces)
    return block, len(firsts)


def _parted(read: HostArray | Gray) -> tuple[HostArray, HostArray | None]:
    """Return pixels to label, and intensities to measure if they were read."""
    return read if isinstance(read, tuple) else (read, None)


def _problem(job: Job, staged: Any) -> Problem:
    """Return the problem for `solve`, on the GPU of this worker if the job is for GPUs."""
    return job.problem(send_block(staged) if job.device.startswith("cuda") else staged)


def _components(
    job: Job, problem: Problem, pixels: HostArray, origin: NDArray[np.int64]
) -> tuple[HostArray | BlockRuns, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Label a block alone; return labels, first elements in the image and in the block, and sizes.

    Labels are `BlockRuns` if these are kept. First elements are (N,); sizes are those of `Part`.
    """
    shape, axes = problem.image.shape, problem.image.ndim
    none = np.empty((0, 0), np.int64)
    painted = job.kept is None or job.marked is not None
    if job.turned:
        labels = fetch(solve(problem).labels)
        return labels, *_turned_firsts(job, labels, origin), none
    if not (job.select or problem.numbered_by_columns):
        labels, count, *_, runs = solve(problem, counted=True, painted=painted)
        if runs is not None:
            kept = BlockRuns.of(runs, shape, count)
            flat = kept.firsts()
            return kept, _in_image(flat, shape, origin, job.blocks.shape), flat, none
        flat = _list_firsts(labels, count)
        return labels, _in_image(flat, shape, origin, job.blocks.shape), flat, none
    stacked = job.blocks.stacked
    plan = make_plan(("num_pixels",), (), axes, stacked, True, first=True)
    found = solve(problem, Request(plan, None, (1.0,) * (axes - stacked)), counted=True)
    labels, counts = found.labels, found.counts
    firsts = _in_image(counts.first_pixels, shape, origin, job.blocks.shape)
    if job.select is None:
        return labels, firsts, counts.first_pixels, none
    numbers = counts.pixels
    if job.marked is not None:
        inside = labels[np.asarray(job.marked(pixels), like=labels)]
        numbers = fetch(np.bincount(inside, minlength=len(numbers) + 1))[1:]
    spans = (numbers[:, None], counts.begins + origin, counts.ends + origin)
    return labels, firsts, counts.first_pixels, np.concatenate(spans, axis=1)


def _list_firsts(labels: Array, count: int) -> NDArray[np.int64]:
    """Return the first element of each label; labels are 1 to `count` in raster order."""
    from equilabel.devices.cpu.renumbering import list_firsts

    if is_on_cuda(labels):
        found = fetch_block(passes("devices.blocks", "cuda").list_firsts(labels, count))
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
    place_in_image(flat, np.array(sides, np.int64), origin, neighborhood.strides(shape), found)
    return found


def _turned_firsts(
    job: Job, labels: HostArray, origin: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first elements as `_components`, counted column by column."""
    shape = job.blocks.shape
    turned = labels.swapaxes(-3, -2)
    found, first = np.unique(turned, return_index=True)
    places = np.stack(np.unravel_index(first[found > 0], turned.shape), axis=1)
    places[:, [-3, -2]] = places[:, [-2, -3]]
    flat = places @ neighborhood.strides(labels.shape)
    places += origin
    places[:, [-3, -2]] = places[:, [-2, -3]]
    sides = (*shape[:-3], shape[-2], shape[-3], shape[-1])
    return places @ neighborhood.strides(sides), flat


def compare_blocks(job: Job, some: Sequence[int]) -> list[tuple[int, int, NDArray[np.int64]]]:
    """Return the pairs of components that touch, between some blocks and those that follow them."""
    faces_of = FACES.reader(job.saved)
    found = []
    for block in some:
        pairs = pairs_across(block, job.blocks, faces_of, job.connectivity)
        found += [(block, other, both) for other, both in pairs]
    return found


def write_block(job: Job, block: int, load: Load, output: Output) -> int:
    """Write the final labels of a block, and count them if something is measured."""
    part = job.blocks.slices(block)
    numbers = job.saved.numbers(block)
    numbers = np.append(numbers.dtype.type(0), numbers)
    counts: Sequence[HostArray] = ()
    held = None if job.held is None else job.held.take(block)
    if held is not None:
        with own_gpu(job.device, held):
            counts = _count(job, block, held, None, load)
            final = _renumbered(held, numbers, output, part)
        return _store(job, block, output, final, counts)
    if job.kept is not None:
        if job.counted is not None:
            counts = _count(job, block, job.kept.labels(block, part), None, load)
        job.kept.finish(block, part, numbers)
        job.saved.save_done(block, (np.zeros(1), *counts))
        return block
    pixels, values = _parted(load())
    if checksum(pixels) != job.saved.part(block).checksum:
        message = (
            "label_image must stay as it is until its labels are written; got other pixels in "
            f"{part} than before. Remove what was begun, and run again."
        )
        raise ChangedInputError(message)
    staged = stage_block(pixels, job.device)
    with own_gpu(job.device):
        labels = solve(_problem(job, staged)).labels
        counts = _count(job, block, labels, values, load)
        final = _renumbered(labels, numbers, output, part)
    if job.painted is not None:
        final = job.painted(pixels, final)
    return _store(job, block, output, final, counts)


def _store(
    job: Job, block: int, output: Output, final: HostArray, counts: Sequence[HostArray]
) -> int:
    """Write the final labels of a block, and store that this is done."""
    if final is not None:
        if final.dtype != output.dtype:
            final = final.view(output.dtype)  # an unsigned type of the same size
        output.write(job.blocks.slices(block), final)
    known = checksum(final) if job.saved.lasting else 0
    job.saved.save_done(block, (np.array([known]), *counts))
    return block


def _count(
    job: Job, block: int, labels: Array, values: HostArray | None, load: Load
) -> Sequence[HostArray]:
    """Count a block if something is measured; intensities are read if they were not."""
    if job.counted is None:
        return ()
    if values is None and job.counted.intensity:
        values = cast("GrayPart", load).values()
    labels = fetch(labels)
    if labels.itemsize < 4:
        labels = labels.astype(np.int32)
    return job.counted.count(job.saved, job.blocks, block, labels, values)


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

    def over(self, step: str, done: int, total: int, results: Iterable[Any]) -> Iterator[Any]:
        """Yield the results of a step; report its begin, and one more block after each result."""
        self.notify(step, done, total)
        for number, result in enumerate(results, done + 1):
            yield result
            self.notify(step, number, total)

    def notify(self, *news: Any) -> None:
        """Report a step, blocks done, and all blocks."""
        if self.report is not None:
            self.report(*news)


def number_blocks(job: Job, source: Readable, run: Run, progress: Progress) -> int:
    """Label all blocks that are not labeled yet, and number the components of the whole image.

    Returns the number of labels. `run` is that of a started `Engine`.
    """
    blocks, saved = job.blocks, job.saved
    ready = [block for block in range(blocks.number) if saved.has_part(block)]
    counts = np.zeros(blocks.number, np.int64)
    for block in ready:
        counts[block] = len(saved.part(block).firsts)
    rest = sorted(set(range(blocks.number)) - set(ready))
    tasks = ((job, block, source.loader(blocks.slices(block))) for block in rest)
    results = run(label_block, tasks)
    for block, count in progress.over("label", len(ready), blocks.number, results):
        counts[block] = count
    offsets = np.zeros(blocks.number + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    pairs = _compare(job, run, progress)
    device = "cpu" if job.held is None else job.device
    labels, count = number_components(saved, offsets, pairs, job.select, device)
    saved.save_numbers(labels, offsets)
    return count


def _compare(
    job: Job, run: Run, progress: Progress
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Yield the pairs of components of all blocks that touch, in any order."""
    total = job.blocks.number
    if total == 1 and not any(job.blocks.periodic):
        return
    some_blocks = min(TOGETHER, -(-total // TASKS))
    starts = range(0, total, some_blocks)
    groups = [range(start, min(start + some_blocks, total)) for start in starts]
    results = run(compare_blocks, ((job, group) for group in groups))
    for found in progress.over("merge", 0, len(groups), results):
        yield from found


def write_blocks(
    job: Job, source: Readable, output: Output, run: Run, progress: Progress, *, fresh: bool
) -> None:
    """Write the final labels of all blocks that are not written yet; if `fresh`, of all blocks."""
    blocks = job.blocks
    rest = list(range(blocks.number)) if fresh else _unwritten(job.saved, blocks, output, run)
    tasks = ((job, block, source.loader(blocks.slices(block)), output) for block in rest)
    done = blocks.number - len(rest)
    for _ in progress.over("write", done, blocks.number, run(write_block, tasks)):
        pass
    FACES.clear()


def write_masks(
    saved: Saved,
    blocks: Blocks,
    source: Readable,
    output: Output,
    run: Run,
    progress: Progress,
) -> None:
    """Compute and write the masks of all blocks that are not written yet."""
    rest = _unwritten(saved, blocks, output, run)
    parts = ((block, source.loader(blocks.slices(block))) for block in rest)
    results = run(write_mask, ((saved, blocks, *part, output) for part in parts))
    for _ in progress.over("write", blocks.number - len(rest), blocks.number, results):
        pass


def _unwritten(saved: Saved, blocks: Blocks, output: Output, run: Run) -> list[int]:
    """List the blocks that are not written, or have changed since."""
    known = [block for block in range(blocks.number) if saved.has_done(block)]
    intact = run(check_block, ((saved, blocks, block, output) for block in known))
    return sorted(set(range(blocks.number)) - {block for block, whole in intact if whole})
