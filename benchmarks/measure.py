"""Time measuring on the CPU beside scikit-image, cc3d and OpenCV, and fused into labeling.

Run as ``python benchmarks/measure.py``; results go to ``benchmarks/results/measure.json``.
"""

from __future__ import annotations

import argparse
import os
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import cc3d
import cv2
import numpy as np
import skimage.measure

import equilabel
from equilabel import METHODS, samples
from harness import interleave, peak_memory, store

PLACES = ("area", "bbox", "centroid")
OUTLINES = ("perimeter", "perimeter_crofton", "euler_number")
INTENSITY = ("intensity_min", "intensity_max", "intensity_mean")
SIX = ("label", "area", "bbox", "centroid", "perimeter", "intensity_mean")
if TYPE_CHECKING:
    from collections.abc import Iterator

THREADS = "EQUILABEL_NUM_THREADS"
MOST = 200_000  # objects up to which scikit-image is waited for


def label_images(side: int, depth: int) -> list[tuple[str, Any, tuple[str, ...]]]:
    """List images of labels, and the columns to measure on them."""
    flat = equilabel.label(samples.nuclei_mask((side, side)))
    many = equilabel.label(samples.percolation((side // 4, side // 4), 0.2), connectivity=1)
    dense = equilabel.label(samples.percolation((side, side), 0.3))
    deep = equilabel.label(samples.nuclei_mask((depth, depth, depth)))
    surface = ("surface_area_crofton", "surface_area_faces", "sphericity")
    return [
        ("nuclei", flat, PLACES),
        ("nuclei", flat, (*PLACES, "perimeter")),
        ("nuclei", flat, (*PLACES, *OUTLINES, *INTENSITY)),
        ("nuclei", flat, ("intensity_std",)),
        ("nuclei", flat, ("eccentricity", "orientation", "axis_major_length")),
        ("nuclei", flat, ("moments_central",)),
        ("nuclei", flat, ("moments_weighted",)),
        ("many", many, SIX),
        ("noise 0.3", dense, PLACES),
        ("nuclei 3D", deep, PLACES),
        ("nuclei 3D", deep, (*PLACES, "euler_number", "intensity_mean")),
        ("nuclei 3D", deep, surface),
    ]


def measure_labels(side: int, depth: int, rounds: int) -> list[dict[str, Any]]:
    """Time `regionprops_table` on images of labels."""
    rows = []
    for name, labels, columns in label_images(side, depth):
        rng = np.random.default_rng(0)
        values = rng.integers(0, 65536, labels.shape, dtype=np.uint16)
        image = values if any("intensity" in c or "weighted" in c for c in columns) else None
        ours = partial(equilabel.regionprops_table, labels, image, columns)
        unsigned = labels.astype(np.uint32)
        runs = {"equilabel": ours}
        if set(columns) <= set(PLACES):
            runs["cc3d"] = lambda unsigned=unsigned: cc3d.statistics(unsigned)
        times = interleave(runs, rounds)
        with one_thread():
            alone = interleave(runs, rounds, time.thread_time)
        theirs = partial(skimage.measure.regionprops_table, labels, image, columns)
        defined = not any(column.startswith(("surface", "spher")) for column in columns)
        if labels.max() <= MOST and defined:  # seconds to minutes: once is enough
            alone |= once("skimage", theirs, labels.max() < 10_000)
        rows.append(
            {
                "kind": "labels",
                "image": name,
                "shape": list(labels.shape),
                "labels": int(labels.max()),
                "columns": list(columns),
                "seconds": times,
                "seconds_of_one_thread": alone,
                "extra_bytes_per_pixel": peak_memory(ours) / labels.size,
            }
        )
        show(rows[-1])
    return rows


def measure_masks(side: int, rounds: int) -> list[dict[str, Any]]:
    """Time measuring while labeling, and without labels, over labeling alone."""
    rows = []
    for name, mask in (
        ("nuclei", samples.nuclei_mask((side, side))),
        ("blobs", samples.blobs((side, side))),
        ("ones", np.ones((side, side), bool)),
        ("noise 0.5", samples.percolation((side, side), 0.5)),
    ):
        values = np.random.default_rng(0).integers(0, 65536, mask.shape, dtype=np.uint16)
        pixels = mask.view(np.uint8)
        wide = (*PLACES, *OUTLINES, *INTENSITY)
        both = {"properties": wide, "intensity_image": values}
        runs = {
            "label": partial(equilabel.label, mask),
            "label + places": partial(equilabel.label, mask, properties=PLACES),
            "label + all": partial(equilabel.label, mask, **both),
            "measure places": partial(equilabel.measure_components, mask, PLACES),
            "measure all": partial(equilabel.measure_components, mask, **both),
            "opencv": partial(cv2.connectedComponents, pixels, connectivity=8),
            "opencv + stats": partial(cv2.connectedComponentsWithStats, pixels, connectivity=8),
        }
        row = {
            "kind": "masks",
            "image": name,
            "shape": list(mask.shape),
            "seconds": interleave(runs, rounds),
        }
        with one_thread():
            row["seconds_of_one_thread"] = interleave(runs, 2 * rounds, time.thread_time)
        rows.append(row)
        show(row)
    return rows


def measure_occupation(side: int, rounds: int) -> list[dict[str, Any]]:
    """Run Kalentev's Table 2 again: size and perimeter over plain labeling, by occupation."""
    rows = []
    columns = ("num_pixels", "perimeter_edges")
    for occupation in (0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.99):
        mask = samples.percolation((side, side), occupation)
        runs = {}
        for method in ("runs", *(name for name, row in METHODS.items() if row.accumulates)):
            plain = partial(equilabel.label, mask, connectivity=1, method=method)
            runs |= {method: plain, f"{method} +": partial(plain, properties=columns)}
        row = {"kind": "occupation", "image": f"{occupation}", "shape": list(mask.shape)}
        with one_thread():
            row["seconds_of_one_thread"] = interleave(runs, rounds, time.thread_time)
        rows.append(row)
        show(row)
    return rows


@contextmanager
def one_thread() -> Iterator[None]:
    """Let all contenders work in one thread, whose own time can be told on a busy machine."""
    cv2.setNumThreads(1)
    os.environ[THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[THREADS]
        cv2.setNumThreads(-1)


def once(name: str, run: Any, warm: bool) -> dict[str, dict[str, float]]:
    """Time a slow contender: once, after a first round if that is bearable."""
    if warm:
        return interleave({name: run}, 1, time.thread_time)
    began = time.thread_time()
    run()
    took = time.thread_time() - began
    return {name: {"min": took, "median": took}}


def show(row: dict[str, Any]) -> None:
    """Print a row in milliseconds."""
    print(row["image"], row.get("labels", ""), *row.get("columns", []), flush=True)
    for kind in ("seconds", "seconds_of_one_thread"):
        if kind in row:
            best = {name: round(value["min"] * 1e3, 1) for name, value in row[kind].items()}
            print("   ", kind, best, flush=True)


def main() -> None:
    """Measure every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small images, for a trial")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    side, depth = (512, 64) if options.quick else (4096, 256)
    rows = measure_masks(side, options.rounds)
    rows += measure_labels(side, depth, options.rounds)
    rows += measure_occupation(side // 2, options.rounds)
    if not options.quick:
        print(store("measure", rows))
    print("load", os.getloadavg())


if __name__ == "__main__":
    main()
