"""
Keep objects by shape
=====================

Measure labels, and keep the objects that look as they should.
"""

# %%
# Nuclei of a real image, a part of one of BBBC038v1 (Caicedo et al., Nature Methods 16, 2019;
# public domain), are labeled without splitting those that touch; these have a low ``solidity`` or
# ``circularity``. `regionprops_table` and `filter_objects` take labels of any program.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from equilabel import filter_objects, regionprops_table, segment

image = np.load(Path("data", "nuclei.npz"))["crowded_image"]
labels = segment(image, "per_object", sigma=1, fill_holes=True, min_size=30).labels
names = ("label", "area", "circularity", "solidity", "touches_border", "nearest_distance")
table = pd.DataFrame(regionprops_table(labels, properties=names))
condition = "circularity > 0.85 and solidity > 0.93 and not touches_border"
kept, round_ones = filter_objects(labels, condition, table)
print(f"{len(round_ones)} of {len(table)} objects kept")

# %%
# Objects that are kept are numbered from 1 again; ``label_before`` has their earlier numbers.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
left.imshow(image, cmap="gray", vmax=np.percentile(image, 99.5))
for mask, color in ((labels > 0, "tomato"), (kept > 0, "deepskyblue")):
    left.contour(mask, levels=[0.5], colors=color, linewidths=1)
left.set_title("blue: kept")
left.set_axis_off()
for chosen, color in ((table, "tomato"), (round_ones, "deepskyblue")):
    right.scatter(chosen["circularity"], chosen["solidity"], s=chosen["area"] / 8, color=color)
right.set(xlabel="circularity", ylabel="solidity")
plt.show()
