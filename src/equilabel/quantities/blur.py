"""Gaussians that are so wide that a person should be asked whether that is meant."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A blur is questioned if its full width at half maximum exceeds this share of the image.
FULL_WIDTH, WIDE_SHARE = 2.355, 0.1
NEVER_WIDE = 2.0  # pixels, however small the image

_asking = ContextVar("asking", default=True)


@contextmanager
def without_questions() -> Iterator[None]:
    """Leave out warnings of wide blurs, in this thread alone: the caller asks in its own way.

    Filters of `warnings` would be those of all threads.
    """
    token = _asking.set(False)
    try:
        yield
    finally:
        _asking.reset(token)


def questions_asked() -> bool:
    """Return whether wide blurs are warned of."""
    return _asking.get()


def wide_blur(widths: Sequence[float], shape: Sequence[int]) -> tuple[float, int, int] | None:
    """Find an axis along which a Gaussian blurs objects together, rather than noise.

    Parameters
    ----------
    widths : sequence of float
        Its standard deviation along each axis, in pixels.
    shape : sequence of int
        Of the image.

    Returns
    -------
    width, blur, side : float, int, int or None
        Standard deviation, full width at half maximum and length of the image along the first
        axis where the full width is more than a tenth of the image; None where it is not. Up to
        2 pixels are never too many.

    Examples
    --------
    >>> wide_blur((39, 39), (512, 512)), wide_blur((2, 2), (512, 512))
    ((39, 92, 512), None)
    """
    for width, side in zip(widths, shape, strict=True):
        if width > NEVER_WIDE and side > 1 and FULL_WIDTH * width > WIDE_SHARE * side:
            return width, round(FULL_WIDTH * width), side
    return None
