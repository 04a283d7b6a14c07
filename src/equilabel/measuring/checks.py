"""What `regionprops_table` and `measure` accept, and what they say about the rest."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import take

from .properties import PROPERTIES

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
    labels: NDArray[Any] = take(label_image)
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


def check_not_negative(found: NDArray[np.int64], labels: NDArray[Any]) -> None:
    """Raise ValueError if the least of the labels found in an image, as int64, is below 0."""
    if not len(found) or found[0] >= 0:
        return
    kind, got, remedy = "no negative labels", labels.min(), "0 is background."
    if labels.dtype.kind == "u":
        kind, got, remedy = "labels below 2**63", labels.max(), "Relabel it."
    message = f"label_image must hold {kind}; got {got}. {remedy}"
    raise ValueError(message)


def check_values(image: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[Any] | None:
    """Return the intensities, or raise TypeError or ValueError."""
    if image is None:
        return None
    values: NDArray[Any] = take(image)
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


REMEDIES = {
    "perimeter": {3: "surface_area_faces"},
    "perimeter_edges": {3: "surface_area_faces"},
    "perimeter_crofton": {3: "surface_area_crofton"},
    "circularity": {3: "sphericity"},
    "surface_area_faces": {2: "perimeter_edges"},
    "surface_area_crofton": {2: "perimeter_crofton"},
    "sphericity": {2: "circularity"},
    "volume": {2: "area"},
    "eccentricity": {3: "zingg_elongation"},
    "orientation": {3: "inertia_tensor"},
    "moments_hu": {3: "moments_normalized"},
    "moments_weighted_hu": {3: "moments_weighted_normalized"},
    "zingg_elongation": {2: "eccentricity"},
    "zingg_flatness": {2: "eccentricity"},
}


def check_defined(name: str, rank: int, stacked: bool, values: NDArray[Any] | None) -> None:
    """Raise ValueError if a property is not defined for the image."""
    row = PROPERTIES[name]
    if row.ranks and rank not in row.ranks:
        defined = " or ".join(map(str, row.ranks))
        message = f"property {name!r} is defined for {defined} spatial axes; got {rank}."
        other = REMEDIES.get(name, {}).get(rank)
        remedy = f" In {rank}D, ask for {other!r}." if other else " Leave it out."
        raise ValueError(message + remedy)
    if name == "frame" and not stacked:
        message = "property 'frame' is defined for a stack; got stacked=False. Pass stacked=True."
        raise ValueError(message)
    if row.intensity and values is None:
        message = f"property {name!r} needs an intensity_image; got None."
        raise ValueError(message)


def resolve_names(names: Sequence[str]) -> dict[str, str]:
    """Find the property that each name stands for, or raise ValueError.

    Parameters
    ----------
    names : sequence of str
        Keys of `PROPERTIES`, or older names that scikit-image still knows.
    """
    found = {name: name for name in names if isinstance(name, str) and name in PROPERTIES}
    if len(found) == len(set(names)):
        return found
    from skimage.measure._regionprops import PROPS

    for name in names:
        if name not in found and PROPS.get(name) in PROPERTIES:
            found[name] = PROPS[name]
        elif name not in found:
            near = get_close_matches(str(name), [*PROPERTIES, *PROPS], n=3)
            remedy = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            message = (
                "properties must be names of `equilabel.PROPERTIES`, of scikit-image or ours; "
                f"got {name!r}."
            )
            raise ValueError(message + remedy)
    return found
