"""Runs on a tiny image like the open one, so that all is compiled before the first run."""

from dataclasses import replace
from typing import Any

import numpy as np

import equilabel
from equilabel.array_types import HostArray
from equilabel.segmentation.outlines import outline

from .choices import Choices
from .outcomes import measure_source, segment_source
from .planes import Plane
from .sources import Source

SIDE = 16
FEW = {"space": SIDE, "time": 2, "channel": 1}  # smallest length of an axis


def warm_up_segmenting(source: Source | None, choices: Choices) -> None:
    """Segment a tiny image of the type, axes and channels of a layer, or any tiny image."""
    if source is None:
        equilabel.segment(_noise((SIDE, SIDE), np.dtype("u2")))
    else:
        tiny = miniature(source, choices.channel + 1, dark=choices.dark)
        rank = len(tiny.shape)
        plane = Plane(tiny, choices, (0,) * rank, (rank - 2, rank - 1))
        level = None if choices.threshold == "local" else 1.0
        outline(plane.find_objects(plane.prepare(plane.read()), level))  # the stages of the preview
        segment_source(tiny, choices, lambda _: None)


def warm_up_measuring(labels: Source, image: Source | None, properties: tuple[str, ...]) -> None:
    """Measure tiny labels of the type and axes of a layer."""
    tiny = miniature(labels)
    values = None if image is None else miniature(replace(image, roles=labels.roles))
    first = tuple(slice(1 if role == "time" else None) for role in labels.roles)
    pixels = np.zeros_like(tiny.data)
    pixels[first] = tiny.data[first]  # so that no label is in two frames
    measure_source(replace(tiny, data=pixels), values, properties, lambda _: None)


def miniature(source: Source, channels: int = 1, *, dark: bool = False) -> Source:
    """Return a tiny source of the same type, number of axes and transform, with objects in it."""
    shape = tuple(
        max(FEW[role], channels) if role == "channel" else FEW[role] for role in source.roles
    )
    pixels = _noise(shape, np.dtype(source.data.dtype), dark=dark)
    if source.rgb:
        pixels = np.stack([pixels] * source.data.shape[-1], axis=-1)
    return replace(source, data=pixels, multiscale=False)


def _noise(shape: tuple[int, ...], dtype: Any, *, dark: bool = False) -> HostArray:
    """Return an image with objects whose rows join late, so that labels must be renumbered."""
    objects = np.random.default_rng(0).random(shape) < 0.4
    return np.where(objects != dark, 9, 0).astype(dtype)
