"""Time `label` on the GPU, pass by pass, beside the null kernel and the peers that are installed.

The null kernel reads a byte (four of an int32 image) and writes four for every pixel: less cannot
be moved. Times are those of the device, medians of `ROUNDS` after two that do not count; a kernel
that waits goes first, so that launches queue up. Run as
``python benchmarks/label_cuda.py [--only WORD] [--no-peers]``; results go to
``benchmarks/results/label_cuda.json``. Where there is no git, EQUILABEL_COMMIT tells the commit.
"""

from __future__ import annotations

import argparse
import statistics
import time
from functools import partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

import patterns
from equilabel import label, samples
from equilabel.devices.cuda.transfers import download, upload
from equilabel.domains.grid import Foreground, Grid
from equilabel.runs.cuda import passes as runs
from harness import store
from peers_cuda import peers, versions

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

extern "C" __global__ void null_wide(const int4* pixels, int4* labels, long long quads)
{
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < quads) __stcs(labels + i, pixels[i]);
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
        "comb": (lambda: patterns.comb(side, upright=True) > 0, False),
        "checkerboard": (lambda: patterns.checkerboard(side) > 0, False),
        "odd blobs": (lambda: samples.blobs(flat)[:, 3:].copy(), False),
        "voronoi int32": (partial(samples.voronoi, flat, cells=side), False),
        "blobs uint8": (lambda: samples.blobs(flat).astype(np.uint8) * 255, False),
        "blobs 16384": (lambda: np.tile(samples.blobs(flat), (2, 2)), False),
        "blobs 4096": (partial(samples.blobs, (4096, 4096)), False),
        "blobs 512": (partial(samples.blobs, (512, 512)), False),
        "stack": (lambda: np.tile(samples.blobs((8, 512, 512)), (125, 1, 1)), True),
        "blobs 3D": (partial(samples.blobs, deep), False),
        "nuclei 3D": (partial(samples.nuclei_mask, deep), False),
        "blobs uint8 3D": (lambda: samples.blobs(deep).astype(np.uint8) * 255, False),
        "nuclei int32 3D": (lambda: label(samples.nuclei_mask(deep)), False),
        "noise 0.31 3D": (partial(samples.percolation, deep, 0.31), False),
    }
    for p in (0.1, 0.3, 0.5, 0.593, 0.7, 0.9):
        sets[f"noise {p}"] = (partial(samples.percolation, flat, p), False)
    for grain in (4, 16):
        sets[f"noise 0.5 / {grain}"] = (partial(samples.percolation, flat, 0.5, grain), False)
    return sets


def device_times(steps: list[Callable[[Any], Any]], wait: Any, rounds: int = ROUNDS) -> list[float]:
    """Return the median time of every step, and of all together, in microseconds."""
    rows = []
    for turn in range(rounds + 2):
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


def whole_time(steps: list[Callable[[Any], Any]], wait: Any, rounds: int = ROUNDS) -> float:
    """Return the median time of all steps with nothing between them, in microseconds."""
    return device_times(
        [lambda _: reduce(lambda state, step: step(state), steps, None)], wait, rounds
    )[-1]


def unite(table: Any) -> Any:
    """Unite nodes, and hand on the table."""
    runs.unite(table)
    return table


def number(table: Any) -> Any:
    """Give labels to nodes, and hand on the table."""
    runs.number(table)
    return table


def passes(pixels: Any, connectivity: int, stacked: bool, out: Any) -> list[Callable[[Any], Any]]:
    """Return the four passes, each from the state that the one before left."""
    many = pixels.dtype.kind != "b"
    foreground = Foreground("!=", pixels.dtype.type(0), values=many)
    grid = Grid(pixels, foreground, connectivity, stacked)
    return [
        lambda _: runs.pack(grid, out),
        unite,
        number,
        lambda table: runs.paint(table, out, blank=False),
    ]


def count_components(pixels: Any, connectivity: int, stacked: bool, out: Any) -> int:
    """Label an image, and return the number of components."""
    steps = passes(pixels, connectivity, stacked, out)[:3]
    table: Any = reduce(lambda state, step: step(state), steps, None)
    return int(table.count)


def null_time(pixels: Any, out: Any, module: Any) -> float:
    """Time the null kernel of an image, in microseconds."""
    wait = module.get_function("wait_kernel")
    quads = pixels.size // 4
    wide = pixels.itemsize == 4
    null = module.get_function("null_wide" if wide else "null_kernel")
    launch = ((-(-quads // 256),), (256,), (pixels, out, quads))
    return device_times([lambda _: null(*launch)], wait)[-1]


def wall_time(run: Callable[[], Any], times: int = 200) -> float:
    """Time a call from Python in a row of many, the last of them waited for, in microseconds."""
    for _ in range(5):
        run()
    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    for _ in range(times):
        run()
    cupy.cuda.Device().synchronize()
    return 1e6 * (time.perf_counter() - began) / times


def peer_times(pixels: Any, connectivity: int, wait: Any, stacked: bool) -> dict[str, float]:
    """Time the peers, in microseconds; a stack frame by frame."""
    if stacked:
        runs_of = [peers(frame, connectivity) for frame in pixels[:20]]
        share = len(pixels) / len(runs_of)
        return {
            name: share * device_times([lambda _, n=name: [r[n]() for r in runs_of]], wait, 3)[-1]
            for name in runs_of[0]
        }
    return {
        name: device_times([lambda _, run=run: run()], wait, 3)[-1]
        for name, run in peers(pixels, connectivity).items()
    }


def rows_of(
    name: str, image: Any, stacked: bool, module: Any, with_peers: bool
) -> list[dict[str, Any]]:
    """Measure one image with faces, and with corners too."""
    wait = module.get_function("wait_kernel")
    pixels = cupy.asarray(image)
    out = cupy.empty(pixels.size, np.int32)
    least = null_time(pixels, out, module)
    rows = []
    for connectivity in (1, image.ndim - stacked):
        pool = cupy.get_default_memory_pool()
        before = pool.used_bytes()
        table = passes(pixels, connectivity, stacked, out)[0](None)
        extra = pool.used_bytes() - before
        del table
        times = device_times(passes(pixels, connectivity, stacked, out), wait)
        whole = whole_time(passes(pixels, connectivity, stacked, out), wait)
        options = {"connectivity": connectivity, "stacked": stacked}
        # Before the tables are made again: they lie where the labels will be.
        if not (label(image, device="cpu", **options) == download(out).reshape(image.shape)).all():
            message = f"labels of {name} are not those of the CPU"
            raise ValueError(message)
        row = {
            "image": name,
            "shape": list(image.shape),
            "type": str(image.dtype),
            "connectivity": connectivity,
            "components": count_components(pixels, connectivity, stacked, out),
            "null us": least,
            "us": whole,
            "times null": whole / least,
            "passes us": dict(zip(("pack", "unite", "number", "paint"), times, strict=False)),
            "wall us": wall_time(lambda o=options: label(pixels, **o), 20),
            "temporary bytes per pixel": extra / pixels.size,
        }
        if with_peers:
            row["peers us"] = peer_times(pixels, connectivity, wait, stacked)
        rows.append(row)
        steps = " ".join(f"{key} {value:.0f}" for key, value in row["passes us"].items())
        others = " ".join(f"{k} {v / row['us']:.1f}x" for k, v in row.get("peers us", {}).items())
        print(
            f"{name:>15} {connectivity} {row['us']:8.1f} us {row['times null']:6.2f} x null "
            f"({steps}) wall {row['wall us']:.0f} {row['temporary bytes per pixel']:.2f} B/px "
            f"{others}",
            flush=True,
        )
    return rows


def small_rows() -> list[dict[str, Any]]:
    """Time small images from Python, and images of the host."""
    rows = []
    for side in (256, 512, 1024):
        pixels = cupy.asarray(samples.blobs((side, side)))
        out = cupy.empty(pixels.shape, np.int32)
        row = {
            "wall of": f"blobs {side}",
            "label us": wall_time(lambda p=pixels: label(p)),
            "label out= us": wall_time(lambda p=pixels, o=out: label(p, out=o)),
            "peers us": {k: wall_time(run, 20) for k, run in peers(pixels, 2).items()},
        }
        rows.append(row)
        print(row, flush=True)
    image = samples.blobs((8192, 8192))
    pixels, labels = upload(image), label(upload(image))
    out = np.empty(image.shape, np.int32)
    row = {
        "moved": "blobs 8192",
        "upload us": wall_time(lambda: upload(image), 7),
        "download us": wall_time(lambda: download(labels, out), 7),
        "label us": wall_time(lambda: label(image, device="cuda", out=out), 7),
        "download to a new array us": wall_time(lambda: download(labels), 7),
        "label to a new array us": wall_time(lambda: label(image, device="cuda"), 7),
        "label on the CPU us": wall_time(lambda: label(image, device="cpu", out=out), 7),
    }
    print(row, flush=True)
    return [*rows, row]


def density_rows(module: Any) -> list[dict[str, Any]]:
    """Measure the throughput over density and granularity of noise, for the plot."""
    rows = []
    wait = module.get_function("wait_kernel")
    for grain in (1, 2, 4, 8, 16):
        for percent in range(5, 100, 10):
            pixels = cupy.asarray(samples.percolation((8192, 8192), percent / 100, grain))
            out = cupy.empty(pixels.size, np.int32)
            for connectivity in (1, 2):
                times = device_times(passes(pixels, connectivity, False, out), wait, 5)
                rows.append(
                    {
                        "grain": grain,
                        "density": percent / 100,
                        "connectivity": connectivity,
                        "Gpx/s": pixels.size / times[-1] / 1e3,
                    }
                )
    return rows


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="images whose name holds this word")
    parser.add_argument("--side", type=int, default=8192)
    parser.add_argument("--depth", type=int, default=512)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--density", action="store_true", help="measure what the plot shows, too")
    chosen = parser.parse_args()
    module = cupy.RawModule(code=SOURCE)
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    rows: list[dict[str, Any]] = [
        {
            "card": device["name"].decode(),
            "versions": versions(),
            "driver": cupy.cuda.runtime.driverGetVersion(),
            "nvrtc": list(cupy.cuda.nvrtc.getVersion()),
        }
    ]
    for name, (make, stacked) in images(chosen.side, chosen.depth).items():
        if chosen.only in name:
            rows += rows_of(name, make(), stacked, module, not chosen.no_peers)
    if not chosen.only:
        rows += small_rows()
    print(store("label_cuda", rows))
    if chosen.density:
        print(store("density_cuda", density_rows(module)))


if __name__ == "__main__":
    main()
