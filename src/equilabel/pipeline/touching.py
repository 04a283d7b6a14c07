"""Objects of `segment` that touch: the tolerance asked for, and counts of the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equilabel import cleanup
from equilabel.measuring import count_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array
    from equilabel.measuring import Counts, Request
    from equilabel.quantities import Length


def depth_of(split: bool | Length, **scale: Any) -> float | None:
    """Return the tolerance of `split_touching` in pixels, or None if nothing is to be split.

    Examples
    --------
    >>> depth_of(True), depth_of(False), depth_of(0)
    (0.8, None, None)
    >>> depth_of("0.5um", spacing=(1.0, 0.25, 0.25), unit="um")
    2.0
    """
    if split is False or split is None:
        return None
    known: Any = {"spacing": None, "unit": None, **scale}
    wanted = cleanup.TOLERANCE if split is True else split
    return cleanup.tolerance_in_pixels("split", wanted, **known) or None


def counted_for(
    names: list[str], rank: int, depth: float | None, *, exclude_border: bool
) -> list[str]:
    """List what has to be counted: columns, and what splitting and dropping need.

    A method may count sizes alone, so boxes have to be asked for.
    """
    shapes = () if depth is None else cleanup.shape_properties(rank)
    return [*names, *(("bbox",) if exclude_border else ()), *shapes]


def split_objects(
    labels: Array,
    counts: Counts,
    request: Request,
    depth: float | None,
    connectivity: int,
    report: Callable[[str], None],
) -> tuple[Array, int, Counts]:
    """Split objects that touch; return labels, their number, and counts of what a request asks."""
    if depth is None:
        return labels, len(counts.labels), counts
    report("split")
    found = cleanup.split_components(labels, counts, depth, request.spacing, connectivity)
    if found is None:
        return labels, len(counts.labels), counts
    return *found, count_labels(found[0], request.values, request.plan)
