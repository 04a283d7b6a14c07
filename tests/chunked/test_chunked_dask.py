"""Lazy images of Dask: what all blocks need is computed once; tasks on the client of the caller."""

import sys
import threading
from collections import Counter

import dask.array as da
import numpy as np
import pytest
import zarr
from scipy.ndimage import uniform_filter

from equilabel import label, label_chunked, segment, segment_chunked
from equilabel.chunked.engine import Engine

IMAGE = np.random.default_rng(0).random((32, 32, 32))
LOADS: Counter = Counter()
LOCK = threading.Lock()


def load(block_info=None):
    place = block_info[None]["array-location"]
    with LOCK:
        LOADS[tuple(map(tuple, place))] += 1
    return IMAGE[tuple(slice(*ends) for ends in place)]


def lazy_image():
    chunks = da.core.normalize_chunks((8,) * 3, IMAGE.shape)
    return da.map_blocks(load, chunks=chunks, dtype=float, meta=np.empty((0,) * 3))


def above_the_scatter(image):
    rest = image - image.mean()
    return rest > rest.std()


def smoothed(image):
    return image.map_overlap(uniform_filter, depth=2, boundary="reflect", size=5) > 0.5


MADE = {
    "compared": (lambda image: image > 0.7, 2),
    "mean": (lambda image: image > image.mean(), 3),
    "mean and scatter": (above_the_scatter, 4),
    "a mean for each column": (lambda image: image > image.mean(axis=0, keepdims=True), 3),
    "percentile": (lambda image: image > da.percentile(image.ravel(), [60])[0], 3),
    "neighbors": (smoothed, 1),
    "other chunks": (lambda image: (image > 0.7).rechunk((32, 16, 7)), 1),
}


@pytest.mark.parametrize("name", MADE)
def test_each_chunk_is_loaded_once_for_each_reading(name, tmp_path):
    make, times = MADE[name]
    lazy = make(lazy_image())
    expected = label(lazy.compute(scheduler="synchronous"))
    LOADS.clear()
    np.testing.assert_array_equal(label_chunked(lazy), expected)
    assert sum(LOADS.values()) <= 1.3 * times * 4**3


@pytest.mark.parametrize(
    ("scale", "dtype", "times"), [(200, "u1", 3), (-9, "i2", 3), (7e4, "u4", 4)]
)
def test_gray_values_of_16_bits_are_counted_in_one_reading(scale, dtype, times):
    def convert(image):
        return (image * scale).astype(dtype)

    LOADS.clear()
    found = segment_chunked(lazy_image().map_blocks(convert, dtype=dtype), threshold="otsu")
    assert found.threshold == segment(convert(IMAGE), threshold="otsu").threshold
    assert sum(LOADS.values()) <= times * 4**3


@pytest.mark.parametrize("options", [{"sigma": 1}, {"closing": 1.5}])
def test_blocks_with_pixels_around_them_load_each_chunk_once(options):
    LOADS.clear()
    found = segment_chunked(lazy_image(), threshold="otsu", min_size=3, **options)
    expected = segment(IMAGE, threshold="otsu", min_size=3, **options)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert sum(LOADS.values()) == 4**3


def test_what_was_stored_is_not_computed_again_when_a_run_goes_on(tmp_path):
    lazy, out = smoothed(lazy_image()), tmp_path / "labels.zarr"

    def stop(stage, done, total):
        if (stage, done) == ("write", 9):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        label_chunked(lazy, out=out, progress=stop)
    LOADS.clear()
    found = label_chunked(lazy, out=out, resume=True)
    assert not LOADS
    np.testing.assert_array_equal(found, label(lazy.compute(scheduler="synchronous")))


def test_an_array_in_memory_is_labeled_as_a_whole(monkeypatch, tmp_path):
    told = []
    image = IMAGE > 0.7
    for options in ({}, {"periodic": True, "connectivity": 1}, {"background": 1}):
        found, num = label_chunked(
            image, chunks=8, return_num=True, progress=lambda *now: told.append(now), **options
        )
        expected = label(image, return_num=True, **options)
        np.testing.assert_array_equal(found, expected[0])
        assert num == expected[1]
    for dtype in (np.int32, np.uint64):
        out = np.memmap(tmp_path / "labels", dtype, "w+", shape=image.shape)
        assert (
            label_chunked(image, chunks=8, out=out, progress=lambda *now: told.append(now)) is out
        )
        np.testing.assert_array_equal(out, label(image))
    assert told == [("label", 0, 1), ("label", 1, 1)] * 5
    monkeypatch.setattr(sys.modules["equilabel.chunked.label"], "SMALL", 8)
    label_chunked(image, chunks=-1, method="komura", progress=lambda *now: told.append(now))
    assert ("write", 1, 1) in told
    with pytest.raises(ValueError, match="out must have the shape of the image"):
        label_chunked(image, chunks=8, out=out[1:])
    with pytest.raises(TypeError, match="progress must be"):
        label_chunked(image, chunks=8, progress=1)


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        (lambda block: block[:, 1:], ValueError, "blocks as announced, bool of shape .8, 8."),
        (lambda block: block[:, :1], ValueError, "blocks as announced, bool of shape .8, 8."),
        (lambda block: block * 0.5, ValueError, "got float64 of shape"),
        (lambda _: next(iter(())), RuntimeError, "StopIteration"),
    ],
    ids=["shape", "broadcast", "type", "the end of an iterator"],
)
def test_a_block_that_is_not_as_announced_is_an_error(block, error, message):
    image = IMAGE[0] > 0.5
    lazy = da.from_array(image, chunks=8).map_blocks(block, dtype=bool, meta=np.empty((0, 0), bool))
    for scheduler in ("synchronous", "threads"):
        with pytest.raises(error, match=message):
            label_chunked(lazy, scheduler=scheduler)
    wide = da.from_array(image, chunks=8).map_blocks(
        np.array, dtype=int, meta=np.empty((0, 0), int)
    )
    np.testing.assert_array_equal(label_chunked(wide), label(image))


def test_a_run_does_not_go_on_with_a_zarr_of_other_pixels(tmp_path):
    """Dask names an array that reads a Zarr after its path."""
    stored = zarr.save_array(tmp_path / "image.zarr", IMAGE[0]) or zarr.open(
        tmp_path / "image.zarr"
    )

    def stop(stage, done, total):
        if stage == "label":
            raise KeyboardInterrupt

    for change in (False, True):
        out = tmp_path / f"labels{change}"
        with pytest.raises(KeyboardInterrupt):
            segment_chunked(da.from_zarr(tmp_path / "image.zarr"), out=out, progress=stop)
        if change:
            stored[...] = IMAGE[1]
            with pytest.raises(ValueError, match="resume must go on with the image"):
                segment_chunked(da.from_zarr(tmp_path / "image.zarr"), out=out, resume=True)
        else:
            found = segment_chunked(da.from_zarr(tmp_path / "image.zarr"), out=out, resume=True)
            assert found.threshold == segment(IMAGE[0]).threshold


def test_arrays_of_one_zip_are_told_apart(tmp_path):
    images = {"a": IMAGE[0] > 0.5, "b": IMAGE[1] > 0.5}
    with zarr.storage.ZipStore(tmp_path / "both.zip", mode="w") as store:
        for name, image in images.items():
            zarr.create_array(store, name=name, data=image, chunks=(8, 8))
    with zarr.storage.ZipStore(tmp_path / "both.zip", mode="r") as store:
        both, out = zarr.open_group(store, mode="r"), tmp_path / "labels"
        found = label_chunked(both["a"], out=out, return_num=True)[1]
        assert found == label(images["a"], return_num=True)[1]
        with pytest.raises(ValueError, match="resume must go on with the image"):
            label_chunked(both["b"], out=out, resume=True)


@pytest.mark.long
def test_the_active_client_is_used_and_shows_the_names_of_tasks(tmp_path):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        lazy = da.from_array(IMAGE, chunks=8)
        lazy = lazy > lazy.mean()
        np.testing.assert_array_equal(label_chunked(lazy), label(IMAGE.mean() < IMAGE))
        names = set(cluster.scheduler.task_prefixes)
        assert {"label_group", "compare_group", "write_group"} <= names
        with pytest.warns(UserWarning, match="active Dask client is not used"):
            label_chunked(IMAGE > 0.5, chunks=16)
        with pytest.warns(UserWarning, match="workers is not used on a Dask cluster"):
            Engine(client, 3)
        temporary = (label_chunked(lazy) > 0).persist()  # is read when the labels are gone
        assert int(temporary.sum().compute()) == int((IMAGE.mean() < IMAGE).sum())
        done = cluster.scheduler.task_prefixes["label_group"].state_counts
        label_chunked(lazy, scheduler="threads")
        assert cluster.scheduler.task_prefixes["label_group"].state_counts == done
    assert Engine(None).shares_memory
