"""Read one image, segment it, and write its results, in a worker process."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from equilabel import label, measure
from equilabel.colors import pick
from equilabel.descriptions import describe_labels, describe_values
from equilabel.storage.errors import is_shortage
from equilabel.storage.files import passing_names

from .axes import known_axes, notes_of_file, notes_on_spacing
from .errors import MEMORY, explain, name_options, one_line
from .folder import RECORD, checksum_of_image, find_kept, parts_of
from .inputs import printable
from .records import Record, describe_result, write_record
from .results import PIXEL, column_units, count_sizes, summarize, summarize_frames
from .trial import is_in_blocks, refuse_too_large

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from equilabel.array_types import HostArray
    from equilabel.storage.metadata import Header, TiffImage

    from .axes import KnownAxes
    from .options import Options
    from .records import Provenance


FOR_USERS = (UserWarning, RuntimeWarning)  # other warnings are for developers


@dataclass(frozen=True)
class Job:
    """An image to label."""

    number: int  # its position in the run
    path: Path
    name: str  # of its results below the output folder, without endings
    place: Path  # folder for its results; created, and removed if the image fails
    out: Path  # the output folder, which may hold results of an earlier run
    resume: bool = False  # whether earlier results may be kept if nothing has changed
    image: Path | None = None  # the image to measure in, if `path` holds labels
    attempts: tuple[str, ...] = ()  # how earlier attempts of this run ended
    # what is flushed to the disk: "results"; "none" if the parent flushes them; "all" (with the
    # record) if no run would notice an incomplete record
    flush: str = "results"

    @property
    def files(self) -> list[Path]:
        """The image, and the one to measure in."""
        return [path for path in (self.path, self.image) if path is not None]

    def failure(self, fingerprint: str, error: str = "", how: str = "") -> Record:
        """Return the record of an image that failed, and `how` its attempt ended."""
        return Record(
            *(printable(self.path), printable(self.name), "failed"),
            image="" if self.image is None else printable(self.image),
            error=error,
            fingerprint=fingerprint,
            attempts=(*self.attempts, how) if how else self.attempts,
        )


def label_one(
    job: Job,
    options: Options,
    provenance: Provenance,
    report: Callable[[str], None] | None = None,
) -> Record:
    """Label one image, write its results, and return its record, which includes any error.

    `report` is called with the stages of `segment`.
    """
    started = perf_counter()
    record = job.failure(provenance.fingerprint)
    passing = passing_names(flush=job.flush != "none")
    with warnings.catch_warnings(record=True) as caught, passing:
        warnings.simplefilter("always")
        try:
            files = job.files
            before = [path.stat() for path in parts_of(files)]
            record = replace(record, sha256=checksum_of_image(files, options))
            given = job.out, job.name, options, record.fingerprint, record.sha256
            if job.resume and (kept := find_kept(*given)):
                return replace(kept, status="skipped", file=record.file)
            if is_in_blocks(job.path, options):
                from .chunked import check_blocks, label_in_blocks

                own = job.place / Path(job.name).name
                header, why = check_blocks(job.path, options)
                record = replace(record, shape=header.shape, axes=header.axes)
                record = label_in_blocks(job.path, own, options, record, header=header, why=why)
                _same(before, files)
            else:
                image, values = _read(files, options)
                _same(before, files)
                shape, notes = image.pixels.shape, notes_of_file(image, options)
                record = replace(record, shape=tuple(map(int, shape)), axes=image.axes, notes=notes)
                record = _processed(image, values, job, options, record, report)
        except Exception as error:  # whatever it is, only this image fails
            record = _failed(job, record, error)
    said = [name_options(one_line(each.message)) for each in caught if each.category in FOR_USERS]
    if job.attempts and record.status == "done":
        said.append(f"A first attempt ended with {job.attempts[-1]}; the second, alone, succeeded.")
    notes = tuple(dict.fromkeys((*record.notes, *said)))
    record = replace(record, notes=notes, seconds=perf_counter() - started)
    if record.status == "done":
        try:
            with passing_names():
                alone = job.flush == "all"
                write_record(job.place / RECORD, record, provenance, flush=alone, alone=alone)
        except Exception as error:
            record = _failed(job, record, error)
    return record


def examine(files: Sequence[Path], options: Options) -> tuple[Sequence[Header], KnownAxes]:
    """Return headers of an image and of the one to measure in, and its axes; raise their errors."""
    from equilabel.storage.metadata import Header

    image, values = _read(files, options)
    if options.command == "measure":
        from .one import arrange

        known = arrange(image, values, options)[2]
    else:
        known = known_axes(image, options)
    each = [Header(one.pixels.shape, one.axes, one.pixels.dtype.name) for one in (image, *values)]
    return each, known


def _read(files: Sequence[Path], options: Options) -> tuple[TiffImage, Sequence[TiffImage]]:
    """Read a whole image, and the image in which it is measured."""
    from equilabel.storage.images import is_tiff, read_header, read_image

    whole = files[:1] if is_tiff(files[0]) else ()  # its header is read with its pixels
    for path in files:
        if path not in whole:
            refuse_too_large(path, read_header(path, series=options.series), options)
    image, *values = [
        read_image(
            path,
            series=options.series,
            memory_limit=options.memory_limit,
            indices=options.command == "measure" and path is files[0],
            accept=partial(refuse_too_large, path, options=options) if path in whole else None,
        )
        for path in files
    ]
    return image, values


def _processed(
    image: TiffImage,
    values: Sequence[TiffImage],
    job: Job,
    options: Options,
    record: Record,
    report: Callable[[str], None] | None,
) -> Record:
    """Label an image, or measure labels, and write the results."""
    if options.command == "measure":
        from .one import measure_one

        return measure_one(image, values, job.place / Path(job.name).name, options, record)
    return _label(image, job, options, record, report)


def _failed(job: Job, record: Record, error: Exception) -> Record:
    shutil.rmtree(job.place, ignore_errors=True)
    attempts = (*job.attempts, MEMORY) if is_shortage(error) else job.attempts
    return replace(record, status="failed", error=explain(error), attempts=attempts, outputs={})


def _same(before: Sequence[os.stat_result], files: Sequence[Path]) -> None:
    """Raise ValueError if files have changed."""
    after = [path.stat() for path in parts_of(files)]
    if [(s.st_size, s.st_mtime_ns) for s in before] != [(s.st_size, s.st_mtime_ns) for s in after]:
        message = "image file must not change while it is read; got a new size or time. Run again."
        raise ValueError(message)


def _label(
    image: TiffImage,
    job: Job,
    options: Options,
    record: Record,
    report: Callable[[str], None] | None,
) -> Record:
    """Segment an image, and write its results to the folder of the job."""
    from equilabel import segment

    from .results import Made, write_results

    known = known_axes(image, options)
    channel_axis, channel, axes, stacked, spacing, unit, distances = known
    result = segment(
        image.pixels,
        **options.segment,
        spacing=distances,
        unit=None if distances is None else unit,
        stacked=stacked,
        channel_axis=channel_axis,
        channel=channel,
        progress=report,
    )
    shown = pick(image.pixels, channel_axis, channel)
    measured = known.measured
    job.place.mkdir()  # fails if the run has ended and its folder is gone
    notes = notes_on_spacing(measured, spacing, unit, options)
    dark = bool(options.segment.get("dark"))
    doubt = describe_labels(result.labels, result.num, dark=dark, stacked=stacked)
    notes = (*filter(None, [describe_values(shown) or doubt]), *notes)
    made = Made(result, result.labels, shown, axes, stacked, spacing, measured, unit)
    record = replace(record, notes=(*record.notes, *notes))
    own = job.place / Path(job.name).name
    return write_results(made, own, options, record, interval=image.interval)


# ---- Labels that are measured


def measure_one(
    labels: TiffImage, images: Sequence[TiffImage], stem: Path, options: Options, record: Record
) -> Record:
    """Measure the objects of labels, write the results, and return the completed record.

    `images` has the image to measure in, or is empty. `stem` is the beginning of the paths of
    results, in a folder that is created.
    """
    from equilabel.storage.table import write_table

    numbers, values, known = arrange(labels, images, options)
    notes = notes_of_file(images[-1], options) if images else record.notes
    _, _, axes, stacked, spacing, unit, distances = known
    names = options.segment.get("properties")
    track, measured = bool(options.segment.get("track")), known.measured
    table = measure(numbers, values, names, spacing=distances, stacked=stacked, track=track)
    units = column_units(table, len(axes) - stacked, unit if measured else PIXEL)
    notes = (*notes, *notes_on_spacing(measured, spacing, unit, options))
    paths = {
        kind: stem.with_name(f"{stem.name}{ending}") for kind, ending in options.endings().items()
    }
    stem.parent.mkdir()  # fails if the run has ended and its folder is gone
    write_table(paths["table"], table, units=units if options.unit_row else None)
    if "overlay" in paths and values is not None:
        from equilabel.storage.overlay import write_overlay

        shown = values if values.ndim == numbers.ndim else values[..., 0]
        sides = [spacing.get(axis, 1.0) for axis in "YX"]
        write_overlay(paths["overlay"], shown, numbers, spacing=sides)
    if "outlines" in paths:
        from equilabel import write_outlines

        write_outlines(paths["outlines"], numbers, table, stacked=stacked)
    outputs = {kind: describe_result(path, record.name) for kind, path in paths.items()}
    outputs["table"]["units"] = units
    return replace(
        record,
        status="done",
        objects=len(table),
        axes=axes,
        spacing=measured,
        unit=unit if measured else "",
        notes=(*notes, *_notes_on_masks(numbers)),
        device="cpu",
        statistics=summarize(table),
        sizes=count_sizes(table, units),
        frames=tuple(summarize_frames(table, numbers)) if stacked else (),
        outputs=outputs,
    )


def arrange(
    labels: TiffImage, images: Sequence[TiffImage], options: Options
) -> tuple[HostArray, HostArray | None, KnownAxes]:
    """Return labels, the image in which they are measured, and the meaning of their axes.

    Raises ValueError if labels and image do not fit together, or options do not fit them.
    """
    numbers, source, values = whole_numbers(labels), labels, None
    for image in images:
        values = _beside(numbers, labels.axes, image)
        known = image if image.spacing else labels
        source = replace(known, axes=image.axes.replace("C", ""))
    return numbers, values, known_axes(source, options, "labels")


def whole_numbers(labels: TiffImage) -> HostArray:
    """Return labels as integers; raise ValueError if they are not."""
    pixels = labels.pixels
    if "C" in labels.axes:
        count = pixels.shape[labels.axes.index("C")]
        message = (
            f"LABELS must have one number for each pixel; got {count} channels, as a picture in "
            "colors has. Save the labels as TIFF of 16 or 32 bits."
        )
        raise ValueError(message)
    if pixels.dtype.kind == "b":
        message = (
            "LABELS must have a number for each object; got a mask of 0 and 1. "
            "Use `equilabel segment` with --threshold 0.5 to find its objects."
        )
        raise ValueError(message)
    if pixels.dtype.kind != "f":
        return pixels
    whole = np.isfinite(pixels) & (pixels == np.floor(pixels)) & (np.abs(pixels) < 2**53)
    if not whole.all():
        message = (
            f"LABELS must be whole numbers; got {pixels[~whole].flat[0].item()!r}. "
            "Pass the file of the labels, and the image with --image."
        )
        raise ValueError(message)
    return pixels.astype(np.int64)


def _beside(numbers: HostArray, axes: str, image: TiffImage) -> HostArray:
    """Return an image with the same shape as the labels, with channels last."""
    values = image.pixels
    if "C" in image.axes:
        values = np.moveaxis(values, image.axes.index("C"), -1)
    rank = len(image.axes.replace("C", ""))
    if values.shape[:rank] != numbers.shape:
        theirs, ours = (" x ".join(map(str, a.shape)) for a in (image.pixels, numbers))
        message = (
            f"--image must have the shape of the labels; got {theirs} ({image.axes}) for labels "
            f"of {ours} ({axes}). Pass the image that the labels were made of."
        )
        raise ValueError(message)
    return values


def _notes_on_masks(numbers: HostArray) -> tuple[str, ...]:
    """Return a note if all objects have the same number, as in a mask; () otherwise."""
    most = int(numbers.max(initial=0))
    if most == 0 or (numbers[numbers > 0] != most).any():
        return ()
    _, count = label(numbers > 0, return_num=True)
    if count == 1:
        return ()
    return (
        f"All labeled pixels have the number {most}, in {count} regions: if this is a mask, use "
        "`equilabel segment` to tell its objects apart.",
    )
