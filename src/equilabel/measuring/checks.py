"""Checks of the arguments of measuring, and the errors that they raise."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from equilabel.arguments import (
    TINY,
    check_choice,
    check_number,
    check_sequence,
    check_whole,
    is_sequence,
    normalize_bools,
    shown,
)
from equilabel.devices import take

from .properties import PropertyUndefinedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import HostArray


# ---- Checks of the arguments of `regionprops_table` and `measure`

Where = Literal["auto", "host", "device"]
"""Where the columns of a table are stored."""

COLUMNS = get_args(Where)
MOST_AXES = 6
HOPS = {4: 1, 6: 1, 8: 2, 18: 2, 26: 3}  # by the number of neighbors


def check_spacing(spacing: float | Sequence[float] | None, rank: int) -> tuple[float, ...]:
    """Return the distance between pixels along each axis, or raise TypeError or ValueError."""
    if spacing is None:
        return (1.0,) * rank
    single = isinstance(spacing, (str, Real)) or getattr(spacing, "ndim", 1) == 0
    given: tuple[Any, ...] = (
        (spacing,) if single else check_sequence("spacing", spacing, f"a number or {rank}")
    )
    if len(given) != (1 if single else rank):
        message = f"spacing must be a number or {rank} numbers; got {shown(spacing)}."
        raise ValueError(message)
    rules: Any = {"kinds": "of numbers", "rule": "positive and finite"}
    rules["remedy"] = "Leave it out where pixels have no known size."
    steps = tuple(check_number("spacing", step, TINY, finite=True, **rules) for step in given)
    return steps * rank if single else steps


def check_periodic(periodic: bool | Sequence[bool], axes: int, stacked: bool) -> tuple[bool, ...]:
    """Return for each axis of an image whether it is periodic, or () if none is.

    Raise TypeError or ValueError unless `periodic` is a bool or one for each spatial axis.
    """
    rank = axes - stacked
    kinds = (bool, np.bool_)
    each = [periodic] * rank if isinstance(periodic, kinds) else periodic
    if not is_sequence(each) or not all(isinstance(one, kinds) for one in each):
        message = f"periodic must be a bool, or one for each spatial axis; got {shown(periodic)}."
        raise TypeError(message)
    if len(each) != rank:
        message = (
            f"periodic must be a bool, or {rank} for {rank} spatial axes; got {shown(periodic)}."
            + " The first axis of a stack is none." * stacked
        )
        raise ValueError(message)
    found = (False,) * stacked + tuple(map(bool, each))
    return found if any(found) else ()


def check_labels(given: ArrayLike, name: str = "label_image") -> HostArray:
    """Return the labels in native byte order, or raise TypeError or ValueError."""
    labels: HostArray = take(given, name)
    if labels.dtype.kind not in "ui":
        message = (
            f"{name} must be of an integer type; got {labels.dtype}. "
            "Label it first, as in `label(mask)`."
        )
        raise TypeError(message)
    if not 1 <= labels.ndim <= MOST_AXES:
        message = f"{name} must have 1 to {MOST_AXES} axes; got {labels.ndim}."
        raise ValueError(message)
    return labels if labels.dtype.isnative else labels.astype(labels.dtype.newbyteorder("="))


def check_not_negative(found: NDArray[np.int64], labels: HostArray) -> None:
    """Raise ValueError if the first of the labels found, as ascending int64, is negative.

    Labels of uint64 that int64 cannot hold are negative there.
    """
    if not len(found) or found[0] >= 0:
        return
    kind, got, remedy = "no negative labels", labels.min(), "0 is background."
    if labels.dtype.kind == "u":
        kind, got, remedy = "labels below 2**63", labels.max(), "Relabel it."
    message = f"label_image must hold {kind}; got {got}. {remedy}"
    raise ValueError(message)


def check_columns(columns: str, home: str, device: str) -> str:
    """Return where columns are stored, "host" or a device, or raise ValueError.

    `home` holds the labels, `device` counts them; one must be a GPU for "device".
    """
    check_choice("columns", columns, COLUMNS)
    if columns == "auto":
        return "host" if home == "cpu" else home
    if columns == "host":
        return columns
    found = next((place for place in (device, home) if place != "cpu"), None)
    if found is None:
        message = (
            "columns='device' needs an image on a GPU, or one that is moved there; got one of the "
            "host. Pass `cupy.asarray(image)`, or leave columns='auto'."
        )
        raise ValueError(message)
    return found


def check_values(image: ArrayLike | None, shape: tuple[int, ...]) -> HostArray | None:
    """Return the intensities, or raise TypeError or ValueError."""
    if image is None:
        return None
    values: HostArray = normalize_bools(take(image, "intensity_image"))
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


def check_functions(
    functions: Iterable[Callable[..., Any]] | None, rank: int
) -> tuple[Callable[..., Any], ...]:
    """Return extra properties as a tuple, or raise TypeError or PropertyUndefinedError."""
    found = () if functions is None else check_sequence("extra_properties", functions, "functions")
    for function in found:
        if not (callable(function) and hasattr(function, "__name__")):
            message = f"extra_properties must be functions that have a name; got {shown(function)}."
            raise TypeError(message)
    if found and rank not in (2, 3):
        message = f"extra_properties are computed for 2 or 3 spatial axes; got {rank}."
        raise PropertyUndefinedError(message)
    return found


def check_frames(
    labels: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> None:
    """Raise ValueError if a label lies in several images of a stack.

    `first` and `last`, (N,), are the first image of each label, and the last + 1.
    """
    torn = np.flatnonzero(last - first > 1)
    if torn.size:
        message = (
            "label_image must hold every label in one image of the stack; got label "
            f"{labels[torn[0]]} in several. Label it with `label(..., stacked=True)`."
        )
        raise ValueError(message)


def check_connectivity(connectivity: int | None, axes: int) -> int:
    """Return the maximum number of hops between neighbors; raise TypeError or ValueError."""
    if connectivity is None:
        return axes
    hops = check_whole("connectivity", connectivity)
    if not 1 <= hops <= axes:
        remedy = "1 joins pixels that share a face, the highest those that share a corner."
        if hops in HOPS:
            remedy = f"For {hops} neighbors, in {2 if hops in (4, 8) else 3}D, pass {HOPS[hops]}."
        message = (
            f"connectivity must be 1 to {axes} for {axes} spatial axes; got {shown(hops)}. {remedy}"
        )
        raise ValueError(message)
    return hops
