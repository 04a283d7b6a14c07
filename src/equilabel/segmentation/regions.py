"""Write outlines of labeled objects as GeoJSON, as QuPath reads it, or as ImageJ regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from equilabel.arguments import check_flag, check_number, check_path, shown
from equilabel.devices import fetch
from equilabel.measuring.checks import check_labels
from equilabel.storage.files import replacing

from .polygons import outlines
from .selection import check_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd
    from numpy.typing import ArrayLike

    from .polygons import Polygon

GEOJSON, ROI = (".geojson", ".json"), ".zip"


def write_outlines(
    path: str | Path,
    labels: ArrayLike,
    table: pd.DataFrame | None = None,
    *,
    tolerance: float = 0.0,
    stacked: bool = False,
) -> None:
    """Write the outlines of labeled objects to a file for QuPath or ImageJ.

    Parameters
    ----------
    path : str or Path
        File to write, replaced if it exists: GeoJSON if it ends in ".geojson" or ".json", ImageJ
        regions (for the ROI Manager) if it ends in ".zip".
    labels : ([T, ]M, N) array of int
        Labels of an image, of the frames of a movie (with `stacked`), or of the planes of a volume.
    table : pandas.DataFrame, optional
        Measurements with a column "label" (and "frame" of a movie), written into a GeoJSON.
    tolerance : float
        Largest distance, in pixels, by which outlines may be simplified; see `outlines`.
    stacked : bool
        Whether the first of three axes is time.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, or `path` has another ending.
    ImportError
        If ImageJ regions are asked for, and roifile is not installed.

    Notes
    -----
    A GeoJSON has one feature for each object and plane: a Polygon or, if its pixels are not
    connected through their sides, a MultiPolygon, with holes. ImageJ regions are polygons without
    holes, one for each connected part of an object, named by the label. Coordinates are pixels,
    where the first pixel reaches from 0 to 1.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "cells.geojson")
    >>> write_outlines(path, np.array([[0, 7, 7]]))
    >>> json.loads(path.read_text())["features"][0]["geometry"]["coordinates"]
    [[[3, 0], [3, 1], [1, 1], [1, 0], [3, 0]]]
    """
    path, stacked = check_path("path", path), check_flag("stacked", stacked)
    tolerance = check_number("tolerance", tolerance, 0, finite=True)
    ending = path.suffix.lower()
    if ending not in (*GEOJSON, ROI):
        message = f"path must end in .geojson or .zip; got {shown(str(path))}."
        raise ValueError(message)
    numbers = fetch(check_labels(labels))
    if numbers.ndim not in ((3,) if stacked else (2, 3)):
        message = (
            f"labels must have the axes of one plane, or of several; got shape {numbers.shape}. "
            "Pass the planes one by one."
        )
        raise ValueError(message)
    planes = numbers[None] if numbers.ndim == 2 else numbers
    found = (
        (k, number, polygons)
        for k, plane in enumerate(planes)
        for number, polygons in outlines(plane, tolerance=tolerance).items()
    )
    axis = None if numbers.ndim == 2 else "t" if stacked else "z"
    write = _write_regions if ending == ROI else _write_features
    with replacing(path) as unfinished:
        write(unfinished, found, axis, _measurements(table, stacked) if ending != ROI else {})


def _measurements(table: pd.DataFrame | None, stacked: bool) -> dict[tuple[int, int], Any]:
    """Map frame (0 without frames) and label of objects to their columns of finite numbers."""
    if table is None:
        return {}
    table = check_table(table)
    missing = [name for name in ("label", "frame")[: 1 + stacked] if name not in table]
    if missing:
        message = f"table must have a column {missing[0]!r}; got {', '.join(map(str, table))}."
        raise ValueError(message)
    values = table.select_dtypes("number").drop(columns=["label", "frame"], errors="ignore")
    frames = table["frame"] if stacked else np.zeros(len(table), int)
    rows = values.to_dict("records")
    keys = zip(frames.tolist() if stacked else frames, table["label"].tolist(), strict=True)
    return {
        (int(frame), int(number)): {
            str(name): value for name, value in row.items() if np.isfinite(value)
        }
        for (frame, number), row in zip(keys, rows, strict=True)
    }


def _write_features(
    path: Path,
    found: Iterator[tuple[int, int, list[Polygon]]],
    axis: str | None,
    measured: dict[tuple[int, int], Any],
) -> None:
    """Write a collection of features, one after the other."""
    encode = msgspec.json.encode
    with path.open("wb") as file:
        file.write(b'{"type":"FeatureCollection","features":[')
        for count, (plane, number, polygons) in enumerate(found):
            rings = [[_closed(ring) for ring in (one.outer, *one.holes)] for one in polygons]
            alone = len(rings) == 1
            geometry: dict[str, Any] = {
                "type": "Polygon" if alone else "MultiPolygon",
                "coordinates": rings[0] if alone else rings,
            }
            if axis is not None:
                geometry["plane"] = {"c": -1, "z": 0, "t": 0, axis: plane}
            properties: dict[str, Any] = {"objectType": "detection", "name": str(number)}
            properties["label"] = number
            if values := measured.get((plane if axis == "t" else 0, number)):
                properties["measurements"] = values
            feature = {"type": "Feature", "geometry": geometry, "properties": properties}
            file.write((b",\n" if count else b"\n") + encode(feature))
        file.write(b"\n]}\n")


def _closed(ring: Any) -> list[list[float]]:
    """Return the corners of a ring as x and y, whole numbers if they are, the first one twice."""
    corners = np.append(ring, ring[:1], axis=0)[:, ::-1] + 0.5
    whole = corners.astype(np.int64)
    pairs: list[list[float]] = (whole if (whole == corners).all() else corners).tolist()
    return pairs


def _write_regions(
    path: Path,
    found: Iterator[tuple[int, int, list[Polygon]]],
    axis: str | None,
    _: dict[tuple[int, int], Any],
) -> None:
    """Write a set of regions for the ROI Manager."""
    try:
        from roifile import ImagejRoi
    except ImportError:
        message = "ImageJ regions need roifile. Install it with: pip install 'equilabel[rois]'."
        raise ImportError(message) from None
    from zipfile import ZIP_DEFLATED, ZipFile

    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        for plane, number, polygons in found:
            for k, polygon in enumerate(polygons):
                name = f"{number}" if len(polygons) == 1 else f"{number}-{k + 1}"
                region = ImagejRoi.frompoints(polygon.outer[:, ::-1] + 0.5, name=name)
                if axis == "t":
                    region.t_position = plane + 1
                elif axis == "z":
                    region.z_position = plane + 1
                entry = name if axis is None else f"{axis}{plane + 1:04}-{name}"
                file.writestr(f"{entry}.roi", region.tobytes())
