"""Work on a tiny image of the kind that is open, so that its first run finds all compiled."""

from dataclasses import replace
from typing import Any

import numpy as np

import equilabel
from equilabel.array_types import HostArray
from equilabel.outlines import outline

from .axes import Role
from .choices import Choices
from .planes import Plane
from .runs import measure_source, segment_source
from .sources import Source

SIDE = 16
FEW = {"space": SIDE, "time": 2, "channel": 1}  # least length of an axis


def warm_up_segmenting(source: Source | None, choices: Choices) -> str:
    """Segment a tiny image of the type, axes and channels of a layer, or some tiny image.

    The result is dropped. Returned is why what was compiled cannot be kept; empty if it can.
    """
    if source is None:
        equilabel.segment(_picture((SIDE, SIDE), np.dtype("u2")))
    else:
        tiny = miniature(source, choices.roles, choices.channel + 1, dark=choices.dark)
        _preview(tiny, choices)
        segment_source(tiny, choices, _ignore)
    return _obstacle()


def warm_up_measuring(
    labels: Source, image: Source | None, roles: tuple[Role, ...], properties: tuple[str, ...]
) -> str:
    """Measure tiny labels of the type and axes of a layer; return as `warm_up_segmenting`."""
    values = None if image is None else miniature(image, roles)
    measure_source(miniature(labels, roles), values, roles, properties, _ignore)
    return _obstacle()


def miniature(
    source: Source, roles: tuple[Role, ...], channels: int = 1, *, dark: bool = False
) -> Source:
    """Return a source of the same type, number of axes and transform with an object in it."""
    shape = tuple(max(FEW[role], channels) if role == "channel" else FEW[role] for role in roles)
    pixels = _picture(shape, np.dtype(source.data.dtype), dark=dark)
    if source.rgb:
        pixels = np.stack([pixels] * source.data.shape[-1], axis=-1)
    return replace(source, data=pixels, multiscale=False)


def _picture(shape: tuple[int, ...], dtype: Any, *, dark: bool = False) -> HostArray:
    """Return an image with objects whose rows join late, so that labels have to be reordered."""
    letter = np.zeros((SIDE, SIDE), np.bool_)
    letter[3:12, [3, 12]] = letter[11, 3:12] = True  # a U
    letter[5:8, 5:8] = True  # an object in it
    axes = sum(length == SIDE for length in shape)  # of space
    mask = np.zeros((SIDE,) * axes, np.bool_)
    mask[(slice(4, 9),) * (axes - 2)] = letter if axes > 1 else letter[6]
    mask = mask.reshape([length if length == SIDE else 1 for length in shape])
    return np.where(np.broadcast_to(mask, shape) != dark, 9, 0).astype(dtype)


def _preview(source: Source, choices: Choices) -> None:
    rank = len(source.shape)
    plane = Plane(source, choices, (0,) * rank, (rank - 2, rank - 1))
    level = None if choices.threshold == "local" else 1.0
    outline(plane.find_objects(plane.prepare(plane.read()), level))


def _obstacle() -> str:
    return next(report.note for report in equilabel.devices() if report.name == "cpu")


def _ignore(_: str) -> None:
    """Report no progress."""
