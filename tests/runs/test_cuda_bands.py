"""Small images on the GPU: one launch, and what is remembered of it from call to call."""

from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import numpy as np
import pytest

from equilabel import binarize, label, regionprops_table, segment
from equilabel.labeling import remembered as memory
from equilabel.samples import blobs, percolation, spiral
from resets import check_reset

pytestmark = pytest.mark.gpu
SHAPES = [
    (5000,),
    (7, 2),
    (64, 64),
    (70, 129),
    (256, 256),
    (19, 2049),
    (512, 512),
    (1000, 1040),
    (1, 60, 70),
    (13, 20, 100),
    (9, 17, 385),
    (3, 5, 9, 40),
    (2, 2, 3, 2, 3, 20),
]


@pytest.fixture(autouse=True)
def forgotten():
    memory.forget()


def remembered():
    """Count the kinds of images of GPUs that this thread remembers."""
    known = memory._memory.labelers
    return sum(isinstance(key[0], type) for key, labeler in known.items() if labeler is not None)


def agree(cupy, image, **options):
    """Compare the first call, which checks, and the next, which remembers, with the CPU."""
    pixels = cupy.asarray(image)
    expected, count = label(image, return_num=True, **options)
    for _ in range(2):
        labels, found = label(pixels, return_num=True, **options)
        assert (labels.dtype, labels.shape, found) == (expected.dtype, image.shape, count)
        np.testing.assert_array_equal(labels.get(), expected)
    np.testing.assert_array_equal(label(pixels, **options).get(), expected)
    for _ in range(2):
        out = cupy.full(image.shape, -1, expected.dtype)
        assert label(pixels, out=out, **options) is out
        np.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["?", "u1", "i4"])
def test_labels_are_those_of_the_cpu(cupy, shape, dtype):
    rng = np.random.default_rng(0)
    for p in (0.0, 0.3, 0.5, 1.0):
        image = percolation(shape, p) if dtype == "?" else rng.integers(0, 1 + 3 * p, shape)
        for connectivity in range(1, len(shape) + 1):
            agree(cupy, image.astype(dtype), connectivity=connectivity)
    agree(cupy, image.astype(dtype), stacked=len(shape) > 1, background=1)


@pytest.mark.parametrize("side", [64, 300, 1000, 2000])
def test_long_components_take_the_same_labels_every_time(cupy, side):
    for image in (spiral(side), blobs((side, side)), percolation((side, side), 0.593)):
        pixels, expected = cupy.asarray(image), label(image)
        for _ in range(20):
            assert (label(pixels).get() == expected).all()
    assert remembered() == 1


def comb(shape):
    """Set every second column, and the last row."""
    image = np.zeros(shape, bool)
    image[:, ::2] = image[-1] = True
    return image


@pytest.mark.parametrize(
    "cut",
    [
        (32, 1, 132),
        (64, 1, 132),
        (96, 1, 132),
        (256, 1, 8),
        (1024, 1, 132),
        (96, 2, 132),
        (64, 4, 132),
        (256, 4, 132),
    ],
    ids=str,
)
def test_bands_of_any_size_meet(cupy, monkeypatch, cut):
    from equilabel.runs.cuda import bands

    monkeypatch.setattr(bands, "CUTS", (cut,))
    bands.prepare_bands.cache_clear()
    seen = 0
    for shape in (
        (1, 7),
        (33, 31),
        (64, 64),
        (70, 129),
        (211, 90),
        (150, 250),
        (60, 512),
        (1000, 1030),
    ):
        seen += bands.cut(shape, 132, 2**17) is not None
        y, x = np.ogrid[: shape[0], : shape[1]]
        for image in (
            percolation(shape, 0.41),
            percolation(shape, 0.6),
            comb(shape),
            comb(shape[::-1]).T.copy(),
            (x + y) % 2 == 1,
            (x - y) % 8 < 3,
            spiral(max(shape))[: shape[0], : shape[1]].copy(),
            np.ones(shape, bool),
        ):
            for connectivity in (1, 2):
                agree(cupy, image, connectivity=connectivity)
    assert seen >= 2
    bands.prepare_bands.cache_clear()


@pytest.mark.parametrize(
    "shape",
    [
        (1024, 1024),
        (1000, 1023),
        (1500, 1501),
        (2048, 2048),
        (1000, 4000),
        (20, 40, 50),
        (64, 64, 64),
    ],
    ids=str,
)
def test_one_value_in_two_or_three_axes_takes_bands(cupy, shape):
    side = max(shape)
    images = [percolation(shape, p) for p in (0.2, 0.3, 0.5)] + [blobs(shape), np.ones(shape, bool)]
    if len(shape) == 2:
        images += [comb(shape), spiral(side)[: shape[0], : shape[1]].copy()]
    for image in images:
        for connectivity in range(1, len(shape) + 1):
            agree(cupy, image, connectivity=connectivity)
    assert remembered() == len(shape)


def test_what_is_compared_with_a_level_takes_one_launch_too(cupy):
    gray = np.random.default_rng(0).integers(0, 255, (200, 300)).astype(np.uint8)
    for dtype in ("u1", "i2", "f4"):
        image = gray.astype(dtype)
        found = binarize(cupy.asarray(image), 100)
        np.testing.assert_array_equal(label(found).get(), label(binarize(image, 100)))


REFUSED = [
    ({"connectivity": 1.0}, TypeError, "connectivity must be a whole number"),
    ({"connectivity": 3}, ValueError, "connectivity must be 1 to 2"),
    ({"connectivity": 0}, ValueError, "connectivity must be 1 to 2"),
    ({"background": 0.5}, TypeError, "background must be a whole number"),
    ({"background": [0]}, TypeError, "background must be a whole number"),
    ({"background": float("nan")}, TypeError, "background must be a whole number"),
    ({"method": "run"}, ValueError, "method"),
    ({"device": "cuda:77"}, ValueError, "device must be the one that holds the image"),
    ({"out": np.empty((40, 50), np.int32)}, ValueError, "out must be where label_image is"),
    ({"periodic": (True,)}, ValueError, "periodic"),
    ({"properties": ["aera"]}, ValueError, "area"),
    ({"speed": 3}, TypeError, "speed"),
]


@pytest.mark.parametrize(
    ("options", "kind", "rule"),
    REFUSED,
    ids=[f"{k}-{next(iter(r[0]))}" for k, r in enumerate(REFUSED)],
)
@pytest.mark.parametrize("seen", [False, True], ids=["checked", "remembered"])
def test_what_is_refused_is_refused_after_a_like_image_was_labeled(cupy, options, kind, rule, seen):
    image = cupy.asarray(percolation((40, 50), 0.5))
    if seen:
        for connectivity in (None, 1):
            for background in (None, 0):
                label(image, background, connectivity=connectivity)
        assert remembered() == 4
    with pytest.raises(kind, match=rule):
        label(image, **options)


@pytest.mark.parametrize("seen", [False, True], ids=["checked", "remembered"])
def test_values_are_looked_at_where_they_decide(cupy, seen):
    whole = cupy.asarray(np.arange(2000.0).reshape(40, 50) // 7)
    if seen:
        label(whole)
        label(whole.astype(np.int64))
    whole[3, 3] = 0.5
    with pytest.raises(ValueError, match="must hold whole numbers; got"):
        label(whole)


def test_arguments_that_are_equal_to_others_mean_what_they_mean_by_themselves(cupy):
    image = np.random.default_rng(0).integers(0, 3, (40, 50)).astype(np.uint8)
    pixels = cupy.asarray(image)
    for options in (
        {"background": 1},
        {"background": True},
        {"background": 1.0},
        {"background": np.int64(1)},
        {"stacked": 1},
        {"connectivity": True},
        {"connectivity": np.int8(1)},
        {"background": 0},
        {},
    ):
        for _ in range(2):
            np.testing.assert_array_equal(label(pixels, **options).get(), label(image, **options))


def test_arrays_of_one_shape_may_lie_in_any_way(cupy):
    image = percolation((64, 64), 0.6)
    room = cupy.zeros((70, 80), bool)
    label(cupy.asarray(image))
    for view in (room[3:67, 5:69], room.ravel()[7 : 7 + 4096].reshape(64, 64), room[:64, :64].T):
        view[...] = cupy.asarray(image)
        for _ in range(2):
            np.testing.assert_array_equal(label(view).get(), label(image))


def test_an_array_may_be_freed_and_another_lie_there(cupy):
    pool = cupy.get_default_memory_pool()
    for turn in range(20):
        image = percolation((64, 96) if turn % 2 else (96, 64), 0.5, seed=turn)
        image = image.astype(("?", "u1", "i1")[turn % 3])
        pixels = cupy.asarray(image)
        np.testing.assert_array_equal(label(pixels).get(), label(image))
        del pixels
        if turn % 5 == 4:
            pool.free_all_blocks()


def test_streams_do_not_wait_for_each_other_nor_share_tables(cupy, spin):
    images = [percolation((300, 500), 0.5, seed=seed) for seed in range(6)]
    expected = [label(image) for image in images]
    pixels = [cupy.asarray(image) for image in images]
    label(pixels[0])
    cupy.cuda.Device().synchronize()
    for _ in range(3):
        streams = [cupy.cuda.Stream(non_blocking=True) for _ in images]
        labels = []
        for stream, image in zip(streams, pixels, strict=True):
            with stream:
                spin((1,), (1,), (20_000_000,))
                labels += [label(image) for _ in range(3)]
                assert not stream.done
        del streams, stream  # a new one may have the address of one that is gone
        cupy.cuda.Device().synchronize()
        for k, found in enumerate(labels):
            np.testing.assert_array_equal(found.get(), expected[k // 3])


def test_threads_remember_for_themselves(cupy):
    images = [percolation((200, 300), 0.5, seed=seed) for seed in range(8)]
    expected = [label(image) for image in images]
    pixels = [cupy.asarray(image) for image in images]

    def work(k):
        return [label(pixels[k], return_num=True) for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        for k, found in enumerate(pool.map(work, range(8))):
            for labels, count in found:
                assert count == expected[k].max()
                np.testing.assert_array_equal(labels.get(), expected[k])


def test_the_first_call_of_a_thread_needs_no_call_of_the_runtime(cupy):
    """All its memory comes from the pool of CuPy, so nothing else gives the thread a context."""
    image = percolation((200, 300), 0.5)
    expected, pixels = label(image), cupy.asarray(image)
    calls = [
        lambda: label(pixels),
        lambda: label(pixels, periodic=True),
        lambda: label(pixels, method="komura"),
        lambda: cupy.asarray(segment(pixels, threshold=0.5, sigma=1).labels),
        lambda: cupy.asarray(regionprops_table(labels, properties=["label", "area"])["area"]),
    ]
    labels = label(pixels)
    for call in calls:
        kept = [call() for _ in range(3)]
        one = kept[0].get()
        del kept
        found = []
        thread = Thread(target=lambda call=call, found=found: found.append(call()))
        thread.start()
        thread.join()
        assert len(found) == 1
        np.testing.assert_array_equal(found[0].get(), one)
    np.testing.assert_array_equal(labels.get(), expected)


def test_every_device_has_its_own(cupy):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one CUDA device")
    image = percolation((200, 300), 0.5)
    for _ in range(2):
        for index in (0, 1):
            with cupy.cuda.Device(index):
                pixels = cupy.asarray(image)
                for _ in range(2):
                    labels = label(pixels)
                    assert labels.device.id == index
                    np.testing.assert_array_equal(labels.get(), label(image))
        np.testing.assert_array_equal(label(pixels).get(), label(image))  # not the current one


def test_a_device_that_was_reset_is_refused_in_words_or_labels(cupy):
    check_reset("label, labels, cupy.asarray(image)")
