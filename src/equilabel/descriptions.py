"""Texts about `segment` for the command line and the forms: arguments, stages, gray values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .array_types import HostArray

DESCRIPTIONS = {
    "background": "Subtract an uneven background first, found with a box or a ball of this radius. "
    "Choose a radius larger than your objects: anything wider counts as background.",
    "background_method": "A box: anything wider than the box is background. A rolling ball: the "
    "background is what a ball can reach from below, as in ImageJ; a larger ball takes longer.",
    "sigma": "Standard deviation of a Gaussian that smooths the image before the threshold. "
    "Intensities are measured in the original image.",
    "dark": "Find objects that are darker than the background.",
    "block_size": "Each pixel is compared with the average of a block of this side around it, less "
    "the offset. Choose it larger than the objects.",
    "offset": "Subtracted from the average of the block. With a negative offset, objects need more "
    "contrast.",
    "closing": "Fill gaps, cracks and bays into which no ball of this radius fits.",
    "opening": "Remove specks, spurs and bridges into which no ball of this radius fits.",
    "fill_holes": "Fill holes inside objects.",
    "connectivity": "Which pixels are neighbors, and so belong to the same object: those that "
    "share a side, or also those that share a corner only (in 3D a face, an edge, a corner).",
    "split": "Part objects where they have a neck, before they are dropped by size and measured.",
    "depth": "Two objects are separated if the part between them, the neck, is thinner than the "
    "smaller object: its radius must be smaller by more than this. Lower it to separate more "
    "objects.",
    "min_size": "Smaller objects are dropped.",
    "exclude_border": "Drop objects that touch the border of the image, where they are cut off.",
    "track": "Add columns to the table: which object of a frame is which of the next, and where "
    "objects divide or merge. Those that overlap are taken for the same.",
    "channel": "Channel to find objects in. All channels are measured.",
    "method": "Labeling algorithm: all give the same labels. 'auto' is the fastest.",
    "device": "Device that computes. 'auto' is the fastest that can be used.",
}
"""One or two sentences for each argument; "depth" is `split` if it is a length."""

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
    "merge": "joining objects of neighboring blocks",
    "write": "writing labels",
    "shrink": "writing lower resolutions",
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
