"""Figures 5 to 7 and 10 of Komura (2016): bond percolation on three lattices.

The lattices are honeycomb, triangular and Bethe lattices.

Figures 5 and 6: the probability that a cluster joins two opposite sides, and the threshold where
curves of all sizes cross. The same seed opens the same bonds in the same order as the probability
rises, so the probability from which on a lattice spans is found by bisection: its distribution is
the curve. Its mean and its width shrink together, and the line through them meets width 0 at the
threshold, where curves cross.

Figures 7 and 10: the time to label one realization, as a lattice of bonds, one bit each, and as a
graph, which is the nearest to the paper's list of neighbors. The paper's times are those of a GTX
TITAN X. Run as ``python komura.py --device cuda``.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import Graph, label_graph
from equilabel.devices import place
from equilabel.domains import lattices
from experiment import TOO_FEW, Clock, Figure, claim, labeler, main, over, row, slope, values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES, QUICK = (512, 1024, 2048, 4096), (32, 64, 128)
SAMPLES = {512: 600, 1024: 500, 2048: 400, 4096: 200}  # realizations; fewer if time runs out
EXACT = {
    "honeycomb": 1 - 2 * math.sin(math.pi / 18),
    "triangular": 2 * math.sin(math.pi / 18),
}
ESTIMATES = {"honeycomb": 0.6527, "triangular": 0.3472}  # each +- 0.0002
ERROR = 0.0002
NETWORK = "it is a drawing of the method; tests/papers/test_methods.py goes through it"
FIGURES = {
    "Figure 1": Figure("A network and its lists of neighbors", because=NETWORK),
    "Figure 2": Figure("The network after initialization", because=NETWORK),
    "Figure 3": Figure("The network after label reduction", because=NETWORK),
    "Figure 4": Figure("The network after the last analysis", because=NETWORK),
    "Figure 5": Figure("Honeycomb lattice: probability to span", "p", "share that spans"),
    "Figure 5, sizes": Figure("Honeycomb lattice: open bonds where it spans", "side", "p"),
    "Figure 6": Figure("Triangular lattice: probability to span", "p", "share that spans"),
    "Figure 6, sizes": Figure("Triangular lattice: open bonds where it spans", "side", "p"),
    "Figure 7": Figure("Honeycomb and triangular lattices", "sites"),
    "Figure 8": Figure("A Bethe lattice, standard order", because="it shows one realization"),
    "Figure 9": Figure("A Bethe lattice, random order", because="it shows one realization"),
    "Figure 10": Figure("Bethe lattice of 3 neighbors", "sites"),
}
THRESHOLDS = {"honeycomb": "Figure 5", "triangular": "Figure 6"}
MAKERS: dict[str, Callable[..., Any]] = {
    "honeycomb": lattices.honeycomb,
    "triangular": lattices.triangular,
}
AT_16M = {"honeycomb": 5.8, "triangular": 7.2}  # ms at 0.5 p_c; text of Section 4
RATIO_16M = {"honeycomb": 1.4, "triangular": 1.7}  # time at 1.5 p_c over that at 0.5 p_c
LARGEST, TREE = 4096**2, 12_582_910
PRINTED = {
    ("Figure 10", "random, 0.5 p_c", TREE): 7.1,
    ("Figure 10", "random, 1.5 p_c", TREE): 21.0,
    ("Figure 10", "standard, 1.5 p_c", TREE): 21.0 / 8,
}
for name, ms in AT_16M.items():
    for kind in (name, f"{name} as a graph"):
        PRINTED["Figure 7", f"{kind}, 0.5 p_c", LARGEST] = ms
        PRINTED["Figure 7", f"{kind}, 1.5 p_c", LARGEST] = ms * RATIO_16M[name]


def run(device: str, sizes: Sequence[int], clock: Clock) -> list[dict[str, Any]]:
    """Find both thresholds, then time both lattices and the Bethe lattice."""
    start = place(np.zeros(1), device)
    small = lattices.triangular(4, like=start)
    clock.warm(labeler("komura", small, device), labeler("komura", Graph.from_bonds(small), device))
    rows = []
    for name, part in zip(MAKERS, (0.3, 0.43), strict=True):
        rows += threshold(name, sizes, clock.share(part), start)
    rows += lattice_times(sizes, clock.share(0.5), start)
    return rows + bethe_times(sizes, clock, start)


# ------------------------------------------------------------ Figures 5 and 6


def spans(bonds: Any, device: str) -> bool:
    """Tell whether a cluster joins the first row of a lattice with the last."""
    labels = label_graph(bonds, method="komura", device=device)
    first, last = labels[0], labels[-1]
    seen = np.zeros(int(labels.max()) + 1, np.bool_, like=labels)
    seen[first] = True
    return bool(seen[last].any())


def spanning_point(name: str, side: int, seed: int, device: str, like: Any) -> float:
    """Return the probability from which on a realization spans, by bisection."""
    width = 1.5 * side**-0.75  # four standard deviations and more
    low, high = max(EXACT[name] - width, 0.0), min(EXACT[name] + width, 1.0)
    while high - low > width / 2000:
        middle = (low + high) / 2
        bonds = MAKERS[name](side, open_probability=middle, seed=seed, like=like)
        low, high = (low, middle) if spans(bonds, device) else (middle, high)
    return (low + high) / 2


def threshold(name: str, sizes: Sequence[int], clock: Clock, like: Any) -> list[dict[str, Any]]:
    """Measure from which probability on lattices of each size span."""
    figure = THRESHOLDS[name]
    rows, spread = [], {}
    for k, side in enumerate(sizes):
        own = clock.share(1 / (len(sizes) - k))
        found: list[float] = []
        while len(found) < SAMPLES.get(side, 60) and (own.left() or len(found) < 8):
            found.append(spanning_point(name, side, len(found), clock.device, like))
        spread[side] = np.array(found)
        mean, width = float(np.mean(found)), float(np.std(found, ddof=1))
        for series, value in (("mean", mean), ("width", width), ("realizations", len(found))):
            rows.append(row(f"{figure}, sizes", series, side, value, unit=""))
    reach = 2 * float(np.std(spread[sizes[0]], ddof=1))
    for p in np.linspace(EXACT[name] - reach, EXACT[name] + reach, 9):
        for side, each in spread.items():
            share = float((each <= p).mean())
            rows.append(row(figure, f"N = {side**2}", round(float(p), 5), share, unit=""))
    return rows


def crossing(rows: list[dict[str, Any]], name: str) -> tuple[float, float]:
    """Fit ``mean = threshold + slope * width`` over sizes; return the threshold and its error."""
    means, widths, counts = (
        np.array(list(values(rows, f"{THRESHOLDS[name]}, sizes", key).values()))
        for key in ("mean", "width", "realizations")
    )
    if means.size < 2:
        raise ValueError(TOO_FEW)
    errors = widths / np.sqrt(counts)
    fitted, covariance = np.polyfit(widths, means, 1, w=1 / errors, cov="unscaled")
    return float(fitted[1]), float(math.sqrt(covariance[1, 1]))


# ----------------------------------------------------------- Figures 7 and 10


def lattice_times(sizes: Sequence[int], clock: Clock, like: Any) -> list[dict[str, Any]]:
    """Time realizations at 0.5, 1 and 1.5 times the threshold, from the largest lattice down."""
    rows: list[dict[str, Any]] = []
    for side in reversed(sizes):
        for name, make in MAKERS.items():
            for ratio in (0.5, 1.0, 1.5):
                if not clock.left():
                    return by_size(rows)
                bonds = make(side, open_probability=ratio * EXACT[name], like=like)
                for kind, domain in (
                    (name, bonds),
                    (f"{name} as a graph", Graph.from_bonds(bonds)),
                ):
                    ms, _ = clock.time(labeler("komura", domain, clock.device))
                    rows.append(row("Figure 7", f"{kind}, {ratio} p_c", side**2, ms))
    return by_size(rows)


def bethe_times(sizes: Sequence[int], clock: Clock, like: Any) -> list[dict[str, Any]]:
    """Time Bethe lattices numbered from the center and at random, of six sizes."""
    rows: list[dict[str, Any]] = []
    largest = round(math.log2(sizes[-1] ** 2 / 3))  # generations: 22 in the paper
    for generations in range(largest, max(largest - 6, 0), -1):
        for order in ("standard", "random"):
            for ratio in (0.5, 1.0, 1.5):
                if not clock.left():
                    return by_size(rows)
                p = 0.5 * ratio
                graph = lattices.bethe(3, generations, order, open_probability=p, like=like)
                ms, _ = clock.time(labeler("komura", graph, clock.device))
                rows.append(row("Figure 10", f"{order}, {ratio} p_c", graph.size, ms))
    return by_size(rows)


def by_size(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows by the number of sites."""
    return sorted(rows, key=lambda each: each["x"])


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare what the text of the paper concludes."""
    found = []
    for name, exact in EXACT.items():
        found.append(
            claim(
                THRESHOLDS[name],
                f"threshold of the {name} lattice (exact: {exact:.6f})",
                "error",
                lambda name=name: crossing(rows, name)[0],
                ESTIMATES[name],
                error=lambda name=name: math.hypot(crossing(rows, name)[1], ERROR),
                paper=f"{ESTIMATES[name]} +- {ERROR}",
                shown=lambda name=name: "{:.5f} +- {:.5f}".format(*crossing(rows, name)),
            )
        )
    of = partial(values, rows)
    for name in MAKERS:
        for kind in (name, f"{name} as a graph"):
            text = f"time at 1.5 p_c over that at 0.5 p_c, {kind}, {LARGEST} sites"
            ratio = over(
                of("Figure 7", f"{kind}, 1.5 p_c"), of("Figure 7", f"{kind}, 0.5 p_c"), LARGEST
            )
            found.append(claim("Figure 7", text, "ratio", ratio, RATIO_16M[name]))
        for p in (0.5, 1.0, 1.5):
            text = f"power of the number of sites in the time at {p} p_c, {name}"
            power = partial(slope, of("Figure 7", f"{name}, {p} p_c").items())
            found.append(claim("Figure 7", text, "power", power, 1))
    standard, random = (of("Figure 10", f"{order}, 1.5 p_c") for order in ("standard", "random"))
    three = [of("Figure 10", f"standard, {p} p_c") for p in (0.5, 1.0, 1.5)]
    late = [(sites, ms) for sites, ms in random.items() if sites >= 786_430]

    def spread() -> float:
        times = [each[TREE] for each in three]
        return max(times) / min(times)

    for text, rule, measured, theirs in (
        ("random over standard order at 1.5 p_c", "ratio", over(random, standard, TREE), 8),
        ("standard order: longest over shortest time of the three p", "ratio", spread, 1),
        ("power of the sites, standard order", "power", partial(slope, standard.items()), 1),
        ("the same in random order, from 786430 sites on", "more", partial(slope, late), 1),
    ):
        found.append(claim("Figure 10", text, rule, measured, theirs))
    return found


if __name__ == "__main__":
    main("komura")
