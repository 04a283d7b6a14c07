"""Swendsen-Wang on a device: Table I and Figures 2, 6, 8 to 14 of Weigel (2011).

M. Weigel, Connected-component identification and cluster update on graphics processing units, Phys.
Rev. E 84 (2011) 036709. Figures are of a GTX 480. Energies beside the exact ones are added. Run as
``python weigel.py --device cuda``.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import METHODS, PottsSimulation
from equilabel.papers import load_passes
from equilabel.simulation import critical_beta, exact_ising_energy, integrated_autocorrelation_time
from experiment import TOO_FEW, Clock, Figure, claim, labeler, main, over, row, slope, values
from networks import arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES, QUICK = (512, 1024, 2048, 4096, 8192, 16384), (64, 128, 256)
ENERGY_SIDES = (16, 32, 64)
EDGES = (4, 8, 16, 32, 64)  # of tiles
LOCALS = ("self_labeling", "union_find", "breadth_first")
METHOD_NAMES = [row.name for row in METHODS.values() if "bonds" in row.domains]
SEW, RELAX = "weigel_sewing", "weigel_relaxation"
RATIOS = (0.2, 0.6, 0.8, 1.0, 1.2, 1.4, 2.0)  # of beta to the critical one
NS = {"unit": "ns"}
DRAWING = "it is a drawing of the method"
FIGURES = {
    "Table I": Figure("Swendsen-Wang updates of the Potts model", "q, beta, L", "ns"),
    "Figure 1": Figure("Breadth-first search on a tile", because=DRAWING),
    "Figure 2": Figure("Labels of tiles for each spin (L = 4096 in the paper)", "B", "ns"),
    "Figure 3": Figure("Union-find on a tile", because=DRAWING),
    "Figure 4": Figure("Self-labeling on a tile", because=DRAWING),
    "Figure 5": Figure("Label relaxation between tiles", because=DRAWING),
    "Figure 6": Figure("Relaxation steps at beta_c, q = 2, B = 16", "L / B", "steps"),
    "Figure 7": Figure("Hierarchical sewing of 64 tiles", because=DRAWING),
    "Figure 8": Figure("Hierarchical sewing at beta_c, q = 2, for each spin", "L", "ns"),
    "Figure 9": Figure("Updates by relaxation over the edge of tiles", "L", "ns"),
    "Figure 10": Figure("Updates at beta_c, q = 2, for each spin", "L", "ns"),
    "Figure 11": Figure("Steps of an update by sewing at beta_c, q = 2, B = 16", "L", "ns"),
    "Figure 12": Figure("Updates over the inverse temperature", "beta / beta_c", "ns"),
    "Figure 13": Figure("GPU over one core of the CPU beside it", "L", "factor"),
    "Figure 14": Figure("Few clusters: GPU over single clusters on the CPU", "L", "factor"),
    "energies": Figure("Energy of the Ising model at beta_c for each spin", "L", "energy"),
}
# q, beta over the critical one, L, method: ns on a CPU and on a GTX 480 (an M2070 at 16384).
TABLE_I = {
    (2, 1.0, 512, RELAX): (61.63, 6.533),
    (2, 1.0, 512, SEW): (61.63, 12.17),
    (2, 1.0, 8192, SEW): (77.39, 3.179),
    (2, 1.0, 8192, RELAX): (77.39, 7.154),
    (2, 1.0, 16384, SEW): (152.1, 3.573),
    (2, 0.6, 8192, SEW): (57.12, 1.863),
    (2, 1.4, 8192, SEW): (135.7, 4.164),
    (3, 1.0, 8192, SEW): (70.73, 3.059),
    (4, 1.0, 8192, SEW): (65.51, 2.887),
}
D_MIN, D_MIN_FIT = 1.08, 1.0766  # expected, and fitted to Figure 6
PRINTED = {
    ("Figure 2", "self_labeling", 16): 1.08,
    ("Figure 2", "union_find", 16): 8.6,
    ("Figure 2", "breadth_first", 16): 13.4,
    ("Figure 8", "B = 16", 16384): 0.78,
    ("Figure 11", "activation", 8192): 0.46,
    ("Figure 11", "identification", 8192): 2.52,
    ("Figure 11", "flipping", 8192): 0.201,
}
PRINTED |= {  # exact (Ferdinand and Fisher), not of the paper
    ("energies", "energy", side): exact_ising_energy((side, side), critical_beta(2))
    for side in ENERGY_SIDES
}


def name_of(q: int, ratio: float, side: int) -> str:
    """Name a line of Table I."""
    return f"q = {q}, {ratio:g} beta_c, L = {side}"


for (q, ratio, side, method), (cpu, gpu) in TABLE_I.items():
    PRINTED["Table I", method, name_of(q, ratio, side)] = gpu
    if q == 2 and ratio == 1 and side < 16384:  # that one has another GPU and another CPU
        PRINTED["Figure 10", method, side] = gpu
        PRINTED["Figure 13", "CPU, one core", side] = cpu
        PRINTED["Figure 13", method, side] = cpu / gpu
    if q == 2 and side == 8192 and method == SEW:
        PRINTED["Figure 12", method, ratio] = gpu


def run(device: str, sizes: Sequence[int], clock: Clock) -> list[dict[str, Any]]:
    """Measure everything."""
    updates = Updates(device, 0.1 if device == "cuda" else 0.02)
    clock.warm(lambda: compile_all(updates, device))
    rows = over_sizes(sizes, updates, clock.share(0.45))
    rows += over_temperatures(8192 if 8192 in sizes else max(sizes), updates, clock.share(0.35))
    rows += over_tiles(sizes, updates, clock.share(0.4))
    rows += relaxation_steps(sizes, updates, clock.share(0.7))
    return rows + energies(clock, device, 4000)


# --------------------------------------------------------------------- updates


class Updates:
    """Times updates near equilibrium; each is measured once, whatever figures show it.

    Parameters
    ----------
    device : {"cpu", "cuda"}
    seconds : float
        The least for one time.
    """

    def __init__(self, device: str, seconds: float) -> None:
        self.device, self.seconds = device, seconds
        self.known: dict[Any, float] = {}
        self.state: tuple[Any, Any] = (None, None)

    def simulation(self, q: int, ratio: float, side: int, **chosen: Any) -> PottsSimulation:
        """Return a simulation near equilibrium; those of the last lattice are made once."""
        if self.state[0] != (q, ratio, side):
            beta, start = ratio * critical_beta(q), "hot" if ratio <= 1 else "cold"
            options = {"beta": beta, "start": start, "device": self.device}
            chain = PottsSimulation((side, side), q, **options).advance(30)
            self.state = (q, ratio, side), chain.state()
        changes = {key: chosen.pop(key) for key in ("update", "tile") if key in chosen}
        return PottsSimulation.resume(self.state[1] | changes, **{"device": self.device, **chosen})

    def ns(self, q: int, ratio: float, side: int, method: str = "auto", edge: int = 0) -> float:
        """Return the nanoseconds of an update for each spin, by a method with tiles of an edge."""
        key = q, ratio, side, method, edge
        if key not in self.known:
            simulation = self.simulation(q, ratio, side, method=method)
            simulation.method_options = {"tile": edge} if edge else {}
            self.known[key] = time_per_site(simulation, simulation.advance, self.seconds)
        return self.known[key]

    def relaxed(self, q: int, ratio: float, side: int) -> float:
        """Return the same by relaxation, with the edge of tiles that is best of three."""
        return min(self.ns(q, ratio, side, RELAX, edge) for edge in EDGES[2:])


def time_per_site(
    simulation: PottsSimulation, work: Callable[[], Any], seconds: float = 0.2
) -> float:
    """Return the nanoseconds for each spin that a piece of work takes, on average."""
    spins = simulation.spins.reshape(-1)
    work()
    int(spins[0])  # wait for the device
    calls, spent = 1, 0.0
    while True:
        begin = perf_counter()
        for _ in range(calls):
            work()
        int(spins[0])
        spent = perf_counter() - begin
        if spent >= seconds:
            return spent / calls / spins.size * 1e9
        calls = max(calls + 1, int(calls * min(10, 1.2 * seconds / max(spent, 1e-6))))


def compile_all(updates: Updates, device: str) -> None:
    """Run everything once on small lattices."""
    for where in {device, "cpu"}:
        for update in ("swendsen_wang", "few_clusters"):
            updates.simulation(2, 1.0, 16, device=where, update=update).advance()
    bonds = updates.simulation(2, 1.0, 16).bonds()
    for local in LOCALS:
        labeler(SEW, bonds, device, tile=4, local=local)()
    for name in METHOD_NAMES:
        updates.simulation(2, 1.0, 16, method=name).advance()
    synchronous_steps(bonds, 4, device)
    list(updates.simulation(2, 1.0, 16).measure(3))


def over_sizes(sizes: Sequence[int], updates: Updates, clock: Clock) -> list[dict[str, Any]]:
    """Time updates over the size of the lattice: Figures 9, 10, 13 and 14."""
    rows, last = [], dict.fromkeys(METHOD_NAMES, 0.0)
    for side in sizes:
        if not clock.left():
            break
        found = {}
        for name in METHOD_NAMES:
            if last[name] * side**2 > 0.5e9 or not clock.left():  # half a second for an update
                continue
            try:
                timed = updates.relaxed if name == RELAX else partial(updates.ns, method=name)
                found[name] = timed(2, 1.0, side)
            except MemoryError as error:
                print(f"{name} is left out at L = {side}: {error}")
                continue
            last[name] = found[name]
            rows.append(row("Figure 10", name, side, found[name], **NS))
        for edge in EDGES[2:] if RELAX in found else ():
            ns = updates.ns(2, 1.0, side, RELAX, edge)
            rows.append(row("Figure 9", f"B = {edge}", side, ns, **NS))
        if side <= 8192 and clock.left():
            rows += beside_the_cpu(side, found, updates)
    return rows


def beside_the_cpu(side: int, found: dict[str, float], updates: Updates) -> list[dict[str, Any]]:
    """Time updates by one core of the CPU, of all clusters (Figure 13) and of few (Figure 14)."""
    rows, threads = [], os.environ.get("EQUILABEL_NUM_THREADS")
    os.environ["EQUILABEL_NUM_THREADS"] = "1"
    try:
        times = []
        for chosen in ({}, {"update": "few_clusters", "tile": side}):
            simulation = updates.simulation(2, 1.0, side, device="cpu", **chosen)
            times.append(time_per_site(simulation, simulation.advance, 0.1))
    finally:
        if threads is None:
            del os.environ["EQUILABEL_NUM_THREADS"]
        else:
            os.environ["EQUILABEL_NUM_THREADS"] = threads
    simulation = updates.simulation(2, 1.0, side, update="few_clusters", tile=64)
    few = time_per_site(simulation, simulation.advance, updates.seconds)
    for figure, ns in zip(("Figure 13", "Figure 14"), times, strict=True):
        rows.append(row(figure, "CPU, one core", side, ns, **NS))
    for name in (SEW, RELAX, "runs"):
        if name in found:
            rows.append(row("Figure 13", name, side, times[0] / found[name], unit=""))
    rows.append(row("Figure 14", "GPU", side, few, **NS))
    rows.append(row("Figure 14", "factor", side, times[1] / few, unit=""))
    return rows


def over_temperatures(side: int, updates: Updates, clock: Clock) -> list[dict[str, Any]]:
    """Time updates over beta (Figure 12), then those of Table I."""
    rows = []
    for ratio in RATIOS:
        if clock.left():
            for name in ("runs", SEW):
                ns = updates.ns(2, ratio, side, name)
                rows.append(row("Figure 12", name, ratio, ns, **NS))
            rows.append(row("Figure 12", RELAX, ratio, updates.relaxed(2, ratio, side), **NS))
    shown = set()
    for q, ratio, length, method in TABLE_I:
        here = length if side == 8192 else side
        for each in ("runs", method):
            name = name_of(q, ratio, here)
            if (each, name) not in shown and clock.left():
                shown.add((each, name))
                timed = updates.relaxed if each == RELAX else partial(updates.ns, method=each)
                rows.append(row("Table I", each, name, timed(q, ratio, here), **NS))
    return rows


# ----------------------------------------------------------------------- tiles


def over_tiles(sizes: Sequence[int], updates: Updates, clock: Clock) -> list[dict[str, Any]]:
    """Time labels of tiles (Figure 2), sewing (8) and the steps of an update (11)."""
    device, rows = clock.device, []
    kernels = load_passes(SEW, device)
    for side in sizes:
        if not clock.left():
            break
        simulation = updates.simulation(2, 1.0, side)
        bonds, per_spin = simulation.bonds(), 1e6 / side**2
        connect, lattice = clock.time(lambda bonds=bonds: kernels.connect(bonds))
        parts = {"activation": time_per_site(simulation, simulation.bonds, updates.seconds)}
        all_ways = side == (4096 if 4096 in sizes else sizes[-1])
        for edge in EDGES:
            ways = {
                local: per_spin * clock.time(partial(kernels.label_tiles, lattice, edge, local))[0]
                for local in (LOCALS if all_ways else LOCALS[:1])
            }
            if all_ways:
                rows += [row("Figure 2", local, edge, ns, **NS) for local, ns in ways.items()]
            own = ways[LOCALS[0]]
            whole = per_spin * clock.time(labeler(SEW, bonds, device, tile=edge))[0]
            sewing = max(whole - own - per_spin * connect, 0.0)
            rows.append(row("Figure 8", f"B = {edge}", side, sewing, **NS))
            if edge == 16:
                parts |= {"tiles": own, "sewing": sewing, "identification": whole}
        rest = updates.ns(2, 1.0, side, SEW) - parts["activation"] - parts["identification"]
        parts["flipping"] = max(rest, 0.0)
        rows += [row("Figure 11", name, side, ns, **NS) for name, ns in parts.items()]
    return rows


def relaxation_steps(sizes: Sequence[int], updates: Updates, clock: Clock) -> list[dict[str, Any]]:
    """Count relaxation steps in several configurations of each size (Figure 6)."""
    rows, many = [], 6
    for k, side in enumerate(sizes):
        own, counts = clock.share(1 / (len(sizes) - k)), []
        simulation = updates.simulation(2, 1.0, side)
        while len(counts) < many and own.left():
            bonds = simulation.advance(10).bonds()
            steps = labeler(RELAX, bonds, clock.device, tile=16)().rounds
            counts.append((steps, synchronous_steps(bonds, 16, clock.device)))
        if len(counts) > 1:
            means, errors = np.mean(counts, 0), np.std(counts, 0, ddof=1) / len(counts) ** 0.5
            for name, value in (
                ("steps of a launch each", means[0]),
                ("synchronous steps", means[1]),
                ("their error", errors[1]),
                ("configurations", len(counts)),
            ):
                rows.append(row("Figure 6", name, side // 16, float(value), unit=""))
    return rows


def synchronous_steps(bonds: Any, tile: int, device: str) -> int:
    """Count relaxation steps in which all tiles look at the labels of the step before.

    Within a launch a label may be carried on by threads that come late, through several tiles.
    """
    kernels, where, lower = load_passes(RELAX, device), arrays(device), np.minimum.at
    if device == "cuda":
        from cupyx import scatter_min as lower
    lattice = kernels.connect(bonds)
    pairs = kernels.list_borders(lattice, tile, kernels.label_tiles(lattice, tile, LOCALS[0]))
    nodes, places = where.unique(pairs, return_inverse=True)  # in the order of labels
    ends = places.reshape(-1, 2).astype(np.int32)
    labels = where.arange(nodes.size, dtype=np.int32)
    steps = 1
    while True:
        lowest, following = labels[ends].min(axis=1), labels.copy()
        for end in (0, 1):
            lower(following, ends[:, end], lowest)
        if bool((following == labels).all()):
            return steps
        labels, steps = following, steps + 1


def energies(clock: Clock, device: str, sweeps: int) -> list[dict[str, Any]]:
    """Measure the energy of the Ising model beside the exact one."""
    rows, beta = [], critical_beta(2)
    for side in ENERGY_SIDES:
        if clock.left():
            simulation = PottsSimulation((side, side), 2, beta=beta, seed=side, device=device)
            chain = simulation.advance(sweeps // 10).measure(sweeps)
            found = integrated_autocorrelation_time([each.energy for each in chain])
            for series, value in (
                ("energy", found.mean),
                ("standard error", found.standard_error),
                ("autocorrelation time", found.time),
            ):
                rows.append(row("energies", series, side, value, unit=""))
    return rows


# ---------------------------------------------------------------------- claims


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare what the paper concludes."""
    found: list[dict[str, Any]] = []
    of = partial(values, rows)

    def add(figure: str, text: str, rule: str, measured: Any, theirs: Any, **more: Any) -> None:
        found.append(claim(figure, text, rule, measured, theirs, **more))

    tiles = {local: of("Figure 2", local) for local in LOCALS}
    for local, theirs in (("union_find", 8), ("breadth_first", 13)):
        text = f"{local} over self_labeling, B = 16"
        add("Figure 2", text, "ratio", over(tiles[local], tiles["self_labeling"], 16), theirs)
    for local, edges, power in (
        ("union_find", EDGES, 2),
        ("breadth_first", EDGES, 2),
        ("self_labeling", EDGES[:2], D_MIN),
        ("self_labeling", EDGES[2:], 2 + D_MIN),
    ):
        text = f"power of B in the time of a tile, {local}, B = {edges[0]} to {edges[-1]}"
        points = [(edge, tiles[local].get(edge)) for edge in edges]
        squared = [(edge, ns * edge**2) for edge, ns in points if ns]
        add("Figure 2", text, "power", partial(slope, squared), power)
    add_steps(of, add)
    add_sewing(of, add)
    add_updates(of, add)
    mean, error = of("energies", "energy"), of("energies", "standard error")
    for side in ENERGY_SIDES:
        add(
            "energies",
            f"energy at L = {side} (exact)",
            "error",
            partial(mean.__getitem__, side),
            PRINTED["energies", "energy", side],
            error=partial(error.__getitem__, side),
            paper=f"{PRINTED['energies', 'energy', side]:.5f}",
            shown=lambda side=side: f"{mean[side]:.5f} +- {error[side]:.5f}",
        )
    return found


def add_steps(of: Callable[..., dict[Any, float]], add: Callable[..., None]) -> None:
    """Compare the power of L / B in synchronous relaxation steps, from 100 on (Equation 13)."""
    steps, errors = of("Figure 6", "synchronous steps"), of("Figure 6", "their error")

    def fitted() -> tuple[float, float]:
        far = [x for x in steps if x >= 100]
        if len(far) < 2:
            raise ValueError(TOO_FEW)
        counts = np.array([steps[x] for x in far])
        weights = counts / np.array([max(errors[x], 0.5) for x in far])
        line, covariance = np.polyfit(np.log(far), np.log(counts), 1, w=weights, cov="unscaled")
        return float(line[0]), float(covariance[0, 0] ** 0.5)

    add(
        "Figure 6",
        "power of L / B in the number of steps: d_min",
        "error",
        lambda: fitted()[0],
        D_MIN_FIT,
        error=lambda: fitted()[1],
        shown=lambda: "{:.3f} +- {:.3f}".format(*fitted()),
    )


def add_sewing(of: Callable[..., dict[Any, float]], add: Callable[..., None]) -> None:
    """Compare sewing with Equation 21, and the steps of an update with each other."""

    def deviation() -> float:
        points = [(n, b, ns) for b in EDGES for n, ns in of("Figure 8", f"B = {b}").items()]
        sides, edges, times = np.array(points, float).T
        if np.unique(sides).size < 2 or times.min() <= 0:
            raise ValueError(TOO_FEW)
        terms = np.stack([1 / sides, 1 / edges], axis=1) / times[:, None]
        found = np.linalg.lstsq(terms, np.ones(times.size))[0]
        return float(np.abs(terms @ found - 1).max())

    text = "largest deviation from a / L + b / B (Equation 21)"
    add("Figure 8", text, "fit", deviation, 0, paper="well described")
    part = {name: of("Figure 11", name) for name in ("tiles", "sewing", "activation", "flipping")}
    for sides, rule in ((SIZES[:5], "more"), (SIZES[5:], "less")):
        text = f"sewing over labels of tiles, L = {', '.join(map(str, sides))}"
        add(
            "Figure 11",
            text,
            rule,
            lambda sides=sides: [part["sewing"][side] / part["tiles"][side] for side in sides],
            1,
        )
    whole = of("Figure 10", SEW)

    def share() -> float:
        return (part["activation"][8192] + part["flipping"][8192]) / whole[8192]

    add("Figure 11", "share of activation and flipping, L = 8192", "ratio", share, 0.2)


def add_updates(of: Callable[..., dict[Any, float]], add: Callable[..., None]) -> None:
    """Compare updates by size, by temperature, and with the CPU."""
    sewn, relaxed = of("Figure 10", SEW), of("Figure 10", RELAX)
    edges = {edge: of("Figure 9", f"B = {edge}") for edge in EDGES[2:]}

    def best(sides: Sequence[int]) -> list[int]:
        return [min(edges, key=lambda edge: edges[edge][side]) for side in sides]

    large = [side for side in SIZES if side >= 4096]
    text = f"best edge of 16, 32, 64 at L = {', '.join(map(str, large))}: the largest"
    add("Figure 9", text, "same", partial(best, large), [64] * len(large))
    ns = {key: gpu for key, (_, gpu) in TABLE_I.items()}
    for one, two, a, b, side in (
        ("sewing", "relaxation", sewn, relaxed, 512),
        ("relaxation", "sewing", relaxed, sewn, 8192),
    ):
        names = f"weigel_{one}", f"weigel_{two}"
        theirs = ns[2, 1.0, side, names[0]] / ns[2, 1.0, side, names[1]]
        add("Figure 10", f"{one} over {two}, L = {side}", "ratio", over(a, b, side), theirs)
    upturn = lambda: relaxed[SIZES[-1]] / min(relaxed.values())  # noqa: E731
    add("Figure 10", "relaxation, L = 16384 over the least: it turns up", "more", upturn, 1)
    level = over(sewn, sewn, SIZES[-1], SIZES[-2])
    add("Figure 10", "sewing, L = 16384 over 8192: constant in the end", "ratio", level, 1)
    sewing, relaxing = of("Figure 12", SEW), of("Figure 12", RELAX)

    def rises() -> list[float]:
        return [sewing[b] / sewing[a] for a, b in pairwise(RATIOS)]

    text = "sewing: time at each beta over that at the one before, rising"
    add("Figure 12", text, "more", rises, 1)
    peak = partial(max, relaxing, key=relaxing.get)
    add("Figure 12", "relaxation: beta over beta_c with the longest time", "same", peak, 1.0)
    speedup, few = of("Figure 13", SEW), of("Figure 14", "factor")
    theirs = 77.39 / 3.179
    text = "GPU over one core of a CPU by sewing, L = 8192"
    add("Figure 13", text, "ratio", lambda: speedup[8192], theirs)
    add("Figure 14", "largest factor", "ratio", lambda: max(few.values()), 5)
    text = "factor over that of all clusters by sewing, L = 8192"
    add("Figure 14", text, "less", over(few, speedup, 8192), 1)


if __name__ == "__main__":
    main("weigel")
