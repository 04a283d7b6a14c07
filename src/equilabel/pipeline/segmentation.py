"""The result of `segment`: labels, their table, and how both were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from equilabel.array_types import HostArray


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Labels and table of the objects that `segment` found, and how it found them.

    Attributes
    ----------
    labels : array of int32 or int64
        Objects numbered 1 to `num`; the shape of the image without its channels. Of NumPy or, if
        the image is held by a GPU, of CuPy.
    table : pandas.DataFrame
        A row for each object, in the order of labels.
    threshold : float, (float, float) or None
        Found or given; None for a local threshold.
    num : int
        Number of objects.
    connectivity : int
        Most hops between neighbors.
    spacing : tuple of float
        Distance of pixels along each spatial axis.
    method, device : str
        Method and device that labeled the image.
    """

    labels: HostArray
    table: pd.DataFrame
    threshold: float | tuple[float, float] | None
    num: int
    connectivity: int
    spacing: tuple[float, ...]
    method: str
    device: str
