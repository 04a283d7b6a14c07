"""Read PNG, JPEG and BMP: checked before they are decoded, and complete or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import normalize_bools

from .errors import decoding, refuse, refuse_format, refuse_large
from .metadata import Header, TiffImage

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

FORMATS = ("PNG", "JPEG", "BMP")
NAMES = ("red", "green", "blue")
# Modes of Pillow: bytes per pixel. A palette may become RGBA.
MODES = {"1": 1, "L": 1, "LA": 2, "P": 4, "I": 4, "I;16": 2, "I;16B": 2, "RGB": 3, "RGBA": 4}
GRAY = "Red, green and blue are equal everywhere; the picture was read as gray."
ORIENTATION = 274  # tag of EXIF: how a viewer should rotate the picture


def read_picture(
    path: Path | str, *, memory_limit: int | None = None, indices: bool = False
) -> TiffImage:
    """Read a PNG, JPEG or BMP, completely or not at all; as gray if its colors are all equal.

    `memory_limit` is in bytes of decoded pixels. A palette is applied unless `indices`, as for
    labels.
    """
    path = Path(path)
    with path.open("rb") as file, decoding():
        with _opened(file) as picture:
            if picture.format == "PNG":
                picture.verify()  # decoding does not check the checksums
        file.seek(0)
        with _opened(file) as picture:
            deep = _is_deep(picture)
            each = MODES.get(picture.mode, 4) * (1 + deep)
            refuse_large(picture.width * picture.height * each, memory_limit)
            if deep:
                import imagecodecs

                file.seek(0)
                pixels = np.asarray(imagecodecs.png_decode(file.read()))
            else:
                pixels = _decoded(picture, indices)
            notes = _notes(picture)
    pixels, left_out = _without_alpha(pixels)
    if pixels.ndim == 3 and (pixels == pixels[..., :1]).all():
        pixels = pixels[..., 0]
        notes.append(GRAY)
    colors = pixels.ndim == 3
    pixels = np.ascontiguousarray(np.moveaxis(pixels, -1, 0) if colors else pixels)
    axes, channels = ("CYX", NAMES) if colors else ("YX", ())
    return TiffImage(pixels, axes, channels=channels, notes=(*notes, *left_out))


def header_of_picture(path: Path) -> Header:
    """Return shape, axes and type of the pixels of a picture without decoding them."""
    with path.open("rb") as file, decoding(), _opened(file) as picture:
        width, height = picture.size
        deep = _is_deep(picture)
        wide = deep or picture.mode.startswith("I")
        kind = "uint16" if wide else "bool" if picture.mode == "1" else "uint8"
        if picture.mode in ("RGB", "RGBA", "P"):
            return Header((3, height, width), "CYX", kind)
        return Header((height, width), "YX", kind)


def _opened(file: Any) -> Any:
    """Open a picture of any size; the memory limit is checked later."""
    from PIL import Image, UnidentifiedImageError

    most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        return Image.open(file, formats=FORMATS)
    except UnidentifiedImageError:
        refuse_format("be a PNG, JPEG or BMP", file.seek(0) or file.read(16))
    finally:
        Image.MAX_IMAGE_PIXELS = most


def _is_deep(picture: Any) -> bool:
    """Return whether a PNG has several channels of 16 bits, of which Pillow keeps 8 bits."""
    return picture.format == "PNG" and picture.tile[0][3] in ("LA;16B", "RGB;16B", "RGBA;16B")


def _decoded(picture: Any, indices: bool) -> HostArray:
    """Return the pixels of a picture, channels last."""
    if picture.mode not in MODES:
        refuse("be gray, or have red, green and blue", picture.mode, "Convert it to RGB, or TIFF.")
    picture.load()
    if picture.mode == "P" and not indices:
        picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
    pixels: HostArray = normalize_bools(np.asarray(picture))
    if picture.mode == "I" and pixels.size and pixels.min() >= 0 and pixels.max() < 2**16:
        return pixels.astype(np.uint16)  # older versions of Pillow read 16 bits so
    return pixels.astype(pixels.dtype.newbyteorder("="))


def _without_alpha(pixels: HostArray) -> tuple[HostArray, tuple[str, ...]]:
    """Leave out transparency; return a note if there was any."""
    if pixels.ndim == 2 or pixels.shape[-1] not in (2, 4):
        return pixels, ()
    opaque = (pixels[..., -1] == np.iinfo(pixels.dtype).max).all()
    rest = pixels[..., :-1]
    note = () if opaque else ("The picture has transparent pixels; their colors are used.",)
    return rest[..., 0] if rest.shape[-1] == 1 else rest, note


def _notes(picture: Any) -> list[str]:
    notes: list[str] = []
    count = getattr(picture, "n_frames", 1)
    if count > 1:
        notes.append(f"The file holds {count} pictures; the first was read and no other.")
    if picture.getexif().get(ORIENTATION, 1) != 1:
        notes.append("The file asks viewers to turn the picture; it was read as it is stored.")
    return notes
