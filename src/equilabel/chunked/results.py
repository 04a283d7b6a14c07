"""Labels of a whole image: in an array, or returned in the form of the image."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import check_callable
from equilabel.storage.errors import naming_full_disk, refuse_without_room
from equilabel.storage.files import flush_file, flush_folder, folder_for, is_folder, is_remote
from equilabel.storage.ome_zarr import is_zarr
from equilabel.storage.remote import copy_tree
from equilabel.storage.table import PARTS, TABLE, read_parts, write_table

from .checkpoints import (
    MANIFEST,
    Saved,
    blocks_together,
    check_manifest,
    temporary,
    unfinished,
)
from .engine import active_client
from .ome_labels import consolidate, register, shrink, with_levels, write_description
from .outputs import (
    HeldLabels,
    Output,
    chunks_of,
    create_zarr,
    is_in_memory,
    zarr_at,
)
from .sources import folder_of
from .tasks import ChangedInputError, number_blocks, write_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd

    from equilabel.array_types import HostArray

    from .engine import Engine, Run
    from .ome_labels import OmeLabels
    from .sources import Loader, Source
    from .tasks import Setup


@dataclass(frozen=True)
class Job:
    """An image to label, and where and how its labels are stored."""

    source: Source
    prepare: Callable[[Saved, Run], tuple[Setup, Loader]]
    """Does what comes before the blocks; returns the setup, and the loader of its pixels."""
    out: Any  # Path or UPath; None: memory, or a folder that is removed with the result
    chunks: tuple[int, ...]  # sides of the chunks of a Zarr
    shards: tuple[int, ...] | None  # sides of the shards of a Zarr: those of a block
    resume: bool
    arguments: Mapping[str, Any]  # on which labels depend, as JSON
    ome: OmeLabels | None = None  # if `out` becomes an OME-Zarr
    into: Any = None  # NumPy or Zarr array that takes the labels, instead of `out`
    finish: Callable[[Setup, Any, Run, Any], pd.DataFrame | None] = lambda *_: None
    """Returns the table when all labels are written, or writes it to a folder, if there is one."""


class Whole(NamedTuple):
    """Results for a whole image."""

    labels: Any  # a NumPy, Dask or Zarr array, or a Path
    num: int
    table: Any
    attributes: Mapping[str, Any]  # stored with the labels, as JSON


FORMAT = 4  # of checkpoints
KEY = "equilabel"  # in the attributes of labels
AGAIN = "Make room, and run again with resume=True."
ELSEWHERE = "Make room, or name another folder in TMPDIR."
DESCRIPTIONS = ("zarr.json", ".zattrs", ".zarray", ".zgroup")
LARGEST = np.iinfo(np.int32).max


def label_whole(job: Job, engine: Engine, report: Any) -> Whole:
    """Label all blocks of an image, and return its labels."""
    report = check_callable("progress", report)
    place = Path(tempfile.gettempdir()) if job.out is None else job.out
    with naming_store(place), naming_full_disk(place, AGAIN if job.out else ELSEWHERE):
        memory = job.out is None and job.source.kind == "numpy" and engine.shares_memory
        label = _label_into if job.into is not None or memory else _label
        return label(job, engine, report)


@contextmanager
def naming_store(place: Any) -> Iterator[None]:
    """Name the store in the errors of its library, which say little."""
    try:
        yield
    except OSError as error:
        ours = type(error).__module__.startswith("equilabel") or isinstance(error, FileExistsError)
        if ours or not is_remote(place):
            raise
        message = (
            f"out must be in a store that can be read and written; got {error} for {str(place)!r}. "
            "What is done there is kept: correct that, and run again with resume=True."
        )
        raise type(error)(message) from error


def _label(job: Job, engine: Engine, report: Any) -> Whole:
    """Label all blocks of an image into a Zarr, at `out` or in a temporary folder."""
    source, out, resume = job.source, job.out, job.resume
    there = out is not None and _exists(out)
    if not (there or is_remote(out) or (out and resume and folder_for(out).exists())):
        refuse_without_room(out or Path(tempfile.gettempdir()), prod(source.shape))
    manifest = describe(job) if out is not None else {}
    if there:
        return _earlier(job, manifest)
    place_of_run = temporary() if out is None else unfinished(out, manifest, resume=resume)
    with place_of_run as folder, engine.started(report) as run:
        made = folder / "labels"
        saved = Saved(folder, together=blocks_together(source.shape, job.arguments["blocks"]))
        setup, pixels, count = _numbered(job, engine, saved, run)
        output: Any = _output(made, job, count)
        if job.ome is not None:
            output = with_levels(made, job.ome, output, setup.blocks, out)
        write_blocks(setup, pixels, output, run, fresh=not resume)
        parts = None if out is None or find_spec("pyarrow") is None else made / PARTS
        table = job.finish(setup, parts, run, output.array)
        _refuse_changed(source, manifest)
        if table is not None:
            write_table(made / TABLE, table)
        ours = {KEY: {"num": count, "manifest": manifest, **setup.attributes}}
        if job.ome is None:
            zarr_at(made, read_only=False).attrs.update(ours)
        else:
            how = (saved, run, prod(setup.blocks.sides), out)
            shrink(made, job.ome, output, *how)
            write_description(made, job.ome, out.name, output.levels, table, ours)
        if out is None:
            path = Path(tempfile.mkdtemp(prefix="equilabel-"), "labels.zarr")
            shutil.move(made, path)
            labels = _as(source.kind, path, temporary=True)
            return Whole(labels, count, table, setup.attributes)
        if is_remote(out):  # chunks are there, and no Zarr before it is described
            copy_tree(made, out, last=DESCRIPTIONS)
        else:
            flush_descriptions(made)
            os.replace(made, out)  # noqa: PTH105 - atomic, and says so
            flush_folder(out.parent)
    return _opened(job, count, table, setup.attributes)


def _refuse_changed(source: Source, manifest: Mapping[str, Any]) -> None:
    """Raise ChangedInputError if files of the image have changed; missing chunks read as zeros."""
    known = manifest.get("image", {})
    if "files" not in known:
        return
    now = None
    with suppress(OSError):  # they are gone
        now = source.identity()
    if now != known:
        message = (
            "label_image must stay as it is until its labels are written; got other files than at "
            "the beginning. Remove what was begun, and run again."
        )
        raise ChangedInputError(message)


def _exists(out: Any) -> bool:
    """Return whether something is at `out`; those of a run that goes on do not count."""
    if not is_remote(out):
        return os.path.lexists(out)
    return is_zarr(out) or (out.exists() and not (folder_for(out) / MANIFEST).exists())


def _label_into(job: Job, engine: Engine, report: Any) -> Whole:
    """Label all blocks into an array of the caller, or a new one of NumPy if None.

    If it is in memory, so are the results of blocks. An array of NumPy holds the labels of blocks
    before the final ones.
    """
    shape = job.source.shape
    array = np.empty(shape, np.int32) if job.into is None else job.into
    with ExitStack() as stack:
        saved, kept = Saved(), None
        if isinstance(array, np.ndarray):
            array = array.view(f"i{array.itemsize}")
            kept = Output(lambda: array)
        elif not is_in_memory(array):
            folder = folder_of(array)
            if folder is not None:
                refuse_without_room(Path(folder), prod(shape))
            some = blocks_together(shape, job.arguments["blocks"])
            saved = Saved(stack.enter_context(temporary()), together=some)
        run = stack.enter_context(engine.started(report))
        setup, pixels, count = _numbered(job, engine, saved, run, kept)
        if job.into is None and count > LARGEST:
            array = array.astype(np.int64)
        elif job.into is not None and count > np.iinfo(job.into.dtype).max:
            message = f"out must be able to hold {count:,} labels; got type {job.into.dtype}."
            raise ValueError(message)
        write_blocks(setup, pixels, Output(lambda: array), run, fresh=True)
        table = job.finish(setup, None, run, array)
    return Whole(array if job.into is None else job.into, count, table, setup.attributes)


def _numbered(
    job: Job, engine: Engine, saved: Saved, run: Run, kept: Output | None = None
) -> tuple[Setup, Loader, int]:
    """Label all blocks, which GPUs keep for threads; return setup, loader and number."""
    setup, pixels = job.prepare(saved, run)
    setup = replace(setup, kept=kept)
    if setup.device.startswith("cuda") and engine.shares_memory:
        setup = replace(setup, held=HeldLabels(setup.device, setup.blocks, engine.workers))
    return setup, pixels, number_blocks(setup, pixels, run)


def describe(job: Job) -> dict[str, Any]:
    """Return the manifest of a run, which must be the same for a run that resumes it."""
    try:
        ours = version("equilabel")
    except PackageNotFoundError:
        ours = "unknown"
    return {
        "format": FORMAT,
        "version": ours,
        "shape": list(job.source.shape),
        "type": job.source.dtype.str,
        "image": job.source.identity(),
        "chunks": list(job.chunks),
        "shards": None if job.shards is None else list(job.shards),
        **job.arguments,
    }


def _output(made: Any, job: Job, count: int) -> Output:
    """Create the array for labels."""
    dtype = np.dtype(np.int32 if count <= LARGEST else np.int64)
    path, form = made, {}
    if job.ome is not None:
        dtype = np.dtype(np.uint32 if count < 2**32 else np.uint64)
        path, form = made / "0", job.ome.form
    elif job.out and not job.shards and (job.out.parent / ".zgroup").is_file():
        form = {"zarr_format": 2}  # that of the group that it belongs to
    create_zarr(path, job.source.shape, job.chunks, dtype, shards=job.shards, **form)
    return Output.at(path, chunks_of(path, made, job.out))


def _earlier(job: Job, manifest: Mapping[str, Any]) -> Whole:
    """Return existing labels at `out` if they have the same manifest."""
    out = job.out
    known: Any = None
    if job.resume and is_zarr(out):
        known = dict(zarr_at(out).attrs).get(KEY)
    if known is None:
        message = (
            f"out must be a path where nothing is yet; got {str(out)!r}. "
            "Remove what is there, or choose another path."
        )
        raise FileExistsError(message)
    check_manifest(known["manifest"], manifest, str(out))
    return _opened(job, known["num"], None, known)


def _opened(job: Job, num: int, table: Any, attributes: Mapping[str, Any]) -> Whole:
    """Return the labels at `out`, which are added to what their image says of its labels."""
    if job.ome is not None:
        register(job.ome, job.out)
    consolidate(job.out)
    table = read_parts(job.out) if table is None else table
    return Whole(_as(job.source.kind, job.out), num, table, attributes)


def _as(kind: str, path: Any, *, temporary: bool = False) -> Any:
    """Return the labels at a path in the form of the image that was passed."""
    if kind == "path":
        return path
    array = open_labels(path)
    if kind == "numpy" and temporary:
        labels: HostArray = np.asarray(array[...])
        shutil.rmtree(path.parent)
        return labels
    if temporary:  # a client may still read what the array was for
        weakref.finalize(active_client() or array, shutil.rmtree, path.parent, ignore_errors=True)
    if kind == "dask":
        import dask.array

        return dask.array.from_zarr(array)
    return array


def open_labels(path: Any) -> Any:
    """Open the array of labels at a path; of an OME-Zarr, the full resolution."""
    return zarr_at(path / "0" if is_zarr(path / "0") else path)


def flush_descriptions(folder: Path) -> None:
    """Flush the files of a Zarr to the disk that no worker has flushed: all but chunks."""
    for inside in (folder, *filter(is_folder, folder.iterdir())):
        for file in inside.iterdir():
            if file.is_file():
                flush_file(file)
        flush_folder(inside)
