"""Charts of YACCLAB (Grana et al. 2016) for all methods: `methods.py --charts FOLDER` draws them.

Density, size, granularity, average, size of tiles and, on the CPU, accesses to memory. Pixels that
share a corner are neighbors, as there. Images are drawn as its pages describe them, or read from a
folder of its datasets: each is a folder of PNGs with a ``files.txt`` that lists them, the synthetic
ones in ``random/classical`` and ``random/granularity``, whose names begin with two digits for the
granularity.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from PIL import Image

from equilabel import METHODS, samples
from harness import describe, one_row_a_line

mpl.use("Agg")
import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from equilabel.domains.contract import Method

    Timer = Callable[[Method, Any, dict[str, Any]], float]
    Row = dict[str, Any]

CLASSICAL, GRANULARITY = "random/classical", "random/granularity"
GRAINS = (1, 2, 4, 8, 16)
COLORS = ("#1b6ca8", "#c8553d", "#6b8f3a", "#d99a2b", "#7a5195", "#2f4b4b", "#d45087", "#8a8178")
DASHES = ("-", "--", ":", "-.")
KINDS = {"image": ("#1b6ca8", "o"), "labels": ("#c8553d", "s"), "other": ("#8a8178", "^")}
TILES = {"tile": "edge, pixels", "tile_size": "pixels", "segment": "pixels of a line"}
DENSITY = "foreground, %"
UNITS = {"density": DENSITY, "granularity": DENSITY, "size": "side, pixels", **TILES}


# ---- Images: a test, where its point lies on the axis of a chart, and the image


def noise(side: int, density: float, grain: int = 1) -> Any:
    """Draw a square of independent blocks of ``grain`` x ``grain`` pixels."""
    edge = -(-side // grain)
    blocks = np.random.default_rng(0).random((edge, edge)) < density
    return blocks.repeat(grain, 0).repeat(grain, 1)[:side, :side]


def drawn(side: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield what is drawn where there are no datasets: the test, the point and the image."""
    for tenth in range(1, 10):
        yield "density", 10 * tenth, noise(side, tenth / 10)
    for each in (2**k for k in range(5, side.bit_length())):
        for tenth in (1, 5, 9):
            yield "size", each, noise(each, tenth / 10)
    for grain in GRAINS:
        for tenth in range(11):
            yield f"granularity {grain}", 10 * tenth, noise(side, tenth / 10, grain)
    yield "average", "blobs", samples.blobs((side, side))
    yield "average", "nuclei", samples.nuclei_mask((side, side))
    yield "average", "cells", samples.voronoi((side, side)) > 0


def read(path: Path) -> Any:
    """Read a PNG of 1 bit or of black and white."""
    with Image.open(path) as picture:
        return np.asarray(picture.convert("L")) > 0


def listed(folder: Path, most: int) -> list[Path]:
    """Return the files that ``files.txt`` lists, or `most` of them, evenly chosen."""
    names = (folder / "files.txt").read_text(encoding="utf-8").split("\n")
    paths = [folder / name.strip() for name in names if name.strip()]
    return paths[:: max(1, -(-len(paths) // most))]


def stored(datasets: Path, most: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield the images of a folder of YACCLAB's datasets, as `drawn` does."""
    for found in sorted(datasets.rglob("files.txt")):
        name = found.parent.relative_to(datasets).as_posix()
        for path in listed(found.parent, most):
            if name == GRANULARITY and int(path.name[:2]) not in GRAINS:
                continue
            image = read(path)
            density = 10 * round(10 * image.mean())
            if name == CLASSICAL:
                yield "density", density, image
                yield "size", image.shape[0], image
            elif name == GRANULARITY:
                yield f"granularity {int(path.name[:2])}", density, image
            else:
                yield "average", name, image


# ---- Measuring


def measure(
    images: Iterator[tuple[str, Any, Any]], methods: list[Method], timer: Timer, limit: float
) -> list[Row]:
    """Time all methods on all images: milliseconds, the mean of the images of a point.

    A method that takes longer than the limit for an image has no more points in this chart, or, in
    that of averages, none for this dataset. Points that lack an image are left out.
    """
    times: dict[tuple[str, Any, str], list[float]] = defaultdict(list)
    number: dict[tuple[str, Any], int] = defaultdict(int)
    slow = set()
    for test, at, image in images:
        number[test, at] += 1
        chart = (test, at) if test == "average" else test
        for method in methods:
            if (chart, method.name) not in slow:
                took = timer(method, image, {})
                times[test, at, method.name].append(1e3 * took)
                if took > limit:
                    slow.add((chart, method.name))
    return [
        {"test": test, "at": at, "method": name, "ms": fmean(found)}
        for (test, at, name), found in times.items()
        if len(found) == number[test, at]
    ]


def sizes_of(method: Method) -> Iterator[tuple[str, int]]:
    """Yield the sizes of tiles that a method can be told, by the name of its option."""
    for name, option in method.options.items():
        if option.type is int and option.choices:
            yield from ((name, size) for size in option.choices)
        elif option.type is int:
            least, most = option.limits[2]
            yield from ((name, 2**k) for k in range(12) if least <= 2**k <= most)


def measure_tiles(side: int, methods: list[Method], timer: Timer) -> list[Row]:
    """Time every method that has tiles with each of their sizes, on noise of half the pixels."""
    image = noise(side, 0.5)
    rows = []
    for method in methods:
        for name, size in sizes_of(method):
            took = 1e3 * timer(method, image, {name: size})
            rows.append({"test": name, "at": size, "method": method.name, "ms": took})
    return rows


def count_accesses() -> list[Row]:
    """Count in a process of its own, where the compiler is switched off."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(Path(__file__).with_name("accesses.py"))]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    rows: list[Row] = json.loads(found.stdout)
    return [{"test": f"accesses, {row.pop('drawn')}", **row} for row in rows]


# ---- Charts


def looks(methods: list[Method]) -> dict[str, dict[str, str]]:
    """Give the methods of a paper one color, each its own dashes."""
    papers = list(dict.fromkeys(method.paper for method in methods))
    seen: dict[str, int] = defaultdict(int)
    found = {}
    for method in methods:
        color = COLORS[papers.index(method.paper) % len(COLORS)]
        found[method.name] = {"color": color, "linestyle": DASHES[seen[method.paper] % 4]}
        seen[method.paper] += 1
    return found


def panels(number: int, width: float) -> tuple[Any, Any]:
    """Return a figure of panels side by side that share their vertical axis."""
    size = (width * number + 2, 4)
    figure, axes = plt.subplots(1, number, figsize=size, sharey=True, squeeze=False)
    figure.set_layout_engine("constrained")
    return figure, axes[0]


def draw_lines(rows: list[Row], tests: list[str], path: Path, styles: Any) -> None:
    """Draw a panel for each test: a line for each method."""
    figure, axes = panels(len(tests), 4 if len(tests) < 4 else 2.6)
    lines: dict[str, Any] = {}
    for test, panel in zip(tests, axes, strict=True):
        found = [row for row in rows if row["test"] == test]
        for name, style in styles.items():
            points = sorted((row["at"], row["ms"]) for row in found if row["method"] == name)
            if points:
                at = zip(*points, strict=True)
                (lines[name],) = panel.plot(*at, marker=".", markersize=4, **style)
        panel.set_yscale("log")
        unit = UNITS[test.split()[0]]
        if unit != DENSITY:
            panel.set_xscale("log", base=2)
            ticks = sorted({row["at"] for row in found})
            panel.set_xticks(ticks, ticks)
        panel.set(title=test, xlabel=unit)
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("milliseconds")
    order = [name for name in styles if name in lines]
    figure.legend([lines[name] for name in order], order, loc="outside right center", fontsize=8)
    save(figure, path)


def draw_average(rows: list[Row], path: Path, styles: Any) -> None:
    """Draw bars for each dataset: a bar for each method, the fastest on top."""
    names = list(dict.fromkeys(row["at"] for row in rows))
    figure, axes = panels(len(names), 2.8)
    times = {(row["at"], row["method"]): row["ms"] for row in rows}
    order = sorted(styles, key=lambda name: -fmean(times.get((at, name), 1e9) for at in names))
    for at, panel in zip(names, axes, strict=True):
        widths = [times.get((at, name), np.nan) for name in order]
        panel.barh(order, widths, color=[styles[name]["color"] for name in order])
        panel.set_xscale("log")
        for place, width in enumerate(widths):
            where = min(times.values()) if np.isnan(width) else width
            text = " beyond the limit" if np.isnan(width) else f" {width:.3g}"
            panel.text(where, place, text, va="center", fontsize=7)
        panel.margins(x=0.25)
        panel.set(title=at, xlabel="milliseconds")
    save(figure, path)


def draw_accesses(rows: list[Row], path: Path) -> None:
    """Draw a dot for each method and kind of array, on a panel for each image."""
    tests = list(dict.fromkeys(row["test"] for row in rows))
    figure, axes = panels(len(tests), 4.5)
    first = [row for row in rows if row["test"] == tests[0]]
    order = [row["method"] for row in sorted(first, key=lambda row: -total(row))]
    for test, panel in zip(tests, axes, strict=True):
        chosen = {row["method"]: row for row in rows if row["test"] == test}
        for kind, (color, mark) in KINDS.items():
            at = [chosen[name][kind] or np.nan for name in order]
            panel.plot(at, order, mark, color=color, label=kind)
        panel.plot([total(chosen[name]) for name in order], order, "k|", ms=12, label="all")
        panel.set_xscale("log")
        panel.set(title=test, xlabel="accesses per pixel", xlim=(0.1, None))
        panel.grid(alpha=0.3)
    axes[-1].legend(fontsize=8, loc="upper right")
    save(figure, path)


def total(row: Row) -> float:
    """Return the accesses of a method to all arrays."""
    return float(sum(row[kind] for kind in KINDS))


def save(figure: Any, path: Path) -> None:
    """Write a chart as a PNG."""
    figure.savefig(path, dpi=110)
    plt.close(figure)
    print(path, flush=True)


def run(options: Any, timer: Timer) -> None:
    """Measure, write the figures to ``yacclab.json``, and draw the charts; `options` as there."""
    folder, side = Path(options.charts), max(options.sides or [512])
    folder.mkdir(parents=True, exist_ok=True)
    methods = [m for m in METHODS.values() if "grid" in m.domains and options.device in m.devices]
    given = stored(Path(options.yacclab), options.images) if options.yacclab else drawn(side)
    rows = measure(given, methods, timer, options.limit) + measure_tiles(side, methods, timer)
    counted = count_accesses() if options.device == "cpu" else []
    about = {"machine": describe(), "device": options.device, "rows": rows + counted}
    (folder / "yacclab.json").write_text(one_row_a_line(about), encoding="utf-8")
    charts: dict[str, list[str]] = {}
    for test in dict.fromkeys(row["test"] for row in rows):
        name = test.split()[0]
        charts.setdefault("tiles" if name in TILES else name, []).append(test)
    styles = looks(methods)
    for name, tests in charts.items():
        if name == "average":
            draw_average(
                [row for row in rows if row["test"] == name], folder / "average.png", styles
            )
        else:
            tests.sort(key=lambda test: (len(test), test))  # granularity 2 before 16
            draw_lines(rows, tests, folder / f"{name}.png", styles)
    if counted:
        draw_accesses(counted, folder / "accesses.png")
