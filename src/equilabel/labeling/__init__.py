"""Labels: checked arguments in, numbered components out, by any method on any device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from equilabel.devices import fetch, is_on_cuda, pays, place, resolve, take, using
from equilabel.methods import find_method

from .checks import check_axes, check_connectivity, check_count, check_out, check_type
from .cuda import label_compared, label_on_gpu, memory_needed
from .host import label_on_host

__all__ = ["label", "label_compared"]

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from equilabel.devices import Device
    from equilabel.methods import Method


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: Literal[False] = False,
    connectivity: int | None = None,
    *,
    method: str = "auto",
    device: Device = "auto",
    stacked: bool = False,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None = None,
    *,
    return_num: Literal[True],
    connectivity: int | None = None,
    method: str = "auto",
    device: Device = "auto",
    stacked: bool = False,
    out: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], int]: ...


@overload
def label(
    label_image: ArrayLike,
    background: int | None,
    return_num: Literal[True],
    connectivity: int | None = None,
    *,
    method: str = "auto",
    device: Device = "auto",
    stacked: bool = False,
    out: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], int]: ...


def label(
    label_image: ArrayLike,
    background: int | None = None,
    return_num: bool = False,
    connectivity: int | None = None,
    *,
    method: str = "auto",
    device: Device = "auto",
    stacked: bool = False,
    out: NDArray[Any] | None = None,
) -> NDArray[Any] | tuple[NDArray[Any], int]:
    """Label connected regions of equal value.

    A drop-in for `skimage.measure.label`: same arguments, same numbers, plus a choice of
    algorithm and device.

    Parameters
    ----------
    label_image : (M[, N[, ..., P]]) array of bool or any integer type
        Image to label, of 0 to 6 axes longer than 1, in any memory order. An array that a GPU
        holds (of CuPy, PyTorch, JAX: anything with ``__cuda_array_interface__`` or DLPack) is
        labeled there, on the current stream of CuPy.
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
        "auto" is where the image is; a NumPy image of 4 million pixels or more goes to a GPU that
        the process uses already (through CuPy) if a look at some rows finds it rough, which is
        when copying pays. A device asked for by name is never replaced: "cuda" moves a NumPy image
        to the GPU and its labels back, "cpu" the other way.
    stacked : bool
        Whether the first axis counts independent images: regions never join along it,
        `connectivity` counts the other axes, and numbers go on from image to image.
    out : array of int, optional
        Receives the labels: same shape, any integer type that can hold them. It may be
        `label_image` itself. Writing to an array that exists saves the time of making one.

    Returns
    -------
    labels : array of int32 or int64, same shape as `label_image`, or `out`
        Of NumPy, or of CuPy if a GPU holds `label_image`.
        Regions numbered 1 to N in raster order of their first pixel; int64 only where int32
        cannot hold N. Integer images of shape (M, N, 1) are numbered column by column, as
        scikit-image does.
    num : int
        N, only with ``return_num=True``.

    Raises
    ------
    ValueError
        If `connectivity`, `method`, `device`, the number of axes or the shape or type of `out` is
        out of range.
    TypeError
        If `label_image` or `out` is not of an integer type.
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
    """
    image = take(label_image)
    check_type(image)
    row = find_method(method)
    check_axes(image, stacked)
    hops = check_connectivity(connectivity, image.ndim - bool(stacked))
    check_out(out, image)
    where = resolve(device, image)
    if device == "auto" and where == "cpu" and pays(image):
        where = resolve("cuda")
    question = (background, hops, row, where, bool(stacked))
    if image.dtype.kind != "b" and image.ndim - bool(stacked) == 3 and image.shape[-1] == 1:
        # scikit-image numbers integer images of this shape column by column.
        swapped = None if out is None else out.swapaxes(-3, -2)
        labels, count = _label(image.swapaxes(-3, -2), *question, swapped)
        labels = labels.swapaxes(-3, -2).copy(order="C") if out is None else out
    else:
        labels, count = _label(image, *question, out)
    found: NDArray[Any] = labels
    if not return_num:
        return found
    with using(where):
        number = int(count)
    return found, number


def _label(
    image: Any,
    background: int | None,
    connectivity: int,
    row: Method,
    device: str,
    stacked: bool,
    out: Any,
) -> tuple[Any, Any]:
    """Label an image where it is asked for, and bring the labels to where the image is."""
    question = (background, connectivity, row, device, stacked)
    home = resolve("auto", image)
    if device == "cpu" and home == "cpu":
        return label_on_host(image, *question, out)
    worker = home if device == "cpu" else device
    with using(worker, lambda: memory_needed(image, out)):
        if device == "cpu":
            labels, count = label_on_host(fetch(image), *question, None)
            labels = place(labels, home)
        elif is_on_cuda(image):
            return label_on_gpu(image, *question, out)
        else:
            labels, count = label_on_gpu(place(image, device), *question, None)
            if out is None:
                return fetch(labels), count
        if out is None:
            return labels, count
        check_count(out, int(count))
        if is_on_cuda(out):
            out[...] = labels
        else:
            fetch(labels, out)
        return out, count
