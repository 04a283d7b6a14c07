"""
What follows from labels
========================

Cells around nuclei, which of them touch, and which spots lie in which cell.
"""

# %%
# Nuclei of a real image, a part of one of BBBC038v1 (Caicedo et al., Nature Methods 16, 2019;
# public domain), are found with the recipe for a first try. Cells are grown from them, and keep
# their numbers; spots are drawn at random, as those of another channel.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from equilabel import contacts, filter_objects, grow, label, outlines, relate, segment

image = np.load(Path("data", "nuclei.npz"))["dim_image"]
recipe = {"threshold": "per_object", "sigma": 1, "fill_holes": True, "split": 0.5, "min_size": 30}
found = segment(image, **recipe, properties=("label", "area", "centroid", "circularity"))
cells = grow(found.labels, 10)
spots = label(np.random.default_rng(0).random(image.shape) < 0.004)


def draw(axes, labels, color):
    """Draw the outlines of objects."""
    for polygons in outlines(labels).values():
        for polygon in polygons:
            axes.fill(*polygon.outer.T[::-1], fill=False, edgecolor=color, linewidth=0.8)


figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axes in panels:
    axes.imshow(image, cmap="gray", vmax=np.percentile(image, 99))
    axes.set_axis_off()

# %%
# Lines between the centers of cells that touch, and the number of spots in each cell.

draw(panels[0], cells, "gold")
middles = found.table.set_index("label")[["centroid-1", "centroid-0"]]
touching = contacts(cells)
for pair in touching.itertuples():
    panels[0].plot(*middles.loc[[pair.label, pair.neighbor]].to_numpy().T, "c-", linewidth=1)
panels[0].set_title(f"{len(touching)} pairs of cells touch")

inside = relate(spots, cells).parents
draw(panels[1], cells, "gold")
draw(panels[1], spots, "red")
for row in inside.itertuples():
    panels[1].text(*middles.loc[row.label], row.children, color="white", ha="center", va="center")
panels[1].set_title(f"spots in each cell, {inside.children.sum()} in all")

# %%
# A condition keeps some of the objects, and numbers them from 1 again.

round_ones = filter_objects(found, "circularity > 0.9 and area > 250")
draw(panels[2], round_ones.labels, "gold")
panels[2].set_title(f"{round_ones.num} large, round nuclei of {found.num}")
plt.show()
