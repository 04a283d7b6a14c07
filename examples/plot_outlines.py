"""
Outlines for QuPath and ImageJ
==============================

Objects as polygons with their measurements, in a file that other programs open.
"""

# %%
# Nuclei of a real image, a part of one of BBBC038v1 (Caicedo et al., Nature Methods 16, 2019;
# public domain). ``nuclei.geojson`` opens in QuPath, where each nucleus is a detection with its
# measurements; ``write_outlines("nuclei.zip", ...)`` writes regions for the ROI Manager of ImageJ.

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from equilabel import segment, write_outlines

image = np.load(Path("data", "nuclei.npz"))["dim_image"]
recipe = {"threshold": "per_object", "sigma": 1, "fill_holes": True, "split": 0.5, "min_size": 30}
found = segment(image, **recipe, properties=("label", "area", "circularity", "intensity_mean"))
with TemporaryDirectory() as folder:
    file = Path(folder, "nuclei.geojson")
    write_outlines(file, found.labels, found.table)
    features = json.loads(file.read_text())["features"]
print(json.dumps(features[0]["properties"], indent=1))

# %%
# What another program sees: polygons, here filled with the circularity of each nucleus.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.imshow(image, cmap="gray", vmax=np.percentile(image, 99))
left.set_title("image")
right.set(xlim=left.get_xlim(), ylim=left.get_ylim(), aspect="equal")
colors = plt.get_cmap("viridis")
for feature, circularity in zip(features, found.table["circularity"], strict=True):
    for ring in feature["geometry"]["coordinates"]:
        right.fill(
            *np.transpose(ring), facecolor=colors(circularity), edgecolor="gray", linewidth=0.6
        )
right.set_title(f"{len(features)} polygons, colored by circularity")
for axes in (left, right):
    axes.set_axis_off()
plt.show()
