"""Time measuring on a GPU: fused into labeling, alone, and from images of labels beside cuCIM.

Times of the device are medians by events, as in ``label_cuda.py``; times from Python are those of a
call and all it waits for, with columns that stay on the device unless told otherwise. Columns of
labels are compared with those of the CPU before they are timed, and what of cuCIM's differs is
named. Run as ``python benchmarks/measure_cuda.py [--only fused labels occupation]``; results go to
``benchmarks/results/measure_cuda.json``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from equilabel import label, measure_components, regionprops_table, samples
from equilabel.domains.grid import Foreground, Grid
from equilabel.measuring.counts import Layout
from equilabel.measuring.cuda.sources import LabelSource, RunSource
from equilabel.papers import load_passes, load_recipe
from equilabel.runs.cuda import passes as runs
from harness import store, warm_up
from label_cuda import (
    ROUNDS,
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

READ = r"""
extern "C" __global__ void read_kernel(const int4* labels, long long quads, int* out)
{
    const long long first = static_cast<long long>(blockIdx.x) * 1024 + threadIdx.x;
    int bits = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const long long i = first + 256 * k;
        if (i >= quads) continue;
        const int4 four = labels[i];
        bits |= (four.x ^ four.y) + (four.z ^ four.w);
    }
    if (bits == 0x7fffffff) out[0] = bits;
}
"""
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
            sums = None if values is None else cupy.zeros((known + 1, 4), np.uint64)
            counts = cupy.zeros((known + 1, layout.width), np.uint64)
            RunSource(table, flat).count(layout, known, counts, values, address_of(sums))
            return table

        everything = partial(tally, layout=outlines, values=gray)
        pack, unite, _, paint = passes(pixels, 2, False, out)
        before = [pack, unite, number]
        fused = device_times([*before, tally, paint], wait)
        counted = device_times([*before, partial(tally, layout=outlines), paint], wait)
        full = device_times([*before, everything, paint], wait)
        labels = label(pixels)
        whole = times_in_turn(
            {
                "label us": [*passes(pixels, 2, False, out)],
                "places fused us": [*before, tally, paint],
                "all fused us": [*before, everything, paint],
                "table only us": [*before, tally],
            },
            wait,
        )
        row = {
            "image": name,
            "objects": known,
            "null us": null_time(pixels, out, module),
            **whole,
            "places us": fused[3],
            "outlines us": counted[3],
            "all us": full[3],
            "from labels us": _times_from_labels(labels, gray, known, (places, outlines), wait),
            "read labels us": read_time(labels),
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
            "wall measure us": wall_time(partial(measure_components, pixels, PLACES), 10),
        }
        rows.append(row)
        print({k: round(v, 1) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return rows


def times_in_turn(cases: dict[str, list[Callable[[Any], Any]]], wait: Any) -> dict[str, float]:
    """Return the median time of all steps of each case, in microseconds; cases take turns."""
    times = [
        {name: whole_time(steps, wait, 1) for name, steps in cases.items()} for _ in range(ROUNDS)
    ]
    return {name: statistics.median(turn[name] for turn in times) for name in cases}


def address_of(sums: Any) -> int:
    """Return where a table lies, or 0."""
    return 0 if sums is None else int(sums.data.ptr)


def number(table: Any) -> Any:
    """Give labels to nodes alone, and hand on the table."""
    runs.number(table)
    return table


def _times_from_labels(
    labels: Any, gray: Any, known: int, layouts: Iterable[Layout], wait: Any
) -> list[float]:
    """Time what counts from an image of labels: each layout, the values, then all."""
    rows, sums = LabelSource(labels), cupy.zeros((known + 1, 4), np.uint64)

    def count(_: Any, layout: Layout, values: Any = None) -> None:
        counts = cupy.zeros((known + 1, layout.width), np.uint64)
        rows.count(layout, known, counts, values, address_of(sums))

    steps = [partial(count, layout=layout) for layout in layouts]
    return device_times([*steps, partial(count, layout=Layout(axes=2), values=gray)], wait)


def read_time(labels: Any) -> float:
    """Time a kernel that reads labels alone, in microseconds: less cannot be moved."""
    module = cupy.RawModule(code=READ)
    wait = cupy.RawModule(code=SOURCE).get_function("wait_kernel")
    quads = labels.nbytes // 16
    launch = ((-(-quads // 1024),), (256,), (labels, quads, cupy.zeros(1, np.int32)))
    return device_times([lambda _: module.get_function("read_kernel")(*launch)], wait)[-1]


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
        if shape[0] == shape[-1] == 4096:
            row["read us"] = read_time(labels)
        expected = regionprops_table(labels.get(), gray.get(), names)
        own = regionprops_table(labels, gray, names)
        wrong = differing(own, expected)
        if wrong:
            message = f"columns of {names} must be those of the CPU; {wrong} are not"
            raise ValueError(message)
        try:
            theirs = import_module("cucim.skimage.measure").regionprops_table
        except ImportError as error:
            print(f"cuCIM is left out: {error}")
        else:
            row["cuCIM differs in"] = differing(theirs(labels, gray, properties=names), expected)
            row["cuCIM us"] = wall_time(partial(theirs, labels, gray, properties=names), 3)
        rows.append(row)
        print(row, f"{row.get('cuCIM us', 0) / row['us']:.0f}x", flush=True)
    return rows


def differing(found: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Name the columns that are not those expected, but for the last digits of floats."""

    def agree(name: str, column: Any) -> bool:
        own = cupy.asnumpy(found.get(name, ()))
        same = own.shape == column.shape
        return bool(same and np.allclose(own, column, rtol=1e-6, atol=1e-9, equal_nan=True))

    return [name for name, column in expected.items() if not agree(name, column)]


def occupation_rows(module: Any) -> list[dict[str, Any]]:
    """Re-run Kalentev's Table 2: size and perimeter over labeling alone, by occupation."""
    wait = module.get_function("wait_kernel")
    rows = []
    kernels = load_passes("kalentev", "cuda")
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
    parser.add_argument("--only", nargs="*", default=["fused", "labels", "occupation"])
    chosen = parser.parse_args()
    module = cupy.RawModule(code=SOURCE)
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    rows: list[dict[str, Any]] = [{"card": device["name"].decode(), "versions": versions()}]
    parts = {
        "fused": lambda: fused_rows(chosen.side, module),
        "labels": label_rows,
        "occupation": lambda: occupation_rows(module),
    }
    warm_up(partial(label, cupy.ones((4096, 4096), bool), return_num=True))
    for name, part in parts.items():
        if name in chosen.only:
            began = time.perf_counter()
            rows += part()
            print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    print(store("measure_cuda", rows))


if __name__ == "__main__":
    main()
