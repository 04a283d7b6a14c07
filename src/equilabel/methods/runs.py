"""Runs (this project): unite maximal runs of equal pixels; labels are written once, at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from equilabel.array_types import Array

    from .contract import Domain


class Passes(Protocol):
    """The passes of a device; `table` holds the runs of an image there."""

    def pack(self, grid: Domain, room: Array) -> Any:
        """Find the runs of an image."""
        ...

    def unite(self, table: Any) -> None:
        """Unite the runs that touch."""
        ...


def recipe(passes: Passes, domain: Domain, *, room: Array = None) -> Any:
    """Find the runs of an image and unite those that touch.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.runs`.
    domain : Domain
        A grid.
    room : array, optional
        Memory that will receive the labels and may be used meanwhile.

    Returns
    -------
    RunTable
        Of the device. Its `number` gives components numbers from 1 in raster order of their first
        pixel, and `paint` writes the labels.
    """
    table = passes.pack(domain, room)
    passes.unite(table)
    return table
