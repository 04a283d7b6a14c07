"""
Keep objects by shape
=====================

Measure the labels of any program, and keep the objects that look as they should.
"""

# %%
# `regionprops_table` takes labels of any origin. Here some nuclei overlap and are labeled as one
# object; such objects have a low ``solidity`` or ``circularity``.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from equilabel import label, regionprops_table
from equilabel.samples import nuclei_mask

labels = label(nuclei_mask((400, 600), seed=3))
table = pd.DataFrame(
    regionprops_table(
        labels, properties=("label", "area", "circularity", "solidity", "touches_border")
    )
)
round_ones = table.query("circularity > 0.8 and solidity > 0.93 and not touches_border")
print(f"{len(round_ones)} of {len(table)} objects kept")

# %%
# The numbers of the objects that are kept, as a lookup table that is indexed by the labels.

keep = np.zeros(labels.max() + 1, dtype=bool)
keep[round_ones["label"]] = True

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.imshow(np.where(labels == 0, np.nan, keep[labels]), cmap="coolwarm_r", vmin=0, vmax=1)
left.set_title("blue: kept")
left.set_axis_off()
for chosen, color in ((table, "tab:red"), (round_ones, "tab:blue")):
    right.scatter(chosen["circularity"], chosen["solidity"], s=chosen["area"] / 20, color=color)
right.set(xlabel="circularity", ylabel="solidity")
plt.show()
