"""Read one image, segment it, and write its results, in a worker process."""

from __future__ import annotations

import math
import shutil
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .channels import find_channel
from .earlier import find_earlier
from .errors import MEMORY, explain, is_memory, name_options, one_line
from .folder import RECORD
from .forecast import refuse_too_large
from .jsonfiles import write_record
from .names import printable
from .notes import notes_of_file, notes_on_spacing, notes_on_values
from .pixelsize import refuse_times, spacing_of, steps_of
from .records import Record, describe_file
from .sizes import count_sizes

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from equilabel import Segmentation
    from equilabel.array_types import HostArray
    from equilabel.storage.tiff import TiffImage

    from .options import Options
    from .provenance import Provenance

FOR_USERS = (UserWarning, RuntimeWarning)  # other warnings are for programmers


@dataclass(frozen=True)
class Job:
    """An image to label.

    Attributes
    ----------
    number : int
        Its place in the run.
    path : Path
        The image.
    name : str
        Of its results below the output folder, without their endings.
    place : Path
        Folder to write them in; made, and removed if the image fails.
    out : Path
        The output folder, where an earlier run may have left them.
    resume : bool
        Whether they may be kept if nothing has changed.
    image : Path, optional
        The image to measure in, where `path` holds labels.
    attempts : tuple of str
        How earlier attempts of this run ended.
    """

    number: int
    path: Path
    name: str
    place: Path
    out: Path
    resume: bool = False
    image: Path | None = None
    attempts: tuple[str, ...] = ()


def label_one(job: Job, options: Options, provenance: Provenance) -> Record:
    """Label one image, write its results, and return its record; errors are part of the record."""
    from equilabel.storage.files import sha256
    from equilabel.storage.headers import read_header
    from equilabel.storage.images import read_image
    from equilabel.storage.slices import hash_of

    started = perf_counter()
    names = printable(job.path), printable(job.name)
    print_, attempts = provenance.fingerprint, job.attempts
    measured = "" if job.image is None else printable(job.image)
    record = Record(*names, "failed", image=measured, fingerprint=print_, attempts=attempts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            files = [path for path in (job.path, job.image) if path is not None]
            parts = _parts(files)
            before = [path.stat() for path in parts]
            hashes = [hash_of(parts)] if options.slices else map(sha256, files)
            record = replace(record, sha256=",".join(hashes))
            if job.resume:
                earlier = find_earlier(job.out, job.name, options.endings(), print_)
                if earlier is not None and earlier.sha256 == record.sha256:
                    return replace(earlier, status="skipped", file=record.file)
            for path in files:
                refuse_too_large(read_header(path, series=options.series), options)
            image, *values = [
                read_image(
                    path,
                    series=options.series,
                    memory_limit=options.memory_limit,
                    indices=options.command == "measure" and path is job.path,
                )
                for path in files
            ]
            _same(before, [path.stat() for path in _parts(files)])
            shape = tuple(map(int, image.pixels.shape))
            notes = notes_of_file(image, options)
            record = replace(record, shape=shape, axes=image.axes, notes=notes)
            if options.command == "measure":
                from .measuring import measure_one

                own = job.place / Path(job.name).name
                record = measure_one(image, values, own, options, record)
            else:
                record = _label(image, job, options, record)
        except Exception as error:  # whatever it is, it costs one row
            record = _failed(job, record, error)
    said = [name_options(one_line(each.message)) for each in caught if each.category in FOR_USERS]
    if job.attempts and record.status == "done":
        said.append(f"A first attempt ended with {job.attempts[-1]}; the second, alone, succeeded.")
    notes = tuple(dict.fromkeys((*record.notes, *said)))
    record = replace(record, notes=notes, seconds=perf_counter() - started)
    if record.status == "done":
        try:
            write_record(job.place / RECORD, record, provenance)
        except Exception as error:
            record = _failed(job, record, error)
    return record


def _failed(job: Job, record: Record, error: Exception) -> Record:
    shutil.rmtree(job.place, ignore_errors=True)
    attempts = (*job.attempts, MEMORY) if is_memory(error) else job.attempts
    return replace(record, status="failed", error=explain(error), attempts=attempts, outputs={})


def _parts(paths: Sequence[Path]) -> list[Path]:
    """Return files, with those in a folder of slices in its place."""
    from equilabel.storage.images import SUFFIXES
    from equilabel.storage.slices import slices_in

    found = ((slices_in(path, SUFFIXES) if path.is_dir() else [path]) for path in paths)
    return [path for each in found for path in each]


def _same(before: Sequence[os.stat_result], after: Sequence[os.stat_result]) -> None:
    """Raise ValueError if files have changed."""
    if [(s.st_size, s.st_mtime_ns) for s in before] != [(s.st_size, s.st_mtime_ns) for s in after]:
        message = "image file must not change while it is read; got a new size or time. Run again."
        raise ValueError(message)


def _label(image: TiffImage, job: Job, options: Options, record: Record) -> Record:
    """Segment an image, and write its results to the folder of the job."""
    from equilabel import segment
    from equilabel.storage.table import write_table

    from .columns import PIXEL, column_units, summarize, summarize_frames

    channel_axis, channel = find_channel(image, options.channel)
    axes = image.axes.replace("C", "")
    spacing, unit = spacing_of(image, options)
    stacked = "T" in axes if options.stacked is None else options.stacked and len(axes) > 2
    if options.segment.get("track") and len(axes) < 3:
        message = f"--track needs an image of several frames; got axes {axes!r}. Leave it out."
        raise ValueError(message)
    refuse_times(axes[stacked:], options)
    steps = steps_of(axes[stacked:], spacing)
    result = segment(
        image.pixels,
        **options.segment,
        spacing=steps,
        unit=None if steps is None else unit,
        stacked=stacked,
        channel_axis=channel_axis,
        channel=channel,
    )
    paths = {
        kind: job.place / f"{Path(job.name).name}{ending}"
        for kind, ending in options.endings().items()
    }
    shown = image.pixels if channel_axis is None else image.pixels.take(channel or 0, channel_axis)
    job.place.mkdir()  # fails if the folder of the run has been removed, and with it the run
    measured = {axis: spacing[axis] for axis in axes if steps is not None and axis in spacing}
    length = unit if measured else PIXEL
    units = column_units(result.table, len(axes) - stacked, length)
    write_table(paths["table"], result.table, units=units if options.unit_row else None)
    _write(paths, result, shown, axes=axes, spacing=spacing, unit=unit, interval=image.interval)
    outputs = {kind: describe_file(path, job.name) for kind, path in paths.items()}
    outputs["table"]["units"] = units
    return replace(
        record,
        status="done",
        objects=int(result.num),
        threshold=_plain("local" if result.threshold is None else result.threshold),
        spacing=measured,
        unit=unit if measured else "",
        notes=(
            *record.notes,
            *notes_on_values(shown),
            *notes_on_spacing(measured, spacing, unit, options),
        ),
        in_pixels=_used(result.in_pixels),
        method=result.method,
        device=result.device,
        connectivity=result.connectivity,
        statistics=summarize(result.table),
        sizes=count_sizes(result.table, units),
        frames=tuple(summarize_frames(result.table, result.labels)) if stacked else (),
        outputs=outputs,
    )


def _write(
    paths: dict[str, Path],
    result: Segmentation,
    shown: HostArray,
    *,
    spacing: dict[str, float],
    **calibration: Any,
) -> None:
    from equilabel.storage.overlay import write_overlay
    from equilabel.storage.tiff import write_labels

    write_labels(paths["labels"], result.labels, spacing=spacing, **calibration)
    if "overlay" in paths:
        sides = [spacing.get(axis, 1.0) for axis in "YX"]
        write_overlay(paths["overlay"], shown, result.labels, spacing=sides)


def _used(in_pixels: dict[str, Any]) -> dict[str, Any]:
    """Return lengths and sizes that made a difference: not those that are 0 or None."""
    return {name: value for name, value in in_pixels.items() if np.any(value)}


def _plain(value: Any) -> Any:
    """Return numbers as types that JSON has."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else str(value)
