"""Time every method of `METHODS` on every domain it knows, beside the least that has to be done.

Roots of elements are timed, without numbering and copies; the labels of `runs`. A method that is
slow is slow in the table, not missing: a cell has a limit of time, and what would pass it is
measured at half the side, a quarter and so on; the side is stored. Times are those of the clock of
the host, with the device waited for: the least of `--turns`. The least beside it reads the domain
and writes an int64 for each element.

Run as ``python benchmarks/methods.py [--device cuda] [--sides 1024 4096] [--turns 3]``; results go
to ``benchmarks/results/methods_<device>.json``. With ``--charts FOLDER [--yacclab DATASETS]`` it
draws the charts of YACCLAB instead, see `yacclab.py`. Methods of installed packages are among them.
"""

from __future__ import annotations

import argparse
import time
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cahn_hilliard import cahn_hilliard
from equilabel import METHODS, Bonds, Graph, samples
from equilabel.domains import lattices
from equilabel.domains.grid import Foreground, Grid
from equilabel.papers import load_passes, load_recipe
from harness import store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from equilabel.domains.contract import Method

SMALLEST = 32  # sides below are not tried
OCCUPATIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)  # Kalentev et al., Tables 1 and 2
GROWTH = {True: 8.0, False: 4.0}  # of the time with the side, at least, if labels propagate or not


class Case(NamedTuple):
    """A domain of a side to label, and what to call it."""

    domain: str
    image: str
    make: Callable[[int], Any]
    least: Callable[[Any], Any]


def noisy_blobs(side: int, radius: int) -> Any:
    """Draw disks that cover a quarter of the image, and noise until half is covered (Table 1)."""
    rng = np.random.default_rng(radius)
    image = np.zeros((side, side), bool)
    y, x = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    disk = y * y + x * x <= radius * radius
    for _ in range(round(-np.log(0.75) * side * side / disk.sum())):
        row, column = rng.integers(0, max(side - 2 * radius, 1), 2)
        window = image[row : row + 2 * radius + 1, column : column + 2 * radius + 1]
        window |= disk[: window.shape[0], : window.shape[1]]
    rest = (0.5 - image.mean()) / (1 - image.mean())
    return image | (rng.random(image.shape) < rest)


def images(xp: Any) -> dict[str, Callable[[int], Any]]:
    """Name the makers of images of a side: those of the papers, and smooth blobs."""
    named: dict[str, Callable[[int], Any]] = {"spiral": samples.spiral}
    for p in OCCUPATIONS:
        named[f"noise {p}"] = partial(_noise, p)
    for radius in (10, 50):
        named[f"disks of radius {radius} in noise"] = partial(noisy_blobs, radius=radius)
    named["blobs"] = lambda side: samples.blobs((side, side))
    for steps in (20, 200):
        named[f"Cahn-Hilliard, {steps} steps"] = partial(_separated, xp, steps)
    return named


def _noise(p: float, side: int) -> Any:
    return samples.percolation((side, side), p)


def _separated(xp: Any, steps: int, side: int) -> Any:
    return cahn_hilliard(xp, (side, side), steps)


def grids(xp: Any) -> Iterator[Case]:
    """Yield the images, with four neighbors."""
    for name, draw in images(xp).items():
        yield Case(
            "grid", name, cache(partial(_grid, xp, draw)), lambda grid: grid.pixels.astype(xp.int64)
        )


def _grid(xp: Any, draw: Callable[[int], Any], side: int) -> Grid:
    return Grid(xp.asarray(draw(side)), Foreground("!=", np.False_, values=False), 1)


def lattices_of_bonds(xp: Any) -> Iterator[Case]:
    """Yield square lattices, around the threshold of percolation, which is 0.5."""
    for p in (0.25, 0.5, 0.75):
        make = cache(partial(_lattice, xp, p))
        yield Case("bonds", f"square lattice, {p} open", make, lambda b: b.open.astype(xp.int64))


def _lattice(xp: Any, p: float, side: int) -> Bonds:
    return lattices.square(side, periodic=True, open_probability=p, like=xp.zeros(0, np.uint8))


def graphs(xp: Any) -> Iterator[Case]:
    """Yield random graphs of a vertex for each pixel of a side, and the lattice of roads."""
    for degree in (1, 4, 16):
        make = cache(partial(_random_graph, xp, degree))
        yield Case("graph", f"random, {degree} neighbors", make, _read_graph)
    yield Case("graph", "square lattice, 0.5 open", cache(partial(_roads, xp)), _read_graph)


def _random_graph(xp: Any, degree: int, side: int) -> Graph:
    ends = np.random.default_rng(degree).integers(0, side * side, (2, side * side * degree // 2))
    return Graph.from_edges(*(xp.asarray(each) for each in ends), size=side * side)


def _roads(xp: Any, side: int) -> Graph:
    return Graph.from_bonds(_lattice(xp, 0.5, side))


def _read_graph(graph: Graph) -> Any:
    return graph.neighbors.astype(np.int64), graph.offsets.astype(np.int64)


# What makes the cases of each kind of domain; a kind that is not here yet is left out.
DOMAINS: dict[str, Callable[[Any], Iterator[Case]]] = {
    "grid": grids,
    "bonds": lattices_of_bonds,
    "graph": graphs,
}


def seconds(run: Callable[[], Any], wait: Callable[[], Any], turns: int) -> tuple[float, Any]:
    """Return the least time of a call in some turns, and its last result."""
    least = float("inf")
    for _ in range(turns):
        wait()
        began = time.perf_counter()
        found = run()
        wait()
        least = min(least, time.perf_counter() - began)
    return least, found


def label(method: Method, device: str, domain: Any, **words: Any) -> int:
    """Label a domain; return the number of rounds. Runs are numbered and painted, as int32."""
    kernels = load_passes(method.name, device)
    if method.answer == "runs":
        held = domain.pixels if domain.kind == "grid" else domain.open
        room = np.empty(held.size, np.int32, like=held)
        table = load_recipe(method.name)(kernels, domain, room=room)
        kernels.number(table)
        kernels.paint(table, room, blank=False)
        return 1
    return int(load_recipe(method.name)(kernels, domain, **words).rounds)


def seconds_of_image(
    method: Method, image: Any, words: dict[str, Any], xp: Any, wait: Any, options: Any
) -> float:
    """Return the least time of a method on an image whose corners connect, with its options."""
    if method.name not in _compiled:
        _compiled.add(method.name)
        seconds_of_image(method, np.ones((SMALLEST, SMALLEST), bool), {}, xp, wait, options)
    grid = Grid(xp.asarray(image), Foreground("!=", np.False_, values=False), 2)
    run = partial(label, method, options.device, grid, **words)
    took = seconds(run, wait, 1)[0]
    return took if took > options.limit else min(took, seconds(run, wait, options.turns)[0])


_compiled: set[str] = set()


def growing_sides(side: int) -> list[int]:
    """List half the side, a quarter and so on, the smallest first, and the side.

    Examples
    --------
    >>> growing_sides(100)
    [50, 100]
    """
    sides = [side]
    while sides[0] // 2 >= SMALLEST:
        sides.insert(0, sides[0] // 2)
    return sides


def measure(
    method: Method, case: Case, side: int, options: argparse.Namespace, wait: Any
) -> dict[str, Any]:
    """Return a row: times of a method at the largest side up to `side` that keeps to the limit.

    Smaller sides come first, all of them for methods whose labels propagate: the time of each tells
    how long the next takes at least.
    """
    sides = growing_sides(side)[0 if method.propagates else -3 :]
    row: dict[str, Any] = {}
    for each in sides:
        domain = case.make(each)
        run = partial(label, method, options.device, domain)
        run()  # compiles, and fills caches of the domain
        took, rounds = seconds(run, wait, 1)
        if took < options.limit / options.turns:
            took = min(took, seconds(run, wait, options.turns)[0])
        row = {
            "domain": case.domain,
            "image": case.image,
            "method": method.name,
            "asked": side,
            "side": each,
            "elements": domain.pixels.size if case.domain == "grid" else domain.size,
            "rounds": rounds,
            "seconds": took,
            "least": seconds(lambda d=domain: case.least(d), wait, max(options.turns, 3))[0],
        }
        if took * GROWTH[method.propagates] > options.limit:
            break
    return row


def line(row: dict[str, Any]) -> str:
    """Return a row as text."""
    smaller = "" if row["side"] == row["asked"] else f"  (asked: {row['asked']})"
    return (
        f"{row['image']:<28}{row['method']:<18}{row['side']:>6}{row['rounds']:>8} rounds "
        f"{row['seconds'] * 1e3:11.3f} ms {row['seconds'] / row['least']:9.1f} x least{smaller}"
    )


def main() -> None:
    """Measure everything that was asked for, print and store it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--sides", type=int, nargs="+", default=None)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--limit", type=float, default=0.3, help="seconds for a cell")
    parser.add_argument("--only", default="", help="images whose name holds this word")
    parser.add_argument("--charts", default="", help="folder for the charts of YACCLAB")
    parser.add_argument("--yacclab", default="", help="folder of its datasets, for the charts")
    parser.add_argument("--images", type=int, default=100, help="of each dataset, at most")
    options = parser.parse_args()
    xp: Any = np
    wait: Callable[[], Any] = lambda: None  # noqa: E731
    about: dict[str, Any] = {"device": options.device, "turns": options.turns}
    if options.device == "cuda":
        import cupy

        xp, wait = cupy, cupy.cuda.Device().synchronize
        about["card"] = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        about["versions"] = {"cupy": cupy.__version__}
    if options.charts:
        import yacclab

        yacclab.run(options, partial(seconds_of_image, xp=xp, wait=wait, options=options))
        return
    sides = options.sides or ([1024, 4096] if options.device == "cuda" else [256, 1024])
    rows: list[dict[str, Any]] = [about]
    for kind, cases in DOMAINS.items():
        for case in cases(xp):
            if options.only not in case.image:
                continue
            slow: dict[str, dict[str, Any]] = {}
            for side in sorted(sides):
                for method in METHODS.values():
                    if kind in method.domains and options.device in method.devices:
                        row = slow.get(method.name) or measure(method, case, side, options, wait)
                        rows.append(row | {"asked": side})
                        if row["side"] < side:  # no larger one keeps to the limit
                            slow[method.name] = row
                        print(line(rows[-1]), flush=True)
    if not options.only:
        print(store(f"methods_{options.device}", rows))


if __name__ == "__main__":
    main()
