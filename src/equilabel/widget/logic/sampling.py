"""A sample of a large image in blocks, which can be smoothed as the image is."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import equilabel
from equilabel.quantities import without_questions

from .lengths import widths_of
from .sources import gray

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .choices import Choices
    from .sources import Source

PLACES = 3  # blocks along each axis
SIDES = {1: 2**18, 2: 448, 3: 64}  # of a block, by the number of axes of space
SIDE = 24  # for more axes


def prepared_sample(source: Source, choices: Choices) -> HostArray:
    """Return gray values of blocks that are spread over an image, after the first steps of a run.

    Its background is subtracted, and it is smoothed. Blocks are no wider than three times their
    side, so that a very wide background is cut.

    Parameters
    ----------
    source : Source
        In memory, or its pixels are read block by block.
    choices : Choices
        Say which channel and color to take, and what comes before the threshold.

    Returns
    -------
    (N,) array
    """
    arrangement = source.arrangement(choices.roles)
    widths, radii = (
        dict(zip(arrangement.space, widths_of(source, choices, name), strict=True))
        for name in ("sigma", "background")
    )
    side = SIDES.get(len(widths), SIDE)
    parts, inner = [], []
    for axis, length in enumerate(source.shape):
        if axis == arrangement.channel:
            parts.append([slice(choices.channel, choices.channel + 1)])
            inner.append([slice(None)])
            continue
        margin = round(3 * widths.get(axis, 0.0) + min(2 * radii.get(axis, 0.0), side))
        cuts = [_cut(length, side if axis in widths else 1, margin, at) for at in range(PLACES)]
        parts.append([outer for outer, _ in cuts])
        inner.append([kept for _, kept in cuts])
    sigma, radius = (
        [along.get(axis, 0.0) for axis in range(len(source.shape))] for along in (widths, radii)
    )
    values = []
    for block, kept in zip(product(*parts), product(*inner), strict=True):
        pixels = np.asarray(source.data[block])
        pixels = gray(pixels, choices.color) if source.rgb else pixels
        if max(radius) >= 1:
            pixels = equilabel.subtract_background(pixels, radius, **choices.background_options)
        with without_questions():
            values.append(equilabel.smooth(pixels, sigma)[kept].ravel())
    return np.concatenate(values)


def _cut(length: int, side: int, margin: int, at: int) -> tuple[slice, slice]:
    """Return a block with a margin around it, and the block within that.

    Examples
    --------
    >>> _cut(1000, 100, 10, 1), _cut(50, 100, 10, 2)
    ((slice(440, 560, None), slice(10, 110, None)), (slice(0, 50, None), slice(0, 50, None)))
    """
    start = max(0, length - side) * at // (PLACES - 1)
    stop = min(length, start + side)
    first = max(0, start - margin)
    return slice(first, min(length, stop + margin)), slice(start - first, stop - first)
