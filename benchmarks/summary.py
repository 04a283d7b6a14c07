"""Write the three tables and the picture of ``docs/performance.md`` from stored results.

Run as ``python benchmarks/summary.py``; `report.py` writes the long tables of the lab notes.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import matplotlib as mpl

from report import card, load, machine, table, write

mpl.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "comparison.png"
COLORS = {
    "equilabel": "#1b6ca8",
    "OpenCV": "#d99a2b",
    "cc3d": "#6b8f3a",
    "SciPy": "#b9b3a9",
    "scikit-image": "#8a8178",
    "colorcc": "#d99a2b",
    "bkeccl": "#6b8f3a",
    "CuPy": "#b9b3a9",
    "cuCIM": "#8a8178",
}

# Images by their names in the results, as a user knows them; all with full connectivity.
IMAGES_CPU = {
    ("nuclei", 8): "nuclei",
    ("blobs", 8): "smooth blobs",
    ("noise 0.5 / 1", 8): "noise, half of the pixels",
    ("voronoi", 8): "cells, numbered (int32)",
    ("nuclei 3D", 26): "nuclei in 3D",
    ("noise 3D 0.31", 26): "noise in 3D, a third of the voxels",
}
IMAGES_CUDA = {
    ("nuclei", 2): "nuclei",
    ("blobs", 2): "smooth blobs",
    ("noise 0.5", 2): "noise, half of the pixels",
    ("voronoi int32", 2): "cells, numbered (int32)",
    ("nuclei 3D", 3): "nuclei in 3D",
    ("noise 0.31 3D", 3): "noise in 3D, a third of the voxels",
    ("blobs 4096", 2): "smooth blobs",
    ("blobs 512", 2): "smooth blobs",
}
PEERS_CPU = {"scikit-image": "skimage", "SciPy": "scipy", "cc3d": "cc3d", "OpenCV": "opencv 2"}
PEERS_CUDA = {"CuPy": "CuPy", "cuCIM": "cuCIM", "bkeccl": "bkeccl dense", "colorcc": "colorcc"}
FEW = "area, bbox, centroid"
MANY = "area, bbox, centroid, both perimeters, Euler number, intensities"
MEASURED = {  # by image, first column and number of columns
    ("nuclei", "area", 3): FEW,
    ("nuclei", "area", 9): MANY,
    ("many", "label", 6): "label, area, bbox, centroid, perimeter, mean intensity",
}
MEASURED_CUDA = {3: FEW, 8: MANY}
SMALL = ("label (32, 32) connectivity 2", "label (256, 256) connectivity 2")


def size(shape: list[int]) -> str:
    """Format a shape."""
    return " x ".join(map(str, shape))


def times(ratio: float | None) -> str:
    """Format how many times longer something takes: two digits, so far as results repeat."""
    if ratio is None:
        return "-"
    return f"{ratio:.0f} x" if ratio >= 10 else f"{ratio:.1f} x"


def labeled_cpu() -> list[tuple[str, list[int], dict[str, float]]]:
    """Return seconds by contender for the images of the table, best of the rounds."""
    found = {(row["image"], row["neighbors"]): row for row in load("label_cpu")["rows"]}
    rows = []
    for key, name in IMAGES_CPU.items():
        best = {who: value["min"] for who, value in found[key]["seconds"].items()}
        seconds = {"equilabel": best["equilabel 2"]}
        seconds |= {peer: best[word] for peer, word in PEERS_CPU.items() if word in best}
        rows.append((name, found[key]["shape"], seconds))
    return rows


def labeled_cuda() -> list[tuple[str, list[int], dict[str, float]]]:
    """Return seconds by contender for the images of the table, and of the null kernel."""
    rows = load("label_cuda")["rows"]
    found = {(row["image"], row["connectivity"]): row for row in rows if "us" in row}
    result = []
    for key, name in IMAGES_CUDA.items():
        row = found[key]
        seconds = {"equilabel": row["us"] / 1e6, "null": row["null us"] / 1e6}
        for peer, word in PEERS_CUDA.items():
            if word in row.get("peers us", {}):
                seconds[peer] = row["peers us"][word] / 1e6
        result.append((name, row["shape"], seconds))
    return result


def measured_cpu() -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of `regionprops_table`, each with its columns in words."""
    found = {
        (row["image"], row["columns"][0], len(row["columns"])): row
        for row in load("measure")["rows"]
        if row["kind"] == "labels"
    }
    return [(words, found[key]) for key, words in MEASURED.items()]


def compared(seconds: dict[str, float], peers: dict[str, str]) -> list[str]:
    """Return how many times longer each peer takes."""
    ours = seconds["equilabel"]
    return [times(seconds[peer] / ours if peer in seconds else None) for peer in peers]


def speed_cpu() -> str:
    """Tabulate labeling and measuring on the CPU."""
    rows = [
        [
            "`label`",
            f"{name}, {size(shape)}",
            f"{seconds['equilabel'] * 1e3:.1f}",
            *compared(seconds, PEERS_CPU),
        ]
        for name, shape, seconds in labeled_cpu()
    ]
    small = {(row["work"], row["image"]): row for row in load("small")["rows"]}
    for work in SMALL:
        row = small[work, "blobs int32"]
        side = work.split("(")[1].split(",")[0]
        rows.append(
            [
                "`label`",
                f"smooth blobs (int32), {side} x {side}",
                f"{row['us'] / 1e3:.3f}",
                times(row["skimage us"] / row["us"]),
                "-",
                "-",
                "-",
            ]
        )
    for columns, row in measured_cpu():
        ours = row["seconds"]["equilabel"]["min"]
        one = row["seconds_of_one_thread"]["skimage"]["min"]
        theirs = row["seconds"].get("cc3d", {}).get("min")
        rows.append(
            [
                f"`regionprops_table`: {columns}",
                f"{row['labels']:,} objects, {size(row['shape'])}",
                f"{ours * 1e3:.1f}",
                times(one / ours),
                "-",
                times(theirs / ours if theirs else None),
                "-",
            ]
        )
    head = ["function", "image", "equilabel, ms", *PEERS_CPU]
    return machine(load("label_cpu")) + "\n\n" + table(head, rows)


def speed_cuda() -> str:
    """Tabulate labeling and measuring on a GPU."""
    rows = [
        [
            "`label`",
            f"{name}, {size(shape)}",
            f"{seconds['equilabel'] * 1e3:.2f}",
            f"{seconds['equilabel'] / seconds['null']:.1f}",
            *compared(seconds, PEERS_CUDA),
        ]
        for name, shape, seconds in labeled_cuda()
    ]
    for row in load("measure_cuda")["rows"]:
        if row.get("labels of") == "4096 x 4096" and len(row["columns"]) in MEASURED_CUDA:
            columns = MEASURED_CUDA[len(row["columns"])]
            rows.append(
                [
                    f"`regionprops_table`: {columns}",
                    f"{row['objects']:,} objects, 4096 x 4096",
                    f"{row['us'] / 1e3:.2f}",
                    "",
                    "-",
                    times(row["cuCIM us"] / row["us"]),
                    "-",
                    "-",
                ]
            )
    head = ["function", "image", "equilabel, ms", "x the limit", *PEERS_CUDA]
    return card(load("label_cuda")) + "\n\n" + table(head, rows)


def memory() -> str:
    """Tabulate what is held beside the image and its labels."""
    cpu = {(row["image"], row["neighbors"]): row for row in load("label_cpu")["rows"]}
    cuda = {
        (row["image"], row["connectivity"]): row["temporary bytes per pixel"]
        for row in load("label_cuda")["rows"]
        if "us" in row
    }
    pairs = [
        ("nuclei", ("nuclei", 8), ("nuclei", 2)),
        ("noise, half of the pixels", ("noise 0.5 / 1", 8), ("noise 0.5", 2)),
        ("noise, half of the pixels, 4 neighbors", ("noise 0.5 / 1", 4), ("noise 0.5", 1)),
        ("cells, numbered (int32)", ("voronoi", 8), ("voronoi int32", 2)),
        ("nuclei in 3D", ("nuclei 3D", 26), ("nuclei 3D", 3)),
    ]
    rows = [
        ["`label`", name, f"{cpu[left]['extra_bytes_per_pixel']:.2f}", f"{cuda[right]:.2f}"]
        for name, left, right in pairs
    ]
    for columns, row in measured_cpu():
        held = row["extra_bytes_per_pixel"]
        each = held * prod(row["shape"]) / row["labels"]
        objects = f"{row['labels']:,} objects, {size(row['shape'])}"
        cell = f"{held:.2f}" if held < 1 else f"{held:.0f} ({each:.0f} an object)"
        rows.append([f"`regionprops_table`: {columns}", objects, cell, "-"])
    return table(["function", "image", "CPU, bytes a pixel", "GPU, bytes a pixel"], rows)


def draw() -> None:
    """Draw the throughput of all contenders, on a CPU and on a GPU."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    cpu = [row for row in labeled_cpu() if "cells" not in row[0]]
    cuda = [row for row in labeled_cuda()[: len(IMAGES_CPU)] if "cells" not in row[0]]
    draw_bars(panels[0], cpu, PEERS_CPU, "two cores of a CPU (AMD EPYC)")
    draw_bars(panels[1], cuda, PEERS_CUDA, "one GPU (NVIDIA H200)")
    figure.savefig(PICTURE, dpi=130)
    print(PICTURE)


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


TABLES = {
    "performance.md": {
        speed_cpu: "label_cpu",
        speed_cuda: "label_cuda",
        memory: "label_cpu",
    },
}

if __name__ == "__main__":
    write(TABLES)
    draw()
