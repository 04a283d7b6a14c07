"""Tables of what each label measures, one row per label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.arguments import check_flag, check_sequence, check_whole, shown
from equilabel.devices import resolve

from .checks import (
    Where,
    check_columns,
    check_functions,
    check_labels,
    check_periodic,
    check_spacing,
    check_values,
)
from .counting import count_labels, count_runs, count_sizes
from .counts import Counts
from .measurement import Property
from .parts import compute_table, count_part
from .properties import PROPERTIES, Columns
from .remembered import table_again
from .request import DeviceTable, Request, make_request, table_of_runs, with_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray

    from .regions import Region

LARGEST = 2**62  # coordinate of an offset: sums with it fit into 64 bits

__all__ = [
    "PROPERTIES",
    "Columns",
    "Counts",
    "DeviceTable",
    "Property",
    "Request",
    "Where",
    "check_columns",
    "check_periodic",
    "check_spacing",
    "compute_table",
    "count_labels",
    "count_part",
    "count_runs",
    "count_sizes",
    "make_request",
    "regionprops",
    "regionprops_table",
    "table_of_runs",
    "with_columns",
]


def regionprops_table(
    label_image: ArrayLike,
    intensity_image: ArrayLike | None = None,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    cache: bool = True,
    separator: str = "-",
    extra_properties: Iterable[Callable[..., Any]] | None = None,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
    periodic: bool | Sequence[bool] = False,
    columns: Where = "auto",
) -> dict[str, HostArray]:
    """Measure every label of an image.

    A drop-in replacement for `skimage.measure.regionprops_table` with the same arguments, columns
    and definitions. It has more columns, and also works where scikit-image raises an error.
    `PROPERTIES` lists all columns.

    Parameters
    ----------
    label_image : (M, N[, ...]) array of int, 1 to 6 axes
        Labels; 0 is background. Labels that do not occur get no row. Labels on a GPU are measured
        there, on the current stream of CuPy.
    intensity_image : (M, N[, ...][, C]) array of int or float, optional
        Image whose values are measured under the labels; one more axis holds channels.
    properties : iterable of str
        Columns to compute, keys of `PROPERTIES`. Images, slices, coordinates and
        `extra_properties` are computed by scikit-image, object by object, on the host. Convex
        hulls, Feret diameters, holes, medians, percentiles and neighbors are computed on the host.
    cache : bool
        Passed on to scikit-image.
    separator : str
        String between the name of a property and the indices of its parts, as in "centroid-0".
    extra_properties : iterable of callable, optional
        Functions of the mask of an object, or of the mask and its values. Each gives one or more
        columns.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis, in any unit. Default: 1.
        Lengths and areas are in this unit and its powers; bbox is in pixels.
    stacked : bool
        Whether the first axis counts independent images, as `label` numbers them with
        ``stacked=True``. Every label must lie in a single image. Objects are measured in the other
        axes; the column "frame" holds the index of their image.
    periodic : bool or sequence of bool
        Whether the last pixels along an axis are neighbors of the first: for all spatial axes, or
        for each. A bounding box begins inside the image and may end beyond it; a centroid lies
        inside. See Notes.
    columns : {"auto", "host", "device"}
        Where the columns are stored. "auto" keeps them where the labels are: labels of CuPy give
        columns of CuPy, as in cuCIM. "host" always gives arrays of NumPy, for pandas and files.
        "device" gives arrays of CuPy.

    Returns
    -------
    dict of str to (N,) array
        One row for each label, in ascending order. Counts, labels, bbox, Euler numbers and sums of
        integers are int64 (sums beyond it float64), touches_border is bool, images, slices and
        coordinates are objects, and `extra_properties` have their own types; all others are
        float64.

    Raises
    ------
    TypeError
        If `label_image` is not of an integer type.
    ValueError
        If a label is negative, shapes or `spacing` do not fit, or a property is unknown or not
        defined for the number of axes.

    Warns
    -----
    RuntimeWarning
        If scikit-image fails on an object: its row holds NaN, all other rows are valid.

    See Also
    --------
    regionprops, measure, label

    Notes
    -----
    Counts are exact integers. Floats are summed in an order that depends only on the shape of the
    image, so that the bits of a sum do not depend on the number of threads. A GPU sums floats as
    integer multiples of 2^-61 of the greatest value times the pixels of the largest object, which
    gives the same bits every time; there, infinite values make weighted moments NaN.

    Along a periodic axis, a bounding box is the shortest interval that contains the object, the
    first one if there are several. It begins after the widest gap between the object's coordinates,
    or at 0 if there is no gap. Centroids and moments are those of the object in one piece. Edges
    and faces between neighbors across the boundary are not exposed. Convex hulls, holes, medians
    and what scikit-image computes are not available with periodic axes.

    References
    ----------
    .. [1] K. Benkrid, D. Crookes, A. Benkrid, Design and FPGA implementation of a perimeter
       estimator, Proc. Irish Machine Vision and Image Processing Conf. (2000) 51-57: perimeter.
    .. [2] O. Kalentev et al., J. Parallel Distrib. Comput. 71 (2011) 615-620: exposed edges and
       faces are what its Listing 4 can accumulate while labeling.
    .. [3] G. Lehmann, D. Legland, Efficient N-dimensional surface estimation using Crofton formula
       and run-length encoding, Insight Journal (2012): surface_area_crofton.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 2]])
    >>> table = regionprops_table(labels, properties=("label", "area", "perimeter"), spacing=0.5)
    >>> {name: column.tolist() for name, column in table.items()}
    {'label': [1, 2], 'area': [1.0, 0.25], 'perimeter': [2.0, 0.0]}

    An object that lies across the boundary of a ring of five pixels:

    >>> ring = np.array([1, 1, 0, 0, 1])
    >>> table = regionprops_table(ring, properties=("bbox", "centroid"), periodic=True)
    >>> {name: column.tolist() for name, column in table.items()}
    {'bbox-0': [4], 'bbox-1': [7], 'centroid-0': [0.0]}
    """
    if extra_properties is None and spacing is None and periodic is False:
        found = table_again(label_image, intensity_image, properties, stacked, separator, columns)
        if found is not None:
            return found
    labels, stacked = check_labels(label_image), check_flag("stacked", stacked)
    rank = labels.ndim - stacked
    if rank < 1:
        message = f"label_image must have 2 or more axes with stacked=True; got {labels.ndim}."
        raise ValueError(message)
    home = resolve("auto", labels)
    around = () if periodic is False else check_periodic(periodic, labels.ndim, stacked)
    request = make_request(
        properties,
        intensity_image,
        labels.shape,
        spacing,
        stacked=stacked,
        separator=separator,
        cache=cache,
        extra_properties=extra_properties,
        periodic=around,
        columns_on=check_columns(columns, home, home),
    )
    return request.table(request.count(labels), labels)


def regionprops(
    label_image: ArrayLike,
    intensity_image: ArrayLike | None = None,
    cache: bool = True,
    *,
    extra_properties: Iterable[Callable[..., Any]] | None = None,
    spacing: float | Sequence[float] | None = None,
    offset: Sequence[int] | None = None,
) -> list[Region]:
    """Return the objects of a label image, with their properties as attributes.

    A drop-in replacement for `skimage.measure.regionprops`. A property is computed for all objects
    when the first one is asked for it, as a column of `regionprops_table`; masks, coordinates and
    `extra_properties` are computed by scikit-image, object by object. If a whole table is wanted,
    `regionprops_table` is faster.

    Parameters
    ----------
    label_image : (M, N[, ...]) array of int, 1 to 6 axes
        Labels; 0 is background. Labels on a GPU are counted there.
    intensity_image : (M, N[, ...][, C]) array of int or float, optional
        Image whose values are measured under the labels; one more axis holds channels.
    cache : bool
        Whether an object keeps the masks and moments that scikit-image computes.
    extra_properties : iterable of callable, optional
        Functions of the mask of an object, or of the mask and its values; attributes of their
        names.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each axis. Default: 1.
    offset : sequence of int, optional
        Coordinates of the first pixel of `label_image` in a larger image. As in scikit-image, it
        is added to ``coords``, ``coords_scaled`` and ``centroid``, whatever the spacing.

    Returns
    -------
    list of Region
        One for each label, in ascending order. Attributes, also ``region["area"]``, have the names
        and definitions of `PROPERTIES`; columns of several parts are tuples or arrays.

    Raises
    ------
    TypeError
        If `label_image` is not of an integer type.
    ValueError
        If a label is negative, or shapes, `spacing` or `offset` do not fit.
    AttributeError
        By an attribute that is not defined for these axes, or needs an intensity image.

    See Also
    --------
    regionprops_table : All objects as columns.
    crops : Masks and values of objects, with a margin.

    Notes
    -----
    Boxes and numbers are those of the labels when `regionprops` is called, other properties those
    of the labels when the first object is asked: pass a copy if the labels are changed afterwards.
    A function of `extra_properties` hides a property of its name that scikit-image does not have.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 2]])
    >>> regions = regionprops(labels, spacing=0.5)
    >>> [(region.label, region.area.item(), region.centroid) for region in regions]
    [(1, 1.0, (0.25, 0.25)), (2, 0.25, (1.0, 1.0))]
    >>> regions[0].image.shape
    (2, 2)
    """
    from .regions import list_regions

    labels = check_labels(label_image)
    rank, steps = labels.ndim, check_spacing(spacing, labels.ndim)
    values = check_values(intensity_image, labels.shape)
    given = (0,) * rank if offset is None else check_sequence("offset", offset)
    start = np.array([check_whole("offset", each, -LARGEST, LARGEST) for each in given])
    if len(start) != rank:
        message = f"offset must be one integer for each of the {rank} axes; got {shown(offset)}."
        raise ValueError(message)
    functions = check_functions(extra_properties, rank)
    options = {"extra_properties": functions, "spacing": steps, "offset": start}
    return list_regions(labels, values, cache_active=check_flag("cache", cache), **options)
