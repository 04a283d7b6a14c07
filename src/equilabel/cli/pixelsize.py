"""Pixel size of an image: that of the file, or the one given by options."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .channels import find_channel

if TYPE_CHECKING:
    from equilabel.storage.axes import TiffImage

    from .options import Options


def spacing_of(image: TiffImage, options: Options) -> tuple[dict[str, float], str]:
    """Return the pixel size by axis, and its unit, from the options or the file."""
    space = "".join(axis for axis in image.axes if axis in "ZYX")
    unit = image.unit if options.unit is None else options.unit
    if options.spacing is None:
        return {axis: image.spacing[axis] for axis in space if axis in image.spacing}, unit
    values = options.spacing if len(options.spacing) > 1 else options.spacing * len(space)
    if len(values) != len(space):
        message = (
            f"--spacing must be 1 or {len(space)} numbers for axes {space!r}; got {len(values)}. "
            "Pass one number for all axes, or leave it out to use that of the file."
        )
        raise ValueError(message)
    return dict(zip(space, values, strict=True)), unit


class KnownAxes(NamedTuple):
    """Meaning of the axes of an image."""

    channel_axis: int | None  # from `find_channel`
    channel: int | None  # from `find_channel`
    axes: str  # letters of the other axes
    stacked: bool  # whether the first of `axes` counts images
    spacing: dict[str, float]  # pixel size by axis, where it is known
    unit: str  # of the pixel size
    distances: tuple[float, ...] | None  # from `distances_of`, for the axes of one image

    @property
    def measured(self) -> dict[str, float]:
        """Pixel size by axis that the table uses; empty if that of an axis is unknown."""
        known = self.spacing if self.distances is not None else {}
        return {axis: known[axis] for axis in self.axes if axis in known}


def known_axes(image: TiffImage, options: Options, what: str = "an image") -> KnownAxes:
    """Return the meaning of the axes of an image; raise ValueError if options do not fit them."""
    channel_axis, channel = find_channel(image, options.channel)
    axes = image.axes.replace("C", "")
    spacing, unit = spacing_of(image, options)
    stacked = "T" in axes if options.stacked is None else options.stacked and len(axes) > 2
    if options.segment.get("track") and len(axes) < 3:
        message = f"--track needs {what} of several frames; got axes {axes!r}. Leave it out."
        raise ValueError(message)
    refuse_times(axes[stacked:], options)
    distances = distances_of(axes[stacked:], spacing)
    return KnownAxes(channel_axis, channel, axes, stacked, spacing, unit, distances)


def distances_of(axes: str, spacing: dict[str, float]) -> tuple[float, ...] | None:
    """Return the spacing of axes in order, 1 for time; None if it is unknown for a spatial axis."""
    if any(axis != "T" and axis not in spacing for axis in axes):
        return None
    return tuple(spacing.get(axis, 1.0) for axis in axes)


def refuse_times(axes: str, options: Options) -> None:
    """Raise ValueError if a length or a size has a unit, but an axis of objects is time.

    `axes` are the letters of the axes along which objects extend.
    """
    lengths = ("sigma", "block_size", "background", "closing", "opening")
    for name in (*lengths, "min_size", "max_size"):
        value = options.segment.get(name)
        each = value if isinstance(value, tuple) else (value,)
        if "T" in axes and any(isinstance(one, str) for one in each):
            message = (
                f"{name} must be in pixels where --no-stacked reads times as depth; got {value!r}. "
                "Pass pixels, or leave --no-stacked out."
            )
            raise ValueError(message)
