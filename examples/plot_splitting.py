"""
Objects that touch: by shape or along dark lines
================================================

Crowded nuclei of a real image, split at their necks and where it is darker between them.
"""

# %%
# The image is one of BBBC038v1 (Caicedo et al., Nature Methods 16, 2019; public domain), in which a
# person outlined the nuclei.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from equilabel import outlines, segment

data = np.load(Path("data", "nuclei.npz"))
image, truth = data["crowded_image"], data["crowded_truth"]
recipe = {"threshold": "per_object", "fill_holes": True, "min_size": 30}

# %%
# At necks, a tolerance says how much thinner than the objects a neck is. Along dark lines, a share
# says how much darker the line is: 0.1 of the range of gray values of the component. The image is
# smoothed, so that noise makes no lines.

ways = {
    "one object for each component": {"sigma": 1},
    'split=0.5, split_by="shape"': {"sigma": 1, "split": 0.5},
    'split=0.1, split_by="intensity"': {"sigma": 2, "split": 0.1, "split_by": "intensity"},
}
figure, panels = plt.subplots(1, 3, figsize=(11, 4.4), layout="constrained")
for axes, (name, options) in zip(panels, ways.items(), strict=True):
    found = segment(image, **recipe, **options)
    axes.imshow(image, cmap="gray", vmax=np.percentile(image, 99), interpolation="nearest")
    axes.set_axis_off()
    for polygons in outlines(found.labels).values():
        for polygon in polygons:
            axes.fill(*polygon.outer.T[::-1], fill=False, edgecolor="gold", linewidth=0.9)
    axes.set_title(f"{name}\n{found.num} objects of {truth.max()} nuclei", fontsize=9)
plt.show()
