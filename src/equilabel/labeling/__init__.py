"""`label` and `measure_components`: labels by any method on any device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from equilabel.arguments import check_flag
from equilabel.devices import take
from equilabel.measuring import make_request

from .output import Report
from .paths import Wanted, paint, path_of, solve
from .problem import (
    NO_OPTIONS,
    check_apart,
    columns_of,
    connectivity_of,
    make_problem,
    problem_of,
)
from .remembered import label_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray
    from equilabel.devices import Device
    from equilabel.measuring import Where

    from .signatures import Measured, Plain, Reported, Table, Undecided

__all__ = ["Report", "label", "measure_components", "paint", "problem_of", "solve"]


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: Literal[False] = False,
    connectivity: int | None = None,
    **options: Unpack[Plain],
) -> HostArray: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: Literal[True] = ...,
    connectivity: int | None = None,
    **options: Unpack[Plain],
) -> tuple[HostArray, int]: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: bool = False,
    connectivity: int | None = None,
    **options: Unpack[Plain],
) -> HostArray | tuple[HostArray, int]: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: Literal[False] = False,
    connectivity: int | None = None,
    **options: Unpack[Measured],
) -> tuple[HostArray, Table]: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: Literal[True] = ...,
    connectivity: int | None = None,
    **options: Unpack[Measured],
) -> tuple[HostArray, int, Table]: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: Literal[False] = False,
    connectivity: int | None = None,
    **options: Unpack[Reported],
) -> tuple[HostArray, Report]: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: Literal[True] = ...,
    connectivity: int | None = None,
    **options: Unpack[Reported],
) -> tuple[HostArray, int, Report]: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: bool = False,
    connectivity: int | None = None,
    **options: Unpack[Undecided],
) -> Any: ...


def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: bool = False,
    connectivity: int | None = None,
    *,
    structure: ArrayLike | None = None,
    method: str = "auto",
    device: Device = "auto",
    stacked: bool = False,
    periodic: bool | Sequence[bool] = False,
    out: HostArray | None = None,
    properties: Iterable[str] | None = None,
    intensity_image: ArrayLike | None = None,
    spacing: float | Sequence[float] | None = None,
    columns: Where = "auto",
    report: bool = False,
    **options: Any,
) -> Any:
    """Label connected regions of equal value.

    A drop-in replacement for `skimage.measure.label`: same arguments and same labels, with a choice
    of method and device.

    Parameters
    ----------
    label_image : (M[, N[, ..., P]]) array of bool, any integer type, or float
        Image to label, with up to 6 axes longer than 1, in any memory order. Floats must be whole
        numbers. An array on a GPU (CuPy, PyTorch, JAX: anything with ``__cuda_array_interface__``
        or DLPack) is labeled there, on the current stream of CuPy. The mask of a masked array is
        ignored, as in scikit-image.
    background : int, optional
        Pixels of this value are labeled 0. Default 0. As in scikit-image, for bool images 1 inverts
        the image and other values mean 0.
    return_num : bool
        Whether to return the number of labels, too.
    connectivity : int, optional
        Maximum number of orthogonal hops between neighbors, from 1 (faces: 4 neighbors in 2D, 6 in
        3D) to the number of axes (with corners: 8 and 26), which is the default.
    structure : (3[, 3, ...]) array, optional
        The neighborhood as `scipy.ndimage.label` takes it, in place of `connectivity`: one that
        ``scipy.ndimage.generate_binary_structure`` makes, with as many axes as `connectivity`
        refers to. SciPy joins pixels of different values: for that, label ``image != 0``.
    method : str
        A key of `METHODS` or an alias. "auto" is the method that was measured to be the fastest.
    device : {"auto", "cpu", "cuda"} or "cuda:<index>"
        With "auto", the image is labeled where it is: a NumPy image on the CPU, an image on a GPU
        on that GPU. A device given by name is never replaced: with "cuda", a NumPy image is copied
        to the GPU and its labels back; with "cpu", the other way round.
    stacked : bool
        Whether the first axis counts independent images: regions are not connected along it,
        `connectivity` refers to the other axes, and numbers continue from image to image.
    periodic : bool or sequence of bool
        Whether pixels at the end of an axis are neighbors of those at its beginning, as in
        simulations with periodic boundary conditions: for all spatial axes, or for each. With
        `properties`, regions are measured across these boundaries, as `regionprops_table` does.
    out : array of int, optional
        Array for the labels, of the same shape, and of any integer type that can hold them. It may
        be `label_image` itself. Reusing an array saves the time of allocating one.
    properties : iterable of str, optional
        Also measure the regions: names of `PROPERTIES`. Columns that follow from runs of pixels are
        counted while labeling, others from the labels; see
        `measure_components`.
    intensity_image : array, optional
        Image to measure, as for `regionprops_table`.
    spacing : float or sequence of float, optional
        Distance between neighboring pixels along each spatial axis, for `properties`. Default 1.
    columns : {"auto", "host", "device"}
        Where to put the columns of the table, as for `regionprops_table`: "auto" is where the
        labels are.
    report : bool
        Whether to return a report, too: rounds, how often each pass was called, and the path that
        such an image takes without a report.
    **options
        Options of the method, see `METHODS`.

    Returns
    -------
    labels : array of int32 or int64, same shape as `label_image`, or `out`
        A NumPy array or, if `label_image` is on a GPU, a CuPy array. Regions are numbered 1 to N in
        raster order of their first pixels. int64 only if int32 cannot hold N. Integer images of
        shape (M, N, 1) are numbered column by column, as in scikit-image.
    num : int
        N, only with ``return_num=True``.
    table : dict of str to (N,) array
        The columns of `regionprops_table`, only with `properties`; after `labels` and `num`.
    report : Report
        Method, device, rounds, passes, seconds and path, only with ``report=True``; always last.

    Raises
    ------
    ValueError
        If `connectivity`, `structure`, `periodic`, `method`, `device`, the number of axes, or the
        shape or type of `out` is out of range, or `label_image` contains numbers that are not
        whole.
    TypeError
        If `label_image` is not of bool, integers or floats, or `out` not of integers; or if the
        method has no such option.
    DeviceUnavailableError
        If `device` was given by name and cannot be used, or fails; DeviceMemoryError, which is also
        a MemoryError, if the GPU has too little memory.

    See Also
    --------
    segment, label_chunked, label_graph, regionprops_table

    Notes
    -----
    Besides the labels, the default method needs about 0.3 bytes per pixel for smooth images, and up
    to 4.3 in the worst case. It uses as many threads as the process has cores; the environment
    variable EQUILABEL_NUM_THREADS sets another number.

    On a GPU, the call returns before the labels are computed, unless `return_num` requires their
    number, `out` has fewer than 32 bits, or there may be more than 2^31 labels.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[1, 1, 0], [0, 0, 1], [2, 0, 1]])
    >>> label(image)
    array([[1, 1, 0],
           [0, 0, 1],
           [2, 0, 1]], dtype=int32)
    >>> label(image, connectivity=1, return_num=True)[1]
    3
    >>> labels, table = label(image, properties=["label", "area"])
    >>> table["area"].tolist()
    [4.0, 1.0]

    How often a method repeated its passes:

    >>> label(image, method="kalentev", report=True)[1].rounds
    2

    With periodic boundaries, the ends of rows are connected, and the ends of columns:

    >>> image = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 0]])
    >>> label(image, connectivity=1, return_num=True)[1]
    3
    >>> label(image, connectivity=1, periodic=(False, True), return_num=True)[1]
    2
    >>> label(image, connectivity=1, periodic=True, return_num=True)[1]
    1
    """
    if type(return_num) is not bool:
        return_num = check_flag("return_num", return_num)  # type: ignore[unreachable]
    if type(report) is not bool:
        report = check_flag("report", report)  # type: ignore[unreachable]
    if structure is not None:
        image = take(label_image, "label_image")
        rank = image.ndim - check_flag("stacked", stacked)
        label_image, connectivity = image, connectivity_of(structure, connectivity, rank)
    plain = properties is None and periodic is False and not (options or report)
    if plain and type(method) is type(device) is str and method == device == "auto":
        known = label_again(label_image, background, connectivity, stacked, out, return_num)
        if known is not None:
            return known if return_num else known[0]
    problem = make_problem(
        label_image,
        background,
        connectivity,
        stacked,
        method,
        device,
        out,
        options or NO_OPTIONS,
        periodic,
    )
    if report:
        problem = problem._replace(reported=True)
    request = None
    if properties is not None:
        shape = problem.image.shape
        request = make_request(
            properties,
            intensity_image,
            shape,
            spacing,
            stacked=problem.stacked,
            periodic=problem.periodic,
            columns_on=columns_of(problem, columns),
        )
        check_apart(problem.out, request.values)
    found = solve(problem, request, counted=return_num)
    labels = found.labels if out is None else out
    if request is None and not report:
        return (labels, found.count) if return_num else labels
    answer = [labels]
    if return_num:
        answer.append(found.count)
    if request is not None:
        answer.append(request.table(found.counts, labels))
    if report:
        path = path_of(problem._replace(reported=False), Wanted(request)).name
        told = problem.method.name, problem.device, found.rounds
        answer.append(Report(*told, *found.calls, path))
    return tuple(answer)


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

    See Also
    --------
    label, regionprops_table

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
