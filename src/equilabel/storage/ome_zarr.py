"""Zarr and OME-Zarr (NGFF 0.4 and 0.5): find, check and read arrays, and what their axes mean."""

from __future__ import annotations

import itertools
import json
import warnings
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .errors import UnreadableImageError, decoding, in_words, refuse
from .files import is_remote, kind_of_file, replacing
from .memory import free, readable
from .metadata import TiffImage, calibrate, canonical, letter_of, positive, seconds
from .remote import zarr_store

LONGEST = 2**24  # most bytes of a description
DESCRIPTIONS = ("zarr.json", ".zarray", ".zattrs")
NODES = (".zarray", "zarr.json", ".zgroup")  # one of these is in the folder of an array or a group
MOST = 2**63  # bytes of an array; sizes must fit in int64


class Level(NamedTuple):
    """One resolution of an OME-Zarr: its array, and coordinates `scale * index + translation`."""

    path: Path
    scale: tuple[float, ...]
    translation: tuple[float, ...]


@dataclass(frozen=True)
class ZarrImage:
    """An array of a Zarr and, for an OME-Zarr, the meaning of its axes."""

    path: Path  # folder of the array in full resolution
    group: Path | None = None  # folder of the OME-Zarr
    axes: str = ""  # one letter of T, C, Z, Y, X for each axis; "" if unknown
    spacing: dict[str, float] | None = None  # pixel size along Z, Y and X where known
    unit: str = ""  # of `spacing`; "" if unknown
    version: str = ""  # of NGFF; "" for a plain Zarr
    channels: tuple[str, ...] = ()  # names, or none
    interval: float | None = None  # seconds between time points
    levels: tuple[Level, ...] = ()  # all resolutions, the full one first; none if axes are unknown
    # of the coordinates of each axis, as spelled in the file; "" for none
    units: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # sentences about what was left out


def is_zarr(path: Path) -> bool:
    """Return whether a path is the folder of a Zarr array or group, and can be read."""
    try:
        folder = is_remote(path) or path.is_dir()  # a web server lists no folders
        return folder and any((path / name).is_file() for name in NODES)
    except PermissionError:
        return False


def describes_labels(path: Path) -> bool:
    """Return whether an OME-Zarr says that its pixels are labels; False if it cannot be read."""
    try:
        attributes = _attributes(path) or {}
    except (OSError, ValueError):
        return False
    ome = attributes.get("ome", attributes)
    return isinstance(ome, dict) and "image-label" in ome


def files_of(path: Path) -> list[Path]:
    """List the files of the array in full resolution and its metadata, for an image in a Zarr."""
    found = find_image(path)
    files = [file for file in found.path.rglob("*") if file.is_file()]
    groups = {path, found.group or path, found.path}
    described = (group / name for group in groups for name in ("zarr.json", ".zgroup", ".zattrs"))
    return sorted({*files, *(file for file in described if file.is_file())})


def find_image(path: Any) -> ZarrImage:
    """Find the array of full resolution of an array, an image, or what bioformats2raw writes."""
    path = path if is_remote(path) else Path(path)
    attributes = _attributes(path)
    if attributes is None:
        return ZarrImage(path)
    ome = attributes.get("ome", attributes)
    scales = ome.get("multiscales") if isinstance(ome, dict) else None
    if not scales:
        inner = path / "0"
        if isinstance(ome, dict) and "bioformats2raw.layout" in ome and inner.is_dir():
            found = find_image(inner)
            count = next(k for k in itertools.count(1) if not is_zarr(path / str(k)))
            which = (
                f"The Zarr holds {count} images; '0' was read and no other (for the next, pass "
                f"{str(path / '1')!r})."
            )
            return replace(found, notes=(*found.notes, *[which] * (count > 1)))
        remedy = "Pass the folder of an array or of an image inside it."
        refuse("be an array of Zarr or an image of OME-Zarr", f"a group at {str(path)!r}", remedy)
    try:
        version = str(ome.get("version") or scales[0].get("version", ""))
        found = _described(path, scales[0], version)
        return replace(found, channels=_channels(ome.get("omero")))
    except UnreadableImageError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        refuse("have the description of an OME-Zarr", f"{error!r} at {str(path)!r}")


def _described(path: Path, scales: dict[str, Any], version: str) -> ZarrImage:
    """Read the description of an image."""
    dataset = scales["datasets"][0]
    inner = _folder_of(path, dataset)
    if _attributes(inner) is not None:
        refuse("have an array at each path that it names", repr(dataset["path"]))
    axes = [axis if isinstance(axis, dict) else {"name": axis} for axis in scales.get("axes", ())]
    names = [letter_of(str(axis["name"])) for axis in axes]
    if not all(names) or len(set(names)) < len(names):
        return ZarrImage(inner, path, version=version)
    levels = tuple(
        Level(_folder_of(path, each), *_coordinates(len(names), each, scales))
        for each in scales["datasets"]
    )
    units = tuple(str(axis.get("unit") or "") for axis in axes)
    pairs = dict(zip(names, zip(levels[0].scale, units, strict=True), strict=True))
    lengths = {name: pairs[name] for name in "ZYX" if name in pairs}
    spacing, unit, notes = calibrate(lengths)
    sizes, words = ({pair[k] for pair in lengths.values()} for k in (0, 1))
    if words == {""} and sizes != {1}:  # of 1 each, they would have no meaning
        spacing = {name: size for name, (size, _) in lengths.items() if positive(size)}
    more: Any = {"interval": seconds(*pairs.get("T", (0, ""))), "levels": levels, "units": units}
    return ZarrImage(inner, path, "".join(names), spacing, unit, version, notes=notes, **more)


def _folder_of(path: Path, dataset: dict[str, Any]) -> Path:
    """Return the folder of a resolution of an image."""
    inner = path.joinpath(*str(dataset["path"]).split("/"))
    if path.resolve() not in inner.resolve().parents:
        refuse("keep its arrays in its own folder", repr(dataset["path"]))
    return inner


def _coordinates(
    rank: int, dataset: dict[str, Any], scales: dict[str, Any]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return scale and translation of a resolution: its own, combined with those of the image."""
    scale, translation = [1.0] * rank, [0.0] * rank
    for described in (dataset, scales):
        for transform in described.get("coordinateTransformations", ()):
            kind = transform.get("type")
            if kind not in ("scale", "translation"):
                continue
            numbers = list(map(float, transform[kind]))
            if kind == "scale":
                scale = [a * b for a, b in zip(scale, numbers, strict=True)]
                translation = [a * b for a, b in zip(translation, numbers, strict=True)]
            else:
                translation = [a + b for a, b in zip(translation, numbers, strict=True)]
    return tuple(scale), tuple(translation)


def _channels(omero: Any) -> tuple[str, ...]:
    """Return the names of channels; () unless all have different names."""
    known = omero.get("channels") if isinstance(omero, dict) else None
    rows = known if isinstance(known, list) else []
    names = tuple(str(row.get("label", "")) for row in rows if isinstance(row, dict))
    return names if all(names) and len(set(names)) == len(rows) else ()


def _attributes(path: Path) -> dict[str, Any] | None:
    """Return the attributes of a group, None for an array; raise UnreadableImageError otherwise."""
    name = next((one for one in NODES if (path / one).is_file()), None)
    if name is None:
        remedy = "Pass the folder of an array of Zarr, or of an OME-Zarr."
        refuse("be a Zarr", f"a folder without zarr.json or .zgroup, {str(path)!r}", remedy)
    node = {"node_type": "array"} if name == ".zarray" else read_json(path / name)
    if node.get("node_type") == "array":
        return None
    found = node.get("attributes")
    if name == ".zgroup":
        found = read_json(path / ".zattrs") if (path / ".zattrs").is_file() else {}
    return found if isinstance(found, dict) else {}


def read_json(file: Path) -> dict[str, Any]:
    """Read a JSON description, or raise UnreadableImageError."""
    if file.stat().st_size > LONGEST:
        refuse(f"have descriptions of up to {LONGEST} bytes", f"{file.stat().st_size}")
    try:
        found = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        refuse("have descriptions in JSON", f"{error} in {str(file)!r}")
    if not isinstance(found, dict):
        refuse("have JSON objects as descriptions", f"{type(found).__name__} in {str(file)!r}")
    return found


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a JSON description atomically."""
    with replacing(file) as unfinished:
        unfinished.write_text(json.dumps(content, indent=1), "utf-8")


def describe_zarr(path: Path | str, series: int = 0) -> TiffImage:
    """Return an image with zeros that take no memory as pixels; `axes` "" for a plain Zarr."""
    known = find_image(path)
    if series:
        inner = known.group and known.group.parent / str(series)  # as bioformats2raw names it
        is_image = inner and inner.with_name("0") == known.group and is_zarr(inner)
        remedy = f"Pass {str(inner)!r}." if is_image else "Leave it out."
        message = f"series must be 0 for a Zarr; got {series}. {remedy}"
        raise ValueError(message)
    array = open_zarr(known.path)
    shape, axes = tuple(array.shape), known.axes if len(known.axes) == len(array.shape) else ""
    if axes:
        pairs = [(n, name) for n, name in zip(shape, axes, strict=True) if n > 1 or name in "YX"]
        shape, axes = tuple(length for length, _ in pairs), "".join(name for _, name in pairs)
    return TiffImage(
        np.broadcast_to(np.zeros((), array.dtype), shape),
        axes,
        spacing=known.spacing or {},
        unit=known.unit,
        interval=known.interval,
        channels=known.channels,
        notes=known.notes,
    )


def read_zarr(path: Path | str, series: int = 0) -> TiffImage:
    """Read the image of an OME-Zarr in full resolution; warn if chunks are missing."""
    image = describe_zarr(path, series)
    refuse_plain(image)
    folder = find_image(path).path
    array = open_zarr(folder)
    everything = tuple(slice(0, length) for length in array.shape)
    with decoding(everything):
        pixels = np.asarray(array[everything]).reshape(image.pixels.shape)
    pixels, axes, _ = canonical(pixels, image.axes)
    for note in note_missing(folder):
        warnings.warn(note, stacklevel=2)
    return replace(image, pixels=pixels, axes=axes)


def refuse_plain(image: TiffImage) -> None:
    """Raise UnreadableImageError if the axes of a Zarr have no names."""
    if not image.axes:
        remedy = "`equilabel segment` takes it; or convert it to OME-Zarr."
        refuse("be an OME-Zarr, whose axes have names", "a plain Zarr", remedy)


def open_zarr(path: Path | str) -> Any:
    """Open the Zarr array in a folder for reading, if a machine can read what it announces."""
    import zarr

    try:
        store = (
            zarr_store(path, read_only=True)
            if is_remote(path)
            else _regular_files()(Path(path), read_only=True)
        )
        array: Any = zarr.open_array(store, mode="r")
        shape, chunks, width = tuple(array.shape), tuple(array.chunks), array.dtype.itemsize
    except (OSError, MemoryError, UnreadableImageError):
        raise
    except Exception as error:  # zarr raises many types
        refuse("have the description of an array of Zarr", f"{in_words(error)} at {str(path)!r}")
    if not shape or min(shape) < 1 or min(chunks) < 1:
        refuse("have an axis and no empty one", f"shape {shape}")
    if prod(shape) * width >= MOST:
        refuse("have fewer than 2^63 bytes of pixels", f"shape {shape}")
    if prod(chunks) * width > free():
        size, shown = readable(prod(chunks) * width), " x ".join(map(str, chunks))
        remedy = "Store it in smaller chunks, or use a machine with more memory."
        refuse("have chunks that fit in memory", f"chunks of {shown}, {size}", remedy)
    return array


@cache
def _regular_files() -> Any:
    """Return a Zarr store that opens only regular files: a pipe or a device would not end."""
    from zarr.storage import LocalStore

    class RegularFiles(LocalStore):  # type: ignore[misc, unused-ignore]
        async def get(self, key: str, *args: Any, **more: Any) -> Any:
            self._check(key)
            return await super().get(key, *args, **more)

        def get_sync(self, key: str, **more: Any) -> Any:
            self._check(key)
            return super().get_sync(key, **more)

        def _check(self, key: str) -> None:
            path = self.root / key
            try:
                kind = kind_of_file(path.stat().st_mode)
            except OSError:  # missing, or opening it raises the error
                return
            if kind != "file":
                refuse("have a regular file for each chunk", f"a {kind} at {str(path)!r}")

    return RegularFiles


def note_missing(folder: Path) -> tuple[str, ...]:
    """Return a note if chunks of an array have no files: left out as empty, or lost."""
    array = open_zarr(folder)
    stored = getattr(array, "shards", None) or array.chunks
    pairs = zip(array.shape, stored, strict=True)
    total = prod(-(-length // side) for length, side in pairs)
    links = [] if is_remote(folder) else [one for one in folder.iterdir() if one.is_symlink()]
    files = (file for top in (folder, *links) for file in top.rglob("*"))  # links are not entered
    found = sum(file.is_file() and file.name not in DESCRIPTIONS for file in files)
    if found >= total:
        return ()
    value = array.fill_value or 0  # may be None
    return (f"{total - found:,} of {total:,} chunks are not stored: their pixels are {value}.",)
