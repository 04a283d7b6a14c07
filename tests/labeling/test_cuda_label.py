"""`label`, `binarize` and `segment` of arrays that a GPU holds, or that are moved there."""

import subprocess
import sys

import numpy as np
import pytest

from equilabel import (
    DeviceUnavailableError,
    binarize,
    label,
    segment,
    split_touching,
    track_overlaps,
)
from equilabel.devices import DeviceMemoryError
from equilabel.labeling.parts import label_in_parts
from equilabel.labeling.problem import make_problem
from equilabel.samples import blobs, movie, nuclei_2d, percolation
from references import GRID_METHODS
from strategies import DTYPES, LAYOUTS
from strategies import blobs as blocks

pytestmark = pytest.mark.gpu


def agree(cupy, image, **options):
    """Compare an array on the GPU, and one moved there, with the CPU."""
    expected, count = label(image, return_num=True, device="cpu", **options)
    labels, found = label(cupy.asarray(image), return_num=True, **options)
    assert isinstance(labels, cupy.ndarray)
    assert (labels.dtype, labels.shape, found) == (expected.dtype, image.shape, count)
    np.testing.assert_array_equal(labels.get(), expected)
    moved = label(image, device="cuda", **options)
    assert isinstance(moved, np.ndarray)
    np.testing.assert_array_equal(moved, expected)


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_is_labeled_where_it_is(cupy, method, dtype):
    for shape in [(70,), (9, 11), (4, 5, 6), (4, 5, 1), (1, 1), (0, 3), ()]:
        image = blocks(shape, "i8", 3, sides=1).astype(dtype)
        for background in (None, 1, -1):
            agree(cupy, image, background=background, method=method)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "byte-swapped"])
def test_any_memory_order_will_do(cupy, layout):
    image = percolation((33, 70), 0.5)
    on_gpu = {
        "C": lambda a: a,
        "F": cupy.asfortranarray,
        "reversed": lambda a: cupy.flip(cupy.flip(a).copy()),
        "one axis reversed": lambda a: cupy.flip(cupy.flip(a, -1).copy(), -1),
        "axes rolled": lambda a: cupy.moveaxis(cupy.moveaxis(a, 0, -1).copy(), -1, 0),
        "every other": lambda a: cupy.repeat(cupy.repeat(a, 2, 0), 2, 1)[::2, ::2],
        "inner": lambda a: cupy.pad(a, 1)[1:-1, 1:-1],
        "read-only": lambda a: a,
        "broadcast": lambda a: cupy.broadcast_to(a[:1], a.shape),
    }[layout](cupy.asarray(image))
    np.testing.assert_array_equal(label(on_gpu).get(), label(on_gpu.get()))


def test_images_of_a_stack_stay_apart(cupy):
    agree(cupy, percolation((7, 40, 50), 0.5), stacked=True, connectivity=1)


# ------------------------------------------------------------------------ out


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "u4", "i8", "u8"])
def test_labels_go_where_they_are_asked_to(cupy, dtype):
    image = blobs((60, 90), scale=9.0)
    expected = label(image)
    for out in (
        cupy.full(image.shape, 7, dtype),
        cupy.full((*image.shape, 2), 7, dtype)[..., 0],
        cupy.full(image.shape[::-1], 7, dtype).T,
    ):
        assert label(cupy.asarray(image), out=out) is out
        np.testing.assert_array_equal(out.get(), expected)
    out = np.full(image.shape, 7, dtype)
    assert label(image, device="cuda", out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["i4", "u2"])
def test_labels_may_replace_the_image(cupy, dtype):
    image = cupy.asarray(percolation((50, 301), 0.6).astype(dtype))
    expected = label(image.get())
    assert label(image, out=image) is image
    np.testing.assert_array_equal(image.get(), expected)


def test_an_out_that_cannot_hold_the_labels_is_refused(cupy):
    image = cupy.zeros((60, 60), bool)
    image[::2, ::2] = True
    with pytest.raises(ValueError, match="out must be of a type that holds 900 labels; got uint8"):
        label(image, out=cupy.empty(image.shape, np.uint8))
    with pytest.raises(ValueError, match="out must be where label_image is, on device 0; got "):
        label(image, out=np.empty(image.shape, np.int32))
    with pytest.raises(ValueError, match="out must be where label_image is, on the host; got "):
        label(image.get(), out=cupy.empty(image.shape, np.int32))
    with pytest.raises(ValueError, match="out must have the shape"):
        label(image, out=cupy.empty((3, 3), np.int32))


# -------------------------------------------------------- others' arrays, streams


def test_tensors_of_pytorch_are_labeled_where_they_are(cupy):
    torch = pytest.importorskip("torch")
    image = percolation((65, 130), 0.55)
    for kind in (torch.bool, torch.uint8, torch.int32, torch.int64):
        labels = label(torch.as_tensor(image).to("cuda", kind))
        assert isinstance(labels, cupy.ndarray)
        np.testing.assert_array_equal(labels.get(), label(image))
    turned = torch.as_tensor(image).to("cuda").T
    np.testing.assert_array_equal(label(turned).get(), label(image.T))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        large = torch.zeros(1 << 26, dtype=torch.uint8, device="cuda")
        for _ in range(20):
            large += 1  # work that the labels have to wait for
        part = (large[: image.size].reshape(image.shape) == 20) & torch.as_tensor(image).to("cuda")
        labels = label(part)
    np.testing.assert_array_equal(labels.get(), label(image))
    np.testing.assert_array_equal(label(torch.as_tensor(image)), label(image))


def test_any_array_with_the_cuda_interface_will_do(cupy):
    class Foreign:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__
            self.keep = array

    image = percolation((40, 50), 0.6)
    np.testing.assert_array_equal(label(Foreign(cupy.asarray(image))).get(), label(image))


@pytest.mark.parametrize("method", ["runs", "komura"])
def test_nothing_waits_unless_the_count_is_asked_for(cupy, spin, method):
    image = cupy.asarray(percolation((300, 500), 0.5))
    expected = label(image, method=method).get()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        label(image, method=method)
        stream.synchronize()
        spin((1,), (1,), (1_000_000_000,))
        labels = label(image, method=method)
        assert not stream.done
        stream.synchronize()
    np.testing.assert_array_equal(labels.get(), expected)


def test_work_stays_on_the_current_stream(cupy, spin):
    image = cupy.asarray(percolation((300, 500), 0.5))
    expected = label(image.get())
    with cupy.cuda.Stream(non_blocking=True) as stream:
        late = cupy.zeros_like(image)
        spin((1,), (1,), (200_000_000,))
        late[...] = image
        labels = label(late)
        stream.synchronize()
    np.testing.assert_array_equal(labels.get(), expected)


def test_a_gpu_that_failed_is_refused_in_words(cupy):
    code = """
import os, cupy
from equilabel import DeviceUnavailableError, label
image = cupy.ones((50, 60), bool)
label(image)
source = 'extern "C" __global__ void fail(int* p) { *p = 1; }'
cupy.RawKernel(source, "fail")((1,), (1,), (16,))
try:
    label(image, return_num=True)
except DeviceUnavailableError as error:
    print("refused:", error, flush=True)
os._exit(0)  # nothing can be tidied up on a GPU that failed
"""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    rule = "refused: device 'cuda' must run what it is given; got cudaError"
    assert result.stdout.startswith(rule), result.stdout + result.stderr[-2000:]
    assert "start a new process; device='cpu' works without the GPU" in result.stdout


# ---------------------------------------------------------------- other devices


def test_the_cpu_labels_what_a_gpu_holds_if_asked_to(cupy):
    image = percolation((40, 50), 0.6)
    labels, count = label(cupy.asarray(image), device="cpu", return_num=True)
    assert isinstance(labels, cupy.ndarray)
    np.testing.assert_array_equal(labels.get(), label(image))
    assert count == label(image).max()
    out = cupy.empty(image.shape, np.int16)
    assert label(cupy.asarray(image), device="cpu", out=out) is out
    np.testing.assert_array_equal(out.get(), label(image))


def test_a_gpu_that_is_not_there_is_refused(cupy):
    count = cupy.cuda.runtime.getDeviceCount()
    with pytest.raises(DeviceUnavailableError, match=f"needs {count + 1} GPUs; got {count}"):
        label(np.ones((3, 3), bool), device=f"cuda:{count}")
    with pytest.raises(ValueError, match="device must be the one that holds the image, 'cuda'"):
        label(cupy.ones((3, 3), bool), device="cuda:5")


@pytest.mark.parametrize(
    ("image", "kind", "rule"),
    [
        (lambda cupy: cupy.ones((3, 3), "c8"), TypeError, "must be of bool, an integer type, or"),
        (lambda cupy: cupy.full((3, 3), 0.5), ValueError, "must hold whole numbers; got 0.5"),
        (lambda cupy: cupy.ones((2,) * 7, bool), ValueError, "must have at most 6 axes"),
    ],
)
def test_what_the_cpu_refuses_is_refused(cupy, image, kind, rule):
    with pytest.raises(kind, match=rule):
        label(image(cupy))


def test_too_little_memory_is_said_in_numbers_and_nothing_leaks(cupy):
    pool = cupy.get_default_memory_pool()
    image = cupy.zeros((4096, 4096), bool)
    image[::2, ::2] = True
    label(image)
    pool.free_all_blocks()
    used = pool.used_bytes()
    pool.set_limit(size=used + 20 * 2**20)
    try:
        rule = r"must have 6\d MiB.*; got .* MiB free.*out="
        with pytest.raises(DeviceMemoryError, match=rule) as caught:
            label(image)
        assert isinstance(caught.value, MemoryError)
        assert pool.used_bytes() == used
        del caught
        with pytest.raises(DeviceUnavailableError, match="MiB of memory for this"):
            label(image.get(), device="cuda")
        assert pool.used_bytes() == used
    finally:
        pool.set_limit(size=0)
    assert int(label(image, return_num=True)[1]) == 2048**2


# --------------------------------------------------------------------- transfers


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "f8"])
@pytest.mark.parametrize("shape", [(), (3,), (1000, 999), (3001, 2003)])
def test_arrays_arrive_as_they_were(cupy, dtype, shape):
    from equilabel.devices.cuda.transfers import download, upload

    image = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    np.testing.assert_array_equal(upload(image).get(), image)
    np.testing.assert_array_equal(upload(image.T).get(), image.T)
    np.testing.assert_array_equal(download(cupy.asarray(image)), image)
    out = np.empty(shape, np.float64)
    assert download(cupy.asarray(image), out) is out
    np.testing.assert_array_equal(out, image)


def test_images_of_numpy_stay_on_the_host_unless_a_gpu_is_asked_for(cupy, monkeypatch):
    from equilabel.devices.cuda import transfers

    moved = []
    upload = transfers.upload
    monkeypatch.setattr(transfers, "upload", lambda a: moved.append(a.shape) or upload(a))
    rough = percolation((2048, 2048), 0.5)
    labels = label(rough)
    assert moved == []
    np.testing.assert_array_equal(label(rough, device="cuda"), labels)
    assert moved == [rough.shape]


# ---------------------------------------------------------------- gray values


def pictures():
    rng = np.random.default_rng(1)
    gray = nuclei_2d((120, 150))
    yield gray
    for dtype in ("u1", "i1", "u2", "i2", "u4", "i8"):
        limits = np.iinfo(dtype)
        scaled = gray / gray.max() * (limits.max / 4)
        yield (scaled - (limits.max // 16 if limits.min else 0)).astype(dtype)
    yield (gray / 7).astype(np.float32)
    noisy = (gray / 7).astype(np.float64)
    noisy[rng.random(noisy.shape) < 0.01] = np.nan
    noisy[3, 4] = np.inf
    yield noisy
    yield np.full((7, 9), 5, np.uint8)
    yield (rng.random((30, 40)) < 0.5)
    yield (gray / 7).astype(np.float16)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "threshold", ["otsu", "li", "triangle", "yen", "isodata", "mean", 20, -3.5, (10, 30), "local"]
)
def test_masks_and_thresholds_are_those_of_the_cpu(cupy, threshold, dark):
    options = {"block_size": 31} if threshold == "local" else {}
    for image in pictures():
        expected, level = binarize(image, threshold, dark=dark, return_threshold=True, **options)
        mask, found = binarize(
            cupy.asarray(image), threshold, dark=dark, return_threshold=True, **options
        )
        assert isinstance(mask, cupy.ndarray)
        if level is not None:
            np.testing.assert_allclose(found, level, rtol=1e-5)
        different = (mask.get() != expected).mean()
        assert different < 1e-3, (image.dtype, different)


@pytest.mark.parametrize("stacked", [False, True])
def test_smoothing_is_that_of_the_cpu(cupy, stacked):
    from equilabel.segmentation.filters import smooth

    for image in pictures():
        if image.ndim == 2 and image.dtype != np.float16:
            expected = smooth(np.stack([image] * 3), 1.5, stacked=stacked)
            found = smooth(cupy.asarray(np.stack([image] * 3)), 1.5, stacked=stacked)
            np.testing.assert_allclose(found.get(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 20, "connectivity": 1},
        {"threshold": 20, "dark": True},
        {"threshold": 20.5, "min_size": 20, "exclude_border": True},
        {"fill_holes": True, "max_size": 500},
        {"threshold": (15, 30)},
        {"sigma": 1.0, "threshold": "otsu"},
        {"method": "komura"},
        {"split": 0.4},
        {"split": 0.6, "min_size": 20, "fill_holes": True},
        {"opening": 1, "closing": 2},
        {"background": 20},
    ],
    ids=str,
)
def test_segmenting_finds_what_the_cpu_finds(cupy, options):
    for image in pictures():
        expected = segment(image, **options)
        for place in (cupy.asarray, np.asarray):
            found = segment(place(image), **{"device": "cuda"} | options)
            assert found.device == "cuda"
            labels = found.labels if isinstance(found.labels, np.ndarray) else found.labels.get()
            if options.get("sigma") or image.dtype.kind == "f":
                assert ((labels > 0) != (expected.labels > 0)).mean() < 1e-3
                continue
            np.testing.assert_array_equal(labels, expected.labels)
            assert found.num == expected.num
            for name, column in expected.table.items():
                np.testing.assert_allclose(found.table[name], column, rtol=1e-7, err_msg=name)


def test_objects_that_touch_are_split_as_on_the_cpu(cupy):
    mask = binarize(nuclei_2d((300, 320)), sigma=1)
    for options in ({}, {"spacing": (0.5, 0.31), "connectivity": 1}, {"tolerance": 2}):
        expected = split_touching(mask, **options)
        assert expected.max() > label(mask).max()
        found = split_touching(cupy.asarray(mask), **options)
        assert isinstance(found, cupy.ndarray)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.get(), expected)
    stack = np.stack([mask, mask[::-1]])
    found = split_touching(cupy.asarray(stack), stacked=True)
    np.testing.assert_array_equal(found.get(), split_touching(stack, stacked=True))


def test_overlaps_of_frames_are_counted_as_on_the_cpu(cupy):
    labels = label(binarize(movie(), threshold="li", sigma=1, stacked=True), stacked=True)
    expected = track_overlaps(labels)
    assert len(expected)
    found = track_overlaps(cupy.asarray(labels))
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4", "u8", "f4", "f8"])
@pytest.mark.parametrize("compare", [">", "<=", "<"])
def test_pixels_are_compared_while_they_are_packed(cupy, dtype, compare):
    from equilabel.domains.grid import Foreground
    from equilabel.labeling import problem_of, solve

    def label_compared(image, level, connectivity):
        foreground = Foreground(compare, level, values=False)
        found = solve(problem_of(image, foreground, connectivity))
        return found.labels.get(), int(found.count)

    rng = np.random.default_rng(0)
    low = 0 if dtype[0] == "u" else -100
    image = rng.integers(low, low + 200, (45, 333)).astype(dtype)
    if dtype[0] == "f":
        image[::7, ::5] = np.nan
    signs = {">": np.greater, "<=": np.less_equal, "<": np.less}
    for level in (low, low + 1, low + 77, low + 199):
        value = image.dtype.type(level)
        labels, count = label_compared(cupy.asarray(image), value, 1)
        expected = label(signs[compare](image, value), connectivity=1)
        np.testing.assert_array_equal(labels, expected)
        assert count == expected.max()
    shifted = cupy.asarray(image).reshape(-1)[5:-20].reshape(-1, 8)
    labels, _ = label_compared(shifted, value, None)
    np.testing.assert_array_equal(labels, label(signs[compare](shifted.get(), value)))


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_floats_that_are_whole_are_labeled_like_integers(cupy, dtype, method):
    image = np.random.default_rng(0).integers(-1, 3, (40, 300)).astype(dtype)
    image[image == 0] *= np.where(np.arange((image == 0).sum()) % 2, 1, -1)  # -0.0, too
    for background in (None, 1, -1, 7):
        found = label(cupy.asarray(image), background, method=method)
        np.testing.assert_array_equal(found.get(), label(image.astype(int), background))


def test_labels_that_another_stream_changes_write_nothing_outside_the_table(cupy):
    from equilabel.measuring.counts import Layout
    from equilabel.measuring.cuda import accumulate

    labels = cupy.ones((64, 256), np.int32)
    source = accumulate.LabelSource(labels)
    slots = source.find_slots()
    source.find_slots = lambda: slots
    labels[:] = 10**6  # what a table of two lines has no room for
    layout = Layout(axes=2, first=True, seconds=True, pairs="all")
    accumulator = accumulate.Accumulator(source, layout)
    assert accumulator.table.shape == (0, layout.width)  # they are left out
    accumulator.values(cupy.ones((labels.size, 1), np.uint8))
    accumulator.values(cupy.ones((labels.size, 1), np.float32))
    cupy.cuda.Device().synchronize()  # an access outside memory would be told here


@pytest.mark.parametrize("method", GRID_METHODS)
@pytest.mark.parametrize("dtype", ["i2", "u4", "i8"])
def test_labels_stay_inside_out_wherever_it_begins_and_whatever_its_width(cupy, dtype, method):
    step = np.dtype(dtype).itemsize
    for number, width in enumerate((1, 7, 31, 33, 64, 65, 127, 130)):
        for kind in (np.zeros, np.ones, percolation):
            image = kind((3, width), 0.5) if kind is percolation else kind((3, width), bool)
            for offset in range(number % 3 * step, 64, 5 * step):
                size = image.size * step
                memory = cupy.full(size + 4 * 64, 0xA5, np.uint8)
                begin = -memory.data.ptr % 64 + 64 + offset
                out = memory[begin : begin + size].view(dtype).reshape(image.shape)
                assert label(cupy.asarray(image), out=out, method=method) is out
                np.testing.assert_array_equal(out.get(), label(image))
                assert bool((memory[:begin] == 0xA5).all())
                assert bool((memory[begin + size :] == 0xA5).all())


@pytest.mark.parametrize("shape", [(90, 70), (40, 21, 33), (500,), (12, 5, 6, 20)], ids=str)
@pytest.mark.parametrize("values", [1, 3])
def test_labels_of_parts_are_those_of_the_whole(cupy, shape, values):
    """As of more than 2^31 pixels, which are labeled part after part."""
    image = np.random.default_rng(values).integers(0, values + 1, shape).astype(np.uint8)
    image = image.astype(bool) if values == 1 else image
    plane = image[0].size
    for planes, connectivity, stacked in ((1, 1, False), (7, len(shape), False), (5, 1, True)):
        if stacked and len(shape) == 1:
            continue
        asked = {"connectivity": connectivity, "stacked": stacked}
        expected, number = label(image, return_num=True, **asked)
        problem = make_problem(cupy.asarray(image), **asked)
        labels, count = label_in_parts(problem, planes * plane)
        np.testing.assert_array_equal(labels.get(), expected)
        assert count == number


def test_an_image_that_does_not_fit_is_refused_before_it_starts(cupy):
    huge = cupy.broadcast_to(cupy.zeros(1, np.uint8), (2**22, 2**22))
    free = cupy.get_default_memory_pool().used_bytes()
    with pytest.raises(DeviceMemoryError, match=r"must have 8[0-9],[0-9,]+ MiB of memory"):
        label(huge)
    assert cupy.get_default_memory_pool().used_bytes() == free


@pytest.mark.parametrize("connectivity", [1, 2])
def test_stacks_of_small_images_have_more_objects_than_half_of_their_pixels(cupy, connectivity):
    mask = np.indices((3, 3)).sum(axis=0) % 2 == 0  # five of nine
    stack = np.repeat(mask[None], 5000, axis=0)
    names = ["label", "area", "bbox", "frame"]
    how = {"stacked": True, "connectivity": connectivity, "properties": names}
    expected, there = label(stack, **how)[1], label(cupy.asarray(stack), **how)[1]
    assert len(expected["label"]) == (25_000 if connectivity == 1 else 5000)
    for name, column in expected.items():
        np.testing.assert_array_equal(there[name].get(), column, name)
    image = np.where(stack, 0, 9).astype(np.uint8)  # holes in the middle
    how = {"stacked": True, "fill_holes": True, "connectivity": connectivity}
    expected, found = (segment(each, 5, **how) for each in (image, cupy.asarray(image)))
    np.testing.assert_array_equal(found.labels.get(), expected.labels)
