"""The size of a pixel: that of the file, or the one that was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
