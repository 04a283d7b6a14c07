"""Time labeling and measuring with two source trees in one run, turn by turn.

Run as ``python benchmarks/before_after.py BEFORE [AFTER] [--device cuda]``, where both are `src`
folders; AFTER is this one unless told. Each tree has a process of its own. A turn of one follows a
turn of the other, so that a slow moment of the machine hits both; the best turn of each counts. On
the CPU with one thread, the processor time of the thread is counted: others may share the machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

TURN = 0.02  # seconds of calls in a row
COLUMNS = ("label", "bbox", "centroid")
MORE = ("area", "euler_number", "axis_major_length", "intensity_mean")


def cases(device: str) -> dict[str, Any]:
    """Make the calls that are timed."""
    import numpy as np

    import equilabel
    from equilabel import METHODS, label, regionprops_table, samples

    # Until November 2026, this name belonged to the function for masks.
    measure = getattr(equilabel, "measure_components", equilabel.measure)

    large = 4 if device == "cuda" else 1
    flat, deep = (2048 * large, 2048 * large), (192 * large,) * 3
    images = {
        "blobs 2D": samples.blobs(flat),
        "noise 2D": samples.percolation(flat, 0.5),
        "zeros 2D": np.zeros(flat, np.uint8),
        "ones 2D": np.ones(flat, np.uint8),
        "noise 2D int32": samples.percolation(flat, 0.5).astype(np.int32),
        "voronoi 2D": samples.voronoi(flat),
        "blobs 3D": samples.blobs(deep),
        "noise 3D": samples.percolation(deep, 0.31),
        "voronoi 3D": samples.voronoi(deep),
        "noise 16": samples.percolation((16, 16), 0.5),
        "noise 64": samples.percolation((64, 64), 0.5),
        "noise 256": samples.percolation((256, 256), 0.5),
        "noise 32 x 32 x 32": samples.percolation((32, 32, 32), 0.5),
    }
    finish = bool  # nothing to wait for
    if device == "cuda":
        import cupy

        images = {name: cupy.asarray(image) for name, image in images.items()}
        finish = cupy.cuda.get_current_stream().synchronize
    found: dict[str, Any] = {}

    def call(function: Any, *arguments: Any, **options: Any) -> None:
        function(*arguments, **options)
        finish()

    for name, image in images.items():
        for connectivity in (1, image.ndim):
            found[f"label {name} / {connectivity}"] = partial(
                call, label, image, connectivity=connectivity
            )
    for name in ("blobs 2D", "noise 2D", "noise 3D"):
        image = images[name]
        values = (image * 100).astype(np.uint8)
        labels = label(image)
        found[f"measure places of {name}"] = partial(call, measure, image, COLUMNS)
        found[f"measure {name}"] = partial(call, measure, image, MORE, intensity_image=values)
        found[f"regionprops_table of {name}"] = partial(
            call, regionprops_table, labels, values, ("label", *MORE)
        )
        for method, row in METHODS.items():
            known = "grid" in getattr(row, "domains", ["grid"]) and image.ndim in (
                getattr(row, "ranks", [image.ndim])
            )
            if not known or getattr(row, "propagates", False) or method == "apostolakis":
                continue  # what takes thousands of rounds
            if image.size <= 2**22 or device == "cuda":
                found[f"{method} {name}"] = partial(call, label, image, method=method)
    one = np.zeros((64, 64), np.int32)
    one[20:30, 20:30] = 1
    found["regionprops_table of one object"] = partial(call, regionprops_table, one)
    return found


def serve(source: str, device: str, link: Any) -> None:
    """Time cases that the other end of a pipe names, with the package of a source tree."""
    sys.path.insert(0, source)
    import equilabel

    assert Path(equilabel.__file__).is_relative_to(Path(source).resolve()), equilabel.__file__
    alone = device != "cuda" and os.environ["EQUILABEL_NUM_THREADS"] == "1"
    clock = time.thread_time if alone else time.perf_counter
    calls = cases(device)
    link.send(list(calls))
    for name in iter(link.recv, None):
        run, best, spent = calls[name], float("inf"), 0.0
        while spent < TURN:
            began = clock()
            run()
            took = max(clock() - began, 1e-9)  # clocks may have steps
            best, spent = min(best, took), spent + max(took, 1e-6)
        link.send(best)


def main() -> None:
    """Compare two trees, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=Path(__file__).parents[1] / "src")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--only", default="", help="a word of the names of cases")
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    asked = parser.parse_args()
    os.environ["EQUILABEL_NUM_THREADS"] = str(asked.threads)
    links = []
    for source in (asked.before, asked.after):
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=serve, args=(str(source.resolve()), asked.device, theirs), daemon=True
        )
        process.start()
        links.append(ours)
    found = [link.recv() for link in links]
    names = [name for name in found[0] if asked.only in name]
    best = {name: [float("inf")] * 2 for name in names}
    for _ in range(asked.turns):
        for name in names:
            for k, link in enumerate(links):
                link.send(name)
                best[name][k] = min(best[name][k], link.recv())
    for link in links:
        link.send(None)
    print(f"{'':42}{'before':>10}{'after':>10}   after / before")
    for name, (before, after) in best.items():
        print(f"{name:42}{before * 1e6:10.1f}{after * 1e6:10.1f}   {after / before:.3f}")


if __name__ == "__main__":
    main()
