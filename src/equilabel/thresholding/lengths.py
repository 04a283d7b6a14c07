"""Widths of Gaussians and other filters along the axes of an image, in pixels."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import as_host_array, is_sequence, shown
from equilabel.quantities import WIDEST, length_in_pixels, questions_asked, wide_blur

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.quantities import Lengths


def widths_in_pixels(
    sigma: Lengths,
    ndim: int,
    *,
    spacing: float | Sequence[float] | None = None,
    unit: str | None = None,
    stacked: bool = False,
    name: str = "sigma",
) -> list[float]:
    """Return the width of a filter in pixels along each axis, 0 along that of a stack.

    Parameters
    ----------
    ndim : int
        Number of axes of the image.
    sigma, spacing, unit, stacked
        As for `smooth`.
    name : str
        What to call `sigma` in an error.

    Raises
    ------
    TypeError, ValueError
        As `smooth`.
    """
    sizes = per_axis("spacing", 1.0 if spacing is None else spacing, ndim, stacked=stacked)
    if not all(0 < value < np.inf for value in sizes):
        message = (
            f"spacing must be positive and finite; got {shown(spacing)}. "
            "Leave it out where pixels have no known size."
        )
        raise ValueError(message)
    if stacked and is_sequence(sigma) and len(sigma) == ndim:  # type: ignore[arg-type]
        sigma = sigma[1:]  # type: ignore[index]
    known = None if spacing is None else sizes[stacked:]
    inner = ndim - stacked
    widths = length_in_pixels(name, sigma, inner, spacing=known, unit=unit, most=WIDEST)
    return [0.0] * stacked + list(widths)


def question(sigma: Lengths, widths: Sequence[float], shape: Sequence[int]) -> None:
    """Warn if a Gaussian is so wide that it blurs objects together, rather than noise."""
    found = wide_blur(widths, shape)
    if found is None or not questions_asked():
        return
    width, blur, side = found
    given = f"sigma={shown(sigma)}"
    if isinstance(sigma, str):
        given += f" is {width:.3g} pixels and"
    message = (
        f"{given} blurs the image over {blur} pixels, more than a tenth of its {side}. "
        "Pass a smaller sigma, such as '2px', unless this is meant."
    )
    warnings.warn(message, UserWarning, stacklevel=3)


def per_axis(
    name: str, value: object, ndim: int, *, stacked: bool, fill: float | None = None
) -> list[float]:
    """Return a number for each axis of an image, from one number or a sequence.

    Parameters
    ----------
    name : str
        What to call it in an error.
    value : float or sequence of float
    ndim : int
        Axes of the image.
    stacked : bool
        Whether the first axis counts independent images; a sequence may leave it out.
    fill : float, optional
        What the stacked axis gets, whatever was given for it. Default 1.

    Returns
    -------
    list of float
        `ndim` numbers.

    Raises
    ------
    TypeError
        If they are no numbers.
    ValueError
        If there are too few or too many.
    """
    inner = ndim - stacked
    given = as_host_array(name, value)
    if given.dtype.kind not in "buif":
        message = f"{name} must be a number, or one for each axis; got {shown(value)}."
        raise TypeError(message)
    numbers = given.astype(np.float64)
    if numbers.ndim == 0:
        numbers = np.full(inner, numbers)
    elif stacked and numbers.shape == (ndim,):
        numbers = numbers[1:]
    if numbers.shape != (inner,):
        message = (
            f"{name} must be a number, or one for each of {inner} axes; got {shown(value)}. "
            "Give one number for all axes, or as many as there are."
        )
        raise ValueError(message)
    return [1.0 if fill is None else fill] * stacked + [float(number) for number in numbers]
