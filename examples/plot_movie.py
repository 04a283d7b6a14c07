"""
Count objects in a movie
========================

Frames are labeled one by one, with one threshold and one table for all.
"""

# %%
# With ``stacked=True`` the first axis counts independent images: nothing joins along it, and the
# column ``frame`` says in which frame an object lies.

import matplotlib.pyplot as plt
from skimage.segmentation import find_boundaries

from equilabel import segment
from equilabel.samples import movie

frames = movie()
found = segment(frames, stacked=True, threshold="li", sigma=1, split=0.5, min_size=20)
by_frame = found.table.groupby("frame")
print(by_frame.size().to_string())

# %%
# Nuclei divide, so their number rises. The dye bleaches, so they grow dimmer.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
last = len(frames) - 1
left.imshow(frames[last], cmap="gray")
left.contour(find_boundaries(found.labels[last]), levels=[0.5], colors="gold", linewidths=0.5)
left.set_title(f"frame {last}")
left.set_axis_off()
right.plot(by_frame.size(), color="tab:blue")
right.set(xlabel="frame")
right.set_ylabel("objects", color="tab:blue")
bright = right.twinx()
bright.plot(by_frame["intensity_mean"].median(), color="tab:orange")
bright.set_ylabel("median of intensity_mean", color="tab:orange")
plt.show()
