"""Time `label` on images of all sizes on the CPU, beside scikit-image, SciPy, cc3d and OpenCV.

Each library works in one thread, whose processor time is counted: others may share the machine.
Calls are repeated in bursts, turn by turn, and the best burst of each counts. Run as ``python
benchmarks/sizes_cpu.py [--only WORD] [--most SIDE]``; results go to
``benchmarks/results/sizes_cpu.json``.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

import equilabel
from harness import store
from label_cpu import NEIGHBORS, check, contenders
from patterns import in_3d, patterns, usual

if TYPE_CHECKING:
    from collections.abc import Callable

SIDES = (64, 128, 256, 512, 1024, 2048, 4096)
DEPTHS = (16, 32, 64, 128, 256)
BURST = 2e-3  # seconds of calls in a row


def times_of(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the seconds of a call of each contender."""
    best, calls = dict.fromkeys(runs, float("inf")), {}
    for name, run in runs.items():
        run()
        began = time.thread_time()
        run()
        calls[name] = max(1, int(BURST / (time.thread_time() - began)))
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.thread_time()
            for _ in range(calls[name]):
                run()
            best[name] = min(best[name], (time.thread_time() - began) / calls[name])
    return best


def measure(name: str, image: Any, connectivity: int) -> dict[str, Any]:
    """Return one row."""
    check(image, connectivity)
    runs = contenders(image, connectivity, 2)
    # A call may be so short that setting the number of threads in it would count.
    runs["equilabel 1"] = partial(equilabel.label, image, connectivity=connectivity)
    if image.ndim == 2:
        cv2.setNumThreads(1)
        neighbors = NEIGHBORS[2, connectivity]
        runs["opencv 1"] = lambda: cv2.connectedComponents(image, connectivity=neighbors)
    wanted = ("astype", "equilabel 1", "skimage", "scipy", "cc3d", "opencv 1")
    runs = {each: runs[each] for each in wanted if each in runs}
    rounds = 7 if image.size <= 2**20 else 3
    return {
        "image": name,
        "shape": list(image.shape),
        "neighbors": NEIGHBORS[image.ndim, connectivity],
        "seconds": times_of(runs, rounds),
    }


def line(row: dict[str, Any]) -> str:
    """Return a row as text: our time, and how many times longer the others take."""
    ours = next(s for name, s in row["seconds"].items() if name.startswith("equilabel"))
    others = (f"{name} {s / ours:.2f}" for name, s in row["seconds"].items() if s != ours)
    head = f"{row['image']:<17}{row['shape'][0]:>5}{row['neighbors']:>3}{ours * 1e6:10.1f} us"
    return f"{head}   {'  '.join(others)}"


def main() -> None:
    """Measure everything that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only images whose name contains this word")
    parser.add_argument("--most", type=int, default=SIDES[-1], help="longest side in 2D")
    options = parser.parse_args()
    os.environ["EQUILABEL_NUM_THREADS"] = "1"
    makers = [maker for side in SIDES for maker in (usual(side) | patterns(side)).items()]
    makers += [maker for depth in DEPTHS for maker in in_3d(depth).items()]
    rows = []
    for name, make in makers:
        if options.only not in name:
            continue
        image = np.ascontiguousarray(make() > 0).view(np.uint8)
        if image.shape[0] > options.most:
            continue
        for connectivity in sorted({1, image.ndim}):
            rows.append(measure(name, image, connectivity))
            print(line(rows[-1]), flush=True)
    if not options.only and options.most == SIDES[-1]:
        print(store("sizes_cpu", rows))


if __name__ == "__main__":
    main()
