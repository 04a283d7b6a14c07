"""What a method counts on its way, shown to a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.measuring import Request
    from equilabel.methods import Method


def visitor(
    request: Request, row: Method, full: bool, device: str, table_only: bool
) -> Callable[[Any], bool]:
    """Return what a recipe calls with its counts.

    Parameters
    ----------
    request : Request
    row : Method
        One that counts.
    full : bool
        Whether pixels that share a corner have one label.
    device : str
        Where the counts are.
    table_only : bool
        Whether labels are wanted only if the request needs them.

    Returns
    -------
    callable
        Takes counts, and tells whether labels can be left out.
    """

    def visit(counts: Any) -> bool:
        if row.contract == "roots":
            return request.count_cells(counts)
        return request.count_runs(counts, full, device) and table_only

    return visit
