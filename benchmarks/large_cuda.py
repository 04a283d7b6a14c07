"""Time labeling and measuring on a GPU from 512^3 to 2 x 10^10 pixels, beside the null kernel.

Images are made on the device: a tile of blobs, of noise, of nuclei or of boxes, repeated until the
image is full. Times are those of a call and the wait for its end, medians of three. Labels of boxes
are known: every one is compared. In 2D, the number of components of the others is foretold from
that of few tiles, which the CPU labels. What does not fit into the memory of the device is refused
before it starts, and its row says so. Run as ``python benchmarks/large_cuda.py``; results go to
``benchmarks/results/large_cuda.json``.
"""

from __future__ import annotations

import argparse
import itertools
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from equilabel import label, measure_components, samples
from equilabel.devices import DeviceMemoryError
from harness import store
from label_cuda import SOURCE
from peers_cuda import versions

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTS = ("num_pixels",)
PERIOD, LENGTH = 16, 12  # of boxes
SHAPES: list[tuple[int, ...]] = [
    *((side, side) for side in (8192, 16384, 32768, 65536, 131072)),
    (153_600, 131_072),  # 2 x 10^10 pixels
    *((side,) * 3 for side in (512, 1024, 2048)),
    (2_304, 2_816, 3_072),  # 2 x 10^10 voxels
    (262_144, 131_072),  # too large
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
        "boxes": samples_of_boxes(shape),
    }


def samples_of_boxes(shape: tuple[int, ...]) -> np.ndarray:
    """Return boxes of 12 pixels a side, every 16 pixels."""
    places = np.indices(shape, sparse=True)
    return np.logical_and.reduce(np.broadcast_arrays(*(at % PERIOD < LENGTH for at in places)))


def check_boxes(image: Any, labels: Any) -> bool:
    """Return whether all labels of boxes are their numbers in raster order."""
    planes = max(1, 2**28 // int(np.prod(image.shape[1:])))
    within = cupy.zeros((), np.int32)
    for side in image.shape[1:]:
        within = (
            within[..., None] * np.int32(side // PERIOD) + cupy.arange(side, dtype="i4") // PERIOD
        )
    of_layer = int(np.prod([side // PERIOD for side in image.shape[1:]]))
    same = cupy.ones((), bool)
    for begin in range(0, image.shape[0], planes):
        part = slice(begin, begin + planes)
        layer = cupy.arange(begin, min(begin + planes, image.shape[0]), dtype="i4") // PERIOD
        first = (layer * of_layer + 1).reshape(-1, *(1,) * (image.ndim - 1))
        same &= (labels[part] == (within + first) * (image[part] > 0)).all()
    return bool(same)


def foretell(tile: np.ndarray, shape: tuple[int, ...]) -> int:
    """Return the number of components of a repeated tile, if none reaches over a whole one.

    It then grows with the number of tiles, with that of their borders and that of their corners.
    """
    few, terms = [], []
    for counts in itertools.product((2, 3), repeat=tile.ndim):
        few.append(label(np.tile(tile, counts), return_num=True)[1])
        terms.append([np.prod(each) for each in itertools.product(*((1, n) for n in counts))])
    factors = np.linalg.solve(np.array(terms, float), np.array(few, float))
    many = [side // own for side, own in zip(shape, tile.shape, strict=True)]
    whole = [np.prod(each, dtype=float) for each in itertools.product(*((1, n) for n in many))]
    return round(float(factors @ np.array(whole)))


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


def row_of(name: str, tile: np.ndarray, image: Any, null: Any) -> dict[str, Any]:
    """Time one image; what does not fit says so."""
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    row: dict[str, Any] = {"image": name, "shape": list(image.shape), "pixels": image.size}
    quads = image.size // 4
    try:
        if 4 * image.size < cupy.cuda.runtime.memGetInfo()[0]:
            out = cupy.empty(image.size, np.int32)
            grid = (-(-quads // 256),)
            row["null s"] = seconds(partial(null, grid, (256,), (image, out, np.int64(quads))))
            del out
        row["label s"] = seconds(partial(label, image))
        labels, row["components"] = label(image, return_num=True)
        row["type"] = str(labels.dtype)
        row["bytes at most"] = pool.total_bytes()
        if name == "boxes":
            row["right"] = check_boxes(image, labels)
        elif image.ndim == 2:
            row["foretold"] = foretell(tile, image.shape)
        del labels
        pool.free_all_blocks()
        row["measure s"] = seconds(partial(measure_components, image, COUNTS), 1)
    except (DeviceMemoryError, cupy.cuda.memory.OutOfMemoryError) as error:
        row["error"] = str(error)
    return row


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=1e12, help="pixels of the largest image")
    parser.add_argument("--least", type=float, default=0, help="pixels of the smallest image")
    chosen = parser.parse_args()
    null = cupy.RawModule(code=SOURCE).get_function("null_kernel")
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    rows: list[dict[str, Any]] = [{"card": device["name"].decode(), "versions": versions()}]
    for shape in SHAPES:
        if not chosen.least <= np.prod(shape, dtype=float) <= chosen.most:
            continue
        for name, tile in tiles(len(shape)).items():
            image = repeated(tile, shape)
            rows.append(row_of(name, tile, image, null))
            del image
            print(rows[-1], flush=True)
            path = store("large_cuda", rows)  # what is measured stays if the rest fails
    print(path)


if __name__ == "__main__":
    main()
