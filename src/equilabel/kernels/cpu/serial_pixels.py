"""Labeling in a single call, pixel by pixel: fastest for images of short rows or few pixels.

Two scans over the image and a union-find of provisional labels (Rosenfeld and Pfaltz, J. ACM 13
(1966) 471-494); runs of 64 pixels at a time do not pay where rows are shorter than that.
"""

import numpy as np

from .caching import njit
from .run_table import AXES, advance
from .union_find import find
from .vector_compare import is_whole


@njit(nogil=True, cache=True)
def label_pixels(pixels, level, plan, steps, labels):
    """Label an image.

    Parameters
    ----------
    pixels : (R * columns,) array
        Not of bool.
    level : (1,) array of the type of `pixels`
        The background, if `bounded`; otherwise all pixels are foreground.
    plan : (9,) array of int64
        Leading axes, padded with ones in front; columns; whether there is background (`bounded`);
        whether values tell components apart; and whether pixels that share a corner are neighbors
        (`full`). Then all earlier neighbors of a pixel are neighbors of the one before it along the
        first axis, too: if that is of the same component, the others need not be looked at.
    steps : (K, 6) array of int64
        To earlier neighbors along the leading axes and the last one, the nearest first; but for
        the one to the left, which is looked at in any case.
    labels : (R * columns,) array of int32
        Overwritten.

    Returns
    -------
    int
        Number of components; -1 if values tell them apart and are not all whole numbers.
    """
    shape, columns, background = plan[:AXES], plan[5], level[0]
    bounded, values, full = plan[6] != 0, plan[7] != 0, plan[8] != 0
    position = np.zeros(AXES, np.int64)
    offsets = np.empty(steps.shape[0], np.int64)
    aside = np.empty(steps.shape[0], np.int64)
    parents = np.empty(labels.size + 1, np.int32)
    provisional = np.int32(0)
    for start in range(0, labels.size, columns):
        near, direct = select_steps(steps, position, shape, columns, offsets, aside)
        direct = direct and full
        advance(shape, position)
        left = np.int32(0)
        for x in range(columns):
            here = start + x
            value = pixels[here]
            if bounded and value == background:
                labels[here] = 0
                left = np.int32(0)
                continue
            if values and not is_whole(value):
                return -1
            label = left
            if values and x > 0 and pixels[here - 1] != value:
                label = np.int32(0)
            for k in range(near):
                if aside[k] != 0 and (x + aside[k] < 0 or x + aside[k] >= columns):
                    continue
                there = here + offsets[k]
                other = labels[there]
                same = pixels[there] == value if values else other != 0
                if not same or other == label:
                    continue
                if label != 0:
                    if parents[label] == parents[other]:
                        continue
                    label = np.int32(find(parents, label))
                    other = np.int32(find(parents, other))
                    if label < other:
                        parents[other] = label
                        continue
                    parents[label] = other
                label = other
                if k == 0 and direct:
                    break
            if label == 0:
                provisional += np.int32(1)
                label = provisional
                parents[label] = label
            labels[here] = label
            left = label
    components = np.int32(0)
    for label in range(1, provisional + 1):
        root = parents[label] == label
        components += np.int32(root)
        parents[label] = components if root else parents[parents[label]]
    parents[0] = 0
    for here in range(labels.size):
        labels[here] = parents[labels[here]]
    return components


@njit(nogil=True, cache=True)
def select_steps(steps, position, shape, columns, offsets, aside):
    """Find the steps from a row that stay inside along the leading axes, and count them.

    Parameters
    ----------
    position : (5,) array of int64
        Coordinates of the row.
    offsets, aside : (K,) arrays of int64
        Overwritten: distances of flat indices, and steps along the last axis.

    Returns
    -------
    near : int
        Number of such steps.
    direct : bool
        Whether the first of all steps is among them.
    """
    near = 0
    direct = False
    for k in range(steps.shape[0]):
        offset = 0
        inside = True
        for axis in range(AXES):
            there = position[axis] + steps[k, axis]
            inside = inside and 0 <= there < shape[axis]
            offset = offset * shape[axis] + steps[k, axis]
        if inside:
            offsets[near] = offset * columns + steps[k, AXES]
            aside[near] = steps[k, AXES]
            near += 1
            direct = direct or k == 0
    return near, direct
