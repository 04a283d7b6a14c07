"""Measure the objects of labels that were made elsewhere, and write the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import PROPERTIES, default_properties, label, regionprops_table, track_overlaps

from .columns import PIXEL, column_units, summarize, summarize_frames
from .notes import notes_of_file, notes_on_spacing
from .pixelsize import known_axes
from .records import describe_result
from .sizes import count_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from equilabel.array_types import HostArray
    from equilabel.storage.axes import TiffImage

    from .options import Options
    from .pixelsize import KnownAxes
    from .records import Record


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
    _, _, axes, stacked, spacing, unit, steps = known
    names = options.segment.get("properties")
    track, measured = bool(options.segment.get("track")), known.measured
    table = measure_table(numbers, values, names, steps, stacked=stacked, track=track)
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
            "Use `equilabel label` with --threshold 0.5 to find its objects."
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


def measure_table(
    numbers: HostArray,
    values: HostArray | None,
    names: Sequence[str] | None,
    steps: tuple[float, ...] | None,
    *,
    stacked: bool,
    track: bool = False,
) -> pd.DataFrame:
    """Measure labels; the images of a stack one by one, because labels may repeat.

    `numbers` are labels, possibly with gaps; `values` is the image with channels last; `names` are
    properties, by default those of `segment` (without intensities if there is no image); `steps` is
    the pixel size along each spatial axis. With `track`, the columns of `track_overlaps` are added.

    >>> numbers = np.array([[7, 7, 0], [0, 0, 3]])
    >>> measure_table(numbers, None, ["label", "area"], None, stacked=False)
       label  area
    0      3   1.0
    1      7   2.0
    """
    import pandas as pd

    rank = numbers.ndim - stacked
    if names is None:
        every = default_properties(rank, steps or (1.0,) * rank, stacked)
        names = [name for name in every if values is not None or not PROPERTIES[name].intensity]
    blind = [name for name in names if name in PROPERTIES and PROPERTIES[name].intensity]
    if blind and values is None:
        message = (
            f"--properties must not ask for intensities without --image; got {blind[0]!r}. "
            "Pass --image, or leave it out."
        )
        raise ValueError(message)
    if "frame" in names and not stacked:  # raises the error of `segment`
        regionprops_table(numbers[:0], properties=("frame",))
    if track and not stacked:
        message = (
            "--track needs --stacked, where the first axis counts frames; got --no-stacked. "
            "Pass --stacked."
        )
        raise ValueError(message)
    wanted = [name for name in names if name != "frame"]
    parts = []
    for k in range(len(numbers)) if stacked else [...]:
        under = None if values is None else values[k]
        columns: dict[str, Any] = regionprops_table(
            numbers[k], under, ["label", *wanted], spacing=steps
        )
        count = len(columns["label"])
        own = {name: column for name, column in columns.items() if name.split("-")[0] in wanted}
        part = pd.DataFrame(own, index=range(count))
        if "frame" in names:
            before = set(names[: names.index("frame")])
            place = sum(name.split("-")[0] in before for name in own)
            part.insert(place, "frame", np.full(count, k, np.int64))
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    return _with_tracks(table, names, numbers) if track else table


def _with_tracks(table: pd.DataFrame, names: Sequence[str], numbers: HostArray) -> pd.DataFrame:
    """Return a table with the columns of tracks after label and frame, like that of `segment`."""
    tracks = track_overlaps(numbers)  # in the order of frames and labels, like the table
    place = sum(name in ("label", "frame") for name in names[:2])
    for name in ("event", "parent", "track"):
        table.insert(place, name, tracks[name].to_numpy())
    return table


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
        "`equilabel label` to tell its objects apart.",
    )
