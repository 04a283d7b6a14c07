"""Images of the papers that `equilabel.samples` does not make: fields of alloys, discs in noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

from equilabel.devices import library, place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def discs_in_noise(side: int, radius: int, occupation: float = 0.5, seed: int = 0) -> Any:
    """Draw discs, and noise between them: half of the occupied pixels each (Kalentev, Section 3).

    Returns
    -------
    (side, side) array of bool
    """
    rng = np.random.default_rng(seed)
    covered = occupation / 2
    count = round(-math.log(1 - covered) * side**2 / (math.pi * radius**2))  # discs overlap
    empty = np.ones((side, side), bool)
    empty[tuple(rng.integers(0, side, (2, max(count, 1))))] = False
    discs = ndimage.distance_transform_edt(empty) <= radius
    missing = (occupation - discs.mean()) / (1 - discs.mean())
    return discs | (rng.random((side, side), dtype=np.float32) < missing)


def cahn_hilliard(
    side: int, steps: Sequence[int], device: str = "cpu", seed: int = 0
) -> Iterator[Any]:
    """Let a quenched binary alloy separate into two phases, and yield them at some steps.

    Solves du/dt = div grad (u^3 - u - div grad u) in a periodic square, from random u near 0, by
    steps of 1 in Fourier space: linear terms implicit, with a stabilizing term -2 u (D. J. Eyre,
    MRS Proc. 529 (1998) 39, doi:10.1557/PROC-529-39).

    Parameters
    ----------
    steps : sequence of int
        Numbers of steps, rising, after which a field is yielded.

    Yields
    ------
    (side, side) array of uint8
        On the device: 0 and 1 are the phases.
    """
    noise = np.random.default_rng(seed).standard_normal((side, side), dtype=np.float32)
    field = place(np.float32(0.1) * noise, device)
    where = library(field)
    waves = 2 * np.pi * np.fft.fftfreq(side)
    squares = np.add.outer(waves**2, waves[: side // 2 + 1] ** 2).astype(np.float32)
    k2 = place(squares, device)
    stiff = 1 / (1 + 2 * k2 + k2 * k2)
    spectrum = where.fft.rfft2(field).astype(np.complex64)
    done = 0
    for stop in steps:
        for _ in range(stop - done):
            force = where.fft.rfft2(field * (field * field - 3)).astype(np.complex64)
            spectrum = (spectrum - k2 * force) * stiff
            field = where.fft.irfft2(spectrum, (side, side)).astype(np.float32)
        done = stop
        yield (field > 0).astype(np.uint8)
