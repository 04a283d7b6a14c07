"""
Choose a threshold
==================

How many nuclei six global thresholds, a local one, and one for each object find in a real image.
"""

# %%
# Some nuclei are bright and most are dim. The image is a part of one of BBBC038v1 (Caicedo et al.,
# Nature Methods 16, 2019; public domain), in which a person outlined 40 nuclei. A nucleus is found
# if it and an object have more than half of their pixels in common.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from equilabel import outlines, relate, segment

data = np.load(Path("data", "nuclei.npz"))
image, truth = data["dim_image"], data["dim_truth"]
recipe = {"sigma": 1, "fill_holes": True, "min_size": 30, "split": 0.5}


def count_found(labels):
    """Count the objects that share more than half of the pixels that they or a nucleus have."""
    objects = relate(labels, truth).children
    own = objects.overlap / objects.share
    either = own + np.bincount(truth.ravel())[objects.parent] - objects.overlap
    return int(((objects.parent > 0) & (objects.overlap > either / 2)).sum())


# %%
# Thresholds that cut high miss the dim nuclei, those that cut low join neighbors and give bright
# nuclei a halo. A local threshold compares each pixel with the mean of the block around it; here
# objects must differ from it by three times the noise.

names = ("otsu", "li", "yen", "triangle", "mean", "minimum", "per_object")
results = {"a person": truth}
results |= {name: segment(image, name, **recipe).labels for name in names}
results["local"] = segment(image, "local", block_size=101, offset="auto", **recipe).labels

figure, panels = plt.subplots(3, 3, figsize=(10, 9.4), layout="constrained")
for axes, (name, labels) in zip(panels.flat, results.items(), strict=True):
    axes.imshow(image, cmap="gray", vmax=np.percentile(image, 99))
    for polygon in (each for polygons in outlines(labels).values() for each in polygons):
        axes.fill(*polygon.outer.T[::-1], fill=False, edgecolor="gold", linewidth=0.7)
    axes.set_title(f"{name}: {count_found(labels)} of {truth.max()} nuclei found")
    axes.set_axis_off()
plt.show()
