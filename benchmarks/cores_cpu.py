"""Time `label` on many cores, beside a parallel copy of the same bytes, and OpenCV if it is there.

The copy reads a byte a pixel and writes four, like a labeler; so the ratio of the times is the
share of the bandwidth that labeling reaches. All run in one process, turn by turn. Run as ``python
benchmarks/cores_cpu.py [--only WORD] [--side SIDE] [--threads 1,2,4,8,16]``; results go to
``benchmarks/results/cores_cpu.json``.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import Any

import numba
import numpy as np

import equilabel
from equilabel import samples
from harness import describe, interleave, store

try:
    import cv2
except ImportError:
    cv2 = None

NEIGHBORS = {(2, 1): 4, (2, 2): 8, (3, 1): 6, (3, 3): 26}


@numba.njit(parallel=True, cache=False)
def copy_rows(image, out):
    """Copy an image into another of a wider type, in threads."""
    for row in numba.prange(image.shape[0]):
        for column in range(image.shape[1]):
            out[row, column] = image[row, column]


def copied(threads: int, image: Any, out: Any = None) -> Any:
    """Copy an image into an array of int32, a new one if none is given."""
    numba.set_num_threads(threads)
    out = np.empty(image.shape, np.int32) if out is None else out
    copy_rows(image.reshape(-1, image.shape[-1]), out.reshape(-1, image.shape[-1]))
    return out


def labeled(threads: int, image: Any, connectivity: int, out: Any = None) -> Any:
    """Label with a number of threads."""
    os.environ["EQUILABEL_NUM_THREADS"] = str(threads)
    return equilabel.label(image, connectivity=connectivity, out=out)


def images(side: int) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Name the makers of images, and the connectivities to label them with."""
    flat, depth = (side, side), round(side ** (2 / 3)) // 64 * 64
    return {
        "blobs": (partial(samples.blobs, flat), (1, 2)),
        "nuclei": (partial(samples.nuclei_mask, flat), (2,)),
        "ones": (partial(np.ones, flat, np.uint8), (2,)),
        "noise 0.5": (partial(samples.percolation, flat, 0.5), (2,)),
        "blobs 3D": (partial(samples.blobs, (depth,) * 3), (1, 3)),
    }


def contenders(image: Any, connectivity: int, threads: int, with_opencv: bool) -> dict[str, Any]:
    """List what is timed with a number of threads."""
    ready = np.zeros(image.shape, np.int32)
    runs = {
        "copy": partial(copied, threads, image),
        "copy out=": partial(copied, threads, image, ready),
        "equilabel": partial(labeled, threads, image, connectivity),
        "equilabel out=": partial(labeled, threads, image, connectivity, ready),
    }
    if cv2 is not None and image.ndim == 2 and with_opencv:
        neighbors = NEIGHBORS[2, connectivity]

        def opencv() -> Any:
            cv2.setNumThreads(threads)
            return cv2.connectedComponents(image, connectivity=neighbors)

        runs["opencv"] = opencv
    return {f"{name} {threads}": run for name, run in runs.items()}


def main() -> None:
    """Measure everything that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only images whose name contains this word")
    parser.add_argument("--side", type=int, default=8192)
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    # Threads that wait for the next loop by running would take the cores from whoever comes next.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    cores = describe()["cores"]
    numbers = [n for n in map(int, options.threads.split(",")) if n <= cores]
    rows = []
    for name, (make, connectivities) in images(options.side).items():
        if options.only not in name:
            continue
        image = np.ascontiguousarray(make() > 0).view(np.uint8)
        for connectivity in connectivities:
            runs: dict[str, Any] = {}
            for threads in numbers:
                runs |= contenders(image, connectivity, threads, threads == numbers[-1])
            seconds = interleave(runs, options.rounds)
            for threads in numbers:
                own = {
                    key.rsplit(" ", 1)[0]: value
                    for key, value in seconds.items()
                    if key.endswith(f" {threads}")
                }
                rows.append(
                    {
                        "image": name,
                        "shape": list(image.shape),
                        "neighbors": NEIGHBORS[image.ndim, connectivity],
                        "threads": threads,
                        "seconds": own,
                    }
                )
                print(line(rows[-1]), flush=True)
        if not options.only:
            store("cores_cpu", rows)


def line(row: dict[str, Any]) -> str:
    """Return a row as text: times, and the share of the copy's bandwidth."""
    times = {name: value["min"] for name, value in row["seconds"].items()}
    parts = [f"{row['image']:<10}{row['neighbors']:>3}{row['threads']:>3} threads"]
    parts += [f"{name} {value * 1e3:7.2f} ms" for name, value in times.items()]
    for kind in ("", " out="):
        parts.append(f"{times['copy' + kind] / times['equilabel' + kind]:.2f} of the copy{kind}")
    return "  ".join(parts)


if __name__ == "__main__":
    main()
