"""Columns of moments: those of second order exact, from whole numbers; the others in float64.

All are scikit-image's definitions, with `spacing`. Moments of third and higher order are summed
over runs in an order that depends on the shape of the image alone.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from .accumulation import Accumulation


def covariance(sums: Accumulation) -> NDArray[Any]:
    """Mean product of two distances from the centroid, (N, rank, rank)."""
    rank = len(sums.spacing)
    one, other = np.triu_indices(rank)
    means = sums.seconds / sums.pixels[:, None] * (sums.spacing[one] * sums.spacing[other])
    found = np.empty((len(means), rank, rank))
    found[:, one, other] = means
    found[:, other, one] = means
    return found


def inertia_tensor(sums: Accumulation) -> NDArray[Any]:
    """Covariance of coordinates, as a tensor of inertia for mass 1, (N, rank, rank)."""
    tensor = -covariance(sums)
    squares = -np.einsum("nii->ni", tensor)
    diagonal = np.arange(tensor.shape[1])
    tensor[:, diagonal, diagonal] = squares.sum(axis=1)[:, None] - squares
    return tensor


def inertia_tensor_eigvals(sums: Accumulation) -> NDArray[Any]:
    """Eigenvalues of the tensor of inertia, greatest first, none below 0."""
    tensor = inertia_tensor(sums)
    if tensor.shape[1] == 2:
        mean = (tensor[:, 0, 0] + tensor[:, 1, 1]) / 2
        apart = np.hypot((tensor[:, 0, 0] - tensor[:, 1, 1]) / 2, tensor[:, 0, 1])
        values = np.stack([mean + apart, mean - apart], axis=1)
    else:
        values = _eigenvalues(tensor)
    return np.asarray(np.clip(values, 0, None))


def axes(sums: Accumulation) -> NDArray[Any]:
    """Lengths of the axes of the ellipse (ellipsoid) of equal second moments, longest first."""
    if len(sums.spacing) == 2:
        return np.asarray(4 * np.sqrt(inertia_tensor_eigvals(sums)))
    values = _eigenvalues(covariance(sums))
    return np.asarray(np.sqrt(20 * np.clip(values, 0, None)))


def _eigenvalues(tensors: NDArray[Any]) -> NDArray[Any]:
    """Return eigenvalues, greatest first; NaN where a spacing made a tensor infinite."""
    finite = np.isfinite(tensors).all(axis=(1, 2))
    found = np.full(tensors.shape[:2], np.nan)
    found[finite] = np.linalg.eigvalsh(tensors[finite])[:, ::-1]
    return found


def eccentricity(sums: Accumulation) -> NDArray[Any]:
    """Square root of 1 - minor / major eigenvalue; 0 for a single pixel."""
    values = inertia_tensor_eigvals(sums)
    return np.asarray(np.sqrt(1 - _ratio(values[:, 1], values[:, 0], 1.0)))


def orientation(sums: Accumulation) -> NDArray[Any]:
    """Angle from the first axis to the major axis; pi/4 up or down where none is longer."""
    tensor = inertia_tensor(sums)
    a, b, c = tensor[:, 0, 0], tensor[:, 0, 1], tensor[:, 1, 1]
    level = np.where(b < 0, np.pi / 4, -np.pi / 4)
    return np.where(a == c, level, 0.5 * np.arctan2(-2 * b, c - a))


def normalized(central: NDArray[Any], spacing: NDArray[Any], unit: float) -> NDArray[Any]:
    """Divide central moments by powers of the zeroth; NaN below second order.

    Parameters
    ----------
    central : (N, 4, 4[, 4]) array of float64
        With `spacing` in them.
    unit : float
        Length that is divided out: once for each order of a moment.
    """
    rank = len(spacing)
    found: NDArray[Any] = np.full(central.shape, np.nan)
    whole = central.reshape(-1, 4**rank)[:, 0]
    for powers in product(range(4), repeat=rank):
        order = sum(powers)
        if order >= 2:
            at: Any = (slice(None), *powers)
            found[at] = central[at] / np.float64(unit) ** order / whole ** (order / rank + 1)
    return found


def hu(central: NDArray[Any], spacing: NDArray[Any]) -> NDArray[Any]:
    """Hu's invariants (1962) from the central moments of 2D objects, (N, 7).

    Where spacings differ, lengths count in the square root of the area of a pixel, so that the
    invariants are those of the object and not of the grid.
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


def _ratio(part: NDArray[Any], whole: NDArray[Any], empty: float) -> NDArray[Any]:
    """Divide, with a value for 0 / 0."""
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), empty), where=whole > 0))


def _each_channel(
    sums: Accumulation, derive: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """Derive a column from the weighted central moments of each channel."""
    central = sums.weighted_central
    found = [derive(central[..., channel]) for channel in range(central.shape[-1])]
    if not found:
        return np.zeros((*derive(np.zeros(central.shape[:-1])).shape, 0))
    return sums.channels(np.stack(found, axis=-1))


def _centroid_weighted(sums: Accumulation) -> NDArray[Any]:
    corner = sums.first * sums.spacing
    return sums.channels(sums.weighted_local + corner[..., None])


COLUMNS: Mapping[str, Callable[[Accumulation], NDArray[Any]]] = {
    "inertia_tensor": inertia_tensor,
    "inertia_tensor_eigvals": inertia_tensor_eigvals,
    "axis_major_length": lambda sums: axes(sums)[:, 0],
    "axis_minor_length": lambda sums: axes(sums)[:, -1],
    "eccentricity": eccentricity,
    "zingg_elongation": lambda sums: _ratio(axes(sums)[:, 1], axes(sums)[:, 0], 1.0),
    "zingg_flatness": lambda sums: _ratio(axes(sums)[:, 2], axes(sums)[:, 1], 1.0),
    "orientation": orientation,
    "moments": lambda sums: sums.raw,
    "moments_central": lambda sums: sums.central,
    "moments_normalized": lambda sums: normalized(
        sums.central, sums.spacing, float(sums.spacing.min())
    ),
    "moments_hu": lambda sums: hu(sums.central, sums.spacing),
    "centroid_weighted": _centroid_weighted,
    "centroid_weighted_local": lambda sums: sums.channels(sums.weighted_local),
    "moments_weighted": lambda sums: sums.channels(sums.weighted),
    "moments_weighted_central": lambda sums: sums.channels(sums.weighted_central),
    "moments_weighted_normalized": lambda sums: _each_channel(
        sums, lambda central: normalized(central, sums.spacing, float(sums.spacing.min()))
    ),
    "moments_weighted_hu": lambda sums: _each_channel(
        sums, lambda central: hu(central, sums.spacing)
    ),
}
