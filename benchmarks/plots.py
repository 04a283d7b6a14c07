"""Plot the throughput of labeling on a GPU over density and granularity of noise.

Run as ``python benchmarks/plots.py`` after ``label_cuda.py --density``; writes
``docs/images/throughput.png``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

from report import load

mpl.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "throughput.png"
COLORS = ("#c8553d", "#d99a2b", "#6b8f3a", "#1b6ca8", "#4b3f72")


def main() -> None:
    """Draw a line for each granularity, for both connectivities."""
    rows = load("density_cuda")["rows"]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for connectivity, panel in zip((1, 2), axes, strict=True):
        grains = sorted({row["grain"] for row in rows})
        for grain, color in zip(grains, COLORS, strict=True):
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
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)
    print(PICTURE)


if __name__ == "__main__":
    main()
