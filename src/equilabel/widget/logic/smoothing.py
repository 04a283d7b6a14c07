"""The width of the Gaussian of the form, in pixels and in words."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from equilabel.quantities import known_unit, length_in_pixels, wide_blur

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .choices import Choices
    from .sources import Source


def widths_of(source: Source, choices: Choices) -> tuple[float, ...]:
    """Return the width of the Gaussian along each axis of space, in pixels."""
    spacing, unit = source.spacing(choices.roles)
    return length_in_pixels("sigma", choices.sigma, len(spacing), spacing=spacing, unit=unit)


def describe_smoothing(source: Source, choices: Choices) -> str:
    """Say how many pixels the width of the Gaussian is, and question a wide one; else ""."""
    if not choices.sigma:
        return ""
    widths = widths_of(source, choices)
    said = ""
    if isinstance(choices.sigma, str):
        said = f"{choices.sigma} = {_joined(widths)} pixels. "
    shape = [source.shape[axis] for axis in source.arrangement(choices.roles).space]
    wide = wide_blur(widths, shape)
    if wide is not None:
        _, blur, side = wide
        said += (
            f"The image is blurred over {blur} pixels, more than a tenth of its {side}: "
            "objects may merge."
        )
    return said.strip()


def length_unit(unit: str) -> str:
    """Return the unit of a layer if lengths can be given in it, else "".

    Examples
    --------
    >>> length_unit("um"), length_unit("parsec"), length_unit("")
    ('µm', '', '')
    """
    try:
        return known_unit("unit", unit) or ""
    except ValueError:
        return ""


@contextmanager
def without_questions() -> Iterator[None]:
    """Leave out the warnings of `equilabel.smooth`: the form shows the question itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="sigma=", category=UserWarning)
        yield


def _joined(numbers: Sequence[float]) -> str:
    """Write numbers along axes, once if they are equal.

    Examples
    --------
    >>> _joined((0.5, 2.0, 2.0)), _joined((1.538, 1.538))
    ('0.5 x 2 x 2', '1.54')
    """
    texts = [f"{number:.3g}" for number in numbers]
    return texts[0] if len(set(texts)) == 1 else " x ".join(texts)
