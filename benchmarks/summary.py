"""Write the tables of ``docs/performance.md``, and sentences beside them, from stored results.

Run as ``python benchmarks/summary.py``; `report.py` writes the long tables of the lab notes.
"""

from __future__ import annotations

from math import prod
from typing import Any

from report import card, load, machine, table, write

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
SMALL_PIXELS = 256 * 256  # of an image, below which calls count
PEERS_RAW = {"BKE raw": "bkeccl, raw,", "BUF raw": "bkeccl, raw,"}  # which does not number
LARGE = 5e6  # edges of the graphs of the table
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


def copying() -> str:
    """Compare labeling with copying the image into an array of labels, and name who is faster."""
    found = load("label_cpu")["rows"]
    times_copy: dict[bool, list[float]] = {True: [], False: []}
    slower = []
    for row in found:
        best = {who: value["min"] for who, value in row["seconds"].items()}
        if len(row["shape"]) == 2 and row["image"].startswith(("nuclei", "blobs", "noise")):
            noise = row["image"].startswith("noise")
            times_copy[noise].append(best["equilabel 2"] / best["astype"])
        for peer, word in PEERS_CPU.items():
            if word in best and best[word] < best["equilabel 2"]:
                ratio = best[word] / best["equilabel 2"]
                slower.append(
                    f"{peer} on {row['image']}, {row['neighbors']} neighbors ({ratio:.1f} x)"
                )
    return (
        f"Labeling a 16-megapixel image takes {min(times_copy[False]):.1f} to "
        f"{max(times_copy[False]):.1f} times as long as copying it with "
        f'`image.astype("int32")` if it shows nuclei or smooth blobs, and up to '
        f"{max(times_copy[True]):.1f} times on noise. "
        f"Another library is faster on {len(slower)} of {len(found)} images and connectivities"
        f"{': ' * bool(slower)}{'; '.join(slower)}."
    )


def all_sizes() -> str:
    """Say how often other libraries are faster with one thread, by the size of images."""
    results = load("sizes_cpu")
    slower: dict[bool, list[str]] = {True: [], False: []}
    counts = {True: 0, False: 0}
    for row in results["rows"]:
        small = prod(row["shape"]) < SMALL_PIXELS
        counts[small] += 1
        others = {k: s for k, s in row["seconds"].items() if k not in ("equilabel 1", "astype")}
        best = min(others, key=lambda name: others[name])
        ratio = others[best] / row["seconds"]["equilabel 1"]
        if ratio < 1:
            peer = {"opencv 1": "OpenCV", "cc3d": "cc3d", "scipy": "SciPy"}.get(best, best)
            place = f"{row['image']}, {row['shape'][0]} a side, {row['neighbors']} neighbors"
            slower[small].append(f"{peer} on {place} ({ratio:.2f} x)")
    large = f": {'; '.join(slower[False])}" if slower[False] else ""
    return (
        f"{machine(results)[:-2]}, commit {results['machine']['commit']}). Another library is "
        f"faster on {len(slower[False])} of {counts[False]} images of 256 x 256 pixels and more"
        f"{large}; and on {len(slower[True])} of {counts[True]} smaller ones, where the call from "
        "Python counts."
    )


def all_sizes_cuda() -> str:
    """Say on which images other libraries are faster on a GPU, called from Python."""
    results = load("sizes_cuda")
    slower: dict[str, list[float]] = {}
    for row in results["rows"]:
        others = {who: us for who, us in row["us"].items() if who != "equilabel"}
        best = min(others, key=lambda who: others[who])
        if others[best] < row["us"]["equilabel"]:
            name = f"{PEERS_RAW.get(best, best)} on {row['image']}"
            slower.setdefault(name, []).append(others[best] / row["us"]["equilabel"])
    listed = "; ".join(
        f"{name} ({len(ratios)}, down to {min(ratios):.2f} x)" for name, ratios in slower.items()
    )
    count = sum(map(len, slower.values()))
    return (
        f"{card(results)} Another library is faster on {count} of {len(results['rows'])} images, "
        f"sizes and connectivities{f': {listed}' if listed else ''}."
    )


def first_call() -> str:
    """Say how long a program waits for its first labels."""
    seconds = {row["what"]: row["seconds"] for row in load("startup")["rows"]}
    return (
        f"The first call of a program takes {seconds['first label, warm cache']:.1f} s, most of "
        f"which numba needs to load. The first call after installation compiles, and takes "
        f"{seconds['first label, cold cache']:.0f} s."
    )


def moving() -> str:
    """Say what moving an image of the host to a GPU and its labels back costs."""
    row = next(row for row in load("label_cuda")["rows"] if "moved" in row)
    side = row["moved"].split()[-1]
    return (
        f"An image of the host has to be moved: {side} x {side} pixels of smooth blobs take "
        f"{row['label to a new array us'] / 1e3:.0f} ms with both copies, and "
        f"{row['label on the CPU us'] / 1e3:.0f} ms on the 16 CPU cores of that machine."
    )


def graphs() -> str:
    """Tabulate `label_graph` beside SciPy, and on a GPU beside ECL-CC and CuPy."""
    results, device = load("graphs"), load("graphs_cuda")
    there = {row["graph"]: row for row in device["rows"]}
    cells = []
    for row in results["rows"]:
        if row["edges"] < LARGE:
            continue
        seconds = {name: timed["min"] for name, timed in row["seconds"].items()}
        gpu = there[row["graph"]]
        took = gpu["seconds"]["label_graph"]["min"]
        cells.append(
            [
                row["graph"],
                f"{row['edges'] / 1e6:.0f}",
                f"{seconds['label_graph'] * 1e3:.0f}",
                times(seconds["SciPy"] / seconds["label_graph"]),
                f"{gpu['edges'] / 1e6:.0f}",
                f"{took * 1e3:.1f}",
                f"{gpu['edges'] / took / 1e9:.0f}",
                *(times(gpu["seconds"][peer]["min"] / took) for peer in ("ECL-CC", "CuPy")),
            ]
        )
    head = [
        "graph",
        "million edges",
        "CPU, ms",
        "SciPy",
        "million edges",
        "GPU, ms",
        "edges/ns",
        "ECL-CC",
        "CuPy",
    ]
    commit = device["machine"]["commit"]
    said = f"{machine(results)} The GPU is one NVIDIA H200, at commit {commit}."
    return said + "\n\n" + table(head, cells)


TABLES = {
    "performance.md": {
        graphs: "graphs",
        speed_cpu: "label_cpu",
        copying: "label_cpu",
        all_sizes: "sizes_cpu",
        all_sizes_cuda: "sizes_cuda",
        first_call: "startup",
        speed_cuda: "label_cuda",
        moving: "label_cuda",
        memory: "label_cpu",
    },
}

if __name__ == "__main__":
    write(TABLES)
