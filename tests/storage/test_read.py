"""`read`, and what `segment` and `measure` know of an image that it returned."""

import numpy as np
import pytest
import tifffile
from numpy.testing import assert_array_equal
from PIL import Image as Picture

from batches import ome_zarr
from equilabel import Image, label, measure, read, samples, segment
from equilabel.storage.images import read_header

NUCLEI = samples.nuclei_2d((80, 90))
SIZES = {f"PhysicalSize{axis}": size for axis, size in zip("ZYX", (2.0, 0.5, 0.5), strict=True)}
SIZES |= {f"PhysicalSize{axis}Unit": "µm" for axis in "ZYX"}


def written(folder, pixels, axes, **more):
    path = folder / "a.ome.tif"
    tifffile.imwrite(path, pixels, ome=True, metadata={"axes": axes, **more})
    return path


def test_spacing_and_unit_are_those_of_the_file(tmp_path):
    image = read(written(tmp_path, NUCLEI, "YX", **SIZES))
    assert isinstance(image, Image)
    assert (image.axes, image.spacing, image.unit) == ("YX", {"Y": 0.5, "X": 0.5}, "µm")
    found = segment(image, "li", sigma="0.5um", min_size="3um2")
    wanted = segment(NUCLEI, "li", sigma="0.5um", min_size="3um2", spacing=0.5, unit="um")
    assert_array_equal(found.labels, wanted.labels)
    assert found.table.equals(wanted.table)
    assert segment(image, spacing=3).spacing == (3, 3)  # what is passed counts
    table = measure(found.labels, image)
    assert table.area.equals(measure(found.labels, NUCLEI, spacing=0.5).area)
    assert measure(image=image, labels=found.labels).equals(table)
    assert_array_equal(np.asarray(image), NUCLEI)
    assert_array_equal(label(image), label(NUCLEI))


def test_a_movie_with_channels(tmp_path):
    movie = samples.movie((3, 60, 70))
    both = np.stack([movie // 4, movie], axis=1)
    image = read(written(tmp_path, both, "TCYX"))
    with pytest.raises(ValueError, match="channel must be one of 0 to 1"):
        segment(image)
    found = segment(image, channel=1, sigma=1, track=True)
    wanted = segment(both, channel_axis=1, channel=1, sigma=1, stacked=True, track=True)
    assert found.table.equals(wanted.table)
    table = measure(found.labels, image, ["label", "intensity_mean"], stacked=True)
    assert list(table) == ["label", "intensity_mean-0", "intensity_mean-1"]


def test_labels_of_a_file_and_a_volume_with_a_color(tmp_path):
    volume = samples.nuclei_3d((8, 40, 40))
    image = read(written(tmp_path, volume, "ZYX", **SIZES))
    found = segment(image, "li", min_size=20)
    assert found.spacing == (2, 0.5, 0.5)
    labels = read(written(tmp_path, found.labels.astype(np.uint16), "ZYX", **SIZES))
    assert measure(labels).area.equals(found.table.area)
    color = np.dstack([NUCLEI // 8, NUCLEI // 16, NUCLEI // 9]).clip(0, 255).astype(np.uint8)
    Picture.fromarray(color).save(tmp_path / "a.png")
    pink = read(tmp_path / "a.png")
    assert pink.channels == ("red", "green", "blue")
    wanted = segment(color, channel_axis=-1, channel="gray").labels
    assert_array_equal(segment(pink, channel="gray").labels, wanted)


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "a.tif").write_bytes(b"II*\0")
    with pytest.raises(ValueError, match="must"):
        read(tmp_path / "a.tif")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing.tif")


def test_a_zarr_of_several_images_says_which_was_read_and_refuses_series(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=2)
    group.attrs["bioformats2raw.layout"] = 3
    for number in ("0", "1"):
        ome_zarr(tmp_path / "a.zarr" / number, np.eye(4, dtype="u1"), ("micrometer",) * 2, [1, 1])
    (note,) = read(tmp_path / "a.zarr").notes
    second = str(tmp_path / "a.zarr/1")
    assert "holds 2 images" in note
    assert repr(second) in note
    for reader in (read, read_header):
        with pytest.raises(ValueError, match=r"must be 0 for a Zarr; got 1\. Pass"):
            reader(tmp_path / "a.zarr", series=1)
    ome_zarr(tmp_path / "b.zarr", np.eye(4, dtype="u1"), ("micrometer",) * 2, [1, 1])
    assert not read(tmp_path / "b.zarr").notes
    for path, series in (("a.zarr", 2), ("a.zarr/1", 1), ("b.zarr", 1)):
        with pytest.raises(ValueError, match="Leave it out"):
            read(tmp_path / path, series=series)
