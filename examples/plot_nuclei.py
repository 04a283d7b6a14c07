"""
Find and measure nuclei
=======================

From a fluorescence image to outlined objects and a table, in one call.
"""

# %%
# The image is simulated: nuclei under uneven light, one pixel is 0.325 µm wide. `segment` smooths
# it, finds a threshold for each object, fills holes, splits objects that touch, and drops those of
# fewer than 30 pixels.

import matplotlib.pyplot as plt
from skimage.segmentation import find_boundaries

from equilabel import segment
from equilabel.samples import nuclei_2d

image = nuclei_2d()
found = segment(
    image,
    threshold="per_object",
    sigma=1,
    spacing=0.325,
    unit="um",
    fill_holes=True,
    split=0.5,
    min_size=30,
)
print(f"{found.num} objects above {found.threshold:.0f}")
print(found.table[["label", "area", "perimeter", "intensity_mean"]].head())

# %%
# `found.labels` is an image of numbers: 0 outside, 1 to N inside the objects. It indexes the
# table, so an image of any column is one line of NumPy.

import numpy as np

area = np.concatenate([[np.nan], found.table["area"]])[found.labels]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
left.imshow(image, cmap="gray", vmax=np.percentile(image, 99.5))
left.contour(find_boundaries(found.labels), levels=[0.5], colors="gold", linewidths=0.6)
left.set_title("outlines")
colored = right.imshow(area, cmap="viridis")
right.set_title("colored by area")
figure.colorbar(colored, ax=right, label="area (µm²)", shrink=0.8)
for axes in (left, right):
    axes.set_axis_off()
plt.show()
