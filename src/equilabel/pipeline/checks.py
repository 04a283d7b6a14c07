"""Arguments of `segment` that no other room checks: channels and sizes."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from equilabel.array_types import HostArray


def take_channel(
    image: HostArray, axis: int | None, channel: int | None
) -> tuple[HostArray, HostArray]:
    """Return the image to binarize, and the one to measure with channels last.

    Parameters
    ----------
    image : array
    axis : int, optional
        Axis of the channels, `channel_axis` of `segment`.
    channel : int, optional
        Channel to binarize.

    Raises
    ------
    TypeError, ValueError
        If there is no such axis or channel, or one of several has to be named.
    """
    check_whole("channel_axis", axis)
    check_whole("channel", channel)
    if axis is None:
        if channel is not None:
            message = (
                f"channel needs channel_axis, the axis that counts channels; got {channel!r} and "
                "channel_axis=None. Pass channel_axis, such as -1, or leave channel out."
            )
            raise ValueError(message)
        return image, image
    if not -image.ndim <= axis < image.ndim:
        message = f"channel_axis must be an axis of the image, 0 to {image.ndim - 1}; got {axis!r}."
        raise ValueError(message)
    channels = np.moveaxis(image, axis, -1)
    count = channels.shape[-1]
    if channel is None and count != 1:
        message = (
            f"channel must be one of 0 to {count - 1}, as the image has several; got None. "
            "Pass channel=0 for the first."
        )
        raise ValueError(message)
    if channel is not None and not 0 <= channel < count:
        message = f"channel must be one of 0 to {count - 1}; got {channel!r}."
        raise ValueError(message)
    return channels[..., channel or 0], channels


def check_sizes(min_size: int, max_size: int | None) -> None:
    """Raise TypeError or ValueError unless sizes are whole numbers that objects can lie between."""
    check_whole("min_size", min_size)
    check_whole("max_size", max_size)
    if min_size < 0:
        message = f"min_size must be 0 pixels or more; got {min_size!r}."
        raise ValueError(message)
    if max_size is not None and max_size < max(min_size, 1):
        message = f"max_size must be at least min_size and 1; got {max_size!r} < {min_size!r}."
        raise ValueError(message)


def check_whole(name: str, value: object) -> None:
    """Raise TypeError unless a value is a whole number or None."""
    if value is not None and not isinstance(value, Integral):
        message = f"{name} must be a whole number; got {value!r}."
        raise TypeError(message)
