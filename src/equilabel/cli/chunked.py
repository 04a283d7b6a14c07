"""Images that are labeled block by block: Zarrs, and TIFFs larger than memory."""

from __future__ import annotations

import os
import shutil
import warnings
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from equilabel.descriptions import describe_values
from equilabel.storage.errors import refuse_without_room
from equilabel.storage.files import folder_for
from equilabel.storage.images import TIFF
from equilabel.storage.memory import free, readable
from equilabel.storage.ome_zarr import find_image, is_zarr

from .axes import find_axes
from .errors import explain, name_options, one_line
from .inputs import FILE, expanded, kind_of, printable, quoted, stem
from .options import OME_ZARR, RefusedError
from .progress import BlockProgress, describe
from .records import Record, describe_result, provenance, write_record
from .results import Made, column_units, describe_objects, summarize, write_results
from .streams import Interrupted, complain, say
from .trial import TAKEN, drawing, forecast, needs_whole, of_block, takes_whole, try_axes

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from equilabel import Segmentation
    from equilabel.array_types import HostArray
    from equilabel.chunked.viewing import LazyImage
    from equilabel.storage.metadata import Header

    from .axes import Axes
    from .options import Options

# ---- Whether an image is labeled in chunks, and whether its options allow it

OWN = (
    "chunks",
    "shards",
    "numbering",
    "scheduler",
    "workers",
    "resume",
)  # options for images in chunks only


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
    numbering: Literal["raster", "blocks"] = "raster"  # order of labels


def why_chunked(path: Path, out: Path, options: Options, *, chunked: bool) -> str:
    """Return the reason for labeling an image in chunks; "" if it is labeled in memory.

    A Zarr that fits into memory is labeled as a whole if its options ask for that. Raises
    RefusedError if `chunked` is set but the image cannot be read in chunks.
    """
    if is_zarr(path):
        whole = takes_whole(path, options) and not (chunked or _is_zarr_of_labels(out))
        return "" if whole else "a Zarr"
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
    refused = needs_whole(options)
    if options.slices:
        refused["slices"] = True
    if options.series:
        refused["series"] = options.series
    if "overlay" in choices.typed and options.overlay:
        refused["overlay"] = True
    if options.outlines:
        refused["outlines"] = options.outlines
    if "labels_format" in choices.typed and options.labels_format == "tiff":
        refused["labels_format"] = options.labels_format
    for name in refused:
        remedy = "Leave it out"
        if "--memory-limit" in choices.why:
            remedy += ", or pass a larger --memory-limit"
        elif choices.why == "a Zarr" and name in needs_whole(options):
            remedy += "; a Zarr that fits into memory takes it, where --out is a folder for results"
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
    if options.outlines == "roi" and find_spec("roifile") is None:
        message = (
            "--outlines roi needs roifile; got none installed. Install it with "
            "`pip install roifile`, or pass --outlines geojson."
        )
        raise RefusedError(message)
    if options.labels_format == OME_ZARR and find_spec("zarr") is None:
        message = (
            "--labels-format ome-zarr needs zarr; got none installed. Install it with "
            "`pip install zarr`, or pass --labels-format tiff."
        )
        raise RefusedError(message)


# ---- An image of `equilabel batch`, with the results of one in memory

TYPES = (np.uint8, np.uint16, np.uint32)  # possible types of labels in a TIFF


def check_blocks(path: Path, options: Options) -> tuple[Header, str]:
    """Return the header of an image, and the reason for labeling it block by block.

    Raises ValueError if options of the run need the whole image.
    """
    from equilabel.storage.images import read_header

    why, header = "a Zarr", read_header(path, series=options.series)
    if not is_zarr(path):
        limit = readable(options.memory_limit or 0)
        need = readable(forecast(header, options))
        why = f"an image that takes about {need} of memory, more than --memory-limit {limit}"
    try:
        check_choices(options, Choices(why=why))
    except RefusedError as error:
        raise ValueError(str(error)) from error
    return header, why


def label_in_blocks(
    path: Path, own: Path, options: Options, record: Record, *, header: Header, why: str
) -> Record:
    """Segment an image block by block, and write the same results as for an image in memory.

    Labels are first stored as a Zarr. If they are to be written as a TIFF, they are copied to a
    flat file in raster order, which the system caches as far as memory allows. Both are removed.
    `own` is the beginning of the paths of results; their folder is created. `header` and `why` come
    from `check_blocks`.
    """
    from equilabel import segment_chunked
    from equilabel.chunked.viewing import open_labels

    axes = find_axes(path, options)
    image = _open(path, axes)
    sides, workers = choose_blocks(image, header, options)
    _refuse_without_room(own.parent.parent, image, options)
    own.parent.mkdir()  # fails if the run has ended and its folder is gone
    work = own.parent / "blocks"
    stored = work / "labels.zarr"
    result = segment_chunked(
        path,
        **{name: options.segment[name] for name in TAKEN},
        **axes.arguments,
        chunks=sides,
        out=stored,
        workers=workers,
    )
    if options.labels_format == OME_ZARR:
        labels = open_labels(stored)
    else:
        dtype = next((one for one in TYPES if result.num <= np.iinfo(one).max), np.int64)
        labels = image.flatten(stored, work / "labels", dtype, sides)
        shutil.rmtree(stored)
    letters, stacked = axes.names.replace("C", ""), axes.arguments["stacked"]
    known = (axes.known, axes.spacing, axes.file_unit, _origin(path))
    made = Made(result, labels, image, letters, stacked, *known)
    told = () if is_zarr(path) else (f"Labeled block by block: {why}.",)
    notes = (*axes.notes, *told, *filter(None, [_describe_values(image, sides)]))
    record = replace(record, notes=notes)
    record = write_results(made, own, options, record, interval=axes.interval)
    del made, labels
    shutil.rmtree(work)
    return record


def describe_blocks(path: Path, out: Path, options: Options) -> tuple[int, int, str]:
    """Return bytes of pixels, bytes of memory and a description; raise the errors of labeling."""
    header, _ = check_blocks(path, options)
    axes = find_axes(path, options)
    known = {name: axes.arguments[name] for name in ("stacked", "spacing", "unit")}
    try_axes(options, len(axes.names.replace("C", "")) - known["stacked"], **known)
    image = _open(path, axes)
    sides, workers = choose_blocks(image, header, options)
    _refuse_without_room(out, image, options)
    base, each = of_block(header, options)
    need = max(base + workers * each * prod(sides), drawing(header, options))
    return header.nbytes, need, f"{header}, {readable(header.nbytes)}, block by block"


def choose_blocks(
    image: LazyImage, header: Header, options: Options
) -> tuple[tuple[int, ...], int]:
    """Return sides of blocks that fit in --memory-limit, and how many are labeled at once.

    Raises ValueError if one stored chunk, or the overlay, does not fit.
    """
    from equilabel.chunked.viewing import blocks_within

    allowed = free() if options.memory_limit is None else options.memory_limit
    base, each = of_block(header, options)
    sides, workers = blocks_within(image, max(0, allowed - base) // each)
    need = max(base + workers * each * prod(sides), drawing(header, options))
    if need > allowed:
        message = (
            f"image must be labeled within --memory-limit, {readable(allowed)}; got {header}, "
            f"which takes about {readable(need)} even block by block. Pass a larger --memory-limit"
            f"{', or --no-overlay' * (drawing(header, options) > allowed)}."
        )
        raise ValueError(message)
    return sides, workers


def _refuse_without_room(folder: Path, image: LazyImage, options: Options) -> None:
    """Raise FullDiskError if the disk has no room for the labels, as a TIFF or a Zarr."""
    compressed = {} if options.labels_format == OME_ZARR else {"in_a_byte": 1}
    refuse_without_room(folder.absolute(), image.size, **compressed)


def _origin(path: Path) -> dict[str, float]:
    """Return the coordinate of the first pixel of an OME-Zarr along each spatial axis."""
    found = find_image(path) if is_zarr(path) else None
    if found is None or not found.levels:
        return {}
    pairs = zip(found.axes, found.levels[0].translation, strict=True)
    return {axis: first for axis, first in pairs if axis in "ZYX"}


def _open(path: Path, axes: Axes) -> LazyImage:
    """Open the channel of an image that is labeled."""
    from equilabel.chunked.viewing import LazyImage

    given = axes.arguments
    names = ("stacked", "channel_axis", "channel")
    return LazyImage(path, *(given.get(name) for name in names))


def _describe_values(image: LazyImage, sides: tuple[int, ...]) -> str:
    """Return what `describe_values` says about an image, from as few blocks as possible."""
    seen: list[HostArray] = []
    for part in image.parts(sides):
        pixels = image[part]
        finite = pixels[np.isfinite(pixels)]
        seen += [np.array([finite.min(), finite.max()])] if finite.size else []
        if seen and not describe_values(np.concatenate(seen)):
            return ""
    return describe_values(np.concatenate(seen) if seen else np.array([np.nan]))


# ---- `equilabel segment` of one image in chunks


def run_in_chunks(path: Path, out: Path, options: Options, choices: Choices) -> int:
    """Label an image block by block; write labels (Zarr), table and record; return the exit code.

    The exit code is 0, 1 if the image failed, or 128 plus the number of a signal. `out` is the
    folder of the results, or the path of the Zarr of labels: see `find_places`. Raises RefusedError
    before anything is written.
    """
    check_choices(options, choices)
    options = replace(options, labels_format=OME_ZARR)
    try:
        places = find_places(path, out, options)
        axes = find_axes(path, options)
    except RefusedError:
        raise
    except Exception as error:
        raise RefusedError(explain(error)) from error
    refuse_losses(places, resume=choices.resume, overwrite=choices.overwrite)
    progress, aside = BlockProgress(), Aside(places.labels)
    if choices.overwrite:
        aside.put()
    try:
        record = _label(path, places, options, choices, axes, progress)
    except Interrupted as stop:
        if not folder_for(places.labels).exists():
            raise
        complain(
            f"interrupted in {progress}; what is done is kept in "
            f"{printable(folder_for(places.labels))}. To go on, run the same command with --resume"
            f"{' in place of --overwrite' * choices.overwrite}."
        )
        return 128 + stop.number
    except Exception as error:
        message = _in_words(error)
        if not progress.stage:
            raise RefusedError(message) from error
        complain(f"{printable(path)}: {message}")
        return 1
    finally:
        aside.settle()
    say(describe(record))
    for note in record.notes:
        say(f"  note      {note}")
    if not places.table.exists():
        places = places._replace(table=places.table.with_suffix(".parquet"))
    for kind, place in places._asdict().items():
        say(f"  {kind:9} {printable(place)}")
    return 0


def _in_words(error: Exception) -> str:
    """Describe an error with the names of options in place of parameters."""
    return (
        explain(error)
        .replace("Pass --no-resume to begin again", "Pass --overwrite in its place to begin again")
        .replace("Run again with --resume=True", "Run again with --resume")
    )


def _label(
    path: Path,
    places: Places,
    options: Options,
    choices: Choices,
    axes: Axes,
    progress: BlockProgress,
) -> Record:
    """Label an image, write its table and its record, and return the record."""
    from equilabel import segment_chunked
    from equilabel.storage.table import PARTS, write_table

    started, made_with = perf_counter(), provenance(options)
    with warnings.catch_warnings(record=True) as caught, progress:
        warnings.simplefilter("always")
        found = segment_chunked(
            path,
            **{name: options.segment[name] for name in TAKEN},
            **axes.arguments,
            chunks=choices.chunks,
            shards=choices.shards,
            numbering=choices.numbering,
            out=places.labels,
            scheduler=choices.scheduler,
            workers=choices.workers,
            resume=choices.resume,
            progress=progress,
        )
    units = column_units(found.table.columns, len(found.spacing), axes.unit)
    parts, told = places.labels / PARTS, axes.notes
    if parts.is_dir():  # a table of more than a million rows
        places = places._replace(table=places.table.with_suffix(".parquet"))
        if places.table != parts:
            shutil.copytree(parts, places.table)
        rows = f"The table has {found.num:,} rows: it is a folder of Parquet files, in their order."
        told = (*told, rows)
    else:
        write_table(places.table, found.table, units=units if options.unit_row else None)
    for_users = [one for one in caught if one.category in (UserWarning, RuntimeWarning)]
    said = [name_options(one_line(one.message)) for one in for_users]
    record = _record(path, places, found, axes, units)
    record = replace(
        record,
        notes=tuple(dict.fromkeys((*told, *said))),
        seconds=perf_counter() - started,
        fingerprint=made_with.fingerprint,
    )
    write_record(places.record, record, made_with, alone=True)
    return record


def _record(
    path: Path, places: Places, found: Segmentation, axes: Axes, units: dict[str, str]
) -> Record:
    """Return the record of the results; labels have no checksum, because each chunk has its own."""
    table = describe_result(places.table, places.table.name)
    table["units"] = units
    return Record(
        printable(path),
        printable(places.labels.name),
        "done",
        **describe_objects(found),
        shape=axes.shape,
        axes=axes.names,
        spacing=axes.spacing,
        unit=axes.unit if axes.spacing else "",
        statistics=summarize(found.table),
        outputs={"labels": {"file": printable(places.labels.name), "sha256": ""}, "table": table},
    )


# ---------------------------------------------------------------------------- where the results are


class Places(NamedTuple):
    """Paths of results; `labels` is a Zarr."""

    labels: Path
    table: Path
    record: Path


def find_places(path: Path, out: Path, options: Options) -> Places:
    """Return the paths of the results of the image at `path`.

    `out` is a folder for all results, or the Zarr of labels itself: if its name ends in ``.zarr``,
    or if it is in the folder ``labels`` of an OME-Zarr. The table and the record are then inside.
    Raises RefusedError if the image would be damaged.
    """
    out = expanded(out, "--out")
    table = f"table.{options.format}"
    if _is_zarr_of_labels(out):
        places = Places(out, out / table, out / "record.json")
    else:
        name = stem(path)
        places = Places(
            out / f"{name}_labels.zarr", out / f"{name}_{table}", out / f"{name}_record.json"
        )
    image, labels = path.resolve(), places.labels.resolve()
    inside = image in labels.parents and not _is_among_labels(places.labels)
    if labels == image or labels in image.parents or inside:
        remedy = "Choose another folder"
        if find_image(path).group is not None:
            remedy += f", or one in its folder of labels: {quoted(path / 'labels' / 'objects')}"
        message = f"--out must not be the image or in it; got {quoted(places.labels)}. {remedy}."
        raise RefusedError(message)
    return places


def _is_zarr_of_labels(out: Path) -> bool:
    """Return whether a path is that of the Zarr of labels itself, not of a folder for results."""
    return out.suffix.lower() == ".zarr" or _is_among_labels(out)


def _is_among_labels(out: Path) -> bool:
    """Return whether a path is in the folder of labels of an OME-Zarr."""
    image = out.parent.parent
    if out.parent.name != "labels" or not is_zarr(image):
        return False
    try:
        return find_image(image).group is not None
    except ValueError:
        return False


def refuse_losses(places: Places, *, resume: bool, overwrite: bool) -> None:
    """Raise RefusedError if a complete or unfinished result would be lost without --overwrite."""
    if resume or overwrite:
        return
    every = (*places, places.table.with_suffix(".parquet"))
    present = next((path for path in every if os.path.lexists(path)), None)
    if present is not None:
        message = (
            f"results in chunks must not replace earlier ones; got {quoted(present)}. Pass "
            "--overwrite to replace them, or --out with another folder."
        )
        raise RefusedError(message)
    begun = folder_for(places.labels)
    if os.path.lexists(begun):
        message = (
            f"results must not replace an unfinished run; got {quoted(begun)}. Pass --resume to "
            "go on with it, or --overwrite to begin again."
        )
        raise RefusedError(message)


class Aside:
    """Earlier labels (a Zarr), kept until new ones are complete or the run is refused."""

    def __init__(self, labels: Path) -> None:
        self._labels, self._kept = labels, labels.with_name(f".{labels.name}.replaced")

    def put(self) -> None:
        """Rename earlier labels."""
        if is_zarr(self._labels):
            if self._kept.exists():
                shutil.rmtree(self._kept)
            os.replace(self._labels, self._kept)  # noqa: PTH105 - atomic

    def settle(self) -> None:
        """Remove them if there are new labels; restore them if no new ones were begun."""
        if not self._kept.exists():
            return
        if self._labels.exists():
            shutil.rmtree(self._kept, ignore_errors=True)
        elif not folder_for(self._labels).exists():
            os.replace(self._kept, self._labels)  # noqa: PTH105
