"""Work on a tiny image of the kind that is open, so that its first run finds all compiled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import equilabel

from .measurement import measure_source
from .planes import find_objects, outline, prepare_plane, take_plane
from .segmentation import segment_source

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .axes import Role
    from .choices import Choices
    from .sources import Source

SIDE = 16
FEW = {"space": SIDE, "time": 2, "channel": 1}  # least length of an axis


def warm_up_segmenting(source: Source | None, choices: Choices) -> str:
    """Segment a tiny image of the type, axes and channels of a layer, and drop the result.

    Parameters
    ----------
    source : Source, optional
        The layer; nothing of it is read. Without one, some image is taken.
    choices : Choices
        The values of the form.

    Returns
    -------
    str
        Why what was compiled cannot be kept; empty if it can.
    """
    if source is None:
        equilabel.segment(picture((SIDE, SIDE), np.dtype("u2")))
    else:
        tiny = miniature(source, choices.roles, choices.channel + 1, dark=choices.dark)
        preview(tiny, choices)
        segment_source(tiny, choices, _ignore)
    return _obstacle()


def warm_up_measuring(
    labels: Source, image: Source | None, roles: tuple[Role, ...], properties: tuple[str, ...]
) -> str:
    """Measure tiny labels of the type and axes of a layer, and drop the result.

    Parameters
    ----------
    labels, image, roles, properties
        As for `measure_source`; nothing of the layers is read.

    Returns
    -------
    str
        Why what was compiled cannot be kept; empty if it can.
    """
    values = None if image is None else miniature(image, roles)
    measure_source(miniature(labels, roles), values, roles, properties, _ignore)
    return _obstacle()


def miniature(
    source: Source, roles: tuple[Role, ...], channels: int = 1, *, dark: bool = False
) -> Source:
    """Return a source of the same type, number of axes and transform with an object in it.

    Examples
    --------
    >>> from equilabel.widget.logic.sources import Source
    >>> pixels = np.zeros((48, 512, 512), "u2")
    >>> found = miniature(Source("cells", pixels, False, {}), ("time", "space", "space"))
    >>> found.data.shape, found.data.dtype, found.data.max()
    ((2, 16, 16), dtype('uint16'), np.uint16(9))
    """
    shape = tuple(max(FEW[role], channels) if role == "channel" else FEW[role] for role in roles)
    pixels = picture(shape, np.dtype(source.data.dtype), dark=dark)
    if source.rgb:
        pixels = np.stack([pixels] * source.data.shape[-1], axis=-1)
    return replace(source, data=pixels, multiscale=False)


def picture(shape: tuple[int, ...], dtype: Any, *, dark: bool = False) -> HostArray:
    """Return an image with objects whose rows join late, so that labels have to be reordered.

    Parameters
    ----------
    shape : tuple of int
        Axes of space are `SIDE` long.
    dtype : numpy.dtype
    dark : bool
        Whether objects are darker than the rest.
    """
    letter = np.zeros((SIDE, SIDE), np.bool_)
    letter[3:12, [3, 12]] = letter[11, 3:12] = True  # a U
    letter[5:8, 5:8] = True  # an object in it
    axes = sum(length == SIDE for length in shape)
    mask = np.zeros((SIDE,) * axes, np.bool_)
    mask[(slice(4, 9),) * (axes - 2)] = letter if axes > 1 else letter[6]
    mask = mask.reshape([length if length == SIDE else 1 for length in shape])
    return np.where(np.broadcast_to(mask, shape) != dark, 9, 0).astype(dtype)


def preview(source: Source, choices: Choices) -> None:
    """Find the objects of a plane, as the preview does."""
    rank = len(source.shape)
    displayed = (rank - 2, rank - 1)
    plane, step = take_plane(source, choices, (0,) * rank, displayed)
    level = None if choices.threshold == "local" else 1.0
    prepared = prepare_plane(plane, source, choices, displayed, step)
    outline(find_objects(prepared, source, choices, level, displayed, step))


def _obstacle() -> str:
    return next(report.note for report in equilabel.devices() if report.name == "cpu")


def _ignore(_: str) -> None:
    """Report no progress."""
