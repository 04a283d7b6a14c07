"""What is done with labels that are there already: `measure`, `filter_objects` and `crops`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import (
    as_host_array,
    check_flag,
    check_flags,
    check_mapping,
    check_names,
    check_whole,
    shown,
)
from equilabel.devices import fetch, is_on_cuda, library, resolve, using
from equilabel.measuring import PROPERTIES, check_spacing, regionprops_table
from equilabel.measuring.checks import check_labels
from equilabel.measuring.neighbors import frame_of, frames_of
from equilabel.storage.metadata import knows_images

from .checks import image_of, renamed
from .overlaps import track_overlaps
from .result import Segmentation, check_table, columns_in, meets, refuse_columns
from .stages import check_track, default_properties, drop_components, numbers_of, with_tracks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array


@knows_images
def measure(
    labels: ArrayLike,
    image: ArrayLike | None = None,
    properties: Iterable[str] | None = None,
    *,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
    track: bool = False,
) -> pd.DataFrame:
    """Measure the objects of labels that are there already, from Cellpose, StarDist, an annotator.

    Parameters
    ----------
    labels : (M, N[, ...]) array of int
        The number of the object of each pixel, 0 for background; there may be gaps. An array on a
        GPU is measured there. Or what `read` returns, as for `image`.
    image : (M, N[, ...][, C]) array, optional
        Image to measure intensities in, of the shape of `labels`, with channels along a last axis.
    properties : iterable of str, optional
        Columns, see `regionprops_table`. Default: as for `segment`; without an image, those that
        need none.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis, in any unit. Default 1.
    stacked : bool
        Whether the first axis counts independent images, whose labels may repeat: the table has a
        row for each label of each image.
    track : bool
        Whether to track objects of a stack from frame to frame: adds the columns track, parent and
        event of `track_overlaps`.

    Returns
    -------
    pandas.DataFrame
        A row for each object, in the order of images and labels, on the host.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of range, `image` does not fit `labels`, or a property needs an image
        that is not given.

    See Also
    --------
    regionprops_table, measure_components, filter_objects

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[7, 7, 0], [0, 0, 3]])
    >>> measure(labels, properties=["label", "area"])
       label  area
    0      3   1.0
    1      7   2.0
    """
    import pandas as pd

    check_flags(stacked=stacked, track=track)
    numbers: Any = check_labels(labels, "labels")
    rank = numbers.ndim - stacked
    if rank < 1:
        message = f"labels must have an axis of space; got shape {numbers.shape}. Pass an image."
        raise ValueError(message)
    values = image_of(numbers, image)
    check_track(track, stacked)
    distances = check_spacing(spacing, rank)
    wanted = default_properties(rank, distances, stacked) if properties is None else properties
    names = list(check_names("properties", wanted))
    blind = [name for name in names if name in PROPERTIES and PROPERTIES[name].intensity]
    if image is None and properties is None:
        names = [name for name in names if name not in blind]
    elif blind and image is None:
        message = (
            f"properties must not ask for intensities without an image; got {blind[0]!r}. Pass an "
            "image, or leave it out."
        )
        raise ValueError(message)
    if "frame" in names and not stacked:  # raises the error of `segment`
        regionprops_table(numbers[:0], properties=("frame",))
    parts = []
    for k in frames_of(numbers, stacked):
        some = None if values is None else frame_of(values, k)
        parts.append(_measure_one(frame_of(numbers, k), some, names, k, spacing))
    table: pd.DataFrame = pd.concat(parts, ignore_index=True)
    if not track:
        return table
    return pd.DataFrame(with_tracks(dict(table.items()), names, track_overlaps(numbers)))


def _measure_one(labels: Any, image: Any, names: list[str], frame: Any, spacing: Any) -> Any:
    """Return the table of one image of a stack."""
    import pandas as pd

    wanted = [*(name for name in names if name != "frame"), "label"]
    columns: dict[str, Any]
    columns = regionprops_table(labels, image, wanted, spacing=spacing, columns="host")
    rows = range(len(columns["label"]))
    columns["frame"] = np.full(len(rows), frame or 0, np.int64)
    parts = [{key: columns[key] for key in columns if key.split("-")[0] == name} for name in names]
    return pd.DataFrame({key: part[key] for part in parts for key in part}, index=rows)


# ---- Objects that are chosen by their measurements


def filter_objects(
    found: Segmentation | ArrayLike,
    wanted: str | Mapping[str, tuple[float | None, float | None]],
    table: pd.DataFrame | None = None,
    *,
    image: ArrayLike | None = None,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
) -> Segmentation | tuple[Array, pd.DataFrame]:
    """Keep the objects whose measurements meet a condition.

    Parameters
    ----------
    found : Segmentation or array of int
        Objects: a segmentation, or labels that were made elsewhere, with the table of their
        measurements. Labels stored in chunks are read into memory.
    wanted : str or mapping of str to (float or None, float or None)
        A condition on columns of the table, ``"area > 20 and circularity > 0.8"``; names that are
        no words of Python are quoted, ``"`bbox-0` > 5"``. Or for each column the smallest and the
        largest value to keep, where None means no limit. Objects with a missing value in a column
        do not meet a comparison with it, except ``!=``.
    table : pandas.DataFrame or dict of array, optional
        Measurements of labels, as of `measure` or `regionprops_table`, with a column "label" and a
        row for each label. By default what the condition names is measured.
    image, spacing : optional
        As for `measure`, if there is no table.
    stacked : bool
        Whether the first axis of labels counts independent images, whose labels may repeat. A table
        without a column "frame" has the rows of `measure`, image by image.

    Returns
    -------
    Segmentation, or (array of int, pandas.DataFrame)
        As `found`: a segmentation, or labels with their table. Objects are numbered from 1 again;
        the column "label_before" holds their previous labels.

    Raises
    ------
    TypeError, ValueError
        If a column is not in the table, the condition is more than comparisons of columns and
        numbers, the labels are only in a file, or they do not match the table.

    See Also
    --------
    segment, measure, crops

    Examples
    --------
    >>> import equilabel
    >>> found = equilabel.segment(np.array([[9, 9, 0, 9]]), threshold=5)
    >>> kept = equilabel.filter_objects(found, "area < 2")
    >>> kept.labels, kept.table[["label", "area", "label_before"]].values.tolist()
    (array([[0, 0, 0, 1]], dtype=int32), [[1.0, 1.0, 2.0]])
    >>> labels = np.array([[4, 4, 0, 9]])
    >>> table = equilabel.measure(labels, properties=["label", "area"])
    >>> equilabel.filter_objects(labels, {"area": (2, None)}, table)[0]
    array([[1, 1, 0, 0]])
    """
    if isinstance(found, Segmentation):
        labels, measured = _labels_of(found), found.table
        kept = meets(measured, wanted)
        num = drop_components(labels, kept)
        return replace(found, labels=labels, table=_renumbered(measured, kept), num=num)
    (stacked,), labels = check_flags(stacked=stacked), check_labels(found, "found")
    if table is None:
        ranged = not isinstance(wanted, str)
        columns = check_mapping("ranges", wanted) if ranged else columns_in("condition", wanted)
        names = list(dict.fromkeys(["label", *(str(each).split("-")[0] for each in columns)]))
        refuse_columns("condition", names, list(PROPERTIES))
        table = measure(labels, image, names, spacing=spacing, stacked=stacked)
    table = check_table(table, columns=("label",), remedy=" Pass measure(labels).")
    if stacked and "frame" in table:
        table = table.sort_values(["frame", "label"], kind="stable")
    kept = meets(table, wanted)
    images = labels if stacked else labels[np.newaxis]  # of which rows follow each other
    here = [fetch(library(one).unique(one)) for one in images]
    expected = np.concatenate([np.empty(0, np.int64), *(each[each != 0] for each in here)])
    owners = table["label"].to_numpy()
    if (expected < 0).any():
        message = f"found must not have negative labels; got {expected.min()}. Number from 1."
        raise ValueError(message)
    if not np.array_equal(expected, owners if stacked else np.sort(owners)):
        message = (
            f"table must have one row for each label; got {len(owners)} rows for "
            f"{len(expected)} labels. Pass measure(labels)."
        )
        raise ValueError(message)
    owners = owners.astype(expected.dtype)  # after a merge of tables they are floats
    dtype = labels.dtype
    if stacked:  # labels of all images may be more than those of one
        dtype = np.dtype(np.int64 if len(owners) >= 2**31 else np.int32)
    numbers = numbers_of(kept, dtype)[1:]
    ends = np.cumsum(list(map(np.count_nonzero, here)))
    own = zip(np.split(owners, ends), np.split(numbers, ends), strict=True)
    made = (
        renamed(image, *(np.append(each, each.dtype.type(0)) for each in some))
        for image, some in zip(images, own, strict=False)
    )
    if not stacked:
        return next(made), _renumbered(table, kept)
    with using(resolve("auto", labels)):
        out = library(labels).empty(labels.shape, dtype)
    for frame, image in enumerate(made):
        out[frame] = image
    return out, _renumbered(table, kept)


def _renumbered(table: pd.DataFrame, kept: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the rows that are kept, with new labels."""
    before = table["label"] if "label" in table else np.arange(1, len(table) + 1)
    table = table[kept].reset_index(drop=True)
    if "label_before" not in table:
        table["label_before"] = np.asarray(before)[kept]
    if "label" in table:
        table["label"] = np.arange(1, len(table) + 1)
    return table


def _labels_of(found: Any) -> Array:
    """Return a copy of the labels of a segmentation; raise an error unless they match its table."""
    held: Any = found.labels  # `segment_chunked` may give a path
    if isinstance(held, (str, Path)):
        message = f"found must hold labels in an array; got {shown(str(held))}. Open it with Zarr."
        raise TypeError(message)
    labels = held if is_on_cuda(held) else as_host_array("labels", held)
    labels = check_labels(labels, "labels").copy()
    table, num = check_table(found.table), check_whole("num", found.num, 0)
    rows = np.arange(1, len(table) + 1)
    ordered = len(rows) == num and np.array_equal(table.get("label", rows), rows)
    if not ordered or (labels.size and not 0 <= int(labels.min()) <= int(labels.max()) <= num):
        message = (
            "labels must be 0 to num, with a row of the table for each, in order; got "
            f"num={shown(num)}."
        )
        raise ValueError(message)
    return labels


# ---- Objects cut out of their image


class Crop(NamedTuple):
    """An object cut out of its image: the box with its margin, which ends at the border."""

    label: int
    box: tuple[slice, ...]  # of the pixels; the frame of a stack is a number before them
    mask: NDArray[np.bool_]  # the pixels of the object
    image: Array  # the image in the box, with its channels; None without an image


def crops(
    labels: ArrayLike, image: ArrayLike | None = None, margin: int = 0, *, stacked: bool = False
) -> Iterator[Crop]:
    """Cut each object out of its image, one after the other.

    Parameters
    ----------
    labels : (M, N[, ...]) array of int
        The number of the object of each pixel, 0 for background.
    image : (M, N[, ...][, C]) array, optional
        Image, with channels along a last axis.
    margin : int
        Pixels around the bounding box, as far as there are any.
    stacked : bool
        Whether the first axis counts independent images: each object is cut out of its frame.

    Yields
    ------
    Crop
        ``label``, ``box`` (slices of the image), ``mask`` and ``image``, in the order of labels.
        Both are views where that is possible: copy what you change.

    Raises
    ------
    TypeError, ValueError
        If labels are not integers, the shapes differ, or `margin` is negative.

    See Also
    --------
    outlines, filter_objects

    Examples
    --------
    >>> labels = np.array([[0, 0, 0, 0], [0, 5, 5, 0]])
    >>> for crop in crops(labels, 10 * labels, margin=1):
    ...     print(crop.label, crop.box[1], crop.mask[1].tolist(), crop.image.shape)
    5 slice(0, 4, None) [False, True, True, False] (2, 4)
    """
    numbers, stacked = fetch(check_labels(labels, "labels")), check_flag("stacked", stacked)
    margin, rank = check_whole("margin", margin, 0), numbers.ndim - stacked
    pixels = image_of(numbers, image)
    return _each(numbers, pixels, margin, rank, stacked=stacked)


def _each(numbers: Any, pixels: Any, margin: int, rank: int, *, stacked: bool) -> Iterator[Crop]:
    """Yield the crops of all frames."""
    for frame in range(len(numbers)) if stacked else (...,):
        own = numbers[frame]
        found = regionprops_table(own, properties=("label", "bbox"), columns="host")
        ends = np.stack([found[f"bbox-{k}"] for k in range(2 * rank)], axis=1).astype(int)
        for number, edges in zip(found["label"].tolist(), ends.tolist(), strict=True):
            spans = zip(edges[:rank], edges[rank:], strict=True)
            box: Any = tuple(
                slice(max(a - margin, 0), min(b + margin, side))
                for (a, b), side in zip(spans, own.shape, strict=True)
            )
            view = None if pixels is None else pixels[frame][box]
            place = (frame, *box) if stacked else box
            yield Crop(number, place, own[box] == number, view)
