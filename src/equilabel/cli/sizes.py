"""Histograms of the sizes of objects, with the same bins for all images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from equilabel.array_types import HostArray

    from .records import Sizes

BINS = 4  # bins in which a size doubles
COLUMNS = ("volume", "area", "num_pixels")


def count_sizes(table: Mapping[str, HostArray] | pd.DataFrame, units: Mapping[str, str]) -> Sizes:
    """Count the objects of a table by size, so that counts of several images can be added.

    The result has ``of``, the first of `COLUMNS` in the table; its ``unit``; and ``counts``, the
    number of objects from ``2 ** (k / BINS)`` to ``2 ** ((k + 1) / BINS)`` by k as text. It is
    empty if the table has no such column.

    >>> count_sizes({"area": np.array([1.0, 4.0, 4.1])}, {"area": "µm²"})
    {'of': 'area', 'unit': 'µm²', 'counts': {'0': 1, '8': 2}}
    """
    name = next((each for each in COLUMNS if each in table), "")
    if not name:
        return {}
    values = np.asarray(table[name], float)
    values = values[np.isfinite(values) & (values > 0)]
    numbers, counts = np.unique(np.floor(np.log2(values) * BINS).astype(int), return_counts=True)
    pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
    return {
        "of": name,
        "unit": units.get(name, ""),
        "counts": {str(number): count for number, count in pairs},
    }


def add_sizes(found: Iterable[Sizes]) -> dict[tuple[str, str], dict[int, int]]:
    """Add the counts of images whose sizes have the same name and unit.

    >>> each = {"of": "area", "unit": "µm²", "counts": {"8": 2}}
    >>> add_sizes([each, {}, each])
    {('area', 'µm²'): {8: 4}}
    """
    added: dict[tuple[str, str], dict[int, int]] = {}
    for each in found:
        for number, count in each.get("counts", {}).items():
            known = added.setdefault((each["of"], each["unit"]), {})
            known[int(number)] = known.get(int(number), 0) + int(count)
    return added
