"""Cluster simulations of the Potts model on periodic lattices, and tools to judge their results.

The q-state Potts model with coupling J = 1 and Boltzmann's constant 1 has the energy
``-sum(spins[i] == spins[j])`` over pairs of neighbors. The update of Swendsen and Wang opens each
bond between equal spins with the probability ``1 - exp(-beta)`` and gives each cluster of open
bonds a new state. For q = 2 it is the Ising model at half the beta: ``beta = 2 * beta_ising``,
``energy_ising = 2 * energy + ndim``.
"""

from .exact import critical_beta, exact_ising_energy
from .potts import PottsSimulation, fortuin_kasteleyn_bonds, swendsen_wang
from .statistics import AutocorrelationTime, Measurement, integrated_autocorrelation_time

__all__ = [
    "AutocorrelationTime",
    "Measurement",
    "PottsSimulation",
    "critical_beta",
    "exact_ising_energy",
    "fortuin_kasteleyn_bonds",
    "integrated_autocorrelation_time",
    "swendsen_wang",
]
