"""Segment a layer: read it, find and measure its objects, and describe how."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import equilabel
from equilabel.quantities import without_questions

from .features import as_features, whole
from .histogram import compute_histogram
from .outcome import Outcome
from .scripts import batch_command, has_file, python_line, why_no_command
from .transforms import labels_transform

if TYPE_CHECKING:
    from collections.abc import Callable

    from .choices import Choices
    from .histogram import Histogram
    from .sources import Source


def segment_source(source: Source, choices: Choices, report: Callable[[str], None]) -> Outcome:
    """Find and measure the objects of a layer.

    Parameters
    ----------
    source : Source
        The layer.
    choices : Choices
        The values of the form.
    report : callable
        Called with the name of each step before it begins; what it raises ends the run.

    Returns
    -------
    Outcome
        Labels, features and metadata of the labels layer.
    """
    started = perf_counter()
    arrangement = source.arrangement(choices.roles)
    report("read")
    image = arrangement.arrange(source.read(choices.color, report))
    arguments = choices.arguments(source)
    names = ("label", *(choices.properties or ())) if choices.properties is not None else None
    channel = arguments.get("channel")
    shown = image if channel is None else image[..., channel]
    with without_questions():
        found = equilabel.segment(image, **{**arguments, "properties": names}, progress=report)
    features, _ = as_features(found.table)
    metadata = {
        **describe_segmentation(source, choices, found),
        "columns": [str(name) for name in features.columns],
        "parameters": arguments,
        "seconds": perf_counter() - started,
    }
    notes = _notes(source.name, compute_histogram(shown), found.num)
    transform = labels_transform(source, arrangement)
    return Outcome(arrangement.restore(found.labels), features, transform, metadata, notes)


def describe_segmentation(
    source: Source, choices: Choices, found: equilabel.Segmentation, *, chunked: bool = False
) -> dict[str, Any]:
    """Return how labels were made, for the metadata of their layer."""
    spacing, unit = source.spacing(choices.roles)
    return {
        "kind": "segment",
        "version": equilabel.__version__,
        "image": source.name,
        "path": source.path,
        "axes": choices.roles,
        "color": choices.color if source.rgb else "",
        "threshold": found.threshold,
        "objects": found.num,
        "connectivity": found.connectivity,
        "spacing": spacing,
        "unit": unit,
        "in_pixels": found.in_pixels,
        "method": found.method,
        "device": found.device,
        "whole": whole(found.table),
        "python": python_line(source, choices, chunked=chunked),
        "batch": batch_command(source, choices, chunked=chunked),
        "no_batch": why_no_command(source, choices),
        "from_file": has_file(source),
    }


def _notes(name: str, histogram: Histogram, objects: int) -> tuple[str, ...]:
    """Return what a person should know before the objects are trusted."""
    if objects and histogram.counts.size and not histogram.flat:
        return ()
    return (explain_no_objects(name, histogram),)


def explain_no_objects(name: str, histogram: Histogram) -> str:
    """Return why no object was found in an image, and what would help."""
    if not histogram.counts.size:
        return (
            f"image must have finite values; got only NaN or infinite ones in {name!r}. "
            "Open another image."
        )
    if histogram.flat:
        return (
            f"image must have more than one gray value; got only {histogram.low:g} in {name!r}. "
            "Choose another image, channel or color."
        )
    return (
        "image must have objects beyond the threshold that are not dropped; got none in "
        f"{name!r}. Move the threshold, lower the minimum size, or keep objects at the border."
    )
