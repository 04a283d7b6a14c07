"""
Sizes and perimeters of percolation clusters, by Kalentev's accumulation
========================================================================

At the threshold, the number of clusters of s sites falls as s^-tau with tau = 187/91 in two
dimensions, and their perimeter grows as s, with corrections of s^(36/91) (D. Stauffer, A. Aharony,
Introduction to Percolation Theory, 1994). Kalentev et al. (2011, Listing 4) add both up while
labels are resolved. Clusters that the border cuts are left out. Of the others each is weighted by
one over the number of places where its bounding box fits without being cut (the correction of
Miles and Lantuejoul): so no size comes up too rarely.

    python examples/papers/percolation_clusters.py --device cuda --side 8192
    python examples/papers/percolation_clusters.py --side 1024
"""

import argparse

import numpy as np

from equilabel import label, regionprops_table
from equilabel.samples import percolation

TAU = 187 / 91
DIMENSION = 91 / 48  # fractal, of the largest cluster
LARGEST = 0.05  # as a share of the largest cluster: beyond, few clusters are whole
COLUMNS = ("num_pixels", "perimeter_edges")


def measure_clusters(seed, side, device, method):
    """Return sizes, perimeters and weights of the clusters that the border does not cut."""
    mask = percolation((side, side), seed=seed)
    labels, table = label(mask, connectivity=1, method=method, device=device, properties=COLUMNS)
    boxes = regionprops_table(labels, properties=("bbox",))
    low, high = (np.array([boxes[f"bbox-{k}"] for k in pair]) for pair in ((0, 1), (2, 3)))
    whole = (low > 0).all(axis=0) & (high < side).all(axis=0)
    room = np.prod(side - 1 - (high - low)[:, whole], axis=0)  # places for such a box
    sizes, perimeters = (np.asarray(table[name], np.float64)[whole] for name in COLUMNS)
    return sizes, perimeters, 1 / room


def bin_clusters(clusters, edges):
    """Return for each bin of sizes: clusters found, density, and perimeters by density."""
    sizes, perimeters, weights = clusters
    return [
        np.histogram(sizes, edges, weights=each)[0]
        for each in (np.ones(sizes.size), weights, weights * perimeters)
    ]


def slope(sizes, values, counts):
    """Return the slope of a line through logarithms, each as precise as its number of clusters."""
    return np.polyfit(np.log(sizes), np.log(values), 1, w=np.sqrt(counts))[0]


def estimate(asked):
    """Return the sizes and the number of clusters of each bin, and by lattice what is fitted.

    That is the density of clusters of a size, and their mean perimeter. Bins end where a lattice
    has no cluster.
    """
    side = asked.side
    edges = np.unique(np.round(2.0 ** np.arange(0, 2 * np.log2(side) + 0.5, 0.5)))
    centers = np.sqrt(edges[:-1] * (edges[1:] - 1))  # of whole numbers
    chosen = side, asked.device, asked.method
    found = [bin_clusters(measure_clusters(seed, *chosen), edges) for seed in range(asked.repeats)]
    counts, densities, sums = (np.array(part) for part in zip(*found, strict=True))
    used = (centers >= asked.smallest) & (centers < LARGEST * side**DIMENSION) & counts.all(axis=0)
    counts, densities, sums = counts[:, used], densities[:, used], sums[:, used]
    return centers[used], counts.mean(axis=0), densities / np.diff(edges)[used], sums / densities


def draw(path, centers, densities, perimeters):
    """Draw sizes and perimeters."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    panels[0].loglog(centers, densities.mean(axis=0), "o", markersize=3)
    panels[0].loglog(centers, 0.03 * centers**-TAU, color="gray", label="s^(-187/91)")
    panels[0].set(xlabel="s", ylabel="clusters of s sites, per site")
    panels[0].legend(frameon=False)
    panels[1].semilogx(centers, perimeters.mean(axis=0) / centers, "o", markersize=3)
    panels[1].set(xlabel="s", ylabel="edges of the perimeter, per site")
    figure.savefig(path)
    plt.close(figure)
    print(f"Figure: {path}")


def main(arguments=None):
    """Measure, print and draw; return the estimate of tau and its error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--method", default="kalentev", help="or runs, the fastest")
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument(
        "--repeats", type=int, default=8, help="lattices; their spread is the error"
    )
    parser.add_argument("--output", default="percolation_clusters.png", help="file of the figure")
    parser.add_argument(
        "--smallest", type=int, default=256, help="sites from which corrections are small"
    )
    asked = parser.parse_args(arguments)
    centers, counts, densities, perimeters = estimate(asked)
    print(f"{asked.repeats} lattices of {asked.side} x {asked.side} sites, {asked.method}")
    found = []
    for name, rows, sign, known in (("tau", densities, -1, TAU), ("perimeter", perimeters, 1, 1)):
        slopes = [sign * slope(centers, row, counts) for row in rows]
        mean, error = np.mean(slopes), np.std(slopes, ddof=1) / np.sqrt(len(slopes))
        print(f"{name:<10} {mean:.4f} +- {error:.4f}, known {known:.4f}")
        found.append((mean, error))
    draw(asked.output, centers, densities, perimeters)
    return found


if __name__ == "__main__":
    main()
