"""Blocks on GPUs: labels and tables of the whole image, as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CUDA kernels need CuPy")
pytest.importorskip("zarr")
pytest.importorskip("dask")

from equilabel import (
    label,
    label_chunked,
    segment,
    segment_chunked,
)
from equilabel.chunked import outputs, sources
from equilabel.chunked.blocks import unite
from equilabel.devices import fetch, fetch_block, fetch_renumbered, own_gpu, send_block, set_worker
from equilabel.devices.cuda import blocks as block_labels
from equilabel.devices.cuda import staging

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
    read_part = sources.read_part
    monkeypatch.setattr(
        sources, "read_part", lambda array, part: reads.append(part) or read_part(array, part)
    )
    each = outputs.AT_WORK * 32**3
    monkeypatch.setattr(outputs, "room_on_gpus", lambda _: dict.fromkeys(range(GPUS), each + room))
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
    monkeypatch.setattr(outputs, "SHARE", 0.9 if stays else 0)
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
        found = [fetch_block(other) for _, other in there]  # each in memory of its own
        for (some, _), other in zip(there, found, strict=True):
            np.testing.assert_array_equal(other, some[::-1])
    with pytest.raises(RuntimeError, match="own_gpu"):
        send_block(np.zeros(9))


def pinned(shape, dtype):
    import cupyx

    return cupyx.empty_pinned(shape, dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(90,), (50, 64), (40, 33, 48), (3, 5, 7, 16)])
def test_parts_of_pinned_arrays_are_copied_by_a_kernel(shape, dtype):
    rng = np.random.default_rng(17)
    whole = pinned(shape, dtype)
    whole[...] = rng.integers(0, 100, shape)
    for _ in range(20):
        low = [int(rng.integers(0, side)) for side in shape]
        part = tuple(
            slice(a, int(rng.integers(a + 1, n + 1))) for a, n in zip(low, shape, strict=True)
        )
        with own_gpu("cuda"):
            np.testing.assert_array_equal(fetch_block(send_block(whole[part])), whole[part])


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("small", [np.uint16, np.int32])
def test_labels_are_written_to_parts_of_pinned_arrays(small, dtype):
    rng = np.random.default_rng(19)
    shape = (20, 33, 64)
    numbers = rng.integers(1, 2**31 - 1, 101).astype(dtype)
    numbers[0] = 0
    for part in (
        (slice(0, 20), slice(0, 33), slice(0, 64)),
        (slice(4, 9), slice(3, 20), slice(16, 48)),
        (slice(4, 9), slice(3, 20), slice(15, 48)),
        (slice(4, 9), slice(3, 20), slice(16, 47)),
        (slice(19, 20), slice(3, 4), slice(9, 10)),
    ):
        out = pinned(shape, dtype)
        out[...] = -7
        expected = out.copy()
        labels = rng.integers(0, 101, expected[part].shape).astype(small)
        expected[part] = numbers[labels]
        with own_gpu("cuda"):
            assert fetch_renumbered(cupy.asarray(labels), numbers, out[part]) is None
            np.testing.assert_array_equal(out, expected)
            usual = np.zeros(shape, dtype)
            found = fetch_renumbered(cupy.asarray(labels), numbers, usual[part])
            np.testing.assert_array_equal(found, expected[part])


def test_arrays_that_are_not_pinned_as_they_are_go_another_way():
    there = pinned((30, 40), np.int32)
    assert staging.is_pinned(there)
    assert staging.is_pinned(there[3:9, 5:7])
    assert not staging.is_pinned(np.zeros((30, 40), np.int32))
    assert not staging.is_pinned(there[::-1])
    assert not staging.is_pinned(there.astype(">i4"))
    assert not staging.is_pinned(there[:0])
    there[...] = np.arange(1200).reshape(30, 40)
    with own_gpu("cuda"):
        for odd in (there[::-1], there[::2, ::3], there.T, there.view(">i4")):
            np.testing.assert_array_equal(fetch_block(send_block(odd)), odd)


@pytest.mark.parametrize("image_kind", ["numpy", "pinned", "raw", "memory"])
@pytest.mark.parametrize("out_kind", ["numpy", "pinned", "raw", "memory", "disk"])
@pytest.mark.parametrize("room", [0, 10**9], ids=["none", "all"])
def test_arrays_of_a_caller_take_labels(room, out_kind, image_kind, tmp_path, monkeypatch):
    import zarr

    monkeypatch.setattr(outputs, "room_on_gpus", lambda _: dict.fromkeys(range(GPUS), room))
    rng = np.random.default_rng(23)
    pixels = rng.integers(0, 3, (70, 64, 96)).astype(np.uint8)
    pixels[:32] = 0
    expected = label(pixels)

    def array(kind, dtype):
        if kind in ("numpy", "pinned"):
            return (
                pinned(pixels.shape, dtype) if kind == "pinned" else np.empty(pixels.shape, dtype)
            )
        where = tmp_path / "labels.zarr" if kind == "disk" else zarr.storage.MemoryStore()
        form = {"compressors": None} if kind == "raw" else {}
        return zarr.create_array(where, shape=pixels.shape, chunks=(32,) * 3, dtype=dtype, **form)

    image, out = array(image_kind, np.uint8), array(out_kind, np.int32)
    image[...], out[...] = pixels, 5
    found = label_chunked(image, chunks=32, device="cuda", out=out, workers=5)
    assert found is out
    np.testing.assert_array_equal(out[...], expected)


@pytest.mark.parametrize("count", [1, 70_000])
def test_components_are_sorted_on_a_gpu_as_on_the_cpu(count):
    firsts = np.random.default_rng(count).permutation(10 * count)[:count] + 2**40
    edges = [np.stack([np.arange(count // 2), np.arange(count // 2) + 1], axis=1)]
    expected, known = unite(firsts.copy(), edges)
    labels, found = unite(firsts.copy(), edges, "cuda")
    assert found == known
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(
        fetch(block_labels.rank_keys(cupy.asarray(firsts))), np.argsort(np.argsort(firsts)) + 1
    )


@pytest.mark.parametrize("small", [np.uint16, np.int32, np.int64])
def test_faces_are_those_of_a_slice(small):
    rng = np.random.default_rng(29)
    for shape in ((9,), (5, 7), (6, 5, 4), (3, 4, 5, 6), (2, 3, 2, 3, 2, 3)):
        labels = rng.integers(0, 60_000, shape).astype(np.int64 if small == np.int64 else np.int32)
        cuts = []
        for axis, side in enumerate(shape):
            first, last = sorted(rng.choice(side + 1, 2, replace=False).tolist())
            cuts += [(axis, first, last), (axis, 0, 1)]
        found = fetch(block_labels.cut_faces(cupy.asarray(labels), cuts, np.dtype(small)))
        expected = [labels.take(range(a, b), axis).reshape(-1) for axis, a, b in cuts]
        np.testing.assert_array_equal(found, np.concatenate(expected).astype(small))


@pytest.mark.parametrize("stop", ["merge", "write"])
def test_a_run_on_a_gpu_that_was_stopped_goes_on_there_or_on_the_cpu(stop, tmp_path):
    rng = np.random.default_rng(13)
    image = rng.integers(0, 3, (90, 80, 70)).astype(np.uint8)
    stored = store(tmp_path / "image.zarr", image)
    expected = label(image)

    def interrupt(stage, done, _):
        if stage == stop and done == 1:
            raise KeyboardInterrupt

    for number, devices in enumerate((("cuda", "cuda"), ("cuda", "cpu"), ("cpu", "cuda"))):
        options = {"out": tmp_path / f"{number}.zarr", "chunks": 32, "workers": 2}
        with pytest.raises(KeyboardInterrupt):
            label_chunked(stored, device=devices[0], progress=interrupt, **options)
        found = label_chunked(stored, device=devices[1], resume=True, **options)
        np.testing.assert_array_equal(found[...], expected)
