"""Time measuring on a GPU: fused into labeling, alone, and from images of labels beside cuCIM.

Times of the device are medians by events, as in ``label_cuda.py``; times from Python are those of a
call and all it waits for, with columns that stay on the device unless told otherwise. Run as
``python benchmarks/measure_cuda.py``; results go to ``benchmarks/results/measure_cuda.json``.
"""

from __future__ import annotations

import argparse
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from equilabel import label, measure, regionprops_table, samples
from equilabel.devices import passes as passes_of
from equilabel.grid import Foreground, Grid
from equilabel.kernels.cuda import runs
from equilabel.kernels.cuda.sources import LabelSource, RunSource
from equilabel.kernels.layout import Layout
from equilabel.methods import load_recipe
from harness import store
from label_cuda import (
    SOURCE,
    count_components,
    device_times,
    null_time,
    passes,
    wall_time,
    whole_time,
)
from peers_cuda import versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PLACES = ("area", "bbox", "centroid")
OUTLINES = ("perimeter", "perimeter_crofton", "euler_number")
INTENSITY = ("intensity_mean", "intensity_max")


def fused_rows(side: int, module: Any) -> list[dict[str, Any]]:
    """Compare labeling with labeling and measuring: places, then outlines and values too."""
    wait = module.get_function("wait_kernel")
    rows = []
    flat = (side, side)
    images = {
        "nuclei": samples.nuclei_mask(flat),
        "blobs": samples.blobs(flat),
        "ones": np.ones(flat, bool),
        "noise 0.5": samples.percolation(flat, 0.5),
    }
    places = Layout(axes=2)
    outlines = Layout(axes=2, pairs="all", euler_full=True, outline="equal")
    for name, image in images.items():
        pixels = cupy.asarray(image)
        gray = cupy.random.randint(0, 255, flat, np.uint8)
        out = cupy.empty(pixels.size, np.int32)
        known = count_components(pixels, 2, False, out)

        def tally(table: Any, layout: Any = places, known: int = known, values: Any = None) -> Any:
            joined = RunSource(table, flat, known)
            joined.count(layout)
            if values is not None:
                joined.add_gray(layout, values, cupy.zeros((known + 1, 4), np.uint64))
            return table

        everything = partial(tally, layout=outlines, values=gray)
        pack, unite, _, paint = passes(pixels, 2, False, out)
        before = [pack, unite, number]
        fused = device_times([*before, tally, paint], wait)
        counted = device_times([*before, partial(tally, layout=outlines), paint], wait)
        full = device_times([*before, everything, paint], wait)
        labels = label(pixels)
        row = {
            "image": name,
            "objects": known,
            "null us": null_time(pixels, out, module),
            "label us": whole_time([*passes(pixels, 2, False, out)], wait),
            "places us": fused[3],
            "places fused us": whole_time([*before, tally, paint], wait),
            "outlines us": counted[3],
            "all us": full[3],
            "all fused us": whole_time([*before, everything, paint], wait),
            "table only us": whole_time([*before, tally], wait),
            "from labels us": _times_from_labels(labels, gray, known, (places, outlines), wait),
            "wall label us": wall_time(partial(label, pixels, return_num=True), 10),
            "wall places us": wall_time(partial(label, pixels, properties=PLACES), 10),
            "wall places on the host us": wall_time(
                partial(label, pixels, properties=PLACES, columns="host"), 10
            ),
            "wall all us": wall_time(
                partial(
                    label, pixels, properties=PLACES + OUTLINES + INTENSITY, intensity_image=gray
                ),
                5,
            ),
            "wall measure us": wall_time(partial(measure, pixels, PLACES), 10),
        }
        rows.append(row)
        print({k: round(v, 1) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return rows


def number(table: Any) -> Any:
    """Give labels to nodes alone, and hand on the table."""
    runs.number(table)
    return table


def _times_from_labels(
    labels: Any, gray: Any, known: int, layouts: Iterable[Layout], wait: Any
) -> list[float]:
    """Time what counts from an image of labels: each layout, the values, then all."""
    rows = LabelSource(labels)
    table = cupy.zeros((known + 1, 4), np.uint64)
    steps: list[Callable[[Any], Any]] = [
        lambda _, layout=layout: rows.count(layout) for layout in layouts
    ]
    return device_times([*steps, lambda _: rows.add_gray(Layout(axes=2), gray, table)], wait)


def label_rows() -> list[dict[str, Any]]:
    """Measure images of labels, from Python, beside cuCIM."""
    rows = []
    for shape, columns in (
        ((4096, 4096), ("area",)),
        ((4096, 4096), PLACES),
        ((4096, 4096), (*PLACES, "perimeter")),
        ((4096, 4096), (*PLACES, *OUTLINES, *INTENSITY)),
        ((256, 256, 256), PLACES),
        ((256, 256, 256), (*PLACES, "euler_number", "intensity_mean")),
    ):
        labels = label(cupy.asarray(samples.nuclei_mask(shape)))
        gray = cupy.random.randint(0, 4000, shape, np.uint16)
        names = ("label", *columns)
        row = {
            "labels of": " x ".join(map(str, shape)),
            "objects": int(labels.max()),
            "columns": list(columns),
            "us": wall_time(partial(regionprops_table, labels, gray, names), 20),
            "on the host us": wall_time(
                partial(regionprops_table, labels, gray, names, columns="host"), 20
            ),
        }
        try:
            theirs = import_module("cucim.skimage.measure").regionprops_table
            row["cuCIM us"] = wall_time(partial(theirs, labels, gray, properties=names), 3)
        except ImportError as error:
            print(f"cuCIM is left out: {error}")
        rows.append(row)
        print(row, f"{row.get('cuCIM us', 0) / row['us']:.0f}x", flush=True)
    return rows


def occupation_rows(module: Any) -> list[dict[str, Any]]:
    """Re-run Kalentev's Table 2: size and perimeter over labeling alone, by occupation."""
    wait = module.get_function("wait_kernel")
    rows = []
    kernels = passes_of("kalentev", "cuda")
    recipe = load_recipe("kalentev")
    for percent in (20, 40, 50, 60, 70, 80, 90, 99):
        pixels = cupy.asarray(samples.percolation((2048, 2048), percent / 100))
        grid = Grid(pixels, Foreground("!=", np.False_, values=False), 1)
        plain = device_times([lambda _, grid=grid: recipe(kernels, grid)], wait, 5)[-1]
        counted = device_times(
            [lambda _, grid=grid: recipe(kernels, grid, accumulate=True)], wait, 5
        )[-1]
        ours = wall_time(partial(label, pixels, connectivity=1, return_num=True), 10)
        row = {
            "occupation": percent / 100,
            "kalentev us": plain,
            "kalentev counting us": counted,
            "runs wall us": ours,
        }
        rows.append(row)
        print(row, f"{counted / plain:.2f}x", flush=True)
    return rows


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=8192)
    chosen = parser.parse_args()
    module = cupy.RawModule(code=SOURCE)
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    rows: list[dict[str, Any]] = [{"card": device["name"].decode(), "versions": versions()}]
    rows += fused_rows(chosen.side, module)
    rows += label_rows()
    rows += occupation_rows(module)
    print(store("measure_cuda", rows))


if __name__ == "__main__":
    main()
