"""Formulas of the values under each label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .property import BOTH, GRAY, OURS, VALUE, Property

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .measurement import Measurement


def mean(found: Measurement) -> HostArray:
    """Mean value."""
    return found.channels(found.means)


def least(found: Measurement) -> HostArray:
    """Minimum of the values."""
    return found.channels(found.values.lows.astype(np.float64))


def greatest(found: Measurement) -> HostArray:
    """Maximum of the values."""
    return found.channels(found.values.highs.astype(np.float64))


def std(found: Measurement) -> HostArray:
    """Take the standard deviation of the values."""
    return found.channels(np.sqrt(found.variances))


def total(found: Measurement) -> HostArray:
    """Sum of the values."""
    return found.channels(found.values.sums)


def median(found: Measurement) -> HostArray:
    """Median of the values."""
    return found.channels(found.medians)


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
        "Minimum of the values.",
        GRAY,
        intensity=True,
        unit=VALUE,
        needs=("values",),
        formula=least,
    ),
    Property(
        "intensity_max",
        "Maximum of the values.",
        GRAY,
        intensity=True,
        unit=VALUE,
        needs=("values",),
        formula=greatest,
    ),
    Property(
        "intensity_median",
        "Median value.",
        GRAY,
        ranks=BOTH,
        intensity=True,
        unit=VALUE,
        needs=("median",),
        formula=median,
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
