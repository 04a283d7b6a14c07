"""Labels: checked arguments in, numbered components out, by any method on any device."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from .devices import passes, resolve
from .measuring import Request
from .methods import find_method, load_recipe
from .neighborhood import block_edges, blocks, offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from .devices import Device

MOST_AXES = 6


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
    properties: Iterable[str],
    intensity_image: ArrayLike | None = None,
    spacing: float | Sequence[float] | None = None,
) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]: ...


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
    properties: Iterable[str],
    intensity_image: ArrayLike | None = None,
    spacing: float | Sequence[float] | None = None,
) -> tuple[NDArray[Any], int, dict[str, NDArray[Any]]]: ...


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
    properties: Iterable[str] | None = None,
    intensity_image: ArrayLike | None = None,
    spacing: float | Sequence[float] | None = None,
) -> Any:
    """Label connected regions of equal value.

    A drop-in for `skimage.measure.label`: same arguments, same numbers, plus a choice of
    algorithm and device.

    Parameters
    ----------
    label_image : (M[, N[, ..., P]]) array of bool or any integer type
        Image to label, of 0 to 6 axes longer than 1, in any memory order.
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
    device : {"auto", "cpu", "cuda"}
        "auto" is the fastest available. One asked for by name is never replaced.
    stacked : bool
        Whether the first axis counts independent images: regions never join along it,
        `connectivity` counts the other axes, and numbers go on from image to image.
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

    Returns
    -------
    labels : array of int32 or int64, same shape as `label_image`, or `out`
        Regions numbered 1 to N in raster order of their first pixel; int64 only where int32
        cannot hold N. Integer images of shape (M, N, 1) are numbered column by column, as
        scikit-image does.
    num : int
        N, only with ``return_num=True``.
    table : dict of str to (N,) array
        The columns of `regionprops_table`, only with `properties`; always last.

    Raises
    ------
    ValueError
        If `connectivity`, `method`, `device`, the number of axes or the shape or type of `out` is
        out of range.
    TypeError
        If `label_image` or `out` is not of an integer type.
    DeviceUnavailableError
        If `device` was asked for by name and cannot be used.

    Notes
    -----
    Beside the labels, the default method takes about 0.3 bytes a pixel on smooth images and 6 at
    worst. It runs in as many threads as the process has cores; the environment variable
    EQUILABEL_NUM_THREADS sets another number.

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
    """
    image = _check_image(label_image)
    row = find_method(method)
    where = resolve(device)
    hops = _check_connectivity(connectivity, _count_axes(image, stacked))
    _check_out(out, image.shape)
    request = None
    if properties is not None:
        request = Request(properties, intensity_image, image.shape, spacing, stacked)
        if out is not None and request.values is not None and np.shares_memory(out, request.values):
            message = "out must share no memory with intensity_image; got both. Pass a copy."
            raise ValueError(message)
    labels, count = _run(image, background, hops, row, where, stacked, out, request)
    found = (labels, count) if return_num else (labels,)
    if request is not None:
        return (*found, request.answer(labels))
    return found if return_num else labels


def measure(
    image: ArrayLike,
    properties: Iterable[str] = ("label", "bbox"),
    *,
    intensity_image: ArrayLike | None = None,
    background: int | None = None,
    connectivity: int | None = None,
    spacing: float | Sequence[float] | None = None,
    stacked: bool = False,
    separator: str = "-",
) -> dict[str, NDArray[Any]]:
    """Measure connected regions without labeling their pixels.

    Gives the table that `regionprops_table` gives of the labels that `label` gives, and writes no
    image of labels where the columns follow from runs of pixels: sizes, boxes, centroids, moments
    and intensities always; exposed edges and faces if all foreground has one value; the other
    lengths, surfaces and Euler numbers if moreover `connectivity` is full. Otherwise, and for what
    scikit-image computes, labels are made, used and forgotten.

    Parameters
    ----------
    image : array of bool or any integer type
        As `label_image` of `label`.
    properties : iterable of str
        Columns to compute, keys of `PROPERTIES`.
    intensity_image, spacing, separator
        As for `regionprops_table`.
    background, connectivity, stacked
        As for `label`.

    Returns
    -------
    dict of str to (N,) array
        A row for each region, in raster order of its first pixel.

    Raises
    ------
    TypeError, ValueError
        As `label` and `regionprops_table` do.

    Examples
    --------
    >>> import numpy as np
    >>> mask = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=bool)
    >>> table = measure(mask, ["label", "area", "euler_number"], connectivity=1)
    >>> {name: column.tolist() for name, column in table.items()}
    {'label': [1, 2, 3], 'area': [2.0, 2.0, 1.0], 'euler_number': [1, 1, 1]}
    """
    pixels = _check_image(image)
    hops = _check_connectivity(connectivity, _count_axes(pixels, stacked))
    request = Request(properties, intensity_image, pixels.shape, spacing, stacked, separator)
    row = find_method("runs")
    labels, _ = _run(pixels, background, hops, row, "cpu", stacked, None, request, table_only=True)
    return request.answer(labels)


def _check_image(label_image: ArrayLike) -> NDArray[Any]:
    image = np.asarray(label_image)
    if image.dtype.kind not in "bui":
        message = (
            f"label_image must be of bool or an integer type; got {image.dtype}. "
            "Binarize it first, as in `label(image > threshold)` or with `binarize`."
        )
        raise TypeError(message)
    return image


def _count_axes(image: NDArray[Any], stacked: bool) -> int:
    if stacked and image.ndim < 2:
        message = (
            f"label_image must have 2 or more axes with stacked=True; got {image.ndim}. "
            "Pass stacked=False."
        )
        raise ValueError(message)
    return image.ndim - bool(stacked)


def _run(
    image: NDArray[Any],
    background: int | None,
    hops: int,
    row: Any,
    device: str,
    stacked: bool,
    out: NDArray[Any] | None,
    request: Request | None = None,
    table_only: bool = False,
) -> tuple[NDArray[Any], int]:
    """Label a checked image, and let a request count what it can meanwhile."""
    if image.dtype.kind != "b" and image.ndim - stacked == 3 and image.shape[-1] == 1:
        # scikit-image numbers integer images of this shape column by column.
        swapped = None if out is None else out.swapaxes(-3, -2)
        labels, count = _label(
            image.swapaxes(-3, -2), background, hops, row, device, stacked, swapped
        )
        return (np.ascontiguousarray(labels.swapaxes(-3, -2)) if out is None else out), count
    visit = None
    if request is not None and row.counts and device == "cpu":
        full = hops == image.ndim - stacked

        def visit(found: Any) -> bool:
            if row.contract == "roots":
                return request.count_cells(found)
            return request.count_runs(found, full) and table_only

    return _label(image, background, hops, row, device, stacked, out, visit)


def _label(
    image: NDArray[Any],
    background: int | None,
    connectivity: int,
    row: Any,
    device: str,
    stacked: bool,
    out: NDArray[Any] | None,
    visit: Callable[[Any], bool] | None = None,
) -> tuple[NDArray[Any], int]:
    """Label an image whose arguments are checked."""
    image, value = _foreground(image, background)
    labels = _Labels(image.shape, out)
    if image.size == 0:
        return labels.finish(), 0
    slim = _slim(image, stacked)
    connectivity = min(connectivity, slim.ndim - stacked)
    recipe = load_recipe(row.name)
    if slim.shape != image.shape:
        visit = None  # counts of fewer axes are not those of the image
    kernels = passes(row.name, device)
    if row.contract == "runs":
        block = blocks(slim.ndim, connectivity, stacked=stacked)
        edges = (
            block_edges(slim.ndim, connectivity, block, stacked=stacked),
            block_edges(slim.ndim, connectivity, stacked=stacked),
        )
        count = recipe(kernels, slim, value, block, edges, labels.room, visit)
        if labels.flat is None:  # the visitor knows all it wanted
            return np.empty(0, np.int32), int(count)
    else:
        steps = offsets(slim.ndim, connectivity, stacked=stacked)
        visitor = () if visit is None else (visit,)
        roots = recipe(kernels, np.ascontiguousarray(slim), value, steps, *visitor).reshape(-1)
        count = passes("roots", device).number(roots, roots)
        labels.room(count)[0][:] = roots
    return labels.finish(), int(count)


class _Labels:
    """The array that receives labels: the caller's, or a new one of the smallest usual type."""

    def __init__(self, shape: tuple[int, ...], out: NDArray[Any] | None) -> None:
        self.shape = shape
        self.out = out
        self.flat: NDArray[Any] | None = None

    def room(self, count: int) -> tuple[NDArray[Any], bool]:
        """Return a flat array that can hold labels up to `count`, and whether it holds zeros."""
        size = int(np.prod(self.shape, dtype=np.int64))
        if self.out is None:
            dtype = np.int32 if count <= np.iinfo(np.int32).max else np.int64
            self.flat = np.zeros(size, dtype)
            return self.flat, True
        if count > np.iinfo(self.out.dtype).max:
            message = (
                f"out must be of a type that holds {count} labels; got {self.out.dtype}. "
                f"Pass an array of {np.min_scalar_type(count)} or wider."
            )
            raise ValueError(message)
        if self.out.flags.c_contiguous and self.out.dtype.isnative:
            self.flat = self.out.reshape(-1)
            return self.flat, False
        self.flat = np.zeros(size, self.out.dtype.newbyteorder("="))
        return self.flat, True

    def finish(self) -> NDArray[Any]:
        """Return the labels in their shape."""
        flat = self.room(0)[0] if self.flat is None else self.flat
        if self.out is None:
            return flat.reshape(self.shape)
        if not np.shares_memory(flat, self.out):
            self.out[...] = flat.reshape(self.shape)
        return self.out


def _check_connectivity(connectivity: int | None, axes: int) -> int:
    if connectivity is None:
        return axes
    try:
        hops = operator.index(connectivity)
    except TypeError as error:
        message = f"connectivity must be a whole number; got {connectivity!r}."
        raise TypeError(message) from error
    if not 1 <= hops <= axes:
        message = (
            f"connectivity must be 1 to {axes} for {axes} spatial axes; got {connectivity!r}. "
            "1 joins pixels that share a face, the highest those that share a corner."
        )
        raise ValueError(message)
    return hops


def _check_out(out: NDArray[Any] | None, shape: tuple[int, ...]) -> None:
    if out is None:
        return
    if not isinstance(out, np.ndarray) or out.dtype.kind not in "ui":
        got = getattr(out, "dtype", type(out).__name__)
        message = f"out must be an array of an integer type; got {got}."
        raise TypeError(message)
    if out.shape != shape:
        message = f"out must have the shape of label_image, {shape}; got {out.shape}."
        raise ValueError(message)
    if not out.flags.writeable:
        message = "out must be writeable; got a read-only array. Pass a copy."
        raise ValueError(message)


def _foreground(image: NDArray[Any], background: Any) -> tuple[NDArray[Any], Any]:
    """Return the image in native integers, and its background value or None if it has none."""
    value = _whole(background)
    if image.dtype.kind == "b":
        return (~image if value == 1 else image), np.False_
    image = image.astype(image.dtype.newbyteorder("="), copy=False)
    limits = np.iinfo(image.dtype)
    if not limits.min <= value <= limits.max:
        return image, None
    return image, image.dtype.type(value)


def _whole(background: object) -> int:
    """Return the background as an integer; 0 where none is given."""
    if background is None:
        return 0
    if isinstance(background, (int, float, np.integer, np.floating, np.bool_)):
        value = float(background) if isinstance(background, (float, np.floating)) else background
        if value == value // 1:
            return int(value)
    message = f"background must be a whole number; got {background!r}."
    raise TypeError(message)


def _slim(image: NDArray[Any], stacked: bool) -> NDArray[Any]:
    """Drop axes of length 1, along which nothing can join."""
    keep = [axis for axis in range(image.ndim) if image.shape[axis] > 1 or (stacked and axis == 0)]
    if len(keep) - stacked == 0:
        keep.append(image.ndim)
        image = image[..., np.newaxis]
    if len(keep) > MOST_AXES:
        message = (
            f"label_image must have at most {MOST_AXES} axes longer than 1; got {len(keep)}. "
            "Label slices of it, or pass them as a stack."
        )
        raise ValueError(message)
    return image.reshape([image.shape[axis] for axis in keep])
