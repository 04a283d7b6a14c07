"""Tables of what each label measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .accumulation import Accumulation
from .checks import check_defined, check_known, check_labels, check_spacing, check_values
from .columns import COLUMNS
from .passing import pass_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["check_spacing", "regionprops_table"]


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
) -> dict[str, NDArray[Any]]:
    """Measure every label of an image.

    A drop-in for `skimage.measure.regionprops_table`: same arguments, columns and definitions.

    Parameters
    ----------
    label_image : (M, N[, ...]) array of int, 1 to 6 axes
        Labels; 0 is background. Labels that do not occur get no row.
    intensity_image : (M, N[, ...][, C]) array of int or float, optional
        Image to measure under the labels; one axis more holds channels.
    properties : iterable of str
        Columns to compute. In closed form, over runs of pixels: label, num_pixels, area, bbox,
        area_bbox, centroid, centroid_local, extent, equivalent_diameter_area, perimeter (2D),
        intensity_min, intensity_max, intensity_mean and intensity_std. Ours alone:
        perimeter_edges (2D; length of the exposed pixel edges), surface_area_faces (3D; area of
        the exposed voxel faces) and, with `stacked`, frame. Any other that scikit-image knows is
        computed by it, label by label.
    cache : bool
        Passed on to scikit-image.
    separator : str
        Stands between the name of a property and the numbers of its parts: "centroid-0".
    extra_properties : iterable of callable, optional
        Passed on to scikit-image.
    spacing : float or sequence of float, optional
        Distance of pixels along each spatial axis, in any unit. Default 1. Lengths and areas are
        in this unit and its powers; bbox is in pixels.
    stacked : bool
        Whether the first axis counts independent images, as `label` numbers them with
        ``stacked=True``. Every label has to lie in one of them. It is measured in the other axes,
        and the column "frame" tells in which image it is.

    Returns
    -------
    dict of str to (N,) array
        A row for each label, in ascending order. Counts, labels and bbox are int64, the others
        float64.

    Raises
    ------
    TypeError
        If `label_image` is not of an integer type.
    ValueError
        If a label is negative, shapes or `spacing` do not fit, or a property is unknown or not
        defined for the number of axes.

    References
    ----------
    .. [1] K. Benkrid, D. Crookes, A. Benkrid, Design and FPGA implementation of a perimeter
       estimator, Proc. Irish Machine Vision and Image Processing Conf. (2000) 51-57: perimeter.
    .. [2] O. Kalentev et al., J. Parallel Distrib. Comput. 71 (2011) 615-620: exposed edges and
       faces are what its Listing 4 can accumulate while labeling.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 2]])
    >>> table = regionprops_table(labels, properties=("label", "area", "perimeter"), spacing=0.5)
    >>> {name: column.tolist() for name, column in table.items()}
    {'label': [1, 2], 'area': [1.0, 0.25], 'perimeter': [2.0, 0.0]}
    """
    labels = check_labels(label_image)
    rank = labels.ndim - bool(stacked)
    if rank < 1:
        message = f"label_image must have 2 or more axes with stacked=True; got {labels.ndim}."
        raise ValueError(message)
    steps = check_spacing(spacing, rank)
    values = check_values(intensity_image, labels.shape)
    wanted = [properties] if isinstance(properties, str) else list(properties)
    ours = [name for name in wanted if name in COLUMNS]
    others = [name for name in wanted if name not in COLUMNS]
    for name in ours:
        check_defined(name, steps, stacked, values)
    check_known(others)
    sums = Accumulation(labels, values, steps, stacked, outline="perimeter" in ours)
    columns = {name: _parts(name, COLUMNS[name](sums), separator) for name in ours}
    if others or extra_properties is not None:
        functions = list(extra_properties or ())
        columns |= pass_on(labels, values, others, functions, steps, stacked, separator, cache)
        wanted += [function.__name__ for function in functions]
    table: dict[str, NDArray[Any]] = {}
    for name in wanted:
        table |= columns[name]
    return table


def _parts(name: str, column: NDArray[Any], separator: str) -> dict[str, NDArray[Any]]:
    """Return a property as one column, or as one for each part."""
    if column.ndim == 1:
        return {name: column}
    return {f"{name}{separator}{part}": column[:, part] for part in range(column.shape[1])}
