"""The outlines of labeled objects on a plane, which are drawn while a person looks on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray

EDGE = 2  # in an outline; 0 is outside, 1 inside


def outline(labels: HostArray, width: int = 1) -> NDArray[np.uint8]:
    """Tell for each pixel whether it is outside of objects, inside, or at the edge of one.

    Parameters
    ----------
    labels : (M, N) array of bool or int
        0 is background.
    width : int
        Width of the edge in pixels: more than 1 if the image is drawn smaller than it is.

    Returns
    -------
    (M, N) array of uint8
        0 outside, 1 inside and `EDGE`. The border of the image is no edge.

    Examples
    --------
    >>> outline(np.pad(np.ones((3, 3), bool), 1))
    array([[0, 0, 0, 0, 0],
           [0, 2, 2, 2, 0],
           [0, 2, 1, 2, 0],
           [0, 2, 2, 2, 0],
           [0, 0, 0, 0, 0]], dtype=uint8)
    """
    from .kernels.cpu.outlines import draw_outlines

    kind = np.int32 if labels.dtype.itemsize <= 4 else np.int64  # differ where labels do
    code = np.empty(labels.shape, np.uint8)
    draw_outlines(np.ascontiguousarray(labels, kind), width, code)
    return code
