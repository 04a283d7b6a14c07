"""Formulas of moments and of the inertia tensor."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from .counts import Formula, Step
from .measurement import BOTH, parts
from .sizes import area

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
    with np.errstate(divide="ignore"):
        return np.asarray(4 * area(found) / (np.pi * axes(found)[:, 0] ** 2))


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


def tensor_steps(layout: Layout, _: tuple[float, ...]) -> Parts | None:
    """Return a step for each entry; a kernel has room for those of two or three axes."""
    if layout.rank not in BOTH:
        return None
    return {(i, j): Step(Formula.TENSOR, i, j) for i, j in np.ndindex(layout.rank, layout.rank)}


def eigenvalue_steps(layout: Layout, _: tuple[float, ...]) -> Parts | None:
    """Return a step for each eigenvalue, likewise."""
    if layout.rank not in BOTH:
        return None
    return parts(Step(Formula.EIGENVALUE, k) for k in range(layout.rank))


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

    Where spacings differ, lengths are in square roots of the area of a pixel.
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
    center = weighted_local(found) + corner[..., None]
    if found.counts.periodic:
        center = found.inside(center / found.spacing[:, None]) * found.spacing[:, None]
    return found.channels(center)


def weighted_local(found: Measurement) -> HostArray:
    """Mean coordinate weighted by values, relative to the corner of the box, (N, rank, C)."""
    return weighted_means(found.moments("weighted"), found.rank)


def normalized_of(found: Measurement, central: HostArray) -> HostArray:
    """Return normalized moments from central ones that include the spacing."""
    return normalized(central, found.spacing, float(found.spacing.min()))


def each_channel(found: Measurement, derive: Callable[[HostArray], HostArray]) -> HostArray:
    """Derive a column from the weighted central moments of each channel."""
    moments = found.moments("weighted_central")
    parts = [derive(moments[..., channel]) for channel in range(moments.shape[-1])]
    if not parts:
        return np.zeros((*derive(np.zeros(moments.shape[:-1])).shape, 0))
    return found.channels(np.stack(parts, axis=-1))
