"""Stages of `segment` before and after labeling, and the columns that it measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import check_choice, check_flag, check_whole
from equilabel.devices import fetch, is_on_cuda, library
from equilabel.labeling import paint
from equilabel.measuring import PROPERTIES, DeviceTable, check_spacing, count_labels
from equilabel.measuring.measurement import Measurement
from equilabel.measuring.sizes import touches_border

from .binarization import apply_threshold
from .checks import beside, check_block, check_markers, finite, place_like
from .filters import (
    METHODS,
    check_wide,
    each_piece,
    in_finest_pixels,
    subtract_background,
    widths_in_pixels,
)
from .result import columns_in, meets, refuse_columns
from .splitting import (
    check_share,
    make_rule,
    split_components,
    split_otherwise,
    usual_tolerance,
    with_shapes,
)
from .thresholds import ThresholdedImage, from_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import pandas as pd
    from numpy.typing import DTypeLike, NDArray

    from equilabel.array_types import Array, HostArray
    from equilabel.labeling.paths import Solution
    from equilabel.labeling.problem import Problem
    from equilabel.measuring import Columns, Counts, Request
    from equilabel.quantities import Length, Lengths

    from .filters import BackgroundMethod

    Report = Callable[[str], None]


# ---- Splitting of objects that touch

SPLITS = ("shape", "intensity")


def depth_of(
    split: bool | Length, rank: int, by: str = "shape", *, seeded: bool = False, **scale: Any
) -> float | None:
    """Return the tolerance of `split_touching`, or None if nothing is split, or at markers."""
    check_choice("split_by", by, SPLITS)
    if split is False or split is None:
        if by != "shape" and not seeded:
            message = (
                f"split must be given with split_by={by!r}: it is where objects are separated; "
                f"got {split}. Pass split=True, or markers, or leave split_by out."
            )
            raise ValueError(message)
        return None
    if by == "intensity":
        return check_share("split", None if split is True else split) or None
    known: Any = {"spacing": None, "unit": None, **scale}
    usual = usual_tolerance(known["spacing"] or (1.0,) * rank)
    return in_finest_pixels("split", usual if split is True else split, **known) or None


class Splitting(NamedTuple):
    """How objects that touch are split."""

    depth: float | None  # pixels, or a share of gray values; None if nothing is split
    by: str
    markers: Any
    dark: bool

    @property
    def needed(self) -> bool:
        """Whether something is split."""
        return self.depth is not None or self.markers is not None

    @property
    def at_necks(self) -> bool:
        """Whether components are measured first, because convex ones are not split."""
        return self.needed and self.markers is None and self.by == "shape"

    def first(self, request: Request, device: str) -> Request:
        """Return what to count of components before they are split: where necks matter, shapes."""
        return with_shapes(request, first=device == "cpu") if self.at_necks else request


# ---- Columns of the table


def default_properties(rank: int, spacing: tuple[float, ...], stacked: bool) -> tuple[str, ...]:
    """List the properties that `segment` measures by default.

    Parameters
    ----------
    rank, spacing : int, tuple of float
        Number of spatial axes, and the distance between neighboring pixels along each.
    stacked : bool
        Whether the first axis counts images, so that the table gets a column "frame".

    Returns
    -------
    tuple of str
        Names for `regionprops_table`.

    See Also
    --------
    segment, measure

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


def radii_in_pixels(
    ndim: int, background: Lengths | None, closing: Lengths, opening: Lengths, **scale: Any
) -> Radii:
    """Return the radii of filters in pixels, or raise TypeError or ValueError."""
    given = {"background": background, "closing": closing, "opening": opening}
    found: dict[str, tuple[float, ...]] = {}
    for name, value in given.items():
        nothing = isinstance(value, (int, float)) and value == 0
        radii: tuple[float, ...] = ()
        if value is not None and not nothing:
            radii = tuple(widths_in_pixels(value, ndim, name=name, **scale))
        found[name] = radii if any(radii) else ()
    if background is not None:
        check_wide("background", background, found["background"] or (0.0,))
    return Radii(**found)


def in_pixels(
    axes: int,
    radii: Radii,
    sigma: Lengths,
    block_size: Lengths | None,
    split: float | None,
    limits: tuple[int, int | None],
    *,
    stacked: bool,
    grow: float = 0.0,
    **scale: Any,
) -> dict[str, Any]:
    """Return the lengths and sizes that were used, in pixels, by the names of their parameters."""
    used: dict[str, Any] = {"sigma": widths_in_pixels(sigma, axes, stacked=stacked, **scale)}
    if block_size is not None:
        used["block_size"] = map(int, check_block(block_size, axes, stacked=stacked, **scale))
    used = {name: tuple(widths)[stacked:] for name, widths in used.items()}
    used |= {} if split is None else {"split": split}
    used |= {"grow": grow} if grow else {}
    used |= {"min_size": limits[0], "max_size": limits[1]}
    return used | {name: each[stacked:] for name, each in radii._asdict().items() if each}


def find_foreground(
    image: Array,
    threshold: Any,
    radii: Radii,
    report: Report,
    *,
    method: BackgroundMethod,
    fill_holes: bool,
    mask: Any,
    **options: Any,
) -> tuple[ThresholdedImage, float | tuple[float, float] | None]:
    """Return the foreground of an image and its threshold; `options` are of `apply_threshold`."""
    stacked = options["stacked"]
    check_choice("background_method", method, METHODS, remedy="Pass 'top_hat' if unsure.")
    if method != "top_hat" and not radii.background:
        message = (
            "background must be given with background_method='rolling_ball': it is the radius of "
            "the ball; got None. Pass one wider than objects, such as '50px'."
        )
        raise ValueError(message)
    if radii.background:
        report("background")
        how: Any = {"dark": options["dark"], "method": method, "stacked": stacked}
        image = subtract_background(image, radii.background, **how)
    report("binarize")
    foreground, found = apply_threshold(image, threshold, **options)
    if radii.closing or radii.opening:
        from .morphology import close_mask, open_mask

        report("close and open")
        closed = close_mask(foreground.mask(), radii.closing)
        foreground = from_mask(open_mask(closed, radii.opening))
    if fill_holes:
        from .morphology import fill_mask

        report("fill")
        foreground = from_mask(foreground.mask())  # a smoothed image is not kept beside it
        foreground = fill_mask(foreground.pixels, stacked=stacked)
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


def select_components(
    counts: Counts | Columns,
    *,
    min_size: int = 0,
    max_size: int | None = None,
    exclude_border: bool = False,
) -> NDArray[np.bool_]:
    """Return for each component whether it is kept: (N,) array of bool.

    Columns must have "num_pixels" and, to exclude the border, "touches_border", counts boxes.
    """
    pixels = counts["num_pixels"]["num_pixels"] if isinstance(counts, dict) else counts.pixels
    kept = np.asarray(pixels >= min_size)
    if max_size is not None:
        kept &= pixels <= max_size
    if not exclude_border:
        return kept
    if isinstance(counts, dict):
        return np.asarray(kept & ~counts["touches_border"]["touches_border"])
    return kept & ~touches_border(Measurement(counts, (1.0,) * counts.layout.rank))


def drop_components(labels: HostArray, kept: NDArray[np.bool_]) -> int:
    """Set labels that are dropped to 0, number others in place; return how many are left."""
    numbers = numbers_of(kept, labels.dtype)
    if is_on_cuda(labels):
        xp = library(labels)
        xp.take(xp.asarray(numbers), labels, out=labels)
    else:
        from equilabel.devices.cpu.renumbering import renumber

        each_piece(lambda part: renumber(part.reshape(-1), numbers), labels)
    return int(np.count_nonzero(kept))


def numbers_of(kept: NDArray[np.bool_], dtype: DTypeLike) -> HostArray:
    """Return the new labels of labels 0 to N: from 1 for those that are kept, 0 for others.

    >>> numbers_of(np.array([True, False, True]), np.int32)
    array([0, 1, 0, 2], dtype=int32)
    """
    numbers: HostArray = np.zeros(len(kept) + 1, dtype)
    numbers[1:][kept] = np.arange(1, np.count_nonzero(kept) + 1)
    return numbers


def properties_for(condition: str | None, names: Collection[str]) -> list[str]:
    """List the properties to measure: `names`, and what a condition needs; raise ValueError."""
    if condition is None:
        return list(names)
    wanted = [column.split("-")[0] for column in columns_in("keep", condition)]
    refuse_columns("keep", wanted, list(PROPERTIES))
    return list(dict.fromkeys([*names, *wanted]))


def check_track(track: bool, stacked: bool) -> None:
    """Raise ValueError if tracks are requested for a single image."""
    if track and not stacked:
        message = (
            "track needs stacked=True, where the first axis counts frames; got stacked=False. "
            "Pass stacked=True."
        )
        raise ValueError(message)


def with_tracks(
    table: dict[Any, Any], names: Sequence[str], tracks: pd.DataFrame
) -> dict[Any, Any]:
    """Return a table with the columns of tracks, and the frame, of the same rows, after "label"."""
    place = sum(name in ("label", "frame") for name in names[:2])
    columns = list(table.items())
    added = TRACKS if "frame" in table else ("frame", *TRACKS)
    columns[place:place] = [(name, tracks[name].to_numpy()) for name in added]
    return dict(columns)


# ---- The stages after labeling


class Stages(NamedTuple):
    """The stages after labeling, and what all of them need."""

    problem: Problem
    request: Request
    report: Report

    def split(
        self, found: Solution, splitting: Splitting, hops: int, values: Callable[[], Array]
    ) -> Solution:
        """Split objects that touch; `values` returns the smoothed image."""
        if not splitting.needed:
            return found
        self.report("split")
        request, labels, depth = self.request, found.labels, splitting.depth or 0.0
        if splitting.at_necks:
            parts = split_components(labels, found.counts, depth, request.spacing, hops)
            labels, count = parts or (labels, found.count)
        else:
            rule = make_rule(depth, request.spacing, hops, request.plan.layout.stacked)
            image = None
            if splitting.by == "intensity":
                image = finite(fetch(values())) * (-1 if splitting.dark else 1)
            numbers = split_otherwise(fetch(labels), splitting.markers, image, rule)
            labels, count = place_like(labels, numbers), int(numbers.max(initial=0))
        return found._replace(labels=labels, count=count, counts=request.count(labels))

    def drop(
        self, found: Solution, limits: tuple[int, int | None], *, exclude_border: bool
    ) -> Solution:
        """Drop objects by size and border; labels that are not painted yet are painted only now."""
        smallest, largest = limits
        dropping = smallest > 1 or largest is not None or exclude_border
        if dropping:
            self.report("drop")
        found, kept = self.counted(found), None
        if dropping:
            kept = select_components(
                found.counts, min_size=smallest, max_size=largest, exclude_border=exclude_border
            )
        if found.runs is not None:
            found = paint(self.problem, found, None if kept is None else numbers_of(kept, np.int32))
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
        for name, key in self.request.plan.columns:
            if key == "label":
                columns[name] = {name: np.arange(1, np.count_nonzero(kept) + 1)}
        return found._replace(counts=columns)

    def counted(self, found: Solution) -> Solution:
        """Wait for the columns that a GPU computes; return counts if it cannot compute these."""
        if not isinstance(found.counts, DeviceTable):
            return found
        columns = found.counts.finish()
        if columns is not None:
            return found._replace(counts=columns, count=len(columns["num_pixels"]["num_pixels"]))
        found = found if found.runs is None else paint(self.problem, found)
        request = self.request
        return found._replace(counts=count_labels(found.labels, request.values, request.plan))

    def grow(self, found: Solution, pixels: float, mask: HostArray | None) -> Solution:
        """Grow objects by pixels of the smallest spacing, within a mask; count them again."""
        if not pixels:
            return found
        from .morphology import grow

        self.report("grow")
        request = self.request
        how: Any = {"spacing": request.spacing, "stacked": request.plan.layout.stacked}
        labels = grow(found.labels, pixels, mask=mask, **how)
        counts = count_labels(labels, request.values, request.plan)
        return found._replace(labels=labels, counts=counts)

    def measure(
        self, found: Solution, names: list[str], condition: str | None, *, track: bool
    ) -> tuple[Any, int]:
        """Drop objects that do not meet a condition; return the table and their number."""
        self.report("measure")
        columns: Any = self.request.columns(found.counts, found.labels)
        table, count = make_table(columns, names), int(found.count)
        if condition is not None:
            import pandas as pd

            kept = meets(pd.DataFrame(table), condition)
            count = drop_components(found.labels, kept)
            table = {name: column[kept] for name, column in table.items()}
            if "label" in table:
                table["label"] = np.arange(1, count + 1, dtype=table["label"].dtype)
        if track:  # in the order of the table: of frames and labels
            from .overlaps import track_overlaps

            table = with_tracks(table, names, track_overlaps(found.labels))
        return table, count
