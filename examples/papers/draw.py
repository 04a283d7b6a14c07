"""Draw stored results: one picture for each experiment, a panel for each figure or table.

``python draw.py DIR --out PICTURES``. Lines are ours, open circles what the paper prints, dashed
ends extrapolated.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from textwrap import fill as fill_text
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator, NullFormatter

from experiment import read

ROOT = Path(__file__).parents[2]
# Of the numbers without a unit; the rest is in the tables.
SHOWN = ("mean", "energy", "synchronous steps", "power", "percolation", "Ising")
COLORS = ("#1b6ca8", "#c8553d", "#6b8f3a", "#d99a2b", "#4b3f72", "#8a8178", "#2a9d8f", "#b56576")


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw all figures of an experiment into one file."""
    shown = {}
    for name, figure in results["figures"].items():
        rows = [row for row in results["rows"] if row["figure"] == name]
        plotted = [row for row in rows if row["unit"] == figure.y] or [
            row
            for row in rows
            if not row["unit"]
            and (figure.y == "factor" or row["series"] in SHOWN or row["series"].startswith("N = "))
        ]
        if plotted:
            shown[name] = (figure, plotted)
    columns = min(len(shown), 2)  # so that text is readable in the width of a page
    lines = -(-len(shown) // columns)
    picture, panels = plt.subplots(
        lines, columns, figsize=(4.6 * columns, 4.0 * lines), layout="constrained", squeeze=False
    )
    for panel, (name, (figure, rows)) in zip(panels.flat, shown.items(), strict=False):
        height = fill(panel, rows)
        panel.set_title(f"{name}: {figure.title}", fontsize=9, pad=height, wrap=True)
        panel.set(xlabel=figure.x, ylabel=figure.y)
    for panel in panels.flat[len(shown) :]:
        panel.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=90)
    plt.close(picture)


def fill(panel: Any, rows: list[dict[str, Any]]) -> float:
    """Draw a line for each series of a figure; return the height of the legend above, in points."""
    ticks = list(dict.fromkeys(row["x"] for row in rows))
    numeric = all(isinstance(x, (int, float)) for x in ticks)
    series = list(dict.fromkeys(row["series"] for row in rows))
    for k, name in enumerate(series):
        color = COLORS[k % len(COLORS)]
        points = [row for row in rows if row["series"] == name]
        places = [row["x"] if numeric else ticks.index(row["x"]) for row in points]
        if numeric:
            panel.plot(places, [row["ours"] for row in points], "--", color=color, linewidth=1)
        ours = [(x, row["ours"]) for x, row in zip(places, points, strict=True)]
        measured = [
            point for point, row in zip(ours, points, strict=True) if not row["extrapolated"]
        ]
        if measured:
            mark = "os^"[k // len(COLORS) % 3]  # colors come again in crowded figures
            style = f"-{mark}" if numeric else mark
            panel.plot(*zip(*measured, strict=True), style, color=color, markersize=3, label=name)
        printed = [
            (x, row["paper"])
            for x, row in zip(places, points, strict=True)
            if row["paper"] is not None
        ]
        if printed:
            panel.plot(*zip(*printed, strict=True), "o", color=color, markersize=6, mfc="none")
    shown = [row[who] for row in rows for who in ("ours", "paper") if row[who] is not None]
    shares = min(shown) >= 0 and max(shown) <= 1  # probabilities
    values = [value for value in shown if value > 0]
    if values and not shares and max(values) > 20 * min(values):
        panel.set_yscale("log")
    if not numeric:
        few = len(ticks) < 4
        names = [fill_text(str(tick), 16) if few else tick for tick in ticks]
        turned: Any = {} if few else {"rotation": 30, "ha": "right"}
        panel.set_xticks(range(len(ticks)), names, fontsize=8, **turned)
        panel.set_xlim(-0.5, len(ticks) - 0.5)
    elif min(ticks) > 0 and max(ticks) > 6 * min(ticks):
        panel.set_xscale("log")
        panel.xaxis.set_minor_formatter(NullFormatter())
    else:
        panel.xaxis.set_major_locator(MaxNLocator(5))
    if any(row["paper"] is not None for row in rows):
        panel.plot([], [], "o", color="black", markersize=6, mfc="none", label="the paper")
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
    entries = len(panel.get_legend_handles_labels()[0])
    panel.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0,
        frameon=False,
        fontsize=8,
        ncols=2,
    )
    return 13.0 * -(-entries // 2) + 6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    stored = ROOT / "benchmarks" / "results" / "papers"
    parser.add_argument("results", type=Path, nargs="?", default=stored, help="folder of JSON")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="folder")
    chosen = parser.parse_args()
    for file in sorted(chosen.results.glob("*.json")):
        target = chosen.out / f"papers-{file.stem}.png"
        draw(read(file), target)
        print(target)
