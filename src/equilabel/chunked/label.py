"""`label_chunked`: labels of an image that need not fit into memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equilabel.arguments import check_callable, check_flag
from equilabel.devices import threads
from equilabel.labeling import solve
from equilabel.labeling.problem import make_problem
from equilabel.measuring import check_periodic

from .blocks import Blocks
from .checks import (
    check_array,
    check_chunks,
    check_numbering,
    check_out,
    check_shards,
    pretend,
)
from .engine import Engine
from .outputs import is_in_memory
from .results import Job, label_whole
from .sources import is_array, open_source
from .tasks import Setup

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.devices import Device
    from equilabel.labeling.problem import Problem

    from .checkpoints import Saved
    from .engine import Run
    from .sources import Loader


SMALL = 2**24  # elements


def _is_whole(problem: Problem) -> bool:
    """Return whether the CPU labels an array in memory at once: by runs, or if it is small."""
    by_runs = problem.method.answer == "runs"
    return problem.device == "cpu" and (by_runs or problem.image.size <= SMALL)


def label_chunked(
    label_image: Any,
    background: int | None = None,
    return_num: bool = False,
    connectivity: int | None = None,
    *,
    chunks: int | Sequence[int] | None = None,
    out: Any = None,
    shards: bool | None = None,
    method: str = "auto",
    device: Device = "auto",
    stacked: bool = False,
    periodic: bool | Sequence[bool] = False,
    numbering: Literal["raster", "blocks"] = "raster",
    scheduler: Any = None,
    workers: int | None = None,
    resume: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> Any:
    """Label connected regions of an image that need not fit into memory.

    The labels are exactly those that `label` gives to the whole image, for any chunks and in any
    order of the work, unless `numbering` is "blocks".

    Parameters
    ----------
    label_image : array of Dask, Zarr or NumPy, or path
        Image to label. The path of a Zarr, an OME-Zarr or a TIFF is read chunk by chunk. Each chunk
        is read twice.
    background, return_num, connectivity, method, device, stacked, periodic
        As for `label`.
    chunks : int or sequence of int, optional
        Sides of the blocks that are labeled at once, for all axes or for each; -1 is the whole
        axis. Default: the chunks of a Dask array; the chunks of a Zarr or a TIFF, where small ones
        are joined to blocks of about 16 million elements. Required for NumPy arrays, which threads
        of the CPU label as a whole in raster order, unless a published `method` is chosen and they
        are larger than 16 million elements.
    out : path, or array of NumPy or Zarr, optional
        Where to write labels: the path of a new Zarr, which appears when it is complete; or an
        array of the shape of the image and of 32 or 64 bits, which is overwritten block by block. A
        Zarr array can be in any store; blocks must consist of its chunks. Required if the image is
        a Zarr or a file. Without it, the labels of a Dask array are in a temporary folder, which is
        removed when they are no longer used.
    shards : bool, optional
        Whether labels are stored in shards: one file for each block, which contains its chunks.
        Default: if there would be more than 100,000 chunks.
    numbering : {"raster", "blocks"}
        Order in which objects are numbered from 1: "raster", that of their first pixels in the
        image, as `label` does; or "blocks", that of the blocks that hold their first pixels. The
        latter takes memory only for components that touch the side of a block, but numbers depend
        on `chunks`.
    scheduler : {"threads", "processes", "synchronous"}, address or distributed.Client, optional
        Where tasks run: in threads of this process, in processes of this machine, or on a Dask
        cluster, whose workers need the image and `out` under the same paths. Default: the Dask
        client that is active, if there is one and neither the image nor `out` is in the memory of
        this process; otherwise threads.
    workers : int, optional
        Threads or processes. Default: as many as there are cores.
    resume : bool
        Whether to resume a run with the same `out` that was killed. The labels are the same as
        without interruption.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` with a stage, such as "label" or "write", and
        numbers of blocks. An exception that it raises ends the run, which can be resumed.
    **options
        Options of the method, see `METHODS`.

    Returns
    -------
    labels : array of int32 or int64, or Path
        For a Dask array, a Dask array that reads a Zarr; for a Zarr or NumPy array, an array of the
        same kind; for a path, the path `out`. If `out` is an array, this array.
    num : int
        Number of labels, only with ``return_num=True``.

    Raises
    ------
    TypeError, ValueError
        As for `label`, and if `chunks`, `out`, `scheduler` or `workers` cannot be used.
    ValueError
        If the run to `resume` had another image or other arguments.
    FileExistsError
        If `out` exists.
    RuntimeError
        If another run writes to `out`, or the image changes during the run.

    See Also
    --------
    label, segment_chunked

    Notes
    -----
    Each worker needs about 20 bytes for each element of its block. In addition, about 12 bytes are
    needed for each component of each block, and 16 bytes for each label.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[1, 1, 0, 1], [0, 0, 0, 1], [1, 1, 1, 1]])
    >>> label_chunked(image, chunks=2)
    array([[1, 1, 0, 2],
           [0, 0, 0, 2],
           [2, 2, 2, 2]], dtype=int32)
    """
    source = open_source(label_image)
    stacked, return_num = check_flag("stacked", stacked), check_flag("return_num", return_num)
    resume = check_flag("resume", resume)
    problem = partial(
        make_problem,
        background=background,
        connectivity=connectivity,
        stacked=stacked,
        method=method,
        device=device,
        options=options,
    )
    whole = problem(pretend(source))
    rank, by_blocks = len(source.shape), check_numbering(numbering)
    around = check_periodic(periodic, rank, whole.stacked) if periodic is not False else ()
    into = out if is_array(out) else None
    engine = Engine(scheduler, workers, reachable=not any(map(is_in_memory, (label_image, out))))
    path = check_out(out, source, resume=resume) if into is None else None
    if 0 in source.shape or not rank:
        message = (
            f"label_image must have an axis and no empty one; got shape {source.shape}. "
            "Use `label` for it."
        )
        raise ValueError(message)
    sides = check_chunks(chunks, source)
    if into is not None:
        check_array(into, source, sides, shared=engine.shares_memory, resume=resume)
    in_memory = source.kind == "numpy" and (out is None or isinstance(into, np.ndarray))
    if in_memory and engine.shares_memory and not by_blocks and _is_whole(whole):
        started = engine.started(check_callable("progress", progress))
        with started as run, run.noting("label"), threads.limited(engine.workers):
            found = solve(problem(label_image, periodic=periodic, out=into), counted=True)
        labels = found.labels if into is None else into
        return (labels, found.count) if return_num else labels
    arguments = {
        "background": background,
        "connectivity": whole.connectivity,
        "stacked": whole.stacked,
        "periodic": [bool(one) for one in around],
        "blocks": list(sides),
        "method": whole.method.name,
        "numbering": numbering,
    }

    def prepare(saved: Saved, run: Run) -> tuple[Setup, Loader]:
        setup = Setup(
            blocks=Blocks(source.shape, sides, whole.stacked, tuple(around)),
            problem=problem,
            device=device,
            connectivity=whole.connectivity,
            saved=saved,
            by_blocks=by_blocks,
            turned=whole.numbered_by_columns,
        )
        return setup, source.settled(run, saved, sides).loader

    stored = check_shards(shards, source, sides)
    job = Job(source, prepare, path, *stored, resume, arguments, into=into)
    made = label_whole(job, engine, progress)
    return (made.labels, made.num) if return_num else made.labels
