"""Draw the picture of splitting in docs/guide.md: ``python docs/images/splitting.py``.

Above, a part of sample_data/nuclei_2d.tif; below, drawn nuclei with rough outlines that overlap
more. Left, every component is outlined as one object; right, as `split_touching` parts it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import tifffile
from skimage.segmentation import find_boundaries

from equilabel import binarize, label, split_touching

if TYPE_CHECKING:
    from numpy.typing import NDArray

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
SIDE = 230  # pixels that are shown
ENLARGED = 3


def outlined(gray: NDArray[Any], labels: NDArray[Any]) -> NDArray[Any]:
    """Draw thin outlines of objects over an image, enlarged."""
    large = np.kron(gray, np.ones((ENLARGED, ENLARGED)))
    picture = np.repeat(large[..., None], 3, axis=-1)
    edges = find_boundaries(
        np.kron(labels, np.ones((ENLARGED, ENLARGED), labels.dtype)), mode="thick"
    )
    picture[edges] = (1.0, 0.75, 0.1)
    return picture


def main() -> None:
    """Draw two rows of two pictures."""
    from split import drawn

    nuclei = tifffile.imread(ROOT / "sample_data" / "nuclei_2d.tif")
    mask = binarize(nuclei, threshold="triangle", sigma=1.5)
    gray = np.clip((nuclei - 100.0) / (np.percentile(nuclei, 99.8) - 100), 0, 1) ** 0.6
    rough, _ = drawn(1, 0.15)
    rough = np.roll(rough, -160, axis=1)
    figure, axes = plt.subplots(2, 2, figsize=(8, 8.4), layout="constrained")
    rows = ((gray, mask, "sample nuclei"), (rough * 0.45, rough, "drawn nuclei"))
    for row, (image, foreground, name) in zip(axes, rows, strict=True):
        whole, parts = label(foreground), split_touching(foreground)
        place = np.s_[120 : 120 + SIDE, 120 : 120 + SIDE]
        for panel, labels, word in ((row[0], whole, "components"), (row[1], parts, "split")):
            panel.imshow(outlined(image[place], labels[place]))
            number = len(np.unique(labels[place])) - 1
            panel.set_title(f"{name}, {word}: {number} objects", fontsize=10)
            panel.set_axis_off()
    figure.savefig(HERE / "splitting.png", dpi=100)


if __name__ == "__main__":
    main()
