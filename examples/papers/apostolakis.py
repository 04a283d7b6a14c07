"""Cycles of the multi-grid labeler over the side of the lattice: Figure 1 of its paper.

J. Apostolakis, P. Coddington, E. Marinari, A multi-grid cluster labeling scheme, Europhys. Lett.
17 (1992) 189-194. Bond percolation at p = 1/2 and Ising spins at the critical temperature, on
periodic squares. Run as ``python apostolakis.py --device cuda``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel import PottsSimulation
from equilabel.devices import place
from equilabel.domains.bonds import Bonds
from equilabel.simulation import critical_beta
from experiment import TOO_FEW, Clock, Figure, claim, labeler, main, row, values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = tuple(2**k for k in range(3, 13))
QUICK = SIZES[:5]
MANY, FEW = 40, 10  # configurations of a side, and of one from 2048 on
FIGURES = {"Figure 1": Figure("Cycles until labels are final, at criticality", "L", "cycles")}
PRINTED: dict[tuple[str, str, Any], float] = {}  # a curve without numbers
SQUARE = np.array([(0, 1), (1, 0)])


def percolation(side: int, random: np.random.Generator, device: str) -> Bonds:
    """Open each bond of a periodic square with probability 1/2, the threshold."""
    return Bonds(place(random.integers(0, 4, (side, side), np.uint8), device), SQUARE, (True, True))


def spins(side: int, random: np.random.Generator, device: str) -> Bonds:
    """Open the bonds of Ising spins near equilibrium at the critical temperature."""
    seed, beta = int(random.integers(2**31)), critical_beta(2)
    chain = PottsSimulation((side, side), 2, beta=beta, seed=seed, device=device)
    return chain.advance(20).bonds()


MAKERS = {"percolation": percolation, "Ising": spins}


def count_cycles(
    make: Callable[..., Bonds], side: int, configurations: int, device: str = "cpu"
) -> float:
    """Return the mean number of cycles, without the last one, which changes nothing."""
    random = np.random.default_rng(side)
    found = [
        labeler("apostolakis", make(side, random, device), device)().rounds - 1
        for _ in range(configurations)
    ]
    return float(np.mean(found))


def run(device: str, sizes: Sequence[int], clock: Clock) -> list[dict[str, Any]]:
    """Count cycles for percolation and for Ising spins."""
    random = np.random.default_rng(0)
    clock.warm(
        *(labeler("apostolakis", make(8, random, device), device) for make in MAKERS.values())
    )
    rows = []
    for side in sizes:
        for name, make in MAKERS.items():
            if clock.left():
                mean = count_cycles(make, side, MANY if side < 2048 else FEW, device)
                rows.append(row("Figure 1", name, side, mean, unit=""))
    return rows


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare a line in log2 L with a power of L: which is nearer to the points?"""
    found = []
    for name in MAKERS:
        counted = values(rows, "Figure 1", name)

        def fits(counted: dict[Any, float] = counted) -> tuple[Any, float, Any, float]:
            if len(counted) < 4:
                raise ValueError(TOO_FEW)
            logs, means = np.log2(list(counted)), np.array(list(counted.values()))
            line, power = np.polyfit(logs, means, 1), np.polyfit(logs, np.log2(means), 1)
            off = np.abs(np.polyval(line, logs) - means).max()
            return line, off, power, np.abs(2 ** np.polyval(power, logs) - means).max()

        def ratio(fits: Callable[[], Any] = fits) -> float:
            _, off, _, power_off = fits()
            return float(off / power_off)

        def shown(fits: Callable[[], Any] = fits) -> str:
            line, off, power, power_off = fits()
            rise = f"{line[1]:.2f} + {line[0]:.2f} log2 L, {off:.2f} off at most"
            return f"{rise}; L^{power[0]:.2f}, {power_off:.2f} off"

        text = f"a line in log2 L is nearer than a power of L ({name})"
        found.append(
            claim("Figure 1", text, "less", ratio, 1, paper="log2 L, no power", shown=shown)
        )
    return found


if __name__ == "__main__":
    main("apostolakis")
