"""A simulation in one call: measurements, or the bonds of a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equilabel.arguments import check_whole

from .exact import critical_beta
from .potts import MOST_SWEEPS, PottsSimulation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equilabel.devices import Device
    from equilabel.domains.bonds import Bonds

    from .statistics import Measurement


def swendsen_wang(
    shape: int | tuple[int, ...],
    q: int = 2,
    *,
    beta: float | None = None,
    temperature: float | None = None,
    sweeps: int = 1000,
    discard: int = 0,
    every: int = 1,
    seed: int = 0,
    start: Any = "cold",
    device: Device = "auto",
    method: str = "auto",
    batch: int | None = None,
) -> Iterator[Measurement]:
    """Simulate the q-state Potts model by the algorithm of Swendsen and Wang, and measure.

    Parameters
    ----------
    shape, q, beta, temperature, seed, start, device, method
        As for `PottsSimulation`, which also has checkpoints and the few-cluster update.
    sweeps : int
        Sweeps to make after those that are discarded.
    discard : int
        Sweeps to make first, to reach equilibrium.
    every : int
        Sweeps from one measurement to the next.
    batch : int, optional
        As for `PottsSimulation.measure`.

    Returns
    -------
    iterator of Measurement
        ``sweeps // every`` of them.

    Examples -------- The energy of the Ising model on a lattice of 16 x 16 sites at the critical
    temperature, compared with the exact value:

    >>> from equilabel.simulation import (
    ...     critical_beta, exact_ising_energy, integrated_autocorrelation_time, swendsen_wang)
    >>> beta = critical_beta(2)
    >>> chain = swendsen_wang((16, 16), 2, beta=beta, sweeps=4000, discard=100, seed=3)
    >>> found = integrated_autocorrelation_time([m.energy for m in chain])
    >>> abs(found.mean - exact_ising_energy((16, 16), beta)) < 4 * found.standard_error
    True
    """
    simulation = PottsSimulation(
        shape,
        q,
        beta=beta,
        temperature=temperature,
        seed=seed,
        start=start,
        device=device,
        method=method,
    )
    first = check_whole("discard", discard, 0, MOST_SWEEPS)
    measurements = simulation.measure(sweeps, every=every, batch=batch)
    simulation.advance(first)
    return measurements


def fortuin_kasteleyn_bonds(
    shape: int | tuple[int, ...],
    q: int = 2,
    *,
    beta: float | None = None,
    sweeps: int = 100,
    seed: int = 0,
    device: Device = "auto",
    method: str = "auto",
) -> Bonds:
    """Return the bonds that a sweep of Swendsen and Wang opens in a Potts configuration.

    Their clusters percolate at the critical temperature: the papers on cluster identification
    label such clusters.

    Parameters
    ----------
    shape, q, seed, device, method
        As for `PottsSimulation`.
    beta : float, optional
        Inverse temperature; default is that of the transition on the square lattice.
    sweeps : int
        Sweeps to make first, from random spins.

    Returns
    -------
    Bonds

    Examples
    --------
    >>> bonds = fortuin_kasteleyn_bonds((64, 64))
    >>> bonds.open.dtype, bonds.periodic
    (dtype('uint8'), (True, True))
    """
    chosen = critical_beta(q) if beta is None else beta
    simulation = PottsSimulation(
        shape, q, beta=chosen, seed=seed, start="hot", device=device, method=method
    )
    return simulation.advance(sweeps).bonds()
