"""Order of a run: label blocks, compare them, number components, write labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .face_cache import FACES
from .merging import Numbers, number_components
from .tasks import compare_blocks, is_written, label_block, write_block, write_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from .blocks import Blocks
    from .checkpoints import Saved
    from .engine import Run
    from .job import Job
    from .outputs import Output
    from .sources import Readable

TOGETHER = 32  # most blocks that are compared in one task
TASKS = 12  # of comparing, if there are enough blocks: more would wait for Python's lock


class Progress(NamedTuple):
    """Reports the progress of a run to the caller."""

    report: Callable[[str, int, int], None] | None  # called with step, blocks done, all blocks

    def begin(self, step: str, done: int, total: int) -> Iterator[None]:
        """Report that a step begins; each `next` reports one more block."""
        while True:
            if self.report is not None:
                self.report(step, done, total)
            yield
            done += 1


def number_blocks(
    job: Job,
    source: Readable,
    run: Run,
    progress: Progress,
    select: Callable[..., NDArray[np.bool_]] | None = None,
) -> Numbers:
    """Label all blocks that are not labeled yet, and number the components of the whole image.

    `run` is that of a started `Engine`; `select` is as for `merging.number_components`.
    """
    blocks, saved = job.blocks, job.saved
    ready = [block for block in range(blocks.number) if saved.has_part(block)]
    counts = np.zeros(blocks.number, np.int64)
    for block in ready:
        counts[block] = len(saved.part(block).firsts)
    rest = sorted(set(range(blocks.number)) - set(ready))
    ticks = progress.begin("label", len(ready), blocks.number)
    next(ticks)
    tasks = ((job, block, source.loader(blocks.slices(block))) for block in rest)
    for block, count in run(label_block, tasks):
        counts[block] = count
        next(ticks)
    offsets = np.zeros(blocks.number + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    pairs = _compare(job, run, progress)
    device = "cpu" if job.held is None else job.rule.device
    found = number_components(saved, offsets, pairs, select, device)
    saved.save_numbers(found.labels, offsets)
    return found


def _compare(
    job: Job, run: Run, progress: Progress
) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """Yield the pairs of components of all blocks that touch, in any order."""
    total = job.blocks.number
    if total == 1 and not any(job.periodic):
        return
    some_blocks = min(TOGETHER, -(-total // TASKS))
    starts = range(0, total, some_blocks)
    groups = [range(start, min(start + some_blocks, total)) for start in starts]
    ticks = progress.begin("merge", 0, len(groups))
    next(ticks)
    for found in run(compare_blocks, ((job, group) for group in groups)):
        yield from found
        next(ticks)


def write_blocks(
    job: Job, source: Readable, output: Output, run: Run, progress: Progress, *, fresh: bool
) -> None:
    """Write the final labels of all blocks that are not written yet; if `fresh`, of all blocks."""
    blocks = job.blocks
    rest = list(range(blocks.number)) if fresh else _unwritten(job.saved, blocks, output, run)
    ticks = progress.begin("write", blocks.number - len(rest), blocks.number)
    next(ticks)
    tasks = ((job, block, source.loader(blocks.slices(block)), output) for block in rest)
    for _ in run(write_block, tasks):
        next(ticks)
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
    ticks = progress.begin("write", blocks.number - len(rest), blocks.number)
    next(ticks)
    parts = ((block, source.loader(blocks.slices(block))) for block in rest)
    for _ in run(write_mask, ((saved, blocks, *part, output) for part in parts)):
        next(ticks)


def _unwritten(saved: Saved, blocks: Blocks, output: Output, run: Run) -> list[int]:
    """List the blocks that are not written, or have changed since."""
    known = [block for block in range(blocks.number) if saved.has_done(block)]
    intact = run(_check, ((saved, blocks, block, output) for block in known))
    return sorted(set(range(blocks.number)) - {block for block, whole in intact if whole})


def _check(saved: Saved, blocks: Blocks, block: int, output: Any) -> tuple[int, bool]:
    """Return the number of a block, and whether it has been written."""
    return block, is_written(saved, blocks, block, output)
