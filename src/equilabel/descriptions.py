"""Texts about a run for the command line and the forms: its stages, and gray values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .array_types import HostArray

STAGES = {
    "read": "reading the image",
    "background": "subtracting the background",
    "binarize": "finding the threshold",
    "close and open": "closing and opening",
    "fill": "filling holes",
    "label": "labeling",
    "split": "splitting objects",
    "drop": "dropping objects",
    "measure": "measuring",
    "histogram": "finding the threshold",
    "threshold": "finding the threshold",
    "choose": "finding objects that touch",
    "merge": "joining objects of neighboring blocks",
    "write": "writing labels",
    "shrink": "writing lower resolutions",
    "table": "making the table",
    "reduce": "computing what all blocks need",
    "store": "computing the image",
}
"""Names of the stages that `segment`, `label_chunked` and `segment_chunked` report, as text."""


def describe_values(pixels: HostArray) -> str:
    """Return why no threshold can find objects in pixels with these gray values; "" if one can.

    >>> import numpy as np
    >>> describe_values(np.full((3, 3), np.nan))
    'All pixels are NaN or infinite: there is nothing to find.'
    >>> describe_values(np.full((3, 3), 7))
    'All pixels have the same gray value, 7: there is nothing to find.'
    >>> describe_values(np.array([[1, 2]]))
    ''
    """
    import numpy as np

    if not pixels.size:
        return ""
    with np.errstate(invalid="ignore"):
        low, high = pixels.min(), pixels.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        finite = pixels[np.isfinite(pixels)]
        if not finite.size:
            return "All pixels are NaN or infinite: there is nothing to find."
        low, high = finite.min(), finite.max()
    if low < high:
        return ""
    return f"All pixels have the same gray value, {float(low):g}: there is nothing to find."
