"""The method `runs` on the GPU: the numbers of the CPU, for every shape, type and connectivity."""

import numpy as np
import pytest

from equilabel import label
from equilabel.papers import load_passes, load_recipe
from equilabel.samples import blobs, hilbert, percolation, spiral, voronoi
from references import grid_of

SHAPES = [
    (1,),
    (5000,),
    (7, 1),
    (33, 31),
    (70, 129),
    (50, 300),
    (40, 1025),
    (19, 2049),
    (9, 17, 385),
    (13, 20, 100),
    (3, 5, 9, 40),
    (2, 3, 2, 4, 33),
    (2, 2, 3, 2, 3, 20),
]


def label_runs(pixels, background, connectivity, stacked, out, **options):
    """Go through the passes on the device, and return the number of labels, which is there too."""
    kernels = load_passes("runs", "cuda")
    grid = grid_of(pixels, background, connectivity, stacked=stacked, **options)
    table = load_recipe("runs")(kernels, grid, room=out)
    count = kernels.number(table)
    kernels.paint(table, out, blank=False)
    return count


def on_device(cupy, image, connectivity, stacked=False, background=0, dtype=np.int32, **options):
    """Label on the GPU; what is not written stays -7."""
    out = cupy.full(image.size, -7, dtype)
    pixels = cupy.asarray(np.ascontiguousarray(image))
    count = label_runs(pixels, background, connectivity, stacked, out, **options)
    return out.get().reshape(image.shape), int(count)


def agree(cupy, image, connectivity, stacked=False, background=0, **options):
    """Compare with the CPU, number by number."""
    labels, count = on_device(cupy, image, connectivity, stacked, background, **options)
    expected = label(
        image,
        background=background,
        connectivity=connectivity,
        stacked=stacked,
        device="cpu",
        return_num=True,
    )
    np.testing.assert_array_equal(labels, expected[0])
    assert count == expected[1]


def comb(shape):
    """Draw every second column; the last row joins them."""
    image = np.zeros(shape, bool)
    image[..., ::2] = True
    image[..., -1, :] = True
    return image


def connectivities(shape, stacked=False):
    return range(1, len(shape) - stacked + 1)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_masks_are_numbered_as_on_the_cpu(cupy, shape, p):
    image = percolation(shape, p, seed=len(shape))
    for connectivity in connectivities(shape):
        agree(cupy, image, connectivity)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[-1] > 1], ids=str)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.int64])
def test_equal_values_join(cupy, shape, dtype):
    image = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    for connectivity in connectivities(shape):
        agree(cupy, image, connectivity)
        agree(cupy, np.repeat(image, 2, axis=-1), connectivity, background=1)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) > 1], ids=str)
@pytest.mark.parametrize("dtype", [np.bool_, np.int32])
def test_images_of_a_stack_stay_apart(cupy, shape, dtype):
    image = percolation(shape, 0.5).astype(dtype)
    for connectivity in connectivities(shape, stacked=True):
        agree(cupy, image, connectivity, stacked=True)


@pytest.mark.gpu
def test_all_values_but_background_count_as_one_where_binary(cupy):
    image = np.random.default_rng(0).integers(-1, 3, (60, 700)).astype(np.int16)
    labels, _ = on_device(cupy, image, 2, background=-1, values=False)
    np.testing.assert_array_equal(labels, label(image != -1))


@pytest.mark.gpu
def test_there_need_be_no_background(cupy):
    image = np.random.default_rng(0).integers(0, 2, (60, 700)).astype(np.uint8)
    labels, _ = on_device(cupy, image, 1, background=None)
    np.testing.assert_array_equal(labels, label(image, background=7, connectivity=1))


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(60, 700), (40, 1024)], ids=str)
def test_without_background_all_is_one_where_binary(cupy, shape):
    image = np.random.default_rng(0).integers(0, 2, shape).astype(np.uint8)
    labels, count = on_device(cupy, image, 1, background=None, values=False)
    assert count == 1
    assert (labels == 1).all()


@pytest.mark.gpu
@pytest.mark.parametrize(
    "image",
    [
        pytest.param(lambda: spiral(601), id="spiral"),
        pytest.param(lambda: hilbert(9), id="hilbert"),
        pytest.param(lambda: blobs((300, 2100)), id="blobs"),
        pytest.param(lambda: blobs((40, 60, 300), scale=3.0), id="blobs in 3D"),
        pytest.param(lambda: voronoi((300, 1100), 400), id="voronoi"),
        pytest.param(lambda: comb((200, 1100)), id="comb"),
        pytest.param(lambda: comb((9, 40, 300)), id="comb in 3D"),
        pytest.param(lambda: ~np.indices((60, 1100)).sum(0) % 2 == 0, id="checkerboard"),
        pytest.param(lambda: np.tile(np.arange(1024) % 2 + 1, (300, 1)), id="stripes"),
    ],
)
def test_long_ways_and_smooth_shapes_are_numbered_as_on_the_cpu(cupy, image):
    image = image()
    for connectivity in connectivities(image.shape):
        agree(cupy, image, connectivity)
        labels, _ = on_device(cupy, image, connectivity, dtype=np.int64)
        np.testing.assert_array_equal(labels, label(image, connectivity=connectivity))


@pytest.mark.gpu
@pytest.mark.parametrize("shift", [1, 3, 15])
def test_pixels_and_labels_may_begin_anywhere(cupy, shift):
    image = percolation((41, 1203), 0.5)
    pixels = cupy.zeros(image.size + shift, bool)[shift:].reshape(image.shape)
    pixels[...] = cupy.asarray(image)
    out = cupy.full(image.size + shift, -7, np.int32)
    label_runs(pixels, 0, 2, False, out[shift:])
    np.testing.assert_array_equal(out[shift:].get().reshape(image.shape), label(image))
    assert (out[:shift] == -7).all()


@pytest.mark.gpu
def test_labels_are_the_same_run_after_run(cupy):
    image = percolation((700, 1500), 0.593)
    first, _ = on_device(cupy, image, 1)
    for _ in range(20):
        np.testing.assert_array_equal(on_device(cupy, image, 1)[0], first)


@pytest.mark.gpu
def test_memory_goes_back_to_the_pool(cupy):
    image = percolation((300, 400), 0.5)
    on_device(cupy, image, 2)
    used = cupy.get_default_memory_pool().used_bytes()
    on_device(cupy, image, 2)
    assert cupy.get_default_memory_pool().used_bytes() == used


@pytest.mark.gpu
@pytest.mark.slow
def test_more_than_2_to_the_31_elements_are_right(cupy):
    if cupy.cuda.Device().mem_info[0] < 50 * 2**30:
        pytest.skip("needs 50 GiB of device memory")
    size = 50_000
    image = cupy.zeros((size, size), bool)
    image[::2, ::2] = True  # every pixel alone
    image[-1] = True  # but for those that the last row joins
    out = cupy.empty(image.size, np.int32)
    count = int(label_runs(image, 0, 1, False, out))
    labels = out.reshape(image.shape)
    assert count == (size // 2 - 1) * (size // 2) + 1
    expected = cupy.arange(1, count, dtype=np.int32).reshape(-1, size // 2)
    assert (labels[:-2:2, ::2] == expected).all()
    assert (labels[-2, ::2] == count).all()
    assert (labels[-1] == count).all()
    assert not labels[1:-1:2].any()
    assert not labels[:-1:2, 1::2].any()
