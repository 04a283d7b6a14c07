"""Keyword arguments of `label` as type checkers see them: what is returned depends on them."""

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
    """What is returned does not depend on these: those of `label`, and those of methods."""

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
    """Labels alone."""

    properties: None
    report: Literal[False]


class Measured(Options, total=False):
    """Labels and a table."""

    properties: Required[Iterable[str]]
    report: Literal[False]


class Reported(Options, total=False):
    """Labels and a report."""

    properties: None
    report: Required[Literal[True]]


class Undecided(Options, total=False):
    """What is returned shows when it runs."""

    properties: Iterable[str] | None
    report: bool


class GraphOptions(TypedDict, total=False):
    """Options of `label_graph` that its answer does not depend on."""

    method: str
    device: Device
    tile: int
    local: str
