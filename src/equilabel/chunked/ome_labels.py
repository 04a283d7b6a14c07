"""Labels as OME-Zarr: resolutions, axes, pixel size, and the image they belong to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.measuring import check_spacing
from equilabel.storage.files import flush_tree
from equilabel.storage.metadata import positive, spelled
from equilabel.storage.ome_zarr import find_image, is_zarr, open_zarr, read_json, write_json

from .blocks import Blocks, large_sides
from .checkpoints import Saved
from .engine import Engine
from .outputs import Output, chunks_of, create_zarr, read_part
from .tasks import Setup, write_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from equilabel.array_types import HostArray
    from equilabel.storage.ome_zarr import ZarrImage

    from .checks import Picked
    from .engine import Run


COARSEST = 256  # pixels along the longest axis of the lowest resolution
LEAST = 2**15  # pixels of a lower resolution that a block writes, at least
PIECE = 2**22  # pixels of a lower resolution that a task writes, at least
MOST_ROWS = 10_000  # larger tables are not copied to the description
UNITS = {
    **{"km": "kilometer", "m": "meter", "dm": "decimeter", "cm": "centimeter"},
    **{"mm": "millimeter", "µm": "micrometer", "nm": "nanometer", "pm": "picometer"},
    **{"Å": "angstrom", "inch": "inch", "ft": "foot", "s": "second"},
}
TYPES = {"T": "time", "C": "channel"}


class Resolution(NamedTuple):
    """A resolution of labels, with coordinates `scale * index + translation`."""

    shape: tuple[int, ...]
    scale: tuple[float, ...]
    translation: tuple[float, ...]


@dataclass(frozen=True)
class OmeLabels:
    """Content of the description of labels."""

    axes: str  # one letter of T, Z, Y, X for each axis
    spacing: tuple[float, ...]  # along each axis; 1 if unknown
    units: Mapping[str, str]  # by axis, in the spelling of NGFF; without unknown ones
    version: str  # of NGFF, "0.4" or "0.5": that of the image
    image: Path | None  # the OME-Zarr that the labels belong to
    translation: tuple[float, ...] = ()  # coordinate of the first pixel; empty for 0
    levels: tuple[Resolution, ...] = ()  # of that image; otherwise as many as labels need

    @property
    def form(self) -> dict[str, Any]:
        """Format of the arrays, and names of their axes."""
        return {"zarr_format": 2 if self.version == "0.4" else 3, "axes": tuple(self.axes.lower())}


def ome_labels(picked: Picked, shape: tuple[int, ...], out: Path | None) -> OmeLabels | None:
    """Return the description of labels, with the resolutions of an image that they are in."""
    ome = picked.ome
    if ome is None or out is None:
        return None
    distances = check_spacing(picked.spacing, picked.rank)
    seconds = ome.interval if picked.axes.startswith("T") else None
    spacing = (*(seconds or 1.0,) * picked.stacked, *distances)
    unit = UNITS.get(spelled(picked.unit or ""), "")
    units = {**dict.fromkeys("ZYX", unit), "T": "second" * bool(seconds)}
    begins = zip(ome.levels[0].translation, picked.picks, strict=True) if ome.levels else ()
    first = tuple(begin for begin, pick in begins if pick is None)
    if seconds and first:
        first = (0.0, *first[1:])  # the time of the image may be in another unit
    image = image_of(out)
    version = (image or ome).version
    version = version if version in ("0.4", "0.5") else "0.5"
    if image is None:
        return OmeLabels(picked.axes, spacing, units, version, None, first)
    levels = _levels_of(image, picked.axes, shape)
    if levels:
        units = dict(zip(image.axes, image.units, strict=True))
        spacing, first = levels[0].scale, levels[0].translation
    return OmeLabels(picked.axes, spacing, units, version, image.group, first, levels)


def _levels_of(image: ZarrImage, axes: str, shape: tuple[int, ...]) -> tuple[Resolution, ...]:
    """Return the resolutions of some axes of an image; none if its shape is different."""
    places = [image.axes.find(letter) for letter in axes]
    if -1 in places:
        return ()
    found = []
    for path, *numbers in image.levels:
        sides = open_zarr(path).shape
        found.append(Resolution(*(tuple(one[k] for k in places) for one in (sides, *numbers))))
    known = all(positive(distance) for level in found for distance in level.scale)
    return tuple(found) if known and found and found[0].shape == shape else ()


def _halved(labels: OmeLabels, shape: tuple[int, ...]) -> list[Resolution]:
    """Return resolutions of every second pixel, down to a small one; a much wider spacing stays."""
    first = labels.translation or (0.0,) * len(shape)
    found = [Resolution(shape, labels.spacing, first)]
    while max(shape) > COARSEST:
        each = list(zip(labels.axes, shape, found[-1].scale, strict=True))
        finest = min(distance for name, _, distance in each if name in "ZYX")
        factors = [
            2 if name in "ZYX" and side > 1 and distance < 1.5 * finest else 1
            for name, side, distance in each
        ]
        if max(factors) == 1:
            break
        shape = tuple(-(-side // by) for side, by in zip(shape, factors, strict=True))
        scale = tuple(a * b for a, b in zip(found[-1].scale, factors, strict=True))
        found.append(Resolution(shape, scale, first))
    return found


@dataclass(frozen=True)
class Pyramid(Output):
    """Labels whose lower resolutions are written with the blocks that own their pixels."""

    levels: tuple[Resolution, ...]  # all; the full one first
    lower: tuple[Output, ...]  # the first ones after the full one

    def write(self, part: tuple[slice, ...], labels: HostArray) -> None:
        """Write a block, and the pixels of lower resolutions that are its own."""
        super().write(part, labels)
        for level, output in enumerate(self.lower, 1):
            samples, owned = _samples(self.levels, level), _owned(self.levels, level, part)
            pairs = zip(samples, owned, part, strict=True)
            places = [there[one] - block.start for there, one, block in pairs]
            output.write(owned, np.ascontiguousarray(labels[np.ix_(*places)]))

    def flush(self, parts: Sequence[tuple[slice, ...]]) -> None:
        """Flush what belongs to some blocks to the disk."""
        super().flush(parts)
        for level, output in enumerate(self.lower, 1):
            output.flush([_owned(self.levels, level, part) for part in parts])


@lru_cache(16)
def _samples(levels: tuple[Resolution, ...], level: int) -> list[HostArray]:
    """Return for each axis the pixels of the full resolution that a lower one consists of."""
    if level == 0:
        return [np.arange(side) for side in levels[0].shape]
    above, below = levels[level - 1 : level + 1]
    return [
        there[_nearest(above, below, axis, slice(0, below.shape[axis]))]
        for axis, there in enumerate(_samples(levels, level - 1))
    ]


def _owned(
    levels: tuple[Resolution, ...], level: int, part: tuple[slice, ...]
) -> tuple[slice, ...]:
    """Return the part of a lower resolution whose pixels are those of a block."""
    samples = zip(_samples(levels, level), part, strict=True)
    ends = (np.searchsorted(there, (one.start, one.stop)) for there, one in samples)
    return tuple(slice(int(first), int(last)) for first, last in ends)


def _owned_sides(
    levels: tuple[Resolution, ...], level: int, blocks: Blocks
) -> tuple[int, ...] | None:
    """Return the sides of what blocks own of a lower resolution; None if unlike or too small."""
    sides = []
    for axis, there in enumerate(_samples(levels, level)):
        begins = np.arange(0, blocks.shape[axis], blocks.sides[axis])
        counts = np.diff(np.searchsorted(there, [*begins, blocks.shape[axis]]))
        if (counts[:-1] != counts[0]).any() or not 0 < counts[-1] <= counts[0]:
            return None
        sides.append(int(counts[0]))
    few = prod(sides) < LEAST and prod(sides) < prod(levels[level].shape)
    return None if few else tuple(sides)


def with_levels(folder: Any, labels: OmeLabels, full: Output, blocks: Blocks, out: Any) -> Pyramid:
    """Create the arrays of the resolutions that are written with blocks."""
    levels, lower = labels.levels or tuple(_halved(labels, full.array.shape)), []
    for level in range(1, len(levels)):
        if (sides := _owned_sides(levels, level, blocks)) is None:
            break
        pairs = zip(sides, full.array.chunks, strict=True)
        chunks = tuple(min(chunk, side) if side % chunk == 0 else side for side, chunk in pairs)
        shards = sides if full.array.shards and chunks != sides else None
        path = folder / str(level)
        create_zarr(path, levels[level].shape, chunks, full.dtype, **labels.form, shards=shards)
        lower.append(Output.at(path, chunks_of(path, folder, out)))
    return Pyramid(full.open, levels, tuple(lower))


def shrink(
    folder: Any, labels: OmeLabels, full: Pyramid, saved: Saved, run: Run, size: int, out: Any
) -> None:
    """Write the other lower resolutions, in tasks of an eighth of the `size` of a block."""
    done = len(full.lower)
    upper: Output = full.lower[-1] if done else full
    for number, (above, below) in enumerate(pairwise(full.levels[done:]), done + 1):
        chunks = tuple(map(min, full.array.chunks, below.shape))
        sides = large_sides(below.shape, chunks, max(PIECE, size // 8))
        whole = tuple(-(-side // chunk) * chunk for side, chunk in zip(sides, chunks, strict=True))
        path, shards = folder / str(number), whole if full.array.shards else None
        create_zarr(path, below.shape, chunks, full.dtype, **labels.form, shards=shards)
        lower = Output.at(path, chunks_of(path, folder, out))
        setup = Setup(blocks=Blocks(below.shape, sides), saved=saved.room(f"level-{number}"))
        loader = partial(partial, _shrunk, upper, above, below)
        write_blocks(setup, loader, lower, run, stage="shrink")
        upper = lower


def _shrunk(
    upper: Output, above: Resolution, below: Resolution, part: tuple[slice, ...]
) -> HostArray:
    """Return a part of a lower resolution: for each pixel, the nearest one of `upper`."""
    places = [_nearest(above, below, axis, one) for axis, one in enumerate(part)]
    steps = [max(1, int(there[min(1, len(there) - 1)] - there[0])) for there in places]
    pairs = list(zip(places, steps, strict=True))
    even = all((np.diff(there) == step).all() for there, step in pairs)  # read without the others
    labels = upper.read(
        tuple(slice(there[0], there[-1] + 1, step if even else 1) for there, step in pairs)
    )
    if not even:
        labels = labels[np.ix_(*(there - there[0] for there in places))]
    return np.ascontiguousarray(labels)


def _nearest(above: Resolution, below: Resolution, axis: int, part: slice) -> HostArray:
    """Return the indices of the nearest pixels of the resolution above, along one axis."""
    sides = above.shape[axis], below.shape[axis]
    ratio = below.scale[axis] / above.scale[axis]
    first = (below.translation[axis] - above.translation[axis]) / above.scale[axis]
    if abs(ratio * sides[1] - sides[0]) > max(ratio, 1):  # coordinates do not match the shapes
        ratio = sides[0] / sides[1]
        first = (ratio - 1) / 2
    there = np.ceil(ratio * np.arange(part.start, part.stop) + first - 0.5 - 1e-6)
    return there.clip(0, sides[0] - 1).astype(np.int64)


def write_description(
    folder: Path,
    labels: OmeLabels,
    name: str,
    levels: Sequence[Resolution],
    table: pd.DataFrame | None,
    ours: dict[str, Any],
) -> None:
    """Write the metadata of the arrays in a folder."""
    axes = []
    for letter in labels.axes:
        unit = labels.units.get(letter, "")
        named = {"name": letter.lower(), "type": TYPES.get(letter, "space")}
        axes.append({**named, "unit": unit} if unit else named)
    datasets: list[Any] = []
    for number, (_, scale, translation) in enumerate(levels):
        moves: list[Any] = [{"type": "scale", "scale": list(scale)}]
        if any(any(one.translation) for one in levels):
            moves.append({"type": "translation", "translation": list(translation)})
        datasets.append({"path": str(number), "coordinateTransformations": moves})
    scales: dict[str, Any] = {"name": name, "axes": axes, "datasets": datasets, "type": "nearest"}
    about: dict[str, Any] = {"version": labels.version}
    if labels.image is not None:
        about["source"] = {"image": "../../"}
    if table is not None and "label" in table and len(table) <= MOST_ROWS:
        rows = json.loads(table.rename(columns={"label": "label-value"}).to_json(orient="records"))
        about["properties"] = rows
    if labels.version == "0.4":
        scales["version"] = labels.version
    ome = {"multiscales": [scales], "image-label": about}
    _describe_group(folder, labels.version, lambda _: ome, ours)


def register(labels: OmeLabels, out: Path) -> None:
    """Add labels to the list of labels of their image."""

    def listed(known: dict[str, Any]) -> dict[str, Any]:
        names = known.get("labels")
        names = [str(one) for one in names] if isinstance(names, list) else []
        return {**known, "labels": names if out.name in names else [*names, out.name]}

    if labels.image is not None:
        _describe_group(out.parent, labels.version, listed)


def _describe_group(
    folder: Path,
    version: str,
    ome: Callable[[dict[str, Any]], dict[str, Any]],
    ours: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Change what NGFF says of a group, which is made if it is missing, and add attributes."""
    if version == "0.4":
        if not (folder / ".zgroup").exists():
            write_json(folder / ".zgroup", {"zarr_format": 2})
        file = folder / ".zattrs"
        write_json(file, {**ome(read_json(file) if file.exists() else {}), **ours})
        return
    file = folder / "zarr.json"
    new: dict[str, Any] = {"zarr_format": 3, "node_type": "group"}
    group = read_json(file) if file.exists() else new
    known = group.get("attributes", {})
    described = {"version": version, **ome(known.get("ome", {}))}
    write_json(file, {**group, "attributes": {**known, "ome": described, **ours}})


def image_of(out: Path) -> ZarrImage | None:
    """Return the OME-Zarr that the labels at a path belong to, or None."""
    image = out.parent.parent
    if out.parent.name != "labels" or not image.is_dir():
        return None
    try:
        found = find_image(image)
    except (ValueError, OSError):
        return None
    return found if found.group is not None else None


CHUNK = 2**20  # pixels at most


def write_store(
    folder: Path,
    labels: Any,
    *,
    axes: str,
    spacing: Mapping[str, float],
    unit: str,
    interval: float | None,
    origin: Mapping[str, float],
    most: int,
    table: pd.DataFrame,
) -> None:
    """Write labels as an OME-Zarr, in the smallest unsigned type that holds the label `most`.

    The bytes do not depend on the chunks of `labels`. `axes`, `spacing`, `unit` and `interval` are
    as for `write_labels` of TIFF; `origin` is the coordinate of the first pixel where it is not 0.
    """
    shape = tuple(labels.shape)
    distances, units = dict(spacing), dict.fromkeys(spacing, UNITS.get(unit, ""))
    if interval is not None:
        distances["T"], units["T"] = interval, "second"
    scale = tuple(float(distances.get(axis, 1)) for axis in axes)
    first = tuple(float(origin.get(axis, 0)) for axis in axes)
    described = OmeLabels(axes, scale, units, "0.5", None, first)
    frames = axes.startswith("T")
    chunks = (1,) * frames + large_sides(shape[frames:], (1,) * len(shape[frames:]), CHUNK)
    folder.mkdir()
    dtype = np.min_scalar_type(most)
    create_zarr(folder / "0", shape, chunks, dtype, **described.form, fresh=True)
    blocks = Blocks(shape, large_sides(shape, chunks, PIECE))
    levels = tuple(_halved(described, shape))
    full = Pyramid(Output.at(folder / "0").open, levels, ())
    for part in blocks.parts():
        full.write(part, read_part(labels, part).astype(dtype, copy=False))
    with Engine("synchronous").started() as run:
        shrink(folder, described, full, Saved(), run, 0, None)
    write_description(folder, described, folder.name, full.levels, table, {})
    flush_tree(folder)


# ---- Consolidated metadata of Zarr: the descriptions of all arrays in a group


def consolidate(out: Path) -> None:
    """Add a new Zarr to the consolidated metadata of the groups above it, which readers trust."""
    gap = False
    for group in out.parents:
        if not is_zarr(group):
            gap = True
            continue
        old, new = group / ".zmetadata", group / "zarr.json"
        file = old if old.exists() else new
        try:
            content = json.loads(file.read_text("utf-8"))
            block: Any = content if file == old else content["consolidated_metadata"]
            known = dict(block["metadata"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):  # no such metadata
            continue
        if gap:  # a folder between them is not a group and cannot be described
            content.pop("consolidated_metadata", None)
            write_json(file, content) if file == new else file.unlink()
            continue
        name = out.relative_to(group).as_posix()
        known = {key: one for key, one in known.items() if not f"{key}/".startswith(f"{name}/")}
        for folder in (out.parent, out, *sorted(filter(is_zarr, out.iterdir()))):
            known |= _entries(folder, group, block if file == new else None)
        block["metadata"] = known
        write_json(file, content)


def _entries(folder: Path, group: Path, block: dict[str, Any] | None) -> dict[str, Any]:
    """Return the entries of a Zarr in consolidated metadata: a `block` in format 3, or a file."""
    found = {}
    for own in (".zgroup", ".zarray", ".zattrs") if block is None else ("zarr.json",):
        key = (folder / own if block is None else folder).relative_to(group).as_posix()
        if (folder / own).is_file() and key != ".":
            found[key] = read_json(folder / own)
            if found[key].get("node_type") == "group":
                found[key]["consolidated_metadata"] = {**(block or {}), "metadata": {}}
    return found
