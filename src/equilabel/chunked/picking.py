"""Selection of the axes of an image that are segmented, from an OME-Zarr or from arguments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.arguments import check_flag, check_text, shown
from equilabel.segmentation.checks import check_channel
from equilabel.storage.ome_zarr import ZarrImage, find_image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .sources import Source


class Picked(NamedTuple):
    """Axes that are segmented."""

    picks: tuple[int | None, ...]  # index taken along each axis of the image; None: the whole axis
    channel_axis: int | None
    stacked: bool  # whether the first remaining axis counts independent images
    spacing: Any  # along spatial axes; None if unknown
    unit: str | None
    axes: str = ""  # one letter for each remaining axis; empty if unknown
    ome: ZarrImage | None = None  # description of the image

    @property
    def rank(self) -> int:
        """Number of spatial axes."""
        return sum(pick is None for pick in self.picks) - self.stacked


def pick_axes(
    image: Any,
    base: Source,
    stacked: bool | None,
    channel_axis: int | None,
    channel: int | None,
    spacing: float | Sequence[float] | None,
    unit: str | None,
    axes: str | None = None,
) -> Picked:
    """Return the axes that are segmented; arguments and errors as for `segment_chunked`."""
    rank, told = len(base.shape), axes is not None
    unit = None if unit is None else check_text("unit", unit)
    described = _describe(image, rank)
    if axes is not None:
        described = replace(described or ZarrImage(Path()), axes=_check_axes(axes, rank))
    axes = described.axes if described is not None else ""
    if channel_axis is None and "C" in axes:
        channel_axis = axes.index("C")
    picks: list[int | None] = [None] * rank
    for axis, letter in enumerate(axes):
        if letter not in "YX" and base.shape[axis] == 1 and not told:
            picks[axis] = 0
    place = check_channel(base.shape, channel_axis, channel)
    if place is not None and channel_axis is not None:
        channel_axis %= rank
        picks[channel_axis] = place
        if axes and base.shape[channel_axis] == 1:
            channel_axis = None
    letters = "".join(axes[axis] for axis, pick in enumerate(picks) if pick is None and axes)
    first = letters.startswith("T") if stacked is None else check_flag("stacked", stacked)
    if described is not None and spacing is None and described.spacing:
        known = described.spacing
        spacing = tuple(known.get(letter, 1.0) for letter in letters[first:])
        unit = unit or described.unit
    return Picked(tuple(picks), channel_axis, first, spacing, unit or None, letters, described)


def _describe(image: Any, rank: int) -> ZarrImage | None:
    """Return the description of an OME-Zarr; None for other images."""
    if not isinstance(image, (str, Path)) or not Path(image).is_dir():
        return None
    described = find_image(image)
    return described if len(described.axes) == rank else None


def _check_axes(axes: Any, rank: int) -> str:
    """Return the axes of the caller; raise TypeError or ValueError unless they match the image."""
    if not isinstance(axes, str):
        message = f"axes must be letters such as 'TZYX'; got {type(axes).__name__}."
        raise TypeError(message)
    order = [letter for letter in axes if letter != "C"]
    if (
        len(axes) != rank
        or axes.count("C") > 1
        or order != [letter for letter in "TZYX" if letter in axes]
        or not axes.replace("C", "").endswith("YX")
    ):
        message = (
            f"axes must have a letter of T, Z, Y, X, in this order, and of C for each of {rank} "
            f"axes, with Y and X; got {shown(axes)}. Leave it out, or transpose the image."
        )
        raise ValueError(message)
    return str(axes)
