"""Thresholds for each object, and offsets from the noise, in chunks as in the whole image."""

import numpy as np
import pytest
import zarr

from equilabel import segment, segment_chunked
from equilabel.chunked import masks, splitting
from equilabel.segmentation import binarization

pytestmark = pytest.mark.slow

RECIPE = {"sigma": 1, "fill_holes": True, "split": 0.5, "min_size": 5}


def cells(seed, shape, kind="u2", stacked=False):
    """Return noisy disks or balls of 4 to 6 pixels and of different brightness, some touching."""
    rng = np.random.default_rng(seed)
    image, places = rng.normal(20, 1.5, shape), np.indices(shape)
    for _ in range(image.size // (250 if len(shape) - stacked == 2 else 900)):
        middle = rng.uniform(0, shape)[:, *[np.newaxis] * len(shape)]
        far = ((places - middle)[int(stacked) :] ** 2).sum(axis=0) > rng.uniform(16, 36)
        near = ~far & (places[0] == int(middle[0].item())) if stacked else ~far
        image += near * rng.choice([4, 8, 15, 60])
    return image.clip(0, 255).astype(kind)


CASES = [
    (cells(0, (120, 140)), 31, RECIPE),
    (cells(1, (120, 140), "u1"), (120, 13), {}),
    (np.uint16(300) - cells(2, (90, 140)), (20, 60), {"dark": True, "sigma": 1}),
    (cells(3, (90, 110), "f4"), 25, {"closing": 1, "background": 30, "spacing": (2, 1)}),
    (cells(4, (24, 40, 36), "f8"), (9, 40, 17), {"spacing": (2, 1, 1), "split": True}),
    (cells(5, (3, 60, 70), "i4", stacked=True), (2, 25, 26), {"stacked": True, **RECIPE}),
    (cells(6, (400,)), 23, {}),
]


@pytest.mark.parametrize(("image", "chunks", "options"), CASES)
def test_each_object_has_the_threshold_of_the_whole_image(image, chunks, options):
    """Bright and dim objects cross faces, and dim ones take pixels of bright ones."""
    expected = segment(image, "per_object", **options)
    assert expected.num > 5
    how = {"chunks": chunks, "scheduler": "synchronous", **options}
    found = segment_chunked(image, "per_object", **how)
    assert (found.threshold, found.num) == (expected.threshold, expected.num)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.table["area"], expected.table["area"])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_infinite_pixels_and_images_of_one_value_are_as_in_memory(dtype):
    image = cells(7, (60, 70), dtype)
    image[3, 4], image[30, 40:44], image[50, 50] = np.nan, np.inf, -np.inf
    for some in (image, np.where(np.isinf(image), image, np.nan), np.full((9, 9), np.inf, dtype)):
        expected = segment(some, "per_object", properties=["label"])
        found = segment_chunked(some, "per_object", properties=["label"], chunks=17)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_equal(found.threshold, expected.threshold)


def test_components_that_are_too_large_have_one_threshold_and_are_named(monkeypatch):
    image = np.zeros((40, 80), np.uint8)
    image[5:15, 5:75] = 60  # two bars that a neck joins, the second one brighter
    image[15:17, 39:41] = 60
    image[17:27, 5:75] = 200
    assert segment(image, "per_object").num == 2
    monkeypatch.setattr(splitting, "LEAST", 1)
    with pytest.warns(UserWarning, match="stayed whole: 5:27, 5:75.*the same threshold"):
        found = segment_chunked(image, "per_object", chunks=20).labels
    np.testing.assert_array_equal(found > 0, image == 200)


@pytest.mark.parametrize(
    ("shape", "chunks", "stacked", "sampled"),
    [((200,), 33, False, 64), ((50, 61), (9, 61), False, 997), ((3, 40, 5), (2, 7, 2), True, 64),
     ((13, 4, 20), (5, 3, 6), False, 997), ((13, 4, 20), (5, 3, 6), False, 2**21)],
)  # fmt: skip
def test_noise_is_the_same_to_the_last_bit(shape, chunks, stacked, sampled, monkeypatch):
    for module in (binarization, masks):
        monkeypatch.setattr(module, "SAMPLED", sampled)
    image = np.random.default_rng(sampled).normal(0, 1, shape)
    image.flat[3] = np.nan
    image[-1] = image[-1] if stacked else np.inf
    known = []
    compare = binarization.compare_with_means

    def noted(*given, shifts, **how):
        known.extend(shifts.values())
        return compare(*given, shifts=shifts, **how)

    monkeypatch.setattr(binarization, "compare_with_means", noted)
    monkeypatch.setattr("equilabel.chunked.segment.compare_with_means", noted)
    options = {"block_size": 7, "offset": "auto", "stacked": stacked, "properties": ["label"]}
    expected = segment(image, "local", **options)
    found = segment_chunked(image, "local", chunks=chunks, scheduler="synchronous", **options)
    np.testing.assert_array_equal(found.labels, expected.labels)
    images = image if stacked else [image]
    assert set(known) == {-3 * binarization._noise(one) for one in images}


class Stopped(Exception):
    """What a caller raises to end the work."""


STAGES = [
    pytest.param("gray: write", marks=pytest.mark.long),
    "bright: split: write",
    pytest.param("dim: mask: label", marks=pytest.mark.long),
    "overlap",
    "levels: write",
]


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_that_stopped_in_any_stage_goes_on(stage, tmp_path):
    image = cells(0, (70, 75))
    stored = zarr.create_array(tmp_path / "image.zarr", data=image, chunks=(20, 20))
    how = {"chunks": 40, "out": tmp_path / "out.zarr", **RECIPE}

    def stop(name, done, total):
        if (name, done) == (stage, 3):
            raise Stopped

    with pytest.raises(Stopped):
        segment_chunked(stored, "per_object", progress=stop, workers=1, **how)
    told = []
    found = segment_chunked(
        stored, "per_object", resume=True, progress=lambda *one: told.append(one[:2]), **how
    )
    assert ("threshold", 0) not in told
    if stage != "overlap":  # it is counted again
        assert (stage, 0) not in told
    expected = segment(image, "per_object", **RECIPE)
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    np.testing.assert_array_equal(found.table["area"], expected.table["area"])


@pytest.mark.long  # each stage starts processes; test_chunked_masks.py has some in others
@pytest.mark.parametrize(
    ("threshold", "options"),
    [("per_object", RECIPE), ("local", {"block_size": 15, "offset": "auto"})],
)
def test_other_processes_find_the_same_objects(threshold, options, tmp_path):
    image = cells(5, (3, 60, 70), stacked=True)
    stored = zarr.create_array(tmp_path / "image.zarr", data=image, chunks=(1, 30, 30))
    how = {"scheduler": "processes", "workers": 1, "chunks": (2, 30, 30), "stacked": True}
    found = segment_chunked(stored, threshold, out=tmp_path / "out.zarr", **how, **options)
    expected = segment(image, threshold, stacked=True, **options)
    assert expected.num > 5
    np.testing.assert_array_equal(found.labels[...], expected.labels)


@pytest.mark.gpu
def test_objects_are_those_of_the_whole_image_where_blocks_are_on_a_gpu():
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    for image, chunks, options in CASES:
        expected = segment(image, "per_object", **options)
        found = segment_chunked(image, "per_object", chunks=chunks, device="cuda", **options)
        np.testing.assert_array_equal(found.labels, expected.labels)
