"""`contacts` and `neighbors`: which objects touch, and which are near."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_flag
from equilabel.devices import fetch, is_on_cuda, library, threads
from equilabel.domains.grid import half, offsets

from .checks import check_connectivity, check_labels, check_periodic, check_spacing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array, HostArray

MEASURES = {2: "length", 3: "area"}  # of a contact
FEW = 2**12  # pairs of labels, half of which are expected at first


def contacts(
    labels: ArrayLike,
    *,
    spacing: float | Sequence[float] | None = None,
    connectivity: int | None = None,
    stacked: bool = False,
    periodic: bool | Sequence[bool] = False,
) -> pd.DataFrame:
    """List the pairs of objects that touch, and how long their common border is.

    Parameters
    ----------
    labels : (M, N[, ...]) array of int
        The number of the object of each pixel, 0 for background; a NumPy or CuPy array.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis. Default 1.
    connectivity : int, optional
        Maximum number of orthogonal hops between neighbors, as for `label`: with 1, objects that
        meet at corners only do not touch.
    stacked : bool
        Whether the first axis counts independent images.
    periodic : bool or sequence of bool
        Whether the first and the last pixel of an axis are neighbors; for all spatial axes or each.

    Returns
    -------
    pandas.DataFrame
        One row for each pair, in the order of their labels ("label" is the smaller one): "frame" of
        a stack, "label", "neighbor", "pairs" (of neighboring pixels), and the measure of the faces
        that they share: "length" in 2D, "area" otherwise, 0 if they meet at corners only.

    Raises
    ------
    TypeError, ValueError
        If labels are not integers or negative, or another argument is out of range.

    See Also
    --------
    neighbors, relate

    Examples
    --------
    >>> labels = np.array([[1, 1, 2], [1, 3, 3]])
    >>> print(contacts(labels).to_string(index=False))
     label  neighbor  pairs  length
         1         2      1     1.0
         1         3      4     2.0
         2         3      2     1.0
    """
    import pandas as pd

    numbers, stacked, rank = checked_labels(labels, "labels", stacked)
    distances = np.array(check_spacing(spacing, rank))
    around = check_periodic(periodic, numbers.ndim, stacked)[stacked:] or (False,) * rank
    steps = half(offsets(rank, check_connectivity(connectivity, rank)))
    faces = distances.prod() / distances
    tables = []
    for frame in frames_of(numbers, stacked):
        found = _count_pairs(frame_of(numbers, frame), steps, around)
        columns = {
            "label": found[:, 0],
            "neighbor": found[:, 1],
            "pairs": found[:, 2],
            MEASURES.get(rank, "area"): found[:, 3:] @ faces,
        }
        tables.append(pd.DataFrame(columns if frame is None else {"frame": frame, **columns}))
    return pd.concat(tables, ignore_index=True)


def checked_labels(labels: Any, name: str, stacked: Any, most: int = 6) -> tuple[Array, bool, int]:
    """Return labels that can be related, whether they are a stack, and their spatial axes."""
    numbers, stacked = check_labels(labels, name), check_flag("stacked", stacked)
    rank = numbers.ndim - stacked
    if rank < 1:
        message = f"{name} must have an axis of space; got shape {numbers.shape}. Pass an image."
        raise ValueError(message)
    if rank > most:
        message = f"{name} must have up to {most} spatial axes; got {rank}. Pass them one by one."
        raise ValueError(message)
    if numbers.size and numbers.dtype.kind == "i" and (least := int(numbers.min())) < 0:
        message = f"{name} must not be negative; got {least}. Number objects from 1."
        raise ValueError(message)
    if numbers.size and numbers.dtype == np.uint64 and (most := int(numbers.max())) >= 2**63:
        message = f"{name} must be less than 2^63; got {most}. Number objects from 1."
        raise ValueError(message)
    return numbers, stacked, rank


def frames_of(numbers: Array, stacked: bool) -> Sequence[int | None]:
    """List the frames of a stack, of an empty one a first frame, so that tables have columns."""
    return range(max(1, len(numbers))) if stacked else (None,)


def frame_of(numbers: Array, frame: int | None) -> Array:
    """Return a frame of a stack, without pixels if there are no frames."""
    if frame is None:
        return numbers
    return numbers[frame] if len(numbers) else numbers.reshape((0, *numbers.shape[2:]))


def _count_pairs(
    image: Array, steps: NDArray[np.int64], around: tuple[bool, ...]
) -> NDArray[np.int64]:
    """Return a row for each pair of labels that touch, in order, as of `count_contacts`."""
    xp = library(image)
    around = tuple(each and side > 1 for each, side in zip(around, image.shape, strict=True))
    low = np.array(around, np.int64)
    high = low + image.shape
    if any(around):
        image = xp.pad(image, [(int(each), int(each)) for each in around], mode="wrap")
    count = _count_on_gpu if is_on_cuda(image) else _count_here
    found = count(image, steps, low, high)
    order = np.lexsort((found[:, 1], found[:, 0]))
    found = found[order]
    begins = np.flatnonzero((np.diff(found[:, :2], axis=0, prepend=-1) != 0).any(axis=1))
    if not len(begins):
        return found
    sums = np.add.reduceat(found[:, 2:], begins, axis=0)
    return np.concatenate([found[begins, :2], sums], axis=1)


def _count_here(
    image: Array, steps: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count in threads; a pair may have a row for each of their tasks."""
    from .cpu.contacts import count_contacts

    kind = np.int64 if image.dtype.itemsize > 4 or image.dtype == np.uint32 else np.int32
    flat, shape = np.ascontiguousarray(image, kind).reshape(-1), np.array(image.shape)
    rows = image.size // max(image.shape[-1], 1)

    def work(first: int, last: int) -> NDArray[np.int64]:
        room = FEW
        while True:
            table = np.zeros((room, 3 + image.ndim), np.int64)
            if count_contacts(flat, shape, low, high, steps, first, last, table):
                return table[table[:, 0] > 0]
            room *= 8

    cuts = threads.ranges(rows, image.size)
    return np.concatenate([np.empty((0, 3 + image.ndim), np.int64), *threads.each(work, cuts)])


def _count_on_gpu(
    image: Array, steps: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count on the GPU that holds an image; a pair has a row for each step."""
    xp = library(image)
    found = [np.empty((0, 3 + image.ndim), np.int64)]
    for step in steps:
        least = np.maximum(low, -step)
        most = np.minimum(high, image.shape - step)
        one = image[tuple(map(slice, least, most))]
        two = image[tuple(map(slice, least + step, most + step))]
        both = (one != two) & (one != 0) & (two != 0)
        pairs = xp.sort(xp.stack([one[both], two[both]]).astype(np.int64), axis=0)
        if not pairs.size:
            continue
        values, which = xp.unique(pairs, return_inverse=True)
        which = which.reshape(pairs.shape)
        keys, counts = xp.unique(which[0] * len(values) + which[1], return_counts=True)
        keys, counts, values = fetch(keys), fetch(counts), fetch(values)
        rows = np.zeros((len(keys), 3 + image.ndim), np.int64)
        rows[:, 0], rows[:, 1] = values[keys // len(values)], values[keys % len(values)]
        rows[:, 2] = counts
        if np.abs(step).sum() == 1:
            rows[:, 3 + int(np.argmax(np.abs(step)))] = counts
        found.append(rows)
    return np.concatenate(found)


def neighbors(
    labels: ArrayLike,
    *,
    spacing: float | Sequence[float] | None = None,
    connectivity: int | None = None,
    stacked: bool = False,
) -> pd.DataFrame:
    """Count the neighbors of each object, and find the nearest one.

    Parameters
    ----------
    labels : (M[, N[, P]]) array of int
        The number of the object of each pixel, 0 for background, with up to three spatial axes.
    spacing, connectivity, stacked
        As for `contacts`.

    Returns
    -------
    pandas.DataFrame
        One row for each object, with the columns

        - "frame" of a stack, and "label",
        - "touching": how many objects touch it, as in `contacts`,
        - "contact": length (in 3D area) of the border that it shares with others,
        - "nearest", "nearest_distance": the object that is nearest, the smallest label of several,
          and the distance between the centers of the nearest two pixels; 0 and NaN without one,
        - "nearest_centroid", "nearest_centroid_distance": the object whose centroid is nearest.

    Raises
    ------
    TypeError, ValueError
        As for `contacts`, and if there are more than three spatial axes.

    See Also
    --------
    contacts, relate

    Examples
    --------
    >>> labels = np.array([[1, 1, 0, 2, 3]])
    >>> print(neighbors(labels).iloc[:, :5].to_string(index=False))
     label  touching  contact  nearest  nearest_distance
         1         0      0.0        2               2.0
         2         1      1.0        3               1.0
         3         1      1.0        2               1.0
    """
    import pandas as pd

    numbers, stacked, rank = checked_labels(labels, "labels", stacked, most=3)
    distances = check_spacing(spacing, rank)
    tables = []
    for frame in frames_of(numbers, stacked):
        image = frame_of(numbers, frame)
        touching = contacts(image, spacing=distances, connectivity=connectivity)
        table = _neighbors_of(fetch(image), touching, distances)
        tables.append(pd.DataFrame(table if frame is None else {"frame": frame, **table}))
    return pd.concat(tables, ignore_index=True)


def _neighbors_of(
    image: HostArray, touching: pd.DataFrame, spacing: tuple[float, ...]
) -> dict[str, HostArray]:
    """Return the columns of `neighbors` for one image."""
    from scipy.spatial import KDTree

    from equilabel.measuring import regionprops_table

    from .cpu.contacts import find_nearest

    names = ("label", "bbox", "centroid")
    rank = image.ndim
    found = regionprops_table(image, properties=names, spacing=spacing, columns="host")
    own: HostArray = np.asarray(found["label"])
    ends = np.stack([np.asarray(found[f"bbox-{k}"]) for k in range(2 * rank)], axis=1)
    places = np.stack([found[f"centroid-{k}"] for k in range(rank)], axis=1)
    pairs = touching[["label", "neighbor"]].to_numpy().T
    both = np.searchsorted(own, pairs.reshape(-1))
    borders = np.tile(touching.iloc[:, -1], 2)
    volume, around = as_volume(image), (0,) * (3 - rank)
    boxes = np.zeros((len(own), 7), np.int64)
    boxes[:, 0], boxes[:, 4:] = own, 1
    boxes[:, 4 - rank : 4], boxes[:, 7 - rank :] = ends[:, :rank], ends[:, rank:]
    apart = np.array([1.0] * len(around) + list(spacing))
    numbers, squares = np.zeros(len(own), np.int64), np.full(len(own), np.inf)
    if len(own) > 1:
        cuts = threads.ranges(len(own), image.size, fine=True)
        tasks = [(volume, boxes[a:b], apart, numbers[a:b], squares[a:b]) for a, b in cuts]
        threads.each(find_nearest, tasks)
    between, which = np.full(len(own), np.nan), np.zeros(len(own), np.int64)
    if len(own) > 1:
        known, order = KDTree(places).query(places, k=2)
        order = np.minimum(order, len(own) - 1)  # too far away to be found
        itself = order[:, 0] == np.arange(len(own))  # not of two objects of one centroid
        between = np.where(itself, known[:, 1], known[:, 0])
        which = own[np.where(itself, order[:, 1], order[:, 0])]
    return {
        "label": own,
        "touching": np.bincount(both, minlength=len(own)),
        "contact": np.bincount(both, borders, len(own)).astype(np.float64),
        "nearest": numbers,
        "nearest_distance": np.where(numbers > 0, np.sqrt(squares), np.nan),
        "nearest_centroid": which,
        "nearest_centroid_distance": between,
    }


def as_volume(image: HostArray) -> HostArray:
    """Return an image of up to three axes with three."""
    return np.ascontiguousarray(image).reshape((1,) * (3 - image.ndim) + image.shape)


COLUMNS = ("touching", "nearest", "nearest_distance", "nearest_centroid_distance")


def neighbor_columns(
    labels: HostArray, spacing: tuple[float, ...], *, stacked: bool
) -> dict[str, HostArray]:
    """Return `COLUMNS` of `neighbors`, in ascending order of labels, for the table of all."""
    table = neighbors(labels, spacing=spacing, stacked=stacked)
    table = table.drop_duplicates("label").sort_values("label")
    return {name: table[name].to_numpy() for name in COLUMNS}
