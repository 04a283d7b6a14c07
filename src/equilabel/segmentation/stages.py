"""Stages of `segment` before and after labeling, and the columns that it measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import check_choice, check_flag, check_whole, shown
from equilabel.devices import fetch
from equilabel.labeling import paint
from equilabel.measuring import PROPERTIES, DeviceTable, check_spacing, count_labels
from equilabel.measuring.properties import make_plan

from .binarization import ThresholdedImage, apply_threshold, from_mask
from .filters import check_background_method, subtract_background, widths_in_pixels
from .morphology import close_mask, fill_mask, open_mask
from .seeds import beside, check_markers, finite, grow, place_like
from .selection import (
    columns_in,
    drop_components,
    meets,
    numbers_of,
    refuse_columns,
    select_components,
)
from .splitting import (
    check_share,
    make_rule,
    shape_properties,
    split_components,
    split_otherwise,
    tolerance_in_pixels,
    usual_tolerance,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from equilabel.array_types import Array, HostArray
    from equilabel.labeling.paths import Solution
    from equilabel.labeling.problem import Problem
    from equilabel.measuring import Columns, Request
    from equilabel.quantities import Length, Lengths

    from .filters import BackgroundMethod


# ---- Splitting of objects that touch


SPLITS = ("shape", "intensity")


def depth_of(split: bool | Length, rank: int, **scale: Any) -> float | None:
    """Return the tolerance of `split_touching` in pixels, or None if nothing is split."""
    if split is False or split is None:
        return None
    known: Any = {"spacing": None, "unit": None, **scale}
    usual = usual_tolerance(known["spacing"] or (1.0,) * rank)
    wanted = usual if split is True else split
    return tolerance_in_pixels("split", wanted, **known) or None


class Splitting(NamedTuple):
    """How objects that touch are split."""

    depth: float | None  # pixels, or a share of gray values; None if nothing is split
    by: str = "shape"
    markers: Any = None
    dark: bool = False

    @classmethod
    def of(
        cls, split: bool | Length, by: str, markers: Any, rank: int, *, dark: bool, **scale: Any
    ) -> Splitting:
        """Check the arguments of `segment`."""
        check_choice("split_by", by, SPLITS)
        depth = None
        if by == "intensity" and split:
            depth = check_share("split", None if split is True else split) or None
        elif by == "shape":
            depth = depth_of(split, rank, **scale)
        return cls(depth, by, markers, dark)

    @property
    def needed(self) -> bool:
        """Whether something is split."""
        return self.depth is not None or self.markers is not None

    @property
    def at_necks(self) -> bool:
        """Whether components are measured first, because convex ones are not split."""
        return self.needed and self.markers is None and self.by == "shape"

    def first(self, request: Request) -> Request:
        """Return what to count of components before they are split: where necks matter, shapes."""
        if not self.at_necks:
            return request
        layout = request.plan.layout
        wanted = shape_properties(layout.rank)
        plan = make_plan(wanted, (), layout.axes, layout.stacked, even=True)
        return replace(request, plan=plan, columns_on=None)


def counted_for(names: list[str], *, exclude_border: bool) -> list[str]:
    """List the properties to count: the columns, and what dropping needs."""
    return [*names, "num_pixels", *(("touches_border",) if exclude_border else ())]


def split_objects(
    found: Solution,
    request: Request,
    splitting: Splitting,
    connectivity: int,
    report: Callable[[str], None],
    values: Callable[[], Array],
) -> Solution:
    """Split objects that touch; return labels, their number, and their counts.

    `values` returns the smoothed image.
    """
    if not splitting.needed:
        return found
    report("split")
    labels = found.labels
    if splitting.at_necks:
        depth: Any = splitting.depth
        parts = split_components(labels, found.counts, depth, request.spacing, connectivity)
    else:
        rule = make_rule(
            splitting.depth or 0.0, request.spacing, connectivity, request.plan.layout.stacked
        )
        image = None
        if splitting.by == "intensity":
            image = finite(fetch(values())) * (-1 if splitting.dark else 1)
        numbers = split_otherwise(fetch(labels), splitting.markers, image, rule)
        parts = place_like(labels, numbers), int(numbers.max(initial=0))
    labels, count = parts or (labels, found.count)
    return found._replace(labels=labels, count=count, counts=request.count(labels))


# ---- Columns of the table


def default_properties(rank: int, spacing: tuple[float, ...], stacked: bool) -> tuple[str, ...]:
    """List the properties that `segment` measures by default.

    Parameters
    ----------
    rank : int
        Number of spatial axes.
    spacing : tuple of float
        Distance between neighboring pixels along each spatial axis.
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


# ---- The foreground, dropped objects and tracks

TRACKS = ("track", "parent", "event")


class Radii(NamedTuple):
    """Radii of filters along each axis, in pixels; empty for a filter that is not used."""

    background: tuple[float, ...]
    closing: tuple[float, ...]
    opening: tuple[float, ...]

    def in_pixels(self, stacked: bool) -> dict[str, Any]:
        """Return the radii of the filters that are used, along the spatial axes, by name."""
        return {name: radii[stacked:] for name, radii in self._asdict().items() if radii}


def radii_in_pixels(
    ndim: int, background: Lengths | None, closing: Lengths, opening: Lengths, **scale: Any
) -> Radii:
    """Return the radii of filters in pixels, or raise TypeError or ValueError.

    Examples
    --------
    >>> radii_in_pixels(3, "1um", 0, 2, spacing=(0.2, 0.1), unit="um", stacked=True)
    Radii(background=(0.0, 5.0, 10.0), closing=(), opening=(0.0, 2.0, 2.0))
    """
    given = {"background": background, "closing": closing, "opening": opening}
    found: dict[str, tuple[float, ...]] = {}
    for name, value in given.items():
        found[name] = ()
        if value is not None and not (isinstance(value, (int, float)) and value == 0):
            radii = tuple(widths_in_pixels(value, ndim, name=name, **scale))
            found[name] = radii if any(radii) else ()
    if background is not None and max(found["background"], default=0.0) < 1:
        pixels = max(found["background"], default=0.0)
        message = (
            f"background must be 1 pixel or more, and wider than objects; got {shown(background)}, "
            f"{pixels:g} pixels. Pass a larger one, such as '50px', or leave it out."
        )
        raise ValueError(message)
    return Radii(**found)


def find_foreground(
    image: Array,
    threshold: Any,
    radii: Radii,
    report: Callable[[str], None],
    *,
    background_method: BackgroundMethod,
    dark: bool,
    fill_holes: bool,
    mask: Any,
    stacked: bool,
    **options: Any,
) -> tuple[ThresholdedImage, float | tuple[float, float] | None]:
    """Return the foreground of an image and its threshold.

    Arguments are those of `segment`; `options` are the other arguments of `apply_threshold`.
    """
    check_background_method(background_method, radii.background or None)
    if radii.background:
        report("background")
        how: Any = {"dark": dark, "method": background_method, "stacked": stacked}
        image = subtract_background(image, radii.background, **how)
    report("binarize")
    foreground, found = apply_threshold(image, threshold, dark=dark, stacked=stacked, **options)
    if radii.closing or radii.opening:
        report("close and open")
        plain = foreground.mask()
        closed = close_mask(plain, radii.closing) if radii.closing else plain
        foreground = from_mask(open_mask(closed, radii.opening) if radii.opening else closed)
    if fill_holes:
        report("fill")
        foreground = fill_mask(foreground.mask(), stacked=stacked)
    if mask is not None:
        foreground = from_mask(foreground.mask() & place_like(image, mask))
    return foreground, found


def check_beside(markers: Any, mask: Any, image: Array) -> tuple[Any, Any]:
    """Return the markers and the mask of an image on the host, or None; raise their errors."""
    seeds = None if markers is None else check_markers(markers, image, "image")
    inside = None if mask is None else beside("mask", mask, image, "image").astype(bool)
    if inside is not None and inside.size and not inside.any():
        message = "mask must have pixels in which objects may be; got none. Pass another mask."
        raise ValueError(message)
    return seeds, inside


def drop(
    problem: Problem,
    found: Solution,
    request: Request,
    report: Callable[[str], None],
    *,
    limits: tuple[int, int | None],
    exclude_border: bool,
) -> Solution:
    """Drop objects by size and border; return labels, number and counts of the others.

    Labels that are not painted yet are painted when it is known which objects are dropped; others
    are overwritten.
    """
    smallest, largest = limits
    dropping = smallest > 1 or largest is not None or exclude_border
    if dropping:
        report("drop")
    found, kept = with_counts(problem, found, request), None
    if dropping:
        kept = select_components(
            found.counts, min_size=smallest, max_size=largest, exclude_border=exclude_border
        )
    if found.runs is not None:
        found = paint(problem, found, None if kept is None else numbers_of(kept, np.int32))
    elif kept is not None:
        found = found._replace(count=drop_components(found.labels, kept))
    if kept is None:
        return found
    if not isinstance(found.counts, dict):
        return found._replace(counts=found.counts.select(kept))
    columns = {
        name: {part: column[kept] for part, column in parts.items()}
        for name, parts in found.counts.items()
    }
    for name, key in request.plan.columns:
        if key == "label":
            columns[name] = {name: np.arange(1, np.count_nonzero(kept) + 1)}
    return found._replace(counts=columns)


def with_counts(problem: Problem, found: Solution, request: Request) -> Solution:
    """Wait for the columns that a GPU computes; return counts if it cannot compute these."""
    if not isinstance(found.counts, DeviceTable):
        return found
    columns = found.counts.finish()
    if columns is not None:
        return found._replace(counts=columns, count=len(columns["num_pixels"]["num_pixels"]))
    found = found if found.runs is None else paint(problem, found)
    return found._replace(counts=count_labels(found.labels, request.values, request.plan))


def grow_objects(
    found: Solution,
    request: Request,
    pixels: float,
    mask: HostArray | None,
    report: Callable[[str], None],
) -> Solution:
    """Grow objects by pixels of the smallest spacing, within a mask; count them again."""
    if not pixels:
        return found
    report("grow")
    how: Any = {"spacing": request.spacing, "stacked": request.plan.layout.stacked}
    labels = grow(found.labels, pixels, mask=mask, **how)
    counts = count_labels(labels, request.values, request.plan)
    return found._replace(labels=labels, counts=counts)


def properties_for(condition: str | None, names: Collection[str]) -> list[str]:
    """List the properties to measure: `names`, and what a condition needs; raise ValueError."""
    if condition is None:
        return list(names)
    wanted = [column.split("-")[0] for column in columns_in("keep", condition)]
    refuse_columns("keep", wanted, list(PROPERTIES))
    return list(dict.fromkeys([*names, *wanted]))


def measure_objects(
    request: Request,
    found: Solution,
    names: list[str],
    condition: str | None,
    report: Callable[[str], None],
    *,
    track: bool,
) -> tuple[Any, int]:
    """Drop objects that do not meet a condition, in place; return the table and their number."""
    report("measure")
    columns: Any = request.columns(found.counts, found.labels)
    table, count = make_table(columns, names), int(found.count)
    if condition is not None:
        import pandas as pd

        kept = meets(pd.DataFrame(table), condition)
        count = drop_components(found.labels, kept)
        table = {name: column[kept] for name, column in table.items()}
        if "label" in table:
            table["label"] = np.arange(1, count + 1, dtype=table["label"].dtype)
    return with_tracks(table, names, found.labels) if track else table, count


def check_track(track: bool, stacked: bool) -> None:
    """Raise ValueError if tracks are requested for a single image."""
    if track and not stacked:
        message = (
            "track needs stacked=True, where the first axis counts frames; got stacked=False. "
            "Pass stacked=True."
        )
        raise ValueError(message)


def with_tracks(
    table: dict[str, HostArray], names: Iterable[str], labels: Array
) -> dict[str, HostArray]:
    """Return a table with the columns of tracks inserted after "label" and "frame"."""
    from .tracking import track_overlaps

    tracks = track_overlaps(labels)  # in the order of labels, which are unique
    place = sum(name in ("label", "frame") for name in list(names)[:2])
    columns = list(table.items())
    columns[place:place] = [(name, tracks[name].to_numpy()) for name in TRACKS]
    return dict(columns)
