"""`label_chunked` into arrays of a caller: of NumPy, and of Zarr in any store."""

import dask.array as da
import numpy as np
import pytest

zarr = pytest.importorskip("zarr")

from equilabel import (
    label,
    label_chunked,
)
from equilabel.chunked import results, tasks

NOISE = np.random.default_rng(3).random((20, 24, 28)) < 0.3
NOISE[:8] = False  # blocks without labels
EXPECTED = label(NOISE)


def stored(store, **form):
    array = zarr.create_array(store, shape=NOISE.shape, chunks=(8,) * 3, dtype="?", **form)
    array[...] = NOISE
    return array


IMAGES = {
    "numpy": lambda folder: NOISE,
    "disk": lambda folder: stored(folder / "image.zarr"),
    "memory": lambda folder: stored(zarr.storage.MemoryStore()),
    "raw": lambda folder: stored(zarr.storage.MemoryStore(), compressors=None),
    "files": lambda folder: stored(folder / "raw.zarr", compressors=None),
}


@pytest.mark.parametrize(
    ("dtype", "kind", "method"),
    [
        (np.int32, "numpy", "auto"),
        (np.uint32, "disk", "auto"),
        (np.int64, "memory", "komura"),
        (np.uint64, "raw", "auto"),
        (np.int32, "files", "komura"),
        (np.int64, "numpy", "komura"),
    ],
)
def test_an_array_of_numpy_is_overwritten(dtype, kind, method, tmp_path):
    image = IMAGES[kind](tmp_path)
    out = np.full(NOISE.shape, 7, dtype)
    found, count = label_chunked(image, chunks=8, out=out, method=method, return_num=True)
    assert found is out
    assert count == EXPECTED.max()
    np.testing.assert_array_equal(out, EXPECTED)


@pytest.mark.parametrize(
    ("store", "kind", "compressors"),
    [
        ("memory", "numpy", None),
        ("memory", "raw", "auto"),
        ("disk", "files", None),
        ("disk", "numpy", "auto"),
        ("shards", "disk", None),
        ("shards", "raw", "auto"),
    ],
)
def test_an_array_of_zarr_is_overwritten_chunk_by_chunk(store, kind, compressors, tmp_path):
    image = IMAGES[kind](tmp_path)
    form = {"chunks": (4,) * 3, "dtype": "u4", "compressors": compressors}
    form |= {"shards": (8,) * 3} if store == "shards" else {}
    where = zarr.storage.MemoryStore() if store == "memory" else tmp_path / "labels.zarr"
    out = zarr.create_array(where, shape=NOISE.shape, fill_value=9, **form)
    out[...] = 5
    before = sorted(one.name for one in tmp_path.iterdir())
    assert label_chunked(image, chunks=(8, -1, 16), out=out) is out
    np.testing.assert_array_equal(out[...], EXPECTED)
    assert sorted(one.name for one in tmp_path.iterdir()) == before


@pytest.mark.parametrize("background", [0, 2])
def test_chunks_in_memory_stay_as_they_were_written(background):
    image = np.random.default_rng(5).integers(0, 3, (40, 40)).astype(np.uint8)
    out = zarr.create_array(
        zarr.storage.MemoryStore(), shape=image.shape, chunks=(10, 40), dtype="i4", compressors=None
    )
    label_chunked(image, background, chunks=(10, 40), out=out)
    first = out[...]
    label_chunked(image[::-1], background, chunks=(10, 40))
    np.testing.assert_array_equal(out[...], first)
    np.testing.assert_array_equal(first, label(image, background))


def test_blocks_of_an_image_that_is_read_are_labeled_once_into_memory(monkeypatch):
    labeled = []
    solve = tasks.solve
    monkeypatch.setattr(tasks, "solve", lambda *a, **k: labeled.append(1) or solve(*a, **k))
    image = stored(zarr.storage.MemoryStore())
    label_chunked(image, chunks=8, out=np.empty(NOISE.shape, np.int32))
    assert len(labeled) == 36


def zarr_like(**form):
    form = {"shape": NOISE.shape, "chunks": (8,) * 3, "dtype": "i4"} | form
    return zarr.create_array(zarr.storage.MemoryStore(), **form)


@pytest.mark.parametrize(
    ("out", "more", "message"),
    [
        (np.empty((3, 3), np.int32), {}, "out must have the shape of the image, "),
        (np.empty(NOISE.shape, np.int16), {}, "out must be of a type of 32 or 64 bits"),
        (np.empty(NOISE.shape, ">i4"), {}, "out must be of a type of 32 or 64 bits"),
        (np.empty(NOISE.shape, np.float32), {}, "out must be of a type of 32 or 64 bits"),
        (np.empty(NOISE.shape[::-1], np.int32).T, {}, "out must be in C order and writeable"),
        (np.empty(NOISE.shape, np.int32), {"resume": True}, "out must be a path to go on with"),
        (np.empty(NOISE.shape, np.int32), {"scheduler": "processes"}, "for workers elsewhere"),
        (zarr_like(chunks=(3, 8, 8)), {}, r"out must have chunks that blocks of \(8, 8, 8\)"),
        (zarr_like(dtype="f4"), {}, "out must be of a type of 32 or 64 bits"),
        (3, {}, "out must be a path; got 3"),
    ],
)
def test_an_array_that_cannot_take_labels_is_refused(out, more, message):
    with pytest.raises((ValueError, TypeError), match=message):
        label_chunked(NOISE, chunks=8, out=out, **more)


def test_a_zarr_that_cannot_take_labels_is_refused_at_once(tmp_path):
    path = tmp_path / "image.zarr"
    stored = zarr.create_array(path, data=NOISE.astype(np.int32), chunks=(4,) * NOISE.ndim)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")

    def progress(*now):
        raise AssertionError(now)

    for out, message in (
        (stored, "out must not be the image"),
        (path / "labels", "out must not be in the image"),
        (tmp_path / "nowhere", "out must be a path where nothing is yet"),
    ):
        with pytest.raises((ValueError, FileExistsError), match=message):
            label_chunked(stored, out=out, chunks=4, progress=progress)
    with pytest.raises(ValueError, match="out must not be in the image"):
        label_chunked(da.from_zarr(path) > 0, out=path / "labels", progress=progress)
    with pytest.raises(ValueError, match="out must be writable"):
        label_chunked(NOISE, out=zarr.open_array(path, mode="r"), chunks=4, progress=progress)


def test_an_image_is_not_overwritten():
    image = EXPECTED.astype(np.int32)
    with pytest.raises(ValueError, match="out must not overlap label_image"):
        label_chunked(image, chunks=8, out=image)
    np.testing.assert_array_equal(image, EXPECTED)


def test_more_labels_than_an_array_can_hold_are_refused(monkeypatch):
    monkeypatch.setattr(results, "number_blocks", lambda *_: 2**31)
    with pytest.raises(ValueError, match="out must be able to hold 2,147,483,648 labels"):
        label_chunked(NOISE, chunks=8, out=np.empty(NOISE.shape, np.int32))
