"""Cycles of the multi-grid labeler over the side of the lattice: Figure 1 of its paper.

J. Apostolakis, P. Coddington, E. Marinari, A multi-grid cluster labeling scheme, Europhys. Lett.
17 (1992) 189-194. Bond percolation at p = 1/2 on periodic squares:

    python examples/papers/apostolakis_cycles.py --largest 256
    python examples/papers/apostolakis_cycles.py --largest 8192 --device cuda --figure cycles.png

Another model, such as the bonds of Ising spins, is another function for `count_cycles`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from equilabel.bonds import Bonds
from equilabel.devices import passes, place
from equilabel.methods import load_recipe

PAPER = (
    "the number of cycles grows with log2 L, with no sign of a power of L or of a higher power of "
    "the logarithm"
)
SQUARE = np.array([(0, 1), (1, 0)])
Draw = Callable[[int, np.random.Generator], Bonds]


class Cycles(NamedTuple):
    """How many cycles lattices of one side took.

    Attributes
    ----------
    side : int
    mean, error : float
        Over the configurations, and its standard error. The last cycle, which changes nothing and
        tells that the labels are final, is not among them.
    """

    side: int
    mean: float
    error: float


class Line(NamedTuple):
    """``cycles = start + slope * log2(side)``, and how far points lie from it at most."""

    start: float
    slope: float
    deviation: float


def percolation(side: int, random: np.random.Generator) -> Bonds:
    """Open each bond of a periodic square with probability 1/2, the threshold."""
    return Bonds(random.integers(0, 4, (side, side), np.uint8), SQUARE, (True, True))


def count_cycles(
    draw: Draw,
    sides: Sequence[int],
    configurations: int = 100,
    device: str = "cpu",
    seed: int = 0,
) -> list[Cycles]:
    """Label configurations of each side, and count the cycles.

    Parameters
    ----------
    draw : callable
        Makes the bonds of a side, with a random generator.
    sides : sequence of int
    configurations : int
        Of each side.
    device : {"cpu", "cuda"}
    seed : int
    """
    recipe, kernels = load_recipe("apostolakis"), passes("apostolakis", device)
    random = np.random.default_rng(seed)
    found = []
    for side in sides:
        counts = []
        for _ in range(configurations):
            bonds = draw(side, random)
            moved = Bonds(place(bonds.open, device), bonds.steps, bonds.periodic)
            counts.append(recipe(kernels, moved).rounds - 1)
        error = float(np.std(counts) / np.sqrt(len(counts)))
        found.append(Cycles(side, float(np.mean(counts)), error))
    return found


def fit(points: Sequence[Cycles]) -> Line:
    """Fit a line over log2 of the side, as the paper does."""
    logs, means = np.log2([each.side for each in points]), np.array([each.mean for each in points])
    slope, start = np.polyfit(logs, means, 1)
    deviation = np.abs(means - start - slope * logs).max()
    return Line(float(start), float(slope), float(deviation))


def draw_figure(curves: dict[str, Sequence[Cycles]], file: str) -> None:
    """Draw cycles over log2 L, with the fitted lines, into a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="log2 L", ylabel="cycles")
    for name, points in curves.items():
        logs = np.log2([each.side for each in points])
        means, errors = ([getattr(each, key) for each in points] for key in ("mean", "error"))
        drawn = axes.errorbar(logs, means, errors, fmt="o", capsize=3, label=name)
        line = fit(points)
        axes.plot(logs, line.start + line.slope * logs, color=drawn[0].get_color())
    axes.legend()
    figure.savefig(file)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the paper's statement beside ours, and draw the figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--largest", type=int, default=128, help="longest side; a power of two")
    parser.add_argument("--configurations", type=int, default=100, help="of each side")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", help="file to draw into")
    given = parser.parse_args(arguments)
    sides = [2**k for k in range(3, max(given.largest, 16).bit_length())]
    points = count_cycles(percolation, sides, given.configurations, given.device, given.seed)
    line = fit(points)
    print("  L  cycles")
    for each in points:
        print(f"{each.side:5} {each.mean:6.2f} +- {each.error:.2f}")
    print(f"paper: {PAPER}")
    print(
        f"ours:  {line.start:.2f} + {line.slope:.2f} log2 L; no mean is farther from that line "
        f"than {line.deviation:.2f} cycles"
    )
    if given.figure:
        draw_figure({"percolation, p = 1/2": points}, given.figure)


if __name__ == "__main__":
    main()
