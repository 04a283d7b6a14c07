"""Figures 18 and 19 of Hawick et al. (2010): Kernels A to D on fields of an alloy and on spirals.

The paper averages over a simulation of 16384 steps that is labeled every 128; here the fields are
those after `STEPS` steps of a solver whose steps are larger. Both phases are labeled, with 4
neighbors. Kernel D on a CPU stands for the paper's "CPU II", which is the same algorithm in serial.
Noise is added, which the paper has not. Kernel A would walk along a spiral of 4096 x 4096 for a
day of the paper's GPU: there some of its rounds are timed, and multiplied. Run as ``python
hawick_meshes.py --device cuda``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import fetch
from equilabel.papers import load_passes
from equilabel.samples import percolation, spiral
from experiment import Clock, Figure, claim, grow, labeler, main, over, phase_grid, row, values
from paper_images import phases

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES, QUICK = (256, 512, 1024, 2048, 4096), (64, 128, 256)
STEPS = (64, 256, 1024)
KERNELS = {"D": "hawick_d", "C": "hawick_c", "B": "hawick_b", "A": "hawick_a"}
FIGURES = {
    "Figure 18": Figure("Cahn-Hilliard fields, mean over the stages of separation", "side"),
    "Figure 19": Figure("Spirals one pixel wide", "side"),
    "noise": Figure("Noise of 0.5 (not in the paper)", "side"),
}
PRINTED: dict[tuple[str, str, Any], float] = {}  # curves without numbers


def run(
    device: str,
    sizes: tuple[int, ...],
    clock: Clock,
    steps: tuple[int, ...] = STEPS,
    limit: float = 8.0,
) -> list[dict[str, Any]]:
    """Label all fields by all kernels; a kernel is extrapolated where it takes over `limit` s."""
    small = phase_grid(np.eye(8, dtype=np.uint8), device)
    clock.warm(*(labeler(method, small, device) for method in KERNELS.values()))
    rows, rounds = [], {}
    for figure, make, part in (
        ("Figure 18", lambda side: [phases(side, count, device) for count in steps], 0.5),
        ("Figure 19", lambda side: [two_spirals(side)], 0.8),
        ("noise", lambda side: [percolation((side, side), 0.5).view(np.uint8)], 1.0),
    ):
        domains: dict[int, list[Any]] = {}

        def place_all(domains: dict[int, list[Any]] = domains, make: Any = make) -> None:
            domains |= {side: [phase_grid(each, device) for each in make(side)] for side in sizes}

        clock.warm(place_all)
        time_left = clock.share(part)
        for name, method in KERNELS.items():
            own = time_left.share(1 / (4 - list(KERNELS).index(name)))
            walks = (figure, name) == ("Figure 19", "A")
            for side, ms, found in grow(own, sizes, calls(domains, method, device), limit):
                if walks and found is None:
                    continue
                share = ms / len(domains[side])
                rows.append(row(figure, name, side, share, extrapolated=found is None))
                if found is not None:
                    rounds[figure, name, side] = max(each.rounds for each in found)
                    series = f"{name}, rounds"
                    rows.append(row(figure, series, side, rounds[figure, name, side], unit=""))
            for side in [each for each in sizes if walks and (figure, name, each) not in rounds]:
                ms = walk(domains[side][0], side, clock)
                rows.append(row(figure, name, side, ms, extrapolated=True))
        if figure == "Figure 18":
            rows += on_the_cpu(figure, domains, sizes, clock, limit)
        del domains
    return rows


def two_spirals(side: int) -> Any:
    """Draw a spiral in an image with an even number of rows; what it leaves is a second one."""
    image = np.zeros((side, side), np.uint8)
    odd = side - 1 + side % 2
    image[:odd, :odd] = spiral(odd)
    return image


def walk(grid: Any, side: int, clock: Clock) -> float:
    """Return the milliseconds of Kernel A on spirals: those of a round, by the length of one."""
    kernels, count = load_passes("hawick_a", clock.device), 100 if clock.device == "cuda" else 2
    labels = kernels.initialize(grid)
    ms, _ = clock.once(lambda: [kernels.propagate(grid, labels) for _ in range(count)])
    return ms / count * (side**2 / 2 - 1)


def calls(
    domains: dict[int, list[Any]], method: str, device: str
) -> Callable[[int], Callable[[], list[Any]]]:
    """Return for each size a call that labels all fields of it."""

    def make(side: int) -> Callable[[], list[Any]]:
        runs = [labeler(method, domain, device) for domain in domains[side]]
        return lambda: [run() for run in runs]

    return make


def on_the_cpu(
    figure: str, domains: dict[int, list[Any]], sizes: tuple[int, ...], clock: Clock, limit: float
) -> list[dict[str, Any]]:
    """Label the fields by Kernel D on the CPU, if they were labeled on a GPU."""
    if clock.device == "cpu":
        return []
    own = Clock("cpu", min(clock.left(), 3 * limit), rounds=2)
    here = {
        side: [phase_grid(fetch(grid.pixels), "cpu") for grid in domains[side][-1:]]
        for side in sizes
    }
    own.warm(*(calls(here, "hawick_d", "cpu")(sizes[0]) for _ in range(1)))
    return [
        row(figure, "D on the CPU", side, ms, extrapolated=found is None)
        for side, ms, found in grow(own, sizes, calls(here, "hawick_d", "cpu"), limit)
    ]


def claims(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare what the text of the paper concludes (Sections 6.3.1 and 6.3.2)."""
    fields = {name: values(rows, "Figure 18", name) for name in (*KERNELS, "D on the CPU")}
    curls = {name: values(rows, "Figure 19", name) for name in KERNELS}
    last = SIZES[-1]

    def fastest() -> list[str]:
        return [min(KERNELS, key=lambda name: fields[name][side]) for side in SIZES]

    def crossing() -> str:
        return str(min((n for n in SIZES if fields["C"][n] < fields["B"][n]), default="none"))

    text = "side from which on Kernel C is faster than Kernel B"
    found = [
        claim("Figure 18", "the fastest kernel at each side", "same", fastest, ["D"] * len(SIZES)),
        claim("Figure 18", text, "same", crossing, "1024"),
    ]
    cpu = over(fields["D on the CPU"], fields["D"], last)
    found.append(claim("Figure 18", "Kernel D on the CPU over it on the GPU", "ratio", cpu, 13))
    for text, rule, measured, theirs in (
        ("Kernel A over Kernel D", "ratio", over(curls["A"], curls["D"], last), 450_000),
        ("Kernel A, spirals over fields", "ratio", over(curls["A"], fields["A"], last), 600),
        ("Kernel D, spirals over fields", "less", over(curls["D"], fields["D"], last), 1),
    ):
        found.append(claim("Figure 19", f"{text}, {last} x {last}", rule, measured, theirs))
    return found


if __name__ == "__main__":
    main("hawick_meshes")
