"""Columns from counts: formulas are applied and their results named."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .measurement import Measurement
from .properties import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from equilabel.array_types import HostArray

    from .counts import Counts

Columns = dict[str, dict[str, "HostArray"]]


def compute_columns(
    counts: Counts,
    names: Iterable[tuple[str, str]],
    spacing: tuple[float, ...],
    separator: str,
) -> Columns:
    """Compute properties of every label from its counts: for each name, its columns.

    `names` are pairs of a name in the result and a key of `PROPERTIES`. 0 / 0 gives NaN, and a
    value that a large spacing makes overflow is infinite.
    """
    found = Measurement(counts, spacing)
    with np.errstate(all="ignore"):
        return {
            name: named_columns(name, _own(PROPERTIES[key].compute(found), counts), separator)
            for name, key in names
        }


def named_columns(name: str, values: HostArray, separator: str) -> dict[str, HostArray]:
    """Return a property as one column, or one for each part, named as in scikit-image.

    >>> list(named_columns("inertia_tensor", np.zeros((5, 2, 2)), "-"))
    ['inertia_tensor-0-0', 'inertia_tensor-0-1', 'inertia_tensor-1-0', 'inertia_tensor-1-1']
    """
    if values.ndim == 1:
        return {name: values}
    names = part_names(name, values.shape[1:], separator)
    return dict(zip(names, values.reshape(len(values), len(names)).T, strict=True))


@lru_cache(1024)
def part_names(name: str, shape: tuple[int, ...], separator: str) -> tuple[str, ...]:
    """Return the names of the columns of a property with several parts."""
    return tuple(separator.join(map(str, (name, *part))) for part in np.ndindex(shape))


def _own(values: HostArray, counts: Counts) -> HostArray:
    """Copy values that are a view of the counts, so that the counts can be freed."""
    shared = not values.flags.owndata and np.may_share_memory(values, counts.table)
    return values.copy() if shared else values
