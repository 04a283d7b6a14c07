"""Selection of objects by size, border or measurement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import (
    as_host_array,
    check_mapping,
    check_number,
    check_whole,
    is_sequence,
    shown,
)
from equilabel.devices import is_on_cuda, library, threads

from .result import Segmentation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import DTypeLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.measuring import Counts


# ---- Dropping small, large and border components


def select_components(
    counts: Counts, *, min_size: int = 0, max_size: int | None = None, exclude_border: bool = False
) -> NDArray[np.bool_]:
    """Return for each component whether it is kept: (N,) array of bool.

    To exclude components at the border, `counts` must hold bounding boxes; this is not checked.
    """
    kept = counts.pixels >= min_size
    if max_size is not None:
        kept &= counts.pixels <= max_size
    if exclude_border:
        first, last = counts.begins, counts.ends
        for axis in range(int(counts.layout.stacked), len(counts.shape)):
            side = counts.shape[axis]
            if side > 1:
                kept &= (first[:, axis] > 0) & (last[:, axis] < side)
    return np.asarray(kept)


def drop_components(labels: HostArray, kept: NDArray[np.bool_]) -> int:
    """Set the labels of dropped components to 0 and number the others from 1, in place.

    Labels are 1 to N, and `kept` has the shape (N,). Returns the number of components left.

    >>> labels = np.array([1, 0, 2, 3])
    >>> drop_components(labels, np.array([True, False, True])), labels
    (2, array([1, 0, 0, 2]))
    """
    numbers = numbers_of(kept, labels.dtype)
    if is_on_cuda(labels):
        xp = library(labels)
        xp.take(xp.asarray(numbers), labels, out=labels)
    else:

        def put(part: HostArray) -> None:
            np.take(numbers, part, out=part, mode="clip")

        cuts = threads.ranges(len(labels), labels.size, fine=True)
        threads.each(put, [(labels[a:b],) for a, b in cuts])
    return int(np.count_nonzero(kept))


def numbers_of(kept: NDArray[np.bool_], dtype: DTypeLike) -> HostArray:
    """Return the new labels of labels 0 to N: from 1 for those that are kept, 0 for others.

    >>> numbers_of(np.array([True, False, True]), np.int32)
    array([0, 1, 0, 2], dtype=int32)
    """
    numbers: HostArray = np.zeros(len(kept) + 1, dtype)
    numbers[1:][kept] = np.arange(1, np.count_nonzero(kept) + 1)
    return numbers


# ---- Objects of a segmentation whose measurements lie within ranges


def filter_objects(
    found: Segmentation, ranges: Mapping[str, tuple[float | None, float | None]]
) -> Segmentation:
    """Keep the objects of a segmentation whose measurements lie within ranges.

    Parameters
    ----------
    found : Segmentation
        Its labels are read into memory if they are stored in chunks.
    ranges : mapping of str to (float or None, float or None)
        For each column, the smallest and the largest value to keep; None means no limit. Objects
        with a missing value in the column are dropped.

    Returns
    -------
    Segmentation
        Objects are numbered from 1 again; the column "label_before" holds their previous labels.

    Raises
    ------
    TypeError, ValueError
        If a column is not in the table or does not hold numbers; if the labels are only in a file,
        or do not match the table.

    Examples
    --------
    >>> import equilabel
    >>> found = equilabel.segment(np.array([[9, 9, 0, 9]]), threshold=5)
    >>> kept = equilabel.filter_objects(found, {"area": (None, 1.5)})
    >>> kept.labels, kept.table[["label", "area", "label_before"]].values.tolist()
    (array([[0, 0, 0, 1]], dtype=int32), [[1.0, 1.0, 2.0]])
    """
    labels = _labels_of(found)
    kept = np.ones(found.num, np.bool_)
    for name, limits in check_mapping("ranges", ranges).items():
        low, high = _limits(name, limits)
        if name not in found.table:
            message = (
                f"ranges must be of columns of the table, {', '.join(map(str, found.table))}; "
                f"got {shown(name)}. Measure it with properties=."
            )
            raise ValueError(message)
        values = found.table[name].to_numpy()
        if values.dtype.kind not in "buif":
            message = f"ranges must be of columns of numbers; got {name!r} of {values.dtype}."
            raise TypeError(message)
        kept &= (values >= low) & (values <= high)
    num = drop_components(labels, kept)
    table = found.table[kept].reset_index(drop=True)
    if "label_before" not in table:
        table["label_before"] = np.flatnonzero(kept) + 1
    if "label" in table:
        table["label"] = np.arange(1, num + 1)
    return replace(found, labels=labels, table=table, num=num)


def _limits(name: str, limits: Any) -> tuple[float, float]:
    """Return the smallest and the largest value of a range; raise TypeError or ValueError."""
    if not is_sequence(limits) or len(limits) != 2:
        message = f"ranges must map columns to (least, greatest); got {shown(limits)} for {name!r}."
        raise TypeError(message)
    low, high = limits
    return (
        -np.inf if low is None else check_number("ranges", low),
        np.inf if high is None else check_number("ranges", high),
    )


def _labels_of(found: Any) -> Array:
    """Return a copy of the labels of a segmentation; raise an error unless they match its table."""
    if not isinstance(found, Segmentation):
        message = f"found must be a Segmentation; got {shown(found)}."
        raise TypeError(message)
    held: Any = found.labels  # `segment_chunked` may give a path
    if isinstance(held, (str, Path)):
        message = f"found must hold labels in an array; got {shown(str(held))}. Open it with Zarr."
        raise TypeError(message)
    labels = held.copy() if is_on_cuda(held) else np.array(as_host_array("labels", held))
    rows, num = len(found.table), check_whole("num", found.num, 0)
    if labels.dtype.kind not in "iu" or not labels.ndim:
        message = f"labels must be an array of integers; got {labels.dtype} of {labels.ndim} axes."
        raise TypeError(message)
    if rows != num or (labels.size and not 0 <= int(labels.min()) <= int(labels.max()) <= num):
        message = (
            f"labels must be 0 to num, with a row of the table for each; got num={shown(num)}."
        )
        raise ValueError(message)
    return labels
