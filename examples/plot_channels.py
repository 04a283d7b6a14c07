"""
Intensities of two channels in each cell
========================================

Nuclei are found in one channel, cells are grown from them in another, and two are measured.
"""

# %%
# HeLa cells, a sample image of ImageJ (from BioImageAnalysisNotebooks, CC BY 4.0, reduced). The
# nuclei are easy to find. The smoothed mitochondria show how far each cell goes; where two cells
# meet, the border follows the darkest line between them.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from equilabel import binarize, grow, measure, outlines, segment, smooth

channels = np.load(Path("data", "cells.npz"))
mitochondria, lysosomes = channels["mitochondria"], channels["lysosomes"]
nuclei = segment(channels["nuclei"], "li", sigma=2, fill_holes=True, min_size=200).labels
foreground = binarize(mitochondria, "triangle", sigma=4)
cells = grow(nuclei, mask=foreground, image=smooth(mitochondria, 3))

# %%
# A cell has the number of its nucleus. Channels along the last axis are measured at once:
# ``intensity_mean-0`` is that of mitochondria, ``intensity_mean-1`` that of lysosomes.

both = np.stack([mitochondria, lysosomes], axis=-1)
cytoplasm = np.where(nuclei == 0, cells, 0)
table = measure(cytoplasm, both, ["label", "area", "intensity_mean"], spacing=0.103)
print(table.round(1).to_string(index=False))

# %%
# Cells in gold, nuclei in blue, on each channel.

figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for axes, name in zip(panels, ("mitochondria", "lysosomes"), strict=False):
    image = channels[name]
    axes.imshow(image, cmap="gray", vmax=np.percentile(image, 99.5))
    for labels, color in ((cells, "gold"), (nuclei, "deepskyblue")):
        for polygons in outlines(labels).values():
            for polygon in polygons:
                axes.fill(*polygon.outer.T[::-1], fill=False, edgecolor=color, linewidth=1)
    axes.set_title(name)
    axes.set_axis_off()
position = np.arange(len(table))
for channel, name in enumerate(("mitochondria", "lysosomes")):
    means = table[f"intensity_mean-{channel}"]
    panels[2].bar(position + 0.4 * channel, means, 0.4, label=name)
panels[2].set(xticks=position + 0.2, xticklabels=table["label"], xlabel="cell", ylim=(0, 115))
panels[2].set_ylabel("mean gray value")
panels[2].legend(frameon=False)
plt.show()
