"""Formulas of moments and of the inertia tensor."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .property import (
    AREA,
    BOTH,
    DEEP,
    FLAT,
    GRAY,
    LENGTH,
    MOMENTS,
    OURS,
    POWERS,
    RADIAN,
    SHAPE,
    VALUE_POWERS,
    Property,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .measurement import Measurement


# ---- Formulas of second moments, from exact sums: scikit-image's definitions, with `spacing`


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
    """Inertia tensor of an object of mass 1, (N, rank, rank)."""
    tensor = -covariance(found)
    squares = -np.einsum("nii->ni", tensor)
    diagonal = np.arange(tensor.shape[1])
    tensor[:, diagonal, diagonal] = squares.sum(axis=1)[:, None] - squares
    return tensor


def inertia_tensor_eigvals(found: Measurement) -> HostArray:
    """Eigenvalues of the inertia tensor, greatest first, none below 0."""
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
    """Angle from the first axis to the major axis; +-pi/4 if the tensor's diagonal is constant."""
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
    """Middle axis divided by the longest axis of the ellipsoid of equal second moments."""
    lengths = axes(found)
    return _ratio(lengths[:, 1], lengths[:, 0], 1.0)


def flatness(found: Measurement) -> HostArray:
    """Shortest axis divided by the middle axis of the ellipsoid of equal second moments."""
    lengths = axes(found)
    return _ratio(lengths[:, 2], lengths[:, 1], 1.0)


def _ratio(part: HostArray, whole: HostArray, empty: float) -> HostArray:
    """Divide; `empty` is the result of 0 / 0."""
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), empty), where=whole > 0))


INERTIA_ROWS = (
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


# ---- Formulas of moments up to third order, in float64: scikit-image's definitions, with `spacing`
# They are summed over runs in an order that depends only on the shape of the image.


def normalized(central: HostArray, spacing: HostArray, unit: float) -> HostArray:
    """Divide central moments, (N, 4, 4[, 4]), by powers of the zeroth; NaN below second order.

    `central` includes the spacing; `unit` is a length that is divided out once for each order.
    """
    rank = len(spacing)
    found: HostArray = np.full(central.shape, np.nan)
    whole = central.reshape(-1, 4**rank)[:, 0]
    for powers in product(range(4), repeat=rank):
        order = sum(powers)
        if order >= 2:
            at: Any = (slice(None), *powers)
            found[at] = central[at] / np.float64(unit) ** order / whole ** (order / rank + 1)
    return found


def hu(central: HostArray, spacing: HostArray) -> HostArray:
    """Hu's invariants (1962) from the central moments of 2D objects, (N, 7).

    Where spacings differ, the unit of length is the square root of the area of a pixel, so that
    the invariants are those of the object and not of the grid.
    """
    nu = normalized(central, spacing, float(np.sqrt(spacing.prod())))
    plus, minus, cross = nu[:, 2, 0] + nu[:, 0, 2], nu[:, 2, 0] - nu[:, 0, 2], nu[:, 1, 1]
    p, q = nu[:, 3, 0] + nu[:, 1, 2], nu[:, 2, 1] + nu[:, 0, 3]
    r, s = nu[:, 3, 0] - 3 * nu[:, 1, 2], 3 * nu[:, 2, 1] - nu[:, 0, 3]
    u, v = p * (p**2 - 3 * q**2), q * (3 * p**2 - q**2)
    invariants = [
        plus,
        minus**2 + 4 * cross**2,
        r**2 + s**2,
        p**2 + q**2,
        r * u + s * v,
        minus * (p**2 - q**2) + 4 * cross * p * q,
        s * u - r * v,
    ]
    return np.stack(invariants, axis=1)


def raw(found: Measurement) -> HostArray:
    """Moments around the corner of the bounding box, (N, 4, 4[, 4])."""
    return found.scaled(found.counts.moments["raw"])


def central(found: Measurement) -> HostArray:
    """Moments around the centroid, (N, 4, 4[, 4])."""
    return found.scaled(found.counts.moments["central"])


def central_normalized(found: Measurement) -> HostArray:
    """Central moments, normalized so that they do not depend on the size of the object."""
    return normalized(central(found), found.spacing, float(found.spacing.min()))


def hu_invariants(found: Measurement) -> HostArray:
    """Hu's seven invariants."""
    return hu(central(found), found.spacing)


def weighted_local(found: Measurement) -> HostArray:
    """Mean coordinate weighted by values, relative to the corner of the bounding box."""
    return found.channels(_weighted_local(found))


def weighted_centroid(found: Measurement) -> HostArray:
    """Mean coordinate weighted by values."""
    corner = found.first * found.spacing
    center = _weighted_local(found) + corner[..., None]
    if found.counts.periodic:
        center = found.inside(center / found.spacing[:, None]) * found.spacing[:, None]
    return found.channels(center)


def weighted(found: Measurement) -> HostArray:
    """Moments of values around the corner of the bounding box, (N, 4, 4[, 4])."""
    return found.channels(found.scaled(found.counts.moments["weighted"]))


def weighted_central(found: Measurement) -> HostArray:
    """Moments of values around their centroid, (N, 4, 4[, 4])."""
    return found.channels(_weighted_central(found))


def weighted_normalized(found: Measurement) -> HostArray:
    """Weighted central moments, normalized so that they do not depend on the size of the object."""
    unit = float(found.spacing.min())
    return _each_channel(found, lambda moments: normalized(moments, found.spacing, unit))


def weighted_hu(found: Measurement) -> HostArray:
    """Hu's seven invariants of the values."""
    return _each_channel(found, lambda moments: hu(moments, found.spacing))


def weighted_means(moments: HostArray, rank: int) -> NDArray[np.float64]:
    """Return mean coordinates weighted by values, (N, rank, C), from weighted moments."""
    flat = moments.reshape(len(moments), 4**rank, moments.shape[-1])
    with np.errstate(all="ignore"):
        parts = [flat[:, 4 ** (rank - 1 - axis)] / flat[:, 0] for axis in range(rank)]
    return np.stack(parts, axis=1)


def _weighted_local(found: Measurement) -> HostArray:
    return weighted_means(found.scaled(found.counts.moments["weighted"]), found.rank)


def _weighted_central(found: Measurement) -> HostArray:
    return found.scaled(found.counts.moments["weighted_central"])


def _each_channel(found: Measurement, derive: Callable[[HostArray], HostArray]) -> HostArray:
    """Derive a column from the weighted central moments of each channel."""
    moments = _weighted_central(found)
    parts = [derive(moments[..., channel]) for channel in range(moments.shape[-1])]
    if not parts:
        return np.zeros((*derive(np.zeros(moments.shape[:-1])).shape, 0))
    return found.channels(np.stack(parts, axis=-1))


ROWS = (
    Property(
        "moments",
        "Sums of powers of coordinates in the bounding box.",
        MOMENTS,
        ranks=BOTH,
        unit=POWERS,
        needs=("box", "raw"),
        formula=raw,
    ),
    Property(
        "moments_central",
        "Sums of powers of distances from the centroid.",
        MOMENTS,
        ranks=BOTH,
        unit=POWERS,
        needs=("box", "sums", "central"),
        formula=central,
    ),
    Property(
        "moments_normalized",
        "Central moments, normalized: the size of the object does not matter.",
        MOMENTS,
        ranks=BOTH,
        needs=("box", "sums", "central"),
        formula=central_normalized,
    ),
    Property(
        "moments_hu",
        "Hu's seven invariants to shifts, scale and rotation.",
        MOMENTS,
        ranks=FLAT,
        needs=("box", "sums", "central"),
        formula=hu_invariants,
    ),
    Property(
        "centroid_weighted",
        "Mean coordinate weighted by values.",
        GRAY,
        ranks=BOTH,
        intensity=True,
        unit=LENGTH,
        needs=("box", "weighted"),
        formula=weighted_centroid,
    ),
    Property(
        "centroid_weighted_local",
        "Mean coordinate weighted by values, relative to the corner of the bounding box.",
        GRAY,
        ranks=BOTH,
        intensity=True,
        unit=LENGTH,
        needs=("box", "weighted"),
        formula=weighted_local,
    ),
    Property(
        "moments_weighted",
        "Sums of values times powers of coordinates in the bounding box.",
        GRAY,
        ranks=BOTH,
        intensity=True,
        unit=VALUE_POWERS,
        needs=("box", "weighted"),
        formula=weighted,
    ),
    Property(
        "moments_weighted_central",
        "Sums of values times powers of distances from the weighted centroid.",
        GRAY,
        ranks=BOTH,
        intensity=True,
        unit=VALUE_POWERS,
        needs=("box", "weighted", "weighted_central"),
        formula=weighted_central,
    ),
    Property(
        "moments_weighted_normalized",
        "Weighted central moments, normalized: the size of the object does not matter.",
        GRAY,
        ranks=BOTH,
        intensity=True,
        needs=("box", "weighted", "weighted_central"),
        formula=weighted_normalized,
    ),
    Property(
        "moments_weighted_hu",
        "Hu's seven invariants of the values.",
        GRAY,
        ranks=FLAT,
        intensity=True,
        needs=("box", "weighted", "weighted_central"),
        formula=weighted_hu,
    ),
)
