"""Which axes of an image are segmented: those of an OME-Zarr are known, others are told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from equilabel.pipeline.checks import check_channel
from equilabel.storage.ome_zarr import find_image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.storage.ome_zarr import ZarrImage

    from .sources import Source


class Picked(NamedTuple):
    """Axes that are segmented.

    Attributes
    ----------
    picks : tuple of int or None
        For each axis of the image the index that is taken; None where all are.
    channel_axis : int, or None
    stacked : bool
        Whether the first axis that is left counts independent images.
    spacing : float, sequence of float, or None
        Along spatial axes; None where it is not known.
    unit : str or None
    axes : str
        One letter for each axis that is left, of an OME-Zarr; empty otherwise.
    ome : ZarrImage, or None
    """

    picks: tuple[int | None, ...]
    channel_axis: int | None
    stacked: bool
    spacing: Any
    unit: str | None
    axes: str = ""
    ome: ZarrImage | None = None

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
) -> Picked:
    """Return which axes are segmented; arguments as for `segment_chunked`.

    Raises
    ------
    TypeError, ValueError
        If there is no such axis or channel, or one of several has to be named.
    """
    described = (
        find_image(image) if isinstance(image, (str, Path)) and Path(image).is_dir() else None
    )
    axes = described.axes if described is not None else ""
    rank = len(base.shape)
    if len(axes) != rank:
        axes, described = "", None
    if channel_axis is None and "C" in axes:
        channel_axis = axes.index("C")
    picks: list[int | None] = [None] * rank
    for axis, letter in enumerate(axes):
        if letter not in "YX" and base.shape[axis] == 1:
            picks[axis] = 0
    place = check_channel(base.shape, channel_axis, channel)
    if place is not None and channel_axis is not None:
        channel_axis %= rank
        picks[channel_axis] = place
        if axes and base.shape[channel_axis] == 1:
            channel_axis = None
    letters = "".join(axes[axis] for axis, pick in enumerate(picks) if pick is None and axes)
    first = letters.startswith("T") if stacked is None else bool(stacked)
    if described is not None and spacing is None and described.spacing:
        known = described.spacing
        spacing = tuple(known.get(letter, 1.0) for letter in letters[first:])
        unit = unit or described.unit
    return Picked(tuple(picks), channel_axis, first, spacing, unit or None, letters, described)
