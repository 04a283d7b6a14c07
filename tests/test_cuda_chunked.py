"""Blocks on GPUs: labels and tables of the whole image, as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytest.importorskip("zarr")
pytest.importorskip("dask")

from equilabel import label, label_chunked, segment, segment_chunked  # noqa: E402
from equilabel.chunked import held, zarr_source  # noqa: E402
from equilabel.devices import (  # noqa: E402
    fetch,
    fetch_block,
    fetch_together,
    own_gpu,
    send_block,
    set_worker,
)
from equilabel.kernels.cuda import block_labels  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="CUDA kernels need a CUDA device"),
]
GPUS = cupy.cuda.runtime.getDeviceCount() if cupy.cuda.is_available() else 0


def images():
    rng = np.random.default_rng(3)
    yield rng.random((60, 70, 80)) < 0.3, {}
    yield rng.random((60, 70, 80)) < 0.3, {"connectivity": 1, "periodic": (True, False, True)}
    yield rng.integers(0, 3, (90, 200)).astype(np.uint8), {"background": 1}
    yield rng.random((5, 60, 90)) < 0.5, {"stacked": True}
    yield rng.random((40, 30, 1)) < 0.5, {}
    yield rng.integers(0, 3, (40, 30, 1)), {}


@pytest.mark.parametrize("scheduler", ["threads", "synchronous", "processes"])
def test_blocks_of_a_gpu_are_those_of_the_whole_image(scheduler, tmp_path):
    import zarr

    for number, (image, options) in enumerate(images()):
        expected, count = label(image, return_num=True, **options)
        chunks = [max(1, side // 2) for side in image.shape]
        options |= {"chunks": chunks, "scheduler": scheduler, "workers": 3, "return_num": True}
        stored = zarr.create_array(
            tmp_path / f"{number}.zarr", shape=image.shape, dtype=image.dtype
        )
        stored[...] = image
        out = tmp_path / f"{number}-labels.zarr"
        for found, num in (
            label_chunked(image, device="cuda", **options),
            label_chunked(stored, out=out, device="cuda", **options),
        ):
            np.testing.assert_array_equal(found[...], expected)
            assert num == count


def test_segmenting_blocks_on_a_gpu_measures_what_the_cpu_measures(tmp_path):
    import zarr

    rng = np.random.default_rng(5)
    image = np.add.reduce([np.roll(rng.random((80, 90)), k, 0) for k in range(4)])
    pixels = (60 * image).astype(np.uint8)
    stored = zarr.create_array(tmp_path / "image.zarr", shape=pixels.shape, dtype=pixels.dtype)
    stored[...] = pixels
    options = {"threshold": 130, "min_size": 3, "properties": ("label", "area", "mean_intensity")}
    expected = segment(pixels, **options)
    found = segment_chunked(
        stored, out=tmp_path / "labels.zarr", chunks=40, device="cuda", **options
    )
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    for name, column in expected.table.items():
        np.testing.assert_allclose(found.table[name], column, rtol=1e-12)


def test_workers_share_the_gpus():
    used = []
    for number in range(2 * GPUS):
        set_worker(number)
        with own_gpu("cuda"):
            used.append(cupy.cuda.runtime.getDevice())
            assert cupy.cuda.get_current_stream().ptr
        with own_gpu(f"cuda:{GPUS - 1}"):
            assert cupy.cuda.runtime.getDevice() == GPUS - 1
    set_worker(0)
    assert used == 2 * list(range(GPUS))
    assert cupy.cuda.runtime.getDevice() == 0


def store(path, image):
    import zarr

    stored = zarr.create_array(
        path, shape=image.shape, chunks=(32,) * image.ndim, dtype=image.dtype
    )
    stored[...] = image
    return stored


@pytest.mark.parametrize("room", [0, 250_000, 10**9], ids=["none", "some", "all"])
def test_blocks_stay_on_gpus_as_far_as_there_is_room(room, tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    image = rng.integers(0, 3, (96, 96, 96)).astype(np.uint8)
    stored = store(tmp_path / "image.zarr", image)
    reads = []
    read_part = zarr_source.read_part
    monkeypatch.setattr(
        zarr_source, "read_part", lambda array, part: reads.append(part) or read_part(array, part)
    )
    each = held.AT_WORK * 32**3
    monkeypatch.setattr(held, "room_on_gpus", lambda _: dict.fromkeys(range(GPUS), each + room))
    options = {"chunks": 32, "connectivity": 3, "device": "cuda", "workers": GPUS}
    found = label_chunked(stored, out=tmp_path / "labels.zarr", **options)
    expected = label(image, connectivity=3)
    np.testing.assert_array_equal(found[...], expected)
    twice = len(reads) - 27
    if room == 250_000:  # of 64 KiB each
        assert 27 - 4 * GPUS < twice < 27
    else:
        assert twice == (0 if room else 27)
    np.testing.assert_array_equal(label_chunked(image, **options), expected)


@pytest.mark.parametrize("stays", [True, False])
def test_tables_of_blocks_that_stay_on_gpus(stays, tmp_path, monkeypatch):
    monkeypatch.setattr(held, "SHARE", 0.9 if stays else 0)
    rng = np.random.default_rng(11)
    mask = rng.random((70, 80, 90)) < 0.3
    stored = store(tmp_path / "image.zarr", mask.astype(np.uint8))
    columns = ("label", "area", "bbox", "surface_area_crofton", "mean_intensity")
    options = {"threshold": 0.5, "min_size": 2, "properties": columns}
    expected = segment(mask.astype(np.uint8), **options)
    found = segment_chunked(stored, out=tmp_path / "labels", chunks=40, device="cuda", **options)
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    for name, column in expected.table.items():
        np.testing.assert_allclose(found.table[name], column, rtol=1e-12)


@pytest.mark.parametrize("count", [3, 70_000])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("size", [0, 1, 4099, 300_000])
def test_firsts_and_numbers_of_labels(size, dtype, count):
    rng = np.random.default_rng(size)
    labels = rng.integers(0, count + 1, size).astype(dtype)
    there = cupy.asarray(labels)
    expected = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(expected, labels[labels > 0] - 1, np.flatnonzero(labels))
    np.testing.assert_array_equal(fetch(block_labels.list_firsts(there, count)), expected)
    numbers = rng.integers(0, 2**31, count + 1).astype(dtype)
    numbers[0] = 0
    narrow = there.astype("u2") if count < 2**16 else there
    found = block_labels.renumber_block(narrow, cupy.asarray(numbers))
    np.testing.assert_array_equal(fetch(found), numbers[labels])
    assert found.dtype == dtype


@pytest.mark.parametrize("dtype", [bool, np.uint8, ">i2", np.int64])
def test_copies_of_a_worker(dtype):
    rng = np.random.default_rng(0)
    with own_gpu("cuda"):
        there = []
        for _ in range(20):  # the pinned memory is used again, and grows
            some = rng.integers(0, 2, rng.integers(0, 300, 3)).astype(dtype)
            there.append((some, send_block(some[::-1])))
            np.testing.assert_array_equal(fetch_block(there[-1][1]), some[::-1])
        for some, other in there:
            np.testing.assert_array_equal(fetch_block(other), some[::-1])
        some = [other for _, other in there]
        for one, other in zip(fetch_together(some), some, strict=True):
            np.testing.assert_array_equal(one, fetch(other))
    with pytest.raises(RuntimeError, match="own_gpu"):
        send_block(np.zeros(9))


@pytest.mark.parametrize("stop", ["merge", "write"])
def test_a_run_on_a_gpu_that_was_stopped_goes_on_there_or_on_the_cpu(stop, tmp_path):
    rng = np.random.default_rng(13)
    image = rng.integers(0, 3, (90, 80, 70)).astype(np.uint8)
    stored = store(tmp_path / "image.zarr", image)
    expected = label(image)

    def interrupt(step, done, _):
        if step == stop and done == 1:
            raise KeyboardInterrupt

    for number, devices in enumerate((("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda"))):
        options = {"out": tmp_path / f"{number}.zarr", "chunks": 32, "workers": 2}
        with pytest.raises(KeyboardInterrupt):
            label_chunked(stored, device=devices[0], progress=interrupt, **options)
        found = label_chunked(stored, device=devices[1], resume=True, **options)
        np.testing.assert_array_equal(found[...], expected)
