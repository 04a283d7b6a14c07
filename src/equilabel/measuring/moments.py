"""Formulas of moments and of the inertia tensor."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .counts import Formula, Step
from .measurement import (
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
    parts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

    from .counts import Layout
    from .measurement import Measurement, Parts


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
    return np.asarray(np.sqrt(1 - _ratio(values[:, 1], values[:, 0])))


def aspect_ratio(found: Measurement) -> HostArray:
    """Longest by shortest axis of the ellipse (ellipsoid); 1 for a point, infinite for a line."""
    lengths = axes(found)
    long, short = lengths[:, 0], np.where(lengths[:, -1] > THIN * lengths[:, 0], lengths[:, -1], 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(long > 0, long / short, 1.0)


def roundness(found: Measurement) -> HostArray:
    """Area divided by that of the disk whose diameter is the longest axis; infinite for a point."""
    area = found.pixels * found.spacing.prod()
    with np.errstate(divide="ignore"):
        return np.asarray(4 * area / (np.pi * axes(found)[:, 0] ** 2))


def orientation(found: Measurement) -> HostArray:
    """Angle from the first axis to the major axis; +-pi/4 if the tensor's diagonal is constant."""
    tensor = inertia_tensor(found)
    a, b, c = tensor[:, 0, 0], tensor[:, 0, 1], tensor[:, 1, 1]
    level = np.where(b < 0, np.pi / 4, -np.pi / 4)
    return np.where(a == c, level, 0.5 * np.arctan2(-2 * b, c - a))


THIN = 1e-6  # as in columns.cuh


def axes_ratio(found: Measurement, shorter: int) -> HostArray:
    """Axis `shorter` divided by the next longer one, longest first; 1 if both are 0.

    An axis of 0 is the root of what rounding left of it: it is less than `THIN` of the longest.
    """
    lengths = axes(found)
    part, whole = lengths[:, shorter], lengths[:, shorter - 1]
    return _ratio(part, np.where(whole > THIN * lengths[:, 0], whole, 0))


def _ratio(part: HostArray, whole: HostArray) -> HostArray:
    """Divide; 0 / 0 gives 1."""
    return np.asarray(np.divide(part, whole, out=np.ones(len(whole)), where=whole > 0))


def _tensor_steps(layout: Layout, _: tuple[float, ...]) -> Parts | None:
    """Return a step for each entry; a kernel has room for those of two or three axes."""
    if layout.rank not in BOTH:
        return None
    return {(i, j): Step(Formula.TENSOR, i, j) for i, j in np.ndindex(layout.rank, layout.rank)}


def _eigenvalue_steps(layout: Layout, _: tuple[float, ...]) -> Parts | None:
    if layout.rank not in BOTH:
        return None
    return parts(Step(Formula.EIGENVALUE, k) for k in range(layout.rank))


_inertia = partial(Property, needs=("box", "sums", "seconds"))

INERTIA_ROWS = (
    _inertia(
        "inertia_tensor",
        "Inertia tensor of the object, for rotation about its centroid.",
        MOMENTS,
        unit=AREA,
        formula=inertia_tensor,
        step=_tensor_steps,
    ),
    _inertia(
        "inertia_tensor_eigvals",
        "Eigenvalues of the inertia tensor, in descending order.",
        MOMENTS,
        unit=AREA,
        formula=inertia_tensor_eigvals,
        step=_eigenvalue_steps,
    ),
    _inertia(
        "axis_major_length",
        "Longest axis of the ellipse (ellipsoid) with the same second moments.",
        SHAPE,
        ranks=BOTH,
        unit=LENGTH,
        formula=lambda m: np.asarray(axes(m)[:, 0]),
        step=Step(Formula.AXIS, 0),
    ),
    _inertia(
        "axis_minor_length",
        "Shortest axis of the ellipse (ellipsoid) with the same second moments.",
        SHAPE,
        ranks=BOTH,
        unit=LENGTH,
        formula=lambda m: np.asarray(axes(m)[:, -1]),
        step=lambda layout, _: Step(Formula.AXIS, layout.rank - 1),
    ),
    _inertia(
        "eccentricity",
        "Eccentricity of the ellipse with the same second moments: 0 is a circle, 1 a line.",
        SHAPE,
        ranks=FLAT,
        formula=eccentricity,
        step=Step(Formula.ECCENTRICITY),
    ),
    _inertia(
        "aspect_ratio",
        "Longest by shortest axis of the ellipse (ellipsoid) with the same second moments.",
        SHAPE,
        ranks=BOTH,
        source=OURS,
        formula=aspect_ratio,
        step=None,
    ),
    _inertia(
        "roundness",
        "4 area / (pi axis_major_length ** 2): 1 for a disk, less for longer shapes (ImageJ).",
        SHAPE,
        ranks=FLAT,
        source=OURS,
        formula=roundness,
        step=None,
    ),
    _inertia(
        "zingg_elongation",
        "Middle by longest axis of the ellipsoid of the same second moments (Zingg 1935).",
        SHAPE,
        ranks=DEEP,
        source=OURS,
        formula=lambda m: axes_ratio(m, 1),
        step=Step(Formula.AXES_RATIO, 1, 0),
    ),
    _inertia(
        "zingg_flatness",
        "Shortest by middle axis of the ellipsoid of the same second moments (Zingg 1935).",
        SHAPE,
        ranks=DEEP,
        source=OURS,
        formula=lambda m: axes_ratio(m, 2),
        step=Step(Formula.AXES_RATIO, 2, 1),
    ),
    _inertia(
        "orientation",
        "Angle between the first axis and the major axis, -pi/2 to pi/2.",
        SHAPE,
        ranks=FLAT,
        unit=RADIAN,
        formula=orientation,
        step=Step(Formula.ORIENTATION),
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


def weighted_means(moments: HostArray, rank: int) -> NDArray[np.float64]:
    """Return mean coordinates weighted by values, (N, rank, C), from weighted moments."""
    flat = moments.reshape(len(moments), 4**rank, moments.shape[-1])
    with np.errstate(all="ignore"):
        parts = [flat[:, 4 ** (rank - 1 - axis)] / flat[:, 0] for axis in range(rank)]
    return np.stack(parts, axis=1)


def weighted_centroid(found: Measurement) -> HostArray:
    """Mean coordinate weighted by values."""
    corner = found.first * found.spacing
    center = _weighted_local(found) + corner[..., None]
    if found.counts.periodic:
        center = found.inside(center / found.spacing[:, None]) * found.spacing[:, None]
    return found.channels(center)


def _weighted_local(found: Measurement) -> HostArray:
    return weighted_means(_scaled(found, "weighted"), found.rank)


def _scaled(found: Measurement, kind: str) -> HostArray:
    return found.scaled(found.counts.moments[kind])


def _normalized(found: Measurement, moments: HostArray) -> HostArray:
    return normalized(moments, found.spacing, float(found.spacing.min()))


def _each_channel(found: Measurement, derive: Callable[[HostArray], HostArray]) -> HostArray:
    """Derive a column from the weighted central moments of each channel."""
    moments = _scaled(found, "weighted_central")
    parts = [derive(moments[..., channel]) for channel in range(moments.shape[-1])]
    if not parts:
        return np.zeros((*derive(np.zeros(moments.shape[:-1])).shape, 0))
    return found.channels(np.stack(parts, axis=-1))


_moments = partial(Property, group=MOMENTS, needs=("box", "sums", "central"), step=None)
_weighted = partial(
    _moments, group=GRAY, ranks=BOTH, intensity=True, needs=("box", "weighted", "weighted_central")
)

ROWS = (
    _moments(
        "moments",
        "Sums of powers of coordinates in the bounding box.",
        ranks=BOTH,
        unit=POWERS,
        needs=("box", "raw"),
        formula=lambda m: _scaled(m, "raw"),
    ),
    _moments(
        "moments_central",
        "Sums of powers of distances from the centroid.",
        ranks=BOTH,
        unit=POWERS,
        formula=lambda m: _scaled(m, "central"),
    ),
    _moments(
        "moments_normalized",
        "Central moments, normalized: the size of the object does not matter.",
        ranks=BOTH,
        formula=lambda m: _normalized(m, _scaled(m, "central")),
    ),
    _moments(
        "moments_hu",
        "Hu's seven invariants to shifts, scale and rotation.",
        ranks=FLAT,
        formula=lambda m: hu(_scaled(m, "central"), m.spacing),
    ),
    _weighted(
        "centroid_weighted",
        "Mean coordinate weighted by values.",
        unit=LENGTH,
        needs=("box", "weighted"),
        formula=weighted_centroid,
    ),
    _weighted(
        "centroid_weighted_local",
        "Mean coordinate weighted by values, relative to the corner of the bounding box.",
        unit=LENGTH,
        needs=("box", "weighted"),
        formula=lambda m: m.channels(_weighted_local(m)),
    ),
    _weighted(
        "moments_weighted",
        "Sums of values times powers of coordinates in the bounding box.",
        unit=VALUE_POWERS,
        needs=("box", "weighted"),
        formula=lambda m: m.channels(_scaled(m, "weighted")),
    ),
    _weighted(
        "moments_weighted_central",
        "Sums of values times powers of distances from the weighted centroid.",
        unit=VALUE_POWERS,
        formula=lambda m: m.channels(_scaled(m, "weighted_central")),
    ),
    _weighted(
        "moments_weighted_normalized",
        "Weighted central moments, normalized: the size of the object does not matter.",
        formula=lambda m: _each_channel(m, lambda moments: _normalized(m, moments)),
    ),
    _weighted(
        "moments_weighted_hu",
        "Hu's seven invariants of the values.",
        ranks=FLAT,
        formula=lambda m: _each_channel(m, lambda moments: hu(moments, m.spacing)),
    ),
)
