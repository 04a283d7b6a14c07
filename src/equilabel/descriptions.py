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
    "grow": "growing objects",
    "measure": "measuring",
    "relate": "relating objects",
    "histogram": "finding the threshold",
    "threshold": "finding the threshold",
    "noise": "measuring the noise",
    "overlap": "comparing dim and bright objects",
    "bright": "bright objects",
    "dim": "dim objects",
    "choose": "finding objects that touch",
    "merge": "joining objects of neighboring blocks",
    "write": "writing labels",
    "shrink": "writing lower resolutions",
    "track": "linking frames",
    "table": "making the table",
    "reduce": "computing what all blocks need",
    "store": "computing the image",
}
"""Names of the stages that `segment`, `label_chunked` and `segment_chunked` report, as text."""


def describe_stage(name: str) -> str:
    """Return a stage in words; one that serves another has a name in parts.

    >>> describe_stage("dim: components: label")
    'dim objects: components: labeling'
    """
    return ": ".join(STAGES.get(part, part) for part in name.split(": "))


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


COVERED, BORDERED = 0.5, 0.6  # shares of an image and of its border that are suspicious together
MANY, SPECK = 200, 8  # objects, and pixels of each on average, that are taken for noise


def describe_labels(labels: HostArray, count: int, *, dark: bool, stacked: bool) -> str:
    """Return what looks wrong with the objects of an image, and what to try; "" if nothing does.

    >>> import numpy as np
    >>> print(describe_labels(np.ones((9, 9), int), 1, dark=False, stacked=False))
    Objects cover 100 % of the image. If they are darker than its background, choose dark (--dark).
    """
    import numpy as np

    covered = np.count_nonzero(labels)
    if not covered:
        return ""
    share = covered / labels.size
    if share > COVERED:
        axes = range(int(stacked), labels.ndim)
        faces = [np.take(labels, end, axis) for axis in axes for end in (0, -1)]
        border = sum(map(np.count_nonzero, faces)) / sum(face.size for face in faces)
        if border > BORDERED:
            other, remedy = ("brighter", "leave out") if dark else ("darker", "choose")
            return (
                f"Objects cover {share:.0%} of the image. If they are {other} than its background, "
                f"{remedy} dark (--dark)."
            ).replace("%", " %")
    if count >= MANY and covered < SPECK * count:
        return (
            f"{count:,} objects have {covered / count:.1f} pixels on average. If they are noise, "
            "smooth the image (--sigma 1), or drop small ones (--min-size 30)."
        )
    return ""
