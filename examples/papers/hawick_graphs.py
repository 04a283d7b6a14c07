"""Figures 11 to 17, Tables 1 and 3 of Hawick et al. (2010): Kernels 1 to 3 on graphs.

Kernels 1, 2 and 3 are `hawick_1`, `hawick_2` and `hawick_3`; "ours" is the default method for
graphs, and "CPU" is `scipy.sparse.csgraph.connected_components`, which searches breadth-first in
serial. "With copies" adds what the panels on the right add: memory on the device, the graph copied
there, labels copied back. The paper prints curves, not numbers; what its text says about them is
compared. Sizes are percent of the paper's. Run as ``python hawick_graphs.py --device cuda``.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import Graph
from equilabel.devices import fetch
from experiment import (
    Clock,
    Figure,
    claim,
    extrapolate,
    labeler,
    main,
    over,
    row,
    slope,
    values,
    words,
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
DRAWING = "it is a drawing of "
FIGURES = {
    "Figure 1": Figure("Labels on a mesh and on a graph", because=DRAWING + "the problem"),
    "Figure 2": Figure("A Kawasaki model and its largest component", because="it is one picture"),
    "Figure 3": Figure(
        "Largest component of the Kawasaki model over temperature and volume",
        because="it is a use of labels, without numbers; there is no Kawasaki dynamics here",
    ),
    "Figure 4": Figure("Labels of a periodic mesh", because=DRAWING + "the problem"),
    "Figure 5": Figure("Three ways to store a graph", because=DRAWING + "data structures"),
    "Figure 6": Figure("Four iterations of Kernel A", because=DRAWING + "the method"),
    "Figure 7": Figure("Four iterations of Kernel B", because=DRAWING + "the method"),
    "Figure 8": Figure("An iteration of Kernel C", because=DRAWING + "the method"),
    "Figure 9": Figure("An iteration of Kernel D", because=DRAWING + "the method"),
    "Figure 10": Figure("Raster scans of CPU I", because="CPU I is not one of our methods"),
    "Table 1": Figure("Resources of the kernels", "resource", ""),
    "Table 2": Figure("Names of the kernels", because="it is a list of names"),
    "Table 3": Figure("Components of the graphs below", "graph", "components"),
    "Figure 11": Figure("Disjoint 1: 50 million edges, 100 sets", "vertices"),
    "Figure 12": Figure("Disjoint 2: a million vertices, 100 sets", "edges"),
    "Figure 13": Figure("Disjoint 3: 5 million vertices, 60 million edges", "sets"),
    "Figure 14": Figure("Line", "vertices"),
    "Figure 15": Figure("Scale-free, 5 edges for each vertex", "vertices"),
    "Figure 16, p = 0.01": Figure("Small world, 10 neighbors, 0.01 rewired", "vertices"),
    "Figure 16, p = 0.1": Figure("Small world, 10 neighbors, 0.1 rewired", "vertices"),
    "Figure 16, p = 1": Figure("Small world, 10 neighbors, all rewired", "vertices"),
    "Figure 16": Figure("The three probabilities together", "vertices"),
    "Figure 17": Figure("Kernel 2 and memory: small world, all rewired", "vertices"),
    "Figures 11 to 16": Figure("GPU and CPU", "vertices"),
}
PRINTED = {
    ("Table 1", f"Kernel {k}", resource): number
    for resource, line in {
        "registers of a thread": (4, 9, 5),
        "shared memory of a block, bytes": (33, 304, 53),
        "threads of a block": (32, 64, 192),
    }.items()
    for k, number in enumerate(line, 1)
}
KERNEL_3 = {  # captions: the shortest and the longest time in seconds; the last x
    "Figure 11": (20, 229, 16_000_000),
    "Figure 12": (9.8, 11.2, 60_000_000),
    "Figure 13": (47, 1515, 1_000_000),
    "Figure 15": (9, 47, 5_000_000),
    "Figure 16": (19, 132, 14_000_000),
}
MILLION = 1_000_000
ROUND_MS = {"cpu": 0.0, "cuda": 0.06}  # a call of Kernel 3 that finds nothing to do
ARC_MS = 7e-5  # of SciPy, about


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
            [many(k * MILLION / 10) for k in (0.1, 0.25, 0.5, 1, 2, 4, 10)],
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


def run(
    device: str, sizes: Sequence[int], clock: Clock, limit: float = 3.0
) -> list[dict[str, Any]]:
    """Label all graphs; a kernel is left out where it is expected to take more than `limit` s."""
    clock.rounds = min(clock.rounds, 3)
    small, percent = Graph.from_edges(*line(4, device)), sizes[0]
    clock.warm(*(labeler(method, small, device) for method in methods().values()))
    rows = resources(small) if device == "cuda" else []
    listed = cases(percent, device)
    for k, (figure, points, make) in enumerate(listed):
        part = 1 / (len(listed) - k + 1)
        rows += measure(figure, list(dict.fromkeys(points)), make, clock.share(part), limit)
    return rows + memory(percent, device, clock)


def resources(graph: Graph) -> list[dict[str, Any]]:
    """Ask the driver what the kernels take (Table 1)."""
    from equilabel.devices.cuda.kernels import THREADS, kernel

    ends, offsets, neighbors = (
        each.dtype.str[1:] for each in (graph.edges[0], graph.offsets, graph.neighbors)
    )
    rows = []
    for k, name in enumerate(("lower_colors", "compare", "spread"), 1):
        types = ends if k == 1 else f"{offsets}, {neighbors}"
        found = kernel("papers/hawick2010/hawick", f"{name}<{types}>")
        for resource, number in (
            ("registers of a thread", found.num_regs),
            ("shared memory of a block, bytes", found.shared_size_bytes),
            ("threads of a block", THREADS),
        ):
            rows.append(row("Table 1", f"Kernel {k}", resource, number, unit=""))
    return rows


def methods() -> dict[str, str]:
    """Return the method of each series, with the default one by its name."""
    from equilabel.papers import find_method

    return {key: find_method(name, "graph").name for key, name in KERNELS.items()}


def measure(
    figure: str, points: Sequence[int], make: Callable[[int], Any], clock: Clock, limit: float
) -> list[dict[str, Any]]:
    """Label the graphs of a figure, from the smallest on."""
    rows: list[dict[str, Any]] = []
    found: dict[str, list[tuple[float, float]]] = {key: [] for key in KERNELS}
    is_line, searched = figure == "Figure 14", (0.0, 1)  # ms of Kernel 3, and components
    for x in points:
        if not clock.left() and not is_line:
            break
        size, ends = make(x)
        graph = Graph.from_edges(*ends, size=size)
        components = 1
        del ends
        for key, method in methods().items():
            expected = extrapolate(found[key], x) if is_line else 0.0
            if key == "Kernel 3":
                expected = max(expected, components * ROUND_MS[clock.device])
            if key == "Kernel 1":
                _ = graph.edges  # made once, before the time is taken
            if expected > 1e3 * min(limit, clock.left()) or not clock.left():
                if is_line and len(found[key]) > 1:
                    rows.append(row(figure, key, x, expected, extrapolated=True))
                elif key == "Kernel 3" and figure == "Figure 13" and searched[0]:
                    ms = searched[0] * components / searched[1]
                    rows.append(row(figure, key, x, ms, extrapolated=True))
                continue
            ms, answer = (clock.once if is_line else clock.time)(
                labeler(method, graph, clock.device)
            )
            found[key].append((x, ms))
            rows.append(row(figure, key, x, ms))
            rows.append(row(figure, f"{key}, rounds", x, answer.rounds, unit=""))
            if key == "ours":
                components = count(answer.roots)
                rows.append(row(figure, "components", x, components, unit=""))
            if key == "Kernel 3":
                searched = ms, components
            if key in ("Kernel 1", "Kernel 2") and clock.device == "cuda" and not is_line:
                ms += copies(graph, key, answer.roots, clock)
                rows.append(row(figure, f"{key} with copies", x, ms))
        expected = ARC_MS * graph.neighbors.size
        if is_line or (expected < 1e3 * clock.left() and (expected < 2000 or x == points[-1])):
            rows.append(row(figure, "CPU", x, scipy_time(graph)))
    return rows


def copies(graph: Graph, key: str, roots: Any, clock: Clock) -> float:
    """Time memory for a graph on the GPU, its copy there, that of the roots back, and release."""
    import cupy

    parts = graph.edges if key == "Kernel 1" else (graph.offsets, graph.neighbors)
    host = [fetch(part) for part in parts]

    def there_and_back() -> None:
        with cupy.cuda.using_allocator(None):  # no pool: memory is asked for, and given back
            _ = [cupy.asarray(part) for part in host]
        fetch(roots)

    return clock.once(there_and_back)[0]


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
    """Compare what the text of the paper concludes (Sections 6.2 and 7)."""
    found: list[dict[str, Any]] = []
    of = partial(values, rows)

    def add(figure: str, text: str, rule: str, measured: Callable[[], Any], theirs: Any) -> None:
        found.append(claim(figure, text, rule, measured, theirs))

    def ratios(figure: str, one: str, other: str) -> list[float]:
        above, below = of(figure, one), of(figure, other)
        shared = [above[x] / below[x] for x in sorted(above) if x in below]
        return [min(shared), max(shared)]

    for end in ("", " with copies"):
        one, two = f"Kernel 1{end}", f"Kernel 2{end}"
        text = f"{one} over {two}, least and most: Kernel 2 is the fastest"
        add("Figure 11", text, "more", partial(ratios, "Figure 11", one, two), 1)
        one_ms, two_ms = of("Figure 12", one), of("Figure 12", two)
        for degree, edges, rule in ((20, 10 * MILLION, "more"), (120, 60 * MILLION, "less")):
            text = f"{one} over {two} at degree {degree}"
            add("Figure 12", text, rule, over(one_ms, two_ms, edges), 1)
    first, last = 1, MILLION
    one, two = of("Figure 13", "Kernel 1"), of("Figure 13", "Kernel 2")
    text = "on one component over on the most"
    add("Figure 13", f"Kernel 1 {text}", "more", over(one, one, first, last), 1)
    text = "what Kernel 2 gains so over what Kernel 1 does: components matter less"
    gain = lambda: two[first] / two[last] * one[last] / one[first]  # noqa: E731
    add("Figure 13", text, "less", gain, 1)
    add_lines(rows, add)
    for key, power in (("Kernel 1", 1.06), ("Kernel 2", 1.05), ("CPU", 1.13)):
        text, line = f"power of the vertices in the time of {key}", of("Figure 15", key)
        add("Figure 15", text, "power", partial(slope, line.items()), power)
    more, bare = of("Figure 15", "Kernel 2 with copies"), of("Figure 15", "Kernel 2")
    text = "Kernel 2 with copies over without, largest graph: no significant change"
    add("Figure 15", text, "ratio", over(more, bare, 5 * MILLION), 1)
    add_worlds(rows, add)
    for figure in KERNEL_3:
        worlds = [name for name in FIGURES if name.startswith(figure)]
        found.append(kernel_3(figure, [of(name, "Kernel 3") for name in worlds]))
    table_3(rows, add)
    return found


def kernel_3(figure: str, lines: list[dict[Any, float]]) -> dict[str, Any]:
    """Compare the range of Kernel 3 that a caption prints with ours, if the last x was measured."""
    lines = [line for line in lines if line]
    shortest, longest, last = KERNEL_3[figure]

    def ends() -> tuple[float, float]:
        _ = [line[last] for line in lines]
        times = [ms / 1e3 for line in lines for ms in line.values()]
        return min(times), max(times)

    def ratio() -> float:
        low, high = ends()
        return high / low

    def shown(low: float, high: float) -> str:
        return f"{words(low)} s to {words(high)} s: {words(high / low)}"

    text = "longest over shortest time of Kernel 3 (caption)"
    return claim(
        figure,
        text,
        "ratio",
        ratio,
        longest / shortest,
        paper=shown(shortest, longest),
        shown=lambda: shown(*ends()),
    )


def add_lines(rows: list[dict[str, Any]], add: Callable[..., None]) -> None:
    """Compare lines (Figure 14): powers of measured times, and which kernel is the fastest."""
    times: dict[str, dict[Any, float]] = {}
    for each in rows:
        if each["figure"] == "Figure 14" and not each["extrapolated"]:
            times.setdefault(each["series"], {})[each["x"]] = each["ours"]
    for key, power in (("Kernel 1", 1.76), ("Kernel 2", 1.77), ("Kernel 3", 1.57), ("CPU", 1.0)):
        text, line = f"power of the vertices in the time of {key}", times.get(key, {})
        add("Figure 14", text, "power", partial(slope, line.items()), power)

    def best() -> tuple[float, float]:
        third = times["Kernel 3"]
        x = max(set(third) & set(times["Kernel 1"]) & set(times["Kernel 2"]))
        return third[x], min(times["Kernel 1"][x], times["Kernel 2"][x])

    def to_cpu() -> float:
        x = max(set(times["Kernel 2"]) & set(times["CPU"]))
        return times["Kernel 2"][x] / times["CPU"][x]

    text = "Kernel 3 over the better of Kernels 1 and 2, longest line that all label"
    add("Figure 14", text, "less", lambda: best()[0] / best()[1], 1)
    add("Figure 14", "Kernel 2 over the CPU: the CPU wins by far", "more", to_cpu, 1)


def add_worlds(rows: list[dict[str, Any]], add: Callable[..., None]) -> None:
    """Compare small worlds with each other (Figure 16), and kernels with the CPU (Section 7)."""
    worlds = [f"Figure 16, p = {p}" for p in (0.01, 0.1, 1)]

    def three(key: str) -> list[float]:
        lines = [values(rows, world, key) for world in worlds]
        last = max(set(lines[0]) & set(lines[1]) & set(lines[2]))
        return [line[last] for line in lines]

    def ratio(key: str, one: int, other: int) -> float:
        return three(key)[one] / three(key)[other]

    for text, rule, key, one, other in (
        ("Kernel 1 at p = 0.01 over 0.1: it gains from long links", "more", "Kernel 1", 0, 1),
        ("Kernel 1 at p = 0.1 over 1", "more", "Kernel 1", 1, 2),
        ("Kernel 2 at p = 0.01 over 0.1", "more", "Kernel 2", 0, 1),
        ("Kernel 2 at p = 1 over 0.01: similar", "ratio", "Kernel 2", 2, 0),
        ("CPU at p = 0.1 over 0.01: it loses by randomness", "more", "CPU", 1, 0),
        ("CPU at p = 1 over 0.1", "more", "CPU", 2, 1),
    ):
        add("Figure 16", text, rule, partial(ratio, key, one, other), 1)

    def speedups() -> list[float]:
        found = []
        for figure in FIGURES:
            cpu = values(rows, figure, "CPU")
            if cpu and figure != "Figure 14":
                x = max(cpu)
                kernels = [values(rows, figure, f"Kernel {k}") for k in (1, 2)]
                found.append(cpu[x] / min(line[x] for line in kernels if x in line))
        return [min(found), max(found)]

    text = "CPU over the better of Kernels 1 and 2, largest graph of each figure, least and most"
    add("Figures 11 to 16", text, "ratio", speedups, [5, 10])


def table_3(rows: list[dict[str, Any]], add: Callable[..., None]) -> None:
    """Compare the numbers of components."""

    def ends(figures: Sequence[str]) -> list[float]:
        found = [n for name in figures for n in values(rows, name, "components").values()]
        return [min(found), max(found)]

    connected = [name for name in FIGURES if name[:9] in ("Figure 14", "Figure 15", "Figure 16")]
    for text, figures, theirs in (
        ("Disjoint 1", ["Figure 11"], [100, 31_044]),
        ("Disjoint 2", ["Figure 12"], [100, 100]),
        ("Disjoint 3", ["Figure 13"], [1, 1_000_019]),
        ("all other graphs", connected, [1, 1]),
    ):
        text = f"least and most components, {text}"
        add("Table 3", text, "ratio", partial(ends, figures), theirs)


if __name__ == "__main__":
    main("hawick_graphs")
