"""Images that know their axes and pixel size, as arguments of `segment` and `measure`."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from equilabel.storage.metadata import TiffImage

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray

Function = TypeVar("Function", bound="Callable[..., Any]")


def knows_images(function: Function) -> Function:
    """Let a function take what `read` returns for `image`, and for `labels` if it has them.

    Spacing, unit, stack and channels are those of the image, unless they are passed.
    """
    known = signature(function).parameters

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given: dict[str, Any] = dict(zip(known, args, strict=False)) | kwargs
        images = [name for name in ("image", "labels") if isinstance(given.get(name), TiffImage)]
        if not images:
            return function(*args, **kwargs)
        facts: dict[str, Any] = {}
        for name in images:
            given[name], facts = _arguments(given[name], last="channel_axis" not in known)
        own = {name: value for name, value in facts.items() if name in known}
        return function(**{**own, **given})

    return cast("Function", call)


def _arguments(image: TiffImage, *, last: bool) -> tuple[HostArray, dict[str, Any]]:
    """Return the pixels of an image, and the arguments that follow from its axes."""
    axes = image.axes.replace("C", "")
    stacked = axes[:1] == "T"
    facts: dict[str, Any] = {"stacked": stacked}
    if all(axis in image.spacing for axis in axes[stacked:]):
        facts["spacing"] = tuple(image.spacing[axis] for axis in axes[stacked:])
        facts["unit"] = image.unit or None
    if "C" not in image.axes:
        return image.pixels, facts
    axis = image.axes.index("C")
    if last:
        return np.moveaxis(image.pixels, axis, -1), facts
    return image.pixels, {**facts, "channel_axis": axis}
