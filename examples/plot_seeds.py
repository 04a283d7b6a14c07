"""
Seeds that grow to cells
========================

Cells of a plant, from their dark insides to the middle of the walls, and their neighbors.
"""

# %%
# Walls of cells in a maize stem (from BioImageAnalysisNotebooks, CC BY 4.0, cut out). The insides
# are dark, so they are objects with ``dark=True``; with ``connectivity=1`` nothing leaks through
# corners of thin walls, and ``split`` parts cells whose wall has a gap.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from equilabel import grow, neighbors, outlines, segment

walls = np.load(Path("data", "plant.npz"))["walls"]
seeds = segment(walls, dark=True, sigma=1, connectivity=1, split=1, min_size=20).labels

# %%
# Seeds grow by at most 6 pixels. They meet where ``image`` is darkest between them: walls are
# bright, so it is turned around. Labels stay the same.

cells = grow(seeds, 6, image=255 - walls)
table = neighbors(cells)
print(table["touching"].describe().round(1).to_string())

# %%
# The number of neighbors of each cell as a color.

touching = np.concatenate([[np.nan], table["touching"]])[cells]
figure, panels = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained")
for axes, labels, name in ((panels[0], seeds, "seeds"), (panels[1], cells, "grown by 6 pixels")):
    axes.imshow(walls, cmap="gray")
    for polygons in outlines(labels).values():
        for polygon in polygons:
            axes.fill(*polygon.outer.T[::-1], fill=False, edgecolor="gold", linewidth=0.7)
    axes.set_title(f"{name}: {labels.max()}")
colored = panels[2].imshow(touching, cmap="viridis", interpolation="nearest")
figure.colorbar(colored, ax=panels[2], label="neighbors", shrink=0.9)
for axes in panels:
    axes.set_axis_off()
plt.show()
