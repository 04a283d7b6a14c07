"""Tables of what each label measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equilabel.arguments import check_flag
from equilabel.devices import resolve

from .at_once import table_at_once
from .checks import Where, check_columns, check_labels, check_periodic, check_spacing
from .columns import Columns
from .counting import count_labels, count_runs, count_sizes
from .counts import Counts
from .device_table import DeviceTable, table_of_runs
from .parts import compute_table, count_part
from .properties import PROPERTIES
from .property import Property
from .request import Request, make_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray


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
    "regionprops_table",
    "table_of_runs",
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

    A drop-in for `skimage.measure.regionprops_table`: same arguments, columns and definitions,
    answers where it raises, and columns of ours. `PROPERTIES` lists them all.

    Parameters
    ----------
    label_image : (M, N[, ...]) array of int, 1 to 6 axes
        Labels; 0 is background. Labels that do not occur get no row. An array that a GPU holds is
        measured there, on the current stream of CuPy; what scikit-image computes, on the host.
    intensity_image : (M, N[, ...][, C]) array of int or float, optional
        Image to measure under the labels; one axis more holds channels.
    properties : iterable of str
        Columns to compute, keys of `PROPERTIES`. Images, slices and coordinates are
        computed by scikit-image, object by object, as are moments of other than 2 or 3 spatial axes
        and `extra_properties`. Convex hulls, Feret diameters, holes and medians are found on the
        host.
    cache : bool
        Passed on to scikit-image.
    separator : str
        Stands between the name of a property and the numbers of its parts: "centroid-0".
    extra_properties : iterable of callable, optional
        Functions of the mask of an object, or of the mask and its values: one column or more each.
    spacing : float or sequence of float, optional
        Distance of pixels along each spatial axis, in any unit. Default 1. Lengths and areas are
        in this unit and its powers; bbox is in pixels.
    stacked : bool
        Whether the first axis counts independent images, as `label` numbers them with
        ``stacked=True``. Every label has to lie in one of them. It is measured in the other axes,
        and the column "frame" tells in which image it is.
    periodic : bool or sequence of bool
        Whether pixels at the end of an axis are neighbors of those at its beginning: for all
        spatial axes, or for each. A box begins inside the image and may end beyond it; a centroid
        lies inside. See the notes.
    columns : {"auto", "host", "device"}
        Where the columns are: "auto" is where the labels are, as in cuCIM, so that labels of CuPy
        give columns of CuPy; "host" gives arrays of NumPy in any case, for pandas and files;
        "device" arrays of CuPy.

    Returns
    -------
    dict of str to (N,) array
        A row for each label, in ascending order. Counts, labels, bbox, Euler numbers and sums of
        integers are int64, touches_border is bool, the others float64.

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
        If scikit-image fails on an object: its row holds NaN, the others are as they should be.

    Notes
    -----
    Counts are whole numbers and exact. Sums of floats are added in an order that depends on the
    shape of the image alone: their bits do not depend on the number of threads. A GPU adds floats
    as whole multiples of 2^-61 of the greatest value times the pixels of the largest object, the
    same bits every time; infinite values make weighted moments NaN there.

    Along a periodic axis, a bounding box is the shortest interval that holds the object, the first
    of several: from the widest gap between its coordinates to where that gap begins again. It goes
    from 0 to the end if there is no gap. Coordinates are counted from its beginning, whole numbers
    as they are, so that centroids and moments are those of the object in one piece. Edges and
    faces between neighbors across the boundary are not exposed. Convex hulls, holes, medians and
    what scikit-image computes are not available with periodic axes.

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

    An object in one piece across the boundary of a ring of five pixels:

    >>> ring = np.array([1, 1, 0, 0, 1])
    >>> table = regionprops_table(ring, properties=("bbox", "centroid"), periodic=True)
    >>> {name: column.tolist() for name, column in table.items()}
    {'bbox-0': [4], 'bbox-1': [7], 'centroid-0': [0.0]}
    """
    if extra_properties is None and spacing is None and periodic is False:
        found = table_at_once(label_image, intensity_image, properties, stacked, separator, columns)
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
