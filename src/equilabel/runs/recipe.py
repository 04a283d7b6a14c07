"""Runs (this project): unite maximal runs of equal pixels; labels are written once, at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.contract import Domain


class Passes(Protocol):
    """The passes of a device; `table` holds the runs of an image, or of a lattice, there."""

    def pack(self, domain: Domain, room: Array) -> Any:
        """Find the runs of an image or of a lattice of bonds."""
        ...

    def unite(self, table: Any) -> None:
        """Unite the runs that touch."""
        ...


def recipe(passes: Passes, domain: Domain, *, room: Array = None) -> Any:
    """Find the runs of an image, or of a lattice of bonds, and unite those that touch.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.runs`.
    domain : Domain
        A grid of pixels, or bonds; of bonds, a run is a stretch of open ones along the last axis.
    room : array, optional
        Memory that will receive the labels and may be used meanwhile.

    Returns
    -------
    RunTable
        Of the device. Its `number` gives components numbers in raster order of their first
        element, from 1, or from 0 where there is no background: on bonds. `paint` writes them.
    """
    table = passes.pack(domain, room)
    passes.unite(table)
    return table
