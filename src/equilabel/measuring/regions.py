"""Objects with attributes, as `skimage.measure.regionprops` returns them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from skimage.measure._regionprops import RegionProperties

from equilabel.devices import fetch

from . import regionprops_table
from .properties import PROPERTIES, make_plan

if TYPE_CHECKING:
    from equilabel.array_types import Array, HostArray

PARTS = {
    "bbox": tuple,
    "centroid": tuple,
    "centroid_weighted": tuple,
    "inertia_tensor_eigvals": list,
}
THEIRS = set(dir(RegionProperties))
COUNTED = [name for name, row in PROPERTIES.items() if row.counted]
# Of what scikit-image has, those that are counted; all that it has not.
ATTRIBUTES = [name for name in PROPERTIES if name in COUNTED or name not in THEIRS]
ATTRIBUTES = [name for name in ATTRIBUTES if name not in ("label", "slice")]  # set by its class


class _Table:
    """Columns of all objects of a label image, each computed when it is first asked for."""

    def __init__(self, labels: Array, values: Any, spacing: tuple[float, ...]) -> None:
        self.labels, self.values, self.spacing = labels, values, spacing
        # With the labels of their rows: they may be other ones when a further column is computed.
        self.columns: dict[str, tuple[HostArray, HostArray]] = {}

    def __contains__(self, name: object) -> bool:
        """Return whether a property is a column of this image."""
        equal, values = len(set(self.spacing)) < 2, self.values is not None
        return _is_defined(str(name), self.labels.ndim, equal=equal, values=values)

    def __getitem__(self, name: str) -> tuple[HostArray, HostArray]:
        """Return labels, (N,), and a column, (N, ...).

        It is computed with all that need nothing else counted.
        """
        if name not in self.columns:
            needs = {*PROPERTIES[name].needs, "box"}
            names = [other for other in COUNTED if needs.issuperset(PROPERTIES[other].needs)]
            names = [other for other in {name, *names} - set(self.columns) if other in self]
            arguments = self.labels, self.values, {"label", *names}
            table = regionprops_table(*arguments, spacing=self.spacing, columns="host")
            rows = table["label"]
            self.columns.update((other, (rows, _joined(table, other))) for other in names)
        return self.columns[name]


@lru_cache(maxsize=1024)
def _is_defined(name: str, rank: int, *, equal: bool, values: bool) -> bool:
    try:
        make_plan((name,), (), rank, stacked=False, even=equal)
    except ValueError:
        return False
    return values or not PROPERTIES[name].intensity


def _joined(table: dict[str, HostArray], name: str) -> HostArray:
    """Return one property as an array, (N, ...): column name-0-1 is at [:, 0, 1]."""
    if name in table:
        return table[name]
    parts = [part for part in table if part.partition("-")[0] == name]  # the last index is fastest
    if not parts:  # an image without channels
        return np.empty((len(table["label"]), 0))
    shape = [int(index) + 1 for index in parts[-1].split("-")[1:]]
    joined = np.stack([table[part] for part in parts], axis=1)
    return joined.reshape(len(joined), *shape)


class Region(RegionProperties):  # type: ignore[misc]
    """One object of a label image: its attributes are the keys of `PROPERTIES`."""

    def __init__(self, table: _Table, row: int, *place: Any, **options: Any) -> None:
        self._table, self._row = table, row  # the class looks for attributes that functions hide
        functions = options.pop("extra_properties")
        super().__init__(
            *place, extra_properties=[f for f in functions if f.__name__ in THEIRS], **options
        )
        self._extra_properties = {function.__name__: function for function in functions}

    def _value(self, name: str) -> Any:
        """Return a property of this object."""
        labels, column = self._table[name]
        row = self._row
        if row >= len(labels) or labels[row] != self.label:
            row = int(np.searchsorted(labels, self.label))
        if row == len(labels) or labels[row] != self.label:
            message = (
                f"labels must not be removed before {name} is computed; got none of {self.label}. "
                "Pass a copy of them to `regionprops`."
            )
            raise ValueError(message)
        value = column[row]
        if name not in PARTS:
            return value
        value = value + self._offset if name == "centroid" else value
        return PARTS[name](value.tolist() if value.ndim == 1 else value)


def _attribute(name: str) -> property:
    """Return an attribute of a `Region`; scikit-image answers where no column is defined."""

    def value(self: Region) -> Any:
        if name in self._extra_properties and name not in THEIRS:
            return self.__getattr__(name)
        if name in self._table:
            return self._value(name)
        if name in THEIRS:
            return getattr(super(Region, self), name)
        rank, given = self._table.labels.ndim, self._table.values is not None
        message = (
            f"{name} is not defined for {rank} axes, spacing {self._table.spacing} and "
            f"{'an' if given else 'no'} intensity image."
        )
        raise AttributeError(message)

    return property(value, doc=PROPERTIES[name].summary)


for _name in ATTRIBUTES:
    setattr(Region, _name, _attribute(_name))


def list_regions(labels: Array, values: Array | None, **options: Any) -> list[Region]:
    """Return the objects of a label image; `options` are those of scikit-image's class."""
    table = _Table(labels, values, options["spacing"])
    host, rank = fetch(labels), labels.ndim
    gray, regions = None if values is None else fetch(values), []
    pairs = zip(*(column.tolist() for column in table["bbox"]), strict=True)
    for row, (label, box) in enumerate(pairs):
        place = tuple(slice(*edges) for edges in zip(box[:rank], box[rank:], strict=True))
        regions.append(Region(table, row, place, label, host, gray, **options))
    return regions
