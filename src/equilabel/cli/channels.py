"""Find the channel that --channel names."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.storage.axes import TiffImage

MOST = 12  # channels listed in a message


def find_channel(image: TiffImage, wanted: int | str | None) -> tuple[int | None, int | None]:
    """Return the axis of channels and the index of the channel to label.

    Both are None if the image has no axis of channels. Raises ValueError if the image has no such
    channel, or has several and `wanted` is None.
    """
    if "C" not in image.axes:
        if wanted in (None, 0) or str(wanted) in image.channels:
            return None, None
        only = "".join(f" or {name!r}" for name in image.channels)
        message = (
            f"--channel must be 0{only} for an image with one channel; got {wanted!r}. "
            "Leave it out."
        )
        raise ValueError(message)
    axis = image.axes.index("C")
    count = image.pixels.shape[axis]
    if wanted is None and count == 1:
        return axis, 0
    if isinstance(wanted, int) and 0 <= wanted < count:
        return axis, wanted
    if wanted is not None and str(wanted) in image.channels:  # "488" can be a name too
        return axis, image.channels.index(str(wanted))
    got = "none" if wanted is None else repr(wanted)
    message = (
        f"--channel must be one of {_listed(image.channels, count)} for this image; got {got}. "
        f"{_remedy(image.channels, wanted)}"
    )
    raise ValueError(message)


def _listed(names: Sequence[str], count: int) -> str:
    """List the channels of an image as a user can type them.

    >>> _listed(("DAPI", "GFP"), 2), _listed((), 3)
    ("0 'DAPI', 1 'GFP'", '0, 1, 2')
    """
    every = [f"{number} {name!r}" for number, name in enumerate(names)] or list(
        map(str, range(count))
    )
    return ", ".join(every if count <= MOST else [*every[: MOST - 1], "...", every[-1]])


def _remedy(names: Sequence[str], wanted: int | str | None) -> str:
    """Suggest the channel with the most similar name, otherwise the first one."""
    folded = {name.casefold(): name for name in reversed(names)}
    near = get_close_matches(str(wanted).casefold(), folded, n=1, cutoff=0.5)
    if wanted is not None and near:
        return f"Did you mean {folded[near[0]]!r}?"
    return "Pass --channel 0 for the first."
