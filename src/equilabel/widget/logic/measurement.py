"""Measure the objects of a labels layer, with the gray values of an image layer."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import equilabel

from .features import as_features, whole
from .outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from equilabel.array_types import HostArray

    from .axes import Role
    from .sources import Source


def measure_source(
    labels: Source,
    image: Source | None,
    roles: tuple[Role, ...],
    properties: tuple[str, ...],
    report: Callable[[str], None],
    *,
    color: str = "luminance",
) -> Outcome:
    """Measure the objects of a labels layer.

    Parameters
    ----------
    labels : Source
        The labels layer.
    image : Source, optional
        Layer of gray values under it.
    roles : tuple of str
        Of the axes of the labels; labels that repeat along channels are measured once.
    properties : tuple of str
        Statistics.
    report : callable
        Called before each step.
    color : str
        Which gray values to take from an RGB image.

    Returns
    -------
    Outcome
        With the labels as they are.
    """
    started = perf_counter()
    report("read")
    pixels = labels.read(report=report)
    values = None if image is None else image.read(color, report)
    check_shapes(labels, image)
    report("measure")
    table = measure_pixels(pixels, values, labels, roles, properties)
    features, dense = as_features(table)
    notes = () if dense else (explain_gaps(int(table["label"].iloc[-1]), len(table)),)
    spacing, unit = labels.spacing(roles)
    metadata = {
        "kind": "measure",
        "version": equilabel.__version__,
        "intensity": "" if image is None else image.name,
        "axes": roles,
        "properties": properties,
        "objects": len(table),
        "spacing": spacing,
        "unit": unit,
        "whole": whole(table),
        "columns": [str(name) for name in features.columns],
        "seconds": perf_counter() - started,
    }
    return Outcome(pixels, features, {}, metadata, notes)


def measure_pixels(
    pixels: HostArray,
    values: HostArray | None,
    labels: Source,
    roles: tuple[Role, ...],
    properties: tuple[str, ...],
) -> pd.DataFrame:
    """Return the table of the labels in `pixels`, with the axes and units of their layer."""
    import pandas as pd

    arrangement = labels.arrangement(roles)
    arranged = arrangement.arrange(pixels)
    gray = None if values is None else arrangement.arrange(values)
    if arrangement.channel is not None:
        arranged = arranged[..., 0]
    return pd.DataFrame(
        equilabel.regionprops_table(
            arranged,
            gray,
            ("label", *properties),
            spacing=labels.spacing(roles)[0],
            stacked=arrangement.stacked,
        )
    )


def check_shapes(labels: Source, image: Source | None) -> None:
    """Raise ValueError unless an image has the shape of the labels."""
    if image is None or image.shape == labels.shape:
        return
    message = (
        f"image must have the shape of the labels, {labels.shape}; got {image.shape} for "
        f"{image.name!r}. Choose the image they were made from, or none."
    )
    raise ValueError(message)


def explain_gaps(last: int, count: int) -> str:
    """Return why selecting a row of napari's table selects no object, and what would help."""
    return (
        f"Labels without large gaps are needed for napari's own features table to select objects; "
        f"got {count} labels up to {last}. Number them again, as in `equilabel.label(labels)`."
    )
