"""
Percolation: what connectivity changes
======================================

The largest cluster of random pixels, with 4 and with 8 neighbors.
"""

# %%
# Each pixel is foreground with probability p. With 4 neighbors one cluster spans the image from p
# = 0.593 on, with 8 neighbors already from 0.407. `measure_components` gives the sizes
# without writing any labels.

import matplotlib.pyplot as plt
import numpy as np

from equilabel import label, measure_components

random = np.random.default_rng(0)
noise = random.random((1024, 1024))
occupations = np.linspace(0.3, 0.7, 21)
largest = {
    hops: [
        measure_components(noise < p, ["num_pixels"], connectivity=hops)["num_pixels"].max()
        / noise.size
        for p in occupations
    ]
    for hops in (1, 2)
}

# %%
# Between the two, at p = 0.5, the same mask is a dust of clusters or one that spans the image.

mask = noise[:256, :256] < 0.5
figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for axes, hops in zip(panels, (1, 2), strict=False):
    labels, number = label(mask, connectivity=hops, return_num=True)
    shuffled = np.concatenate([[0], random.permutation(number) + 1])
    colors = np.ma.masked_equal(shuffled[labels], 0)
    axes.imshow(colors, cmap="turbo", interpolation="nearest")
    axes.set_title(f"{4 * hops} neighbors: {number} clusters")
    axes.set_axis_off()
for hops, sizes in largest.items():
    panels[2].plot(occupations, sizes, marker="o", markersize=3, label=f"{4 * hops} neighbors")
panels[2].set(xlabel="p", ylabel="share of the largest cluster")
panels[2].legend(frameon=False)
plt.show()
