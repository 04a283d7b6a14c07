"""The size of a pixel: that of the file, or the one that was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .channels import find_channel

if TYPE_CHECKING:
    from equilabel.storage.tiff import TiffImage

    from .options import Options


def spacing_of(image: TiffImage, options: Options) -> tuple[dict[str, float], str]:
    """Return the pixel size by axis, and its unit: those given, or those of the file."""
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
    """What the axes of an image mean.

    Attributes
    ----------
    channel_axis, channel : int or None
        As `find_channel` returns them.
    axes : str
        The others.
    stacked : bool
        Whether the first of them counts images.
    spacing : dict
        Pixel size by axis, where it is known.
    unit : str
        Of the pixel size.
    steps : tuple of float, optional
        As `steps_of` returns them, for the axes of one image.
    """

    channel_axis: int | None
    channel: int | None
    axes: str
    stacked: bool
    spacing: dict[str, float]
    unit: str
    steps: tuple[float, ...] | None

    @property
    def measured(self) -> dict[str, float]:
        """Pixel size by axis that the table is in: empty if that of an axis is not known."""
        known = self.spacing if self.steps is not None else {}
        return {axis: known[axis] for axis in self.axes if axis in known}


def known_axes(image: TiffImage, options: Options, what: str = "an image") -> KnownAxes:
    """Return what the axes of an image mean; raise ValueError if options do not suit them."""
    channel_axis, channel = find_channel(image, options.channel)
    axes = image.axes.replace("C", "")
    spacing, unit = spacing_of(image, options)
    stacked = "T" in axes if options.stacked is None else options.stacked and len(axes) > 2
    if options.segment.get("track") and len(axes) < 3:
        message = f"--track needs {what} of several frames; got axes {axes!r}. Leave it out."
        raise ValueError(message)
    refuse_times(axes[stacked:], options)
    steps = steps_of(axes[stacked:], spacing)
    return KnownAxes(channel_axis, channel, axes, stacked, spacing, unit, steps)


def steps_of(axes: str, spacing: dict[str, float]) -> tuple[float, ...] | None:
    """Return the spacing of axes in order, 1 for time; None if one of space has none."""
    if any(axis != "T" and axis not in spacing for axis in axes):
        return None
    return tuple(spacing.get(axis, 1.0) for axis in axes)


def refuse_times(axes: str, options: Options) -> None:
    """Raise ValueError if a length or a size has a unit, and one of its axes is time.

    Parameters
    ----------
    axes : str
        Those that objects extend along.
    options : Options
        Of the run.
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
