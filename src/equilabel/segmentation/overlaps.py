"""Objects linked by the pixels that they share: those of two images, and the frames of a movie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.arguments import check_number, check_whole, normalize_bools
from equilabel.devices import fetch, is_on_cuda, library, take, using
from equilabel.devices import resolve as device_of
from equilabel.measuring import check_spacing, regionprops_table
from equilabel.measuring.neighbors import as_volume, checked_labels, frame_of, frames_of

from .checks import place_like, renamed
from .result import check_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array

    Integers = NDArray[np.int64]
    Pairs = tuple[Integers, Integers, Integers]


def count_pairs(one: Array, other: Array) -> Pairs:
    """Return the pairs of labels at the same pixels in order, without 0, and their counts.

    Pixels are counted by runs in which neither image changes.
    """
    xp = library(one)
    changes = xp.ones(one.size, dtype=bool)
    changes[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    starts = xp.flatnonzero(changes)
    lengths = xp.diff(starts, append=xp.full(1, one.size, starts.dtype))
    both = (one[starts] != 0) & (other[starts] != 0)
    starts, lengths = starts[both], lengths[both]
    firsts, of = xp.unique(one[starts], return_inverse=True)
    seconds, to = xp.unique(other[starts], return_inverse=True)
    width = max(1, len(seconds))
    keys, which = xp.unique(of.reshape(-1) * width + to.reshape(-1), return_inverse=True)
    counts = xp.bincount(which.reshape(-1), weights=lengths, minlength=len(keys))
    found = (firsts, seconds, keys, counts)
    firsts, seconds, keys, counts = (fetch(each).astype(np.int64) for each in found)
    return firsts[keys // width], seconds[keys % width], counts


def _best(of: Integers, to: Integers, pixels: Integers) -> Integers:
    """Return the places of the pairs in which each object shares most pixels, first of equals."""
    order = np.lexsort((to, -pixels, of))
    return order[np.flatnonzero(np.diff(of[order], prepend=-1))]


# ---- The objects of a movie


class Objects(NamedTuple):
    """N objects of a movie, by frame and label: arrays of int64."""

    images: Array  # (T, ...), on their device, or not read yet
    starts: Integers  # (T + 1,), the first object of each frame
    labels: Integers
    sizes: Integers  # in pixels

    @property
    def frames(self) -> Integers:
        """The frame of each object."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @classmethod
    def of(cls, labels: ArrayLike) -> Objects:
        """Find the objects of all frames."""
        images = _checked(labels)
        found = [np.empty((2, 0), np.int64)]
        for k in range(images.shape[0]):
            image = checked_labels(_read(images, k), "labels", False)[0].reshape(-1)
            with using(device_of("auto", image)):
                found.append(np.stack(count_pairs(image, image)[1:]))
        starts = np.cumsum([each.shape[1] for each in found])
        return cls(images, starts, *np.concatenate(found, axis=1))

    def pairs(self, lag: int, share: float = 0.0) -> Pairs:
        """Return the objects that share pixels with those `lag` frames later, and how many.

        Pairs that share less than a share of the smaller object are left out.
        """
        found = [np.empty((3, 0), np.int64)]
        for frame in range(self.images.shape[0] - lag):
            both = (frame, frame + lag)
            one, other = (_read(self.images, k).reshape(-1) for k in both)
            with using(device_of("auto", one)):
                *known, pixels = count_pairs(one, other)
            places = [
                self.starts[k] + np.searchsorted(self.labels[slice(*self.starts[k : k + 2])], each)
                for k, each in zip(both, known, strict=True)
            ]
            found.append(np.stack([*places, pixels]))
        before, after, pixels = np.concatenate(found, axis=1)
        kept = pixels / np.minimum(self.sizes[before], self.sizes[after]) >= share
        return before[kept], after[kept], pixels[kept]


def _checked(labels: ArrayLike) -> Any:
    """Return the labels of a movie, or raise TypeError or ValueError; chunks are not read yet."""
    images: Any = labels if hasattr(labels, "chunks") else take(labels, "labels")
    if images.dtype.kind not in "bui":
        message = (
            f"labels must be of an integer type; got {images.dtype}. Label the frames first, as "
            "in `label(movie > threshold, stacked=True)`."
        )
        raise TypeError(message)
    if images.ndim < 2:
        message = (
            f"labels must have an axis of frames and one of pixels; got {images.ndim} axes. "
            "Stack the labels of the frames with np.stack."
        )
        raise ValueError(message)
    return images


def _read(images: Any, frame: int) -> Array:
    """Return the labels of a frame, those of bool as bytes."""
    image = normalize_bools(take(images[frame], "labels"))
    return image.view(np.uint8) if image.dtype == np.bool_ else image


def link_frames(labels: ArrayLike) -> pd.DataFrame:
    """Count the pixels that objects share with those of the next frame.

    Parameters
    ----------
    labels : (T, M, N[, P]) array of int
        Labels of each frame, 0 for background; different frames may use the same labels. Of an
        array of Zarr or Dask, two frames at a time are in memory.

    Returns
    -------
    pandas.DataFrame
        One row for each pair that shares pixels, with the columns "frame" and "label" of the first
        object, "next_label" of the object in the next frame, and "pixels".

    Raises
    ------
    TypeError, ValueError
        If labels are not integers, of fewer than two axes, or negative.

    See Also
    --------
    track_overlaps

    Examples
    --------
    >>> labels = np.array([[[1, 1, 1, 0, 2]], [[3, 3, 0, 4, 4]]])
    >>> print(link_frames(labels).to_string(index=False))
     frame  label  next_label  pixels
         0      1           3       2
         0      2           4       1
    """
    import pandas as pd

    found = Objects.of(labels)
    before, after, pixels = found.pairs(1)
    return pd.DataFrame(
        {
            "frame": found.frames[before],
            "label": found.labels[before],
            "next_label": found.labels[after],
            "pixels": pixels,
        }
    )


def track_overlaps(labels: ArrayLike, *, min_overlap: float = 0.0, gap: int = 0) -> pd.DataFrame:
    """Track the objects of a movie through its frames by the pixels that they share.

    Parameters
    ----------
    labels : (T, M, N[, P]) array of int
        Labels of each frame, as for `link_frames`.
    min_overlap : float
        Smallest overlap for a link, as a share of the smaller of the two objects: 0 (any common
        pixel) to 1 (all of its pixels).
    gap : int
        In how many frames in succession an object may be missing: a track that ends and one that
        begins after a gap are one track if of all such objects these two overlap most.

    Returns
    -------
    pandas.DataFrame
        One row for each object, by frame and label, with the columns

        - "frame" and "label",
        - "track": number of the track, from 1, in the order of their first objects,
        - "parent": the track that split into this one and others; 0 if there is none,
        - "event": "split" if the object is the last before a split; "merge" if several objects
          became this one; "merge split" if both; otherwise empty.

    Raises
    ------
    TypeError, ValueError
        As for `link_frames`, and if `min_overlap` is not 0 to 1.

    See Also
    --------
    link_frames, label_tracks, segment

    Notes
    -----
    Each object is linked to the object of the previous frame that it shares most pixels with; if
    two are equal, to the smaller label. Objects that are linked to the same object are its
    daughters. A single daughter continues the track. Two or more start new tracks, with the track
    of that object as their parent. In the other direction, if several objects share most pixels
    with the same object of the next frame, this is a merge. It continues the track of the object
    that it is linked to; the tracks of the others end, unless they have daughters. Objects that
    move by more than their own width between frames start a new track, and so do objects that are
    missing in more frames than `gap`.

    Examples
    --------
    >>> labels = np.array([[[1, 1, 1, 0, 2]], [[3, 0, 4, 0, 5]], [[6, 6, 6, 0, 7]]])
    >>> print(track_overlaps(labels).to_string(index=False))
     frame  label  track  parent  event
         0      1      1       0  split
         0      2      2       0
         1      3      3       1
         1      4      4       1
         1      5      2       0
         2      6      3       1  merge
         2      7      2       0
    """
    import pandas as pd

    remedy = "Pass 0 to link objects that share any pixel."
    min_overlap = check_number("min_overlap", min_overlap, 0, 1, remedy=remedy)
    found = Objects.of(labels)
    before, after, pixels = found.pairs(1, min_overlap)
    size = len(found.labels)
    mother = _partner(after, before, pixels, size)
    heir = _partner(before, after, pixels, size)
    for missing in range(1, min(check_whole("gap", gap, 0), found.images.shape[0] - 2) + 1):
        before, after, pixels = found.pairs(missing + 1, min_overlap)
        ends = (heir[before] < 0) & (mother[after] < 0)
        before, after, pixels = before[ends], after[ends], pixels[ends]
        best = _partner(before, after, pixels, size)
        back = _partner(after, before, pixels, size)
        mutual = np.flatnonzero((best >= 0) & (back[best] == np.arange(size)))
        heir[mutual], mother[best[mutual]] = best[mutual], mutual
    daughters = np.bincount(mother[mother >= 0], minlength=size)
    origins = np.bincount(heir[heir >= 0], minlength=size)

    continues = (mother >= 0) & (daughters[mother] == 1)
    first = np.where(continues, mother, np.arange(size))
    while not np.array_equal(first[first], first):  # to the first object of each track
        first = first[first]
    track = np.cumsum(~continues)[first]
    parent = np.where((mother >= 0) & ~continues, track[mother], 0)[first]
    events = np.array(["", "split", "merge", "merge split"], dtype=object)
    columns = {"frame": found.frames, "label": found.labels, "track": track, "parent": parent}
    return pd.DataFrame({**columns, "event": events[(daughters > 1) + 2 * (origins > 1)]})


def _partner(of: Integers, to: Integers, pixels: Integers, size: int) -> Integers:
    """Return for each object the one that it shares most pixels with, or -1."""
    partner, best = np.full(size, -1), _best(of, to, pixels)
    partner[of[best]] = to[best]
    return partner


def label_tracks(labels: ArrayLike, tracks: pd.DataFrame) -> Array:
    """Return a movie in which objects have the numbers of their tracks: one color each.

    Parameters
    ----------
    labels : (T, M, N[, P]) array of int
        Labels of each frame, as for `track_overlaps`.
    tracks : pandas.DataFrame
        A row for each object, with the columns "frame", "label" and "track": the result of
        `track_overlaps`, or a table of ``segment(..., track=True)``.

    Returns
    -------
    array of int64
        The number of the track of each pixel, 0 for background, on the device of `labels`.

    Raises
    ------
    TypeError, ValueError
        As for `link_frames`, and if `tracks` lacks a column or a label.

    See Also
    --------
    track_overlaps

    Examples
    --------
    >>> labels = np.array([[[1, 0, 2]], [[7, 0, 0]]])
    >>> label_tracks(labels, track_overlaps(labels)).tolist()
    [[[1, 0, 2]], [[1, 0, 0]]]
    """
    images = _checked(labels)
    table = check_table(tracks, "tracks", ("frame", "label", "track"))
    out = np.zeros(images.shape, np.int64)
    for frame in range(images.shape[0]):
        image = fetch(checked_labels(_read(images, frame), "labels", False)[0])
        own = table[table["frame"] == frame]
        known, numbers = (np.append(own[name], 0).astype(np.int64) for name in ("label", "track"))
        if not np.isin(image, known).all():
            message = f"tracks must have a row for each label; got too few for frame {frame}."
            raise ValueError(message)
        out[frame] = renamed(image, known, numbers)
    return place_like(images, out) if is_on_cuda(images) else out


# ---- Objects of one image that lie in those of another


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

    See Also
    --------
    grow, contacts, track_overlaps

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
    one, other, pixels = (each[_best(*pairs)] for each in pairs)
    rows = np.searchsorted(small.label, one)
    parent, overlap = np.zeros((2, len(small)), np.int64)
    parent[rows], overlap[rows] = other, pixels
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
    below = pd.DataFrame({"label": small.label, "parent": parent, "overlap": overlap})
    below["share"] = overlap / small.num_pixels.to_numpy()
    below["centroid_distance"], below["border_distance"] = between, border
    counts = np.bincount(mother, minlength=len(large))
    sums = np.bincount(mother, overlap[rows], len(large)).astype(np.int64)
    return below, pd.DataFrame({"label": large.label, "children": counts, "overlap": sums})


def _with_means(below: pd.DataFrame, above: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Add the means of the measurements of children to the table of their parents."""
    keys = [name for name in ("frame", "label") if name in below]
    table = check_table(table, columns=keys).reset_index(drop=True)
    of = [*keys[:-1], "parent"]
    values = table.select_dtypes("number").columns.difference(of + keys, sort=False)
    joined = below[[*keys, "parent"]].merge(table[[*keys, *values]], on=keys, how="left")
    means = joined[joined.parent > 0].groupby(of)[list(values)].mean().add_prefix("mean_")
    return above.merge(means, how="left", left_on=keys, right_index=True)
