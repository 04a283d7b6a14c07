"""Objects that hold several markers are split among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.labeling import label

from .checks import check_markers, finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from equilabel.array_types import HostArray


def split_at_markers(
    labels: HostArray, markers: Any, image: HostArray | None, rule: Any
) -> HostArray:
    """Split objects that hold several markers, by shape or by gray values; return new labels.

    Each pixel belongs to the marker that floods it first, from the greatest distance to the
    background (from the brightest pixel, with an image) downwards. `rule` is a `splitting.Rule`.
    """
    from scipy.ndimage import find_objects
    from skimage.segmentation import watershed

    seeds = check_markers(markers, labels)
    if labels.size == 0:
        return labels
    if (seeds == seeds.max(initial=0)).sum() == np.count_nonzero(seeds):  # a mask, of any type
        seeds = label(seeds != 0, stacked=rule.stacked)
    if not (seeds[labels > 0] > 0).any() and (seeds > 0).any():
        message = "markers must lie in objects; got none that does. Pass markers inside the mask."
        raise ValueError(message)
    out = labels.copy()
    most = int(labels.max(initial=0))
    for number, box in enumerate(find_objects(labels), 1):
        if box is None:
            continue
        own = labels[box] == number
        known, numbered = np.unique(seeds[box] * own, return_inverse=True)
        count = len(known) - (known[0] == 0)
        if count < 2:
            continue
        numbered = numbered.reshape(own.shape) + (known[0] != 0)
        relief = -_radii(own, rule) if image is None else -finite(image[box])
        parts = watershed(relief, numbered.astype(np.int32), rule.connectivity, mask=own)
        out[box][own] = most + parts[own]
        most += count
    return out


def _radii(own: NDArray[np.bool_], rule: Any) -> HostArray:
    """Return the distance of each pixel of an object to the background, which is all around it."""
    from scipy.ndimage import distance_transform_edt

    axes = len(rule.distances)
    padded = np.pad(own, [(0, 0)] * rule.stacked + [(1, 1)] * axes)
    apart = distance_transform_edt(padded, sampling=(1.0,) * rule.stacked + rule.distances)
    return np.asarray(apart[(slice(None),) * rule.stacked + (slice(1, -1),) * axes])
