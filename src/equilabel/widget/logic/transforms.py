"""Where labels are shown: the transform of their image, in values for another layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from equilabel.array_types import Array
    from equilabel.widget.napari_types import Transform

    from .axes import Arrangement
    from .sources import Source


def labels_transform(source: Source, arrangement: Arrangement) -> Transform:
    """Return the transform of labels: that of the image, without an axis that labels lack."""
    if not arrangement.drops_channel:
        return placement(source.transform)
    return placement(without_first_axis(source.transform))


def placement(transform: Transform) -> Transform:
    """Return the transform of a layer as arrays and words, which another layer takes."""
    plain = dict(transform)
    plain["units"] = tuple(str(unit) for unit in transform["units"])
    affine = transform["affine"]
    plain["affine"] = np.array(getattr(affine, "affine_matrix", affine))
    return plain


def without_first_axis(transform: Transform) -> Transform:
    """Return a transform without its first axis."""
    less: Transform = {
        name: transform[name][1:] for name in ("scale", "translate", "units", "axis_labels")
    }
    rotate = transform["rotate"]
    affine: Array = getattr(transform["affine"], "affine_matrix", transform["affine"])
    less["rotate"] = rotate[1:, 1:] if getattr(rotate, "ndim", 0) == 2 else rotate
    less["affine"] = affine[1:, 1:]
    count = len(transform["scale"])
    shear = transform["shear"]
    if getattr(shear, "ndim", 0) == 1 and len(shear) == count * (count - 1) // 2:
        less["shear"] = shear[count - 1 :]  # the upper triangle, row by row
    return less
