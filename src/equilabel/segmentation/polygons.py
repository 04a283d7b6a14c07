"""`outlines` and `write_outlines`: polygons around objects, along the edges of their pixels."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from equilabel.arguments import check_flag, check_number, check_path, shown
from equilabel.devices import fetch
from equilabel.labeling import label
from equilabel.measuring.checks import check_labels
from equilabel.measuring.neighbors import checked_labels
from equilabel.storage.files import replacing

from .result import check_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import HostArray

    Points = NDArray[np.float64]


class Polygon(NamedTuple):
    """Corners of a polygon, (K, 2) rows and columns, and those of its holes; none stands twice."""

    outer: Points
    holes: tuple[Points, ...] = ()

    @property
    def rings(self) -> tuple[Points, ...]:
        """The outer ring, and those of the holes."""
        return (self.outer, *self.holes)


def outlines(labels: ArrayLike, *, tolerance: float = 0.0) -> dict[int, list[Polygon]]:
    """Return the outlines of labeled objects as polygons.

    Parameters
    ----------
    labels : (M, N) array of int
        The number of the object of each pixel, 0 for background.
    tolerance : float
        Largest distance, in pixels, by which a simplified outline may leave the exact one. With 0
        it follows the edges of pixels, and its area is the number of pixels.

    Returns
    -------
    dict of int to list of Polygon
        The polygons of each label, in the order of labels: several if its pixels are not connected
        through their sides. Corners are in the coordinates of pixels, whose centers are whole
        numbers, as in napari and ``skimage.measure.find_contours``: the first pixel reaches from
        -0.5 to 0.5. Seen with the first row on top, outer rings run clockwise, holes the other way.

    Raises
    ------
    TypeError, ValueError
        If labels are not integers, negative, or not of two axes; or `tolerance` is negative.

    See Also
    --------
    write_outlines, crops

    Examples
    --------
    >>> square = np.array([[0, 5, 5], [0, 5, 5]])
    >>> outlines(square)[5][0].outer.tolist()
    [[-0.5, 2.5], [1.5, 2.5], [1.5, 0.5], [-0.5, 0.5]]
    """
    from skimage.measure import approximate_polygon

    tolerance = check_number("tolerance", tolerance, 0, finite=True)

    def simplified(ring: HostArray) -> Points:
        found: Points = ring - 0.5
        if tolerance:
            found = approximate_polygon(np.append(found, found[:1], axis=0), tolerance)[:-1]
        return found if len(found) > 2 else ring - 0.5

    def polygon(rings: list[HostArray]) -> Polygon:
        outer, *holes = map(simplified, rings)
        return Polygon(outer, tuple(holes))

    return {number: list(map(polygon, some)) for number, some in _rings_of(_checked(labels))}


def _rings_of(numbers: HostArray) -> Iterator[tuple[int, list[list[HostArray]]]]:
    """Yield labels, in order, with their polygons: the outer ring and the holes of each.

    Rings are (K, 2) int32, rows and columns of corners: those of the first pixel are 0 and 1.
    """
    points, rings = _trace(numbers)
    if not len(rings):
        return
    simple = [
        _simple_rings(ring) if twice else [ring]
        for ring, twice in zip(np.split(points, rings[1:, 0]), rings[:, 2], strict=True)
    ]
    corners = [ring for some in simple for ring in some]
    pixels = np.repeat(rings[:, 1], list(map(len, simple)))
    parts = label(numbers, connectivity=1, device="cpu").reshape(-1)[pixels]
    owners = numbers.reshape(-1)[pixels]
    order = np.lexsort((_are_holes(corners), parts, owners))
    for number, group in groupby(order.tolist(), lambda k: owners[k]):
        pieces = groupby(group, lambda k: parts[k])
        yield int(number), [[corners[k] for k in piece] for _, piece in pieces]


def _checked(labels: Any) -> HostArray:
    """Return labels as kernels read them."""
    numbers, _, rank = checked_labels(labels, "labels", False)
    if rank != 2:
        message = (
            f"labels must be of two axes; got shape {numbers.shape}. Pass the planes of a volume "
            "or the frames of a movie one by one."
        )
        raise ValueError(message)
    numbers = fetch(numbers)
    kind = np.int64 if numbers.dtype.itemsize > 4 or numbers.dtype == np.uint32 else np.int32
    return np.ascontiguousarray(numbers, kind)


def _trace(labels: HostArray) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the corners of all rings, and the first corner and a pixel of each."""
    from .cpu.polygons import trace_rings

    corners, count = labels.size // 8 + 64, labels.size // 64 + 16
    while True:
        points, rings = np.empty((corners, 2), np.int32), np.empty((count, 3), np.int64)
        wanted = trace_rings(labels, np.zeros(labels.shape, np.uint8), points, rings)
        if wanted[0] <= corners and wanted[1] <= count:
            return points[: wanted[0]], rings[: wanted[1]]
        corners, count = wanted


def _are_holes(rings: list[NDArray[np.int32]]) -> NDArray[np.bool_]:
    """Return which rings run counterclockwise: their areas are negative."""
    ends = np.cumsum(list(map(len, rings)))
    starts = np.append(0, ends[:-1])
    y, x = np.concatenate(rings).T.astype(np.int64)
    following = np.arange(1, len(y) + 1)
    following[ends - 1] = starts
    return np.add.reduceat(x * y[following] - x[following] * y, starts) < 0


def _simple_rings(ring: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Cut a ring where it passes through a corner again, so that no ring touches itself."""
    path: list[tuple[int, int]] = []
    places: dict[tuple[int, int], int] = {}
    found = []
    for y, x in ring.tolist():
        start = places.get((y, x))
        if start is not None:
            found.append(path[start:])
            for corner in path[start:]:
                del places[corner]
            del path[start:]
        places[y, x] = len(path)
        path.append((y, x))
    return [np.array(each, np.int32) for each in (*found, path)]


# ---- Outlines in files: GeoJSON, as QuPath reads it, and regions of ImageJ

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

    See Also
    --------
    outlines

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
    numbers = fetch(check_labels(labels, "labels"))
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
    table = check_table(table, columns=("label", "frame")[: 1 + stacked])
    values = table.select_dtypes("number").drop(columns=["label", "frame"], errors="ignore")
    masked = [name for name, kind in values.dtypes.items() if not isinstance(kind, np.dtype)]
    values = values.astype(dict.fromkeys(masked, float))  # of pandas: pd.NA is NaN then
    frames = table["frame"].tolist() if stacked else [0] * len(table)
    keys = zip(map(int, frames), map(int, table["label"].tolist()), strict=True)
    rows = (
        {str(name): value for name, value in row.items() if np.isfinite(value)}
        for row in values.to_dict("records")
    )
    return dict(zip(keys, rows, strict=True))


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
            rings = [list(map(_closed, one.rings)) for one in polygons]
            alone = len(rings) == 1
            geometry: dict[str, Any] = {
                "type": "Polygon" if alone else "MultiPolygon",
                "coordinates": rings[0] if alone else rings,
            }
            if axis is not None:
                geometry["plane"] = {"c": -1, "z": 0, "t": 0, axis: plane}
            properties: dict[str, Any] = {"objectType": "detection", "name": f"{number}"}
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
                if axis is not None:
                    setattr(region, f"{axis}_position", plane + 1)
                    name = f"{axis}{plane + 1:04}-{name}"
                file.writestr(f"{name}.roi", region.tobytes())
