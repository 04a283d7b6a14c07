"""Plot how far estimates of perimeter and surface are from the disk's and the ball's.

Run as ``python benchmarks/estimators.py``; writes ``docs/images/estimators.png``. Each radius is
measured on many disks (balls) whose centers lie anywhere in a pixel: the line is their mean
error, the band reaches from the least to the greatest.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from equilabel import regionprops_table

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "estimators.png"
MANY = 24
RADII = {2: np.geomspace(1.5, 80, 26), 3: np.geomspace(1.5, 24, 16)}
NAMES = {
    2: ("perimeter", "perimeter_crofton", "perimeter_edges"),
    3: ("surface_area_crofton", "surface_area_faces"),
}
COLORS = {2: ("#6b8f3a", "#1b6ca8", "#c8553d"), 3: ("#1b6ca8", "#c8553d")}


def draw_balls(rank: int, radius: float, rng: np.random.Generator) -> np.ndarray:
    """Draw disks or balls along a line, each with a label and a center of its own."""
    side = int(2 * radius) + 5
    grid = np.indices((side,) * rank) - (side - 1) / 2
    pieces = []
    for number in range(MANY):
        center = rng.uniform(-0.5, 0.5, (rank,) + (1,) * rank)
        inside = ((grid - center) ** 2).sum(axis=0) <= radius**2
        pieces.append(inside * (number + 1))
    return np.concatenate(pieces, axis=-1)


def measure_errors(rank: int) -> dict[str, np.ndarray]:
    """Return least, mean and greatest relative error of each estimate by radius."""
    rng = np.random.default_rng(0)
    errors: dict[str, list[list[float]]] = {name: [] for name in NAMES[rank]}
    for radius in RADII[rank]:
        truth = 2 * np.pi * radius if rank == 2 else 4 * np.pi * radius**2
        table = regionprops_table(draw_balls(rank, radius, rng), properties=NAMES[rank])
        for name, column in table.items():
            error = column / truth - 1
            errors[name].append([error.min(), error.mean(), error.max()])
    return {name: np.array(rows) for name, rows in errors.items()}


def main() -> None:
    """Measure and plot."""
    mpl.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import PercentFormatter, ScalarFormatter

    figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained", sharey=True)
    for panel, rank, title in zip(panels, (2, 3), ("disks", "balls"), strict=True):
        for color, (name, rows) in zip(COLORS[rank], measure_errors(rank).items(), strict=True):
            panel.fill_between(RADII[rank], rows[:, 0], rows[:, 2], color=color, alpha=0.2, lw=0)
            panel.plot(RADII[rank], rows[:, 1], color=color, label=name, lw=1.8)
            print(f"{name:<22} mean error at the largest radius {rows[-1, 1]:+.2%}")
        panel.axhline(0, color="black", lw=0.8)
        panel.set(xscale="log", xlabel="radius in pixels", title=title)
        panel.xaxis.set_major_formatter(ScalarFormatter())
        panel.set_xticks([2, 5, 10, 20, 50] if rank == 2 else [2, 5, 10, 20])
        panel.minorticks_off()
        panel.grid(alpha=0.25)
        panel.legend(frameon=False, fontsize=8.5, loc="lower right")
    panels[0].set_ylabel("error")
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
