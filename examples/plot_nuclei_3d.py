"""
Nuclei in 3D
============

A stack whose planes are farther apart than its pixels: splitting, volumes and shapes.
"""

# %%
# The stack is simulated. Its planes are 1.04 µm apart and its pixels 0.26 µm wide; with ``spacing``
# and ``unit``, lengths such as ``sigma`` are the same in all directions, necks are found in
# physical space, and volumes are in µm³.

import matplotlib.pyplot as plt
import numpy as np

from equilabel import segment
from equilabel.samples import nuclei_3d

stack = nuclei_3d()
spacing = (1.04, 0.26, 0.26)
options = {"threshold": "per_object", "sigma": "0.3um", "fill_holes": True, "min_size": "20um3"}
columns = ("label", "volume", "sphericity", "touches_border")
whole = segment(stack, **options, spacing=spacing, unit="um")
found = segment(stack, **options, split=0.5, spacing=spacing, unit="um", properties=columns)
print(f"{whole.num} components, {found.num} nuclei")
print(found.table.groupby("touches_border")[["volume", "sphericity"]].median().round(2))

# %%
# A plane, a section along z, and the shapes of the nuclei that lie inside the stack.

shuffled = np.random.default_rng(5).permutation(found.num) + 1.0
colors = np.concatenate([[np.nan], shuffled])[found.labels]
plane, row = 14, 96
figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axes, place, aspect, name in (
    (panels[0], np.s_[plane], 1, f"plane {plane}"),
    (panels[1], np.s_[:, row], spacing[0] / spacing[1], f"section along z, at row {row}"),
):
    axes.imshow(stack[place], cmap="gray", aspect=aspect)
    axes.imshow(colors[place], cmap="hsv", alpha=0.4, aspect=aspect, interpolation="nearest")
    axes.set_title(name)
    axes.set_axis_off()
inside = found.table[~found.table["touches_border"].astype(bool)]
panels[2].scatter(inside["volume"], inside["sphericity"], color="tab:blue")
panels[2].set(xlabel="volume (µm³)", ylabel="sphericity")
plt.show()
