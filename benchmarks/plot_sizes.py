"""Plot `label` over the size of images, beside other libraries, from stored results.

Run as ``python benchmarks/plot_sizes.py``; writes ``docs/images/sizes.png``, time over size, and
``docs/images/peers.png``, how many times longer the fastest other library takes; and the same for
GPUs, ``sizes_cuda.png`` and ``peers_cuda.png``.
"""

from __future__ import annotations

from math import prod
from typing import Any

from matplotlib.colors import TwoSlopeNorm

from plots import COLORS, plt, save
from report import RESULTS, load

WHO = {
    "equilabel": "equilabel",
    "opencv": "OpenCV",
    "cc3d": "cc3d",
    "scipy": "SciPy",
    "skimage": "scikit-image",
}
WHO_CUDA = {
    "equilabel": "equilabel",
    "BKE raw": "bkeccl, raw",
    "BUF raw": "bkeccl, raw",
    "bkeccl dense": "bkeccl",
    "colorcc": "colorcc",
    "CuPy": "CuPy",
    "cuCIM": "cuCIM",
}
SHOWN = {"blobs": "smooth blobs", "noise 0.5": "noise, half of the pixels"}
LIMIT = 'astype("int32")'
LIMIT_CUDA = "the limit"
LIMITS = (LIMIT, LIMIT_CUDA)


def seconds(row: dict[str, Any]) -> dict[str, float]:
    """Return the seconds of a row by the names of libraries, and the limit."""
    if "us" in row:
        found = {WHO_CUDA[name]: us / 1e6 for name, us in row["us"].items()}
        return found | {LIMIT_CUDA: row["null us"] / 1e6}
    found = {WHO[name.split()[0]]: s for name, s in row["seconds"].items() if name != "astype"}
    return found | {LIMIT: row["seconds"]["astype"]}


def draw_times(rows: list[dict[str, Any]], picture: str) -> None:
    """Draw time over size, a panel for each of two images."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    for panel, (image, title) in zip(panels, SHOWN.items(), strict=True):
        points = [row for row in rows if (row["image"], row["neighbors"]) == (image, 8)]
        for who in seconds(points[-1]):
            panel.plot(
                [row["shape"][0] for row in points],
                [1e3 * seconds(row)[who] for row in points],
                color=COLORS.get(who, "#333333"),
                linestyle="--" if who in LIMITS else "-",
                linewidth=2.2 if who == "equilabel" else 1.2,
                marker="" if who in LIMITS else "o",
                markersize=3,
                label=who,
            )
        panel.set(xscale="log", yscale="log", title=title, xlabel="side of the image, pixels")
        sides = [row["shape"][0] for row in points]
        panel.set_xticks(sides, list(map(str, sides)))
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set(ylabel="ms")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    save(figure, picture, 110)


def draw_ratios(rows: list[dict[str, Any]], picture: str) -> None:
    """Draw the time of the fastest other library over ours, for all images and sizes."""
    flat = [row for row in rows if len(row["shape"]) == 2]
    deep = [row for row in rows if len(row["shape"]) == 3]
    figure, panels = plt.subplot_mosaic(
        [["flat", "deep"], ["flat", "."]],
        figsize=(11, 9),
        width_ratios=(7, 5),
        height_ratios=(1, 4),
        layout="constrained",
    )
    norm = TwoSlopeNorm(1, 0.4, 5)
    for panel, part in ((panels["flat"], flat), (panels["deep"], deep)):
        names = list(dict.fromkeys((row["image"], row["neighbors"]) for row in part))
        sides = sorted({side_of(row) for row in part})
        table = [[float("nan")] * len(sides) for _ in names]
        for row in part:
            times = seconds(row)
            best = min(s for who, s in times.items() if who not in ("equilabel", *LIMITS))
            at = names.index((row["image"], row["neighbors"]))
            table[at][sides.index(side_of(row))] = best / times["equilabel"]
        panel.imshow(table, norm=norm, cmap="RdBu", aspect="auto")
        for y, line in enumerate(table):
            for x, ratio in enumerate(line):
                dark = ratio > 3.2 or ratio < 0.55
                panel.text(
                    *(x, y, f"{ratio:.1f}"),
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="white" if dark else "black",
                )
        panel.set_xticks(range(len(sides)), list(map(str, sides)))
        panel.set_yticks(range(len(names)), [f"{name}, {n}" for name, n in names])
        kind, unit = ("images in 2D", "pixels") if part is flat else ("images in 3D", "voxels")
        panel.set(title=f"{kind}, number of neighbors", xlabel=f"side, {unit}")
        panel.spines[:].set_visible(False)
    save(figure, picture, 100)


def side_of(row: dict[str, Any]) -> int:
    """Return the side of an image; that of a Hilbert curve as of the others."""
    side = round(prod(row["shape"]) ** (1 / len(row["shape"])))
    return side + side % 2


if __name__ == "__main__":
    for results, end in (("sizes_cpu", ""), ("sizes_cuda", "_cuda")):
        if (RESULTS / f"{results}.json").exists():
            stored = load(results)["rows"]
            draw_times(stored, f"sizes{end}")
            draw_ratios(stored, f"peers{end}")
