"""A solver of the Cahn-Hilliard equation, whose phases Hawick et al. (2010) label (Figure 18).

Periodic boundaries, semi-implicit steps in Fourier space: the fourth derivative is taken at the new
time, the rest at the old one.
"""

from __future__ import annotations

from typing import Any


def cahn_hilliard(
    xp: Any,
    shape: tuple[int, ...],
    steps: int,
    *,
    seed: int = 0,
    fraction: float = 0.5,
    dt: float = 0.5,
    width: float = 1.0,
) -> Any:
    """Let a random mixture separate: du/dt = laplace(u^3 - u - width^2 laplace u).

    Parameters
    ----------
    xp : module
        `numpy` or `cupy`: where to compute.
    shape : tuple of int
    steps : int
        Steps of time: components grow as its cube root.
    fraction : float
        Part of the mixture that is of the first phase.
    dt : float
    width : float
        Of the border between phases, in pixels.

    Returns
    -------
    array of bool, in `xp`
        Where the first phase prevails.
    """
    noise = xp.random.default_rng(seed).standard_normal(shape, dtype=xp.float32)
    u = (2 * fraction - 1) + xp.float32(0.1) * noise
    squares = xp.zeros((), xp.float32)  # of wave numbers
    for axis, side in enumerate(shape):
        last = axis == len(shape) - 1
        frequency = (xp.fft.rfftfreq if last else xp.fft.fftfreq)(side).astype(xp.float32)
        squares = squares[..., None] + (2 * xp.pi * frequency) ** 2
    # 2 (the most that d(u^3 - u)/du is, at u = 1) is taken at the new time too: any dt is stable
    below = 1 + dt * squares * (2 + width**2 * squares)
    for _ in range(steps):
        change = xp.fft.rfftn(u**3 - 3 * u)
        u_hat = (xp.fft.rfftn(u) - dt * squares * change) / below
        u = xp.fft.irfftn(u_hat, shape, range(len(shape))).astype(xp.float32)
    return u > 0
