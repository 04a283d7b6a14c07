"""Labels as OME-Zarr: several resolutions, axes, pixel size, and the image they belong to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.storage.files import replacing
from equilabel.storage.ome_zarr import find_image, read_json
from equilabel.storage.units import spelled

from .blocks import Blocks, large_sides
from .outputs import create_zarr, open_output

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from .engine import Run
    from .outputs import ZarrOutput
    from .picking import Picked
    from .running import Progress

COARSEST = 256  # pixels along the longest axis of the lowest resolution
PIECE = 2**22  # pixels of a lower resolution that are made at once
MOST_ROWS = 10_000  # of a table that stand in the description, too
UNITS = {
    **{"km": "kilometer", "m": "meter", "dm": "decimeter", "cm": "centimeter"},
    **{"mm": "millimeter", "µm": "micrometer", "nm": "nanometer", "pm": "picometer"},
    **{"Å": "angstrom", "inch": "inch", "ft": "foot", "s": "second"},
}
TYPES = {"T": "time", "C": "channel"}


@dataclass(frozen=True)
class OmeLabels:
    """What the description of labels says.

    Attributes
    ----------
    axes : str
        One letter of T, Z, Y, X for each axis.
    spacing : tuple of float
        Distance of pixels along each; 1 where it is not known.
    units : mapping of str to str
        Unit of the spacing along an axis; none where it is not known.
    version : {"0.4", "0.5"}
        Of NGFF: that of the image.
    image : Path, or None
        The OME-Zarr that the labels are a part of.
    """

    axes: str
    spacing: tuple[float, ...]
    units: Mapping[str, str]
    version: str
    image: Path | None

    @property
    def form(self) -> dict[str, Any]:
        """Format of the arrays, and names of their axes."""
        return {"zarr_format": 2 if self.version == "0.4" else 3, "axes": tuple(self.axes.lower())}

    def factors(self, shape: Sequence[int], spacing: Sequence[float]) -> tuple[int, ...]:
        """Return by how much each axis is shortened next: 2 or 1.

        An axis along which pixels are much farther apart than along others stays.
        """
        finest = min(one for name, one in zip(self.axes, spacing, strict=True) if name in "ZYX")
        each = zip(self.axes, shape, spacing, strict=True)
        return tuple(
            2 if name in "ZYX" and side > 1 and step < 1.5 * finest else 1
            for name, side, step in each
        )


def ome_labels(picked: Picked, out: Path | None) -> OmeLabels | None:
    """Return what the description of labels will say; None if they do not become an OME-Zarr."""
    if picked.ome is None or out is None:
        return None
    steps = picked.spacing or (1.0,) * picked.rank
    seconds = picked.ome.interval if picked.axes.startswith("T") else None
    spacing = (*(seconds or 1.0,) * picked.stacked, *steps)
    image = image_of(out)
    version = picked.ome.version if picked.ome.version in ("0.4", "0.5") else "0.5"
    units = {**dict.fromkeys("ZYX", spelled(picked.unit or "")), "T": "s" * bool(seconds)}
    return OmeLabels(picked.axes, spacing, units, version, image)


def shrink(
    folder: Path, labels: OmeLabels, full: ZarrOutput, run: Run, progress: Progress
) -> list[tuple[float, ...]]:
    """Make lower resolutions of labels, each of every second pixel of the one before.

    Parameters
    ----------
    folder : Path
        Of the labels; the full resolution is in it, under the name 0.

    Returns
    -------
    list of tuple of float
        Distance of pixels in each resolution.
    """
    steps, level = [labels.spacing], 0
    array = open_output(full)
    shape, chunks = array.shape, array.chunks
    while max(shape) > COARSEST:
        factors = labels.factors(shape, steps[-1])
        if max(factors) == 1:
            break
        shape = tuple(-(-side // by) for side, by in zip(shape, factors, strict=True))
        steps.append(tuple(a * b for a, b in zip(steps[-1], factors, strict=True)))
        chunks = tuple(map(min, chunks, shape))
        path = folder / str(level + 1)
        create_zarr(path, shape, chunks, full.dtype, **labels.form, fresh=True)
        lower = full.at(str(path))
        upper = full.at(str(folder / str(level)))
        blocks = Blocks(shape, large_sides(shape, chunks, PIECE))
        ticks = progress.begin("shrink", 0, blocks.number)
        next(ticks)
        places = range(blocks.number)
        for _ in run(shrink_block, ((upper, lower, factors, blocks.slices(one)) for one in places)):
            next(ticks)
        level += 1
    return steps


def shrink_block(
    upper: ZarrOutput, lower: ZarrOutput, factors: Sequence[int], part: tuple[slice, ...]
) -> None:
    """Write a part of a lower resolution."""
    wanted = tuple(
        slice(one.start * by, (one.stop - 1) * by + 1, by)
        for one, by in zip(part, factors, strict=True)
    )
    lower.write(part, np.ascontiguousarray(upper.read(wanted)))


def write_description(
    folder: Path,
    labels: OmeLabels,
    name: str,
    steps: Sequence[tuple[float, ...]],
    table: pd.DataFrame | None,
    ours: dict[str, Any],
) -> None:
    """Write what the arrays in a folder are."""
    axes = [_axis(letter, labels.units.get(letter, "")) for letter in labels.axes]
    datasets = [
        {
            "path": str(level),
            "coordinateTransformations": [{"type": "scale", "scale": list(step)}],
        }
        for level, step in enumerate(steps)
    ]
    scales: dict[str, Any] = {"name": name, "axes": axes, "datasets": datasets, "type": "nearest"}
    about: dict[str, Any] = {"version": labels.version}
    if labels.image is not None:
        about["source"] = {"image": "../../"}
    if table is not None and "label" in table and len(table) <= MOST_ROWS:
        rows = json.loads(table.rename(columns={"label": "label-value"}).to_json(orient="records"))
        about["properties"] = rows
    if labels.version == "0.4":
        scales["version"] = labels.version
        _write(folder / ".zgroup", {"zarr_format": 2})
        attributes = {"multiscales": [scales], "image-label": about, **ours}
        _write(folder / ".zattrs", attributes)
        return
    ome = {"version": labels.version, "multiscales": [scales], "image-label": about}
    _write_group(folder, {"ome": ome, **ours})


def register(labels: OmeLabels, out: Path) -> None:
    """Add labels to the list of those of their image."""
    if labels.image is None:
        return
    folder = out.parent
    if labels.version == "0.4":
        if not (folder / ".zgroup").exists():
            _write(folder / ".zgroup", {"zarr_format": 2})
        file = folder / ".zattrs"
        known = read_json(file) if file.exists() else {}
        _write(file, {**known, "labels": _with(known.get("labels"), out.name)})
        return
    file = folder / "zarr.json"
    known = read_json(file).get("attributes", {}) if file.exists() else {}
    ome = known.get("ome", {})
    ome = {"version": labels.version, **ome, "labels": _with(ome.get("labels"), out.name)}
    _write_group(folder, {**known, "ome": ome})


def image_of(out: Path) -> Path | None:
    """Return the OME-Zarr whose labels a path is one of, or None."""
    image = out.parent.parent
    if out.parent.name != "labels" or not image.is_dir():
        return None
    try:
        return image if find_image(image).group is not None else None
    except (ValueError, OSError):
        return None


def _with(names: Any, name: str) -> list[str]:
    """Return a list of names that has this one."""
    known = [str(one) for one in names] if isinstance(names, list) else []
    return known if name in known else [*known, name]


def _axis(letter: str, unit: str) -> dict[str, str]:
    """Describe an axis."""
    axis = {"name": letter.lower(), "type": TYPES.get(letter, "space")}
    if unit in UNITS:
        axis["unit"] = UNITS[unit]
    return axis


def _write_group(folder: Path, attributes: dict[str, Any]) -> None:
    group = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    _write(folder / "zarr.json", group)


def _write(file: Path, content: dict[str, Any]) -> None:
    with replacing(file) as unfinished:
        unfinished.write_text(json.dumps(content, indent=1), "utf-8")
