"""OME-Zarr (NGFF 0.4 and 0.5): find the pixels of an image and the meaning of its axes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from .axes import letter_of
from .directories import UnreadableImageError, refuse
from .files import replacing
from .units import calibrate, positive, seconds

LONGEST = 2**24  # most bytes of a description


class Level(NamedTuple):
    """One resolution of an OME-Zarr; coordinates are `scale * index + translation` on each axis.

    `path` is the folder of its array.
    """

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
    names = ("zarr.json", ".zgroup", ".zarray")
    try:
        return path.is_dir() and any((path / name).is_file() for name in names)
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
    """List the files of an image in a Zarr: its array in full resolution and its metadata.

    Lower resolutions and labels are left out.
    """
    found = find_image(path)
    files = [file for file in found.path.rglob("*") if file.is_file()]
    groups = {path, found.group or path, found.path}
    described = (group / name for group in groups for name in ("zarr.json", ".zgroup", ".zattrs"))
    return sorted({*files, *(file for file in described if file.is_file())})


def find_image(path: Path | str) -> ZarrImage:
    """Find the array of full resolution at a path.

    The path is a Zarr array, an image of an OME-Zarr, or an OME-Zarr with one image, as written by
    bioformats2raw. Raises UnreadableImageError otherwise, or if the description is wrong.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> written = (folder / "zarr.json").write_text('{"node_type": "array", "zarr_format": 3}')
    >>> find_image(folder).axes
    ''
    """
    path = Path(path)
    attributes = _attributes(path)
    if attributes is None:
        return ZarrImage(path)
    ome = attributes.get("ome", attributes)
    scales = ome.get("multiscales") if isinstance(ome, dict) else None
    if not scales:
        inner = path / "0"
        if isinstance(ome, dict) and "bioformats2raw.layout" in ome and inner.is_dir():
            return find_image(inner)
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
    axes = scales.get("axes", [])
    names = [letter_of(str(axis["name"] if isinstance(axis, dict) else axis)) for axis in axes]
    if not all(names) or len(set(names)) < len(names):
        return ZarrImage(inner, path, version=version)
    levels = tuple(
        Level(_folder_of(path, each), *_coordinates(len(names), each, scales))
        for each in scales["datasets"]
    )
    scale = levels[0].scale
    pairs = {
        name: (axis, distance) for name, axis, distance in zip(names, axes, scale, strict=True)
    }
    lengths = _known({name: pair for name, pair in pairs.items() if name in "ZYX"})
    spacing = {name: distance for name, (_, distance) in lengths.items() if positive(distance)}
    unit, notes = "", tuple[str, ...]()
    if any(_unit(axis) for axis, _ in lengths.values()):
        sizes = {name: (distance, _unit(axis)) for name, (axis, distance) in lengths.items()}
        spacing, unit, notes = calibrate(sizes)
    axis, distance = pairs.get("T", ({}, 0))
    interval = seconds(distance, str(axis.get("unit", "?"))) if isinstance(axis, dict) else None
    told = tuple(str(axis.get("unit", "")) if isinstance(axis, dict) else "" for axis in axes)
    more: Any = {"interval": interval, "levels": levels, "units": told, "notes": notes}
    return ZarrImage(inner, path, "".join(names), spacing, unit, version, **more)


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


def _known(lengths: dict[str, tuple[Any, float]]) -> dict[str, tuple[Any, float]]:
    """Leave out axes with a meaningless scale: 1 without a unit, if others have a unit or scale."""
    told = {name: pair for name, pair in lengths.items() if pair[1] != 1 or _unit(pair[0])}
    return told if not told or any(_unit(axis) for axis, _ in told.values()) else lengths


def _channels(omero: Any) -> tuple[str, ...]:
    """Return the names of channels; () unless all have different names."""
    known = omero.get("channels") if isinstance(omero, dict) else None
    rows = known if isinstance(known, list) else []
    names = tuple(str(row.get("label", "")) for row in rows if isinstance(row, dict))
    return names if all(names) and len(set(names)) == len(rows) else ()


def _unit(axis: Any) -> str:
    """Return the unit of an axis; "" if it has none."""
    return str(axis.get("unit") or "") if isinstance(axis, dict) else ""


def _attributes(path: Path) -> dict[str, Any] | None:
    """Return the attributes of a group, None for an array; raise UnreadableImageError otherwise."""
    if (path / ".zarray").is_file():
        return None
    for name in ("zarr.json", ".zgroup"):
        file = path / name
        if file.is_file():
            node = read_json(file)
            if node.get("node_type") == "array":
                return None
            if name == "zarr.json":
                found = node.get("attributes", {})
            else:
                file = path / ".zattrs"
                found = read_json(file) if file.is_file() else {}
            return found if isinstance(found, dict) else {}
    remedy = "Pass the folder of an array of Zarr, or of an OME-Zarr."
    refuse("be a Zarr", f"a folder without zarr.json or .zgroup, {str(path)!r}", remedy)


def read_json(file: Path) -> dict[str, Any]:
    """Read a JSON description, or raise UnreadableImageError."""
    if file.stat().st_size > LONGEST:
        refuse(f"have descriptions of up to {LONGEST} bytes", f"{file.stat().st_size}")
    try:
        found = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        refuse("have descriptions in JSON", f"{error} in {str(file)!r}")
    if not isinstance(found, dict):
        refuse(
            "have descriptions that are JSON objects", f"{type(found).__name__} in {str(file)!r}"
        )
    return found


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a JSON description atomically."""
    with replacing(file) as unfinished:
        unfinished.write_text(json.dumps(content, indent=1), "utf-8")
