"""PNG, JPEG and BMP: read as they are, or refused."""

import io
import struct
import zlib

import imagecodecs
import numpy as np
import pytest
from PIL import Image

from equilabel.storage.errors import UnreadableImageError
from equilabel.storage.pictures import read_picture

RNG = np.random.default_rng(0)
GRAY = RNG.integers(0, 255, (40, 50), np.uint8)
COLORS = RNG.integers(0, 255, (40, 50, 3), np.uint8)


@pytest.mark.parametrize("suffix", ["png", "bmp", "PNG"])
@pytest.mark.parametrize(
    ("pixels", "axes"), [(GRAY, "YX"), (GRAY > 99, "YX"), (COLORS, "CYX")], ids=["8", "1", "RGB"]
)
def test_pixels_are_those_that_were_written(tmp_path, suffix, pixels, axes):
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(pixels).save(path, format=suffix)
    image = read_picture(path)
    assert image.axes == axes
    assert image.pixels.dtype == pixels.dtype
    expected = np.moveaxis(pixels, -1, 0) if pixels.ndim == 3 else pixels
    np.testing.assert_array_equal(image.pixels, expected)
    assert image.channels == (("red", "green", "blue") if axes == "CYX" else ())
    assert (image.spacing, image.notes) == ({}, ())


@pytest.mark.parametrize("shape", [(40, 50), (40, 50, 3), (40, 50, 4), (40, 50, 2)])
def test_all_16_bits_are_kept(tmp_path, shape):
    pixels = RNG.integers(0, 2**16, shape, np.uint16)
    (tmp_path / "a.png").write_bytes(imagecodecs.png_encode(pixels))
    image = read_picture(tmp_path / "a.png")
    assert image.pixels.dtype == np.uint16
    colors = (
        pixels[..., :3] if len(shape) == 3 and shape[2] > 2 else pixels.reshape(40, 50, -1)[..., :1]
    )
    np.testing.assert_array_equal(image.pixels.reshape(-1, 40, 50), np.moveaxis(colors, -1, 0))
    transparent = len(shape) == 3 and shape[2] in (2, 4)
    assert (
        image.notes == ("The picture has transparent pixels; their colors are used.",) * transparent
    )


def test_a_jpeg_is_read_as_pillow_decodes_it(tmp_path):
    Image.fromarray(COLORS).save(tmp_path / "a.jpg")
    expected = np.asarray(Image.open(tmp_path / "a.jpg"))
    np.testing.assert_array_equal(
        read_picture(tmp_path / "a.jpg").pixels, np.moveaxis(expected, -1, 0)
    )


def test_three_equal_colors_are_gray(tmp_path):
    Image.fromarray(np.dstack([GRAY] * 3)).save(tmp_path / "a.png")
    image = read_picture(tmp_path / "a.png")
    np.testing.assert_array_equal(image.pixels, GRAY)
    assert "read as gray" in image.notes[0]


def test_a_palette_is_applied_unless_its_numbers_are_labels(tmp_path):
    picture = Image.new("P", (50, 40))
    picture.putdata((GRAY % 3).ravel().tolist())
    picture.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 255])
    picture.save(tmp_path / "a.png")
    colors = np.array([[0, 0, 0], [255, 0, 0], [0, 0, 255]], np.uint8)[GRAY % 3]
    np.testing.assert_array_equal(
        read_picture(tmp_path / "a.png").pixels, np.moveaxis(colors, -1, 0)
    )
    numbers = read_picture(tmp_path / "a.png", indices=True)
    np.testing.assert_array_equal(numbers.pixels, GRAY % 3)


def test_colors_for_print_are_refused(tmp_path):
    Image.new("CMYK", (9, 9)).save(tmp_path / "a.jpg")
    with pytest.raises(UnreadableImageError, match=r"got CMYK\. Convert it to RGB, or TIFF"):
        read_picture(tmp_path / "a.jpg")


def test_what_a_viewer_would_show_otherwise_is_told(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(GRAY).save(tmp_path / "turned.jpg", exif=exif)
    image = read_picture(tmp_path / "turned.jpg")
    assert image.pixels.shape == GRAY.shape
    assert "asks viewers to turn" in image.notes[0]
    pictures = [Image.fromarray(GRAY), Image.fromarray(GRAY[::-1])]
    pictures[0].save(tmp_path / "film.png", save_all=True, append_images=pictures[1:])
    assert "holds 2 pictures" in read_picture(tmp_path / "film.png").notes[0]


@pytest.mark.parametrize("kind", ["png", "jpg", "bmp"])
def test_a_file_that_is_cut_anywhere_is_refused(tmp_path, kind):
    whole = io.BytesIO()
    Image.fromarray(COLORS).save(whole, format={"jpg": "jpeg"}.get(kind, kind))
    whole, path = whole.getvalue(), tmp_path / f"a.{kind}"
    for length in (0, 1, 10, 30, *range(40, len(whole) - 20, 97)):
        path.write_bytes(whole[:length])
        with pytest.raises(UnreadableImageError, match="image file must"):
            read_picture(path)
    path.write_bytes(whole)
    assert read_picture(path).pixels.shape == (3, 40, 50)


def test_a_png_with_a_flipped_bit_is_refused(tmp_path):
    whole, path = io.BytesIO(), tmp_path / "a.png"
    Image.fromarray(COLORS).save(whole, format="png")
    for place in range(20, len(whole.getvalue()) - 12, 211):
        data = bytearray(whole.getvalue())
        data[place] ^= 4
        path.write_bytes(data)
        with pytest.raises(UnreadableImageError, match="image file must"):
            read_picture(path)


def test_a_bomb_is_refused_before_it_is_decoded(tmp_path):
    """A PNG of a few bytes that announces 100,000 x 100,000 pixels."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(10**6))), (b"IEND", b"")]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(UnreadableImageError, match=r"decode to 1 GB at most; got 30 GB"):
        read_picture(tmp_path / "a.png", memory_limit=10**9)


def test_large_pictures_are_no_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    Image.fromarray(GRAY).save(tmp_path / "a.png")
    assert read_picture(tmp_path / "a.png").pixels.shape == GRAY.shape
    assert Image.MAX_IMAGE_PIXELS == 100


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (b"GIF89a", r"a GIF\. Convert it to TIFF"),
        (b"<svg>", r"XML\. Convert it to TIFF"),
        (b"II*\x00", r"a TIFF\. Rename it to end in '\.tif'\."),
        (b"hello", r"one that begins with b'hello.*'\. Convert"),
    ],
)
def test_another_format_is_refused_by_its_name(tmp_path, content, got):
    (tmp_path / "a.png").write_bytes(content + bytes(99))
    with pytest.raises(UnreadableImageError, match=f"must be a PNG, JPEG or BMP; got {got}"):
        read_picture(tmp_path / "a.png")
