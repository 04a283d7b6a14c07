"""`relate`: which objects lie in which objects of another image."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equilabel.devices import fetch, is_on_cuda
from equilabel.measuring import check_spacing, regionprops_table
from equilabel.measuring.neighbors import as_volume, checked_labels, frame_of, frames_of

from .result import check_table
from .tracking import count_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from equilabel.array_types import Array


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
        and ``"mean_..."`` for the columns of numbers of `table`.

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

    small, stacked, rank = checked_labels(children, "children", stacked, most=3)
    large, *_ = checked_labels(parents, "parents", stacked, most=3)
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
    for frame in frames_of(small, stacked):
        one, other = frame_of(small, frame), frame_of(large, frame)
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

    from equilabel.measuring.cpu.contacts import find_borders

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
    volume = as_volume(fetch(parents))
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
    table = check_table(table, columns=keys)
    of = [*keys[:-1], "parent"]
    values = table.select_dtypes("number").columns.difference(of + keys, sort=False)
    joined = below[[*keys, "parent"]].merge(table[[*keys, *values]], on=keys, how="left")
    means = joined[joined.parent > 0].groupby(of)[list(values)].mean().add_prefix("mean_")
    return above.merge(means, how="left", left_on=keys, right_index=True)
