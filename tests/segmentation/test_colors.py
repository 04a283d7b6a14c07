"""Color images as gray values: in Python, and in the commands."""

import numpy as np
import pandas as pd
import pytest
import tifffile
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from skimage.color import rgb2hed

from batches import tiff
from equilabel import samples, segment
from equilabel.cli import main
from equilabel.colors import COLORS, STAINS, gray
from equilabel.storage.images import read_image

NUCLEI = (samples.nuclei_2d((64, 80)) // 20).clip(0, 220).astype(np.uint8)
PINK = np.stack([NUCLEI // 2 + 20, NUCLEI // 3, 250 - NUCLEI], axis=-1)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_stains_are_those_of_scikit_image(dtype):
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (20, 30, 4)).astype(np.uint8)
    wanted = rgb2hed(image[..., :3])
    if dtype != np.uint8:
        image = image / np.float32(255) if dtype == np.float32 else image * dtype(257)
    for k, stain in enumerate(STAINS):
        assert_allclose(gray(image, stain), wanted[..., k], atol=1e-6)


@pytest.mark.parametrize("color", COLORS)
def test_segment_takes_a_color(color):
    found = segment(PINK, channel_axis=-1, channel=color, sigma=1)
    wanted = segment(gray(PINK, color), sigma=1)
    assert_array_equal(found.labels, wanted.labels)
    assert found.threshold == wanted.threshold
    assert [name for name in found.table if name.startswith("intensity_mean")] == [
        f"intensity_mean-{k}" for k in range(3)
    ]


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"channel_axis": -1, "channel": "grey"}, "Did you mean 'gray'?"),
        ({"channel_axis": 0, "channel": "gray"}, "channel must be a number for an image of other"),
        ({"channel": "gray"}, "Pass channel_axis=-1 and channel='gray'"),
    ],
)
def test_refusals(how, text):
    with pytest.raises(ValueError, match=text.replace("?", r"\?")):
        segment(PINK, **how)


@pytest.mark.parametrize("name", ["a.tif", "a.png"])
def test_commands_take_a_color(here, capsys, name):
    if name == "a.tif":
        tiff(name, PINK, photometric="rgb")
    else:
        Image.fromarray(PINK).save(name)
    assert main(["segment", name]) == 1
    assert "must be one of gray, red, green, blue, hema" in capsys.readouterr().err
    for color in ("gray", "Eosin", "blue", "2"):
        assert main(["segment", name, "--channel", color, "--sigma", "1", "--overwrite"]) == 0
        channel = 2 if color == "2" else color.lower()
        wanted = segment(PINK, channel_axis=-1, channel=channel, sigma=1)
        assert_array_equal(tifffile.imread("a_labels.tif"), wanted.labels)
        table = pd.read_csv("a_table.csv")
        assert_allclose(table["intensity_mean-1"], wanted.table["intensity_mean-1"])
    tiff("two.tif", np.stack([NUCLEI, NUCLEI]), imagej=True, metadata={"axes": "CYX"})
    assert main(["segment", "two.tif", "--channel", "gray"]) == 1
    assert "--channel must be one of 0, 1 for this image" in capsys.readouterr().err


def test_gray_that_is_stored_as_colors_is_gray(here, capsys):
    tiff("a.tif", np.stack([NUCLEI] * 3, axis=-1), photometric="rgb")
    assert main(["segment", "a.tif", "--sigma", "1"]) == 0
    assert "Red, green and blue are equal everywhere" in capsys.readouterr().out
    assert_array_equal(tifffile.imread("a_labels.tif"), segment(NUCLEI, sigma=1).labels)


def test_gray_palettes_are_applied_but_to_labels(here):
    ramp = np.arange(256, dtype=np.uint16)[::-1] * 257
    tiff("a.tif", NUCLEI, photometric="palette", colormap=np.stack([ramp] * 3))
    image = read_image("a.tif")
    assert_array_equal(image.pixels, 255 - NUCLEI)
    assert image.pixels.dtype == np.uint8
    assert_array_equal(read_image("a.tif", indices=True).pixels, NUCLEI)
    uneven = np.stack([ramp, ramp, ramp // 2])
    tiff("b.tif", NUCLEI, photometric="palette", colormap=uneven)
    assert_array_equal(read_image("b.tif").pixels, NUCLEI)
    steep = ramp // 3 + 5
    tiff("c.tif", NUCLEI, photometric="palette", colormap=np.stack([steep] * 3))
    assert_array_equal(read_image("c.tif").pixels, steep[NUCLEI])


@pytest.mark.gpu
def test_a_gpu_finds_the_same_pixels():
    import cupy

    for color in COLORS:
        there = gray(cupy.asarray(PINK), color)
        assert_allclose(there.get(), gray(PINK, color), rtol=1e-5, atol=1e-6)
