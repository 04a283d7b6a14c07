"""A layer as an image or labels: the roles of its axes, pixel size and pixels."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from equilabel.array_types import Array, HostArray
from equilabel.colors import gray
from equilabel.devices import threads
from equilabel.forecast import of_pixels
from equilabel.storage import memory
from equilabel.storage.memory import slabs
from equilabel.storage.metadata import doubt, letter_of
from equilabel.widget import Layer

# ---- Roles of axes


Role = Literal["space", "time", "channel"]
ROLES: tuple[Role, ...] = ("space", "time", "channel")

# Names that storage does not know. Images at several positions are independent, like frames.
OTHERS: dict[str, Role] = {"p": "time", "position": "time", "scene": "time", "s": "channel"}
LETTERS: dict[str, Role] = {"T": "time", "C": "channel", **dict.fromkeys("ZYX", "space")}
FEW = 4  # longest axis, before the last two, that is assumed to count channels
GUESSED = {
    "space": ("planes read as depth", "time if they are times"),
    "time": ("images read as times", "space if they are planes in depth"),
    "channel": ("images read as channels", "space or time if they are not"),
}


def guess_roles(
    shape: Sequence[int], names: Sequence[str] = (), few: int = FEW
) -> tuple[Role, ...]:
    """Guess roles from names, or lengths: space, before it up to `few` channels, depth, time."""
    roles = _known_roles(shape, names)
    for axis in reversed(range(len(shape))):
        if roles[axis] is not None:
            continue
        if axis >= len(shape) - 2:
            roles[axis] = "space"
        elif "channel" not in roles and 2 <= shape[axis] <= few:
            roles[axis] = "channel"
        else:
            roles[axis] = "space" if roles.count("space") < 3 else "time"
    return tuple(role or "space" for role in roles)


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
    if "space" in roles and roles.count("channel") < 2:
        return ""
    got = ", ".join(roles)
    return (
        f"axes must include at least one of space and at most one of channels; got {got}. "
        "Change them under Axes."
    )


# ---- Layers


NOTHING: Mapping[str, Any] = {}  # arguments of a run that only labels


@dataclass(frozen=True, eq=False)
class Source:
    """A layer as input of a run: pixels of its finest level, its axes, its transform, its file."""

    name: str
    data: Array
    rgb: bool
    transform: dict[str, Any]
    roles: tuple[Role, ...] = ()
    path: str = ""
    multiscale: bool = False
    identity: str = ""  # of the layer, whose name and data may change
    is_mask: bool = False  # whether pixels are labels, of which all but 0 are foreground

    @classmethod
    def of(cls, layer: Layer, roles: Sequence[Role] = (), few: int = FEW) -> Self:
        """Return the source of a napari layer, without reading pixels; roles may be guessed."""
        names = ("scale", "translate", "rotate", "shear", "units", "axis_labels")
        transform = {name: getattr(layer, name) for name in names}
        source = cls(
            name=layer.name,
            data=layer.data[0] if layer.multiscale else layer.data,
            rgb=bool(getattr(layer, "rgb", False)),
            transform={**transform, "affine": layer.affine.affine_matrix.copy()},
            path=str(getattr(layer.source, "path", None) or ""),
            multiscale=bool(layer.multiscale),
            identity=str(layer.unique_id),
        )
        return replace(source, roles=tuple(roles or guess_roles(source.shape, source._names, few)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis, without the samples of an RGB image."""
        shape = tuple(int(length) for length in self.data.shape)
        return shape[:-1] if self.rgb else shape

    @property
    def lazy(self) -> bool:
        """Whether pixels are not in memory, and must be read or computed."""
        return not isinstance(self.data, np.ndarray) or isinstance(self.data, np.memmap)

    @cached_property
    def pixels(self) -> HostArray:
        """All pixels; those of a lazy layer are read once, so it has to be small."""
        return self.read_part((...,)) if self.lazy else self.data

    @property
    def problem(self) -> str:
        """Why the layer cannot be segmented or measured, with a remedy; "" if it can."""
        if 0 not in self.shape:
            return check_roles(self.roles)
        return (
            f"layers must have at least one pixel; got shape {self.shape} for {self.name!r}. "
            "Open another layer."
        )

    def has_axes_of(self, other: Self) -> bool:
        """Return whether axes have the same lengths and names as those of another source."""
        return self.shape == other.shape and self._names == other._names

    def explain_guess(self) -> str:
        """Say which roles are assumed for axes of unknown names, and how to change them, or ""."""
        known = _known_roles(self.shape, self._names)
        return " ".join(
            "{} {}: under Axes, set their axis to {}.".format(length, *GUESSED[role])
            for length, role, name in zip(self.shape[:-2], self.roles, known, strict=False)
            if name is None and length > 1
        )

    @property
    def _names(self) -> list[str]:
        """The names of the axes; "time" for those whose unit is one of time."""
        kinds = (str(getattr(unit, "dimensionality", "")) for unit in self.transform["units"])
        names = zip(self.transform["axis_labels"], kinds, strict=True)
        return ["time" if "[time]" in kind else name for name, kind in names]

    @property
    def pixel_size(self) -> tuple[tuple[float, ...], str]:
        """Distance of pixels along each axis of space, and unit of the last; "" for pixels."""
        axes = self.space
        distances = [abs(float(self.transform["scale"][axis])) for axis in axes]
        units = [self.transform["units"][axis] for axis in axes]
        try:
            factors = [float((1 * each).to(units[-1]).magnitude) for each in units]
        except Exception:  # pint, a dependency of napari, has its own errors
            return tuple(distances), ""
        distances = [float(np.round(a * b, 12)) for a, b in zip(distances, factors, strict=True)]
        word = f"{units[-1]:~P}".replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")
        return tuple(distances), "" if word in ("pixel", "px", "") else word

    def doubt_pixel_size(self) -> str:
        """Return a warning if pixels are implausibly large or small; else ""."""
        distances, unit = self.pixel_size
        names = name_axes(self.roles, self.transform.get("axis_labels", ()))
        along = [names[axis] for axis in self.space]
        doubtful = doubt(dict(zip(along, distances, strict=True)), unit)
        return doubtful and f"{doubtful}: set scale and units of the layer if that is wrong."

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

    def holds(self, other: Self) -> bool:
        """Return whether labels lie on the pixels of this source, with or without its channels."""
        shape = list(self.shape)
        if self.channel is not None and len(other.shape) < len(shape):
            del shape[self.channel]
        return other.shape == tuple(shape)

    def arrange_labels(self, labels: HostArray) -> HostArray:
        """Return labels on the pixels of this source as `arrange` does, without channels."""
        if self.channel is None:
            return self.arrange(labels)
        if labels.ndim < len(self.shape):
            labels = np.expand_dims(labels, self.channel)
        return self.arrange(labels)[..., 0]

    def restore(self, labels: HostArray) -> HostArray:
        """Return arranged labels with the axes of the layer; no channels if they come first."""
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

    def read(
        self, color: str = "gray", report: Callable[[str], None] = lambda _: None
    ) -> HostArray:
        """Read all pixels in pieces, colors as gray; `report` is called before each piece."""
        check_memory(self)
        pixels = self.data
        if self.lazy:
            pixels = np.empty(self.data.shape, self.data.dtype)
            parts = list(slabs(pixels.shape, pixels.itemsize))
            for number, part in enumerate(parts):
                report("read")
                with threads.portion(number / len(parts), (number + 1) / len(parts)):
                    pixels[part] = self.read_part(part)
        return np.asarray(self.as_gray(pixels, color))

    def as_gray(self, pixels: Any, color: str) -> Any:
        """Return gray values of pixels: of colors, or 0 and 1 of a mask."""
        if self.is_mask:
            return (pixels != 0).astype(np.uint8)
        return gray(pixels, color) if self.rgb else pixels

    def read_part(self, index: tuple[Any, ...]) -> HostArray:
        """Read some of the pixels; raise OSError with a remedy for any error of their array."""
        try:
            with _followed(self.data):
                return np.asarray(self.data[index])
        except (MemoryError, CancelledError):
            raise
        except Exception as error:  # of Dask, a file format or a network
            got = " ".join(str(error).split()) or type(error).__name__
            message = (
                f"pixels of {self.name!r} must be readable; got: {got.rstrip('.')}. "
                "Check that its file is there and whole, and open it again."
            )
            raise OSError(message) from error


def _followed(data: Array) -> Any:
    """Return a context in which parts of an array report progress, if it is a Dask array."""
    if not hasattr(data, "dask"):
        return nullcontext()
    from dask.callbacks import Callback

    return Callback(posttask=_follow)


def _follow(_key: object, _result: object, _tasks: object, state: Any, _worker: object) -> None:
    """Report how much of a Dask array is computed, after each of its tasks."""
    threads.check()
    left = sum(len(state[kind]) for kind in ("waiting", "ready", "running"))
    threads.report(len(state["finished"]) / (len(state["finished"]) + left))


def check_memory(
    source: Source, given: Mapping[str, Any] = NOTHING, available: int | None = None
) -> None:
    """Raise MemoryError if a run does not fit into memory, or into the memory that is available."""
    available = memory.free() if available is None else available
    need = forecast(source, given)
    if need > available:
        message = (
            f"image must fit into memory together with its labels, {memory.readable(need)} for "
            f"{source.name!r}; got {memory.readable(available)} free. Crop it, or open a smaller "
            "level."
        )
        raise MemoryError(message)


def forecast(source: Source, given: Mapping[str, Any] = NOTHING) -> int:
    """Return how many more bytes a run needs, including pixels that are not read yet."""
    base, each = of_pixels(given)
    return base + math.prod(source.shape) * each + source.lazy * int(source.data.nbytes)


def labels_transform(source: Source) -> dict[str, Any]:
    """Return the transform of labels: that of the image, without a first axis that labels lack."""
    transform = source.transform
    if not source.drops_channel:
        return transform
    names = ("scale", "translate", "units", "axis_labels")
    less: dict[str, Any] = {name: transform[name][1:] for name in names}
    rotate, shear = transform["rotate"], transform["shear"]
    less["rotate"] = rotate[1:, 1:] if getattr(rotate, "ndim", 0) == 2 else rotate
    less["affine"] = transform["affine"][1:, 1:]
    count = len(source.shape)
    if getattr(shear, "ndim", 0) == 1 and len(shear) == count * (count - 1) // 2:
        less["shear"] = shear[count - 1 :]  # the upper triangle, row by row
    return less
