"""Which images are labeled in chunks, and what cannot be done with them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING

from equilabel import segment, segment_chunked
from equilabel.storage.images import TIFF
from equilabel.storage.memory import readable
from equilabel.storage.ome_zarr import is_zarr

from .forecast import forecast
from .inputs import FILE, kind_of
from .names import quoted
from .options import RefusedError
from .typed import SEGMENT

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from .options import Options

# Options that `segment_chunked` takes as `segment` does; others need all pixels at once.
TAKEN = tuple(name for name in SEGMENT if name in signature(segment_chunked).parameters)
OWN = ("chunks", "shards", "scheduler", "workers", "resume")  # which only images in chunks have


@dataclass(frozen=True)
class Choices:
    """How an image is labeled in chunks.

    Attributes
    ----------
    chunks : int or tuple of int, optional
        Sides of blocks.
    scheduler : str
    workers : int, optional
    resume, overwrite : bool
        What becomes of earlier results.
    why : str
        Why the image is labeled in chunks.
    typed : collection of str
        Names of the options that were typed.
    shards : bool, optional
        Whether labels are stored in shards.
    """

    chunks: int | tuple[int, ...] | None = None
    scheduler: str = "threads"
    workers: int | None = None
    resume: bool = False
    overwrite: bool = False
    why: str = ""
    typed: Collection[str] = ()
    shards: bool | None = None


def why_chunked(path: Path, options: Options, *, chunked: bool) -> str:
    """Return why an image is labeled in chunks; "" if it is labeled in memory.

    Raises
    ------
    RefusedError
        If it cannot be labeled in chunks, though that was asked for.
    """
    if is_zarr(path):
        return "a Zarr"
    is_tiff = kind_of(path) == FILE and path.suffix.lower() in TIFF
    if chunked:
        if not is_tiff:
            message = f"--chunked needs a TIFF or a Zarr; got {quoted(path)}. Leave it out."
            raise RefusedError(message)
        return "--chunked"
    if not is_tiff or options.series or find_spec("zarr") is None:
        return ""
    need, limit = _need(path, options), options.memory_limit
    if limit is None or need <= limit:
        return ""
    return (
        f"an image that takes about {readable(need)} of memory, more than --memory-limit "
        f"{readable(limit)}"
    )


def _need(path: Path, options: Options) -> int:
    """Return the bytes that labeling a TIFF in memory takes; 0 if that is not known."""
    from equilabel.storage.headers import read_header

    try:
        return forecast(read_header(path), options)
    except Exception:  # it is told when the file is read
        return 0


def refuse_own(typed: Collection[str]) -> None:
    """Raise RefusedError if an option was typed that only images in chunks have."""
    for name in OWN:
        if name in typed:
            message = (
                f"--{name} needs an image in chunks: a Zarr, or a TIFF with --chunked; got "
                "neither. Leave it out, or pass --chunked."
            )
            raise RefusedError(message)


def check_choices(options: Options, choices: Choices) -> None:
    """Raise RefusedError if options ask for what cannot be done block by block."""
    given, usual = options.segment, signature(segment).parameters
    refused: dict[str, object] = {
        name: given[name]
        for name in SEGMENT
        if name not in TAKEN and given[name] != usual[name].default
    }
    if options.slices:
        refused["slices"] = True
    if options.series:
        refused["series"] = options.series
    if "overlay" in choices.typed and options.overlay:
        refused["overlay"] = True
    if "labels_format" in choices.typed and options.labels_format == "tiff":
        refused["labels_format"] = options.labels_format
    for name in refused:
        remedy = "Leave it out"
        if "--memory-limit" in choices.why:
            remedy += ", or pass a larger --memory-limit"
        option = f"--{name.replace('_', '-')}"
        message = f"{option} needs the image as a whole, not chunks; got {choices.why}. {remedy}."
        raise RefusedError(message)
    where = choices.scheduler
    if where not in ("threads", "processes") and "://" not in where:
        message = (
            "--scheduler must be threads, processes, or an address such as tcp://host:8786; got "
            f"{where!r}. Leave it out if unsure."
        )
        raise RefusedError(message)
    if choices.resume and choices.overwrite:
        message = "--resume and --overwrite must not be combined; got both. Leave one out."
        raise RefusedError(message)
    if find_spec("zarr") is None:
        message = (
            f"{choices.why} needs zarr and Dask; got none installed. Install them with "
            "`pip install equilabel[dask]`."
        )
        raise RefusedError(message)
