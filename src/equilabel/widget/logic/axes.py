"""Roles of the axes of a layer, and its pixels in the order that `segment` takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.array_types import HostArray

Role = Literal["space", "time", "channel"]
ROLES: tuple[Role, ...] = ("space", "time", "channel")

_WORDS: dict[Role, set[str]] = {
    "time": {"t", "time", "times", "frame", "frames", "timepoint", "p", "position", "scene"},
    "channel": {"c", "ch", "channel", "channels", "wavelength", "lambda", "s"},
    "space": {"z", "y", "x", "depth", "height", "width", "plane", "slice", "row", "column"},
}
FEW = 4  # an axis no longer than this, before the last two, is taken for channels


def guess_roles(
    shape: Sequence[int],
    axis_labels: Sequence[str] = (),
    dimensions: Sequence[str] = (),
) -> tuple[Role, ...]:
    """Guess which axes are space, and which count time points or channels.

    Parameters
    ----------
    shape : sequence of int
        Of the layer, without the samples of an RGB image.
    axis_labels : sequence of str
        Names of the axes; unknown names are ignored.
    dimensions : sequence of str
        "time" where an axis has a unit of time.

    Returns
    -------
    tuple of {"space", "time", "channel"}
        A role for each axis. The last two are space where nothing else is known; of axes before
        them, short ones are channels, one more is depth, and the others are time.

    Examples
    --------
    >>> guess_roles((30, 512, 512), ("t", "y", "x"))
    ('time', 'space', 'space')
    >>> guess_roles((30, 512, 512)), guess_roles((3, 512, 512))
    (('space', 'space', 'space'), ('channel', 'space', 'space'))
    >>> guess_roles((10, 2, 30, 512, 512))
    ('time', 'channel', 'space', 'space', 'space')
    """
    roles: list[Role | None] = [None] * len(shape)
    for axis in range(len(shape)):
        roles[axis] = _role_of(axis_labels[axis]) if axis_labels else None
        if dimensions and dimensions[axis] == "time":
            roles[axis] = "time"
    for axis in reversed(range(len(shape))):
        if roles[axis] is not None:
            continue
        if axis >= len(shape) - 2:
            roles[axis] = "space"
        elif "channel" not in roles and 2 <= shape[axis] <= FEW:
            roles[axis] = "channel"
        elif roles.count("space") < 3:
            roles[axis] = "space"
        else:
            roles[axis] = "time"
    return tuple(role or "space" for role in roles)


def explain_guess(
    shape: Sequence[int],
    roles: Sequence[Role],
    axis_labels: Sequence[str] = (),
    dimensions: Sequence[str] = (),
) -> str:
    """Say as what axes without a known name are read, and how to change it; "" if all are known.

    Parameters
    ----------
    shape, axis_labels, dimensions
        As for `guess_roles`.
    roles : sequence of {"space", "time", "channel"}
        Roles that the axes have now.

    Examples
    --------
    >>> explain_guess((48, 512, 512), ("space", "space", "space"))
    '48 planes read as depth: under Axes, set their axis to time if they are times.'
    >>> explain_guess((48, 512, 512), ("space", "space", "space"), ("z", "y", "x"))
    ''
    """
    words = {
        "space": ("planes read as depth", "time if they are times"),
        "time": ("images read as times", "space if they are planes in depth"),
        "channel": ("images read as channels", "space or time if they are not"),
    }
    said = []
    for axis, length in enumerate(shape[:-2]):
        known = _role_of(axis_labels[axis]) if axis_labels else None
        if known is None and length > 1 and not (dimensions and dimensions[axis]):
            read, other = words[roles[axis]]
            said.append(f"{length} {read}: under Axes, set their axis to {other}.")
    return " ".join(said)


def name_axes(roles: Sequence[Role], axis_labels: Sequence[str] = ()) -> list[str]:
    """Name axes: as the layer does, or by their role where it only counts them.

    Examples
    --------
    >>> name_axes(("time", "space", "space", "space"), ("-4", "-3", "-2", "-1"))
    ['t', 'z', 'y', 'x']
    >>> name_axes(("space", "space"), ("row", "-1"))
    ['row', 'x']
    """
    names = []
    for axis, role in enumerate(roles):
        later = roles[axis + 1 :].count("space")
        usual = {"time": "t", "channel": "c", "space": "xyzuvw"[min(later, 5)]}[role]
        given = axis_labels[axis] if axis_labels else ""
        names.append(usual if re.fullmatch(r"-?\d*", given) else given)
    return names


def _role_of(label: str) -> Role | None:
    """Return the role that the name of an axis says, if it says one."""
    word = re.sub(r"[^a-z]", "", label.lower())
    return next((role for role in ROLES if word in _WORDS[role]), None)


def check_roles(roles: Sequence[Role]) -> str:
    """Return the error message if roles of axes do not fit together, else "".

    Examples
    --------
    >>> check_roles(("time", "channel", "space", "space"))
    ''
    >>> check_roles(("channel", "channel", "space"))
    'axes must include at most one of channels; got 2. Set the others to time or space.'
    """
    if "space" not in roles:
        return "axes must include at least one of space; got none. Set one to space."
    if roles.count("channel") > 1:
        count = roles.count("channel")
        return (
            f"axes must include at most one of channels; got {count}. "
            "Set the others to time or space."
        )
    return ""


@dataclass(frozen=True)
class Arrangement:
    """The order of axes for `segment`, and back to that of the layer.

    Attributes
    ----------
    roles : tuple of str
        Of the axes of the layer.
    shape : tuple of int
        Of the layer.
    """

    roles: tuple[Role, ...]
    shape: tuple[int, ...]

    @property
    def times(self) -> list[int]:
        """Axes of time: they count independent images."""
        return [axis for axis, role in enumerate(self.roles) if role == "time"]

    @property
    def space(self) -> list[int]:
        """Axes of space."""
        return [axis for axis, role in enumerate(self.roles) if role == "space"]

    @property
    def channel(self) -> int | None:
        """Axis of channels."""
        return self.roles.index("channel") if "channel" in self.roles else None

    @property
    def stacked(self) -> bool:
        """Whether the first axis of the arranged image is time."""
        return bool(self.times)

    @property
    def drops_channel(self) -> bool:
        """Whether labels have one axis less, so that napari shows them for every channel."""
        return self.channel == 0

    def arrange(self, pixels: HostArray) -> HostArray:
        """Bring the axes into the order time, space, channel; all of time becomes one axis.

        Examples
        --------
        >>> roles = ("channel", "time", "space", "space")
        >>> Arrangement(roles, (2, 7, 4, 5)).arrange(np.zeros((2, 7, 4, 5))).shape
        (7, 4, 5, 2)
        """
        last = [] if self.channel is None else [self.channel]
        ordered = pixels.transpose([*self.times, *self.space, *last])
        if len(self.times) > 1:
            ordered = ordered.reshape(-1, *ordered.shape[len(self.times) :])
        return ordered

    def restore(self, labels: HostArray) -> HostArray:
        """Bring labels of an arranged image back into the order of the layer.

        An axis of channels in the first place is left out; in any other place the labels repeat
        along it, in a view that cannot be written to.

        Examples
        --------
        >>> roles = ("time", "channel", "space", "space")
        >>> Arrangement(roles, (7, 2, 4, 5)).restore(np.zeros((7, 4, 5))).shape
        (7, 2, 4, 5)
        """
        axes = [*self.times, *self.space]
        labels = labels.reshape([self.shape[axis] for axis in axes])
        labels = labels.transpose(np.argsort(axes).tolist())
        if self.channel is None or self.drops_channel:
            return labels
        return np.broadcast_to(np.expand_dims(labels, self.channel), self.shape)
