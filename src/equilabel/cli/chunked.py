"""Images that are labeled block by block: Zarrs, and TIFFs larger than memory."""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.descriptions import describe_values
from equilabel.forecast import of_elements
from equilabel.storage.errors import refuse_without_room
from equilabel.storage.files import folder_for, is_folder, is_remote
from equilabel.storage.images import read_header
from equilabel.storage.memory import free, readable
from equilabel.storage.ome_zarr import find_image, is_zarr
from equilabel.storage.remote import copy_tree

from . import streams, trial
from .inputs import printable, quoted, refuse_to_replace, stem
from .options import (
    OME_ZARR,
    Options,
    RefusedError,
    as_typed,
    refuse,
    refuse_both,
    refuse_no_address,
)
from .options import TIFF as TIFF_LABELS
from .records import Record, describe_result, provenance, write_record
from .results import Made, column_units, describe_objects, summarize, write_results

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from equilabel import Segmentation
    from equilabel.array_types import HostArray
    from equilabel.chunked.viewing import LazyImage
    from equilabel.storage.metadata import Header, TiffImage


def refuse_whole(options: Options, why: str, typed: Collection[str] = ()) -> None:
    """Raise RefusedError if an option does not work block by block."""
    whole = trial.needs_whole(options)
    others = {
        "slices": options.slices,
        "series": options.series and why != "a Zarr",  # refused when it is opened
        "overlay": options.overlay and "overlay" in typed,
        "outlines": options.outlines,
        "labels_format": options.labels_format == TIFF_LABELS and "labels_format" in typed,
    }
    for name in (*whole, *(name for name, given in others.items() if given)):
        remedy = "Leave it out"
        if "--memory-limit" in why:
            remedy += ", or pass a larger --memory-limit"
        elif why == "a Zarr" and name in whole:
            remedy += "; an OME-Zarr that fits into memory takes it, where --out is a folder"
        refuse(f"{as_typed(name)} needs the image as a whole, not chunks; got {why}. {remedy}.")
    if find_spec("zarr") is None:
        refuse(
            f"{why} needs zarr and Dask; got none installed. Install them with "
            "`pip install equilabel[dask]`."
        )


# ---- An image of `equilabel batch`, with the results of one in memory


def label_in_blocks(path: Path, own: Path, options: Options, record: Record, why: str) -> Record:
    """Segment an image block by block, and write the same results as for an image in memory.

    Labels are first stored as a Zarr. For a TIFF they are copied to a flat file in raster order.
    """
    from equilabel import segment_chunked
    from equilabel.chunked.viewing import open_labels

    refuse_whole(options, why)
    header = read_header(path, series=options.series)
    record = replace(record, shape=header.shape, axes=header.axes)
    whole, known, arguments = trial.find_axes(path, options)
    image = _open(path, arguments)
    sides, workers, _ = choose_blocks(image, header, options)
    _refuse_without_room(own.parent.parent, image, options)
    own.parent.mkdir()  # fails if the run has ended and its folder is gone
    work = own.parent / "blocks"
    stored = work / "labels.zarr"
    result = segment_chunked(
        path,
        **{name: options.segment[name] for name in trial.in_blocks()},
        **arguments,
        chunks=sides,
        out=stored,
        workers=workers,
    )
    if options.labels_format == OME_ZARR:
        labels = open_labels(stored)
    else:
        labels = image.flatten(stored, work / "labels", np.min_scalar_type(int(result.num)), sides)
        shutil.rmtree(stored)
    made = Made(result, labels, image, known, whole.interval, _origin(path))
    said = () if is_zarr(path) else (f"Labeled block by block: {why}.",)
    notes = (*known.notes, *said, *filter(None, [_describe_values(image, sides)]))
    record = replace(record, notes=notes, **describe_objects(result))
    record = write_results(made, own, options, record)
    del made, labels
    shutil.rmtree(work)
    return record


def describe_blocks(path: Path, out: Path, options: Options, why: str) -> tuple[str, int]:
    """Return a description of an image, and bytes of memory; raise the errors of labeling."""
    refuse_whole(options, why)
    header = read_header(path, series=options.series)
    _, known, arguments = trial.find_axes(path, options)
    given = {name: arguments[name] for name in ("stacked", "spacing", "unit")}
    trial.try_axes(options, known.axes, given)
    image = _open(path, arguments)
    _, _, need = choose_blocks(image, header, options)
    _refuse_without_room(out, image, options)
    return f"{header}, {readable(header.nbytes)}, block by block", need


def choose_blocks(
    image: LazyImage, header: Header, options: Options
) -> tuple[tuple[int, ...], int, int]:
    """Return sides of blocks that fit in --memory-limit, how many fit at once, and their bytes."""
    from equilabel.chunked.viewing import blocks_within

    allowed = free() if options.memory_limit is None else options.memory_limit
    bytes_each = trial.channels_and_pixels(header)[0] * np.dtype(header.dtype).itemsize
    base, each = of_elements(options.segment, bytes_each)
    sides, workers = blocks_within(image, max(0, allowed - base) // each)
    need = max(base + workers * each * prod(sides), trial.drawing(header, options))
    if need > allowed:
        refuse(
            f"image must be labeled within --memory-limit, {readable(allowed)}; got {header}, "
            f"which takes about {readable(need)} even block by block. Pass a larger --memory-limit."
        )
    return sides, workers, need


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


def _open(path: Path, given: dict[str, Any]) -> LazyImage:
    """Open the channel of an image that is labeled."""
    from equilabel.chunked.viewing import LazyImage

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


def run_in_chunks(
    path: Any,
    out: Any,
    options: Options,
    how: dict[str, Any],
    *,
    why: str,
    typed: Collection[str],
    overwrite: bool,
) -> int:
    """Label an image (or one at a URL) block by block; return the exit code. See `one.run`."""
    refuse_whole(options, why, typed)
    refuse_no_address(how["scheduler"], "threads", "processes")
    resume = refuse_both(how["resume"], overwrite)
    options = replace(options, labels_format=OME_ZARR)
    try:
        places = find_places(path, out, options)
        found = trial.find_axes(path, options)
    except RefusedError:
        raise
    except Exception as error:
        refuse(streams.explain(error))
    if not (resume or overwrite):
        refuse_losses(places)
    progress = streams.Stages()
    with setting_aside(places.labels, wanted=overwrite):
        try:
            record, places = _label(path, places, options, how, found, progress)
        except streams.Interrupted as stop:
            begun = folder_for(places.labels)
            if not begun.exists():
                raise
            streams.complain(
                f"interrupted in {progress}; what is done is kept in {printable(begun)}. To go on, "
                f"run the same command with --resume{' in place of --overwrite' * overwrite}."
            )
            return 128 + stop.number
        except Exception as error:
            message = streams.explain(error).replace(
                "Run again with --resume=True", "Run again with --resume"
            )
            message = message.replace("Pass --no-resume to", "Pass --overwrite in its place to")
            if not progress.stage:
                refuse(message)
            streams.complain(f"{printable(path)}: {message}")
            return 1
    streams.say_results(streams.describe(record), record.notes, places._asdict())
    return 0


def _label(
    path: Path,
    places: Places,
    options: Options,
    how: dict[str, Any],
    axes: tuple[TiffImage, trial.KnownAxes, dict[str, Any]],
    progress: streams.Stages,
) -> tuple[Record, Places]:
    """Label an image, write its table and its record; return the record and where they are."""
    from equilabel import segment_chunked

    started, made_with = perf_counter(), provenance(options)
    image, known, arguments = axes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = segment_chunked(
            path,
            **{name: options.segment[name] for name in trial.in_blocks()},
            **arguments,
            **{name: how[name] for name in how if name != "chunked"},
            out=places.labels,
            progress=progress,
        )
    units = column_units(found.table.columns, len(found.spacing), known.length)
    places, more = _write_table(places, found, units if options.unit_row else None)
    at_url, file = is_remote(places.table), printable(places.table.name)
    table: Any = {"file": file, "sha256": ""} if at_url else describe_result(places.table, file)
    table["units"] = units
    labels = printable(places.labels.name)  # has no checksum, because each chunk has its own
    record = Record(
        printable(path),
        labels,
        "done",
        **describe_objects(found),
        shape=image.pixels.shape,
        axes=image.axes,
        spacing=known.measured,
        unit=known.unit if known.measured else "",
        statistics=summarize(found.table),
        outputs={"labels": {"file": labels, "sha256": ""}, "table": table},
        notes=tuple(dict.fromkeys((*known.notes, *more, *streams.told(caught)))),
        seconds=perf_counter() - started,
        fingerprint=made_with.fingerprint,
    )
    write_record(places.record, record, made_with, alone=True)
    return record, places


def _write_table(
    places: Places, found: Segmentation, units: dict[str, str] | None
) -> tuple[Places, list[str]]:
    """Write the table in place of earlier ones; return where it is, and a note if it is long."""
    from equilabel.storage.table import PARTS, write_table

    parts = places.labels / PARTS
    for former in set(_tables(places)) - {parts}:
        _remove(former)
    if not parts.is_dir():
        write_table(places.table, found.table, units=units)
        return places, []
    places = places._replace(table=places.table.with_suffix(".parquet"))
    if places.table != parts and is_remote(parts):
        copy_tree(parts, places.table)
    elif places.table != parts:
        new = places.table.with_name(f".{places.table.name}.unfinished")
        _remove(new)
        shutil.copytree(parts, new)
        new.rename(places.table)
    rows = f"The table has {found.num:,} rows: it is a folder of Parquet files, in their order."
    return places, [rows]


def _tables(places: Places) -> list[Path]:
    """Return the possible paths of the table."""
    return [places.table.with_suffix(suffix) for suffix in (".csv", ".parquet")]


def _remove(path: Path) -> None:
    """Remove an earlier result, a file or a folder, if it is there."""
    if not is_remote(path) and is_folder(path):
        shutil.rmtree(path)
    elif _is_there(path):
        path.unlink()


# ---------------------------------------------------------------------------- where the results are


class Places(NamedTuple):
    """Paths of results; `labels` is a Zarr."""

    labels: Path
    table: Path
    record: Path


def find_places(path: Path, out: Path, options: Options) -> Places:
    """Return the paths of the results, in a folder or in the Zarr of labels that `out` is."""
    table = f"table.{options.format}"
    if trial.is_zarr_of_labels(out):
        places = Places(out, out / table, out / "record.json")
    else:
        name = stem(path)
        places = Places(
            out / f"{name}_labels.zarr", out / f"{name}_{table}", out / f"{name}_record.json"
        )
    image, labels = path.resolve(), places.labels.resolve()
    inside = image in labels.parents and not trial.is_among_labels(places.labels)
    if labels == image or labels in image.parents or inside:
        remedy = "Choose another folder"
        if find_image(path).group is not None:
            remedy += f", or one in its folder of labels: {quoted(path / 'labels' / 'objects')}"
        refuse(f"--out must not be the image or in it; got {quoted(places.labels)}. {remedy}.")
    return places


def refuse_losses(places: Places) -> None:
    """Raise RefusedError if a complete or unfinished result would be lost."""
    every = dict.fromkeys((*places, *_tables(places)))
    present = list(filter(_is_there, every))
    if present and is_remote(places.labels):
        refuse(
            f"--out at a URL must hold no earlier results; got {quoted(present[0])}. Remove them "
            "there, or choose another URL."
        )
    refuse_to_replace(present, "earlier ones")
    begun = folder_for(places.labels)
    if _is_there(begun):
        refuse(
            f"results must not replace an unfinished run; got {quoted(begun)}. Pass --resume to "
            "go on with it, or --overwrite to begin again."
        )


def _is_there(path: Any) -> bool:
    return bool(path.exists()) if is_remote(path) else os.path.lexists(path)


@contextmanager
def setting_aside(labels: Path, *, wanted: bool) -> Iterator[None]:
    """Keep earlier labels (a local Zarr) until there are new ones; restore them if none began."""
    kept = labels.with_name(f".{labels.name}.replaced")
    if wanted and not is_remote(labels) and is_zarr(labels):
        if kept.exists():
            shutil.rmtree(kept)
        os.replace(labels, kept)  # noqa: PTH105 - atomic
    try:
        yield
    finally:
        if kept.exists() and labels.exists():
            shutil.rmtree(kept, ignore_errors=True)
        elif kept.exists() and not folder_for(labels).exists():
            os.replace(kept, labels)  # noqa: PTH105
