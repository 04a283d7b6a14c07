"""What is measured after a sweep, from the integers that the device counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

CLUSTERS = 3  # columns of a row that are counted from clusters; before them come bonds and states


class Measurement(NamedTuple):
    """One configuration of a simulation, in numbers.

    Attributes
    ----------
    sweep : int
        Sweeps since the start.
    energy : float
        Per site: minus the number of bonds between equal spins, over the number of sites. Between
        minus the number of axes and 0.
    magnetization : float
        Order parameter ``(q * largest - 1) / (q - 1)``, where `largest` is the share of the state
        that most sites are in; 0 to 1. For q = 2 the absolute magnetization of the Ising model.
    clusters : int
        Number of clusters of open bonds in the sweep that led here.
    largest_cluster : float
        Share of the sites that the largest of them holds.
    mean_cluster_size : float
        Sum of the squares of their sizes over the number of sites. Its mean is the improved
        estimator of N <m^2>, the susceptibility without its factor beta (Wolff 1988), where m is
        the mean of the spins as vectors to the corners of a simplex: +1 and -1 for q = 2.
    """

    sweep: int
    energy: float
    magnetization: float
    clusters: int
    largest_cluster: float
    mean_cluster_size: float


def from_row(row: HostArray, sweep: int, sites: int) -> Measurement:
    """Turn a row of counts into a measurement.

    Parameters
    ----------
    row : (1 + q + CLUSTERS,) array of int64
        Bonds between equal spins, sites in each state, number of clusters, sites of the largest,
        sum of squares, which is an unsigned number.
    """
    bonds, *states, clusters, largest, squares = row.tolist()
    q = len(states)
    return Measurement(
        sweep,
        -bonds / sites,
        (q * max(states) / sites - 1) / (q - 1),
        clusters,
        largest / sites,
        squares % 2**64 / sites,
    )
