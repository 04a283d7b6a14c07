"""Formulas of the values under each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .property import (
    GRAY,
    OURS,
    VALUE,
    Property,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .measurement import Measurement


def mean(found: Measurement) -> NDArray[Any]:
    """Mean value."""
    return found.channels(found.means)


def least(found: Measurement) -> NDArray[Any]:
    """Least value."""
    return found.channels(found.values.lows.astype(np.float64))


def greatest(found: Measurement) -> NDArray[Any]:
    """Greatest value."""
    return found.channels(found.values.highs.astype(np.float64))


def std(found: Measurement) -> NDArray[Any]:
    """Compute the standard deviation of the values."""
    return found.channels(np.sqrt(found.variances))


def total(found: Measurement) -> NDArray[Any]:
    """Sum of the values."""
    return found.channels(found.values.sums)


ROWS = (
    Property(
        "intensity_mean",
        "Mean value.",
        GRAY,
        intensity=True,
        unit=VALUE,
        needs=("values",),
        formula=mean,
    ),
    Property(
        "intensity_min",
        "Least value.",
        GRAY,
        intensity=True,
        unit=VALUE,
        needs=("values",),
        formula=least,
    ),
    Property(
        "intensity_max",
        "Greatest value.",
        GRAY,
        intensity=True,
        unit=VALUE,
        needs=("values",),
        formula=greatest,
    ),
    Property(
        "intensity_std",
        "Standard deviation of the values.",
        GRAY,
        intensity=True,
        unit=VALUE,
        needs=("values", "deviations"),
        formula=std,
    ),
    Property(
        "intensity_sum",
        "Sum of the values.",
        GRAY,
        intensity=True,
        source=OURS,
        unit=VALUE,
        needs=("values",),
        formula=total,
    ),
)
