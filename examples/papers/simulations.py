"""Weigel (2011), Apostolakis et al. (1991) and percolation exponents as rows beside the papers.

Measures with `weigel.py`, `apostolakis_cycles.py` and `percolation_clusters.py`, which print and
draw by themselves, too: Table I and Figures 2, 6, 8, 10 to 13 of Weigel, energies against those of
Ferdinand and Fisher, Figure 1 of Apostolakis et al. for percolation and for Ising spins, and the
sizes of percolation clusters. Run as ``python simulations.py --device cuda``.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import apostolakis_cycles
import percolation_clusters
import weigel
from equilabel import METHODS, PottsSimulation
from equilabel.devices import passes
from equilabel.simulation import (
    critical_beta,
    exact_ising_energy,
    integrated_autocorrelation_time,
)
from experiment import (
    Clock,
    Figure,
    arguments,
    claim,
    labeler,
    near,
    row,
    show,
    slope,
    store,
    values,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES, QUICK = (512, 1024, 2048, 4096, 8192, 16384), (64, 128, 256)
EDGES = (4, 8, 16, 32, 64)  # of tiles
LOCALS = ("self_labeling", "union_find", "breadth_first")
LOCAL_NS = {"self_labeling": 1.08, "union_find": 8 * 1.08, "breadth_first": 13 * 1.08}  # B = 16
SEWING_NS = 0.78  # B = 16, Section II C 2
CYCLES = {"cpu": (7, 40), "cuda": (12, 40)}  # largest log2 L, configurations
NS = {"unit": "ns"}
FIGURES = {
    "Weigel, Table I": Figure("Swendsen-Wang updates of the Potts model", "q, beta, L", "ns"),
    "Weigel, Figure 2": Figure("Labels of tiles at beta_c, q = 2, for each spin", "B", "ns"),
    "Weigel, Figure 6": Figure("Relaxation steps at beta_c, q = 2, B = 16", "L / B", "steps"),
    "Weigel, Figure 8": Figure("Hierarchical sewing at beta_c, q = 2, for each spin", "B", "ns"),
    "Weigel, Figure 10": Figure("Updates at beta_c, q = 2, for each spin", "L", "ns"),
    "Weigel, Figure 11": Figure("Steps of an update at beta_c, q = 2", "step", "ns"),
    "Weigel, Figure 12": Figure("Updates over the inverse temperature", "beta / beta_c", "ns"),
    "Weigel, energies": Figure("Energy of the Ising model at beta_c for each spin", "L", "energy"),
    "Apostolakis, Figure 1": Figure("Cycles until labels are final, at criticality", "L", "cycles"),
    "Percolation": Figure("Clusters at the threshold, by accumulated sizes", "quantity", "power"),
}


def run(
    device: str, sizes: Sequence[int], clock: Clock, seconds: float = 0.2, sweeps: int = 4000
) -> list[dict[str, Any]]:
    """Measure everything; `seconds` is the least time for one point."""
    options = {"device": device}
    clock.warm(lambda: compile_all(device))
    rows = table(sizes, clock.share(0.25), options, seconds)
    rows += over_sizes(sizes, clock.share(0.35), options, seconds)
    rows += over_tiles(sizes, clock.share(0.3), options)
    rows += steps_and_temperatures(sizes, clock.share(0.3), options, seconds)
    rows += energies(clock.share(0.4), options, sweeps)
    rows += cycles(clock.share(0.6), device)
    rows += exponents(clock, device, sizes)
    return rows + claims(rows)


def compile_all(device: str) -> None:
    """Run everything once on small lattices."""
    for name in weigel.METHOD_NAMES:
        weigel.equilibrium(16, 2, 1.0, {"device": device, "method": name})
    bonds = critical_bonds(16, device)
    for local in LOCALS:
        labeler("weigel_sewing", bonds, device, tile=4, local=local)()
    labeler("weigel_relaxation", bonds, device)()
    labeler("apostolakis", bonds, device)()
    list(PottsSimulation((16, 16), 2, beta=1.0, device=device).measure(3))
    percolation_clusters.measure_clusters(0, 16, device, "kalentev")


def table(
    sizes: Sequence[int], clock: Clock, options: dict[str, Any], seconds: float
) -> list[dict[str, Any]]:
    """Time the updates of Table I, at the sizes that are asked for."""
    found: dict[Any, dict[str, Any]] = {}
    for q, ratio, side, method, card, theirs in weigel.TABLE_I:
        known = side in sizes
        here = side if known else max(sizes)
        name = f"q = {q}, {ratio:g} beta_c, {here}"
        if not clock.left() or (not known and name in found):
            continue
        if name not in found:
            simulation = weigel.equilibrium(here, q, ratio, options)
            ours = weigel.time_sweep(simulation, seconds)
            found[name] = row("Weigel, Table I", "update", name, ours, **NS)
        each = found[name]
        if known and (each["paper"] is None or theirs < each["paper"]):  # his fastest card
            each |= {"paper": theirs, "note": f"{card}, {method}"}
    return list(found.values())


def over_sizes(
    sizes: Sequence[int], clock: Clock, options: dict[str, Any], seconds: float
) -> list[dict[str, Any]]:
    """Time updates with each method over the size of the lattice (Figure 10)."""
    rows, last = [], dict.fromkeys(weigel.METHOD_NAMES, 0.0)
    for side in sizes:
        if not clock.left():
            break
        state = weigel.equilibrium(side, 2, 1.0, options).state()
        for name, before in last.items():
            if before * side**2 > 0.5e9 or not clock.left():  # half a second for an update
                continue
            try:
                simulation = PottsSimulation.resume(state, method=name, **options)
                ours = weigel.time_sweep(simulation, seconds)
            except MemoryError as error:
                print(f"{name} is left out at L = {side}: {error}")
                last[name] = math.inf
                continue
            last[name] = ours
            printed = 2.697 if (name, side) == ("weigel_sewing", 8192) else None
            rows.append(row("Weigel, Figure 10", name, side, ours, printed, **NS))
    return rows


def critical_bonds(side: int, device: str) -> Any:
    """Return the bonds of Ising spins near equilibrium at the critical temperature."""
    return weigel.equilibrium(side, 2, 1.0, {"device": device}).bonds()


def over_tiles(sizes: Sequence[int], clock: Clock, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Time labels of tiles and sewing over the edge of tiles (Figures 2, 8); count steps (6)."""
    device, rows = clock.device, []
    bonds = critical_bonds(sizes[-1], device)
    kernels = passes("weigel_sewing", device)
    lattice = kernels.connect(bonds)
    per_spin = 1e6 / bonds.size
    for edge in EDGES:
        own = dict.fromkeys(LOCALS, 0.0)
        for local in LOCALS:
            if not clock.left():
                return rows
            own[local], _ = clock.time(lambda e=edge, by=local: kernels.label_tiles(lattice, e, by))
            printed = LOCAL_NS[local] if edge == 16 else None
            ours = own[local] * per_spin
            rows.append(row("Weigel, Figure 2", local, edge, ours, printed, **NS))
        whole, _ = clock.time(labeler("weigel_sewing", bonds, device, tile=edge))
        ours = max(whole - own["self_labeling"], 0.0) * per_spin
        printed = SEWING_NS if edge == 16 else None
        rows.append(row("Weigel, Figure 8", "sewing", edge, ours, printed, **NS))
    for side in sizes:
        if clock.left():
            found = labeler("weigel_relaxation", critical_bonds(side, device), device, tile=16)()
            rows.append(row("Weigel, Figure 6", "steps", side // 16, found.rounds, unit=""))
    return rows


def steps_and_temperatures(
    sizes: Sequence[int], clock: Clock, options: dict[str, Any], seconds: float
) -> list[dict[str, Any]]:
    """Time the steps of an update (Figure 11), and updates over beta (Figure 12)."""
    side = 8192 if 8192 in sizes else max(sizes)
    same = side == 8192
    simulation = weigel.equilibrium(side, 2, 1.0, options)
    activation, rest = weigel.time_steps(simulation, seconds)
    theirs = weigel.STEPS
    rows = [
        row("Weigel, Figure 11", "step", "activation", activation, theirs["activation"], **NS),
        row(
            "Weigel, Figure 11",
            "step",
            "identification and flipping",
            rest,
            theirs["identification"] + theirs["flipping"],
            **NS,
        ),
    ]
    known = {0.6: 1.863, 1.0: 3.179, 1.4: 4.164} if same else {}
    for ratio in (0.2, 0.6, 0.8, 1.0, 1.2, 1.4, 2.0):
        if clock.left():
            ours = weigel.time_sweep(weigel.equilibrium(side, 2, ratio, options), seconds)
            rows.append(row("Weigel, Figure 12", "update", ratio, ours, known.get(ratio), **NS))
    return rows


def energies(clock: Clock, options: dict[str, Any], sweeps: int) -> list[dict[str, Any]]:
    """Measure the energy of the Ising model beside the exact one."""
    rows, beta = [], critical_beta(2)
    for side in (16, 32, 64):
        if clock.left():
            simulation = PottsSimulation((side, side), 2, beta=beta, seed=side, **options)
            chain = simulation.advance(sweeps // 10).measure(sweeps)
            found = integrated_autocorrelation_time([each.energy for each in chain])
            exact = exact_ising_energy((side, side), beta)
            rows += [
                row("Weigel, energies", "energy", side, found.mean, exact, unit=""),
                row("Weigel, energies", "standard error", side, found.standard_error, unit=""),
                row("Weigel, energies", "autocorrelation time", side, found.time, unit=""),
            ]
    return rows


def cycles(clock: Clock, device: str) -> list[dict[str, Any]]:
    """Count cycles of the multi-grid labeler for percolation and for Ising spins."""
    largest, configurations = CYCLES[device]
    beta = critical_beta(2)

    def spins(side: int, random: np.random.Generator) -> Any:
        seed = int(random.integers(2**31))
        chain = PottsSimulation((side, side), 2, beta=beta, seed=seed, device=device)
        return chain.advance(20).bonds()

    rows = []
    for power in range(3, largest + 1):
        side = 2**power
        many = configurations if power < 11 else 10
        for name, make in (("percolation", apostolakis_cycles.percolation), ("Ising", spins)):
            if clock.left():
                counted = apostolakis_cycles.count_cycles(make, [side], many, device)[0]
                rows.append(row("Apostolakis, Figure 1", name, side, counted.mean, unit=""))
    return rows


def exponents(clock: Clock, device: str, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Fit the exponents of sizes and perimeters of percolation clusters."""
    side = 8192 if device == "cuda" and max(sizes) >= 8192 else 512
    if not clock.left():
        return []
    smallest = 256 if side > 2048 else 32
    repeats = 4 if side > 2048 else 8
    asked = {"side": side, "device": device, "method": "kalentev", "repeats": repeats}
    found = percolation_clusters.estimate(SimpleNamespace(**asked, smallest=smallest))
    centers, counts, densities, perimeters = found
    rows = []
    for name, each, sign, known in (
        ("tau", densities, -1, percolation_clusters.TAU),
        ("perimeter", perimeters, 1, 1.0),
    ):
        powers = [sign * percolation_clusters.slope(centers, line, counts) for line in each]
        error = float(np.std(powers, ddof=1) / math.sqrt(len(powers)))
        mean = float(np.mean(powers))
        rows.append(row("Percolation", "power", name, mean, known, unit=""))
        rows.append(row("Percolation", "standard error", name, error, unit=""))
    return rows


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare what the papers conclude."""
    found = []
    local = values(rows, "Weigel, Figure 2", "self_labeling")
    others = [values(rows, "Weigel, Figure 2", name) for name in LOCALS[1:]]
    if 16 in local and all(16 in other for other in others):
        ratios = [other[16] / local[16] for other in others]
        text = "union-find and breadth-first search over self-labeling in tiles of B = 16"
        shown = ", ".join(f"{ratio:.1f}" for ratio in ratios)
        found.append(
            claim(
                "Weigel, Figure 2", text, "8, 13", shown, near(ratios[0], 8) and near(ratios[1], 13)
            )
        )
    steps = {x: n for x, n in values(rows, "Weigel, Figure 6", "steps").items() if x >= 16}
    if len(steps) > 2:
        power = slope(steps.items())
        text = "power of L / B in the number of relaxation steps: d_min"
        found.append(
            claim("Weigel, Figure 6", text, "1.077", f"{power:.3f}", abs(power - 1.077) < 0.1)
        )
    sizes = {name: values(rows, "Weigel, Figure 10", name) for name in METHODS}
    last = max((max(line) for line in sizes.values() if line), default=0)
    times = {name: line[last] for name, line in sizes.items() if last in line}
    if times:
        best = min(times, key=lambda name: times[name])
        factor = 2.697 / times[best]
        text = f"ns for each spin, L = {last}, best method ({best})"
        found.append(claim("Weigel, Figure 10", text, "2.697", f"{times[best]:.3f}", factor > 1))
        text = f"the best method over his CPU, 77.39 ns at L = 8192 (here {last})"
        ratio = weigel.CPU / times[best]
        found.append(claim("Weigel, Figure 13", text, "29", f"{ratio:.0f}", ratio > 29))
    energy = values(rows, "Weigel, energies", "energy")
    errors = values(rows, "Weigel, energies", "standard error")
    for side, mean in energy.items():
        exact = exact_ising_energy((side, side), critical_beta(2))
        off = (mean - exact) / errors[side]
        text = f"energy at L = {side} off the exact one, in standard errors"
        found.append(claim("Weigel, energies", text, "0", f"{off:+.1f}", abs(off) < 3.5))
    for name in ("percolation", "Ising"):
        counted = values(rows, "Apostolakis, Figure 1", name)
        if len(counted) > 3:
            logs, means = np.log2(list(counted)), np.array(list(counted.values()))
            line = np.polyfit(logs, means, 1)
            off = float(np.abs(np.polyval(line, logs) - means).max())
            power = np.polyfit(logs, np.log2(means), 1)
            power_off = float(np.abs(2 ** np.polyval(power, logs) - means).max())
            shown = (
                f"{line[1]:.2f} + {line[0]:.2f} log2 L, {off:.2f} off at most; "
                f"L^{power[0]:.2f}, {power_off:.2f} off"
            )
            text = f"cycles rise as log2 L, not as a power of L ({name})"
            holds = off < power_off
            found.append(claim("Apostolakis, Figure 1", text, "logarithmic", shown, holds))
    power, error = (values(rows, "Percolation", key) for key in ("power", "standard error"))
    if "tau" in power:
        off = abs(power["tau"] - percolation_clusters.TAU)
        text = "tau of the sizes of clusters (exact: 187/91)"
        shown = f"{power['tau']:.4f} +- {error['tau']:.4f}"
        found.append(claim("Percolation", text, "2.0549", shown, off < max(3 * error["tau"], 0.02)))
    return found


if __name__ == "__main__":
    chosen = arguments(__doc__, SIZES, QUICK)
    results = run(chosen.device, chosen.sizes, Clock(chosen.device, chosen.seconds))
    show(results)
    print(store(chosen.out, "simulations", FIGURES, results, chosen.device))
