"""A small set of images for compute-sanitizer: every kernel, in shapes around the ends of tiles.

Run by ``make sanitize``; pytest does not collect it.
"""

from itertools import product

import cupy
import cupyx
import numpy as np

from equilabel import (
    METHODS,
    PROPERTIES,
    Bonds,
    Graph,
    PottsSimulation,
    binarize,
    label,
    label_chunked,
    label_graph,
    measure_components,
    regionprops_table,
    segment,
)
from equilabel.devices.cuda import blocks as block_labels
from equilabel.domains import lattices
from equilabel.labeling import remembered as known
from equilabel.labeling.parts import label_in_parts
from equilabel.labeling.problem import make_problem
from equilabel.papers import load_passes, load_recipe
from equilabel.runs.cuda import bands
from equilabel.samples import blobs, percolation
from graphs import GRAPHS
from references import ANSWERS, GRID_METHODS, grid_of

SMALL = (33, 31)
SHAPES = [(5000,), SMALL, (70, 1025), (9, 17, 130), (3, 4, 5, 33)]


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
        some = [name for name in some if PROPERTIES[name].periodic]
        for dtype in (np.uint8, np.uint16, np.float32):
            values = np.random.default_rng(0).integers(0, 200, shape).astype(dtype)
            options = {"intensity_image": cupy.asarray(values), "spacing": 0.5}
            expected = measure_components(mask, some, intensity_image=values, spacing=0.5)
            for place in ("host", "device"):
                found = measure_components(cupy.asarray(mask), some, **options, columns=place)
                for name, column in expected.items():
                    np.testing.assert_allclose(
                        cupy.asnumpy(found[name]), column, rtol=1e-6, atol=1e-6, err_msg=name
                    )
        labels = label(cupy.asarray(mask), connectivity=1)
        regionprops_table(labels, cupy.asarray(values), names)
        uneven = {"spacing": tuple(range(1, len(shape) + 1))}
        regionprops_table(labels.astype(np.int64), cupy.asarray(values), names, **uneven)
        label(cupy.asarray(mask), method="kalentev", properties=("num_pixels", "area"))
        label(cupy.asarray(mask.astype(np.uint8)), properties=("bbox", "centroid"))
    for shape in ((70, 1100), (70, 1023), (9, 30, 132)):  # four labels at once, or one by one
        labels = label(percolation(shape, 0.6)) % 100
        values = cupy.asarray(np.random.default_rng(0).integers(0, 200, shape).astype(np.uint8))
        for dtype in (np.uint8, np.int16, np.int32, np.int64):
            moved = cupy.asarray(labels.astype(dtype))
            for names in (("label", "area"), ("label", "bbox", "centroid", "inertia_tensor")):
                expected = regionprops_table(labels, properties=names)
                for _ in range(2):  # prepared, and from memory that was left clean
                    found = regionprops_table(moved, properties=names)
                    for name, column in expected.items():
                        np.testing.assert_allclose(found[name].get(), column, err_msg=name)
            for _ in range(2):
                regionprops_table(moved, values, ("area", "euler_number", "intensity_std"))
    few = cupy.arange(70_000, dtype=np.int32).reshape(70, 1000)  # more labels than are expected
    for place in ("host", "device"):
        found = regionprops_table(few, properties=("label", "bbox"), columns=place)
        assert int(found["bbox-3"][-1]) == 1000
    label(few % 999, properties=("label", "bbox"))


def label_few_runs():
    """Label tiles of few runs and of many, one launch for each pass."""
    for shape in ((70, 1100), (40, 90), (5000,), (9, 17, 385)):
        for image in (percolation(shape, 0.03), np.ones(shape, bool), percolation(shape, 0.97)):
            for connectivity in (1, len(shape)):
                grid = grid_of(cupy.asarray(image), 0, connectivity, stacked=False)
                found = cupy.empty(image.size, np.int32)
                table = load_recipe("runs")(load_passes("runs", "cuda"), grid, room=found)
                load_passes("runs", "cuda").number(table)
                load_passes("runs", "cuda").paint(table, found, blank=False)
                expected = label(image, connectivity=connectivity)
                np.testing.assert_array_equal(found.get().reshape(shape), expected)


def label_in_parts_of_all_sizes():
    """Join labels of parts, from any address."""
    for shape in ((50, 33), (20, 9, 17)):
        image = percolation(shape, 0.5)
        for planes in (1, 7):
            problem = make_problem(cupy.asarray(image))
            found, _ = label_in_parts(problem, planes * image[0].size)
            np.testing.assert_array_equal(found.get(), label(image))


def label_blocks():
    """Label blocks that stay on the device, of few labels and of many, by 32 and by 64 bits."""
    for shape in ((70, 1025), (9, 17, 130)):
        image = percolation(shape, 0.5).astype(np.uint8)
        sides = [side // 2 for side in shape]
        pinned = cupyx.empty_pinned(shape, np.uint8)
        pinned[...] = image
        for pixels, out in ((image, None), (pinned, cupyx.empty_pinned(shape, np.int32))):
            asked = {"chunks": sides, "device": "cuda", "scheduler": "synchronous", "out": out}
            np.testing.assert_array_equal(label_chunked(pixels, **asked), label(image))
    for size in (1, 4098, 70_001):
        for dtype in (np.int32, np.int64):
            labels = cupy.arange(1, size + 1, dtype=dtype)
            firsts = block_labels.list_firsts(labels, size)
            np.testing.assert_array_equal(firsts.get(), np.arange(size))
            numbers = cupy.arange(size, -1, -1, dtype=dtype)
            for small in {dtype, np.uint16} if size < 2**16 else {dtype}:
                moved = block_labels.renumber_block(labels.astype(small), numbers)
                np.testing.assert_array_equal(moved.get(), np.arange(size)[::-1])


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
                    for method in ANSWERS:
                        label(cupy.asarray(image), out=out, method=method)
                    np.testing.assert_array_equal(out.get(), label(image))


def label_in_bands():
    """Label masks in one launch: one band, and several, in both ranks.

    Then by threads that have several chunks, as in large images; the last bands are single rows.
    """
    shapes = [(60, 60), (100, 130), (300, 400), (200, 997), (20, 17, 66), (12, 40, 90)]
    usual = bands.CUTS
    for cuts, some in (
        (usual, 6),
        (((64, 2, 132),), 2),
        (((64, 4, 132),), 4),
        (((64, 1, 132),), 2),
    ):
        bands.CUTS = cuts
        bands.prepare_bands.cache_clear()
        known.forget()
        for shape, share in product([*shapes[:some], (30, 512)], (0.3, 0.6)):
            mask = percolation(shape, share)
            for connectivity in range(1, len(shape) + 1):
                found = label(cupy.asarray(mask), connectivity=connectivity)
                expected = label(mask, connectivity=connectivity)
                np.testing.assert_array_equal(found.get(), expected)
    bands.CUTS = usual
    bands.prepare_bands.cache_clear()


def label_lattices_and_graphs():
    """Label bonds of both kinds of boundaries, graphs of few and of many neighbors, and spins."""
    for shape in ((37, 70), (7, 9, 40)):
        make = lattices.square if len(shape) == 2 else lattices.cubic
        for periodic in (False, True):
            bonds = make(shape, periodic=periodic, open_probability=0.4, seed=1)
            held = Bonds(cupy.asarray(bonds.open), bonds.steps, bonds.periodic)
            for name, row in METHODS.items():
                if "bonds" in row.domains:
                    found = label_graph(held, method=name)
                    np.testing.assert_array_equal(found.get(), label_graph(bonds))
    for kind in ("hubs", "star, hub last", "random, 1000 edges"):
        graph = GRAPHS[kind]
        held = Graph(cupy.asarray(graph.offsets), cupy.asarray(graph.neighbors))
        for name, row in METHODS.items():
            if "graph" in row.domains:
                found = label_graph(held, method=name)
                np.testing.assert_array_equal(found.get(), label_graph(graph))
    for update in ("swendsen_wang", "few_clusters"):
        chain = PottsSimulation((33, 70), 3, beta=1.0, seed=1, device="cuda", update=update)
        list(chain.measure(3))


def segment_again():
    """Segment images stage after stage, then by what was prepared; and split their objects."""
    names = ("label", "area", "bbox", "touches_border")
    for shape, dtype in (((70, 1100), np.uint16), ((9, 17, 130), np.uint8), ((90, 33), np.float64)):
        image = cupy.asarray((blobs(shape, scale=4.0) * 90 + 20).astype(dtype))
        for way in ({"fill_holes": True, "min_size": 5}, {"exclude_border": True, "threshold": 60}):
            options = {"sigma": 1.5, "properties": names, **way}
            first, again = (segment(image, **options) for _ in range(2))
            cupy.testing.assert_array_equal(first.labels, again.labels)
            assert first.table.equals(again.table)
        for spacing in (1.0, tuple(range(1, 1 + len(shape)))):
            segment(image, sigma=1.5, split=0.3, spacing=spacing)


def main():
    """Label, count and compare; whatever is wrong with memory is for the tool to say."""
    cupy.cuda.set_allocator(None)  # every array is an allocation of its own, whose end is seen
    segment_again()
    label_few_runs()
    label_into_every_place()
    measure_all()
    label_in_parts_of_all_sizes()
    label_blocks()
    for shape in SHAPES:
        mask = percolation(shape, 0.5)
        values = np.random.default_rng(0).integers(0, 3, shape).astype(np.int16)
        for connectivity in (1, len(shape)):
            for method in GRID_METHODS:
                row = METHODS[method]
                if len(shape) not in row.ranks or (row.propagates and shape != SMALL):
                    continue
                for image in (mask, values):
                    found = label(cupy.asarray(image), connectivity=connectivity, method=method)
                    expected = label(image, connectivity=connectivity)
                    np.testing.assert_array_equal(found.get(), expected)
            for method in ANSWERS:
                asked = {"connectivity": connectivity, "method": method, "periodic": True}
                found = label(cupy.asarray(values), **asked)
                np.testing.assert_array_equal(found.get(), label(values, **asked))
    label_in_bands()
    label_lattices_and_graphs()
    label(cupy.asarray(percolation((4, 40, 50), 0.5)), stacked=True)
    gray = cupy.asarray((blobs((60, 90), scale=9.0) * 90 + 20).astype(np.uint8))
    for dtype in (np.uint8, np.uint16, np.float32):
        binarize(gray.astype(dtype), "otsu")
        segment(gray.astype(dtype), threshold=50)
    print("ok")


if __name__ == "__main__":
    main()
