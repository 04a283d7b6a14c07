"""Keyword arguments of `label` for type checkers: the types of its results depend on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Required, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray
    from equilabel.devices import Device
    from equilabel.measuring import Where

Table: TypeAlias = "dict[str, HostArray]"


class Options(TypedDict, total=False):
    """Arguments of `label` and of methods on which the types of the results do not depend."""

    structure: ArrayLike | None
    method: str
    device: Device
    stacked: bool
    periodic: bool | Sequence[bool]
    out: HostArray | None
    intensity_image: ArrayLike | None
    spacing: float | Sequence[float] | None
    columns: Where
    segment: int
    tile: int
    tile_size: int
    local: str


class Plain(Options, total=False):
    """Only labels are returned."""

    properties: None
    report: Literal[False]


class Measured(Options, total=False):
    """Labels and a table are returned."""

    properties: Required[Iterable[str]]
    report: Literal[False]


class Reported(Options, total=False):
    """Labels and a report are returned."""

    properties: None
    report: Required[Literal[True]]


class Undecided(Options, total=False):
    """The types of the results are known only at run time."""

    properties: Iterable[str] | None
    report: bool


class GraphOptions(TypedDict, total=False):
    """Arguments of `label_graph` on which the types of the results do not depend."""

    method: str
    device: Device
    tile: int
    local: str
