"""Properties of several parts as columns, named as scikit-image names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def lay_out(name: str, column: NDArray[Any], separator: str) -> dict[str, NDArray[Any]]:
    """Return a property as one column, or as one for each part.

    Examples
    --------
    >>> list(lay_out("inertia_tensor", np.zeros((5, 2, 2)), "-"))
    ['inertia_tensor-0-0', 'inertia_tensor-0-1', 'inertia_tensor-1-0', 'inertia_tensor-1-1']
    """
    if column.ndim == 1:
        return {name: column}
    return {
        separator.join(map(str, (name, *part))): column[(slice(None), *part)]
        for part in np.ndindex(column.shape[1:])
    }
