"""
Swendsen-Wang on a device: Weigel's Table I and Figures 2, 8, 10 to 13, theirs and ours
======================================================================================

M. Weigel, Connected-component identification and cluster update on graphics processing units, Phys.
Rev. E 84 (2011) 036709. Prints what the paper gives as numbers beside what this machine does, and
draws all that was measured. Full size on a GPU takes some minutes:

    python examples/papers/weigel.py --device cuda
    python examples/papers/weigel.py --sizes 64 128 256 --sweeps 500
"""

import argparse
from time import perf_counter

import numpy as np

from equilabel import METHODS, PottsSimulation
from equilabel.simulation import (
    critical_beta,
    exact_ising_energy,
    integrated_autocorrelation_time,
)

# Table I, GPU: q, beta over the critical one, L, method, card, ns per spin and sweep.
TABLE_I = [
    (2, 1.0, 512, "relaxation", "GTX 480", 6.533),
    (2, 1.0, 512, "sewing", "GTX 480", 12.17),
    (2, 1.0, 8192, "sewing", "GTX 480", 3.179),
    (2, 1.0, 8192, "sewing", "GTX 580", 2.697),
    (2, 1.0, 8192, "sewing", "M2070", 3.934),
    (2, 1.0, 16384, "sewing", "M2070", 3.573),
    (2, 1.0, 8192, "relaxation", "GTX 480", 7.154),
    (2, 0.6, 8192, "sewing", "GTX 480", 1.863),
    (2, 1.4, 8192, "sewing", "GTX 480", 4.164),
    (3, 1.0, 8192, "sewing", "GTX 480", 3.059),
    (4, 1.0, 8192, "sewing", "GTX 480", 2.887),
]
CPU = 77.39  # ns per spin at L = 8192 on one core of a Q6700
BEST = 2.697  # his fastest
STEPS = {"activation": 0.46, "identification": 2.52, "flipping": 0.20}  # Section II E, GTX 480
LOCAL = (
    "tiles by breadth-first search 13.4, by union-find 8.6, by self-labeling 1.08 (B = 16); "
    "sewing 0.78 (B = 16)"
)
LI_SOKAL = {2: 0.0, 3: 0.4, 4: 1.0}  # alpha / nu, a lower bound of z for energies
SECONDS = 0.5  # to spend on one time, at least
METHOD_NAMES = [row.name for row in METHODS.values() if "bonds" in row.domains]


def wait(array):
    """Wait until a device has computed an array."""
    return int(array.reshape(-1)[0])


def time_per_site(work, array, sites, seconds):
    """Return the nanoseconds per site that a piece of work takes, on the average of many calls."""
    work()
    wait(array)
    calls, spent = 1, 0.0
    while True:
        begin = perf_counter()
        for _ in range(calls):
            work()
        wait(array)
        spent = perf_counter() - begin
        if spent >= seconds:
            return spent / calls / sites * 1e9
        calls = max(calls + 1, int(calls * min(10, 1.2 * seconds / max(spent, 1e-6))))


def equilibrium(side, q, ratio, options):
    """Return a simulation near equilibrium."""
    beta = ratio * critical_beta(q)
    start = "hot" if ratio <= 1 else "cold"
    return PottsSimulation((side, side), q, beta=beta, start=start, **options).advance(30)


def time_sweep(simulation, seconds):
    """Return the nanoseconds per spin of a sweep."""
    work = simulation.advance
    return time_per_site(work, simulation.spins, simulation.spins.size, seconds)


def time_steps(simulation, seconds):
    """Return the nanoseconds per spin of activation, and of the other two steps together."""
    spins = simulation.spins
    activation = time_per_site(simulation.bonds, spins, spins.size, seconds)
    return activation, time_sweep(simulation, seconds) - activation


def show_table(sizes, options, seconds):
    """Print Table I beside our times at the same parameters, or at the largest size there is."""
    print(f"\nTable I: ns per spin and sweep, ours by {options['method']} on {options['device']}")
    print("q  beta/beta_c  L      theirs (card, method)          L here    ours   factor")
    known = {}
    for q, ratio, side, method, card, theirs in TABLE_I:
        here = side if side in sizes else max(sizes)
        key = q, ratio, here
        if key not in known:
            known[key] = time_sweep(equilibrium(here, q, ratio, options), seconds)
        ours = known[key]
        name = f"{theirs:6.3f} ({card}, {method})"
        print(
            f"{q}  {ratio:<11}  {side:<5}  {name:<30} {here:<6} {ours:8.3f}  {theirs / ours:6.1f}"
        )


def scan_sizes(sizes, options, seconds):
    """Return the times over L for each method (Figure 10)."""
    print("\nFigure 10: ns per spin over L at beta_c, q = 2")
    print("method             " + "".join(f"{side:>10}" for side in sizes))
    times = {}
    for name in METHOD_NAMES:
        chosen = options | {"method": name}
        times[name] = [time_sweep(equilibrium(side, 2, 1.0, chosen), seconds) for side in sizes]
        print(f"{name:<18} " + "".join(f"{each:10.3f}" for each in times[name]))
    best = min(times[name][-1] for name in times)
    print(f"best at L = {sizes[-1]}: {best:.3f} ns, {BEST / best:.1f} times as fast as {BEST} ns;")
    print(f"Figure 13: {CPU / best:.0f} times as fast as his CPU at L = 8192, his GPU 29 times")
    return times


def scan_tiles(edges, side, options, seconds):
    """Print the times over the edge B of tiles, for each way to label them (Figures 2 and 8)."""
    for name in (name for name in METHOD_NAMES if "tile" in METHODS[name].options):
        print(f"\nFigures 2 and 8: ns per spin and sweep over B, {name}, L = {side}, q = 2, beta_c")
        print(f"{'B':<18} " + "".join(f"{edge:>10}" for edge in edges))
        for local in METHODS[name].options["local"].choices:
            times = []
            for edge in edges:
                chosen = {"method": name, "method_options": {"tile": edge, "local": local}}
                simulation = equilibrium(side, 2, 1.0, options | chosen)
                times.append(time_sweep(simulation, seconds))
            print(f"{local:<18} " + "".join(f"{each:10.3f}" for each in times))
    print(f"\ntheirs, ns per spin of one step on a GTX 480: {LOCAL}")


def scan_steps(side, options, seconds):
    """Return the times of the steps (Figure 11)."""
    activation, rest = time_steps(equilibrium(side, 2, 1.0, options), seconds)
    print(f"\nFigure 11: ns per spin of the steps at L = {side} (theirs: L = 8192, GTX 480)")
    print(f"activation                  {STEPS['activation']:6.2f}   {activation:8.3f}")
    theirs = STEPS["identification"] + STEPS["flipping"]
    print(f"identification and flipping {theirs:6.2f}   {rest:8.3f}")
    return activation, rest


def scan_temperatures(side, options, seconds):
    """Return the times over beta (Figure 12)."""
    ratios = [0.2, 0.6, 0.8, 1.0, 1.2, 1.4, 2.0]
    times = [time_sweep(equilibrium(side, 2, ratio, options), seconds) for ratio in ratios]
    print(f"\nFigure 12: ns per spin over beta at L = {side} (theirs: sewing, L = 8192, GTX 480)")
    known = {0.6: 1.863, 1.0: 3.179, 1.4: 4.164}
    for ratio, ours in zip(ratios, times, strict=True):
        print(f"beta = {ratio:.1f} beta_c   {known.get(ratio, float('nan')):6.3f}   {ours:8.3f}")
    return ratios, times


def scan_energies(sizes, sweeps, options):
    """Print energies beside the exact ones, and return autocorrelation times of q = 2, 3, 4."""
    print(f"\nEnergies at beta_c beside Ferdinand and Fisher's, {sweeps} sweeps")
    print("q  L     energy                exact       deviation  autocorrelation time")
    times = {}
    for q in (2, 3, 4):
        beta, times[q] = critical_beta(q), []
        for side in sizes:
            shape = (side, side)
            simulation = PottsSimulation(shape, q, beta=beta, seed=side, **options)
            chain = simulation.advance(sweeps // 10).measure(sweeps)
            found = integrated_autocorrelation_time([m.energy for m in chain])
            exact = exact_ising_energy(shape, beta) if q == 2 else -(1 + 1 / np.sqrt(q))
            off = (found.mean - exact) / found.standard_error
            note = f"{off:+5.1f} errors" if q == 2 else "L = inf     "
            value = f"{found.mean:.6f} +- {found.standard_error:.6f}"
            print(f"{q}  {side:<4}  {value}  {exact:.6f}   {note}", end="")
            print(f"{found.time:8.2f} +- {found.error:.2f}")
            times[q].append(found.time)
        if len(sizes) > 1:
            z = np.polyfit(np.log(sizes), np.log(times[q]), 1)[0]
            print(
                f"   time ~ L^z with z = {z:.2f}; the bound of Li and Sokal is {[0, 0.4, 1][q - 2]}"
            )
    return times


def draw(path, sizes, by_method, temperatures, energies):
    """Draw the three scans."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for name, times in by_method.items():
        panels[0].loglog(sizes, times, marker="o", markersize=3, label=name)
    panels[0].axhline(BEST, color="gray", linestyle="--", label="Weigel, GTX 580")
    panels[0].set(xlabel="L", ylabel="ns per spin", title="Figure 10")
    panels[1].plot(*temperatures, marker="o", markersize=3)
    panels[1].set(xlabel="beta / beta_c", ylabel="ns per spin", title="Figure 12")
    for q, times in energies[1].items():
        panels[2].loglog(energies[0], times, marker="o", markersize=3, label=f"q = {q}")
    panels[2].set(xlabel="L", ylabel="sweeps", title="Autocorrelation time of the energy")
    for panel in (panels[0], panels[2]):
        panel.legend(frameon=False)
    figure.savefig(path)
    plt.close(figure)


def main(arguments=None):
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--method", default="auto", help="identifies clusters, but in Figure 10")
    parser.add_argument("--sizes", type=int, nargs="+", help="L of times")
    parser.add_argument("--tiles", type=int, nargs="+", default=[4, 8, 16, 32, 64], help="B")
    parser.add_argument("--energy-sizes", type=int, nargs="+", default=[16, 32, 64])
    parser.add_argument("--sweeps", type=int, default=20_000, help="of energies")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for one time, at least")
    parser.add_argument("--output", default="weigel.png", help="file of the figure")
    chosen = parser.parse_args(arguments)
    large = [512, 1024, 2048, 4096, 8192, 16384]
    sizes = sorted(chosen.sizes or (large if chosen.device != "cpu" else [128, 256, 512, 1024]))
    options = {"device": chosen.device, "method": chosen.method}
    show_table(sizes, options, chosen.seconds)
    by_method = scan_sizes(sizes, {"device": chosen.device}, chosen.seconds)
    scan_tiles(chosen.tiles, sizes[-1], {"device": chosen.device}, chosen.seconds)
    scan_steps(sizes[-1], options, chosen.seconds)
    temperatures = scan_temperatures(sizes[-1], options, chosen.seconds)
    energies = scan_energies(chosen.energy_sizes, chosen.sweeps, options)
    draw(chosen.output, sizes, by_method, temperatures, (chosen.energy_sizes, energies))
    print(f"\nFigures: {chosen.output}")


if __name__ == "__main__":
    main()
