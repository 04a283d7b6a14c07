"""`PottsSimulation`: the chain, its sweeps, its checkpoints; and simulations in one call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import (
    check_choice,
    check_mapping,
    check_number,
    check_shape,
    check_whole,
    normalize_bools,
    shown,
)
from equilabel.devices import fetch, is_on_cuda, library, passes, place, resolve, take, using
from equilabel.domains import grid
from equilabel.domains.bonds import Bonds
from equilabel.labeling.graphs import label_bonds_by_runs
from equilabel.papers import METHODS, check_ability, find_method, load_passes, load_recipe
from equilabel.storage.memory import check_room

from .exact import critical_beta
from .statistics import CLUSTERS, Measurement, from_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from equilabel.array_types import Array
    from equilabel.devices import Device


# ---- Checks of arguments

UNIT = 2**32  # kernels take probabilities in units of 1 / UNIT
MOST_SITES = 2**32 - 1
RANKS = 6
BYTES = 16  # for each site, of a simulation and its method
UPDATES = ("swendsen_wang", "few_clusters")
STATE = ("sweep", "q", "beta", "seed", "update", "tile", "flip_probability")  # besides the spins


def check_sides(shape: Any) -> tuple[int, ...]:
    """Return the sides of a lattice."""
    given = (shape,) if isinstance(shape, Integral) else shape
    sides = check_shape("shape", given, 1, RANKS, least=1)
    if min(sides) < 2 or math.prod(sides) > MOST_SITES:
        message = (
            "shape must have sides of at least 2 and fewer than 2**32 sites in all; got "
            f"{shown(shape)}. Leave out sides of 1: periodic bonds would lead back to their site."
        )
        raise ValueError(message)
    check_room("shape", shape, BYTES * math.prod(sides))
    return sides


def check_beta(beta: float | None, temperature: float | None) -> float:
    """Return the inverse temperature, given one of the two."""
    if (beta is None) == (temperature is None):
        message = (
            f"one of beta and temperature must be given; got beta={shown(beta)}, "
            f"temperature={shown(temperature)}. beta=critical_beta(q) is the transition in 2D."
        )
        raise ValueError(message)
    if temperature is None:
        return check_number("beta", beta, 0)
    number = check_number("temperature", temperature, 0)
    if not number:
        message = f"temperature must be positive; got {shown(temperature)}. Use beta=inf for 0."
        raise ValueError(message)
    return math.inf if number < 1e-308 else 1 / number


def check_update(update: str, flip_probability: float) -> None:
    """Raise an error unless an update is known and the flip probability is between 0 and 1."""
    check_choice("update", update, UPDATES)
    if not 0 < check_number("flip_probability", flip_probability) < 1:
        message = (
            "flip_probability must be between 0 and 1, both left out: at 1 the few-cluster update "
            f"is not ergodic; got {shown(flip_probability)}. Pass 0.9 if unsure."
        )
        raise ValueError(message)


def check_start(start: Any, shape: tuple[int, ...], q: int) -> Array | None:
    """Return a copy of the initial spins, of NumPy or CuPy; None for "cold" and "hot"."""
    if isinstance(start, str):
        if start in ("cold", "hot"):
            return None
        message = f"start must be 'cold', 'hot' or an array of spins; got {shown(start)}."
        raise ValueError(message)
    spins = normalize_bools(take(start, "start"))
    got = f"{spins.dtype} of shape {spins.shape}"
    fits = spins.shape == shape and spins.dtype.kind in "bui"
    if fits:
        got = f"{int(spins.min())} to {int(spins.max())}"
    if not fits or not 0 <= int(spins.min()) <= int(spins.max()) < q:
        message = (
            f"start must be an array of whole numbers of 0 to {q - 1}, of shape {shape}; got {got}."
            " Number the states from 0."
        )
        raise ValueError(message)
    return library(spins).array(spins, np.uint8, order="C")


def check_spins(
    spins: Array, shape: tuple[int, ...], device: str, states: int | None = None
) -> None:
    """Raise ValueError if spins, which users may change, are not what kernels can take."""
    fits = (
        is_on_cuda(spins) == (device != "cpu")
        and getattr(spins, "shape", None) == shape
        and spins.dtype == np.uint8
        and spins.flags.c_contiguous
    )
    if not fits or (states is not None and int(spins.max()) >= states):
        message = (
            f"spins must stay an array of uint8 of shape {shape} on {device!r}, of 0 to q - 1; got "
            f"{shown(spins)}. Pass others as start= of a new simulation."
        )
        raise ValueError(message)


def check_state(state: Any) -> tuple[dict[str, Any], Array]:
    """Return the numbers of a checkpoint by their names, and its spins."""
    names = (*STATE, "spins")
    fits = isinstance(state, Mapping) and set(state) == set(names)
    if not fits or not all(np.ndim(state[name]) == 0 for name in STATE):
        got = list(state) if isinstance(state, Mapping) else state
        message = f"state must be a checkpoint, with a value for each of {names}; got {shown(got)}."
        raise ValueError(message)
    return {name: np.asarray(state[name]).item() for name in STATE}, take(state["spins"], "spins")


# ---- The Markov chain, on one device

BATCH = 32  # measurements on a GPU that are copied to the host together
MOST_SWEEPS = 2**63 - 1


class PottsSimulation:
    """A Markov chain of the q-state Potts model on a periodic square, cubic, ... lattice.

    The chain depends on the arguments alone: the same seed gives the same spins, bit by bit, on the
    CPU and on a GPU, for every method and number of threads.

    Parameters
    ----------
    shape : tuple of int
        Sides of the lattice, 1 to 6 of them, of at least 2 each; fewer than 2**32 sites. All axes
        are periodic.
    q : int
        Number of states, 2 to 256; 2 is the Ising model.
    beta : float, optional
        Inverse temperature in units of the coupling: the energy is ``-sum(s[i] == s[j])``, and a
        bond between equal spins opens with the probability ``1 - exp(-beta)``. The Ising model has
        ``beta = 2 * beta_ising``. See `critical_beta`.
    temperature : float, optional
        ``1 / beta``; give one of the two.
    seed : int
        0 to 2**64 - 1: key of the random numbers.
    start : {"cold", "hot"} or array of int
        All spins 0, all spins random, or an array of spins, 0 to q - 1.
    device : {"auto", "cpu", "cuda"} or "cuda:<index>"
        "auto" is the device of an array given as `start`, or the CPU.
    method : str
        Method of `METHODS` that labels clusters; it must support lattices of bonds. "auto" is the
        fastest.
    method_options : mapping, optional
        Options of the method, as `METHODS` lists them.
    update : {"swendsen_wang", "few_clusters"}
        Either every cluster gets a new state (Swendsen and Wang), or, in each tile of the lattice,
        the cluster of a random site gets another state (Weigel, Section III).
    tile : int
        Edge of these tiles. With the largest side of the lattice, or more, there is one tile: a
        variant of the update of Wolff.
    flip_probability : float
        How often the clusters chosen by "few_clusters" are flipped, between 0 and 1. With 1, a
        single spin could never be flipped alone, and the chain would not be ergodic.

    Attributes
    ----------
    shape, q, beta, seed, method, method_options, device, update, tile, flip_probability
        As above.
    spins : array of uint8, of NumPy or CuPy
        The configuration, on the device. It may be changed in place, to states 0 to q - 1.
    sweep : int
        Number of sweeps so far.

    Notes
    -----
    Random numbers are those of Philox 4x32-10 [3]_: each is a function of the seed, the sweep, the
    site and the purpose. So there is no state of a generator, and a checkpoint consists of the
    spins and the number of the sweep. Probabilities are rounded to multiples of 2**-32.

    A site takes 1 byte for its spin, 1 for its bonds, 4 for the label of its cluster, and what the
    method needs; measuring takes 4 to 8 more.

    References
    ----------
    .. [1] R. H. Swendsen, J.-S. Wang, Phys. Rev. Lett. 58 (1987) 86-88,
           doi:10.1103/PhysRevLett.58.86
    .. [2] M. Weigel, Connected-component identification and cluster update on graphics processing
           units, Phys. Rev. E 84 (2011) 036709, doi:10.1103/PhysRevE.84.036709
    .. [3] J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, Proc. SC11 (2011),
           doi:10.1145/2063384.2063405

    Examples
    --------
    >>> from equilabel import PottsSimulation
    >>> simulation = PottsSimulation((32, 32), q=2, temperature=1.0, seed=1)
    >>> found = [m.energy for m in simulation.advance(50).measure(500)]
    >>> bool(abs(np.mean(found) + 1.864) < 0.02)
    True

    A checkpoint continues the same chain, on any device:

    >>> state = simulation.state()
    >>> again = PottsSimulation.resume(state)
    >>> bool((again.advance(3).spins == simulation.advance(3).spins).all())
    True
    """

    def __init__(
        self,
        shape: int | tuple[int, ...],
        q: int = 2,
        *,
        beta: float | None = None,
        temperature: float | None = None,
        seed: int = 0,
        start: Any = "cold",
        device: Device = "auto",
        method: str = "auto",
        method_options: Mapping[str, Any] | None = None,
        update: str = "swendsen_wang",
        tile: int = 64,
        flip_probability: float = 0.9,
    ) -> None:
        self.shape = check_sides(shape)
        self.q = check_whole("q", q, 2, 256)
        self.beta = check_beta(beta, temperature)
        self.seed = check_whole("seed", seed, 0, 2**64 - 1)
        check_update(update, flip_probability)
        self.update, self.flip_probability = update, float(flip_probability)
        self.tile = check_whole("tile", tile, 1, 2**31 - 1)
        spins = check_start(start, self.shape, self.q)
        self.device = resolve(device, spins)
        self.method_options = {}
        if method_options is not None:
            self.method_options = check_mapping("method_options", method_options)
        found, where = find_method(method, "bonds"), self.device.partition(":")[0]
        check_ability(found, "bonds", len(self.shape), where, self.method_options)
        self.method = found.name
        self.sweep = 0
        self._threshold = round(-np.expm1(-self.beta) * UNIT)
        self._kernels = passes("simulation.potts", self.device)
        with using(self.device):
            if spins is not None:
                self.spins = place(spins, self.device)
            elif start == "hot":
                self.spins = self._kernels.random_spins(self.shape, self.q, self.seed)
            else:
                self.spins = place(np.zeros(self.shape, np.uint8), self.device)
            self._bonds = self._make_bonds()
            dtype = np.int32 if self.spins.size < 2**31 else np.int64
            self._labels = library(self.spins).empty(self.spins.size, dtype)

    def __repr__(self) -> str:
        return (
            f"PottsSimulation(shape={self.shape}, q={self.q}, beta={self.beta:.6g}, "
            f"seed={self.seed}, sweep={self.sweep}, device={self.device!r})"
        )

    def advance(self, sweeps: int = 1) -> PottsSimulation:
        """Make sweeps without measuring, for example to reach equilibrium; return the simulation.

        On a GPU, this may return before the device has finished.
        """
        check_spins(self.spins, self.shape, self.device)
        with using(self.device):
            for _ in range(check_whole("sweeps", sweeps, 0, MOST_SWEEPS)):
                self._update()
        return self

    def measure(
        self, sweeps: int, *, every: int = 1, batch: int | None = None
    ) -> Iterator[Measurement]:
        """Make sweeps, and measure after every one of them, or after every few.

        Parameters
        ----------
        sweeps : int
            Number of sweeps to make.
        every : int
            Sweeps from one measurement to the next.
        batch : int, optional
            Number of measurements that are copied to the host together, so that a GPU does not wait
            for the host after every one. The simulation is then ahead of the iterator by up to as
            many measurements. Default is 32 on a GPU, 1 on the CPU.

        Returns
        -------
        iterator of Measurement
            ``sweeps // every`` of them. Computation begins when the first is requested.
        """
        sweeps = check_whole("sweeps", sweeps, 0, MOST_SWEEPS)
        every = check_whole("every", every, 1, MOST_SWEEPS)
        if batch is None:
            batch = 1 if self.device == "cpu" else BATCH
        return self._measurements(sweeps, every, check_whole("batch", batch, 1, 2**20))

    def bonds(self) -> Bonds:
        """Return the bonds that the next sweep opens, as a lattice of bonds.

        Their clusters are those of Fortuin and Kasteleyn in the present configuration.
        """
        check_spins(self.spins, self.shape, self.device)
        with using(self.device):
            found = self._make_bonds()
            self._activate(found)
        return found

    def state(self) -> dict[str, Any]:
        """Return a checkpoint for `resume`, which `numpy.savez` can write.

        The spins are copied to the host.
        """
        spins = np.array(fetch(self.spins))
        return {"spins": spins, **{name: getattr(self, name) for name in STATE}}

    @classmethod
    def resume(
        cls, state: Mapping[str, Any], *, device: Device = "auto", method: str = "auto"
    ) -> PottsSimulation:
        """Return a simulation that continues from a checkpoint with the same chain.

        Parameters
        ----------
        state : mapping
            The result of `state`, or of `numpy.load` for the file it was written to.
        device, method
            As for the class; they may differ from those before.
        """
        known, spins = check_state(state)
        sweep = check_whole("sweep", known.pop("sweep"), 0, MOST_SWEEPS)
        found = cls(spins.shape, start=spins, device=device, method=method, **known)
        found.sweep = sweep
        return found

    def _make_bonds(self) -> Bonds:
        rank = len(self.shape)
        steps = grid.offsets(rank, 1)[rank:]  # step k along the axis rank - 1 - k
        room = library(self.spins).empty(self.shape, np.uint8)
        return Bonds(room, steps, (True,) * rank)

    def _activate(self, bonds: Bonds) -> None:
        self._kernels.activate_bonds(self.spins, self._threshold, self.sweep, self.seed, bonds.open)

    def _update(self) -> None:
        """Make a sweep; `_labels` then holds the clusters, from `_first` on."""
        kernels, drawn = self._kernels, (self.sweep, self.seed)
        self._activate(self._bonds)
        if METHODS[self.method].answer == "runs":
            label_bonds_by_runs(self._bonds, self._labels)
            self._first = 0
        else:
            recipe, found = load_recipe(self.method), load_passes(self.method, self.device)
            roots = recipe(found, self._bonds, **self.method_options).roots
            passes("runs.numbering", self.device).number_roots(roots, self._labels)
            self._first = 1
        sites = self.spins, self._labels, self._first
        if self.update == "swendsen_wang":
            kernels.flip_clusters(*sites, self.q, *drawn)
        else:
            marked = kernels.mark_clusters(*sites, self.tile, *drawn)
            often = round(self.flip_probability * UNIT)
            kernels.flip_marked(*sites, marked, self.q, often, *drawn)
        self.sweep += 1

    def _measurements(self, sweeps: int, every: int, batch: int) -> Iterator[Measurement]:
        left, rest = divmod(sweeps, every)
        while left:
            rows = min(left, batch)
            with using(self.device):
                # Kernels count by state; an update of Swendsen and Wang replaces all states first.
                states = self.q if self.update == "few_clusters" else None
                check_spins(self.spins, self.shape, self.device, states)
                table = library(self.spins).zeros((rows, 1 + self.q + CLUSTERS), np.int64)
                numbers = [self._measure_into(row, every) for row in table]
                counts = fetch(table)
            for number, row in zip(numbers, counts, strict=True):
                yield from_row(row, number, self._bonds.size)
            left -= rows
        self.advance(rest)

    def _measure_into(self, row: Array, sweeps: int) -> int:
        """Make sweeps and write counts to a row of a table; return the number of the last sweep."""
        for _ in range(sweeps):
            self._update()
        self._kernels.measure_spins(self.spins, self.q, row[: 1 + self.q])
        self._kernels.measure_clusters(self._labels, self._first, row[1 + self.q :])
        return self.sweep


# ---- A simulation in one call


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

    Examples
    --------
    The energy of the Ising model on a lattice of 16 x 16 sites at the critical temperature,
    compared with the exact value:

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
