"""The histogram of a layer, and an estimate of the threshold that a run will find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import equilabel
from equilabel.quantities import without_questions

from .planes import prepare_plane, take_plane
from .sampling import prepared_sample
from .sources import gray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .choices import Choices
    from .sources import Source

BINS = 128
SAMPLE = 2**21  # most pixels that a histogram is computed of
EXACT = 2**24  # most pixels in all of which a threshold is found


@dataclass(frozen=True, eq=False)
class Histogram:
    """Range and histogram of the gray values of an image.

    Attributes
    ----------
    low, high : float
        Least and greatest value.
    counts : (B,) array of int
        Pixels per bin from low to high; empty where no pixel is finite.
    whole : bool
        Whether values are integers.
    """

    low: float
    high: float
    counts: NDArray[np.int64]
    whole: bool

    @property
    def flat(self) -> bool:
        """Whether all values are equal, so that no threshold separates them."""
        return not self.low < self.high


@dataclass(frozen=True)
class ThresholdEstimate:
    """The threshold that a run will find, as far as it is known before.

    Attributes
    ----------
    threshold : float or None
        None if it is local, or if there is none.
    exact : bool
        Whether the run will find the same. Otherwise it was found in a part of the image.
    problem : str
        Error message if there is none.
    """

    threshold: float | None
    exact: bool = True
    problem: str = ""


def compute_histogram(pixels: HostArray) -> Histogram:
    """Compute the range and the histogram of an image, of a sample if it is large.

    Examples
    --------
    >>> found = compute_histogram(np.arange(256, dtype=np.uint8))
    >>> found.low, found.high, int(found.counts.sum())
    (0.0, 255.0, 256)
    """
    some = sample(pixels)
    whole = some.dtype.kind in "bui"
    values = some.astype(np.float64).ravel()
    if not whole:
        values = values[np.isfinite(values)]
    if not values.size:
        return Histogram(0.0, 0.0, np.zeros(0, np.int64), whole)
    low, high = float(values.min()), float(values.max())
    if not low < high:
        return Histogram(low, high, np.array([values.size]), whole)
    counts, _ = np.histogram(values, bins=BINS, range=(low, high))
    return Histogram(low, high, counts.astype(np.int64), whole)


def sample(pixels: HostArray, most: int = SAMPLE) -> HostArray:
    """Return every n-th pixel along each axis, so that at most so many remain.

    Examples
    --------
    >>> sample(np.zeros((4096, 4096))).shape, sample(np.zeros((10, 10))).shape
    ((1366, 1366), (10, 10))
    """
    step = 1
    while np.prod([-(-length // step) for length in pixels.shape], dtype=np.int64) > most:
        step += 1
    return pixels[(slice(None, None, step),) * pixels.ndim]


def estimate_threshold(
    source: Source, choices: Choices, point: Sequence[int], displayed: Sequence[int]
) -> tuple[Histogram, ThresholdEstimate]:
    """Compute the histogram of a layer and its threshold, before a run.

    Parameters
    ----------
    source : Source
        The layer. Only the visible plane is read if it is not in memory.
    choices : Choices
        The values of the form.
    point : sequence of int
        Position of the viewer along each axis.
    displayed : (int, int)
        Axes on the screen.

    Returns
    -------
    Histogram, ThresholdEstimate
        Of the channel or color that was chosen.
    """
    size = int(np.prod(source.shape, dtype=np.int64))
    exact = not source.lazy and size <= EXACT
    shown = _take_pixels(source, choices, point, displayed, exact)
    method: Any = choices.threshold
    options = _scale(source, choices) if exact else {}
    found: Any = None
    try:
        pixels = shown
        if choices.background and exact:
            how = {**choices.background_options, **options}
            shown = pixels = equilabel.subtract_background(shown, choices.background, **how)
        elif not exact and (choices.sigma or choices.background):
            pixels = _prepare_part(source, choices, shown, displayed)
            shown = pixels if choices.background else shown
        if isinstance(choices.threshold, str) and method != "local":
            options |= {"sigma": choices.sigma} if exact else {}
            with without_questions():
                _, found = equilabel.binarize(pixels, method, return_threshold=True, **options)
    except ValueError as error:
        return compute_histogram(shown), ThresholdEstimate(None, exact, str(error))
    known = isinstance(found, float) and np.isfinite(found)
    return compute_histogram(shown), ThresholdEstimate(found if known else None, exact)


def _scale(source: Source, choices: Choices) -> dict[str, Any]:
    """Return the arguments that say what lengths are in pixels."""
    arguments = choices.arguments(source)
    return {name: arguments[name] for name in ("spacing", "unit", "stacked") if name in arguments}


def _prepare_part(
    source: Source, choices: Choices, pixels: HostArray, displayed: Sequence[int]
) -> HostArray:
    """Return prepared pixels of an image of which not all are looked at."""
    if not source.lazy:
        return prepared_sample(source, choices)
    lengths = [source.shape[axis] for axis in sorted(displayed)]
    return prepare_plane(pixels, source, choices, displayed, -(-lengths[0] // pixels.shape[0]))


def _take_pixels(
    source: Source,
    choices: Choices,
    point: Sequence[int],
    displayed: Sequence[int],
    exact: bool,
) -> HostArray:
    """Return the gray values a threshold is found in: all of them, a plane, or a sample."""
    has_channels = "channel" in choices.roles
    if exact:
        pixels = source.arrangement(choices.roles).arrange(source.read(choices.color))
        return pixels[..., choices.channel] if has_channels else pixels
    if source.lazy:
        return take_plane(source, choices, point, displayed)[0]
    pixels = source.data[..., :3] if source.rgb else source.data
    if has_channels:
        pixels = pixels.take(choices.channel, choices.roles.index("channel"))
    if not source.rgb:
        return sample(pixels)
    colors = np.stack([sample(pixels[..., part]) for part in range(3)], axis=-1)
    return np.asarray(gray(colors, choices.color))
