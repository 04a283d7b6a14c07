"""Check that the libraries for the requested file formats are installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING

from equilabel import segment_chunked
from equilabel.options import SegmentOptions, options_of
from equilabel.storage.images import TIFF
from equilabel.storage.memory import readable
from equilabel.storage.ome_zarr import is_zarr

from .inputs import FILE, kind_of
from .names import quoted
from .options import OME_ZARR, RefusedError
from .trial import forecast

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from .options import Options

# Options of both `segment` and `segment_chunked`; the others need all pixels at once.
TAKEN = tuple(
    name for name in options_of(SegmentOptions) if name in signature(segment_chunked).parameters
)
OWN = ("chunks", "shards", "scheduler", "workers", "resume")  # options for images in chunks only


@dataclass(frozen=True)
class Choices:
    """How an image is labeled in chunks."""

    chunks: int | tuple[int, ...] | None = None  # sides of blocks
    scheduler: str = "threads"
    workers: int | None = None
    resume: bool = False  # continue an earlier run
    overwrite: bool = False  # replace earlier results
    why: str = ""  # reason for labeling in chunks
    typed: Collection[str] = ()  # names of the options that the user typed
    shards: bool | None = None  # whether labels are stored in shards


def why_chunked(path: Path, options: Options, *, chunked: bool) -> str:
    """Return the reason for labeling an image in chunks; "" if it is labeled in memory.

    Raises RefusedError if `chunked` is set but the image cannot be read in chunks.
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
    """Return the bytes that labeling a TIFF in memory takes; 0 if unknown."""
    from equilabel.storage.images import read_header

    try:
        return forecast(read_header(path), options)
    except Exception:  # reported when the file is read
        return 0


def refuse_own(typed: Collection[str]) -> None:
    """Raise RefusedError if the user typed an option that only images in chunks have."""
    for name in OWN:
        if name in typed:
            message = (
                f"--{name} needs an image in chunks: a Zarr, or a TIFF with --chunked; got "
                "neither. Leave it out, or pass --chunked."
            )
            raise RefusedError(message)


def check_choices(options: Options, choices: Choices) -> None:
    """Raise RefusedError if an option does not work block by block."""
    given = options.segment
    refused: dict[str, object] = {
        name: given[name]
        for name, (default, _) in options_of(SegmentOptions).items()
        if name not in TAKEN and given[name] != default
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


def check_formats(options: Options) -> None:
    """Raise RefusedError if tables or labels cannot be written in their formats."""
    if options.format == "parquet" and find_spec("pyarrow") is None:
        message = (
            "--format parquet needs pyarrow; got none installed. Install it with "
            "`pip install pyarrow`, or pass --format csv."
        )
        raise RefusedError(message)
    if options.labels_format == OME_ZARR and find_spec("zarr") is None:
        message = (
            "--labels-format ome-zarr needs zarr; got none installed. Install it with "
            "`pip install zarr`, or pass --labels-format tiff."
        )
        raise RefusedError(message)
