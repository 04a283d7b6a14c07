"""Labels: checked arguments in, numbered components out, by any method on any device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from equilabel.arguments import check_flag
from equilabel.measuring import make_request

from .at_once import label_at_once
from .checks import NO_OPTIONS, check_apart, columns_of, make_problem, problem_of
from .execute import solve
from .graphs import label_graph
from .measure import measure
from .report import Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import HostArray
    from equilabel.devices import Device
    from equilabel.measuring import Where

    from .signatures import Measured, Plain, Reported, Table, Undecided

__all__ = ["Report", "label", "label_graph", "measure", "problem_of", "solve"]


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

    A drop-in for `skimage.measure.label`: same arguments, same numbers, plus a choice of
    algorithm and device.

    Parameters
    ----------
    label_image : (M[, N[, ..., P]]) array of bool, any integer type, or float
        Image to label, of 0 to 6 axes longer than 1, in any memory order. Floats have to hold
        whole numbers. An array that a GPU holds (of CuPy, PyTorch, JAX: anything with
        ``__cuda_array_interface__`` or DLPack) is labeled there, on the current stream of CuPy.
        The mask of a masked array is ignored, as in scikit-image.
    background : int, optional
        Value labeled 0. Default 0. As in scikit-image, 1 inverts a bool image and other values
        mean 0 there.
    return_num : bool
        Also return the number of labels.
    connectivity : int, optional
        Most orthogonal hops between neighbors, from 1 (faces: 4 neighbors in 2D, 6 in 3D) to the
        number of axes (corners too: 8 and 26), the default.
    method : str
        A key of `METHODS` or an alias; "auto" is the fastest measured.
    device : {"auto", "cpu", "cuda"} or "cuda:<index>"
        "auto" is where the image is: a NumPy image is labeled on the CPU, an image that a GPU
        holds on that GPU. A device asked for by name is never replaced: "cuda" moves a NumPy image
        to the GPU and its labels back, "cpu" the other way.
    stacked : bool
        Whether the first axis counts independent images: regions never join along it,
        `connectivity` counts the other axes, and numbers go on from image to image.
    periodic : bool or sequence of bool
        Whether pixels at the end of an axis are neighbors of those at its beginning, as in
        simulations with periodic boundary conditions: for all spatial axes, or for each. With
        `properties`, regions are measured across these boundaries, as `regionprops_table` does.
    out : array of int, optional
        Receives the labels: same shape, any integer type that can hold them. It may be
        `label_image` itself. Writing to an array that exists saves the time of making one.
    properties : iterable of str, optional
        Also measure the regions: names of `PROPERTIES`. What follows from runs of pixels is counted
        while labeling, the rest from the labels; see `measure`.
    intensity_image : array, optional
        Image to measure under the labels, as for `regionprops_table`.
    spacing : float or sequence of float, optional
        Distance of pixels along each spatial axis, for `properties`. Default 1.
    columns : {"auto", "host", "device"}
        Where the columns of the table are, as for `regionprops_table`: "auto" is where the labels
        are.
    report : bool
        Also return what labeling took: rounds, and calls of each pass.
    **options
        Options of the method, see `METHODS`.

    Returns
    -------
    labels : array of int32 or int64, same shape as `label_image`, or `out`
        Of NumPy, or of CuPy if a GPU holds `label_image`.
        Regions numbered 1 to N in raster order of their first pixel; int64 only where int32
        cannot hold N. Integer images of shape (M, N, 1) are numbered column by column, as
        scikit-image does.
    num : int
        N, only with ``return_num=True``.
    table : dict of str to (N,) array
        The columns of `regionprops_table`, only with `properties`; after the others.
    report : Report
        Method, device, rounds and passes, only with ``report=True``; always last.

    Raises
    ------
    ValueError
        If `connectivity`, `periodic`, `method`, `device`, the number of axes or the shape or type
        of `out` is out of range, or `label_image` holds numbers that are not whole.
    TypeError
        If `label_image` is not of bool, integers or floats, or `out` not of integers; or if the
        method has no such option.
    DeviceUnavailableError
        If `device` was asked for by name and cannot be used, or fails; DeviceMemoryError, which is
        a MemoryError as well, if the GPU has too little memory.

    Notes
    -----
    Beside the labels, the default method takes about 0.3 bytes a pixel on smooth images and 6 at
    worst. It runs in as many threads as the process has cores; the environment variable
    EQUILABEL_NUM_THREADS sets another number.

    On a GPU nothing waits for the labels unless `return_num` asks for their number, `out` is of
    fewer than 32 bits, or there may be more than 2^31 of them.

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

    How often a method repeated its passes, and called each:

    >>> label(image, method="kalentev", report=True)[1].rounds
    2

    With periodic boundaries the first row goes on at its other end, and so does the first column:

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
    plain = properties is None and periodic is False and not (options or report)
    if plain and type(method) is type(device) is str and method == device == "auto":
        known = label_at_once(label_image, background, connectivity, stacked, out, return_num)
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
        answer.append(Report(problem.method.name, problem.device, found.rounds, found.calls or {}))
    return tuple(answer)
