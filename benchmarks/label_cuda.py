"""Time the method `runs` on the GPU, pass by pass, beside the null kernel and CuPy.

The null kernel reads a byte and writes four for every pixel: less cannot be moved. Times are those
of the device, medians of `ROUNDS` after two that do not count; a kernel that waits goes first, so
that launches queue up. Run as ``python benchmarks/label_cuda.py [--only WORD]``; results go to
``benchmarks/results/label_cuda.json``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from cupyx.scipy import ndimage
from scipy.ndimage import generate_binary_structure

from equilabel import samples
from equilabel.kernels.cuda import runs
from harness import store

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 9
SOURCE = r"""
extern "C" __global__ void null_kernel(const unsigned* pixels, int4* labels, long long quads)
{
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= quads) return;
    const unsigned four = pixels[i];
    __stcs(labels + i, make_int4(four & 255, four >> 8 & 255, four >> 16 & 255, four >> 24));
}

extern "C" __global__ void wait_kernel(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles);
}
"""


def images(side: int, depth: int) -> dict[str, tuple[Callable[[], Any], bool]]:
    """Name the makers of all images, and whether each is a stack."""
    flat, deep = (side, side), (depth, depth, depth)
    sets: dict[str, tuple[Callable[[], Any], bool]] = {
        "blobs": (partial(samples.blobs, flat), False),
        "nuclei": (partial(samples.nuclei_mask, flat), False),
        "ones": (partial(np.ones, flat, bool), False),
        "zeros": (partial(np.zeros, flat, bool), False),
        "spiral": (lambda: np.pad(samples.spiral(side - 1), ((0, 1), (0, 1))), False),
        "hilbert": (
            partial(samples.hilbert, side.bit_length() - 2, padded=True),
            False,
        ),
        "odd blobs": (lambda: samples.blobs(flat)[:, 3:].copy(), False),
        "voronoi int32": (partial(samples.voronoi, flat, cells=side), False),
        "blobs 4096": (partial(samples.blobs, (4096, 4096)), False),
        "blobs 512": (partial(samples.blobs, (512, 512)), False),
        "stack": (lambda: np.tile(samples.blobs((8, 512, 512)), (125, 1, 1)), True),
        "blobs 3D": (partial(samples.blobs, deep), False),
        "nuclei 3D": (partial(samples.nuclei_mask, deep), False),
        "noise 0.31 3D": (partial(samples.percolation, deep, 0.31), False),
    }
    for p in (0.1, 0.3, 0.5, 0.593, 0.7, 0.9):
        sets[f"noise {p}"] = (partial(samples.percolation, flat, p), False)
    for grain in (4, 16):
        sets[f"noise 0.5 / {grain}"] = (partial(samples.percolation, flat, 0.5, grain), False)
    return sets


def device_times(steps: list[Callable[[Any], Any]], wait: Any) -> list[float]:
    """Return the median time of every step, and of all together, in microseconds."""
    rows = []
    for turn in range(ROUNDS + 2):
        events = [cupy.cuda.Event() for _ in range(len(steps) + 1)]
        wait((1,), (1,), (900_000,))
        events[0].record()
        state = None
        for step, event in zip(steps, events[1:], strict=True):
            state = step(state)
            event.record()
        events[-1].synchronize()
        if turn >= 2:
            pairs = [*pairwise(events), (events[0], events[-1])]
            rows.append([1e3 * cupy.cuda.get_elapsed_time(a, b) for a, b in pairs])
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def passes(pixels: Any, connectivity: int, stacked: bool, out: Any) -> list[Callable[[Any], Any]]:
    """Return the four passes, each from the state that the one before left."""

    def unite(table: Any) -> Any:
        runs.unite(table)
        return table

    def number(table: Any) -> Any:
        runs.number(table)
        return table

    return [
        lambda _: runs.pack(pixels, 0, connectivity, stacked, out, binary=False),
        unite,
        number,
        runs.paint,
    ]


def rows_of(name: str, image: Any, stacked: bool, module: Any) -> list[dict[str, Any]]:
    """Measure one image with faces, and with corners too."""
    null, wait = module.get_function("null_kernel"), module.get_function("wait_kernel")
    pixels = cupy.asarray(image)
    out = cupy.empty(pixels.size, np.int32)
    mask = pixels.astype(bool)
    quads = pixels.size // 4
    launch = ((-(-quads // 256),), (256,), (mask, out, quads))
    least = device_times([lambda _: null(*launch)], wait)[-1]
    rows = []
    for connectivity in (1, image.ndim - stacked):
        pool = cupy.get_default_memory_pool()
        before = pool.used_bytes()
        table = runs.pack(pixels, 0, connectivity, stacked, out, binary=False)
        extra = pool.used_bytes() - before
        del table
        times = device_times(passes(pixels, connectivity, stacked, out), wait)
        began = time.perf_counter()
        for _ in range(20):
            runs.label_runs(pixels, 0, connectivity, stacked, out)
        cupy.cuda.get_current_stream().synchronize()
        row = {
            "image": name,
            "shape": list(image.shape),
            "type": str(image.dtype),
            "connectivity": connectivity,
            "components": int(runs.label_runs(pixels, 0, connectivity, stacked, out)),
            "null us": least,
            "us": times[-1],
            "times null": times[-1] / least,
            "passes us": dict(zip(("pack", "unite", "number", "paint"), times, strict=False)),
            "wall us": 1e6 * (time.perf_counter() - began) / 21,
            "temporary bytes per pixel": extra / pixels.size,
        }
        if not stacked and image.dtype == bool:
            structure = generate_binary_structure(image.ndim, connectivity)
            theirs, count = ndimage.label(pixels, structure=structure)
            row["equal to CuPy"] = (
                bool((theirs.reshape(-1) == out).all()) and count == row["components"]
            )
            row["cupy us"] = device_times(
                [lambda _, s=structure: ndimage.label(pixels, structure=s)], wait
            )[-1]
        rows.append(row)
        steps = " ".join(f"{key} {value:.0f}" for key, value in row["passes us"].items())
        print(
            f"{name:>15} {connectivity} {row['us']:8.1f} us {row['times null']:6.2f} x null "
            f"({steps}) wall {row['wall us']:.0f} cupy {row.get('cupy us', 0):.0f} "
            f"{row.get('equal to CuPy', '')} {row['temporary bytes per pixel']:.2f} B/px",
            flush=True,
        )
    return rows


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="images whose name holds this word")
    parser.add_argument("--side", type=int, default=8192)
    parser.add_argument("--depth", type=int, default=512)
    chosen = parser.parse_args()
    module = cupy.RawModule(code=SOURCE)
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    rows: list[dict[str, Any]] = [
        {
            "card": device["name"].decode(),
            "cupy": cupy.__version__,
            "driver": cupy.cuda.runtime.driverGetVersion(),
            "nvrtc": list(cupy.cuda.nvrtc.getVersion()),
        }
    ]
    for name, (make, stacked) in images(chosen.side, chosen.depth).items():
        if chosen.only in name:
            rows += rows_of(name, make(), stacked, module)
    print(store("label_cuda", rows))


if __name__ == "__main__":
    main()
