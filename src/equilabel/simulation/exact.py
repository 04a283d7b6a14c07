"""Exact results for the square lattice: critical temperatures, energies of the Ising model.

The formula is that of B. Kaufman, Phys. Rev. 76 (1949) 1232-1243, doi:10.1103/PhysRev.76.1232, in
the form of A. E. Ferdinand and M. E. Fisher, Phys. Rev. 185 (1969) 832-846,
doi:10.1103/PhysRev.185.832.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_number, check_shape
from equilabel.storage.memory import check_room

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP = 1e-20  # complex step, for which the derivative is exact to rounding


def critical_beta(q: int = 2) -> float:
    """Return the inverse temperature of the transition on the infinite square lattice.

    Parameters
    ----------
    q : int
        Number of states. The transition is continuous up to 4 and of first order beyond.

    Returns
    -------
    float
        ``log(1 + sqrt(q))``, in units of the coupling.

    Examples
    --------
    >>> round(critical_beta(2), 6)
    0.881374
    """
    return math.log1p(math.sqrt(check_number("q", q, 1)))


def exact_ising_energy(shape: tuple[int, int], beta: float) -> float:
    """Return the mean energy per site of the Potts model with two states on a periodic lattice.

    Parameters
    ----------
    shape : tuple of two int
        Sides of the lattice, of at least 2; two bonds join the sites along a side of 2.
    beta : float
        Inverse temperature of the Potts model, twice that of the Ising model; 1e-6 to 100.

    Returns
    -------
    float
        Between -2 and 0, with the convention of `Measurement.energy`.

    References
    ----------
    .. [1] B. Kaufman, Phys. Rev. 76 (1949) 1232-1243, doi:10.1103/PhysRev.76.1232
    .. [2] A. E. Ferdinand, M. E. Fisher, Phys. Rev. 185 (1969) 832-846,
           doi:10.1103/PhysRev.185.832

    Examples
    --------
    >>> round(exact_ising_energy((16, 16), critical_beta(2)), 6)
    -1.726532
    """
    rows, columns = check_shape("shape", shape, 2, 2, least=2)
    check_room("shape", shape, 64 * columns)
    beta = check_number("beta", beta, 1e-6, 100)
    ising = _log_partition(rows, columns, complex(beta / 2, STEP)).imag / (STEP * rows * columns)
    return float((-ising - 2) / 2)


def _log_partition(rows: int, columns: int, coupling: complex) -> Any:
    """Return the logarithm of the partition function of the Ising model, up to a constant."""
    double = 2 * coupling
    turns = np.arange(2 * columns) * math.pi / columns
    gammas = np.arccosh(np.cosh(double) / np.tanh(double) - np.cos(turns))
    gammas[0] = double + np.log(np.tanh(coupling))  # this one changes its sign at beta_c
    halves = rows * gammas / 2
    products = [_log_product(halves[parity::2], kind) for parity in (0, 1) for kind in (1, -1)]
    largest = max(logarithm.real for _, logarithm in products)
    total = sum(sign * np.exp(logarithm - largest) for sign, logarithm in products)
    return np.log(total) + largest + rows * columns / 2 * np.log(2 * np.sinh(double))


def _log_product(halves: NDArray[np.complex128], kind: int) -> tuple[int, Any]:
    """Return sign and logarithm of a product of 2 cosh(x), or of 2 sinh(x) for a kind of -1.

    The sign is kept apart, because an imaginary part of pi would hide the tiny derivative.
    """
    negative = halves.real < 0
    folded = np.where(negative, -halves, halves)  # the exponential cannot overflow
    sign = -1 if kind < 0 and negative.sum() % 2 else 1
    return sign, (folded + np.log1p(kind * np.exp(-2 * folded))).sum()
