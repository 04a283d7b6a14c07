"""From a layer to what its labels layer gets: read, segment or measure, tabulate. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import equilabel

from .features import as_features, whole
from .histograms import spread
from .repeating import batch_command, line_of_python

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from .axes import Arrangement, Role
    from .choices import Choices
    from .histograms import Spread
    from .sources import Source

KEY = "equilabel"  # under which metadata of our layers stand


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run gives a labels layer.

    Attributes
    ----------
    labels : array of int
        In the order of axes of the layer.
    features : pandas.DataFrame
        Row i is label i.
    transform : dict
        scale, translate, ... for the labels.
    metadata : dict
        How the labels came about, enough to repeat it.
    notes : tuple of str
        Sentences to show.
    """

    labels: NDArray[Any]
    features: pd.DataFrame
    transform: dict[str, Any]
    metadata: dict[str, Any]
    notes: tuple[str, ...] = ()


def segment_source(source: Source, choices: Choices, tell: Callable[[str], None]) -> Outcome:
    """Find and measure the objects of a layer.

    Parameters
    ----------
    source : Source
        The layer.
    choices : Choices
        What was chosen.
    tell : callable
        Called with the name of each step before it begins; what it raises ends the run.

    Returns
    -------
    Outcome
        What the labels layer gets.
    """
    started = perf_counter()
    arrangement = source.arrangement(choices.roles)
    tell("read")
    image = arrangement.arrange(source.read(choices.color, tell))
    arguments = choices.arguments(source)
    names = ("label", *(choices.properties or ())) if choices.properties is not None else None
    found = equilabel.segment(image, **{**arguments, "properties": names}, progress=tell)
    features, _ = as_features(found.table)
    labels = arrangement.restore(found.labels)
    spacing, unit = source.spacing(choices.roles)
    metadata = {
        "kind": "segment",
        "version": equilabel.__version__,
        "image": source.name,
        "path": source.path,
        "axes": choices.roles,
        "color": choices.color if source.rgb else "",
        "parameters": arguments,
        "threshold": found.threshold,
        "objects": found.num,
        "connectivity": found.connectivity,
        "spacing": spacing,
        "unit": unit,
        "method": found.method,
        "device": found.device,
        "whole": whole(found.table),
        "python": line_of_python(source, choices),
        "batch": batch_command(source, choices),
        "seconds": perf_counter() - started,
    }
    notes = () if found.num else (_nothing(source.name, spread(image)),)
    return Outcome(labels, features, labels_transform(source, arrangement), metadata, notes)


def warm_up() -> None:
    """Load what a run needs, so that the first does not wait for it."""
    square = np.zeros((16, 16), np.uint8)
    square[4:8, 4:8] = 9
    equilabel.segment(square, sigma=1.0, fill_holes=True)


def measure_source(
    labels: Source,
    image: Source | None,
    roles: tuple[Role, ...],
    properties: tuple[str, ...],
    tell: Callable[[str], None],
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
    tell : callable
        Called before each step.
    color : str
        What to make of an RGB image.

    Returns
    -------
    Outcome
        With the labels as they are.
    """
    import pandas as pd

    started = perf_counter()
    tell("read")
    pixels = labels.read(tell=tell)
    values = None if image is None else image.read(color, tell)
    _check_fit(labels, image, roles)
    arrangement = labels.arrangement(roles)
    arranged = arrangement.arrange(pixels)
    gray = None if values is None else arrangement.arrange(values)
    if arrangement.channel is not None:
        arranged = arranged[..., 0]
    tell("measure")
    spacing, unit = labels.spacing(roles)
    table = pd.DataFrame(
        equilabel.regionprops_table(
            arranged,
            gray,
            ("label", *properties),
            spacing=spacing,
            stacked=arrangement.stacked,
        )
    )
    features, dense = as_features(table)
    notes = () if dense else (_sparse(int(table["label"].iloc[-1]), len(table)),)
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
        "seconds": perf_counter() - started,
    }
    return Outcome(pixels, features, {}, metadata, notes)


def labels_transform(source: Source, arrangement: Arrangement) -> dict[str, Any]:
    """Return where the labels lie: as the image, less its first axis if that is dropped."""
    if not arrangement.drops_channel:
        return placement(source.transform)
    return placement(without_first_axis(source.transform))


def placement(transform: dict[str, Any]) -> dict[str, Any]:
    """Return where a layer lies, in plain arrays and words for another one."""
    plain = dict(transform)
    plain["units"] = tuple(str(unit) for unit in transform["units"])
    affine = transform["affine"]
    plain["affine"] = np.array(getattr(affine, "affine_matrix", affine))
    return plain


def without_first_axis(transform: dict[str, Any]) -> dict[str, Any]:
    """Leave the first axis out of scale, translate, rotate, shear, affine, units and names."""
    less = {name: transform[name][1:] for name in ("scale", "translate", "units", "axis_labels")}
    rotate = transform["rotate"]
    affine = getattr(transform["affine"], "affine_matrix", transform["affine"])
    less["rotate"] = rotate[1:, 1:] if getattr(rotate, "ndim", 0) == 2 else rotate
    less["affine"] = affine[1:, 1:]
    count = len(transform["scale"])
    shear = transform["shear"]
    if getattr(shear, "ndim", 0) == 1 and len(shear) == count * (count - 1) // 2:
        less["shear"] = shear[count - 1 :]  # the upper triangle, row by row
    return less


def _check_fit(labels: Source, image: Source | None, roles: tuple[Role, ...]) -> None:
    if image is None or image.shape == labels.shape:
        return
    message = (
        f"image must have the shape of the labels, {labels.shape}; got {image.shape} for "
        f"{image.name!r}. Choose the image they were made from, or none."
    )
    raise ValueError(message)


def _nothing(name: str, seen: Spread) -> str:
    """Say why there is no object."""
    if not seen.counts.size:
        return f"image must hold numbers; got none in {name!r}, all are NaN. Open another."
    if seen.flat:
        return (
            f"image must hold more than one gray value; got only {seen.low:g} in {name!r}. "
            "Choose another image, channel or color."
        )
    return (
        "image must hold something on the far side of the threshold, of the sizes asked for; got "
        f"no object in {name!r}. Move the threshold, or lower the minimum size."
    )


def _sparse(last: int, count: int) -> str:
    return (
        f"labels must be numbered without large gaps for a table to select objects; got {count} "
        f"labels up to {last}. Number them anew, as in `equilabel.label(labels)`."
    )
