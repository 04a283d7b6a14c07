"""Roles of the axes of a layer, and its pixels in the order of axes for `segment`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from equilabel.array_types import HostArray
from equilabel.storage.metadata import letter_of

Role = Literal["space", "time", "channel"]
ROLES: tuple[Role, ...] = ("space", "time", "channel")

# Names that storage does not know. Images at several positions are independent, like frames.
OTHERS: dict[str, Role] = {"p": "time", "position": "time", "scene": "time", "s": "channel"}
LETTERS: dict[str, Role] = {"T": "time", "C": "channel", **dict.fromkeys("ZYX", "space")}
FEW = 4  # longest axis, before the last two, that is assumed to count channels


def guess_roles(shape: Sequence[int], names: Sequence[str] = ()) -> tuple[Role, ...]:
    """Guess roles of axes from their names and their lengths.

    Without names, the last two are space; of the axes before them, short ones are channels, one
    more is depth, and the others are time.
    """
    roles = _known_roles(shape, names)
    for axis in reversed(range(len(shape))):
        if roles[axis] is not None:
            continue
        if axis >= len(shape) - 2:
            roles[axis] = "space"
        elif "channel" not in roles and 2 <= shape[axis] <= FEW:
            roles[axis] = "channel"
        else:
            roles[axis] = "space" if roles.count("space") < 3 else "time"
    return tuple(role or "space" for role in roles)


def explain_guess(shape: Sequence[int], roles: Sequence[Role], names: Sequence[str] = ()) -> str:
    """Say which roles are assumed for axes of unknown names, and how to change them, or ""."""
    words = {
        "space": ("planes read as depth", "time if they are times"),
        "time": ("images read as times", "space if they are planes in depth"),
        "channel": ("images read as channels", "space or time if they are not"),
    }
    known = _known_roles(shape, names)
    return " ".join(
        "{} {}: under Axes, set their axis to {}.".format(length, *words[roles[axis]])
        for axis, length in enumerate(shape[:-2])
        if known[axis] is None and length > 1
    )


def _known_roles(shape: Sequence[int], names: Sequence[str]) -> list[Role | None]:
    roles = [LETTERS.get(letter_of(name), OTHERS.get(name.lower())) for name in names]
    return roles or [None] * len(shape)


def name_axes(roles: Sequence[Role], axis_labels: Sequence[str] = ()) -> list[str]:
    """Return the names of axes in the layer, or of their roles if the layer only numbers them."""
    names = []
    for axis, role in enumerate(roles):
        later = roles[axis + 1 :].count("space")
        usual = {"time": "t", "channel": "c", "space": "xyzuvw"[min(later, 5)]}[role]
        given = axis_labels[axis] if axis_labels else ""
        names.append(usual if re.fullmatch(r"-?\d*", given) else given)
    return names


def check_roles(roles: Sequence[Role]) -> str:
    """Return an error message if roles of axes cannot be combined, else ""."""
    if "space" not in roles:
        return "axes must include at least one of space; got none. Set one to space."
    if (count := roles.count("channel")) > 1:
        return (
            f"axes must include at most one of channels; got {count}. "
            "Set the others to time or space."
        )
    return ""


@dataclass(frozen=True)
class Arrangement:
    """Converts between the order of axes of a layer and that of `segment`."""

    roles: tuple[Role, ...]
    shape: tuple[int, ...]

    @property
    def times(self) -> list[int]:
        return [axis for axis, role in enumerate(self.roles) if role == "time"]

    @property
    def space(self) -> list[int]:
        return [axis for axis, role in enumerate(self.roles) if role == "space"]

    @property
    def channel(self) -> int | None:
        return self.roles.index("channel") if "channel" in self.roles else None

    @property
    def order(self) -> list[int]:
        return [*self.times, *self.space, *([] if self.channel is None else [self.channel])]

    @property
    def drops_channel(self) -> bool:
        """Whether labels have one axis less, so that napari shows them for every channel."""
        return self.channel == 0

    def arrange(self, pixels: HostArray) -> HostArray:
        """Return pixels with axes in the order time, space, channel; all of time is one axis."""
        ordered = pixels.transpose(self.order)
        if len(self.times) > 1:
            ordered = ordered.reshape(-1, *ordered.shape[len(self.times) :])
        return ordered

    def restore(self, labels: HostArray) -> HostArray:
        """Return labels of an arranged image, of any resolution, in the order of axes of the layer.

        An axis of channels is left out if it is the first; otherwise labels repeat along it, in a
        read-only view.
        """
        if len(self.times) > 1:
            times = [self.shape[axis] for axis in self.times]
            labels = labels.reshape(*times, *labels.shape[1:])
        labels = labels.transpose(np.argsort([*self.times, *self.space]).tolist())
        if self.channel is None or self.drops_channel:
            return labels
        labels = np.expand_dims(labels, self.channel)
        shape = list(labels.shape)
        shape[self.channel] = self.shape[self.channel]
        return np.broadcast_to(labels, shape)
