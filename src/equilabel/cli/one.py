"""One image: read, segment, write. Runs in a worker process."""

from __future__ import annotations

import errno
import math
import shutil
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from .inputs import printable
from .records import Record

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from equilabel import Segmentation
    from equilabel.storage.tiff import TiffImage

    from .options import Options

TELLING = (UserWarning, RuntimeWarning)  # the others are for programmers
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


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
    earlier : Record, optional
        What holds if the image is the same as then.
    """

    number: int
    path: Path
    name: str
    place: Path
    earlier: Record | None = None


def label_one(job: Job, options: Options, fingerprint: str) -> Record:
    """Label one image and write its results; errors become the record's."""
    from equilabel.storage.files import sha256
    from equilabel.storage.tiff import read_tiff

    started = perf_counter()
    record = Record(printable(job.path), printable(job.name), "failed", fingerprint=fingerprint)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            before = job.path.stat()
            record = replace(record, sha256=sha256(job.path))
            if job.earlier is not None and job.earlier.sha256 == record.sha256:
                return replace(job.earlier, status="skipped", file=record.file)
            image = read_tiff(job.path, series=options.series, memory_limit=options.memory_limit)
            _same(before, job.path.stat())
            shape = tuple(map(int, image.pixels.shape))
            record = replace(record, shape=shape, axes=image.axes, notes=image.notes)
            record = _label(image, job, options, record)
        except Exception as error:  # whatever it is, it costs one row
            shutil.rmtree(job.place, ignore_errors=True)
            record = replace(record, error=explain(error))
    said = [one_line(each.message) for each in caught if each.category in TELLING]
    notes = tuple(dict.fromkeys((*record.notes, *said)))
    return replace(record, notes=notes, seconds=perf_counter() - started)


def check(options: Options) -> str:
    """Try the options on small images; return the complaint, empty where there is none.

    What only three axes can satisfy (a connectivity of 3, say) is no fault of the options.
    """
    import numpy as np

    from equilabel import segment

    complaint = ""
    for shape in ((32, 32), (8, 16, 16), (4, 4, 16, 16)):
        noise = np.random.default_rng(0).normal(50, 8, shape)
        noise[..., 4:12, 4:12] += 120  # two classes: every method finds a threshold
        try:
            with warnings.catch_warnings(action="ignore"):
                segment(noise, **options.segment)
        except Exception as error:
            complaint = complaint or explain(error)
        else:
            return ""
    return complaint


def explain(error: BaseException) -> str:
    """Put an error into one line for a person."""
    if isinstance(error, MemoryError):
        return (
            f"image must fit in memory; got {one_line(error) or 'no more of it'}. "
            "Pass fewer --jobs, or use a machine with more."
        )
    if isinstance(error, OSError) and error.strerror:
        if error.errno in FULL:
            return (
                f"the disk of --out must have room; got {error.strerror!r}. "
                "Make room and run again with --resume."
            )
        name = f" for {printable(error.filename)!r}" if error.filename else ""
        return f"files must be readable and writable; got {error.strerror!r}{name}."
    expected = isinstance(error, (ValueError, TypeError, RuntimeError, OSError, ImportError))
    text = one_line(error) or type(error).__name__
    return text if expected else f"{type(error).__name__}: {text}. Please report this."


def one_line(text: object) -> str:
    """Join lines and escape what is not to be printed."""
    return printable(" ".join(str(text).split()))


def _same(before: os.stat_result, after: os.stat_result) -> None:
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        message = "file must not change while it is read; got a new size or time. Run again."
        raise ValueError(message)


def _label(image: TiffImage, job: Job, options: Options, record: Record) -> Record:
    """Segment an image and write its results where the job says."""
    from equilabel import segment

    channel_axis, channel = _channel(image, options.channel)
    axes = image.axes.replace("C", "")
    spacing, unit = _spacing(image, options)
    stacked = "T" in axes if options.stacked is None else options.stacked and len(axes) > 2
    steps = _steps(axes[stacked:], spacing)
    result = segment(
        image.pixels,
        **options.segment,
        spacing=steps,
        stacked=stacked,
        channel_axis=channel_axis,
        channel=channel,
    )
    paths = {
        kind: job.place / f"{Path(job.name).name}{ending}"
        for kind, ending in options.endings().items()
    }
    shown = image.pixels if channel_axis is None else image.pixels.take(channel or 0, channel_axis)
    job.place.mkdir(parents=True)
    _write(paths, result, shown, axes=axes, spacing=spacing, unit=unit, interval=image.interval)
    measured = {axis: spacing[axis] for axis in axes if steps is not None and axis in spacing}
    guessed = (
        "" if measured or not spacing else f"Sizes known of {''.join(spacing)} alone: in pixels."
    )
    return replace(
        record,
        status="done",
        objects=int(result.num),
        threshold=_plain("local" if result.threshold is None else result.threshold),
        spacing=measured,
        unit=unit if measured else "",
        notes=(*record.notes, *([guessed] if guessed else [])),
        method=result.method,
        device=result.device,
        connectivity=result.connectivity,
        outputs={
            kind: {
                "file": printable(Path(job.name).with_name(path.name).as_posix()),
                "bytes": path.stat().st_size,
            }
            for kind, path in paths.items()
        },
    )


def _write(
    paths: dict[str, Path],
    result: Segmentation,
    shown: NDArray[Any],
    *,
    spacing: dict[str, float],
    **calibration: Any,
) -> None:
    from equilabel.storage.overlay import write_overlay
    from equilabel.storage.table import write_table
    from equilabel.storage.tiff import write_labels

    write_table(paths["table"], result.table)
    write_labels(paths["labels"], result.labels, spacing=spacing, **calibration)
    if "overlay" in paths:
        sides = [spacing.get(axis, 1.0) for axis in "YX"]
        write_overlay(paths["overlay"], shown, result.labels, spacing=sides)


def _channel(image: TiffImage, wanted: int | str | None) -> tuple[int | None, int | None]:
    """Find the axis of channels, and the index of the channel to label."""
    if "C" not in image.axes:
        if wanted in (None, 0):
            return None, None
        message = f"channel must be 0 for an image without channels; got {wanted!r}. Leave it out."
        raise ValueError(message)
    if isinstance(wanted, str):
        if wanted not in image.channels:
            message = (
                f"channel must be one of {list(image.channels)} or an index; got {wanted!r}. "
                "Pass an index, from 0."
            )
            raise ValueError(message)
        return image.axes.index("C"), image.channels.index(wanted)
    return image.axes.index("C"), wanted


def _spacing(image: TiffImage, options: Options) -> tuple[dict[str, float], str]:
    """Decide on the distances of elements by axis, and on their unit."""
    space = "".join(axis for axis in image.axes if axis in "ZYX")
    unit = image.unit if options.unit is None else options.unit
    if options.spacing is None:
        return {axis: image.spacing[axis] for axis in space if axis in image.spacing}, unit
    values = options.spacing if len(options.spacing) > 1 else options.spacing * len(space)
    if len(values) != len(space):
        message = (
            f"spacing must be 1 or {len(space)} numbers for axes {space!r}; got {len(values)}."
        )
        raise ValueError(message)
    return dict(zip(space, values, strict=True)), unit


def _steps(axes: str, spacing: dict[str, float]) -> tuple[float, ...] | None:
    """Order spacing by axis, time counted in frames; None unless all of space is known."""
    if any(axis != "T" and axis not in spacing for axis in axes):
        return None
    return tuple(spacing.get(axis, 1.0) for axis in axes)


def _plain(value: Any) -> Any:
    """Turn numbers into what JSON holds."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else str(value)
