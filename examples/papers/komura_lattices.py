"""Figures 5 to 7 and 10 of Komura (2016): bond percolation on three lattices.

The lattices are honeycomb, triangular and Bethe lattices.

Figures 5 and 6: the probability that a cluster joins two opposite sides, and the threshold where
curves of all sizes cross. The same seed opens the same bonds in the same order as the probability
rises, so the probability from which on a lattice spans is found by bisection: its distribution is
the curve. Its mean and its width shrink together, and the line through them meets width 0 at the
threshold, where curves cross.

Figures 7 and 10: the time to label one realization, as a lattice of bonds, one bit each, and as a
graph, which is the nearest to the paper's list of neighbors. The paper's times are those of a GTX
TITAN X. Run as ``python komura_lattices.py --device cuda``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import Graph, label_graph, lattices
from equilabel.devices import place
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
    from collections.abc import Callable, Sequence

SIZES, QUICK = (512, 1024, 2048, 4096), (32, 64, 128)
SAMPLES = {512: 600, 1024: 500, 2048: 400, 4096: 200}  # realizations; fewer if time runs out
EXACT = {
    "honeycomb": 1 - 2 * math.sin(math.pi / 18),
    "triangular": 2 * math.sin(math.pi / 18),
}
ESTIMATES = {"honeycomb": 0.6527, "triangular": 0.3472}  # each +- 0.0002
ERROR = 0.0002
FIGURES = {
    "Figure 5": Figure("Honeycomb lattice: probability to span", "p", "share that spans"),
    "Figure 5, sizes": Figure("Honeycomb lattice: open bonds where it spans", "side", "p"),
    "Figure 6": Figure("Triangular lattice: probability to span", "p", "share that spans"),
    "Figure 6, sizes": Figure("Triangular lattice: open bonds where it spans", "side", "p"),
    "Figure 7": Figure("Honeycomb and triangular lattices", "sites"),
    "Figure 10": Figure("Bethe lattice of 3 neighbors", "sites"),
}
MAKERS: dict[str, Callable[..., Any]] = {
    "honeycomb": lattices.honeycomb,
    "triangular": lattices.triangular,
}
AT_16M = {("honeycomb", 0.5): 5.8, ("triangular", 0.5): 7.2}  # ms; text of Section 4
RATIO_16M = {"honeycomb": 1.4, "triangular": 1.7}  # time at 1.5 p_c over that at 0.5 p_c
BETHE = {("random", 0.5): 7.1, ("random", 1.5): 21.0, ("standard", 1.5): 21.0 / 8.0}  # 12.6 M


def run(
    device: str, sizes: Sequence[int], clock: Clock, samples: int | None = None
) -> list[dict[str, Any]]:
    """Find both thresholds, then time both lattices and the Bethe lattice."""
    start = place(np.zeros(1), device)
    small = lattices.triangular(4, like=start)
    clock.warm(labeler("komura", small, device), labeler("komura", Graph.from_bonds(small), device))
    rows, found = [], []
    for k, name in enumerate(MAKERS):
        more, claims = threshold(name, sizes, samples, clock.share((0.3, 0.43)[k]), start)
        rows += more
        found += claims
    rows += lattice_times(sizes, clock.share(0.5), start)
    rows += bethe_times(sizes, clock, start)
    return rows + found + time_claims(rows)


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


def threshold(
    name: str, sizes: Sequence[int], samples: int | None, clock: Clock, like: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure where lattices of each size span, and extrapolate to where their curves cross."""
    figure = "Figure 5" if name == "honeycomb" else "Figure 6"
    rows, points, spread = [], [], {}
    for k, side in enumerate(sizes):
        own = clock.share(1 / (len(sizes) - k))
        found: list[float] = []
        while len(found) < (samples or SAMPLES.get(side, 200)) and (own.left() or len(found) < 8):
            found.append(spanning_point(name, side, len(found), clock.device, like))
        mean, width = float(np.mean(found)), float(np.std(found, ddof=1))
        points.append((mean, width, width / math.sqrt(len(found))))
        spread[side] = np.array(found)
        for series, value in (("mean", mean), ("width", width), ("realizations", len(found))):
            rows.append(row(f"{figure}, sizes", series, side, value, unit=""))
    reach = 2 * points[0][1]
    for p in np.linspace(EXACT[name] - reach, EXACT[name] + reach, 9):
        for side, each in spread.items():
            share = float((each <= p).mean())
            rows.append(row(figure, f"N = {side**2}", round(float(p), 5), share, unit=""))
    estimate, error = crossing(points)
    exact, printed = EXACT[name], ESTIMATES[name]
    off = abs(estimate - exact)
    return rows, [
        claim(
            figure,
            f"threshold of the {name} lattice (exact: {exact:.6f})",
            f"{printed} +- {ERROR}",
            f"{estimate:.5f} +- {error:.5f}",
            off < 3 * error and off < max(ERROR, 3 * error),
        )
    ]


def crossing(points: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Fit ``mean = threshold + slope * width``, and return the threshold with its error.

    Parameters
    ----------
    points : sequence of (mean, width, error of the mean)
    """
    mean, width, error = np.array(points).T
    design = np.stack([np.ones(len(points)), width], axis=1) / error[:, None]
    covariance = np.linalg.inv(design.T @ design)
    fitted = covariance @ design.T @ (mean / error)
    return float(fitted[0]), float(math.sqrt(covariance[0, 0]))


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
                same = side == 4096
                printed = AT_16M.get((name, ratio)) if same else None
                if same and ratio == 1.5:
                    printed = RATIO_16M[name] * AT_16M[name, 0.5]
                ms, _ = clock.time(labeler("komura", bonds, clock.device))
                rows.append(row("Figure 7", f"{name}, {ratio} p_c", side**2, ms, printed))
                graph = Graph.from_bonds(bonds)
                ms, _ = clock.time(labeler("komura", graph, clock.device))
                series = f"{name} as a graph, {ratio} p_c"
                rows.append(row("Figure 7", series, side**2, ms, printed))
    return by_size(rows)


def bethe_times(sizes: Sequence[int], clock: Clock, like: Any) -> list[dict[str, Any]]:
    """Time Bethe lattices of about as many sites, numbered from the center and at random."""
    rows: list[dict[str, Any]] = []
    for side in reversed(sizes):
        generations = max(round(math.log2(side**2 / 3)), 1)  # 22 for the largest of the paper
        for order in ("standard", "random"):
            for ratio in (0.5, 1.0, 1.5):
                if not clock.left():
                    return by_size(rows)
                graph = lattices.bethe(
                    3, generations, order, open_probability=0.5 * ratio, like=like
                )
                printed = BETHE.get((order, ratio)) if generations == 22 else None
                ms, _ = clock.time(labeler("komura", graph, clock.device))
                rows.append(row("Figure 10", f"{order}, {ratio} p_c", graph.size, ms, printed))
    return by_size(rows)


def by_size(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows by the number of sites."""
    return sorted(rows, key=lambda each: each["x"])


def time_claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare what the text of the paper concludes about times."""
    found = []
    for name in MAKERS:
        for kind in (name, f"{name} as a graph"):
            low = values(rows, "Figure 7", f"{kind}, 0.5 p_c")
            high = values(rows, "Figure 7", f"{kind}, 1.5 p_c")
            last = max(set(low) & set(high), default=0)
            if last:
                ratio = high[last] / low[last]
                text = f"time at 1.5 p_c over that at 0.5 p_c, {kind}, {last} sites"
                printed = RATIO_16M[name]
                holds = near(ratio, printed)
                found.append(claim("Figure 7", text, f"{printed}", f"{ratio:.2f}", holds))
        points = [(n, ms) for n, ms in values(rows, "Figure 7", f"{name}, 1.0 p_c").items()]
        if len(points) > 1:
            power = slope(points[-3:])
            text = f"power of the number of sites in the time at p_c, {name}"
            found.append(claim("Figure 7", text, "1", f"{power:.2f}", abs(power - 1) < 0.2))
    random = values(rows, "Figure 10", "random, 1.5 p_c")
    standard = values(rows, "Figure 10", "standard, 1.5 p_c")
    last = max(set(random) & set(standard), default=0)
    if last:
        ratio = random[last] / standard[last]
        text = f"random order over standard order at 1.5 p_c, {last} sites"
        found.append(claim("Figure 10", text, "8.0", f"{ratio:.1f}", near(ratio, 8)))
        times = [values(rows, "Figure 10", f"standard, {p} p_c").get(last) for p in (0.5, 1.0, 1.5)]
        known = [each for each in times if each is not None]
        spread = max(known) / min(known)
        text = f"standard order: longest over shortest of the three probabilities, {last} sites"
        found.append(claim("Figure 10", text, "almost 1", f"{spread:.2f}", spread < 1.5))
    return found


if __name__ == "__main__":
    chosen = arguments(__doc__, SIZES, QUICK)
    results = run(
        chosen.device,
        chosen.sizes,
        Clock(chosen.device, chosen.seconds),
        100 if chosen.quick else None,
    )
    show(results)
    print(store(chosen.out, "komura", FIGURES, results, chosen.device))
