"""How gray values are spread: what the slider and the histogram show. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import equilabel

from .planes import take_plane
from .sources import gray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .choices import Choices
    from .sources import Source

BINS = 128
SAMPLE = 2**21  # pixels looked at for range and histogram
EXACT = 2**24  # pixels up to which a threshold is found in all of them


@dataclass(frozen=True, eq=False)
class Spread:
    """Range and histogram of an image, and the threshold a method finds.

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
        """Whether no threshold can part anything."""
        return not self.low < self.high


@dataclass(frozen=True)
class Found:
    """A threshold found before a run.

    Attributes
    ----------
    threshold : float or None
        None where it is local, or none was found.
    exact : bool
        Whether the run will find the same; else it comes from a sample of the image.
    problem : str
        Why there is none.
    """

    threshold: float | None
    exact: bool = True
    problem: str = ""


def spread(pixels: NDArray[Any]) -> Spread:
    """Look at some pixels: their range and histogram.

    Examples
    --------
    >>> found = spread(np.arange(256, dtype=np.uint8))
    >>> found.low, found.high, int(found.counts.sum())
    (0.0, 255.0, 256)
    """
    some = sample(pixels)
    whole = some.dtype.kind in "bui"
    values = some.astype(np.float64).ravel()
    if not whole:
        values = values[np.isfinite(values)]
    if not values.size:
        return Spread(0.0, 0.0, np.zeros(0, np.int64), whole)
    low, high = float(values.min()), float(values.max())
    if not low < high:
        return Spread(low, high, np.array([values.size]), whole)
    counts, _ = np.histogram(values, bins=BINS, range=(low, high))
    return Spread(low, high, counts.astype(np.int64), whole)


def sample(pixels: NDArray[Any], most: int = SAMPLE) -> NDArray[Any]:
    """Take every so many pixels along each axis, so that few remain.

    Examples
    --------
    >>> sample(np.zeros((4096, 4096))).shape, sample(np.zeros((10, 10))).shape
    ((1366, 1366), (10, 10))
    """
    step = 1
    while np.prod([-(-length // step) for length in pixels.shape], dtype=np.int64) > most:
        step += 1
    return pixels[(slice(None, None, step),) * pixels.ndim]


def look(
    source: Source, choices: Choices, point: Sequence[int], displayed: Sequence[int]
) -> tuple[Spread, Found]:
    """Look at a layer before a run.

    Parameters
    ----------
    source : Source
        The layer. Only the visible plane is looked at if it is not in memory.
    choices : Choices
        What was chosen.
    point : sequence of int
        Where the viewer stands along each axis.
    displayed : (int, int)
        Axes on the screen.

    Returns
    -------
    Spread, Found
        Of the channel or color that was chosen; the threshold where a method finds one.
    """
    size = int(np.prod(source.shape, dtype=np.int64))
    exact = not source.lazy and size <= EXACT
    if exact:
        pixels = source.arrangement(choices.roles).arrange(source.read(choices.color))
        if "channel" in choices.roles:
            pixels = pixels[..., choices.channel]
    elif source.lazy:
        pixels, _ = take_plane(source, choices, point, displayed)
    else:
        pixels = source.data[..., :3] if source.rgb else source.data
        if "channel" in choices.roles:
            pixels = pixels.take(choices.channel, choices.roles.index("channel"))
        if source.rgb:
            pixels = np.stack([sample(pixels[..., part]) for part in range(3)], axis=-1)
        pixels = gray(pixels, choices.color) if source.rgb else sample(pixels)
    seen = spread(pixels)
    if not isinstance(choices.threshold, str) or choices.threshold == "local":
        return seen, Found(None)
    options: dict[str, Any] = {}
    method: Any = choices.threshold
    if exact:
        arguments = choices.arguments(source)
        names = ("sigma", "spacing", "stacked")
        options = {name: arguments[name] for name in names if name in arguments}
    try:
        _, threshold = equilabel.binarize(pixels, method, return_threshold=True, **options)
    except ValueError as error:
        return seen, Found(None, exact, str(error))
    if not isinstance(threshold, float) or not np.isfinite(threshold):
        return seen, Found(None, exact)
    return seen, Found(threshold, exact)
