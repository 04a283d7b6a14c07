"""A run: from a layer to labels, a table, and a description of how they were made."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

import equilabel
from equilabel import DeviceUnavailableError
from equilabel.array_types import HostArray
from equilabel.descriptions import describe_labels, describe_values
from equilabel.quantities import without_blur_warnings
from equilabel.segmentation.outlines import outline
from equilabel.storage.errors import causes, is_shortage
from equilabel.storage.table import as_features
from equilabel.widget import Table

from .choices import Choices
from .planes import Plane
from .scripts import batch_command, python_line, why_no_command
from .sources import Source, check_memory, labels_transform, name_axes

Report = Callable[..., None]  # called with each stage; an exception that it raises ends the run


def explain(error: BaseException) -> str:
    """Return the message of an error in one line, with a remedy."""
    text = " ".join(str(error).split())
    kinds = (kind for cause in causes(error) for kind in type(cause).__mro__)
    if any(kind.__module__.split(".")[0] in ("cupy", "cupy_backends") for kind in kinds):
        return (
            f"device 'cuda' must stay available; got {text or type(error).__name__}. "
            "Choose the device 'cpu' and run again."
        )
    if is_shortage(error) and " must " not in text:
        return (
            f"image and labels must fit into memory; got {text or 'too little of it'}. "
            "Crop the image, or close other layers."
        )
    expected = (ValueError, TypeError, DeviceUnavailableError, ImportError, OSError, MemoryError)
    if isinstance(error, expected) and text:
        return text
    return (
        f"a run must not fail like this; got {type(error).__name__}: {text}. "
        "Please report it, with the image if you can."
    )


SIDE = 16


def warm_up_segmenting(source: Source | None, choices: Choices, report: Report) -> None:
    """Segment a tiny image of the type, axes and channels of a layer, or any tiny image."""
    if source is None:
        equilabel.segment(np.tri(SIDE, dtype="u2"))
        return
    tiny = miniature(source)
    choices = replace(choices, markers=None, mask=None, channel=0)
    rank = len(tiny.shape)
    plane = Plane(tiny, choices, (0,) * rank, (rank - 2, rank - 1))
    level = None if choices.threshold == "local" else 1.0
    outline(plane.find_objects(plane.prepare(plane.read()), level))  # the stages of the preview
    segment_source(tiny, choices, report)


def miniature(source: Source) -> Source:
    """Return a tiny source of the same type, axes and transform, with objects that join late."""
    few = {"space": SIDE, "time": 2, "channel": 2}
    shape = [min(each, few[role]) for each, role in zip(source.shape, source.roles, strict=True)]
    shape += source.data.shape[len(shape) :]  # colors
    pixels = np.where(np.random.default_rng(0).random(shape) < 0.4, 9, 0)
    return replace(source, data=pixels.astype(source.data.dtype), multiscale=False)


KEY = "equilabel"  # in the metadata of layers that equilabel made
REPORTED = ("threshold", "connectivity", "in_pixels", "method", "device")
NO_OBJECTS = (
    "image must have objects beyond the threshold that are not dropped; got none in {!r}. "
    "Move the threshold, lower the minimum size, or keep objects at the border."
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a run for a labels layer: labels with its axes, and row i for label i."""

    labels: Any  # a Dask array if they are in a file
    features: Table
    transform: dict[str, Any]
    metadata: dict[str, Any]  # enough to repeat the run
    note: str = ""  # for the user
    levels: tuple[Any, ...] = ()  # of labels in a file: all resolutions, finest first
    stored: str = ""  # a sentence about the file
    parents: Any = None  # an outcome for the labels that the objects lie in
    tracks: Any = None  # what `trace_tracks` returns


def segment_source(source: Source, choices: Choices, report: Report) -> Outcome:
    """Find and measure the objects of a layer."""
    started = perf_counter()
    arguments = choices.arguments(source)
    report("read")
    check_memory(source, arguments)
    image = source.arrange(source.read(choices.color, report))
    beside = {name: each for name, each in arguments.items() if isinstance(each, Source)}
    given = {name: source.arrange_labels(each.read()) for name, each in beside.items()}
    with without_blur_warnings():
        found = equilabel.segment(image, **{**arguments, **given}, progress=report)
    features, made = describe_segmentation(source, choices, found)
    named = {name: each.name for name, each in beside.items()}
    made |= {"parameters": {**arguments, **named}, "seconds": perf_counter() - started}
    note = describe_values(image[..., choices.channel] if "channel" in arguments else image)
    if note:
        note += f" Choose another image than {source.name!r}, or another channel or color."
    elif not found.num:
        note = NO_OBJECTS.format(source.name)
    elif not choices.grow:  # cells may cover the image
        stacked = bool(arguments.get("stacked"))
        note = describe_labels(found.labels, found.num, dark=choices.dark, stacked=stacked)
    labels = source.restore(found.labels)
    tracks = trace_tracks(source, found) if "track" in arguments and found.num else None
    return Outcome(labels, features, labels_transform(source), made, note, tracks=tracks)


def trace_tracks(
    source: Source, found: equilabel.Segmentation
) -> tuple[HostArray, dict[int, list[int]]] | None:
    """Return data and graph of a tracks layer; None if its first axis would not be that of time."""
    roles = source.roles[source.drops_channel :]
    if roles.count("time") != 1 or roles[0] != "time":
        return None
    what: Any = {"properties": ("frame", "centroid"), "stacked": True}
    centers = iter(equilabel.regionprops_table(found.labels, **what).values())
    number = found.table["track"].to_numpy()
    places = [0 * number if role == "channel" else next(centers) for role in roles]
    rows = np.column_stack([number, *places])
    parents = found.table["parent"].to_numpy()
    graph = {int(track): [int(parents[k])] for k, track in enumerate(number) if parents[k]}
    return rows[np.lexsort((rows[:, 1], number))], graph


def describe_segmentation(
    source: Source, choices: Choices, found: equilabel.Segmentation, *, chunked: bool = False
) -> tuple[Table, dict[str, Any]]:
    """Return the features of the labels that a run found, and how they were made."""
    features, made = _describe(source, found.table)
    problem = why_no_command(source)
    return features, {
        **made,
        "kind": "segment",
        "image": source.name,
        "layer": source.identity,
        "path": source.path,
        "beside": {each.name: each.identity for each in (choices.markers, choices.mask) if each},
        "properties": choices.properties or (),
        "color": choices.color,
        "intensity": source.name,
        "parents": ("", ""),
        **{name: getattr(found, name) for name in REPORTED},
        "python": python_line(source, choices, chunked=chunked),
        "batch": "" if problem else batch_command(source, choices, chunked=chunked),
        "no_batch": problem,
    }


def _describe(source: Source, table: Table) -> tuple[Table, dict[str, Any]]:
    """Return a table as features, and the metadata that all runs have."""
    features = as_features(table)
    spacing, unit = source.pixel_size
    names = name_axes(source.roles, source.transform.get("axis_labels", ()))
    return features, {
        "names": tuple(names[axis] for axis in source.space),
        "version": equilabel.__version__,
        "axes": source.roles,
        "spacing": spacing,
        "unit": unit,
        "objects": len(table),
        "columns": table.dtypes.to_dict(),
    }


def measure_source(
    labels: Source,
    image: Source | None,
    properties: tuple[str, ...],
    report: Report,
    *,
    color: str = "gray",
    parents: Source | None = None,
) -> Outcome:
    """Measure objects, gray values of an image, and in which of the `parents` each object lies."""
    import pandas as pd

    started = perf_counter()
    for name, each in (("image", image), ("parents", parents)):
        fits = each is None or each.shape == labels.shape or (each is image and each.holds(labels))
        if each is not None and not fits:
            message = (
                f"{name} must have the shape of the labels, {labels.shape}; got {each.shape} for "
                f"{each.name!r}. Choose another layer, or none."
            )
            raise ValueError(message)
    report("read")
    pixels = labels.read(report=report)
    values = None
    if image is not None:  # which has channels where its labels lack that axis
        like = labels if image.shape == labels.shape else image
        values = like.arrange(image.read(color, report))
    report("measure")
    arranged = labels.arrange_labels(pixels)
    columns = equilabel.regionprops_table(
        arranged,
        values,
        ("label", *properties),
        spacing=labels.pixel_size[0],
        stacked=bool(labels.times),
    )
    table, around = pd.DataFrame(columns), None
    if parents is not None:
        report("relate")
        table, around = _relate(labels, arranged, parents, table)
    features, made = _describe(labels, table)
    made |= {"kind": "measure", "properties": properties, "seconds": perf_counter() - started}
    given = ("", "") if image is None else (image.name, image.identity)
    made |= {"intensity": given[0], "layer": given[1], "color": color}
    made["parents"] = ("", "") if parents is None else (parents.name, parents.identity)
    note = (
        "Labels without large gaps are needed for napari's own features table to select objects; "
        f"got {len(table)} labels up to {table['label'].max()}. Number them again, as in "
        "`equilabel.label(labels)`."
    )
    notes = (labels.doubt_pixel_size(), note if "index" in features else "")
    return Outcome(pixels, features, {}, made, " ".join(filter(None, notes)), parents=around)


def _relate(labels: Source, children: Any, parents: Source, table: Table) -> tuple[Table, Outcome]:
    """Add to a table the objects of other labels that its objects lie in; return those, too."""
    others = labels.arrange_labels(parents.read())
    spacing, stacked = labels.pixel_size[0], bool(labels.times)
    found = equilabel.relate(children, others, spacing=spacing, stacked=stacked)
    own, theirs = (
        each.drop(columns="frame", errors="ignore").drop_duplicates("label").sort_values("label")
        for each in found
    )
    like = replace(parents, roles=labels.roles)
    features, made = _describe(like, theirs[["label", "children"]])
    made |= {"kind": "measure", "intensity": ""}
    return table.merge(own, how="left", on="label"), Outcome(None, features, {}, made)
