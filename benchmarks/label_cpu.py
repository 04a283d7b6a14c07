"""Time `label` on the CPU, beside scikit-image, SciPy, cc3d and OpenCV.

All run in one process, turn by turn. The yardstick is `image.astype(int32)`, which reads and writes
the same bytes. Run as ``python benchmarks/label_cpu.py [--quick] [--only WORD]``; results go to
``benchmarks/results/label_cpu.json``.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import Any

import cc3d
import cv2
import numpy as np
import skimage.measure
from scipy import ndimage

import equilabel
from equilabel import samples
from harness import describe, interleave, peak_memory, store
from patterns import patterns, without_noise

NEIGHBORS = {(2, 1): 4, (2, 2): 8, (3, 1): 6, (3, 2): 18, (3, 3): 26}


def images(side: int, depth: int) -> dict[str, Any]:
    """Name the makers of all images, 2D and 3D."""
    flat, deep = (side, side), (depth, depth, depth)
    sets = without_noise(side)
    for grain in (1, 4, 16):
        for tenths in range(1, 10):
            name = f"noise {tenths / 10} / {grain}"
            sets[name] = partial(samples.percolation, flat, tenths / 10, grain)
    sets |= patterns(side)
    sets["voronoi"] = partial(samples.voronoi, flat)
    sets["blobs 3D"] = partial(samples.blobs, deep)
    sets["nuclei 3D"] = partial(samples.nuclei_mask, deep)
    for p in (0.31, 0.5):
        sets[f"noise 3D {p}"] = partial(samples.percolation, deep, p)
    sets["voronoi 3D"] = partial(samples.voronoi, deep)
    return sets


def with_threads(threads: int, image: Any, connectivity: int, out: Any = None) -> Any:
    """Label with a number of threads."""
    os.environ["EQUILABEL_NUM_THREADS"] = str(threads)
    try:
        return equilabel.label(image, connectivity=connectivity, out=out)
    finally:
        del os.environ["EQUILABEL_NUM_THREADS"]


def with_opencv(threads: int, image: Any, neighbors: int) -> Any:
    """Label with OpenCV and a number of threads."""
    cv2.setNumThreads(threads)
    return cv2.connectedComponents(image, connectivity=neighbors)


def contenders(image: Any, connectivity: int, threads: int) -> dict[str, Any]:
    """List what labels this image, each with the input that suits it best."""
    several = image.dtype != np.uint8
    neighbors = NEIGHBORS[image.ndim, connectivity]
    mask = image if several else image.view(bool)
    structure = ndimage.generate_binary_structure(image.ndim, connectivity)
    ready = np.empty(image.shape, np.int32)
    runs = {
        "astype": lambda: image.astype(np.int32, copy=True),
        "equilabel 1": partial(with_threads, 1, image, connectivity),
        f"equilabel {threads}": partial(with_threads, threads, image, connectivity),
        f"equilabel {threads} out=": partial(with_threads, threads, image, connectivity, ready),
        "skimage": partial(skimage.measure.label, mask, connectivity=connectivity),
        "cc3d": partial(cc3d.connected_components, image, connectivity=neighbors),
    }
    if not several:
        runs["scipy"] = lambda: ndimage.label(image, structure)
        if image.ndim == 2:
            runs["opencv 1"] = partial(with_opencv, 1, image, neighbors)
            runs[f"opencv {threads}"] = partial(with_opencv, threads, image, neighbors)
    return runs


def check(image: Any, connectivity: int) -> None:
    """Fail unless our labels are scikit-image's, number by number."""
    mask = image if image.dtype != np.uint8 else image.view(bool)
    expected = skimage.measure.label(mask, connectivity=connectivity)
    np.testing.assert_array_equal(equilabel.label(image, connectivity=connectivity), expected)


def measure(name: str, image: Any, connectivity: int, rounds: int, threads: int) -> dict[str, Any]:
    """Return one row: times of all contenders, and the extra memory of ours."""
    check(image, connectivity)
    runs = contenders(image, connectivity, threads)
    times = interleave(runs, rounds)
    ours = runs[f"equilabel {threads} out="]
    extra = peak_memory(ours)
    return {
        "image": name,
        "shape": list(image.shape),
        "neighbors": NEIGHBORS[image.ndim, connectivity],
        "seconds": times,
        "extra_bytes_per_pixel": extra / image.size,
    }


def line(row: dict[str, Any]) -> str:
    """Return a row as text: our time with all threads, and how many times slower the others are."""
    times = {name: value["min"] for name, value in row["seconds"].items()}
    ours = next(name for name in times if name.startswith("equilabel") and "1" not in name)
    pixels = np.prod(row["shape"])
    parts = [
        f"{row['image']:<16}{row['neighbors']:>3}",
        f"{times[ours] * 1e3:8.1f} ms{pixels / times[ours] / 1e9:6.2f} Gpx/s",
        f"{times[ours] / times['astype']:6.2f} x astype",
    ]
    for name, value in times.items():
        if not name.startswith(("equilabel", "astype")):
            own = times["equilabel 1"] if name.endswith(" 1") else times[ours]
            parts.append(f"{name} {value / own:5.1f}")
    parts.append(f"{row['extra_bytes_per_pixel']:5.2f} B/px")
    return "  ".join(parts)


def main() -> None:
    """Measure everything that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small images, for a trial")
    parser.add_argument("--only", default="", help="only images whose name contains this word")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    side, depth = (512, 64) if options.quick else (4096, 256)
    threads = max(2, describe()["cores"])
    rows = []
    for name, make in images(side, depth).items():
        if options.only not in name:
            continue
        image = make()
        if image.dtype == bool:
            image = image.view(np.uint8)
        if image.dtype == np.uint8 and image.max() > 1:
            image = (image > 0).view(np.uint8)
        for connectivity in range(1, image.ndim + 1):
            rows.append(measure(name, image, connectivity, options.rounds, threads))
            print(line(rows[-1]), flush=True)
    if not options.quick and not options.only:
        print(store("label_cpu", rows))


if __name__ == "__main__":
    main()
