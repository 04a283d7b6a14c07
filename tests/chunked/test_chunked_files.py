"""Files of images and labels in chunks: TIFFs of every kind of pages, and shards of a Zarr."""

from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr

from attack import stale
from equilabel import label, label_chunked, segment_chunked
from equilabel.chunked import checks

NOISE = np.random.default_rng(2).random((20, 24, 28)) < 0.3


def files(folder):
    return {
        file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_pages_that_were_written_one_by_one_are_read_as_one_stack(compression, tmp_path):
    with tifffile.TiffWriter(tmp_path / "pages.tif") as writer:
        for page in NOISE.astype(np.uint8):
            writer.write(page, contiguous=False, compression=compression)
    found = label_chunked(tmp_path / "pages.tif", out=tmp_path / "out.zarr", chunks=(7, -1, 9))
    np.testing.assert_array_equal(zarr.open_array(found)[...], label(NOISE))


def test_a_tiff_whose_parts_have_another_shape_than_the_whole_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(tifffile.TiffPageSeries, "aszarr", lambda self, **_: self[0].aszarr())
    tifffile.imwrite(tmp_path / "noise.tif", NOISE.astype(np.uint8))
    with pytest.raises(ValueError, match=r"with its shape \(20, 24, 28\); got \(24, 28\)"):
        label_chunked(tmp_path / "noise.tif", out=tmp_path / "out.zarr")


def test_shards_hold_the_chunks_of_a_block_and_have_one_writer(tmp_path, monkeypatch):
    def stop(stage, done, total):
        if (stage, done) == ("write", 5):
            raise KeyboardInterrupt

    stored = tmp_path / "noise.zarr"
    zarr.create_array(stored, shape=NOISE.shape, chunks=(8,) * 3, dtype="?")[...] = NOISE
    out, work = tmp_path / "out.zarr", {"chunks": (16, 8, 24), "shards": True}
    with pytest.raises(KeyboardInterrupt):
        label_chunked(stored, out=out, **work, progress=stop)
    label_chunked(stored, out=out, **work, resume=True)
    labels = zarr.open_array(out)
    assert (labels.chunks, labels.shards) == ((8, 8, 8), (16, 8, 24))
    assert len(list((out / "c").rglob("*/*/*"))) == 2 * 3 * 2
    np.testing.assert_array_equal(labels[...], label(NOISE))
    label_chunked(stored, out=tmp_path / "expected.zarr", **work)
    expected = files(tmp_path / "expected.zarr")
    assert {name: data for name, data in files(out).items() if name.name != "zarr.json"} == {
        name: data for name, data in expected.items() if name.name != "zarr.json"
    }
    written = sorted((out / "c").rglob("*/*/*"))[0]
    written.write_bytes(written.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"(?i)checksum|crc"):
        zarr.open_array(out)[...]
    monkeypatch.setattr(checks, "MANY", 30)
    found = label_chunked(stored, out=tmp_path / "many.zarr", chunks=16)
    assert zarr.open_array(found).shards == (16, 16, 16)


@pytest.mark.parametrize("seed", range(8))
def test_an_image_that_was_replaced_since_the_last_call_is_read_anew(seed, monkeypatch):
    pass
    assert stale.judge(seed) == ("correct", "")


def test_a_run_does_not_go_on_with_an_image_in_memory_that_has_changed(tmp_path):
    image = zarr.create_array({}, shape=NOISE.shape, chunks=(8,) * 3, dtype="?")
    image[...] = NOISE
    label_chunked(image, out=tmp_path / "out.zarr")
    label_chunked(image, out=tmp_path / "out.zarr", resume=True)
    image[0, 0, 0] = not NOISE[0, 0, 0]
    with pytest.raises(ValueError, match="resume must go on with the image"):
        label_chunked(image, out=tmp_path / "out.zarr", resume=True)


@pytest.mark.parametrize("address", ["s3://bucket/a.zarr", "https://host/a.zarr"])
def test_a_url_that_has_become_a_path_is_refused(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for work in (label_chunked, lambda *image, **more: segment_chunked(*image, **more, axes="ZYX")):
        with pytest.raises(ValueError, match=r"out must be a path on this machine, not a URL; got"):
            work(NOISE.astype(np.uint8), chunks=8, out=Path(address))
        with pytest.raises(ValueError, match="label_image must be a path on this machine"):
            work(Path(address), out="labels.zarr")
    assert not list(tmp_path.iterdir())


def test_a_folder_whose_name_ends_in_a_colon_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plate:").mkdir()
    label_chunked(NOISE, chunks=-1, out=Path("plate:/labels.zarr"))
    assert Path("plate:/labels.zarr").is_dir()
