"""Labels of a whole image, in the form in which a caller passed the image."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .checkpoints import Checkpoints
from .outputs import ArrayOutput, ZarrOutput, create_zarr
from .running import Progress, number_blocks, write_blocks
from .workfolder import check_manifest, new_token, temporary, unfinished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from equilabel.array_types import HostArray

    from .engine import Engine
    from .sources import Source
    from .tasks import Job

FORMAT = 1  # of checkpoints
KEY = "equilabel"  # of the attributes of labels
LARGEST = np.iinfo(np.int32).max


class Target(NamedTuple):
    """Where labels go, and how.

    Attributes
    ----------
    out : Path, or None
        None: to memory, or to a folder that goes with the result.
    chunks : tuple of int
        Sides of the chunks of a Zarr.
    resume : bool
    arguments : mapping
        What labels depend on beside the image, as JSON.
    """

    out: Path | None
    chunks: tuple[int, ...]
    resume: bool
    arguments: Mapping[str, Any]


class Whole(NamedTuple):
    """What was made.

    Attributes
    ----------
    labels : array of NumPy, Dask or Zarr, or Path
    num : int
    """

    labels: Any
    num: int


def label_whole(
    make_job: Callable[[Checkpoints], Job],
    source: Source,
    target: Target,
    engine: Engine,
    report: Callable[[str, int, int], None] | None,
    select: Callable[..., Any] | None = None,
) -> Whole:
    """Label all blocks of an image, and return its labels."""
    out, resume = target.out, target.resume
    progress = Progress(report)
    manifest = describe(source, target) if out is not None else {}
    if out is not None and out.exists():
        return _earlier(out, manifest, source, resume=resume)
    with _folder(out, manifest, resume=resume) as folder, engine.started() as run:
        job = make_job(Checkpoints(str(folder), new_token()))
        found = number_blocks(job, source, run, progress, select)
        dtype = np.dtype(np.int32 if found.count <= LARGEST else np.int64)
        output = _output(folder, source, target, engine, dtype, job.saved.token)
        write_blocks(job, source, output, run, progress, fresh=not resume)
        if isinstance(output, ArrayOutput):
            return Whole(output.array, found.count)
        _describe_labels(output.path, manifest, found.count)
        if out is None:
            path = Path(tempfile.mkdtemp(prefix="equilabel-"), "labels.zarr")
            shutil.move(output.path, path)
            return Whole(_as(source.kind, path, temporary=True), found.count)
        flush()
        os.replace(output.path, out)  # noqa: PTH105 - atomic, and says so
    return Whole(_as(source.kind, out), found.count)


def describe(source: Source, target: Target) -> dict[str, Any]:
    """Return what a run that goes on has to have in common with the one that was killed."""
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
        **target.arguments,
    }


@contextmanager
def _folder(out: Path | None, manifest: Mapping[str, Any], *, resume: bool) -> Iterator[Path]:
    """Make the folder of a run."""
    with temporary() if out is None else unfinished(out, manifest, resume=resume) as folder:
        yield folder


def _output(
    folder: Path,
    source: Source,
    target: Target,
    engine: Engine,
    dtype: np.dtype[Any],
    token: str,
) -> ArrayOutput | ZarrOutput:
    """Make room for labels."""
    if target.out is None and source.kind == "numpy" and engine.shares_memory:
        return ArrayOutput(np.empty(source.shape, dtype))
    create_zarr(folder / "labels", source.shape, target.chunks, dtype)
    return ZarrOutput(str(folder / "labels"), dtype.name, token)


def _describe_labels(path: str, manifest: Mapping[str, Any], count: int) -> None:
    """Store with labels how they were made."""
    import zarr

    zarr.open_array(path, mode="r+").attrs[KEY] = {"num": count, "manifest": dict(manifest)}


def _earlier(out: Path, manifest: Mapping[str, Any], source: Source, *, resume: bool) -> Whole:
    """Return labels that are there already, if they are those asked for."""
    known: Any = None
    if resume:
        import zarr

        known = dict(zarr.open(out, mode="r").attrs).get(KEY)
    if known is None:
        message = (
            f"out must be a path where nothing is yet; got {str(out)!r}. "
            "Remove what is there, or choose another path."
        )
        raise FileExistsError(message)
    check_manifest(known["manifest"], manifest, str(out))
    return Whole(_as(source.kind, out), known["num"])


def _as(kind: str, path: Path, *, temporary: bool = False) -> Any:
    """Return the labels at a path in the form in which the image was passed."""
    if kind == "path":
        return path
    import zarr

    array = zarr.open_array(path, mode="r")
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


def flush() -> None:
    """Bring all that was written to the disk, so that a name does not come before what it names."""
    if hasattr(os, "sync"):
        os.sync()
