"""
Choose a threshold
==================

What seven global thresholds and a local one find in the same image.
"""

# %%
# The light is uneven and some nuclei are dim. *otsu*, *isodata* and *minimum* cut high here and
# miss the dim ones; *triangle* cuts lowest, finds them all, and joins more of those that touch.
# Look at the outlines: the number of objects alone does not tell which is best.

import matplotlib.pyplot as plt

from equilabel import segment
from equilabel.samples import nuclei_2d

image = nuclei_2d()
results = {
    name: segment(image, threshold=name, sigma=1, fill_holes=True, min_size=30)
    for name in ("otsu", "isodata", "li", "yen", "triangle", "mean", "minimum")
}
# A local threshold compares each pixel with the mean of the block around it.
results["local"] = segment(
    image, threshold="local", block_size=101, offset=-40, sigma=1, fill_holes=True, min_size=30
)

figure, panels = plt.subplots(2, 4, figsize=(11, 6), layout="constrained")
for axes, (name, found) in zip(panels.flat, results.items(), strict=True):
    axes.imshow(image, cmap="gray", vmax=1500)
    axes.contour(found.labels > 0, levels=[0.5], colors="gold", linewidths=0.5)
    cut = "" if found.threshold is None else f" at {found.threshold:.0f}"
    axes.set_title(f"{name}{cut}: {found.num} objects")
    axes.set_axis_off()
plt.show()
