"""
A large image in chunks
=======================

Read, labeled and measured block by block, with the same numbers as the whole image.
"""

# %%
# The Hubble extreme deep field (NASA and ESA, public domain), repeated until it has 3.5 million
# pixels, stands for a file that does not fit into memory. `segment_chunked` reads a TIFF, a Zarr or
# an OME-Zarr, also by URL, and writes labels to a Zarr.

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import tifffile
import zarr
from skimage.data import hubble_deep_field

from equilabel import segment, segment_chunked

sky = np.tile(hubble_deep_field().mean(axis=-1).astype(np.uint8), (2, 2))
options = {"threshold": "yen", "sigma": 1, "min_size": 5, "properties": ("label", "area", "bbox")}
with TemporaryDirectory() as folder:
    file = Path(folder, "sky.tif")
    tifffile.imwrite(file, sky, tile=(256, 256))
    found = segment_chunked(file, **options, chunks=512, out=Path(folder, "labels.zarr"))
    labels = zarr.open_array(found.labels)[:]
print(f"{found.num} stars and galaxies in {sky.size / 1e6:.1f} megapixels")
print("the same as of the whole image:", bool((labels == segment(sky, **options).labels).all()))

# %%
# Around a corner of four blocks: objects on the dashed borders have one number and one row of the
# table.

near = np.s_[1024 - 130 : 1024 + 130, 1024 - 200 : 1024 + 200]
extent = (824, 1224, 1154, 894)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.imshow(sky[near], cmap="gray", vmax=160, extent=extent)
colors = np.concatenate([[np.nan], np.random.default_rng(0).permutation(found.num)])
right.imshow(colors[labels[near]], cmap="hsv", extent=extent, interpolation="nearest")
right.set_facecolor("black")
for axes in (left, right):
    axes.axhline(1024, color="white", linestyle="--", linewidth=0.7)
    axes.axvline(1024, color="white", linestyle="--", linewidth=0.7)
left.set_title("image, and borders of blocks")
right.set_title("labels")
plt.show()
