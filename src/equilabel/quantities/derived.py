"""Units of quantities derived from lengths: areas, volumes, moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PIXEL = "px"
POWERS = {1: "", 2: "²", 3: "³"}


def derived_unit(kind: str, rank: int, unit: str, indices: Sequence[str] = ()) -> str:
    """Return the unit of a column of a table.

    `kind` is that of `equilabel.measuring.property.Property.unit`, `rank` the number of spatial
    axes, `unit` that of lengths ("" if unknown), and `indices` are those of the column: for a
    moment, the power of each coordinate.

    >>> derived_unit("size", 2, "µm"), derived_unit("size", 3, "µm"), derived_unit("radian", 2, "")
    ('µm²', 'µm³', 'rad')
    """
    if kind == "pixel":
        return PIXEL
    if kind == "radian":
        return "rad"
    power = {"length": 1, "area": 2, "size": rank}.get(kind, 0)
    if kind == "powers of length" and all(index.isdecimal() for index in indices):
        power = sum(map(int, indices))
    return f"{unit}{POWERS.get(power, f'^{power}')}" if unit and power else ""
