"""`measure_components`: a table of regions without an image of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equilabel.measuring import make_request

from .paths import solve
from .problem import columns_of, make_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray
    from equilabel.devices import Device
    from equilabel.measuring import Where


def measure_components(
    image: ArrayLike,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    intensity_image: ArrayLike | None = None,
    background: int | None = None,
    connectivity: int | None = None,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
    separator: str = "-",
    device: Device = "auto",
    periodic: bool | Sequence[bool] = False,
    columns: Where = "auto",
) -> dict[str, HostArray]:
    """Measure connected regions without labeling their pixels.

    Returns the same table as `regionprops_table` of the labels of `label`. No image of labels is
    written if the columns follow from runs of pixels. This is always so for sizes, boxes,
    centroids, moments and intensities, and for lengths, surfaces and Euler numbers if all
    foreground has the same value. Otherwise, and for columns that scikit-image computes, temporary
    labels are made. On a GPU, they are also needed for lengths (except exposed edges and faces),
    surfaces and Euler numbers if `connectivity` is not full, for the columns of moments, for
    weighted centroids, and for intensities that are not unsigned integers of one or two bytes in a
    single channel.

    Parameters
    ----------
    image : array of bool or any integer type
        As `label_image` of `label`; an image on a GPU is measured there.
    properties : iterable of str
        Columns to compute, keys of `PROPERTIES`.
    intensity_image, spacing, separator
        As for `regionprops_table`.
    background, connectivity, stacked, device, periodic
        As for `label`. With periodic axes, labels are always made.
    columns : {"auto", "host", "device"}
        As for `regionprops_table`; "auto" is where the image is.

    Returns
    -------
    dict of str to (N,) array
        One row for each region, in raster order of its first pixel.

    Raises
    ------
    TypeError, ValueError
        As for `label` and `regionprops_table`.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=bool)
    >>> table = measure_components(mask, ["label", "area", "euler_number"], connectivity=1)
    >>> {name: column.tolist() for name, column in table.items()}
    {'label': [1, 2, 3], 'area': [2.0, 2.0, 1.0], 'euler_number': [1, 1, 1]}
    """
    problem = make_problem(
        image, background, connectivity, stacked=stacked, device=device, periodic=periodic
    )
    shape = problem.image.shape
    request = make_request(
        properties,
        intensity_image,
        shape,
        spacing,
        stacked=problem.stacked,
        separator=separator,
        periodic=problem.periodic,
        columns_on=columns_of(problem, columns),
    )
    found = solve(problem, request, table_only=True)
    return request.table(found.counts, found.labels)
