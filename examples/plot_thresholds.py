"""
Choose a threshold
==================

What seven global thresholds, a local one, and one for each object find in the same image.
"""

# %%
# Some nuclei are bright and most are dim. The image is a part of one of BBBC038v1 (Caicedo et al.,
# Nature Methods 16, 2019; public domain), in which a person outlined 40 nuclei. Thresholds that cut
# high miss the dim ones, those that cut low join neighbors and give bright nuclei a halo. Look at
# the outlines: the number of objects alone does not tell which is best.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from equilabel import segment

image = np.load(Path("data", "nuclei.npz"))["dim_image"]
recipe = {"sigma": 1, "fill_holes": True, "min_size": 30, "split": 0.5}
names = ("otsu", "isodata", "li", "yen", "triangle", "mean", "minimum", "per_object")
results = {name: segment(image, name, **recipe) for name in names}
# A local threshold compares each pixel with the mean of the block around it; here objects must
# differ from it by three times the noise.
results["local"] = segment(image, "local", block_size=101, offset="auto", **recipe)

figure, panels = plt.subplots(3, 3, figsize=(10, 9.4), layout="constrained")
for axes, (name, found) in zip(panels.flat, results.items(), strict=True):
    axes.imshow(image, cmap="gray", vmax=np.percentile(image, 99))
    axes.contour(found.labels > 0, levels=[0.5], colors="gold", linewidths=0.7)
    cut = "" if found.threshold is None else f" at {found.threshold:.0f}"
    axes.set_title(f"{name}{cut}: {found.num} objects")
    axes.set_axis_off()
plt.show()
