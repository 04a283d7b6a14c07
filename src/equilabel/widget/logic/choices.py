"""Values of the forms as arguments of `equilabel.segment`, and the choices that forms offer."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import equilabel
from equilabel.array_types import HostArray
from equilabel.options import SegmentOptions
from equilabel.quantities import (
    WIDEST,
    known_unit,
    length_in_pixels,
    odd,
    wide_blur,
    without_blur_warnings,
)

from .sources import Source

DEPTH = 0.5  # pixels: how much thinner a neck is, at first
LENGTHS = ("background", "sigma", "closing", "opening", "split", "min_size", "block_size", "grow")
RADII = ("background", "sigma", "closing", "opening")
# The label is always measured, and a table of numbers cannot contain arrays.
NOT_OFFERED = (
    *("label", "coords", "coords_scaled", "slice"),
    *("image", "image_convex", "image_filled", "image_intensity"),
)
SQUARE = "perimeter"  # defined for square pixels only
TICKED = "Usual"  # the group that is ticked by default
GROUPS = (TICKED, "Size and position", "Shape", "Gray values", "Moments")


@dataclass(frozen=True)
class Choices(SegmentOptions):
    """The values of the form: lengths are pixels or text with a unit, markers and mask layers."""

    color: str = "gray"
    channel: int = 0
    block_size: float | str = 51
    markers: Source | None = None
    mask: Source | None = None

    def prepare(
        self, source: Source, pixels: HostArray, axes: Iterable[int], stride: int = 1
    ) -> HostArray:
        """Subtract the background and smooth, as a run does, pixels of some axes of a layer."""
        axes = list(axes)
        radii, widths = (
            self.lengths(source, name, axes, stride) for name in ("background", "sigma")
        )
        widest = max(self.widths(source, "background").values())
        if max(radii) >= 1 or 0 < widest < 1:
            radius = radii if widest >= 1 else widest  # less than a pixel is an error, as in a run
            how: Any = {"dark": self.dark, "method": self.background_method}
            pixels = equilabel.subtract_background(pixels, radius, **how)
        with without_blur_warnings():
            return equilabel.smooth(pixels, widths) if any(widths) else pixels

    def arguments(self, source: Source) -> dict[str, Any]:
        """Return the arguments of `equilabel.segment` that differ from their defaults, in order."""
        parameters = signature(equilabel.segment).parameters
        defaults = {name: each.default for name, each in parameters.items()}
        wanted = {name: getattr(self, name, usual) for name, usual in defaults.items()}
        spacing, unit = source.pixel_size
        has_channels, stacked = "channel" in source.roles, "time" in source.roles
        if self.threshold != "local":
            wanted |= {"block_size": None, "offset": 0.0}
        if not self.background:
            wanted["background_method"] = "top_hat"
        if not self.split and self.markers is None:
            wanted["split_by"] = "shape"
        physical = any(isinstance(wanted[name], str) for name in LENGTHS)
        wanted |= {
            "properties": None if self.properties is None else ("label", *self.properties),
            "spacing": spacing if physical or set(spacing) != {1.0} else None,
            "unit": unit if physical else None,
            "stacked": stacked,
            "track": self.track and stacked,
            "channel_axis": -1 if has_channels else None,
            "channel": self.channel if has_channels else None,
        }
        return {name: value for name, value in wanted.items() if value != defaults[name]}

    def widths(self, source: Source, name: str) -> dict[int, float]:
        """Return one of the lengths along each axis of space of a layer, in pixels."""
        spacing, unit = source.pixel_size
        value = getattr(self, name) or 0.0
        most = WIDEST if name in RADII else math.inf  # the same error as that of a run
        widths = length_in_pixels(name, value, len(spacing), spacing=spacing, unit=unit, most=most)
        if name == "block_size":
            widths = tuple(map(odd, widths))
        return dict(zip(source.space, widths, strict=True))

    def lengths(
        self, source: Source, name: str, axes: Iterable[int], stride: int = 1
    ) -> list[float]:
        """Return one of the lengths along some axes of a layer, in strides; 0 except for space."""
        widths = self.widths(source, name)
        return [widths.get(axis, 0.0) / stride for axis in axes]


def question_smoothing(source: Source, choices: Choices) -> str:
    """Return a warning if a Gaussian is so wide that it merges objects; else ""."""
    try:
        widths = choices.widths(source, "sigma")
    except ValueError as error:
        return str(error)
    wide = wide_blur(tuple(widths.values()), [source.shape[axis] for axis in widths])
    if wide is None:
        return ""
    return (
        f"The image is blurred over {wide[1]} pixels, more than a tenth of its {wide[2]}: "
        "objects may merge."
    )


def connectivities(rank: int) -> list[tuple[str, int]]:
    """List connectivities as numbers of neighbors of a pixel and hops between them."""
    what = {
        1: ["next in the row"],
        2: ["sides", "sides and corners"],
        3: ["faces", "faces and edges", "faces, edges, corners"],
    }.get(rank, [f"up to {hops} hops" for hops in range(1, rank + 1)])
    found, count = [], 0
    for hops, words in enumerate(what, start=1):
        count += math.comb(rank, hops) * 2**hops
        found.append((f"{count}: {words}", hops))
    return found


def length_unit(unit: str) -> str:
    """Return the unit of a layer if it is a unit of length, else ""."""
    try:
        return known_unit("unit", unit) or ""
    except ValueError:
        return ""


def offered(source: Source, *, image: bool = True) -> dict[str, list[Any]]:
    """List by groups the properties for a layer; those of gray values only with an `image`."""
    spacing, stacked = source.pixel_size[0], "time" in source.roles
    rank = len(spacing)
    usual = equilabel.default_properties(rank, spacing, stacked)
    groups: dict[str, list[Any]] = {group: [] for group in GROUPS}
    for name, row in equilabel.PROPERTIES.items():
        if (
            name in NOT_OFFERED
            or (row.ranks and rank not in row.ranks)
            or (row.intensity and not image)
            or (name == "frame" and not stacked)
            or (name == SQUARE and len(set(spacing)) > 1)
        ):
            continue
        groups[TICKED if name in usual else row.group].append(row)
    return groups
