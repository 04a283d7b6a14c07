"""Keep the objects of a segmentation whose measurements lie within ranges."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from equilabel.cleanup import drop_components
from equilabel.devices import is_on_cuda

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .segmentation import Segmentation


def filter_objects(
    found: Segmentation, ranges: Mapping[str, tuple[float | None, float | None]]
) -> Segmentation:
    """Keep the objects of a segmentation within ranges of their measurements.

    Parameters
    ----------
    found : Segmentation
        Its labels are read into memory if they are in chunks.
    ranges : mapping of str to (float or None, float or None)
        Column to the least and the greatest value that are kept; None for no limit. A missing
        value is outside of any range.

    Returns
    -------
    Segmentation
        Objects are numbered from 1 again; the column "label_before" is the number an object had.

    Raises
    ------
    ValueError
        If a column is not in the table.

    Examples
    --------
    >>> import equilabel
    >>> found = equilabel.segment(np.array([[9, 9, 0, 9]]), threshold=5)
    >>> kept = equilabel.filter_objects(found, {"area": (None, 1.5)})
    >>> kept.labels, kept.table[["label", "area", "label_before"]].values.tolist()
    (array([[0, 0, 0, 1]], dtype=int32), [[1.0, 1.0, 2.0]])
    """
    kept = np.ones(found.num, np.bool_)
    for name, (low, high) in ranges.items():
        if name not in found.table:
            message = (
                f"ranges must be of columns of the table, {', '.join(map(str, found.table))}; "
                f"got {name!r}. Measure it with properties=."
            )
            raise ValueError(message)
        values = found.table[name].to_numpy()
        kept &= (values >= (-np.inf if low is None else low)) & (
            values <= (np.inf if high is None else high)
        )
    labels = found.labels.copy() if is_on_cuda(found.labels) else np.array(found.labels)
    num = drop_components(labels, kept)
    table = found.table[kept].reset_index(drop=True)
    if "label_before" not in table:
        table["label_before"] = np.flatnonzero(kept) + 1
    if "label" in table:
        table["label"] = np.arange(1, num + 1)
    return replace(found, labels=labels, table=table, num=num)
