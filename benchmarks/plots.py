"""Plot stored results: equilabel beside other libraries, and noise on a GPU.

Run as ``python benchmarks/plots.py``; writes ``docs/images/comparison.png`` and, from the results
of ``label_cuda.py --density``, ``docs/images/throughput.png``; from those of ``methods.py`` on a
GPU, ``docs/images/methods.png``.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import matplotlib as mpl

from report import load
from summary import IMAGES_CPU, PEERS_CPU, PEERS_CUDA, labeled_cpu, labeled_cuda

mpl.use("Agg")
import matplotlib.pyplot as plt

PICTURES = Path(__file__).parents[1] / "docs" / "images"
COLORS = {
    "equilabel": "#1b6ca8",
    "OpenCV": "#d99a2b",
    "cc3d": "#6b8f3a",
    "SciPy": "#b9b3a9",
    "scikit-image": "#8a8178",
    "colorcc": "#d99a2b",
    "bkeccl": "#6b8f3a",
    "bkeccl, raw": "#a8c97f",
    "CuPy": "#b9b3a9",
    "cuCIM": "#8a8178",
}
MOST = 4096  # side of the images of the picture of methods
SHOWN = {
    "blobs": "smooth blobs",
    "noise 0.5": "noise, half of the pixels",
    "spiral": "spiral",
    "square lattice, 0.5 open": "lattice, half of the bonds",
}
MARKS = (("#1b6ca8", "o"), ("#c8553d", "s"), ("#6b8f3a", "^"), ("#d99a2b", "D"))
GRAINS = ("#c8553d", "#d99a2b", "#6b8f3a", "#1b6ca8", "#4b3f72")


def draw_density() -> None:
    """Draw a line for each granularity, for both connectivities."""
    rows = load("density_cuda")["rows"]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for connectivity, panel in zip((1, 2), axes, strict=True):
        grains = sorted({row["grain"] for row in rows})
        for grain, color in zip(grains, GRAINS, strict=True):
            line = [r for r in rows if (r["grain"], r["connectivity"]) == (grain, connectivity)]
            panel.plot(
                [r["density"] for r in line],
                [r["Gpx/s"] for r in line],
                color=color,
                marker="o",
                markersize=3,
                label=f"{grain} px",
            )
        panel.set(title=f"{4 * connectivity} neighbors", xlabel="density", xlim=(0, 1))
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].set(ylabel="Gpx/s", ylim=(0, None))
    axes[0].legend(
        title="side of a square of noise",
        loc="lower center",
        frameon=False,
        ncols=5,
        fontsize=8,
        title_fontsize=8,
        columnspacing=1.0,
        handlelength=1.2,
    )
    save(figure, "throughput", dpi=150)


def draw_comparison() -> None:
    """Draw the throughput of all contenders, on a CPU and on a GPU."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    cpu = [row for row in labeled_cpu() if "cells" not in row[0]]
    cuda = [row for row in labeled_cuda()[: len(IMAGES_CPU)] if "cells" not in row[0]]
    draw_bars(panels[0], cpu, PEERS_CPU, "two cores of a CPU (AMD EPYC)")
    draw_bars(panels[1], cuda, PEERS_CUDA, "one GPU (NVIDIA H200)")
    save(figure, "comparison", dpi=130)


def draw_bars(axes: Any, rows: list[Any], peers: dict[str, str], title: str) -> None:
    """Draw a group of bars for each image, a bar for each contender."""
    for turn, who in enumerate(["equilabel", *reversed(peers)]):
        speeds = [
            prod(shape) / seconds[who] / 1e9 if who in seconds else 0 for _, shape, seconds in rows
        ]
        places = [row + 0.16 * (turn - 2) for row in range(len(rows))]
        axes.barh(places, speeds, 0.16, color=COLORS[who], label=who)
    axes.set(xlabel="gigapixels a second", title=title)
    axes.set_yticks(range(len(rows)), [name.replace(", ", ",\n") for name, *_ in rows])
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")


def draw_methods() -> None:
    """Draw the time of every method for each pixel or site, a row for each, on a GPU."""
    rows = [row for row in load("methods_cuda")["rows"] if row.get("asked") == MOST]
    names = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
    for (image, label), (color, marker) in zip(SHOWN.items(), MARKS, strict=True):
        points = [row for row in rows if row["image"] == image and row["domain"] != "graph"]
        axes.plot(
            [1e9 * row["seconds"] / row["elements"] for row in points],
            [names.index(row["method"]) for row in points],
            marker,
            color=color,
            label=label,
            markersize=6,
        )
    axes.set(xscale="log", xlabel="ns for each pixel or site, one NVIDIA H200")
    shown = [name for name in names if not name.startswith(("hawick_1", "hawick_2", "hawick_3"))]
    shown.remove("union_find")
    axes.set_yticks([names.index(name) for name in shown], shown)
    axes.invert_yaxis()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    save(figure, "methods", 110)


def save(figure: Any, name: str, dpi: int) -> None:
    """Write a picture of the documentation."""
    path = PICTURES / f"{name}.png"
    figure.savefig(path, dpi=dpi)
    print(path)


if __name__ == "__main__":
    draw_comparison()
    draw_density()
    draw_methods()
