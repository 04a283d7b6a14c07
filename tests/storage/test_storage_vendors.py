"""Files of microscope vendors, read by bioio; a stand-in for it, where it is not installed."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from batches import summary
from equilabel.cli import main
from equilabel.storage import images
from equilabel.storage.errors import UnreadableImageError

STORED = np.full((1, 2, 3, 24, 32), 20, ">u2")
STORED[:, 1, :, 4:12, 4:10] = STORED[:, 1, :, 4:12, 14:20] = 900


class UnsupportedFileFormatError(Exception):
    pass


@pytest.fixture
def bioio(monkeypatch):
    """Let a class with what is used of `bioio.BioImage` take its place."""

    class BioImage:
        scenes = ("first", "second")
        dims = SimpleNamespace(order="TCZYX")
        physical_pixel_sizes = SimpleNamespace(Z=1.0, Y=0.2, X=0.2)
        channel_names = ("DAPI", "GFP")
        shape, dtype, data = STORED.shape, STORED.dtype, STORED

        def __init__(self, path):
            if b"damaged" in path.read_bytes():
                raise RuntimeError(path.name)
            if b"unknown" in path.read_bytes():
                raise UnsupportedFileFormatError(path)

        def set_scene(self, number):
            self.data = STORED + np.uint16(number)

    monkeypatch.setitem(sys.modules, "bioio", SimpleNamespace(BioImage=BioImage))
    return BioImage


def file(content=b"", name="a.czi"):
    Path(name).write_bytes(content)
    return Path(name)


def test_axes_sizes_channels_and_series_are_read(here, bioio):
    image = images.read_image(file(), series=1)
    assert (image.axes, image.spacing, image.unit) == ("CZYX", {"Z": 1, "Y": 0.2, "X": 0.2}, "µm")
    assert image.channels == ("DAPI", "GFP")
    assert image.pixels.dtype == np.dtype("=u2")
    np.testing.assert_array_equal(image.pixels, STORED[0] + 1)
    assert image.notes == ("The file holds 2 images; number 1 was read (see --series).",)
    with pytest.raises(ValueError, match=r"series must be 0 to 1 for 'a\.czi'; got 2"):
        images.read_image(file(), series=2)


def test_pixel_sizes_that_are_missing_are_left_out(here, bioio):
    bioio.physical_pixel_sizes = SimpleNamespace(Z=None, Y=0.2, X=0.2)
    assert images.read_image(file()).spacing == {"Y": 0.2, "X": 0.2}


@pytest.mark.parametrize("sizes", [SimpleNamespace(Z=None, Y=0.0, X=None), None, property(vars)])
def test_a_file_without_a_scale_is_read_in_pixels_with_a_note(here, bioio, sizes):
    bioio.physical_pixel_sizes = sizes
    if sizes is not None:
        bioio.channel_names = property(vars)
    image = images.read_image(file())
    assert (image.spacing, image.unit) == ({}, "")
    assert image.notes[0].startswith("The file gives no pixel size: lengths are in pixels")
    np.testing.assert_array_equal(image.pixels, STORED[0])


def test_damaged_and_large_files_are_refused(here, bioio):
    with pytest.raises(UnreadableImageError, match="got RuntimeError: a"):
        images.read_image(file(b"damaged"))
    with pytest.raises(UnreadableImageError, match=r"decode to 9 kB at most; got 9\.22 kB"):
        images.read_image(file(), memory_limit=9000)


def test_a_folder_of_them_is_labeled(here, bioio):
    Path("in").mkdir()
    file(name="in/a.czi")
    assert main(["batch", "in", "--out", "out", "--channel", "GFP"]) == 0
    assert summary()["in/a.czi"]["objects"] == "2"
    assert summary()["in/a.czi"]["unit"] == "µm"


def test_what_is_missing_is_told_with_what_to_install(here, bioio, monkeypatch):
    with pytest.raises(ImportError, match="Install both with `pip install bioio bioio-dv`"):
        images.read_image(file(b"unknown", "a.dv"))
    monkeypatch.setitem(sys.modules, "bioio", None)
    Path("in").mkdir()
    file(name="in/a.lif")
    assert main(["batch", "in", "--out", "out"]) == 1
    assert "`pip install bioio bioio-lif`" in summary()["in/a.lif"]["error"]


def test_every_ending_has_its_package():
    assert tuple(images.PACKAGES) == images.VENDORS
