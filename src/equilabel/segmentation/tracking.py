"""`link_frames` and `track_overlaps`: objects of a movie, linked by the pixels that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equilabel.arguments import check_number, check_whole, normalize_bools
from equilabel.devices import fetch, library, take, using
from equilabel.devices import resolve as device_of

from .result import check_table

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from equilabel.array_types import Array

    Integers = NDArray[np.int64]

LARGEST = 2**63 - 1


class Objects(NamedTuple):
    """N objects of a movie, by frame and label, and P pairs that share pixels; arrays of int64."""

    frames: Integers
    labels: Integers
    sizes: Integers  # in pixels
    before: Integers  # index of an object
    after: Integers  # index of an object of the next frame
    pixels: Integers  # number of pixels that they share


def link_frames(labels: ArrayLike) -> pd.DataFrame:
    """Count the pixels that objects share with those of the next frame.

    Parameters
    ----------
    labels : (T, M, N[, P]) array of int
        Labels of each frame, 0 for background, as a NumPy or CuPy array. Different frames may use
        the same labels.

    Returns
    -------
    pandas.DataFrame
        One row for each pair that shares pixels, with the columns "frame" and "label" of the first
        object, "next_label" of the object in the next frame, and "pixels".

    Raises
    ------
    TypeError
        If labels are not integers.
    ValueError
        If there are fewer than two axes, or a label is negative.

    Examples
    --------
    >>> labels = np.array([[[1, 1, 1, 0, 2]], [[3, 3, 0, 4, 4]]])
    >>> print(link_frames(labels).to_string(index=False))
     frame  label  next_label  pixels
         0      1           3       2
         0      2           4       1
    """
    import pandas as pd

    found = _find(labels)
    return pd.DataFrame(
        {
            "frame": found.frames[found.before],
            "label": found.labels[found.before],
            "next_label": found.labels[found.after],
            "pixels": found.pixels,
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

    Notes
    -----
    Each object is linked to the object of the previous frame that it shares most pixels with; if
    two are equal, to the smaller label. Objects that are linked to the same object are its
    daughters. A single daughter continues the track. Two or more daughters start new tracks, with
    the track of that object as their parent. In the other direction, each object shares most pixels
    with one object of the next frame: if several share most with the same object, this is a merge.
    It continues the track of the object that it is linked to; the tracks of the others end, unless
    they have daughters.

    This tracks objects that move by less than their own width between frames. Objects that move
    further start a new track, and so do objects that are missing in more frames than `gap`. For
    CuPy arrays, pixels are counted on the GPU, and only the counts are copied to the host.

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
    found = _find(labels)
    least = min_overlap * np.minimum(found.sizes[found.before], found.sizes[found.after])
    kept = found.pixels >= least
    before, after, pixels = found.before[kept], found.after[kept], found.pixels[kept]
    size = len(found.labels)
    mother = _partner(after, before, pixels, size)
    heir = _partner(before, after, pixels, size)
    longest = int(np.ptp(found.frames)) - 1 if size else 0  # frames between the first and the last
    for missing in range(1, min(check_whole("gap", gap, 0), longest) + 1):
        _bridge(labels, found, missing, min_overlap, mother, heir)
    daughters = np.bincount(mother[mother >= 0], minlength=size)
    origins = np.bincount(heir[heir >= 0], minlength=size)

    continues = (mother >= 0) & (daughters[mother] == 1)
    first = _first(np.where(continues, mother, np.arange(size)))
    track = np.cumsum(~continues)[first]
    parent = np.where((mother >= 0) & ~continues, track[mother], 0)[first]
    events = np.array(["", "split", "merge", "merge split"])
    event = events[(daughters > 1) + 2 * (origins > 1)]
    return pd.DataFrame(
        {
            "frame": found.frames,
            "label": found.labels,
            "track": track,
            "parent": parent,
            "event": event.astype(object),
        }
    )


def _bridge(
    labels: ArrayLike,
    found: Objects,
    missing: int,
    min_overlap: float,
    mother: Integers,
    heir: Integers,
) -> None:
    """Link objects without an heir to those without a mother, so many frames later, in place."""
    images = _checked(normalize_bools(take(labels, "labels")))
    starts = np.searchsorted(found.frames, np.arange(len(images) + 1))
    for frame in range(len(images) - missing - 1):
        early, late = frame, frame + missing + 1
        with using(device_of("auto", images)):
            one, other, pixels = count_pairs(images[early].reshape(-1), images[late].reshape(-1))
        before, after = (
            starts[k] + np.searchsorted(found.labels[starts[k] : starts[k + 1]], labels_of)
            for k, labels_of in ((early, one), (late, other))
        )
        open_ = (heir[before] < 0) & (mother[after] < 0)
        open_ &= pixels >= min_overlap * np.minimum(found.sizes[before], found.sizes[after])
        before, after, pixels = before[open_], after[open_], pixels[open_]
        best = _partner(before, after, pixels, len(heir))
        back = _partner(after, before, pixels, len(heir))
        mutual = np.flatnonzero((best >= 0) & (back[best] == np.arange(len(best))))
        heir[mutual], mother[best[mutual]] = best[mutual], mutual


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

    Examples
    --------
    >>> labels = np.array([[[1, 0, 2]], [[7, 0, 0]]])
    >>> label_tracks(labels, track_overlaps(labels)).tolist()
    [[[1, 0, 2]], [[1, 0, 0]]]
    """
    images = _checked(normalize_bools(take(labels, "labels")))
    table = check_table(tracks, "tracks", ("frame", "label", "track"))
    xp = library(images)
    out = xp.zeros(images.shape, np.int64)
    frames, known, numbers = (table[name].to_numpy() for name in ("frame", "label", "track"))
    with using(device_of("auto", images)):
        for frame, image in enumerate(images):
            own = frames == frame
            order = np.argsort(known[own], kind="stable")
            here = np.append(known[own][order], LARGEST)
            place = xp.searchsorted(xp.asarray(here), image)
            inside = image > 0
            if (xp.asarray(here)[place] != image)[inside].any():
                message = f"tracks must have a row for each label; got too few for frame {frame}."
                raise ValueError(message)
            out[frame] = xp.where(inside, xp.asarray(np.append(numbers[own][order], 0))[place], 0)
    return out


def _partner(of: Integers, to: Integers, pixels: Integers, size: int) -> Integers:
    """Return for each object the one it shares most pixels with, the first of equals, or -1."""
    order = np.lexsort((to, -pixels, of))
    begins = np.flatnonzero(np.diff(of[order], prepend=-1))
    partner = np.full(size, -1)
    partner[of[order][begins]] = to[order][begins]
    return partner


def _first(links: Integers) -> Integers:
    """Follow the links of objects to the previous frame, to the first object of each track."""
    while True:
        further = links[links]
        if np.array_equal(further, links):
            return links
        links = further


def _find(labels: ArrayLike) -> Objects:
    """Find the objects of all frames, and the pairs that share pixels."""
    images = _checked(normalize_bools(take(labels, "labels")))
    objects, pairs = [], []
    with using(device_of("auto", images)):
        below = None
        for image in images:
            pixels = image.reshape(-1)
            objects.append(count_pairs(pixels, pixels)[1:])
            if below is not None:
                pairs.append(count_pairs(below, pixels))
            below = pixels
    counts = [len(values) for values, _ in objects]
    starts = np.cumsum([0, *counts])
    none = np.empty(0, dtype=np.int64)
    shared = [(none, none, none)]
    for frame, (one, other, pixels) in enumerate(pairs):
        before = starts[frame] + np.searchsorted(objects[frame][0], one)
        after = starts[frame + 1] + np.searchsorted(objects[frame + 1][0], other)
        shared.append((before, after, pixels))
    before, after, pixels = map(np.concatenate, zip(*shared, strict=True))
    return Objects(
        np.repeat(np.arange(len(objects)), counts),
        np.concatenate([none, *(values for values, _ in objects)]),
        np.concatenate([none, *(sizes for _, sizes in objects)]),
        before,
        after,
        pixels,
    )


def _checked(labels: Array) -> Array:
    if labels.dtype.kind not in "bui":
        message = (
            f"labels must be of an integer type; got {labels.dtype}. Label the frames first, as "
            "in `label(movie > threshold, stacked=True)`."
        )
        raise TypeError(message)
    if labels.ndim < 2:
        message = (
            f"labels must have an axis of frames and one of pixels; got {labels.ndim} axes. "
            "Stack the labels of the frames with np.stack."
        )
        raise ValueError(message)
    if labels.size:
        least, most = int(labels.min()), int(labels.max())
        if least < 0 or most > LARGEST:
            message = f"labels must be 0 to {LARGEST}; got {least} to {most}."
            raise ValueError(message)
    return labels


def count_pairs(one: Array, other: Array) -> tuple[Integers, Integers, Integers]:
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
    firsts, seconds, keys, counts = (
        fetch(each).astype(np.int64) for each in (firsts, seconds, keys, counts)
    )
    return firsts[keys // width], seconds[keys % width], counts
