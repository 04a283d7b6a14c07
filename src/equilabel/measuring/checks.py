"""What `regionprops_table` accepts, and what it says about the rest."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from .columns import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


def check_spacing(spacing: float | Sequence[float] | None, rank: int) -> tuple[float, ...]:
    """Return the distance of pixels along each of `rank` axes, or raise ValueError."""
    if spacing is None:
        return (1.0,) * rank
    steps: list[Any] = np.asarray(spacing).ravel().tolist() * (rank if np.ndim(spacing) == 0 else 1)
    if len(steps) != rank:
        message = f"spacing must be a number or {rank} numbers; got {spacing!r}."
        raise ValueError(message)
    if not all(isinstance(step, (int, float)) and 0 < step < np.inf for step in steps):
        message = f"spacing must be positive and finite; got {spacing!r}."
        raise ValueError(message)
    return tuple(float(step) for step in steps)


def check_labels(label_image: ArrayLike) -> NDArray[Any]:
    """Return the labels in native integers, or raise TypeError or ValueError."""
    labels = np.asarray(label_image)
    if labels.dtype.kind not in "ui":
        message = (
            f"label_image must be of an integer type; got {labels.dtype}. "
            "Label it first, as in `regionprops_table(label(mask))`."
        )
        raise TypeError(message)
    if not 1 <= labels.ndim <= 6:
        message = f"label_image must have 1 to 6 axes; got {labels.ndim}."
        raise ValueError(message)
    return labels.astype(labels.dtype.newbyteorder("="), copy=False)


def check_values(image: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any] | None:
    """Return the intensities, or raise TypeError or ValueError."""
    if image is None:
        return None
    values = np.asarray(image)
    if values.dtype.kind not in "buif":
        message = f"intensity_image must be of a real type; got {values.dtype}."
        raise TypeError(message)
    if values.shape[: len(shape)] != shape or values.ndim > len(shape) + 1:
        message = (
            f"intensity_image must have the shape of label_image, {shape}, and at most one axis "
            f"more for channels; got {values.shape}."
        )
        raise ValueError(message)
    return values


def check_defined(
    name: str, spacing: tuple[float, ...], stacked: bool, values: NDArray[Any] | None
) -> None:
    """Raise ValueError if one of our properties is not defined for the image."""
    rank = len(spacing)
    axes = {"perimeter": 2, "perimeter_edges": 2, "surface_area_faces": 3}.get(name, rank)
    if rank != axes:
        remedy = {
            "perimeter": "In 3D, ask for 'surface_area_faces'.",
            "perimeter_edges": "In 3D, ask for 'surface_area_faces'.",
            "surface_area_faces": "In 2D, ask for 'perimeter_edges'.",
        }[name]
        message = f"property {name!r} is defined for {axes} spatial axes; got {rank}. {remedy}"
        raise ValueError(message)
    if name == "perimeter" and len(set(spacing)) > 1:
        message = (
            f"property 'perimeter' is defined for one spacing; got {spacing}. "
            "Ask for 'perimeter_edges'."
        )
        raise ValueError(message)
    if name == "frame" and not stacked:
        message = "property 'frame' is defined for a stack; got stacked=False. Pass stacked=True."
        raise ValueError(message)
    if name.startswith("intensity_") and values is None:
        message = f"property {name!r} needs an intensity_image; got None."
        raise ValueError(message)


def check_known(names: Sequence[str]) -> None:
    """Raise ValueError if scikit-image does not know a property."""
    if not names:
        return
    from skimage.measure._regionprops import PROPS, RegionProperties

    public = {name for name in dir(RegionProperties) if not name.startswith("_")}
    known = set(COLUMNS) | set(PROPS) | set(PROPS.values()) | public
    for name in names:
        if name not in known:
            near = get_close_matches(str(name), sorted(known), n=3)
            remedy = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            message = f"properties must be names that scikit-image or equilabel know; got {name!r}."
            raise ValueError(message + remedy)
