"""Writing of existing labels, an array or anything that can be indexed like one, as an OME-Zarr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.storage.files import flush_new

from .blocks import Blocks, large_sides
from .engine import Engine
from .ome_labels import PIECE, UNITS, OmeLabels, shrink, write_description
from .outputs import ZarrOutput, create_zarr
from .running import Progress
from .workfolder import new_token
from .zarr_parts import read_part

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

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

    The same labels and arguments give the same bytes, in whatever chunks `labels` are stored. Axes
    are in the order T, Z, Y, X; `axes`, `spacing`, `unit` and `interval` are as for `write_labels`
    of TIFF. `origin` is the coordinate of the first pixel of axes where it is not 0. If `table` has
    few rows, its columns become the properties of labels.
    """
    shape = tuple(labels.shape)
    described = _described(axes, spacing, unit, interval, origin)
    frames = axes.startswith("T")
    chunks = (1,) * frames + large_sides(shape[frames:], (1,) * len(shape[frames:]), CHUNK)
    folder.mkdir()
    full = ZarrOutput(str(folder / "0"), np.min_scalar_type(most).name, new_token())
    create_zarr(folder / "0", shape, chunks, full.dtype, **described.form, fresh=True)
    blocks = Blocks(shape, large_sides(shape, chunks, PIECE))
    for part in map(blocks.slices, range(blocks.number)):
        full.write(part, read_part(labels, part).astype(full.dtype, copy=False))
    with Engine("synchronous").started() as run:
        levels = shrink(folder, described, full, run, Progress(None))
    write_description(folder, described, folder.name, levels, table, {})
    flush_new(folder)


def _described(
    axes: str,
    spacing: Mapping[str, float],
    unit: str,
    interval: float | None,
    origin: Mapping[str, float],
) -> OmeLabels:
    """Return the content of the description of labels."""
    steps, units = dict(spacing), dict.fromkeys(spacing, UNITS.get(unit, ""))
    if interval is not None:
        steps["T"], units["T"] = interval, "second"
    scale = tuple(float(steps.get(axis, 1)) for axis in axes)
    first = tuple(float(origin.get(axis, 0)) for axis in axes)
    return OmeLabels(axes, scale, units, "0.5", None, first)
