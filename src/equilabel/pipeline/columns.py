"""Columns of the table: those measured by default, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.arguments import check_flag, check_whole
from equilabel.measuring import check_spacing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from equilabel.array_types import HostArray
    from equilabel.measuring import Columns


def default_properties(rank: int, spacing: tuple[float, ...], stacked: bool) -> tuple[str, ...]:
    """List the properties that `segment` measures by default.

    Parameters
    ----------
    rank : int
        Number of spatial axes.
    spacing : tuple of float
        Distance of pixels along each.
    stacked : bool
        Whether the first axis counts images, so that the table gets a column "frame".

    Returns
    -------
    tuple of str
        Names for `regionprops_table`.

    Examples
    --------
    >>> default_properties(3, (2, 1, 1), stacked=False)[-5]
    'surface_area_crofton'
    """
    rank, stacked = check_whole("rank", rank, 1, 64), check_flag("stacked", stacked)
    spacing = check_spacing(spacing, rank)
    outline = {2: ("perimeter",), 3: ("surface_area_crofton",)}.get(rank, ())
    if rank == 2 and len(set(spacing)) > 1:
        outline = ("perimeter_crofton",)
    return (
        "label",
        *(("frame",) if stacked else ()),
        *("area", "bbox", "centroid", "equivalent_diameter_area"),
        *outline,
        *("intensity_mean", "intensity_min", "intensity_max", "intensity_std"),
    )


def make_table(columns: Columns, names: Iterable[str]) -> dict[str, HostArray]:
    """Return the columns of some properties, in the order of their names."""
    return {key: column for name in names for key, column in columns[name].items()}
