"""One way through the work: to the device, label, measure, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equilabel.devices import fetch, is_on_cuda, place, resolve, using

from .checks import check_count
from .cuda import label_on_gpu, memory_needed
from .host import label_on_host

if TYPE_CHECKING:
    from equilabel.measuring import Request
    from equilabel.methods import Method


def run(
    image: Any,
    background: int | None,
    connectivity: int,
    row: Method,
    device: str,
    stacked: bool,
    out: Any,
    request: Request | None = None,
    *,
    counted: bool = False,
    table_only: bool = False,
) -> tuple[Any, Any]:
    """Label an image whose arguments are checked, and let a request count what it wants.

    Parameters
    ----------
    image : numpy.ndarray or cupy.ndarray
    background, connectivity, out
        As for `equilabel.label`.
    row : Method
    device : str
        A device that `resolve` returned for the image.
    request : Request, optional
        Counts from the runs, or from the labels where they are.
    counted : bool
        Whether the number of labels is to be an int, which may have to be waited for.
    table_only : bool
        Whether labels are made only if the request needs them.

    Returns
    -------
    labels : array
        Where `image` is; none of it if the request needs no labels and nobody else does.
    count : int
        May be an array of a GPU unless `counted`.
    """
    stacked = bool(stacked)
    question = (background, connectivity, row, device, stacked)
    home = resolve("auto", image)
    with using(home if device == "cpu" else device, lambda: memory_needed(image, out)):
        if image.dtype.kind != "b" and image.ndim - stacked == 3 and image.shape[-1] == 1:
            # scikit-image numbers integer images of this shape column by column.
            swapped = None if out is None else out.swapaxes(-3, -2)
            labels, count = _label(image.swapaxes(-3, -2), *question, swapped, None, False)
            labels = labels.swapaxes(-3, -2).copy(order="C") if out is None else out
            if request is not None:
                request.count_labels(place(labels, device))
        else:
            labels, count = _label(image, *question, out, request, table_only)
        return labels, int(count) if counted else count


def _label(
    image: Any,
    background: int | None,
    connectivity: int,
    row: Method,
    device: str,
    stacked: bool,
    out: Any,
    request: Request | None,
    table_only: bool,
) -> tuple[Any, Any]:
    """Label an image where it is asked for, and bring the labels to where the image is."""
    label_there = label_on_host if device == "cpu" else label_on_gpu
    there = is_on_cuda(image) == (device != "cpu")
    labels, count = label_there(
        image if there else place(image, device),
        background,
        connectivity,
        row,
        device,
        stacked,
        out if there else None,
        request,
        table_only,
    )
    if request is not None and request.sums is None:
        request.count_labels(labels)
    if there:
        return labels, count
    if out is None:
        return place(labels, "cpu" if device != "cpu" else resolve("auto", image)), count
    check_count(out, int(count))
    if is_on_cuda(out):
        out[...] = place(labels, resolve("auto", out))
    else:
        fetch(labels, out)
    return out, count
