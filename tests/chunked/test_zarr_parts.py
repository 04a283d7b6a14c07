"""Parts of arrays of Zarr are read and written by the thread that asks."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

zarr = pytest.importorskip("zarr")

from equilabel.chunked.outputs import (
    read_part,
    write_part,
)

PARTS = [(slice(k, k + 20), slice(None)) for k in range(0, 100, 20)]


def make(store, **form):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 9, (100, 70)).astype(np.int16)
    form = {"shape": pixels.shape, "chunks": (9, 30), "dtype": pixels.dtype} | form
    return pixels, zarr.create_array(store, **form)


@pytest.fixture(params=["disk", "memory"])
def store(request, tmp_path):
    return tmp_path / "some.zarr" if request.param == "disk" else zarr.storage.MemoryStore()


def test_many_threads_write_and_read_parts(store):
    pixels, array = make(store)
    rows = [(slice(k, k + 9), slice(None)) for k in range(0, 100, 9)]
    before = set(threading.enumerate())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda part: write_part(array, part, pixels[part]), rows))
        found = list(pool.map(lambda part: read_part(array, part), PARTS))
        others = set(threading.enumerate()) - before
        assert len(others) <= 4
    for part, some in zip(PARTS, found, strict=True):
        np.testing.assert_array_equal(some, pixels[part])
    np.testing.assert_array_equal(array[...], pixels)


def test_parts_are_read_where_an_event_loop_runs(store):
    pixels, array = make(store)

    async def work():
        write_part(array, (slice(0, 100), slice(None)), pixels)
        return read_part(array, PARTS[1])

    np.testing.assert_array_equal(asyncio.run(work()), pixels[PARTS[1]])


def test_a_chunk_that_is_damaged_or_missing_is_told_as_by_zarr(tmp_path):
    pixels, _ = make(tmp_path / "some.zarr")
    array = zarr.open_array(tmp_path / "some.zarr", mode="r+")
    write_part(array, (slice(None), slice(None)), pixels)
    chunk = tmp_path / "some.zarr" / "c" / "0" / "0"
    chunk.write_bytes(b"nothing of the kind")
    with pytest.raises(Exception, match=r".") as ours:
        read_part(array, PARTS[0])
    with pytest.raises(Exception, match=r".") as theirs:
        array[PARTS[0]]
    assert type(ours.value) is type(theirs.value)
    chunk.unlink()
    found = read_part(array, (slice(0, 9), slice(0, 30)))
    assert found.shape == (9, 30)
    assert not found.any()


def test_what_is_no_array_of_zarr_is_indexed():
    pixels = np.arange(700).reshape(100, 7)
    np.testing.assert_array_equal(read_part(pixels, PARTS[2]), pixels[PARTS[2]])
    write_part(pixels, PARTS[2], np.zeros((20, 7)))
    assert not pixels[PARTS[2]].any()
