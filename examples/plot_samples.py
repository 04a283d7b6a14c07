"""
Sample images
=============

What `equilabel.samples` makes: images of a microscope, and masks for trials and benchmarks.
"""

# %%
# All are made from a seed, in any size; of volumes and movies one plane or frame is shown.

import matplotlib.pyplot as plt

from equilabel import samples

images = {
    "nuclei_2d": samples.nuclei_2d((256, 256)),
    "nuclei_3d, plane 16": samples.nuclei_3d()[16],
    "movie, frame 8": samples.movie()[8],
    "porous_medium, plane 0": samples.porous_medium()[0],
    "nuclei_mask": samples.nuclei_mask((256, 256)),
    "blobs": samples.blobs((256, 256)),
    "voronoi": samples.voronoi((256, 256)),
    "percolation": samples.percolation((64, 64), 0.5),
    "spiral": samples.spiral(63),
    "hilbert": samples.hilbert(5),
}
figure, panels = plt.subplots(2, 5, figsize=(12, 5), layout="constrained")
for axes, (name, image) in zip(panels.flat, images.items(), strict=True):
    axes.imshow(image, cmap="turbo" if name == "voronoi" else "gray", interpolation="nearest")
    axes.set_title(name, fontsize=9)
    axes.set_axis_off()
plt.show()
