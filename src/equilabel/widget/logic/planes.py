"""Histogram and threshold of a layer, and the plane that the preview shows."""

import math
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

import equilabel
from equilabel.array_types import HostArray
from equilabel.quantities import size_in_pixels

from .choices import Choices
from .sources import Source

BINS = 128
SAMPLE = 2**21  # most pixels of a histogram
EXACT = 2**24  # most pixels for a threshold
READ = 2**24  # most bytes of an image on disk that are read for it, and kept
SAMPLED = "The level was found in a sample of the image. A run uses all pixels."
PLACES = 3  # blocks of a sample along each axis, if pixels need their neighbors


class Histogram(NamedTuple):
    """Range of gray values, pixels per bin, if all are integers; how many are not finite."""

    low: float
    high: float
    counts: HostArray
    whole: bool
    gaps: int = 0

    def describe_gaps(self) -> str:
        """Name the pixels that are not finite; "" if there are none."""
        if not self.gaps:
            return ""
        share = 100 * self.gaps / (self.gaps + self.counts.sum())
        return f"{share:.3g} % of the pixels are NaN or infinite: they are background."

    @property
    def flat(self) -> bool:
        """Whether all values are equal, so that no threshold separates them."""
        return not self.low < self.high


UNKNOWN = Histogram(0.0, 0.0, np.zeros(0, np.int64), whole=False)

Estimate = tuple[Histogram, float | None, str]  # threshold of a run, None if local; a remark


def compute_histogram(pixels: HostArray) -> Histogram:
    """Compute the range and the histogram of an image, or of a sample if the image is large."""
    some = sample(pixels)
    whole = some.dtype.kind in "bui"
    values = some.astype(np.float64).ravel()
    if not whole:
        values = values[np.isfinite(values)]
    gaps = some.size - values.size
    if not values.size:
        return UNKNOWN._replace(whole=whole, gaps=gaps)
    low, high = float(values.min()), float(values.max())
    bins = BINS if low < high else 1
    counts = np.histogram(values, bins, range=(low, high))[0]
    return Histogram(low, high, counts.astype(np.int64), whole, gaps)


def sample(
    pixels: HostArray, most: int = SAMPLE, places: int = 0, ndim: int | None = None
) -> HostArray:
    """Return up to `most` pixels, evenly spread, or in blocks at `places` along each axis."""
    shape = pixels.shape[:ndim]
    sides = list(shape)
    while math.prod(sides) > most:
        longest = sides.index(max(sides))
        sides[longest] -= max(1, sides[longest] // 8)
    for axis, (length, side) in enumerate(zip(shape, sides, strict=True)):
        if side < length:
            count = min(places or side, side)
            starts = np.linspace(0, length - side // count, count).astype(np.int64)
            pixels = pixels.take((starts[:, None] + np.arange(side // count)).ravel(), axis)
    return pixels


def estimate_threshold(plane: "Plane") -> Estimate:
    """Compute histogram and threshold of a layer, or of its plane if it is large and on disk."""
    source, choices = plane.source, plane.choices
    filtered = bool(choices.sigma or choices.background)
    if source.lazy and source.data.nbytes > READ:
        pixels, exact, axes, stride = plane.read(), False, plane.axes, plane.stride
    else:
        pixels, axes, stride = source.pixels, list(range(len(source.shape))), 1
        if source.channel is not None:
            before = (slice(None),) * source.channel
            pixels = pixels[(*before, slice(choices.channel, choices.channel + 1))]
        some = sample(pixels, EXACT, PLACES * filtered, len(source.shape))
        exact = some.size == pixels.size
        pixels = np.asarray(source.as_gray(some, choices.color))
    shown = pixels
    found: Any = None
    method: Any = choices.threshold
    try:
        if filtered:
            pixels = choices.prepare(source, pixels, axes, stride)
            shown = pixels if choices.background else shown
        if isinstance(choices.threshold, str) and method != "local":
            _, found = equilabel.binarize(pixels, method, return_threshold=True)
    except ValueError as error:
        return compute_histogram(shown), None, str(error)
    known = isinstance(found, float) and np.isfinite(found)
    remark = SAMPLED if known and not exact else ""
    return compute_histogram(shown), found if known else None, remark


# Choices on which prepared pixels depend.
PREPARING = attrgetter("color", "channel", "sigma", "background", "background_method")
LARGEST = 2**24  # pixels of a plane; of larger ones every n-th pixel is used


class Plane(NamedTuple):
    """The displayed plane of a layer at a point, in the chosen channel or color."""

    source: Source
    choices: Choices
    point: tuple[int, ...]
    displayed: tuple[int, ...]

    @property
    def axes(self) -> list[int]:
        return sorted(self.displayed)

    @property
    def stride(self) -> int:
        """Every `stride`-th pixel is used: 1 unless the plane is very large."""
        size = math.prod(self.source.shape[axis] for axis in self.displayed)
        return math.isqrt(size // (LARGEST + 1)) + 1

    @property
    def key(self) -> tuple[object, ...]:
        """Key of its prepared pixels in a cache; a layer with new pixels has a new source."""
        hidden = tuple(at for axis, at in enumerate(self.point) if axis not in self.displayed)
        dark = self.choices.background and self.choices.dark  # else only the threshold uses it
        return self.source, hidden, self.displayed, dark, PREPARING(self.choices)

    def _index(self) -> list[Any]:
        source, choices = self.source, self.choices
        index: list[Any] = []
        for axis, length in enumerate(source.shape):
            if axis in self.displayed:
                index.append(slice(None, None, self.stride))
            elif source.roles[axis] == "channel":
                index.append(min(choices.channel, length - 1))
            else:
                index.append(int(np.clip(self.point[axis], 0, length - 1)))
        return index

    def read(self) -> HostArray:
        """Read the pixels of the plane, colors as gray values."""
        pixels = self.source.read_part(tuple(self._index()))
        return np.asarray(self.source.as_gray(pixels, self.choices.color))

    def read_labels(self, labels: Source) -> HostArray:
        """Read the same plane of markers or a mask, which may lack the channels."""
        index = self._index()
        if len(labels.shape) < len(index):
            del index[self.source.roles.index("channel")]
        return labels.read_part(tuple(index))

    def prepare(self, pixels: HostArray) -> HostArray:
        """Subtract the background and smooth as a run does, but in this plane alone."""
        return self.choices.prepare(self.source, pixels, self.axes, self.stride)

    def find_objects(
        self, pixels: HostArray, threshold: float | tuple[float, float] | None
    ) -> HostArray:
        """Label prepared pixels as a run does, in this plane alone; local without a threshold."""
        source, choices, stride = self.source, self.choices, self.stride
        if threshold is None and choices.threshold != "local":
            return np.zeros(pixels.shape, np.int32)
        spacing, unit = source.pixel_size
        along = dict(zip(source.space, spacing, strict=True))
        size: Any = 0
        if set(along) == set(self.displayed):
            size = size_in_pixels("min_size", choices.min_size, 2, spacing=spacing, unit=unit)
        same = ("dark", "fill_holes", "exclude_border", "split_by")
        options: dict[str, Any] = {
            "threshold": "per_object" if choices.threshold == "per_object" else threshold,
            "closing": choices.lengths(source, "closing", self.axes, stride),
            "opening": choices.lengths(source, "opening", self.axes, stride),
            "connectivity": choices.connectivity and min(choices.connectivity, 2),
            "min_size": math.ceil(size / stride**2),
            **{name: getattr(choices, name) for name in same},
        }
        if threshold is None:
            sides = choices.widths(source, "block_size")
            whole = (int(sides.get(axis, 1)) for axis in self.axes)
            block = tuple(max(min(3, side), side // stride | 1) for side in whole)
            options |= {"threshold": "local", "block_size": block, "offset": choices.offset}
        finest = min(spacing)
        distances = [along.get(axis, finest) for axis in self.axes]

        def shortest(name: str) -> float:
            """Return a length in pixels of the smallest spacing."""
            widths = choices.widths(source, name).values()
            return max(widths) * finest / (min(distances) * stride)

        by_shape = choices.split and choices.split_by == "shape"
        options |= {"spacing": distances, "grow": shortest("grow")}
        options["split"] = shortest("split") if by_shape else choices.split
        for name in ("markers", "mask"):
            if (layer := getattr(choices, name)) is not None and source.holds(layer):
                found = self.read_labels(layer)
                if not found.any() and name == "mask":  # other planes may have some
                    return np.zeros(pixels.shape, np.int32)
                options[name] = found
        return equilabel.segment(pixels, properties=("label",), **options).labels

    @property
    def where(self) -> str:
        """Where its objects are, after their number: "" if it is all of the image."""
        hidden = {
            role
            for axis, role in enumerate(self.source.roles)
            if axis not in self.displayed and self.source.shape[axis] > 1
        }
        return " in this plane" if "space" in hidden else " in this frame" * ("time" in hidden)

    def describe(self) -> str:
        """Say how its objects differ from those of a run; "" if they do not."""
        choices = self.choices
        alone = set(self.source.space) != set(self.displayed)
        steps = (
            *(choices.background, choices.sigma, choices.closing, choices.opening, choices.grow),
            *(choices.fill_holes, choices.exclude_border, choices.split, choices.markers),
            choices.threshold in ("local", "per_object") or isinstance(choices.threshold, tuple),
        )
        remarks = {
            f"one pixel in {self.stride} of a very large image": self.stride > 1,
            "objects of any size": alone and choices.min_size,
            "this plane alone, without its neighbors": alone and any(steps),
        }
        said = " and ".join(remark for remark, holds in remarks.items() if holds)
        return f"The preview shows {said}." if said else ""
