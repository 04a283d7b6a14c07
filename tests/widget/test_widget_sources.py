"""Layers as sources: pixels of every kind, sizes and units, and what is too large."""

import numpy as np
import pytest

from equilabel.colors import gray
from equilabel.storage.memory import slabs
from equilabel.widget.logic.choices import Choices
from equilabel.widget.logic.planes import Plane
from equilabel.widget.logic.sources import Source, check_memory, forecast

Image = pytest.importorskip("napari.layers").Image
COLORED = np.random.default_rng(0).integers(0, 255, (6, 7, 3), np.uint8)


def test_a_plain_layer_is_taken_as_it_is():
    pixels = np.arange(12, dtype="u2").reshape(3, 4)
    source = Source.of(Image(pixels, name="cells", scale=(2, 3)))
    assert (source.name, source.shape, source.lazy, source.rgb) == ("cells", (3, 4), False, False)
    assert source.read() is pixels


def test_the_finest_level_of_a_pyramid_is_taken():
    fine = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    source = Source.of(Image([fine, fine[::2, ::2], fine[::4, ::4]], multiscale=True))
    assert source.multiscale
    np.testing.assert_array_equal(source.read(), fine)


def test_a_dask_array_is_read_piece_by_piece(monkeypatch):
    dask = pytest.importorskip("dask.array")
    monkeypatch.setattr("equilabel.storage.memory.SLAB", 100)
    pixels = np.arange(5 * 8 * 9, dtype="u2").reshape(5, 8, 9)
    source = Source.of(Image(dask.from_array(pixels, chunks=(2, 8, 9))))
    told = []
    assert source.lazy
    np.testing.assert_array_equal(source.read(report=told.append), pixels)
    assert told == ["read"] * 5


def test_reading_stops_when_told_to():
    dask = pytest.importorskip("dask.array")
    source = Source.of(Image(dask.zeros((4, 8, 9))))

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.read(report=stop)


def test_pixels_that_cannot_be_read_are_told_with_a_remedy():
    dask = pytest.importorskip("dask.array")

    def fail(block):
        if block.any():
            message = "the disk\nwas unplugged."
            raise EOFError(message)
        return block

    planes = dask.from_array(np.arange(4.0).repeat(72).reshape(4, 8, 9) > 2, chunks=(2, 8, 9))
    remote = planes.map_blocks(fail, meta=np.zeros((0, 0, 0), bool))
    image = Image(remote, name="remote", axis_labels=("z", "y", "x"), contrast_limits=(0, 1))
    source = Source.of(image)
    told = r"^pixels of 'remote' must be readable; got: the disk was unplugged\. Check that "
    with pytest.raises(OSError, match=told):
        source.read()
    assert not Plane(source, Choices(), (0, 0, 0), (1, 2)).read().any()
    with pytest.raises(OSError, match=told):
        Plane(source, Choices(), (3, 0, 0), (1, 2)).read()


@pytest.mark.parametrize("shape", [(), (0, 4), (4, 0), (3,), (5, 6, 7)])
def test_slabs_cover_an_array_once(shape, monkeypatch):
    monkeypatch.setattr("equilabel.storage.memory.SLAB", 50)
    seen = np.zeros(shape, int)
    for part in slabs(shape, 1):
        seen[part] += 1
    assert (seen == 1).all()


def test_colors_become_one_value():
    source = Source.of(Image(COLORED, rgb=True))
    assert source.rgb
    assert source.shape == (6, 7)
    for number, name in enumerate(("red", "green", "blue")):
        np.testing.assert_array_equal(source.read(name), COLORED[..., number])


def test_luminance_is_that_of_scikit_image():
    from skimage.color import rgb2gray

    np.testing.assert_allclose(gray(COLORED, "gray") / 255, rgb2gray(COLORED), atol=1e-6)


def test_opacity_is_left_out_of_the_luminance():
    opaque = np.dstack([COLORED, np.full((6, 7), 9, np.uint8)])
    np.testing.assert_array_equal(gray(opaque, "gray"), gray(COLORED, "gray"))


# ---------------------------------------------------------- sizes and units


def test_sizes_are_those_of_space_in_one_unit():
    layer = Image(np.zeros((4, 5, 6, 7)), scale=(60, 2000, 0.5, 0.5), units=("s", "nm", "um", "um"))
    source = Source.of(layer)
    assert source.roles == ("time", "space", "space", "space")
    assert source.pixel_size == ((2.0, 0.5, 0.5), "µm")


def test_a_unit_of_time_tells_an_axis_of_time():
    layer = Image(np.zeros((30, 51, 52)), units=("s", "um", "um"))
    assert Source.of(layer).roles == ("time", "space", "space")
    assert Source.of(layer).explain_guess() == ""


def test_pixels_have_no_unit():
    source = Source.of(Image(np.zeros((4, 5))))
    assert source.pixel_size == ((1.0, 1.0), "")


def test_units_that_cannot_be_compared_are_left_out():
    source = Source.of(Image(np.zeros((4, 5)), units=("pixel", "um"), scale=(2, 3)))
    assert source.pixel_size == ((2.0, 3.0), "")


def test_sizes_that_nobody_can_mean_are_told_of():
    said = "A pixel is 100 cm long along {}, more than a millimeter: set scale and units of the"
    given = {"scale": (100, 100), "units": ("cm", "cm")}
    source = Source.of(Image(np.zeros((4, 5)), **given, axis_labels=("row", "x")))
    assert source.doubt_pixel_size().startswith(said.format("row"))
    for given in ({}, {"scale": (100, 100)}, {"units": ("mm", "mm")}):
        assert Source.of(Image(np.zeros((4, 5)), **given)).doubt_pixel_size() == ""


def test_a_mirrored_axis_has_a_size_all_the_same():
    source = Source.of(Image(np.zeros((4, 5)), scale=(-2, 3)))
    assert source.pixel_size[0] == (2.0, 3.0)


# --------------------------------------------------------------- too large


def test_an_image_that_cannot_fit_is_refused_in_a_sentence():
    dask = pytest.importorskip("dask.array")
    source = Source.of(Image(dask.zeros((400_000, 4096, 4096), dtype="u1"), contrast_limits=(0, 1)))
    with pytest.raises(
        MemoryError, match=r"^image must fit into memory .*; got .* GB free\. Crop it"
    ):
        source.read()


def test_what_is_in_memory_is_not_counted_again():
    pixels = np.zeros((100, 100), "u2")
    here = Source.of(Image(pixels))
    dask = pytest.importorskip("dask.array")
    there = Source.of(Image(dask.from_array(pixels)))
    assert forecast(there) - forecast(here) == pixels.nbytes
    check_memory(here, {}, forecast(here))
    with pytest.raises(MemoryError):
        check_memory(here, {}, forecast(here) - 1)


def test_stages_of_a_run_count_when_it_is_asked_whether_it_fits():
    source = Source.of(Image(np.zeros((1000, 1000), "u1")))
    given = Choices(split=True, sigma=1.0).arguments(source)
    assert forecast(source, given) - forecast(source) > 60 * source.data.size
    with pytest.raises(MemoryError, match="must fit into memory"):
        check_memory(source, given, 2 * forecast(source))
