"""Read an image or its header in any format: a file, an OME-Zarr, or a folder of slices."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from equilabel.arguments import check_path, check_whole, shown

from .errors import UnreadableImageError, check_series, decoding, refuse, refuse_large
from .files import sha256
from .metadata import Header, TiffImage, canonical, positive
from .ome_zarr import describe_zarr, is_zarr, read_zarr, refuse_plain
from .pictures import GRAY, NAMES, header_of_picture, read_picture

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

# The package that adds a format to bioio, by the ending of file names.
PACKAGES = {
    ".czi": "bioio-czi",
    ".nd2": "bioio-nd2",
    ".lif": "bioio-lif",
    ".dv": "bioio-dv",
    ".sldy": "bioio-sldy",
}
TIFF = (".tif", ".tiff", ".btf", ".tf8")
PICTURES, VENDORS = (".png", ".jpg", ".jpeg", ".bmp"), tuple(PACKAGES)
SUFFIXES = (*TIFF, *PICTURES, *VENDORS)
NUMBER = re.compile(r"(\d+)")
OTHERS = "Move what is no slice to another folder, or rename it."
STACKS = "Put each stack and each channel into a folder of its own, or rename the files."


def is_tiff(path: Path) -> bool:
    """Return whether a path is read as a TIFF: a file without the ending of another format."""
    return path.suffix.lower() not in (*PICTURES, *VENDORS) and not path.is_dir()


def read(path: Path | str, *, series: int = 0) -> TiffImage:
    """Read an image file with its axes, channels and pixel size.

    Parameters
    ----------
    path : str or Path
        A TIFF (also OME-TIFF and ImageJ), PNG, JPEG or BMP, an OME-Zarr, a folder of slices, or a
        CZI, ND2 or LIF (with bioio).
    series : int
        Index of the image in a file with several.

    Returns
    -------
    Image
        Its pixels, axes, spacing, unit and channels. `segment` and `measure` take it in place of an
        array, and then know its spacing, unit, channels and whether it is a movie; other functions
        take it as its pixels.

    Raises
    ------
    OSError, ValueError
        If the file cannot be read, is damaged, or does not fit into memory.

    See Also
    --------
    segment, measure

    Examples
    --------
    >>> import tempfile
    >>> from equilabel.storage.tiff import write_labels
    >>> file = Path(tempfile.mkdtemp()) / "cells.tif"
    >>> write_labels(file, np.eye(3, dtype=int), axes="YX", spacing={"Y": 2, "X": 2}, unit="µm")
    >>> image = read(file)
    >>> image.axes, image.spacing, image.unit
    ('YX', {'Y': 2.0, 'X': 2.0}, 'µm')
    """
    file, series = check_path("path", path), check_whole("series", series, 0)
    if not file.exists():
        message = (
            f"path must be that of a file or a folder; got {shown(str(file))}, nothing. Check it."
        )
        raise FileNotFoundError(message)
    return read_image(file, series=series)


def read_image(
    path: Path | str,
    *,
    series: int = 0,
    memory_limit: int | None = None,
    indices: bool = False,
    accept: Callable[[Header], None] | None = None,
) -> TiffImage:
    """Read an image with the reader for its ending; as a TIFF if the ending is unknown.

    A folder is a volume of slices, unless it is an OME-Zarr. `accept` is called with the header of
    a TIFF before pixels are decoded, and may raise; the rest is as for `read_tiff` and
    `read_picture`.
    """
    path = Path(path)
    if is_zarr(path):
        return read_zarr(path, series)
    if path.is_dir():
        read = partial(read_image, series=series, memory_limit=memory_limit, indices=indices)
        return read_slices(slices_in(path, SUFFIXES), read, memory_limit=memory_limit)
    if path.suffix.lower() in PICTURES:
        check_series(series, path, 1)
        return read_picture(path, memory_limit=memory_limit, indices=indices)
    if path.suffix.lower() in VENDORS:
        return read_vendor(path, series=series, memory_limit=memory_limit)
    from .tiff import read_tiff

    given: Any = {"series": series, "memory_limit": memory_limit, "accept": accept}
    return _without_colors(read_tiff(path, **given, indices=indices))


def _without_colors(image: TiffImage) -> TiffImage:
    """Return a TIFF in colors as gray if red, green and blue are equal everywhere."""
    if image.channels[:3] != NAMES:
        return image
    axis = image.axes.index("C")
    first, *others = (image.pixels.take(k, axis) for k in range(3))
    if not all(np.array_equal(first, other) for other in others):
        return image
    axes, notes = image.axes.replace("C", ""), (*image.notes, GRAY)
    return replace(image, pixels=first, axes=axes, channels=(), notes=notes)


def read_header(path: Path | str, *, series: int = 0) -> Header:
    """Read the header of a file, an OME-Zarr, or a folder of slices, without decoding pixels."""
    path = Path(path)
    if is_zarr(path):
        image = describe_zarr(path, series)
        refuse_plain(image)
        return Header(tuple(image.pixels.shape), image.axes, image.pixels.dtype.name)
    if path.is_dir():
        slices = slices_in(path, SUFFIXES)
        if not slices:
            return Header((0, 0, 0), "ZYX", "uint8")
        plane = read_header(slices[0], series=series)
        shape = (*plane.shape[:-2], len(slices), *plane.shape[-2:])
        return Header(shape, plane.axes.replace("YX", "ZYX"), plane.dtype)
    if path.suffix.lower() in PICTURES:
        return header_of_picture(path)
    if path.suffix.lower() in VENDORS:
        return header_of_vendor(path, series)
    from .tiff import header_of_tiff

    return header_of_tiff(path, series)


# ---- Files of microscope vendors


def read_vendor(path: Path | str, *, series: int = 0, memory_limit: int | None = None) -> TiffImage:
    """Read the image `series` (scene) of a file that bioio reads; its spacing is in µm."""
    image, scenes = _open_vendor(Path(path), series)
    refuse_large(math.prod(image.shape) * np.dtype(image.dtype).itemsize, memory_limit)
    with decoding():
        stored = np.asarray(image.data)
    if stored.dtype.kind not in "buif":
        refuse("hold real numbers of a known type", stored.dtype)
    pixels, axes, notes = canonical(stored, image.dims.order)
    sizes, names = (_told(image, name) for name in ("physical_pixel_sizes", "channel_names"))
    known = {axis: positive(getattr(sizes, axis, None)) for axis in "ZYX" if axis in axes}
    spacing = {axis: size for axis, size in known.items() if size is not None}
    if not spacing:
        notes += (
            "The file gives no pixel size: lengths are in pixels, unless --spacing is given.",
        )
    if scenes > 1:
        notes += (f"The file holds {scenes} images; number {series} was read (see --series).",)
    return TiffImage(
        np.ascontiguousarray(pixels, pixels.dtype.newbyteorder("=")),
        axes,
        spacing=spacing,
        unit="µm",
        channels=tuple(map(str, names or ())),
        series=series,
        series_count=scenes,
        notes=notes,
    )


def header_of_vendor(path: Path, series: int) -> Header:
    """Return shape, axes and type of the pixels of an image."""
    image, _ = _open_vendor(path, series)
    return Header.of(image.shape, image.dims.order, image.dtype)


def _open_vendor(path: Path, series: int) -> tuple[Any, int]:
    """Open a file and choose one of its images; return it and the number of images."""
    package = PACKAGES[path.suffix.lower()]
    path.stat()  # raises OSError if it is missing
    try:
        import bioio

        with decoding():
            image = bioio.BioImage(path)
    except (ImportError, UnreadableImageError) as error:
        is_installed = find_spec(package.replace("-", "_")) is not None
        unknown = type(error.__cause__).__name__ == "UnsupportedFileFormatError"
        if not isinstance(error, ImportError) and (is_installed or not unknown):
            raise
        got = f"no {package}" if unknown else error
        message = (
            f"{path.suffix} files need bioio and {package}; got {got}. Install both with "
            f"`pip install bioio {package}`, or export the image as OME-TIFF."
        )
        raise ImportError(message) from error
    count = len(image.scenes)
    check_series(series, path, count)
    image.set_scene(series)
    return image, count


def _told(image: Any, name: str) -> Any:
    try:
        return getattr(image, name)
    except Exception:  # readers raise different errors; the pixels were read
        return None


# ---- A folder of numbered slices, read as one volume


def slices_in(folder: Path, suffixes: Collection[str]) -> list[Path]:
    """Return the images in a folder, without those below it and hidden files."""
    named = (path for path in folder.iterdir() if path.suffix.lower() in suffixes)
    found = [path for path in named if path.name[0] != "." and not path.is_dir()]
    for path in found:
        if path.exists() and not path.is_file():  # opening a pipe would block
            _refuse_slices("be files", f"a device or a pipe, {path.name!r}", OTHERS)
    return sorted(found)


def hash_of(paths: Sequence[Path], folder: Path | None = None) -> str:
    """Return a checksum of the names and contents of files; names are relative to `folder`."""
    names = [path.name if folder is None else path.relative_to(folder) for path in paths]
    pairs = zip(paths, names, strict=True)
    lines = "".join(f"{sha256(path)}  {name}\n" for path, name in pairs)
    return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()


def in_order(names: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of slices by their number, and a note if numbers are missing.

    Names differ in one number, or in several of which one is different in each.
    """
    parts = [NUMBER.split(name) for name in names]
    for name, part in zip(names, parts, strict=True):
        if part[::2] != parts[0][::2]:
            got = f"{names[0]!r} and {name!r}"
            _refuse_slices("have names that differ in a number alone", got, OTHERS)
    columns = list(zip(*([int(digits) for digits in part[1::2]] for part in parts), strict=True))
    own = [column for column in columns if len(set(column)) == len(names)]
    if not own:
        last = columns[-1]
        shared = Counter(last).most_common(1)[0][0]
        pair = [name for name, number in zip(names, last, strict=True) if number == shared][:2]
        rule = "have a number that is different in each name"
        _refuse_slices(rule, " and ".join(map(repr, pair)), STACKS)
    # Of several, the most regular one: a number rather than a time.
    chosen = max(reversed(own), key=lambda column: max(_rises(column).values(), default=0))
    ordered = sorted(zip(chosen, names, strict=True))
    rises = _rises(chosen)
    common = min(rises, key=lambda rise: (-rises[rise], rise), default=1)
    gaps = [(a, b) for (n, a), (m, b) in pairwise(ordered) if m - n != common]
    if not gaps:
        return [name for _, name in ordered], ()
    more = f", and at {len(gaps) - 1} more places" if len(gaps) > 1 else ""
    note = (
        f"Slices may be missing between {gaps[0][0]!r} and {gaps[0][1]!r}{more}: numbers rise by "
        f"{common} elsewhere."
    )
    return [name for _, name in ordered], (note,)


def _rises(numbers: Sequence[int]) -> Counter[int]:
    """Count by how much sorted numbers rise."""
    return Counter(after - before for before, after in pairwise(sorted(numbers)))


def read_slices(
    paths: Sequence[Path], read: Callable[[Path], TiffImage], *, memory_limit: int | None = None
) -> TiffImage:
    """Read planes of one shape and type, in any order, as a volume with axes ZYX or CZYX."""
    if len(paths) < 2:
        remedy = "Label a single image by its name."
        _refuse_slices("be two or more in a folder", len(paths), remedy)
    names, notes = in_order([path.name for path in paths])
    known = {path.name: path for path in paths}
    images: list[TiffImage] = []
    for name in names:
        try:
            image = read(known[name])
        except ValueError as error:
            message = f"slice {name!r}: {error}"
            raise UnreadableImageError(message) from error
        if not images:
            refuse_large(image.pixels.nbytes * len(names), memory_limit)
        images.append(image)
        _check_alike(name, image, names[0], images[0])
    chosen = next((k for k, image in enumerate(images) if image.axes == "CYX"), 0)
    first, color, leading = images[0], images[chosen], images[chosen].pixels.shape[:-2]
    for name, image in zip(names, images, strict=True):
        # A black slice of a volume in colors was read as gray.
        if image.pixels.shape[:-2] != leading and not (leading and GRAY in image.notes):
            got = f"{leading[0]} in {names[chosen]!r} and another number in {name!r}"
            _refuse_slices("have one number of channels", got, OTHERS)
    if any(image.spacing != first.spacing or image.unit != first.unit for image in images):
        notes += ("Slices differ in their pixel size; that of the first was used (see --spacing).",)
    said = dict.fromkeys(note for image in images for note in image.notes)
    if leading:
        said.pop(GRAY, None)
    volume = np.empty((*leading, len(images), *first.pixels.shape[-2:]), first.pixels.dtype)
    for k in range(len(images)):
        volume[..., k, :, :] = images[k].pixels  # a gray one for all channels
        images[k] = color  # a plane that is copied is released
    facts: Any = {"spacing": first.spacing, "unit": first.unit, "notes": (*notes, *said)}
    return replace(color, pixels=volume, axes=color.axes.replace("YX", "ZYX"), **facts)


def _check_alike(name: str, image: TiffImage, one: str, first: TiffImage) -> None:
    """Refuse a slice that is not a plane, or differs from the first in size or type."""
    if image.axes not in ("YX", "CYX"):
        what = f"axes {image.axes!r} in {name!r}"
        _refuse_slices("be planes", what, "Label it without --slices.")
    for rule, got, expected in (
        ("be of one size", image.pixels.shape[-2:], first.pixels.shape[-2:]),
        ("be of one type", image.pixels.dtype, first.pixels.dtype),
    ):
        if got != expected:
            _refuse_slices(rule, f"{expected} in {one!r} and {got} in {name!r}", OTHERS)


def _refuse_slices(rule: str, got: object, remedy: str) -> NoReturn:
    message = f"slices must {rule}; got {got}. {remedy}"
    raise UnreadableImageError(message)
