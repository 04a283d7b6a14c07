"""One image, segmented, measured or related, and written: in a worker process, or by a command."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import Segmentation
from equilabel.colors import pick
from equilabel.descriptions import describe_labels, describe_values
from equilabel.devices import compiling
from equilabel.storage.errors import is_shortage
from equilabel.storage.files import without_flushing
from equilabel.storage.ome_zarr import is_zarr

from . import folder, inputs, records, streams, trial
from .inputs import FILE, FOLDER, Input, printable, quoted
from .options import Options, refuse
from .records import Provenance, Record, provenance, read_record, write_record
from .results import Made, describe_objects, write_results

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pandas as pd

    from equilabel.array_types import HostArray
    from equilabel.storage.metadata import Header, TiffImage


@dataclass(frozen=True, kw_only=True)
class Job(Input):
    """An image to label."""

    number: int  # its position in the run
    place: Path  # folder for its results; created, and removed if the image fails
    attempts: tuple[str, ...] = ()  # how earlier attempts of this run ended
    alone: bool = False  # belongs to no run, whose record would name the command

    @property
    def own(self) -> Path:
        """The beginning of the paths of its results."""
        return self.place / Path(self.name).name

    def failure(self, fingerprint: str, error: str = "", how: str = "") -> Record:
        """Return the record of an image that failed, and `how` its attempt ended."""
        beside: Any = {name: printable(path) for name, path in self.beside.items()}
        return Record(
            *(printable(self.path), printable(self.name), "failed"),
            error=error,
            fingerprint=fingerprint,
            attempts=(*self.attempts, how) if how else self.attempts,
            **beside,
        )


def label_one(
    job: Job,
    options: Options,
    provenance: Provenance,
    report: Callable[[str], None] | None = None,
) -> Record:
    """Label one image, write its results, and return its record, which includes any error."""
    started = perf_counter()
    record = job.failure(provenance.fingerprint)

    def described(record: Record) -> Record:
        said = streams.told(caught)
        if job.attempts and record.status == "done":
            how = job.attempts[-1]
            said.append(f"A first attempt ended with {how}; the second, alone, succeeded.")
        notes = tuple(dict.fromkeys(map(streams.one_line, (*record.notes, *said))))
        return replace(record, notes=notes, seconds=perf_counter() - started)

    with warnings.catch_warnings(record=True) as caught, without_flushing():
        warnings.simplefilter("always")
        try:
            files = list(job.files.values())
            before = [path.stat() for path in folder.parts_of(files)]
            record = replace(record, sha256=folder.checksum_of_image(files, options))
            if why := trial.why_in_blocks(job.path, options):
                from .chunked import label_in_blocks

                record = label_in_blocks(job.path, job.own, options, record, why)
                _same(before, files)
            else:
                image, others = _read(job.files, options)
                _same(before, files)
                shape, notes = image.pixels.shape, trial.notes_of_file(image, options)
                record = replace(record, shape=tuple(map(int, shape)), axes=image.axes, notes=notes)
                if options.command == "measure":
                    made, record = _measured(image, others, options, record)
                else:
                    made, record = _segmented(image, others, options, record, report)
                job.place.mkdir()  # fails if the run has ended and its folder is gone
                record = write_results(made, job.own, options, record)
            record, path = described(record), job.place / folder.RECORD
            write_record(path, record, provenance, alone=job.alone)
        except Exception as error:  # whatever it is, only this image fails
            shutil.rmtree(job.place, ignore_errors=True)
            attempts = (*job.attempts, streams.MEMORY) if is_shortage(error) else job.attempts
            record = described(record.failed(streams.explain(error), attempts=attempts))
    return record


def examine(files: Mapping[str, Path], options: Options) -> Sequence[Header]:
    """Return headers of an image and of those beside it; raise the errors of labeling."""
    from equilabel.storage.metadata import Header

    with warnings.catch_warnings(action="ignore"):
        image, others = _read(files, options)
    if options.command == "measure":
        known = arrange(image, others, options)[2]
    else:
        known = trial.known_axes(image, options)
        _arrays_of(others, image)
    trial.try_axes(options, known.axes, known.arguments)
    images = image, *others.values()
    return [Header(one.pixels.shape, one.axes, one.pixels.dtype.name) for one in images]


def _read(files: Mapping[str, Path], options: Options) -> tuple[TiffImage, dict[str, TiffImage]]:
    """Read a whole image, and those beside it, by name."""
    from equilabel.storage.images import is_tiff, read_header, read_image

    series = {name: options.series if name in ("", "image") else 0 for name in files}
    if options.series and "image" in files and _is_single(files[""]):
        series[""] = 0  # labels of that image alone, as `equilabel segment` writes them
    found = {}
    for name, path in files.items():
        fits = partial(trial.refuse_too_large, path, options=options)
        try:
            if not is_tiff(path):  # of a TIFF, the header is read with the pixels
                fits(read_header(path, series=series[name]))
            found[name] = read_image(
                path,
                series=series[name],
                memory_limit=options.memory_limit,
                indices=name in ("markers", "mask") or (options.command == "measure" and not name),
                accept=fits,
            )
        except ValueError as error:
            if not name:
                raise
            refuse(f"--{name} must be an image; got {quoted(path)}: {error}")
    return found.pop(""), found


def _is_single(path: Path) -> bool:
    """Return whether a file has one image, or none that can be read."""
    from equilabel.storage.images import is_tiff, read_header

    with suppress(ValueError):
        if is_tiff(path):
            read_header(path, series=1)
            return False
    return True


def _same(before: Sequence[os.stat_result], files: Sequence[Path]) -> None:
    """Raise ValueError if files have changed."""
    after = [path.stat() for path in folder.parts_of(files)]
    if [(s.st_size, s.st_mtime_ns) for s in before] != [(s.st_size, s.st_mtime_ns) for s in after]:
        refuse("image file must not change while it is read; got a new size or time. Run again.")


def _segmented(
    image: TiffImage,
    others: Mapping[str, TiffImage],
    options: Options,
    record: Record,
    report: Callable[[str], None] | None,
) -> tuple[Made, Record]:
    """Segment an image; return what was made, and its record."""
    from equilabel import segment

    known = trial.known_axes(image, options)
    result = segment(
        image.pixels,
        **options.segment,
        **known.arguments,
        **_arrays_of(others, image),
        channel_axis=known.channel_axis,
        channel=known.channel,
        progress=report,
    )
    shown = pick(image.pixels, known.channel_axis, known.channel)
    dark = bool(options.segment.get("dark"))
    doubt = ""
    if "grow" not in result.in_pixels:  # cells may cover the image
        doubt = describe_labels(result.labels, result.num, dark=dark, stacked=known.stacked)
    doubts = filter(None, [describe_values(shown) or doubt])
    record = replace(record, notes=(*known.notes, *doubts), **describe_objects(result))
    return Made(result, result.labels, shown, known, image.interval), record


def _arrays_of(others: Mapping[str, TiffImage], image: TiffImage) -> dict[str, Any]:
    """Return markers and mask as arguments of `segment`; raise ValueError if they do not fit."""
    found = {}
    for name, other in others.items():
        masked = other.pixels.dtype == np.bool_
        found[name] = other.pixels if masked else whole_numbers(other, f"--{name}")
        _refuse_shape(f"--{name}", other, _shape(image), "image")
    return found


def _shape(image: TiffImage) -> tuple[int, ...]:
    """Return the shape of an image without its channels."""
    axes = zip(image.pixels.shape, image.axes, strict=True)
    return tuple(side for side, axis in axes if axis != "C")


def _refuse_shape(name: str, image: TiffImage, shape: tuple[int, ...], of: str) -> None:
    """Raise ValueError if an image has another shape than what it belongs to."""
    if _shape(image) != shape:
        theirs, ours = (" x ".join(map(str, each)) for each in (image.pixels.shape, shape))
        refuse(
            f"{name} must have the shape of the {of}, {ours}; got {theirs} ({image.axes}). Pass "
            "the file that belongs to it."
        )


# ---- Labels that are measured


def _measured(
    labels: TiffImage, others: Mapping[str, TiffImage], options: Options, record: Record
) -> tuple[Made, Record]:
    """Measure labels, in an image if there is one; return what was made, and its record."""
    numbers, values, known = arrange(labels, others, options)
    how: Any = {"spacing": known.distances, "stacked": known.stacked}
    numbers, table = trial.measure_labels(numbers, values, options, **how)
    notes = (*known.notes, *_notes_on_masks(numbers))
    shown = values if values is None or values.ndim == numbers.ndim else values[..., 0]
    result = Segmentation(numbers, table, None, len(table), 0, (), "", "cpu")
    record = replace(record, objects=len(table), axes=known.axes, notes=notes, device="cpu")
    intervals = [one.interval for one in (*others.values(), labels) if one.interval is not None]
    return Made(result, numbers, shown, known, next(iter(intervals), None)), record


def arrange(
    labels: TiffImage, others: Mapping[str, TiffImage], options: Options
) -> tuple[HostArray, HostArray | None, trial.KnownAxes]:
    """Return labels, the image in which they are measured, and the meaning of their axes."""
    numbers, source, values = whole_numbers(labels), labels, None
    for image in others.values():
        _refuse_shape("--image", image, numbers.shape, "labels")
        values = image.pixels
        if "C" in image.axes:
            values = np.moveaxis(values, image.axes.index("C"), -1)
        known = image if image.spacing else labels
        source = replace(known, axes=image.axes.replace("C", ""), notes=image.notes)
    return numbers, values, trial.known_axes(source, options, "labels")


def whole_numbers(labels: TiffImage, name: str = "LABELS") -> HostArray:
    """Return labels as integers; raise ValueError if they are not."""
    pixels = labels.pixels
    if "C" in labels.axes:
        count = pixels.shape[labels.axes.index("C")]
        refuse(
            f"{name} must have one number for each pixel; got {count} channels, as a picture in "
            "colors has. Save the labels as TIFF of 16 or 32 bits; with tifffile, pass "
            "photometric='minisblack'."
        )
    if pixels.dtype.kind == "b":
        refuse(
            "LABELS must have a number for each object; got a mask of 0 and 1. "
            "Use `equilabel segment` with --threshold 0.5 to find its objects."
        )
    if pixels.dtype.kind != "f":
        return pixels
    whole = np.isfinite(pixels) & (pixels == np.floor(pixels)) & (np.abs(pixels) < 2**53)
    if not whole.all():
        refuse(
            f"{name} must be whole numbers; got {pixels[~whole].flat[0].item()!r}. Pass the file "
            f"of the labels{', and the image with --image' * (name == 'LABELS')}."
        )
    return pixels.astype(np.int64)


def _notes_on_masks(numbers: HostArray) -> tuple[str, ...]:
    """Return a note if all objects have the same number, as in a mask; () otherwise."""
    most = int(numbers.max(initial=0))
    if most == 0 or (numbers[numbers > 0] != most).any():
        return ()
    from equilabel import label

    _, count = label(numbers > 0, return_num=True)
    if count == 1:
        return ()
    return (
        f"All labeled pixels have the number {most}, in {count} regions: if this is a mask, use "
        "`equilabel segment` to tell its objects apart.",
    )


# ---- `equilabel segment`: label one image in this process

OWN_RECORD = "_record.json"


def run(
    word: str,
    out: Any,
    options: Options,
    how: dict[str, Any],
    *,
    typed: Collection[str],
    overwrite: bool,
    notes: Sequence[str] = (),
) -> int:
    """Label one image, write its results and their record to `out`, and return the exit code.

    `typed` are the options that the user typed, `how` those of `ChunkOptions`; `notes` are printed.
    Raises RefusedError before anything is written.
    """
    for note in notes:
        streams.complain(note)
    path = inputs.located(word, "IMAGE")
    out = inputs.located(out, "--out", writes=True)
    whole = options.series or find_spec("zarr") is None
    given = replace(options, too_large="refuse" if whole else "chunked")
    chunked = how["chunked"] or trial.chooses_chunks(path, out, options, typed)
    at_url = inputs.refuse_at_url(path, out)
    why = "a URL" if at_url else trial.why_in_blocks(path, given, chunked=chunked)
    if why:
        from .chunked import run_in_chunks

        return run_in_chunks(path, out, options, how, why=why, typed=typed, overwrite=overwrite)
    trial.refuse_own(path, options, typed)
    trial.check_formats(options)
    _refuse_kind(word, path, options)
    name = inputs.stem(path)
    if options.slices:
        inputs.refuse_among(path, out)
        name = inputs.name_of(path)
    (item,) = inputs.add_files([Input(path, name)], options)
    finals = {**options.finals(out, name), "record": out / f"{name}{OWN_RECORD}"}
    former = _refuse_losses(finals, item, options, overwrite)
    new = [path for path in (out, *out.parents) if not os.path.lexists(path)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=".equilabel-", dir=out))
    except OSError as error:
        raise folder.not_writable(out, error) from error
    try:
        job = Job(**vars(item), number=0, place=place / "results", alone=True)
        stages = streams.Stages()
        stages("read")
        with compiling.listening(stages.compiling), stages.beating():
            record = label_one(job, options, provenance(options), stages)
        if record.status == "failed":
            return _fail(record.error, path, options)
        folder.settle(job.place, finals, former)
    except OSError as error:
        return _fail(streams.explain(error), path, options)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        folder.remove_empty(*new)
    streams.say_results(
        streams.describe(record), (*record.notes, *streams.notes_on_machine()), finals
    )
    return 0


def _refuse_kind(word: str, path: Path, options: Options) -> None:
    """Raise RefusedError unless there is a file or a Zarr at a path, or a folder of slices."""
    kind = inputs.kind_of(path)
    if options.slices and (kind != FOLDER or is_zarr(path)):
        remedy = "Check the path." if kind == inputs.NOTHING else "Leave --slices out."
        refuse(f"IMAGE must be {FOLDER} of slices; got {quoted(path)}, {kind}. {remedy}")
    if not options.slices:
        of_folder = (
            f"For all images in it, use `equilabel batch {printable(word)} --out results`; "
            "if they are slices of one volume, pass --slices."
        )
        inputs.refuse_kind("IMAGE", path, FILE, of_folder if kind == FOLDER else "Check the path.")


def _refuse_losses(
    finals: dict[str, Path], item: Input, options: Options, overwrite: bool
) -> set[Path]:
    """Return unchanged results of an earlier call for an image; refuse to replace other files."""
    present = [path for path in finals.values() if os.path.lexists(path)]
    folder.refuse_inputs(present, list(item.files.values()))
    for path in filter(folder.is_obstacle, present):
        refuse(f"--out must hold no folder of a result's name; got {quoted(path)}. Choose another.")
    record, former = finals["record"], set()
    known = read_record(record)
    if known is not None and _is_of(known, records.facts_of(record), item, options):
        outputs = known.outputs.values()
        each = {record.with_name(Path(output["file"]).name): output for output in outputs}
        former = {record, *(path for path, output in each.items() if folder.holds(path, output))}
    if not overwrite:
        which = "files that were changed, or that `equilabel segment` did not write for this image"
        inputs.refuse_to_replace([path for path in present if path not in former], which)
    return former


def _is_of(known: Record, facts: dict[str, Any], item: Input, options: Options) -> bool:
    """Return whether a record is of an image: of its name, its series, and its path or content."""
    series = facts.get("parameters", {}).get("series", 0)
    if Path(known.file).name != printable(item.path.name) or series != options.series:
        return False
    same = os.path.abspath(records.there(known.file, facts)) == os.path.abspath(item.path)  # noqa: PTH100
    return same or known.sha256 == folder.checksum_of_image([*item.files.values()], options)


def _fail(error: str, path: Path, options: Options) -> int:
    """Print why the image failed; raise RefusedError if the options fit no image."""
    complaint = trial.check(options)
    if complaint:
        refuse(error if error.startswith("--") else complaint)  # with the axes of this image
    streams.complain(f"{printable(path)}: {error}")
    return 1


# ---- `equilabel relate`: tables of which objects touch, are near, or lie in others


def run_relate(
    word: str, to: str | None, out: Path | str, options: Options, *, overwrite: bool
) -> int:
    """Relate the objects of labels to each other, or to those of `to`; return the exit code."""
    from equilabel.storage.images import read_image
    from equilabel.storage.table import write_table

    files = [inputs.expanded(word, "LABELS")]
    files += [] if to is None else [inputs.expanded(to, "--to")]
    for path, name in zip(files, ("LABELS", "--to"), strict=False):
        inputs.refuse_kind(name, path)
    out = inputs.expanded(out, "--out")
    kinds = ("neighbors", "contacts") if to is None else ("children", "parents")
    finals = {kind: out / f"{inputs.stem(files[0])}_{kind}.{options.format}" for kind in kinds}
    if not overwrite:
        inputs.refuse_to_replace(list(filter(os.path.lexists, finals.values())))
    at = files[0]
    images: list[TiffImage] = []
    try:
        for at in files:
            images.append(read_image(at, series=options.series, indices=True))
        streams.Stages()("measure")
        tables, notes = _tables(images, options)
        out.mkdir(parents=True, exist_ok=True)
        for table, path in zip(tables, finals.values(), strict=True):
            write_table(path, table)
    except (OSError, ValueError, TypeError, MemoryError) as error:
        streams.complain(f"{printable(at)}: {streams.explain(error)}")
        return 1
    found = f"{len(tables[1])} pair{'s' * (len(tables[1]) != 1)} that touch"
    if to is not None:
        found = f"{int((tables[0].parent > 0).sum())} in {len(tables[1])} of {printable(to)}"
    streams.say_results(
        f"{printable(files[0])}: {streams.objects(len(tables[0]))}, {found}", notes, finals
    )
    return 0


def _tables(
    images: list[TiffImage], options: Options
) -> tuple[tuple[pd.DataFrame, pd.DataFrame], tuple[str, ...]]:
    """Return both tables, and notes on what was guessed."""
    from equilabel import contacts, measure, neighbors, relate

    labels = images[0]
    known = trial.known_axes(labels, options, "labels")
    how: Any = {"spacing": known.distances, "stacked": known.stacked}
    numbers = whole_numbers(labels)
    if len(images) == 1:
        tables = neighbors(numbers, **how), contacts(numbers, **how)
    else:
        table = measure(numbers, **how)
        places = [name for name in map(str, table) if name.startswith(("bbox", "centroid"))]
        parents = whole_numbers(images[1])
        tables = relate(numbers, parents, table.drop(columns=places), **how)
    return tables, (*known.notes, f"Lengths are in {known.length or 'an unknown unit'}.")
