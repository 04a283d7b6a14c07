"""Stages to the foreground of images in chunks: hysteresis, local thresholds, background, holes."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import ndimage

from equilabel import segment, segment_chunked

pytestmark = pytest.mark.slow

KINDS = {"u1": 255, "i2": 4000, "f4": 1.0, "?": 1}


def random_image(rng, shape, kind):
    """Return smooth noise on a slope, of any type."""
    image = ndimage.gaussian_filter(rng.random(shape), 0.6)
    image = (image - image.min()) / np.ptp(image) + np.linspace(0, 0.5, shape[-1])
    return image > 0.8 if kind == "?" else (image / image.max() * KINDS[kind]).astype(kind)


def random_case(seed):
    """Return an image, arguments of `segment`, and sides of chunks."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    stacked = bool(axes > 1 and rng.random() < 0.3)
    rank = axes - stacked
    shape = rng.integers(5, {1: 60, 2: 24, 3: 12}[axes], axes).tolist()
    kind = rng.choice(list(KINDS))
    image = random_image(rng, shape, kind)
    if stacked and kind != "?" and rng.random() < 0.5:
        image[1] = image[0].flat[0]  # an image whose pixels are all equal
    low, high = np.quantile(image * 1, [0.5, 0.8]).tolist()
    ways = ["otsu", "local", "local", (low, high), (low, high), low, "per_object", "per_object"]
    threshold = ways[rng.integers(len(ways))]
    arguments = {
        "threshold": threshold,
        "sigma": float(rng.choice([0, 0, 0.7])),
        "dark": bool(rng.random() < 0.4),
        "background": [None, None, 1, (1, 3, 2)[:rank]][rng.integers(4)],
        "closing": [0, 0, 1, 1.5][rng.integers(4)],
        "opening": [0, 0, 1, (1.5, 1, 2)[:rank]][rng.integers(4)],
        "fill_holes": bool(rng.random() < 0.5),
        "connectivity": int(rng.integers(1, rank + 1)),
        "split": [False, 0.4, True][rng.integers(3)],
        "min_size": int(rng.integers(0, 3)),
        "exclude_border": bool(rng.random() < 0.2),
        "properties": ["label", "area", "bbox", "intensity_max"][: rng.integers(2, 5)],
        "stacked": stacked,
    }
    if threshold == "local":
        offset = [0.02, -0.02, "auto"][seed % 3]
        arguments |= {"block_size": int(rng.choice([3, 7])), "offset": offset}
    return image, arguments, [int(rng.integers(2, side + 1)) for side in shape]


@pytest.mark.parametrize("part", range(2))
def test_every_stage_in_chunks_finds_what_it_finds_in_the_whole_image(part):
    for seed in range(part, 40, 2):
        image, arguments, chunks = random_case(seed)
        expected = segment(image, **arguments)
        found = segment_chunked(image, chunks=chunks, scheduler="synchronous", **arguments)
        assert (found.threshold, found.num) == (expected.threshold, expected.num), seed
        np.testing.assert_array_equal(found.labels, expected.labels, f"{seed}", strict=True)
        pd.testing.assert_frame_equal(found.table, expected.table)
        assert found.in_pixels == expected.in_pixels


def test_hysteresis_reads_each_chunk_twice_and_once_more_for_intensities():
    reads = []

    def read(block, block_id=None):
        reads.append(block_id)
        return block

    image = random_image(np.random.default_rng(5), (20, 30), "u1")
    lazy = da.from_array(image, chunks=10).map_blocks(read, dtype="u1", meta=np.empty((0, 0), "u1"))
    for names, times in ((["label", "area"], 2), (["label", "intensity_max"], 3)):
        reads.clear()
        segment_chunked(lazy, threshold=(120, 170), fill_holes=True, properties=names)
        assert len(reads) == times * image.size / 100


class Stopped(Exception):
    """What a caller raises to end the work."""


@pytest.fixture
def stored(tmp_path):
    """Return an image as a Zarr."""
    image = random_image(np.random.default_rng(6), (30, 40), "u1")
    array = zarr.create_array(tmp_path / "image.zarr", shape=(30, 40), chunks=(8, 8), dtype="u1")
    array[...] = image
    return array


STAGES = {
    "sigma": 0.5,
    "threshold": (110, 150),
    "closing": 1,
    "fill_holes": True,
    "properties": ["label", "area", "intensity_mean"],
}


def files(folder):
    return {
        file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


@pytest.mark.parametrize("stage", ["hysteresis: write", "mask: write", "holes: label", "write"])
def test_a_run_that_stopped_in_any_stage_goes_on_to_the_same_bytes(stage, stored, tmp_path):
    def stop(name, done, total):
        if (name, done) == (stage, 3):
            raise Stopped

    arguments = {"chunks": 16, **STAGES}
    with pytest.raises(Stopped):
        segment_chunked(stored, out=tmp_path / "out.zarr", progress=stop, **arguments)
    with pytest.raises(ValueError, match=r"resume must go on with .* got fill_holes=False"):
        segment_chunked(
            stored, out=tmp_path / "out.zarr", resume=True, **{**arguments, "fill_holes": False}
        )
    told = []
    found = segment_chunked(
        stored, out=tmp_path / "out.zarr", resume=True,
        progress=lambda name, done, total: told.append((name, done)), **arguments
    )  # fmt: skip
    assert (stage, 0) not in told
    expected = segment(stored[...], **STAGES)
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    pd.testing.assert_frame_equal(found.table, expected.table)
    segment_chunked(stored, out=tmp_path / "whole.zarr", **arguments)
    assert files(tmp_path / "out.zarr") == files(tmp_path / "whole.zarr")
    again = segment_chunked(stored, out=tmp_path / "out.zarr", resume=True, **arguments)
    assert again.threshold == found.threshold == (110.0, 150.0)


def test_other_processes_make_the_same_masks(stored, tmp_path):
    how = {"threshold": "local", "block_size": 9, "offset": "auto", "background": 4}
    arguments = STAGES | how
    found = segment_chunked(
        stored, out=tmp_path / "out.zarr", scheduler="processes", workers=1, **arguments
    )
    expected = segment(stored[...], **arguments)
    assert found.threshold is expected.threshold is None
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    pd.testing.assert_frame_equal(found.table, expected.table)
