"""Parts of arrays of Zarr are read and written by the thread that asks."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

zarr = pytest.importorskip("zarr")

from equilabel.chunked.zarr_parts import (
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


FORMS = [
    {},
    {"serializer": zarr.codecs.BytesCodec(endian="big")},
    {"zarr_format": 2},
    {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
    {"shards": (18, 60)},
    {"dtype": "u1"},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_chunks_that_are_not_compressed_are_read_whatever_their_form(store, form):
    pixels, array = make(store, compressors=None, **form)
    array[...] = pixels
    for rows in (slice(9, 18), slice(99, 108), slice(0, 100), slice(3, 9), slice(9, 17)):
        for columns in (slice(30, 60), slice(60, 90), slice(60, None), slice(30, 70), slice(None)):
            found = read_part(array, (rows, columns))
            np.testing.assert_array_equal(found, pixels[rows, columns])
            assert found.dtype == array.dtype


def test_a_chunk_in_memory_is_not_copied():
    pixels, array = make(zarr.storage.MemoryStore(), compressors=None)
    array[...] = pixels
    part = (slice(9, 18), slice(30, 60))
    assert np.shares_memory(read_part(array, part), read_part(array, part))


def test_a_plain_chunk_that_is_missing_or_too_short_is_told_as_by_zarr(tmp_path):
    pixels, array = make(tmp_path / "some.zarr", compressors=None, fill_value=3)
    part = (slice(9, 18), slice(30, 60))
    assert (read_part(array, part) == 3).all()
    array[...] = pixels
    chunk = tmp_path / "some.zarr" / "c" / "1" / "1"
    chunk.write_bytes(chunk.read_bytes()[:-2])
    with pytest.raises(Exception, match=r".") as theirs:
        array[part]
    with pytest.raises(type(theirs.value)):
        read_part(array, part)


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_chunks_that_are_not_compressed_are_written_whatever_their_form(store, form, empty):
    config = {"write_empty_chunks": empty}
    pixels, array = make(store, compressors=None, config=config, **form)
    pixels = pixels.astype(array.dtype)
    pixels[:20] = 0
    for rows in (slice(k, min(k + 18, 100)) for k in range(0, 100, 18)):
        for columns in (slice(0, 60), slice(60, 70)):
            write_part(array, (rows, columns), pixels[rows, columns])
    np.testing.assert_array_equal(array[...], pixels)
    one = (slice(9, 18), slice(30, 60))
    write_part(array, one, pixels[one][::-1])
    np.testing.assert_array_equal(array[one], pixels[one][::-1])
    write_part(array, one, pixels[0:9, 30:60])
    assert not array[one].any()
