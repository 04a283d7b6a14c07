"""A small set of images for compute-sanitizer: every kernel, in shapes around the ends of tiles.

Run by ``make sanitize``; pytest does not collect it.
"""

import cupy
import numpy as np

from equilabel import binarize, label, segment
from equilabel.samples import blobs, percolation

SHAPES = [(5000,), (33, 31), (70, 1025), (9, 17, 130), (3, 4, 5, 33)]


def main():
    """Label, count and compare; whatever is wrong with memory is for the tool to say."""
    for shape in SHAPES:
        mask = percolation(shape, 0.5)
        values = np.random.default_rng(0).integers(0, 3, shape).astype(np.int16)
        for connectivity in (1, len(shape)):
            for method in ("runs", "kalentev", "komura"):
                for image in (mask, values):
                    found = label(cupy.asarray(image), connectivity=connectivity, method=method)
                    expected = label(image, connectivity=connectivity)
                    np.testing.assert_array_equal(found.get(), expected)
    label(cupy.asarray(percolation((4, 40, 50), 0.5)), stacked=True)
    gray = cupy.asarray((blobs((60, 90), scale=9.0) * 90 + 20).astype(np.uint8))
    for dtype in (np.uint8, np.uint16, np.float32):
        binarize(gray.astype(dtype), "otsu")
        segment(gray.astype(dtype), threshold=50)
    print("ok")


if __name__ == "__main__":
    main()
