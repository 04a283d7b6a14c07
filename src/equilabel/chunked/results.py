"""Labels of a whole image: in an array, or returned in the form of the image."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from math import prod
from pathlib import Path
from types import MappingProxyType
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
    Checkpoints,
    MemoryCheckpoints,
    blocks_together,
    check_manifest,
    new_token,
    temporary,
    unfinished,
)
from .engine import Progress
from .ome_labels import begin_levels, consolidate, register, shrink, write_description
from .outputs import (
    ArrayOutput,
    HeldLabels,
    Kept,
    ZarrOutput,
    chunks_of,
    create_zarr,
    is_in_memory,
    zarr_at,
)
from .sources import folder_of
from .tasks import ChangedInputError, number_blocks, write_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas as pd

    from equilabel.array_types import HostArray

    from .checkpoints import Saved
    from .engine import Engine, MapTasks
    from .ome_labels import OmeLabels, Pyramid
    from .sources import Readable, Source
    from .tasks import Setup


class Target(NamedTuple):
    """Destination of labels, and how they are stored."""

    out: Any  # Path or UPath; None: memory, or a folder that is removed with the result
    chunks: tuple[int, ...]  # sides of the chunks of a Zarr
    resume: bool
    arguments: Mapping[str, Any]  # on which labels depend, as JSON
    ome: OmeLabels | None = None  # if `out` becomes an OME-Zarr
    shards: tuple[int, ...] | None = None  # sides of the shards of a Zarr: those of a block
    into: Any = None  # NumPy or Zarr array that takes the labels, instead of `out`


class Found(NamedTuple):
    """Results besides labels."""

    table: Any = None
    attributes: Mapping[str, Any] = MappingProxyType({})  # stored with the labels, as JSON


class Stages(NamedTuple):
    """Stages in which labeling and segmenting differ: those before and after the blocks."""

    prepare: Callable[[Saved, MapTasks, Progress], tuple[Setup, Readable]]
    """Returns the setup, and the source of its pixels; may store results and map tasks."""
    finish: Callable[[Setup, Any, MapTasks, Progress], Found] | None = None
    """Called when all blocks are written; may write the table to a folder, if there is one."""


class Whole(NamedTuple):
    """Results for a whole image."""

    labels: Any  # a NumPy, Dask or Zarr array, or a Path
    num: int
    found: Found


FORMAT = 3  # of checkpoints
KEY = "equilabel"  # in the attributes of labels
AGAIN = "Make room, and run again with resume=True."
ELSEWHERE = "Make room, or name another folder in TMPDIR."
DESCRIPTIONS = ("zarr.json", ".zattrs", ".zarray", ".zgroup")
LARGEST = np.iinfo(np.int32).max


def label_whole(
    stages: Stages,
    source: Source,
    target: Target,
    engine: Engine,
    report: Callable[[str, int, int], None] | None,
) -> Whole:
    """Label all blocks of an image, and return its labels."""
    place = Path(tempfile.gettempdir()) if target.out is None else target.out
    with naming_store(place), naming_full_disk(place, AGAIN if target.out else ELSEWHERE):
        progress = Progress(check_callable("progress", report))
        return _label(stages, source, target, engine, progress, place)


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


def _label(
    stages: Stages, source: Source, target: Target, engine: Engine, progress: Progress, place: Any
) -> Whole:
    """Label all blocks of an image; `place` is a folder on the disk that takes its labels."""
    out, resume, kind = target.out, target.resume, source.kind
    if target.into is not None or (out is None and kind == "numpy" and engine.shares_memory):
        sides = target.arguments["blocks"]
        return _label_into(target.into, source.shape, sides, stages, engine, progress)
    there = out is not None and _exists(out)
    if not (there or is_remote(out) or (out and resume and folder_for(out).exists())):
        refuse_without_room(place, prod(source.shape))
    manifest = describe(source, target) if out is not None else {}
    if there:
        return _earlier(out, manifest, source, target)
    place_of_run = temporary() if out is None else unfinished(out, manifest, resume=resume)
    with place_of_run as folder, engine.started() as map_tasks:
        some = blocks_together(source.shape, target.arguments["blocks"])
        saved = Checkpoints(folder, new_token(), some)
        setup, pixels = stages.prepare(saved, map_tasks, progress)
        setup = _held_on_gpus(setup, engine)
        count = number_blocks(setup, pixels, map_tasks, progress)
        output = _output(folder, source, target, count, saved.token)
        if target.ome is not None:
            how: Any = {"out": out, "fresh": not resume}
            pyramid = begin_levels(folder / "labels", target.ome, output, setup.blocks, **how)
            setup = replace(setup, pyramid=pyramid)
        write_blocks(setup, pixels, output, map_tasks, progress, fresh=not resume)
        made = folder / "labels"
        parts = None if out is None or find_spec("pyarrow") is None else made / PARTS
        found = (
            Found() if stages.finish is None else stages.finish(setup, parts, map_tasks, progress)
        )
        _refuse_changed(source, manifest)
        ours = {KEY: {"num": count, "manifest": manifest, **found.attributes}}
        _complete(made, output, target, setup.pyramid, found.table, ours, map_tasks, progress)
        if out is None:
            path = Path(tempfile.mkdtemp(prefix="equilabel-"), "labels.zarr")
            shutil.move(made, path)
            return Whole(_as(kind, path, temporary=True), count, found)
        if is_remote(out):  # chunks are there, and no Zarr before it is described
            copy_tree(made, out, last=DESCRIPTIONS)
        else:
            flush_descriptions(made)
            os.replace(made, out)  # noqa: PTH105 - atomic, and says so
            flush_folder(out.parent)
    _make_known(out, target)
    if found.table is None:
        found = found._replace(table=read_parts(out))
    return Whole(_as(kind, out), count, found)


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
        return bool(out.exists())
    return is_zarr(out) or (out.exists() and not (folder_for(out) / MANIFEST).exists())


def _label_into(
    array: Any,
    shape: tuple[int, ...],
    sides: Sequence[int],
    stages: Stages,
    engine: Engine,
    progress: Progress,
) -> Whole:
    """Label all blocks of an image into an array of the caller, or a new one of NumPy if None.

    If this array is in memory, the results of blocks are, too. Those of an array of NumPy are kept
    as runs until labels are final, so that no block is labeled twice.
    """
    with ExitStack() as stack:
        saved: Saved = MemoryCheckpoints()
        if array is not None and not is_in_memory(array):
            folder = folder_of(array)
            if folder is not None:
                refuse_without_room(Path(folder), prod(shape))
            some = blocks_together(shape, sides)
            saved = Checkpoints(stack.enter_context(temporary()), new_token(), some)
        map_tasks = stack.enter_context(engine.started())
        setup, pixels = stages.prepare(saved, map_tasks, progress)
        kept = None
        if array is None:
            kept = Kept(shape)
        elif isinstance(array, np.ndarray):
            kept = Kept(shape, array.view(f"i{array.itemsize}"))
        setup = _held_on_gpus(replace(setup, kept=kept), engine)
        count = number_blocks(setup, pixels, map_tasks, progress)
        if array is None and count > LARGEST and kept is not None:
            kept.widen()
        elif array is not None and count > np.iinfo(array.dtype).max:
            message = f"out must be able to hold {count:,} labels; got type {array.dtype}."
            raise ValueError(message)
        output = ZarrOutput(lambda: array) if kept is None else ArrayOutput(kept.array)
        write_blocks(setup, pixels, output, map_tasks, progress, fresh=True)
        found = (
            Found() if stages.finish is None else stages.finish(setup, None, map_tasks, progress)
        )
    return Whole(kept.array if array is None and kept is not None else array, count, found)


def _held_on_gpus(setup: Setup, engine: Engine) -> Setup:
    """Return a setup whose blocks stay on GPUs if it is for GPUs and its workers are threads."""
    if not (setup.device.startswith("cuda") and engine.shares_memory):
        return setup
    return replace(setup, held=HeldLabels(setup.device, setup.blocks, engine.workers))


def describe(source: Source, target: Target) -> dict[str, Any]:
    """Return the manifest of a run, which must be the same for a run that resumes it."""
    try:
        ours = version("equilabel")
    except PackageNotFoundError:
        ours = "unknown"
    return {
        "format": FORMAT,
        "version": ours,
        "shape": list(source.shape),
        "type": source.dtype.str,
        "image": source.identity(),
        "chunks": list(target.chunks),
        "shards": None if target.shards is None else list(target.shards),
        **target.arguments,
    }


def _output(folder: Any, source: Source, target: Target, count: int, token: str) -> ZarrOutput:
    """Create the array for labels."""
    dtype = np.dtype(np.int32 if count <= LARGEST else np.int64)
    path = folder / "labels"
    form: dict[str, Any] = {}
    if target.ome is not None:
        dtype = np.dtype(np.uint32 if count < 2**32 else np.uint64)
        path, form = path / "0", target.ome.form
    elif target.out and not target.shards and (target.out.parent / ".zgroup").is_file():
        form = {"zarr_format": 2}  # that of the group that it belongs to
    create_zarr(path, source.shape, target.chunks, dtype, shards=target.shards, **form)
    return ZarrOutput.at(path, token, chunks_of(path, folder / "labels", target.out))


def _complete(
    folder: Any,
    output: ZarrOutput,
    target: Target,
    pyramid: Pyramid | None,
    table: pd.DataFrame | None,
    ours: dict[str, Any],
    map_tasks: MapTasks,
    progress: Progress,
) -> None:
    """Write what accompanies labels: lower resolutions, a table, and how they were made."""
    if table is not None:
        write_table(folder / TABLE, table)
    if target.ome is None or pyramid is None:
        zarr_at(folder, read_only=False).attrs.update(ours)
        return
    shrink(folder, target.ome, output, pyramid, map_tasks, progress, target.out)
    write_description(folder, target.ome, target.out.name, pyramid.levels, table, ours)


def _earlier(out: Any, manifest: Mapping[str, Any], source: Source, target: Target) -> Whole:
    """Return existing labels at `out` if they have the same manifest."""
    known: Any = None
    if target.resume and is_zarr(out):
        known = dict(zarr_at(out).attrs).get(KEY)
    if known is None:
        message = (
            f"out must be a path where nothing is yet; got {str(out)!r}. "
            "Remove what is there, or choose another path."
        )
        raise FileExistsError(message)
    check_manifest(known["manifest"], manifest, str(out))
    _make_known(out, target)  # the last stage, which a killed run may have missed
    return Whole(_as(source.kind, out), known["num"], Found(read_parts(out), known))


def _make_known(out: Any, target: Target) -> None:
    """Add labels to the list of their image and to consolidated metadata."""
    if target.ome is not None:
        register(target.ome, out)
    consolidate(out)


def _as(kind: str, path: Any, *, temporary: bool = False) -> Any:
    """Return the labels at a path in the form of the image that was passed."""
    if kind == "path":
        return path
    array = open_labels(path)
    if kind == "numpy" and temporary:
        labels: HostArray = np.asarray(array[...])
        shutil.rmtree(path.parent)
        return labels
    if temporary:
        weakref.finalize(array, shutil.rmtree, path.parent, ignore_errors=True)
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
