"""The generalized labeler: point at the lowest neighbor, then unite with the others, once.

Y. Komura, A generalized GPU-based connected component labeling algorithm, arXiv:1603.08357 (2016),
for images: the list of neighbors follows from the steps and is not stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray


def recipe(
    passes: ModuleType, image: NDArray[Any], background: Any, steps: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Find the root of every element.

    Four passes and no iteration on the host: initialization, analysis, label reduction, analysis.
    Labels are flat indices, so the last analysis leaves the roots.

    Parameters
    ----------
    passes : module
        `equilabel.kernels.<device>.komura`.
    image : C-contiguous array of bool or integers
        Not empty. Elements are joined if they are neighbors and of equal value.
    background : scalar or None
        Value of the elements that belong to nothing; None if there are none.
    steps : (K, ndim) array of int64
        To the neighbors of an element, in raster order, each with its opposite.

    Returns
    -------
    array of int64, shape of `image`
        Smallest flat index of the element's component; -1 for background.
    """
    values = image.reshape(-1).view(f"u{image.itemsize}")  # equality needs the bits alone
    if background is not None:
        background = np.asarray(background, image.dtype).view(values.dtype)[()]
    earlier = steps[: len(steps) // 2]  # each pair of neighbors once
    shape = np.array(image.shape, dtype=np.int64)
    offsets = earlier @ np.cumprod(np.append(1, shape[:0:-1]), dtype=np.int64)[::-1]
    shape, earlier, offsets = (np.asarray(part, like=image) for part in (shape, earlier, offsets))

    labels: NDArray[np.int64] = passes.initialize(values, background, shape, earlier, offsets)
    passes.analyze(labels)
    passes.reduce_labels(labels, values, shape, earlier, offsets)
    passes.analyze(labels)
    return labels.reshape(image.shape)
