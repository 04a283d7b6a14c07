"""Formulas of second moments, exact: tensors of inertia, axes, eccentricity and orientation.

All are scikit-image's definitions, with `spacing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .property import (
    AREA,
    BOTH,
    DEEP,
    FLAT,
    LENGTH,
    MOMENTS,
    OURS,
    RADIAN,
    SHAPE,
    Property,
)

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .measurement import Measurement


def covariance(found: Measurement) -> HostArray:
    """Mean product of two distances from the centroid, (N, rank, rank)."""
    rank = found.rank
    one, other = found.counts.layout.products
    means = found.seconds / found.pixels[:, None] * (found.spacing[one] * found.spacing[other])
    tensor = np.empty((len(means), rank, rank))
    tensor[:, one, other] = means
    tensor[:, other, one] = means
    return tensor


def inertia_tensor(found: Measurement) -> HostArray:
    """Covariance of coordinates, as a tensor of inertia for mass 1, (N, rank, rank)."""
    tensor = -covariance(found)
    squares = -np.einsum("nii->ni", tensor)
    diagonal = np.arange(tensor.shape[1])
    tensor[:, diagonal, diagonal] = squares.sum(axis=1)[:, None] - squares
    return tensor


def inertia_tensor_eigvals(found: Measurement) -> HostArray:
    """Eigenvalues of the tensor of inertia, greatest first, none below 0."""
    tensor = inertia_tensor(found)
    if tensor.shape[1] == 2:
        mean = (tensor[:, 0, 0] + tensor[:, 1, 1]) / 2
        apart = np.hypot((tensor[:, 0, 0] - tensor[:, 1, 1]) / 2, tensor[:, 0, 1])
        values = np.stack([mean + apart, mean - apart], axis=1)
    else:
        values = _eigenvalues(tensor)
    return np.asarray(np.clip(values, 0, None))


def axes(found: Measurement) -> HostArray:
    """Lengths of the axes of the ellipse (ellipsoid) of equal second moments, longest first."""
    if found.rank == 2:
        return np.asarray(4 * np.sqrt(inertia_tensor_eigvals(found)))
    values = _eigenvalues(covariance(found))
    return np.asarray(np.sqrt(20 * np.clip(values, 0, None)))


def _eigenvalues(tensors: HostArray) -> HostArray:
    """Return eigenvalues, greatest first; NaN where a spacing made a tensor infinite."""
    with np.errstate(all="ignore"):
        whole = np.isfinite(tensors.sum())
    if whole:
        return np.asarray(np.linalg.eigvalsh(tensors)[:, ::-1])
    finite = np.isfinite(tensors).all(axis=(1, 2))
    found = np.full(tensors.shape[:2], np.nan)
    found[finite] = np.linalg.eigvalsh(tensors[finite])[:, ::-1]
    return found


def eccentricity(found: Measurement) -> HostArray:
    """Square root of 1 - minor / major eigenvalue; 0 for a single pixel."""
    values = inertia_tensor_eigvals(found)
    return np.asarray(np.sqrt(1 - _ratio(values[:, 1], values[:, 0], 1.0)))


def orientation(found: Measurement) -> HostArray:
    """Angle from the first axis to the major axis; pi/4 up or down where none is longer."""
    tensor = inertia_tensor(found)
    a, b, c = tensor[:, 0, 0], tensor[:, 0, 1], tensor[:, 1, 1]
    level = np.where(b < 0, np.pi / 4, -np.pi / 4)
    return np.where(a == c, level, 0.5 * np.arctan2(-2 * b, c - a))


def major_axis(found: Measurement) -> HostArray:
    """Longest axis of the ellipse (ellipsoid) of equal second moments."""
    return np.asarray(axes(found)[:, 0])


def minor_axis(found: Measurement) -> HostArray:
    """Shortest axis of the ellipse (ellipsoid) of equal second moments."""
    return np.asarray(axes(found)[:, -1])


def elongation(found: Measurement) -> HostArray:
    """Middle per longest axis of the ellipsoid of equal second moments."""
    lengths = axes(found)
    return _ratio(lengths[:, 1], lengths[:, 0], 1.0)


def flatness(found: Measurement) -> HostArray:
    """Shortest per middle axis of the ellipsoid of equal second moments."""
    lengths = axes(found)
    return _ratio(lengths[:, 2], lengths[:, 1], 1.0)


def _ratio(part: HostArray, whole: HostArray, empty: float) -> HostArray:
    """Divide, with a value for 0 / 0."""
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), empty), where=whole > 0))


ROWS = (
    Property(
        "inertia_tensor",
        "Inertia tensor of the object, for rotation about its centroid.",
        MOMENTS,
        unit=AREA,
        needs=("box", "sums", "seconds"),
        formula=inertia_tensor,
    ),
    Property(
        "inertia_tensor_eigvals",
        "Eigenvalues of the inertia tensor, in descending order.",
        MOMENTS,
        unit=AREA,
        needs=("box", "sums", "seconds"),
        formula=inertia_tensor_eigvals,
    ),
    Property(
        "axis_major_length",
        "Longest axis of the ellipse (ellipsoid) with the same second moments.",
        SHAPE,
        ranks=BOTH,
        unit=LENGTH,
        needs=("box", "sums", "seconds"),
        formula=major_axis,
    ),
    Property(
        "axis_minor_length",
        "Shortest axis of the ellipse (ellipsoid) with the same second moments.",
        SHAPE,
        ranks=BOTH,
        unit=LENGTH,
        needs=("box", "sums", "seconds"),
        formula=minor_axis,
    ),
    Property(
        "eccentricity",
        "Eccentricity of the ellipse with the same second moments: 0 is a circle, 1 a line.",
        SHAPE,
        ranks=FLAT,
        needs=("box", "sums", "seconds"),
        formula=eccentricity,
    ),
    Property(
        "zingg_elongation",
        "Middle by longest axis of the ellipsoid of the same second moments (Zingg 1935).",
        SHAPE,
        ranks=DEEP,
        source=OURS,
        needs=("box", "sums", "seconds"),
        formula=elongation,
    ),
    Property(
        "zingg_flatness",
        "Shortest by middle axis of the ellipsoid of the same second moments (Zingg 1935).",
        SHAPE,
        ranks=DEEP,
        source=OURS,
        needs=("box", "sums", "seconds"),
        formula=flatness,
    ),
    Property(
        "orientation",
        "Angle between the first axis and the major axis, -pi/2 to pi/2.",
        SHAPE,
        ranks=FLAT,
        unit=RADIAN,
        needs=("box", "sums", "seconds"),
        formula=orientation,
    ),
)
