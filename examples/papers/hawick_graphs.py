"""Figures 11 to 17 of Hawick et al. (2010): Kernels 1 to 3 on graphs, with those of Table 3.

Kernels 1, 2 and 3 are `hawick_1`, `hawick_2` and `hawick_3`; "ours" is the default method for
graphs, and "CPU" is `scipy.sparse.csgraph.connected_components`, which searches breadth-first in
serial. The paper prints curves, not numbers; what its text says about them is compared. Sizes are
percent of the paper's. Run as ``python hawick_graphs.py --device cuda``.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import Graph
from equilabel.devices import fetch
from experiment import (
    Clock,
    Figure,
    arguments,
    claim,
    extrapolate,
    labeler,
    near,
    row,
    show,
    slope,
    store,
    values,
)
from networks import disjoint, line, scale_free, small_world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES, QUICK = (100,), (1,)
KERNELS = {
    "ours": "auto",
    "Kernel 1": "hawick_1",
    "Kernel 2": "hawick_2",
    "Kernel 3": "hawick_3",
}
FIGURES = {
    "Figure 11": Figure("Disjoint 1: 50 million edges, 100 sets", "vertices"),
    "Figure 12": Figure("Disjoint 2: a million vertices, 100 sets", "edges"),
    "Figure 13": Figure("Disjoint 3: 5 million vertices, 60 million edges", "sets"),
    "Figure 14": Figure("Line", "vertices"),
    "Figure 15": Figure("Scale-free, 5 edges for each vertex", "vertices"),
    "Figure 16, p = 0.01": Figure("Small world, 10 neighbors, 0.01 rewired", "vertices"),
    "Figure 16, p = 0.1": Figure("Small world, 10 neighbors, 0.1 rewired", "vertices"),
    "Figure 16, p = 1": Figure("Small world, 10 neighbors, all rewired", "vertices"),
    "Figure 17": Figure("Kernel 2 and memory: small world, all rewired", "vertices"),
}
MILLION = 1_000_000
ROUND_MS = {"cpu": 0.0, "cuda": 0.06}  # a call of Kernel 3 that finds nothing to do
MOST_ARCS = 21 * MILLION  # up to which SciPy is waited for


def cases(percent: float, device: str) -> list[Any]:
    """List the figures: name, x of the points, and a maker of size and ends from x."""

    def many(count: float) -> int:
        return max(round(count * percent / 100), 20)

    edges, vertices = many(50 * MILLION), many(MILLION)
    found: list[Any] = [
        (
            "Figure 11",
            [many(k * MILLION) for k in (2, 4, 8, 16)],
            lambda n: (n, disjoint(n, edges, 100, device)),
        ),
        (
            "Figure 12",
            [many(k * MILLION) for k in (10, 20, 40, 60)],
            lambda m: (vertices, disjoint(vertices, m, 100, device)),
        ),
        (
            "Figure 13",
            [10**k for k in (0, 2, 4, 5, 6) if 10**k <= many(MILLION)],
            lambda c: (
                many(5 * MILLION),
                disjoint(many(5 * MILLION), many(60 * MILLION), c, device),
            ),
        ),
        (
            "Figure 14",
            [many(k * MILLION / 10) for k in (0.25, 0.5, 1, 2, 4, 10)],
            lambda n: (n, line(n, device)),
        ),
        (
            "Figure 15",
            [many(k * MILLION) for k in (1, 2, 5)],
            lambda n: (n, scale_free(n, 5, device)),
        ),
    ]
    for p in (0.01, 0.1, 1):
        found.append(
            (
                f"Figure 16, p = {p}",
                [many(k * MILLION) for k in (2, 6, 14)],
                lambda n, p=p: (n, small_world(n, 10, p, device)),
            )
        )
    return found


def run(device: str, percent: float, clock: Clock, limit: float = 3.0) -> list[dict[str, Any]]:
    """Label all graphs; a kernel is left out where it is expected to take more than `limit` s."""
    small = Graph.from_edges(*line(4, device))
    clock.warm(*(labeler(method, small, device) for method in methods().values()))
    rows = []
    listed = cases(percent, device)
    for k, (figure, points, make) in enumerate(listed):
        rows += measure(
            figure, list(dict.fromkeys(points)), make, clock.share(1 / (len(listed) - k + 1)), limit
        )
    rows += memory(percent, device, clock)
    return rows + claims(rows)


def methods() -> dict[str, str]:
    """Return the method of each series, with the default one by its name."""
    from equilabel.methods import find_method

    return {key: find_method(name, "graph").name for key, name in KERNELS.items()}


def measure(
    figure: str, points: Sequence[int], make: Callable[[int], Any], clock: Clock, limit: float
) -> list[dict[str, Any]]:
    """Label the graphs of a figure, from the smallest on."""
    rows: list[dict[str, Any]] = []
    found: dict[str, list[tuple[float, float]]] = {key: [] for key in (*KERNELS, "CPU")}
    for x in points:
        if not clock.left():
            break
        size, ends = make(x)
        graph = Graph.from_edges(*ends, size=size)
        components = 0
        del ends
        for key, method in methods().items():
            expected = extrapolate(found[key], x) if figure == "Figure 14" else 0.0
            if key == "Kernel 3":
                expected = max(expected, components * ROUND_MS[clock.device])
            if key == "Kernel 1":
                _ = graph.edges  # made once, before the time is taken
            if expected > 1e3 * min(limit, clock.left()) or not clock.left():
                if figure == "Figure 14" and len(found[key]) > 1:
                    rows.append(row(figure, key, x, expected, extrapolated=True))
                continue
            ms, answer = clock.time(labeler(method, graph, clock.device))
            found[key].append((x, ms))
            rows.append(row(figure, key, x, ms))
            rows.append(row(figure, f"{key}, rounds", x, answer.rounds, unit=""))
            if key == "ours":
                components = count(answer.roots)
                rows.append(row(figure, "components", x, components, unit=""))
        if graph.neighbors.size <= MOST_ARCS and clock.left():
            rows.append(row(figure, "CPU", x, scipy_time(graph)))
    return rows


def count(roots: Any) -> int:
    """Return the number of components: vertices that are their own root."""
    numbers = np.arange(roots.size, dtype=roots.dtype, like=roots)
    return int((roots == numbers).sum())


def scipy_time(graph: Graph) -> float:
    """Return the milliseconds that SciPy takes."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    neighbors = fetch(graph.neighbors)
    ones = np.ones(neighbors.size)
    matrix = csr_array((ones, neighbors, fetch(graph.offsets)), shape=(graph.size,) * 2)
    began = time.perf_counter()
    connected_components(matrix, directed=False)
    return 1e3 * (time.perf_counter() - began)


def memory(percent: float, device: str, clock: Clock) -> list[dict[str, Any]]:
    """Time what Figure 17 dissects: allocation, copies to the device, Kernel 2, release."""
    if device == "cpu":
        return []
    import cupy

    rows = []
    for millions in (2, 6, 14):
        size = max(round(millions * MILLION * percent / 100), 20)
        if not clock.left():
            break
        graph = Graph.from_edges(*small_world(size, 10, 1.0, device), size=size)
        host = fetch(graph.offsets), fetch(graph.neighbors)
        needed = sum(part.nbytes for part in host)
        began = time.perf_counter()
        block = cupy.cuda.Memory(needed)
        allocated = time.perf_counter()
        del block
        released = time.perf_counter()
        copies, _ = clock.time(lambda host=host: [cupy.asarray(part) for part in host])
        kernel, _ = clock.time(labeler("hawick_2", graph, device))
        rows += [
            row("Figure 17", "allocation", size, 1e3 * (allocated - began)),
            row("Figure 17", "copies to the device", size, copies),
            row("Figure 17", "Kernel 2", size, kernel),
            row("Figure 17", "release", size, 1e3 * (released - allocated)),
        ]
    return rows


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare what the text of the paper concludes (Section 6.2)."""
    found = []

    def of(figure: str, key: str) -> dict[Any, float]:
        return values(rows, figure, key)

    one, two = of("Figure 11", "Kernel 1"), of("Figure 11", "Kernel 2")
    if one and two:
        ratio = [one[x] / two[x] for x in one if x in two]
        text = "Kernel 1 over Kernel 2: 2 is faster at low degrees"
        shown = f"{min(ratio):.2f} to {max(ratio):.2f}"
        found.append(claim("Figure 11", text, "more than 1", shown, min(ratio) > 1))
    one, two = of("Figure 12", "Kernel 1"), of("Figure 12", "Kernel 2")
    if len(one) > 1 and len(two) > 1:
        first, last = (one[x] / two[x] for x in (min(one), max(two)))
        text = "Kernel 1 over Kernel 2 at degree 20, and at degree 120 where 1 is faster"
        shown = f"{first:.2f}, {last:.2f}"
        found.append(claim("Figure 12", text, "above 1, below 1", shown, last < 1 < first))
    one = of("Figure 13", "Kernel 1")
    if len(one) > 1:
        ratio = one[min(one)] / one[max(one)]
        text = "Kernel 1 on one component over it on the most: fewer rounds on small ones"
        found.append(claim("Figure 13", text, "more than 1", f"{ratio:.2f}", ratio > 1))
    for key, power in (("Kernel 1", 1.76), ("Kernel 2", 1.77), ("Kernel 3", 1.57), ("CPU", 1.00)):
        measured = [
            (each["x"], each["ours"])
            for each in rows
            if (each["figure"], each.get("series")) == ("Figure 14", key)
            and not each["extrapolated"]
        ]
        if len(measured) > 2:
            fitted = slope(measured)
            text = f"power of the number of vertices in the time of {key} on lines"
            close = abs(fitted - power) < 0.25
            found.append(claim("Figure 14", text, f"{power:.2f}", f"{fitted:.2f}", close))
    for key, power in (("Kernel 1", 1.06), ("Kernel 2", 1.05), ("CPU", 1.13)):
        points = of("Figure 15", key)
        if len(points) > 1:
            fitted = slope(points.items())
            text = f"power of the number of vertices in the time of {key}, scale-free"
            close = abs(fitted - power) < 0.25
            found.append(claim("Figure 15", text, f"{power:.2f}", f"{fitted:.2f}", close))
    return found + more_claims(of)


def more_claims(of: Callable[[str, str], dict[Any, float]]) -> list[dict[str, Any]]:
    """Compare small worlds with each other, and the best kernel with the CPU."""
    found = []
    worlds = [of(f"Figure 16, p = {p}", "Kernel 1") for p in (0.01, 0.1, 1)]
    shared = set(worlds[0]) & set(worlds[1]) & set(worlds[2])
    if shared:
        times = [world[max(shared)] for world in worlds]
        text = "Kernel 1 on small worlds gains from long links: ms for p = 0.01, 0.1, 1"
        shown = ", ".join(f"{ms:.3g}" for ms in times)
        found.append(claim("Figure 16", text, "falling", shown, times[0] > times[1] > times[2]))
    ratios = []
    for figure in FIGURES:
        cpu = of(figure, "CPU")
        for x in cpu if figure != "Figure 14" else ():
            best = min(of(figure, key).get(x, np.inf) for key in ("Kernel 1", "Kernel 2"))
            ratios.append(cpu[x] / best)
    if ratios:
        text = "CPU over the better of Kernels 1 and 2, all graphs but lines (Section 7)"
        shown = f"{min(ratios):.1f} to {max(ratios):.1f}, median {np.median(ratios):.1f}"
        found.append(
            claim("Figures 11 to 16", text, "5 to 10", shown, near(float(np.median(ratios)), 7.5))
        )
    line_cpu, line_two = of("Figure 14", "CPU"), of("Figure 14", "Kernel 2")
    shared = set(line_cpu) & set(line_two)
    if shared:
        ratio = line_two[max(shared)] / line_cpu[max(shared)]
        text = "Kernel 2 over the CPU on the longest line: the CPU wins by far"
        found.append(claim("Figure 14", text, "more than 1", f"{ratio:,.3g}", ratio > 1))
    return found


if __name__ == "__main__":
    chosen = arguments(__doc__, SIZES, QUICK)
    results = run(chosen.device, chosen.sizes[0], Clock(chosen.device, chosen.seconds, rounds=3))
    show(results)
    print(store(chosen.out, "hawick_graphs", FIGURES, results, chosen.device))
