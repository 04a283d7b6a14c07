"""Steps of `segment` before and after labeling: the foreground, and tracks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel import cleanup
from equilabel.arguments import shown
from equilabel.thresholding import (
    ThresholdedImage,
    apply_threshold,
    check_background_method,
    close_mask,
    from_mask,
    open_mask,
    subtract_background,
    widths_in_pixels,
)
from equilabel.tracking import track_overlaps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from equilabel.array_types import Array, HostArray
    from equilabel.measuring import Counts
    from equilabel.quantities import Lengths
    from equilabel.thresholding import BackgroundMethod

TRACKS = ("track", "parent", "event")


class Radii(NamedTuple):
    """Radii of filters along each axis of an image, in pixels; empty where there is no filter.

    Attributes
    ----------
    background, closing, opening : tuple of float
    """

    background: tuple[float, ...]
    closing: tuple[float, ...]
    opening: tuple[float, ...]

    def in_pixels(self, stacked: bool) -> dict[str, Any]:
        """Return those that are used, along the spatial axes, by their names."""
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
    stacked: bool,
    **options: Any,
) -> tuple[ThresholdedImage, float | tuple[float, float] | None]:
    """Return the foreground of an image, and its threshold, after the steps that are wanted.

    Arguments are those of `segment`, and `options` the others of `apply_threshold`.
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
        mask = foreground.mask()
        mask = close_mask(mask, radii.closing) if radii.closing else mask
        foreground = from_mask(open_mask(mask, radii.opening) if radii.opening else mask)
    if fill_holes:
        report("fill")
        foreground = from_mask(cleanup.fill_holes(foreground.mask(), stacked=stacked))
    return foreground, found


def drop(
    labels: Array,
    count: int,
    counts: Counts,
    report: Callable[[str], None],
    *,
    limits: tuple[int, int | None],
    exclude_border: bool,
) -> tuple[int, Counts]:
    """Drop objects from labels, in place, by size and border; return how many are left."""
    smallest, largest = limits
    if smallest <= 1 and largest is None and not exclude_border:
        return count, counts
    report("drop")
    kept = cleanup.select_components(
        counts, min_size=smallest, max_size=largest, exclude_border=exclude_border
    )
    return cleanup.drop_components(labels, kept), counts.select(kept)


def check_track(track: bool, stacked: bool) -> None:
    """Raise ValueError if tracks are wanted of a single image."""
    if track and not stacked:
        message = (
            "track needs stacked=True, where the first axis counts frames; got stacked=False. "
            "Pass stacked=True."
        )
        raise ValueError(message)


def with_tracks(
    table: dict[str, HostArray], names: Iterable[str], labels: Array
) -> dict[str, HostArray]:
    """Return a table with the columns of tracks after its label and its frame."""
    tracks = track_overlaps(labels)  # in the order of labels, which are unique
    place = sum(name in ("label", "frame") for name in list(names)[:2])
    columns = list(table.items())
    columns[place:place] = [(name, tracks[name].to_numpy()) for name in TRACKS]
    return dict(columns)
