"""
Nuclei that a person outlined
=============================

A real image, with dim and bright nuclei: how many does each threshold find?
"""

# %%
# The image is a part of one of BBBC038v1 (Caicedo et al., Nature Methods 16, 2019; public domain),
# in which a person outlined the nuclei. A nucleus is found if it and an object have more than half
# of their pixels in common.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from equilabel import outlines, relate, segment

data = np.load(Path("data", "nuclei.npz"))
image, truth = data["dim_image"], data["dim_truth"]
recipe = {"sigma": 1, "fill_holes": True, "split": 0.5, "min_size": 30}


def count_found(labels):
    """Count the objects that share more than half of the pixels that they or a nucleus have."""
    objects = relate(labels, truth).children
    sizes = np.bincount(truth.ravel())
    own = objects.overlap / objects.share
    either = own + sizes[objects.parent] - objects.overlap
    return int(((objects.parent > 0) & (objects.overlap > either / 2)).sum())


# %%
# Otsu's threshold is one for the whole image, between the bright nuclei and all the rest. With a
# threshold for each object, dim nuclei are found, and bright ones have no halo.

figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
found = {
    "a person": truth,
    "otsu": segment(image, "otsu", **recipe).labels,
    "per_object": segment(image, "per_object", **recipe).labels,
}
for axes, (name, labels) in zip(panels, found.items(), strict=True):
    axes.imshow(image, cmap="gray", vmax=np.percentile(image, 99), interpolation="nearest")
    axes.set_axis_off()
    for polygons in outlines(labels).values():
        for polygon in polygons:
            axes.fill(*polygon.outer.T[::-1], fill=False, edgecolor="gold", linewidth=0.9)
    axes.set_title(f"{name}: {count_found(labels)} of {truth.max()} nuclei")
plt.show()
