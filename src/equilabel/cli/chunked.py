"""`equilabel segment` of a chunked image: a Zarr, or a TIFF larger than memory."""

from __future__ import annotations

import os
import shutil
import warnings
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from equilabel.storage.files import folder_for
from equilabel.storage.ome_zarr import find_image, is_zarr

from .axes import find_axes
from .chunk_choices import TAKEN, check_choices
from .errors import explain, name_options, one_line
from .names import expanded, printable, quoted, stem
from .options import OME_ZARR, RefusedError
from .progress import BlockProgress, describe
from .records import Record, describe_result, provenance, write_record
from .results import column_units, describe_objects, summarize
from .signals import Interrupted
from .streams import complain, say

if TYPE_CHECKING:
    from pathlib import Path

    from equilabel import Segmentation

    from .axes import Axes
    from .chunk_choices import Choices
    from .options import Options


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
    from equilabel.storage.table import write_table

    started, made_with = perf_counter(), provenance(options)
    with warnings.catch_warnings(record=True) as caught, progress:
        warnings.simplefilter("always")
        found = segment_chunked(
            path,
            **{name: options.segment[name] for name in TAKEN},
            **axes.arguments,
            chunks=choices.chunks,
            shards=choices.shards,
            out=places.labels,
            scheduler=choices.scheduler,
            workers=choices.workers,
            resume=choices.resume,
            progress=progress,
        )
    units = column_units(found.table, len(found.spacing), axes.unit)
    write_table(places.table, found.table, units=units if options.unit_row else None)
    for_users = [one for one in caught if one.category in (UserWarning, RuntimeWarning)]
    said = [name_options(one_line(one.message)) for one in for_users]
    record = _record(path, places, found, axes, units)
    record = replace(
        record,
        notes=tuple(dict.fromkeys((*axes.notes, *said))),
        seconds=perf_counter() - started,
        fingerprint=made_with.fingerprint,
    )
    write_record(places.record, record, made_with)
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
    if out.suffix.lower() == ".zarr" or _is_among_labels(out):
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
    present = next((path for path in places if os.path.lexists(path)), None)
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
