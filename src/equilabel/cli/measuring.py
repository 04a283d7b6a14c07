"""Measure the objects of labels that were made elsewhere, and write the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from equilabel import label, measure

from .axes import known_axes, notes_of_file, notes_on_spacing
from .records import describe_result
from .results import PIXEL, column_units, count_sizes, summarize, summarize_frames

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from equilabel.array_types import HostArray
    from equilabel.storage.axes import TiffImage

    from .axes import KnownAxes
    from .options import Options
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
