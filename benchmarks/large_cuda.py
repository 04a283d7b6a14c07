"""Time `label` and `measure` on a GPU from 512^3 to 2 x 10^10 pixels, beside the null kernel.

Images are made on the device: a tile of blobs, of noise or of nuclei, repeated until the image is
full. Times are those of a call and the wait for its end, medians of three. Run as
``python benchmarks/large_cuda.py``; results go to ``benchmarks/results/large_cuda.json``.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from equilabel import label, measure, samples
from equilabel.devices import DeviceMemoryError
from harness import store
from label_cuda import SOURCE
from peers_cuda import versions

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTS = ("num_pixels",)
SHAPES: list[tuple[int, ...]] = [
    *((side, side) for side in (8192, 16384, 32768, 65536, 131072)),
    (153_600, 131_072),  # 2 x 10^10 pixels
    *((side,) * 3 for side in (512, 1024, 2048)),
]


def repeated(tile: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Fill an image of uint8 on the device with copies of a tile, whose sides divide its own."""
    image = cupy.empty(shape, np.uint8)
    part = cupy.asarray(tile, np.uint8)
    for axis, side in enumerate(part.shape):
        assert shape[axis] % side == 0
    split = [n for side, own in zip(shape, part.shape, strict=True) for n in (side // own, own)]
    at = tuple(n for own in part.shape for n in (None, slice(0, own)))
    image.reshape(split)[...] = part[at]
    return image


def tiles(rank: int) -> dict[str, np.ndarray]:
    """Name the tiles of images of two or three axes."""
    shape = (2048, 2048) if rank == 2 else (256, 256, 256)
    return {
        "blobs": samples.blobs(shape),
        "nuclei": samples.nuclei_mask(shape),
        "noise": samples.percolation(shape, 0.5 if rank == 2 else 0.31),
    }


def seconds(call: Callable[[], object], rounds: int = 3) -> float:
    """Time a call and the wait for its end: the median, after one that does not count."""
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        found = call()
        cupy.cuda.runtime.deviceSynchronize()
        times.append(time.perf_counter() - begin)
        del found
    return float(np.median(times[1:]))


def row_of(name: str, image: Any, null: Any) -> dict[str, Any]:
    """Time one image; what does not fit says so."""
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    row: dict[str, Any] = {"image": name, "shape": list(image.shape), "pixels": image.size}
    quads = image.size // 4
    try:
        out = cupy.empty(image.size, np.int32)
        grid = (-(-quads // 256),)
        row["null s"] = seconds(partial(null, grid, (256,), (image, out, np.int64(quads))))
        del out
        row["label s"] = seconds(partial(label, image))
        labels, row["components"] = label(image, return_num=True)
        row["type"] = str(labels.dtype)
        row["bytes at most"] = pool.total_bytes()
        del labels
        pool.free_all_blocks()
        row["measure s"] = seconds(partial(measure, image, COUNTS), 1)
    except (DeviceMemoryError, cupy.cuda.memory.OutOfMemoryError) as error:
        row["error"] = str(error)
    return row


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=3e10, help="pixels of the largest image")
    chosen = parser.parse_args()
    null = cupy.RawModule(code=SOURCE).get_function("null_kernel")
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    rows: list[dict[str, Any]] = [{"card": device["name"].decode(), "versions": versions()}]
    for shape in SHAPES:
        if np.prod(shape, dtype=float) > chosen.most:
            continue
        for name, tile in tiles(len(shape)).items():
            image = repeated(tile, shape)
            rows.append(row_of(name, image, null))
            del image
            print(rows[-1], flush=True)
    print(store("large_cuda", rows))


if __name__ == "__main__":
    main()
