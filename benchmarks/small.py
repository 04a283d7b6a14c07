"""Time `label` and `regionprops_table` on small images, beside scikit-image.

Calls are repeated in bursts, turn by turn, and the best burst of each counts: a microsecond is much
here. Run as ``python benchmarks/small.py``; results go to ``benchmarks/results/small.json``.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import skimage.measure

import equilabel
from equilabel import samples
from harness import store

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [
    *((16,), (256,), (1024,), (16, 16), (32, 32), (64, 64), (128, 128), (256, 256)),
    *((64, 16), (24, 24), (8, 8, 8), (12, 12, 12), (4, 16, 16), (16, 16, 16), (32, 32, 32)),
]
TABLES = (("label", "bbox"), ("label", "area", "centroid"), ("area", "perimeter", "eccentricity"))
ROUNDS = 25
BURST = 4e-3  # seconds of calls in a row


def images(shape: tuple[int, ...]) -> dict[str, Any]:
    """Make images of one and of several values."""
    noise = samples.percolation(shape, 0.5)
    return {
        "noise": noise,
        "noise uint8": noise.astype(np.uint8),
        "blobs int32": samples.blobs(shape, scale=4.0).astype(np.int32),
        "three values int64": np.random.default_rng(0).integers(0, 3, shape),
    }


def squares(side: int, count: int) -> Any:
    """Make an image of labeled squares."""
    labels = np.zeros((side, side), np.int32)
    rng = np.random.default_rng(0)
    for number in range(1, count + 1):
        y, x = rng.integers(0, side - 4, 2)
        labels[y : y + 4, x : x + 4] = number
    return labels


def compare(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Return the microseconds of a call of each."""
    calls, best = [], [float("inf")] * 2
    for run in (ours, theirs):
        run()
        began = time.perf_counter()
        run()
        calls.append(max(1, int(BURST / (time.perf_counter() - began))))
    for _ in range(ROUNDS):
        for k, run in enumerate((ours, theirs)):
            began = time.perf_counter()
            for _ in range(calls[k]):
                run()
            best[k] = min(best[k], (time.perf_counter() - began) / calls[k])
    return 1e6 * best[0], 1e6 * best[1]


def main() -> None:
    """Measure, print and store."""
    rows: list[dict[str, Any]] = []

    def note(work: str, what: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
        us, peer = compare(ours, theirs)
        rows.append({"work": work, "image": what, "us": us, "skimage us": peer})
        print(f"{work:45s} {what:22s} {us:8.1f} {peer:8.1f} {us / peer:5.2f}", flush=True)

    for shape in SHAPES:
        for name, image in images(shape).items():
            for connectivity in sorted({1, len(shape)}):
                options = {"connectivity": connectivity}
                note(
                    f"label {shape} connectivity {connectivity}",
                    name,
                    partial(equilabel.label, image, **options),
                    partial(skimage.measure.label, image, **options),
                )
    for side, count in ((16, 1), (16, 3), (64, 1), (64, 10), (128, 40), (256, 100)):
        labels = squares(side, count)
        for names in TABLES:
            note(
                f"regionprops_table {', '.join(names)}",
                f"{count} in {side} x {side}",
                partial(equilabel.regionprops_table, labels, properties=names),
                partial(skimage.measure.regionprops_table, labels, properties=names),
            )
    print(store("small", rows))


if __name__ == "__main__":
    main()
