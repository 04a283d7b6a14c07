"""`contacts`, `neighbors` and `relate`: which objects touch, are near, or lie in each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import check_flag
from equilabel.devices import fetch, is_on_cuda, library, threads
from equilabel.domains.grid import half, offsets
from equilabel.labeling.problem import check_connectivity
from equilabel.measuring import check_spacing, regionprops_table
from equilabel.measuring.checks import check_labels, check_periodic

from .selection import check_table
from .tracking import count_pairs

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

    numbers, stacked, rank = _checked(labels, "labels", stacked)
    distances = np.array(check_spacing(spacing, rank))
    around = check_periodic(periodic, numbers.ndim, stacked)[stacked:] or (False,) * rank
    steps = half(offsets(rank, check_connectivity(connectivity, rank)))
    faces = distances.prod() / distances
    tables = []
    for frame in _frames(numbers, stacked):
        found = _count_pairs(_image(numbers, frame), steps, around)
        columns = {
            "label": found[:, 0],
            "neighbor": found[:, 1],
            "pairs": found[:, 2],
            MEASURES.get(rank, "area"): found[:, 3:] @ faces,
        }
        tables.append(pd.DataFrame(columns if frame is None else {"frame": frame, **columns}))
    return pd.concat(tables, ignore_index=True)


def _checked(labels: Any, name: str, stacked: Any, most: int = 6) -> tuple[Array, bool, int]:
    """Return labels that can be related, whether they are a stack, and their spatial axes."""
    numbers, stacked = check_labels(labels), check_flag("stacked", stacked)
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
    return numbers, stacked, rank


def _frames(numbers: Array, stacked: bool) -> Sequence[int | None]:
    """List the frames of a stack, of an empty one a first frame, so that tables have columns."""
    return range(max(1, len(numbers))) if stacked else (None,)


def _image(numbers: Array, frame: int | None) -> Array:
    """Return a frame of a stack, without pixels if there are no frames."""
    if frame is None:
        return numbers
    return numbers[frame] if len(numbers) else numbers.reshape((*numbers.shape[1:-1], 0))


def _count_pairs(
    image: Array, steps: NDArray[np.int64], around: tuple[bool, ...]
) -> NDArray[np.int64]:
    """Return a row for each pair of labels that touch, in order, as of `count_contacts`."""
    xp = library(image)
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
        - "nearest", "distance": the object that is nearest, the smallest label of several, and the
          distance between the centers of the nearest two pixels; 0 and NaN if there is no other,
        - "nearest_centroid", "centroid_distance": the object whose centroid is nearest.

    Raises
    ------
    TypeError, ValueError
        As for `contacts`, and if there are more than three spatial axes.

    Examples
    --------
    >>> labels = np.array([[1, 1, 0, 2, 3]])
    >>> print(neighbors(labels).iloc[:, :5].to_string(index=False))
     label  touching  contact  nearest  distance
         1         0      0.0        2       2.0
         2         1      1.0        3       1.0
         3         1      1.0        2       1.0
    """
    import pandas as pd

    numbers, stacked, rank = _checked(labels, "labels", stacked, most=3)
    distances = check_spacing(spacing, rank)
    tables = []
    for frame in _frames(numbers, stacked):
        image = _image(numbers, frame)
        touching = contacts(image, spacing=distances, connectivity=connectivity)
        table = _neighbors_of(fetch(image), touching, distances)
        tables.append(pd.DataFrame(table if frame is None else {"frame": frame, **table}))
    return pd.concat(tables, ignore_index=True)


def _neighbors_of(
    image: HostArray, touching: pd.DataFrame, spacing: tuple[float, ...]
) -> dict[str, HostArray]:
    """Return the columns of `neighbors` for one image."""
    from scipy.spatial import KDTree

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
    volume, around = _as_volume(image), (0,) * (3 - rank)
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
        "contact": np.bincount(both, borders, len(own)),
        "nearest": numbers,
        "distance": np.where(numbers > 0, np.sqrt(squares), np.nan),
        "nearest_centroid": which,
        "centroid_distance": between,
    }


def _as_volume(image: HostArray) -> HostArray:
    """Return an image of up to three axes with three."""
    return np.ascontiguousarray(image).reshape((1,) * (3 - image.ndim) + image.shape)


class Relation(NamedTuple):
    """Objects of one image that lie in those of another: a table for either."""

    children: pd.DataFrame
    parents: pd.DataFrame


def relate(
    children: ArrayLike,
    parents: ArrayLike,
    table: pd.DataFrame | None = None,
    *,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
) -> Relation:
    """Find for each object the object of another image that it overlaps most.

    Parameters
    ----------
    children, parents : (M[, N[, P]]) array of int
        Labels of two images of the same shape, 0 for background: spots and cells, for example.
    table : pandas.DataFrame, optional
        Measurements of the children, with a column "label" (and "frame" of a stack): their means
        are added to the table of parents.
    spacing, stacked
        As for `contacts`.

    Returns
    -------
    Relation
        Two tables. ``children`` has a row for each child: "frame" of a stack, "label", "parent"
        (0 if it overlaps none; the smallest label of equal ones), "overlap" (pixels that they
        share), "share" (of the pixels of the child), "centroid_distance" (from centroid to
        centroid) and "border_distance" (from the pixel at the centroid of the child to the nearest
        pixel outside of its parent; NaN if that pixel is not in the parent). ``parents`` has a row
        for each parent: "label", "children" (how many), "overlap" (pixels that they share with it),
        and "mean_..." for the columns of numbers of `table`.

    Raises
    ------
    TypeError, ValueError
        As for `contacts`, and if the shapes differ.

    Examples
    --------
    >>> cells = np.array([[1, 1, 1, 1, 2, 2, 2]])
    >>> spots = np.array([[0, 5, 0, 7, 7, 7, 0]])
    >>> found = relate(spots, cells)
    >>> print(found.children[["label", "parent", "overlap", "share"]].to_string(index=False))
     label  parent  overlap    share
         5       1        1 1.000000
         7       2        2 0.666667
    >>> print(found.parents.to_string(index=False))
     label  children  overlap
         1         1        1
         2         1        2
    """
    import pandas as pd

    small, stacked, rank = _checked(children, "children", stacked, most=3)
    large, *_ = _checked(parents, "parents", stacked, most=3)
    if small.shape != large.shape:
        message = (
            f"children and parents must have the same shape; got {small.shape} and {large.shape}. "
            "Pass labels of the same image."
        )
        raise ValueError(message)
    distances = check_spacing(spacing, rank)
    if is_on_cuda(small) != is_on_cuda(large):
        small, large = fetch(small), fetch(large)
    found = []
    for frame in _frames(small, stacked):
        one, other = _image(small, frame), _image(large, frame)
        tables = _relate_one(one, other, distances)
        for made in tables:
            if frame is not None:
                made.insert(0, "frame", frame)
        found.append(tables)
    below, above = (pd.concat(each, ignore_index=True) for each in zip(*found, strict=True))
    return Relation(below, above if table is None else _with_means(below, above, table))


def _relate_one(
    children: Array, parents: Array, spacing: tuple[float, ...]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables of one image."""
    import pandas as pd

    from .cpu.contacts import find_borders

    names, rank = ("label", "num_pixels", "centroid"), children.ndim
    small, large = (
        pd.DataFrame(regionprops_table(image, properties=names, spacing=spacing, columns="host"))
        for image in (children, parents)
    )
    pairs = count_pairs(children.reshape(-1), parents.reshape(-1))
    order = np.lexsort((pairs[1], -pairs[2], pairs[0]))
    one, other, pixels = (each[order] for each in pairs)
    begins = np.flatnonzero(np.diff(one, prepend=-1))
    rows = np.searchsorted(small.label, one[begins])
    parent, overlap = np.zeros((2, len(small)), np.int64)
    parent[rows], overlap[rows] = other[begins], pixels[begins]
    mother = np.searchsorted(large.label, parent[rows])
    places = small.iloc[:, -rank:].to_numpy()
    between, border = np.full((2, len(small)), np.nan)
    apart = places[rows] - large.iloc[:, -rank:].to_numpy()[mother]
    between[rows] = np.sqrt((apart**2).sum(axis=1))
    points = np.zeros((len(rows), 3), np.int64)
    points[:, 3 - rank :] = np.rint(places[rows] / spacing)
    volume = _as_volume(fetch(parents))
    inside = volume[tuple(points.T)] == parent[rows]
    squares = np.full(int(inside.sum()), np.inf)
    find_borders(volume, points[inside], np.array([1.0] * (3 - rank) + list(spacing)), squares)
    border[rows[inside]] = np.where(np.isfinite(squares), np.sqrt(squares), np.nan)
    size = small.num_pixels.to_numpy()
    below = pd.DataFrame(
        {
            "label": small.label,
            "parent": parent,
            "overlap": overlap,
            "share": overlap / size,
            "centroid_distance": between,
            "border_distance": border,
        }
    )
    counts = np.bincount(mother, minlength=len(large))
    sums = np.bincount(mother, overlap[rows], len(large)).astype(np.int64)
    return below, pd.DataFrame({"label": large.label, "children": counts, "overlap": sums})


def _with_means(below: pd.DataFrame, above: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Add the means of the measurements of children to the table of their parents."""
    keys = [name for name in ("frame", "label") if name in below]
    table = check_table(table)
    missing = [name for name in keys if name not in table]
    if missing:
        message = f"table must have the columns {', '.join(keys)}; got none of {missing[0]!r}."
        raise ValueError(message)
    of = [*keys[:-1], "parent"]
    values = table.select_dtypes("number").columns.difference(of + keys, sort=False)
    joined = below[[*keys, "parent"]].merge(table[[*keys, *values]], on=keys, how="left")
    means = joined[joined.parent > 0].groupby(of)[list(values)].mean().add_prefix("mean_")
    return above.merge(means, how="left", left_on=keys, right_index=True)
