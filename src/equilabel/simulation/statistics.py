"""Measurements of a chain, autocorrelation times and errors of means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equilabel.arguments import as_host_array, check_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray


# ---- Measurements, from integers that the device counts

CLUSTERS = 3  # columns of a row for clusters; before them come bonds and states


class Measurement(NamedTuple):
    """One configuration of a simulation, in numbers.

    Attributes
    ----------
    sweep : int
        Sweeps since the start.
    energy : float
        Energy per site: minus the number of bonds between equal spins, over the number of sites.
        Between minus the number of axes and 0.
    magnetization : float
        Order parameter ``(q * largest - 1) / (q - 1)``, where `largest` is the fraction of sites in
        the most frequent state; 0 to 1. For q = 2 the absolute magnetization of the Ising model.
    clusters : int
        Number of clusters of open bonds in the last sweep.
    largest_cluster : float
        Fraction of sites in the largest of them.
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
    """Turn a row of counts, (1 + q + CLUSTERS,) of int64, into a measurement.

    The row holds bonds between equal spins, sites in each state, the number of clusters, the sites
    of the largest, and the sum of squares, an unsigned number.
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


# ---- Autocorrelation times, and errors of means


class AutocorrelationTime(NamedTuple):
    """An integrated autocorrelation time, and the error of the mean that follows from it.

    Attributes
    ----------
    time : float
        In units of the distance between two measurements; 0.5 if they are independent.
    error : float
        Its standard error (Madras and Sokal 1988, Equation E.11).
    window : int
        Lag at which the sum was cut.
    mean : float
        Mean of the series.
    standard_error : float
        Standard error of the mean, with correlations: ``sqrt(2 * time * variance / N)``.
    """

    time: float
    error: float
    window: int
    mean: float
    standard_error: float


def integrated_autocorrelation_time(
    series: ArrayLike, *, window_factor: float = 6.0
) -> AutocorrelationTime:
    """Estimate the integrated autocorrelation time of a series of measurements.

    The normalized autocorrelation is summed up to the smallest lag that is at least `window_factor`
    times the sum so far: more lags add noise, fewer leave out correlations.

    Parameters
    ----------
    series : (N,) array_like of float
        Measurements at equal distances, in equilibrium. N should be many times the result: 1000
        times for an error of some percent.
    window_factor : float
        Lags to sum, in units of the result. More than 4; 6 to 10 if correlations do not decay as
        one exponential.

    Returns
    -------
    AutocorrelationTime

    Raises
    ------
    ValueError
        If there are fewer than 4 measurements, or if some are not finite.

    References
    ----------
    .. [1] N. Madras, A. D. Sokal, The pivot algorithm: a highly efficient Monte Carlo method for
           the self-avoiding walk, J. Stat. Phys. 50 (1988) 109-186, doi:10.1007/BF01022990,
           Appendix E.

    Examples
    --------
    Each value of this series is half the one before, plus noise; the exact result is 1.5:

    >>> noise = np.random.default_rng(0).normal(size=100_000)
    >>> series = np.zeros(noise.size)
    >>> for k in range(1, noise.size):
    ...     series[k] = series[k - 1] / 2 + noise[k]
    >>> found = integrated_autocorrelation_time(series)
    >>> abs(found.time - 1.5) < 3 * found.error
    True
    """
    given = as_host_array("series", series)
    window_factor = check_number("window_factor", window_factor, 0, 1e6)
    real = given.dtype.kind in "buif"
    values = given.astype(np.float64) if real else given
    gaps = int(np.count_nonzero(~np.isfinite(values))) if real else 0
    if not real or values.ndim != 1 or values.size < 4 or gaps:
        got = f"{gaps} that are not" if gaps else f"shape {values.shape} and {given.dtype}"
        message = (
            "series must be of numbers, one-dimensional, finite, and have at least 4 values; got "
            f"{got}. Pass one quantity of many measurements."
        )
        raise ValueError(message)
    unit = math.ldexp(1.0, int(np.frexp(np.abs(values).max())[1]) - 1)  # squares stay finite
    values /= unit
    size, mean = values.size, float(values.mean())
    deviations = values - mean
    padded = np.fft.rfft(deviations, 2 ** int(np.ceil(np.log2(2 * size))))  # avoids wrapping around
    sums = np.fft.irfft(padded * padded.conj())[:size]
    variance = float(sums[0] / size)
    if variance <= 1e-28 * mean**2:  # constant, except for rounding
        return AutocorrelationTime(0.5, 0.0, 0, mean * unit, 0.0)
    correlations = sums / np.arange(size, 0, -1) / variance
    times = np.cumsum(correlations) - 0.5
    enough = np.arange(size) >= window_factor * times
    window = int(np.argmax(enough)) if enough.any() else size - 1
    time = max(float(times[window]), 0.5 / size)
    error = time * np.sqrt(2 * (2 * window + 1) / size)
    return AutocorrelationTime(
        time, float(error), window, mean * unit, float(np.sqrt(2 * time * variance / size)) * unit
    )
