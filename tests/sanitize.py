"""A small set of images for compute-sanitizer: every kernel, in shapes around the ends of tiles.

Run by ``make sanitize``; pytest does not collect it.
"""

import cupy
import numpy as np

from equilabel import METHODS, PROPERTIES, binarize, label, measure, regionprops_table, segment
from equilabel.samples import blobs, percolation
from references import GRID_METHODS

SHAPES = [(5000,), (33, 31), (70, 1025), (9, 17, 130), (3, 4, 5, 33)]


def columns(rank):
    """Name what kernels count for so many axes."""
    return [
        name
        for name, row in PROPERTIES.items()
        if row.counted and (not row.ranks or rank in row.ranks) and name != "frame"
    ]


def measure_all():
    """Measure from runs and from labels: strips, segments and their ends, all kinds of values."""
    for shape in ((70, 1100), (40, 90), (9, 17, 130)):
        mask = percolation(shape, 0.6)
        names = columns(len(shape))
        some = [name for name in names if not name.startswith(("moments", "centroid_w"))]
        for dtype in (np.uint8, np.uint16, np.float32):
            values = np.random.default_rng(0).integers(0, 200, shape).astype(dtype)
            options = {"intensity_image": cupy.asarray(values), "spacing": 0.5}
            found = measure(cupy.asarray(mask), some, **options)
            expected = measure(mask, some, intensity_image=values, spacing=0.5)
            for name, column in expected.items():
                np.testing.assert_allclose(found[name], column, rtol=1e-6, err_msg=name)
        labels = label(cupy.asarray(mask), connectivity=1)
        regionprops_table(labels, cupy.asarray(values), names)
        uneven = {"spacing": tuple(range(1, len(shape) + 1))}
        regionprops_table(labels.astype(np.int64), cupy.asarray(values), names, **uneven)
        label(cupy.asarray(mask), method="kalentev", properties=("num_pixels", "area"))
        label(cupy.asarray(mask.astype(np.uint8)), properties=("bbox", "centroid"))


def label_into_every_place():
    """Label into memory of exactly the right size, from any address: rests of rows and of words."""
    for width in (1, 7, 31, 33, 64, 65, 127, 130):
        for image in (
            np.zeros((3, width), bool),
            np.ones((3, width), bool),
            percolation((3, width), 0.5),
        ):
            for dtype in (np.int16, np.uint32, np.int64):
                step = np.dtype(dtype).itemsize
                for skipped in (0, step, 5 * step, 60 // step * step):
                    memory = cupy.empty(skipped + image.size * step, np.uint8)
                    out = memory[skipped:].view(dtype).reshape(image.shape)
                    for method in GRID_METHODS:
                        label(cupy.asarray(image), out=out, method=method)
                    np.testing.assert_array_equal(out.get(), label(image))


def main():
    """Label, count and compare; whatever is wrong with memory is for the tool to say."""
    cupy.cuda.set_allocator(None)  # every array is an allocation of its own, whose end is seen
    label_into_every_place()
    measure_all()
    for shape in SHAPES:
        mask = percolation(shape, 0.5)
        values = np.random.default_rng(0).integers(0, 3, shape).astype(np.int16)
        for connectivity in (1, len(shape)):
            for method in GRID_METHODS:
                if len(shape) not in METHODS[method].ranks:
                    continue
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
