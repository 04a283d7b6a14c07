"""`measure`: a table of the objects of labels, as `equilabel measure` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equilabel.arguments import check_flags, check_names
from equilabel.devices import take
from equilabel.measuring import PROPERTIES, check_spacing, regionprops_table

from .checks import image_of, knows_images
from .stages import TRACKS, check_track, default_properties
from .tracking import track_overlaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike


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
    """Measure the objects of labels that are there already.

    The labels may come from Cellpose, StarDist or an annotator: they may have gaps, and in a stack
    they may repeat from image to image.

    Parameters
    ----------
    labels : (M, N[, ...]) array of int
        The number of the object of each pixel, 0 for background; an array on a GPU is measured
        there. Or what `read` returns, as for `image`.
    image : (M, N[, ...][, C]) array, optional
        Image to measure intensities in, of the shape of `labels`, with channels along a last axis.
    properties : iterable of str, optional
        Columns, see `regionprops_table`. Default: as for `segment`; without an image, those that
        need none.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis, in any unit. Default 1.
    stacked : bool
        Whether the first axis counts independent images, such as time points: the table has a row
        for each label of each image.
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
    numbers: Any = take(labels, "labels")
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
    for k in range(len(numbers)) if stacked else (...,):
        parts.append(
            _measure_one(numbers[k], None if values is None else values[k], names, k, spacing)
        )
    table: pd.DataFrame = pd.concat(parts, ignore_index=True)
    if track:
        tracks = track_overlaps(numbers)  # in the order of frames and labels, like the table
        place = sum(name in ("label", "frame") for name in names[:2])
        for name in reversed(TRACKS):
            table.insert(place, name, tracks[name].to_numpy())
    return table


def _measure_one(labels: Any, image: Any, names: list[str], frame: Any, spacing: Any) -> Any:
    """Return the table of one image of a stack."""
    import numpy as np
    import pandas as pd

    wanted = [name for name in names if name != "frame"]
    columns: dict[str, Any] = regionprops_table(
        labels, image, ["label", *wanted], spacing=spacing, columns="host"
    )
    count = len(columns["label"])
    own = {name: column for name, column in columns.items() if name.split("-")[0] in wanted}
    part = pd.DataFrame(own, index=range(count))
    if "frame" in names:
        before = set(names[: names.index("frame")])
        place = sum(name.split("-")[0] in before for name in own)
        part.insert(place, "frame", np.full(count, frame, np.int64))
    return part
