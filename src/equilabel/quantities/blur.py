"""Detect Gaussians that are probably wider than the user intended."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Full width at half maximum in standard deviations; above this share of the image it is wide.
FULL_WIDTH, WIDE_SHARE = 2.355, 0.1
NEVER_WIDE = 2.0  # pixels, however small the image

_enabled = ContextVar("enabled", default=True)


@contextmanager
def without_blur_warnings() -> Iterator[None]:
    """Disable warnings about wide blurs in this thread, because the caller asks the user itself.

    Filters of `warnings` would affect all threads.
    """
    token = _enabled.set(False)
    try:
        yield
    finally:
        _enabled.reset(token)


def blur_warnings_enabled() -> bool:
    """Return whether warnings about wide blurs are enabled."""
    return _enabled.get()


def wide_blur(widths: Sequence[float], shape: Sequence[int]) -> tuple[float, int, int] | None:
    """Return the first axis along which a Gaussian blurs objects together, not only noise.

    `widths` are its standard deviations along the axes of `shape`, in pixels. Returns standard
    deviation, full width at half maximum and length of that axis, if the full width is more than a
    tenth of the length; None if there is no such axis. Up to `NEVER_WIDE` pixels are never too
    wide.

    >>> wide_blur((39, 39), (512, 512)), wide_blur((2, 2), (512, 512))
    ((39, 92, 512), None)
    """
    for width, side in zip(widths, shape, strict=True):
        if width > NEVER_WIDE and side > 1 and FULL_WIDTH * width > WIDE_SHARE * side:
            return width, round(FULL_WIDTH * width), side
    return None
