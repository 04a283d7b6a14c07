"""Sizes and perimeters of percolation clusters, by Kalentev's accumulation.

At the threshold, the number of clusters of s sites falls as s^-tau with tau = 187/91 in two
dimensions, and their perimeter grows as s, with corrections of s^(36/91) (D. Stauffer, A. Aharony,
Introduction to Percolation Theory, 1994). Kalentev et al. (2011, Listing 4) add both up while
labels are resolved. Clusters that the border cuts are left out. Of the others each is weighted by
one over the number of places where its bounding box fits without being cut (the correction of
Miles and Lantuejoul): so no size comes up too rarely.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equilabel import label, regionprops_table
from equilabel.samples import percolation

TAU = 187 / 91
DIMENSION = 91 / 48  # fractal, of the largest cluster
LARGEST = 0.05  # as a share of the largest cluster: beyond, few clusters are whole
COLUMNS = ("num_pixels", "perimeter_edges")


def bin_clusters(seed: int, side: int, device: str, edges: Any) -> list[Any]:
    """Return for each bin of sizes: clusters found, density, and perimeters by density."""
    mask = percolation((side, side), seed=seed)
    options = {"connectivity": 1, "method": "kalentev", "device": device}
    labels, table = label(mask, properties=COLUMNS, **options)
    boxes = regionprops_table(labels, properties=("bbox",))
    low, high = (np.array([boxes[f"bbox-{k}"] for k in pair]) for pair in ((0, 1), (2, 3)))
    whole = (low > 0).all(axis=0) & (high < side).all(axis=0)
    weights = 1 / np.prod(side - 1 - (high - low)[:, whole], axis=0)  # places for such a box
    sizes, perimeters = (np.asarray(table[name], np.float64)[whole] for name in COLUMNS)
    return [
        np.histogram(sizes, edges, weights=each)[0]
        for each in (np.ones(sizes.size), weights, weights * perimeters)
    ]


def exponents(
    side: int, repeats: int, smallest: int, device: str
) -> dict[str, tuple[float, float]]:
    """Return tau and the power of the perimeter, each with its standard error.

    Clusters from `smallest` sites on are fitted, in bins up to where a lattice has none.
    """
    edges = np.unique(np.round(2.0 ** np.arange(0, 2 * np.log2(side) + 0.5, 0.5)))
    centers = np.sqrt(edges[:-1] * (edges[1:] - 1))  # of whole numbers
    found = [bin_clusters(seed, side, device, edges) for seed in range(repeats)]
    counts, densities, sums = (np.array(part) for part in zip(*found, strict=True))
    used = (centers >= smallest) & (centers < LARGEST * side**DIMENSION) & counts.all(axis=0)
    weights = np.sqrt(counts[:, used].mean(axis=0))  # a bin is as precise as its clusters are many
    densities, sums = densities[:, used], sums[:, used]
    lines = {"tau": np.diff(edges)[used] / densities, "perimeter": sums / densities}
    powers = {
        name: [np.polyfit(np.log(centers[used]), np.log(each), 1, w=weights)[0] for each in line]
        for name, line in lines.items()
    }
    return {
        name: (float(np.mean(each)), float(np.std(each, ddof=1) / len(each) ** 0.5))
        for name, each in powers.items()
    }
