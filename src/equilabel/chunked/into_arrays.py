"""Labels of a whole image in an array of this process: a new NumPy array, or one of the caller."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.storage.shortage import refuse_without_room

from .block_runs import Kept
from .checkpoints import Checkpoints
from .held import HeldLabels
from .in_memory import MemoryCheckpoints
from .outputs import ArrayOutput, StoredOutput, is_in_memory
from .running import Progress, number_blocks, write_blocks
from .targets import Found, Steps, Whole
from .workfolder import new_token, temporary
from .zarr_source import folder_of

if TYPE_CHECKING:
    from .checkpoints import Saved
    from .engine import Engine
    from .job import Job
    from .sources import Source

LARGEST = np.iinfo(np.int32).max


def label_in_memory(steps: Steps, source: Source, engine: Engine, progress: Progress) -> Whole:
    """Label all blocks of an array in memory.

    Blocks are kept as runs until labels are final, so that no block is labeled twice.
    """
    kept = Kept(source.shape)
    with engine.started() as run:
        job, pixels = steps.make_job(MemoryCheckpoints(), run, progress)
        job = held_on_gpus(replace(job, kept=kept), engine)
        numbers = number_blocks(job, pixels, run, progress, steps.select)
        if numbers.count > LARGEST:
            kept.widen()
        write_blocks(job, pixels, ArrayOutput(kept.array), run, progress, fresh=True)
        found = Found() if steps.finish is None else steps.finish(job)
    return Whole(kept.array, numbers.count, found)


def label_into(steps: Steps, array: Any, engine: Engine, progress: Progress) -> Whole:
    """Label all blocks of an image into an array of the caller.

    If this array is in memory, the results of blocks are, too.
    """
    mine = isinstance(array, np.ndarray)
    with ExitStack() as stack:
        saved: Saved = MemoryCheckpoints()
        if not is_in_memory(array):
            folder = folder_of(array)
            if folder is not None:
                refuse_without_room(Path(folder), prod(array.shape))
            saved = Checkpoints(str(stack.enter_context(temporary())), new_token())
        run = stack.enter_context(engine.started())
        job, pixels = steps.make_job(saved, run, progress)
        signed = np.dtype(f"i{array.dtype.itemsize}")
        kept = Kept(array.shape, array.view(signed)) if mine else None
        job = held_on_gpus(replace(job, kept=kept), engine)
        numbers = number_blocks(job, pixels, run, progress, steps.select)
        if numbers.count > np.iinfo(array.dtype).max:
            message = f"out must be able to hold {numbers.count:,} labels; got type {array.dtype}."
            raise ValueError(message)
        output = StoredOutput(array) if kept is None else ArrayOutput(kept.array)
        write_blocks(job, pixels, output, run, progress, fresh=True)
    return Whole(array, numbers.count, Found())


def held_on_gpus(job: Job, engine: Engine) -> Job:
    """Return a job whose blocks stay on GPUs if it is for GPUs and its workers are threads."""
    device = job.rule.device
    if not (device.startswith("cuda") and engine.shares_memory):
        return job
    return replace(job, held=HeldLabels(device, job.blocks, engine.workers))
