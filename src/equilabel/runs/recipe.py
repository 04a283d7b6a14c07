"""Recipe of the method `runs`: find and unite runs; labels are written once, at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.domains.contract import Domain


class Passes(Protocol):
    """The passes of one device; `table` holds the runs of an image or a lattice on it."""

    def pack(self, domain: Domain, room: Array) -> Any:
        """Find the runs of an image or of a lattice of bonds."""
        ...

    def unite(self, table: Any) -> None:
        """Unite the runs that touch."""
        ...


def recipe(passes: Passes, domain: Domain, *, room: Array = None) -> Any:
    """Find the runs of an image, or of a lattice of bonds, and unite those that touch.

    `room` is memory that will receive the labels, which `pack` may use until then. The table
    numbers components in raster order, from 1, or on bonds (no background) from 0; its pass `paint`
    writes them.
    """
    table = passes.pack(domain, room)
    passes.unite(table)
    return table
