"""
Measure the pores of a rock in 3D
=================================

Dark objects in a stack, their volumes, and the one pore space that connects them.
"""

# %%
# Pores are darker than the grains, so `dark=True`. In 3D the default connectivity joins voxels
# that touch at faces, edges or corners (26 neighbors); pores that let a fluid through share
# faces, so we ask for ``connectivity=1``.

import matplotlib.pyplot as plt
import numpy as np

from equilabel import segment
from equilabel.samples import porous_medium

image = porous_medium()
pores = segment(
    image,
    dark=True,
    sigma="4um",
    spacing=4,
    unit="um",
    connectivity=1,
    properties=("label", "volume", "bbox", "sphericity"),
)
table = pores.table.sort_values("volume", ascending=False)
print(f"porosity {np.mean(pores.labels > 0):.1%}, {pores.num} pores")
print(table[["label", "volume", "sphericity"]].head(3))

# %%
# Does the largest pore reach from the first plane to the last?

largest = table.iloc[0]
height = image.shape[0]
print("percolates:", largest["bbox-0"] == 0 and largest["bbox-3"] == height)

# %%
# The largest pore in blue, all others in orange, on a plane of the stack; and how volumes are
# spread.

plane = 32
parts = np.where(pores.labels[plane] == largest["label"], 1.0, 2.0)
parts[pores.labels[plane] == 0] = np.nan

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
left.imshow(image[plane], cmap="gray")
left.imshow(parts, cmap="tab10", vmin=1, vmax=10, alpha=0.6)
left.set_title(f"plane {plane}")
left.set_axis_off()
right.hist(table["volume"], bins=np.geomspace(64, table["volume"].max() * 1.1, 24))
right.set(xscale="log", xlabel="volume (µm³)", ylabel="number of pores")
plt.show()
