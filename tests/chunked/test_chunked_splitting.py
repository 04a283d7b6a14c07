"""Objects that touch, split in chunks as in the whole image."""

import numpy as np
import pytest
import zarr
from scipy import ndimage

from equilabel import samples, segment, segment_chunked
from equilabel.chunked import splitting

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
VOLUME = ndimage.gaussian_filter(RNG.standard_normal((30, 60, 64)), 2)
NUCLEI = samples.nuclei_2d((260, 240))
MOVIE = ndimage.gaussian_filter(RNG.standard_normal((3, 70, 64)), (0, 2, 2))


@pytest.mark.parametrize(
    ("image", "chunks", "options", "near"),
    [
        (NUCLEI, 48, {"sigma": 1, "fill_holes": True}, 4),
        (NUCLEI, (13, 240), {"split": "1.5px", "exclude_border": True}, 1),
        (VOLUME, 20, {"threshold": 0.03, "connectivity": 1, "min_size": 9}, 1000),
        (VOLUME, (30, 17, 64), {"threshold": 0.03, "spacing": (2, 1, 0.5), "split": 1}, 1),
        (MOVIE, (2, 30, 31), {"threshold": 0.06, "stacked": True}, 4),
    ],
)
def test_objects_are_split_as_in_the_whole_image(image, chunks, options, near, monkeypatch):
    """Whether boxes are read with the block or by themselves."""
    monkeypatch.setattr(splitting, "NEAR", near)
    options = {"split": True, **options}
    expected = segment(image, **options)
    assert expected.num > segment(image, **{**options, "split": False}).num
    found = segment_chunked(image, chunks=chunks, **options)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.table["area"], expected.table["area"])
    assert found.in_pixels["split"] == expected.in_pixels["split"]
    other = segment_chunked(image, chunks=chunks, numbering="blocks", **options).labels
    pairs = np.unique(np.stack([other.ravel(), expected.labels.ravel()]), axis=1)
    assert pairs.shape[1] == other.max() + 1 == expected.num + 1


def test_sprawling_components_have_the_same_parts_in_each_block(monkeypatch):
    """Whether those of a part of the image are read together, or one by one."""
    expected = segment(VOLUME, 0.03, split=True).labels
    monkeypatch.setattr("equilabel.segmentation.splitting.TOGETHER", 1)
    for near in (1, 1000):
        monkeypatch.setattr(splitting, "NEAR", near)
        found = segment_chunked(VOLUME, 0.03, split=True, chunks=20).labels
        np.testing.assert_array_equal(found, expected)


def test_components_that_are_too_large_stay_whole_and_are_named(monkeypatch):
    monkeypatch.setattr(splitting, "LEAST", 1)
    whole = segment(VOLUME, 0.03).labels
    parts = segment(VOLUME, 0.03, split=True).labels
    with pytest.warns(UserWarning, match="component stayed whole: 0:30, 0:60, 0:64") as said:
        found = segment_chunked(VOLUME, 0.03, chunks=16, split=True).labels
    assert "Boxes of more than 4,096 pixels are not split" in str(said[0].message)
    for number, box in enumerate(ndimage.find_objects(whole), 1):
        inside = whole[box] == number
        large = inside.size > 4096
        same = whole[box] if large else parts[box]
        pairs = np.unique(np.stack([found[box][inside], same[inside]]), axis=1)
        assert pairs.shape[1] == len(np.unique(same[inside]))


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param("components: write", marks=pytest.mark.long),
        pytest.param("choose", marks=pytest.mark.long),
        "split: write",
        "label",
    ],
)
def test_a_run_that_is_ended_goes_on_with_the_same_parts(tmp_path, stage):
    image = zarr.create_array(tmp_path / "image.zarr", data=VOLUME, chunks=(10, 20, 20))
    expected = segment(VOLUME, 0.03, split=True)
    how = {"threshold": 0.03, "split": True, "chunks": 20, "out": tmp_path / "labels.zarr"}

    def end(name, done, total):
        if name == stage and done >= min(2, total):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        segment_chunked(image, progress=end, **how)
    with pytest.raises(ValueError, match="resume"):
        segment_chunked(image, resume=True, **{**how, "split": 1})
    told = []
    found = segment_chunked(
        image, resume=True, progress=lambda name, done, _: told.append((name, done)), **how
    )
    np.testing.assert_array_equal(found.labels[...], expected.labels)
    if stage == "label":
        assert ("components: label", 0) not in told
        assert ("split: write", 0) not in told


@pytest.mark.long  # test_chunked_masks.py has stages in other processes
def test_workers_in_processes_split(tmp_path):
    image = zarr.create_array(tmp_path / "image.zarr", data=VOLUME, chunks=(10, 20, 20))
    found = segment_chunked(
        image,
        0.03,
        split=True,
        chunks=20,
        out=tmp_path / "l.zarr",
        scheduler="processes",
        workers=1,
    )
    np.testing.assert_array_equal(found.labels[...], segment(VOLUME, 0.03, split=True).labels)


@pytest.mark.gpu
def test_objects_are_split_where_blocks_are_labeled_on_a_gpu():
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no CUDA device")
    expected = segment(VOLUME, 0.03, split=True, sigma=1)
    found = segment_chunked(VOLUME, 0.03, split=True, sigma=1, chunks=20, device="cuda")
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.table["area"], expected.table["area"])
