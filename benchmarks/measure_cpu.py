"""Time `regionprops_table` on the CPU, beside scikit-image and cc3d.

Run as ``python benchmarks/measure_cpu.py``; results go to ``benchmarks/results/measure_cpu.json``.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import cc3d
import numpy as np
import skimage.measure

import equilabel
from equilabel import samples
from harness import interleave, peak_memory, store

FLAT = ("label", "bbox", "area", "centroid")
INTENSITY = ("intensity_min", "intensity_max", "intensity_mean", "intensity_std")


def cases(side: int, depth: int) -> list[tuple[str, Any, tuple[str, ...]]]:
    """List images of labels, and the columns to measure on them."""
    flat = equilabel.label(samples.nuclei_mask((side, side)))
    dense = equilabel.label(samples.percolation((side, side), 0.3))
    deep = equilabel.label(samples.nuclei_mask((depth, depth, depth)))
    return [
        ("nuclei 2D", flat, FLAT),
        ("nuclei 2D", flat, (*FLAT, "perimeter")),
        ("nuclei 2D", flat, (*FLAT, "perimeter", *INTENSITY)),
        ("noise 0.3", dense, FLAT),
        ("nuclei 3D", deep, FLAT),
    ]


def main() -> None:
    """Measure every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small images, for a trial")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for name, labels, columns in cases(*((512, 64) if options.quick else (4096, 256))):
        rng = np.random.default_rng(0)
        values = rng.integers(0, 65536, labels.shape, dtype=np.uint16)
        image = values if "intensity_mean" in columns else None
        ours = partial(equilabel.regionprops_table, labels, image, columns)
        unsigned = labels.astype(np.uint32)
        runs = {"equilabel": ours, "cc3d": lambda unsigned=unsigned: cc3d.statistics(unsigned)}
        times = interleave(runs, options.rounds)
        # scikit-image takes seconds to minutes: once is enough, and not at all for a million.
        if labels.max() < 100_000:
            theirs = partial(skimage.measure.regionprops_table, labels, image, columns)
            times |= interleave({"skimage": theirs}, 1)
        extra = peak_memory(ours)
        rows.append(
            {
                "image": name,
                "shape": list(labels.shape),
                "labels": int(labels.max()),
                "columns": list(columns),
                "seconds": times,
                "extra_bytes_per_pixel": extra / labels.size,
            }
        )
        best = {contender: value["min"] for contender, value in times.items()}
        ratios = {peer: round(value / best["equilabel"], 1) for peer, value in best.items()}
        print(f"{name:<12}{labels.max():>9} labels  {best['equilabel'] * 1e3:8.1f} ms  {ratios}")
    if not options.quick:
        print(store("measure_cpu", rows))


if __name__ == "__main__":
    main()
