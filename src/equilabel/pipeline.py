"""The whole way: smooth, binarize, fill, label, drop, measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .devices import is_on_cuda, library, place, resolve, take, using
from .labeling import label, problem_of, solve
from .measuring import PROPERTIES, check_spacing, make_request
from .methods import find_method
from .thresholding import find_cut, masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from .devices import Device
    from .measuring import Columns, Counts
    from .thresholding import Threshold


@dataclass(frozen=True, eq=False)
class Segmentation:
    """What `segment` found, and how.

    Attributes
    ----------
    labels : array of int32 or int64
        Objects numbered 1 to `num`; the shape of the image without its channels. Of NumPy or, if
        the image is held by a GPU, of CuPy.
    table : pandas.DataFrame
        A row for each object, in the order of labels.
    threshold : float, (float, float) or None
        Found or given; None for a local threshold.
    num : int
        Number of objects.
    connectivity : int
        Most hops between neighbors.
    spacing : tuple of float
        Distance of pixels along each spatial axis.
    method, device : str
        What did the work.
    """

    labels: NDArray[Any]
    table: pd.DataFrame
    threshold: float | tuple[float, float] | None
    num: int
    connectivity: int
    spacing: tuple[float, ...]
    method: str
    device: str


def segment(
    image: ArrayLike,
    *,
    threshold: Threshold = "otsu",
    sigma: float | Sequence[float] = 0.0,
    dark: bool = False,
    block_size: int | None = None,
    offset: float = 0.0,
    fill_holes: bool = False,
    connectivity: int | None = None,
    min_size: int = 0,
    max_size: int | None = None,
    exclude_border: bool = False,
    properties: Iterable[str] | None = None,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
    channel_axis: int | None = None,
    channel: int | None = None,
    method: str = "auto",
    device: Device = "auto",
    progress: Callable[[str], None] | None = None,
) -> Segmentation:
    """Find the objects of an image, label and measure them.

    Parameters
    ----------
    image : (M, N[, ...]) array of bool, int or float
        Image to segment, of 1 to 6 axes; of NumPy, or on a GPU as for `label`.
    threshold : str, float or (float, float)
        "otsu", "li", "triangle", "yen", "isodata", "mean", "minimum" or "local"; a number; or low
        and high for hysteresis. See `binarize`.
    sigma : float or sequence of float
        Standard deviation of Gaussian smoothing before the threshold, in the unit of `spacing`.
    dark : bool
        Whether objects are darker than the background.
    block_size : int, optional
        Width in pixels of the neighborhood of a local threshold, odd.
    offset : float
        Subtracted from a local threshold.
    fill_holes : bool
        Whether background that does not reach the border of the image becomes object.
    connectivity, method, device
        As for `label`. On a GPU nothing but the table comes back to the host, and no mask is made
        unless holes are filled or the threshold is none that a pixel alone can be compared with.
    min_size, max_size : int
        Fewest and most pixels of an object; others are dropped.
    exclude_border : bool
        Whether objects that touch the border of the image are dropped. Axes of length 1 have no
        border.
    properties : iterable of str, optional
        Columns of the table, see `regionprops_table`. Default: label, frame (of a stack), area,
        bbox, centroid, equivalent_diameter_area, the perimeter in 2D (perimeter_edges if `spacing`
        differs), surface_area_faces in 3D, and intensity_mean, _min, _max and _std.
    spacing : float or sequence of float, optional
        Distance of pixels along each spatial axis, in any unit. Default 1.
    stacked : bool
        Whether the first axis counts independent images, such as time points. They share one
        threshold, are smoothed, filled and labeled one by one, and numbered on through.
    channel_axis : int, optional
        Axis of the channels. Intensities are measured in each: "intensity_mean-0", ...
    channel : int, optional
        Channel to binarize; needed if there are several.
    progress : callable, optional
        Called with the name of each step before it begins: "binarize", "fill", "label", "drop",
        "measure", those that are needed. What it raises ends the work.

    Returns
    -------
    Segmentation
        Labels, table, threshold and how they were found.

    Raises
    ------
    ValueError, TypeError
        If an argument is out of range or the image is not of a real type.
    DeviceUnavailableError
        If `device` was asked for by name and cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((5, 9))
    >>> image[1:4, 1:4] = 100
    >>> image[1:4, 6:8] = 60
    >>> found = segment(image, threshold=50, properties=("label", "area", "intensity_mean"))
    >>> found.num
    2
    >>> print(found.table.to_string(index=False))
     label  area  intensity_mean
         1   9.0           100.0
         2   6.0            60.0
    """
    source = take(image)
    pixels, channels = _take_channel(source, channel_axis, channel)
    rank = pixels.ndim - bool(stacked)
    steps = check_spacing(spacing, rank)
    _check_sizes(min_size, max_size)
    columns = default_properties(rank, steps, stacked) if properties is None else properties
    columns = [columns] if isinstance(columns, str) else list(columns)
    drops = min_size > 1 or max_size is not None or exclude_border
    # What is counted of all objects at once is counted before some are dropped.
    late = [name for name in columns if not _counted(name)] if drops else []
    tell = progress or _ignore_step
    where, home = resolve(device, source), resolve("auto", source)
    with using(home if where == "cpu" else where):
        tell("binarize")
        pixels, channels = place(pixels, where), place(channels, where)
        cut, found = find_cut(
            pixels,
            threshold,
            sigma=sigma,
            spacing=steps,
            dark=dark,
            block_size=block_size,
            offset=offset,
            stacked=stacked,
        )
        if fill_holes:
            tell("fill")
            cut = masked(fill(cut.mask(), stacked=stacked))
        tell("label")
        problem = problem_of(*cut, connectivity, stacked=stacked, method=method, device=where)
        question = partial(
            make_request,
            intensity_image=channels,
            shape=problem.image.shape,
            spacing=spacing,
            stacked=problem.stacked,
        )
        request = question([name for name in columns if name not in late])
        labels, count, _, counts = solve(problem, request, counted=True)
        if drops:
            tell("drop")
            kept = _choose(counts, min_size, max_size, exclude_border)
            count, counts = _drop(labels, kept), counts.select(kept)
        tell("measure")
        groups = request.columns(counts, labels)
        if late:
            groups |= question(late).columns(counts, labels)
        labels = place(labels, home)
    return Segmentation(
        labels=labels,
        table=_frame(groups, columns),
        threshold=found,
        num=count,
        connectivity=rank if connectivity is None else connectivity,
        spacing=steps,
        method=find_method(method).name,
        device=where,
    )


def fill(mask: NDArray[np.bool_], *, stacked: bool = False) -> NDArray[np.bool_]:
    """Fill the holes of a mask: background that does not reach the border across faces.

    Parameters
    ----------
    mask : (M, N[, ...]) array of bool
    stacked : bool
        Whether the first axis counts independent images.

    Returns
    -------
    array of bool
        As `scipy.ndimage.binary_fill_holes` returns it for each image.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=bool)
    >>> bool(fill(ring).all())
    True
    """
    where = resolve("auto", mask)  # the mask stays where it is
    gaps, count = label(~mask, return_num=True, connectivity=1, stacked=stacked, device=where)
    hole = library(gaps).ones(count + 1, dtype=bool)
    hole[0] = False
    for axis in range(int(stacked), mask.ndim):
        for end in (0, -1):
            hole[np.take(gaps, end, axis=axis) if mask.shape[axis] else 0] = False
    filled: NDArray[np.bool_] = mask | hole[gaps]
    return filled


def default_properties(rank: int, spacing: tuple[float, ...], stacked: bool) -> tuple[str, ...]:
    """List the columns that `segment` measures if it is not told which.

    Parameters
    ----------
    rank : int
        Number of spatial axes.
    spacing : tuple of float
        Distance of pixels along each.
    stacked : bool
        Whether there is a frame to tell.

    Returns
    -------
    tuple of str
        Names for `regionprops_table`.

    Examples
    --------
    >>> default_properties(3, (2, 1, 1), stacked=False)[-5]
    'surface_area_faces'
    """
    contour = {2: ("perimeter",), 3: ("surface_area_faces",)}.get(rank, ())
    if rank == 2 and len(set(spacing)) > 1:
        contour = ("perimeter_edges",)
    return (
        "label",
        *(("frame",) if stacked else ()),
        *("area", "bbox", "centroid", "equivalent_diameter_area"),
        *contour,
        *("intensity_mean", "intensity_min", "intensity_max", "intensity_std"),
    )


def _ignore_step(_: str) -> None:
    """Do nothing when a step begins."""


def _take_channel(
    image: NDArray[Any], axis: int | None, channel: int | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the image to binarize, and the one to measure with channels last."""
    _check_whole("channel_axis", axis)
    _check_whole("channel", channel)
    if axis is None:
        if channel is not None:
            message = f"channel needs channel_axis, the axis that counts channels; got {channel!r}."
            raise ValueError(message)
        return image, image
    if not -image.ndim <= axis < image.ndim:
        message = f"channel_axis must be an axis of the image, 0 to {image.ndim - 1}; got {axis!r}."
        raise ValueError(message)
    channels = np.moveaxis(image, axis, -1)
    count = channels.shape[-1]
    if channel is None and count != 1:
        message = f"channel must be one of 0 to {count - 1}, as the image has several; got None."
        raise ValueError(message)
    if channel is not None and not 0 <= channel < count:
        message = f"channel must be one of 0 to {count - 1}; got {channel!r}."
        raise ValueError(message)
    return channels[..., channel or 0], channels


def _check_whole(name: str, value: object) -> None:
    if value is not None and not isinstance(value, Integral):
        message = f"{name} must be a whole number; got {value!r}."
        raise TypeError(message)


def _check_sizes(min_size: int, max_size: int | None) -> None:
    _check_whole("min_size", min_size)
    _check_whole("max_size", max_size)
    if min_size < 0:
        message = f"min_size must be 0 pixels or more; got {min_size!r}."
        raise ValueError(message)
    if max_size is not None and max_size < max(min_size, 1):
        message = f"max_size must be at least min_size and 1; got {max_size!r} < {min_size!r}."
        raise ValueError(message)


def _counted(name: str) -> bool:
    """Tell whether a property is counted for all objects at once, so that dropping some is free."""
    return name in PROPERTIES and PROPERTIES[name].counted


def _choose(
    counts: Counts, min_size: int, max_size: int | None, exclude_border: bool
) -> NDArray[np.bool_]:
    """Tell which objects stay, by size and border."""
    kept = counts.pixels >= min_size
    if max_size is not None:
        kept &= counts.pixels <= max_size
    first, last = counts.begins, counts.ends
    stacked = int(counts.layout.stacked)
    for axis, side in enumerate(counts.shape[stacked:] if exclude_border else (), stacked):
        if side > 1:
            kept &= (first[:, axis] > 0) & (last[:, axis] < side)
    return np.asarray(kept)


def _drop(labels: NDArray[Any], kept: NDArray[np.bool_]) -> int:
    """Drop objects, number the others consecutively, return how many."""
    order = np.zeros(len(kept) + 1, labels.dtype)
    order[1:][kept] = np.arange(1, np.count_nonzero(kept) + 1)
    if is_on_cuda(labels):
        labels[...] = library(labels).asarray(order)[labels]
    else:
        np.take(order, labels, out=labels, mode="clip")
    return int(np.count_nonzero(kept))


def _frame(groups: Columns, names: Iterable[str]) -> pd.DataFrame:
    """Put the columns that were asked for in their order."""
    import pandas as pd

    return pd.DataFrame({key: column for name in names for key, column in groups[name].items()})
