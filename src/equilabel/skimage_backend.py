"""What scikit-image asks of a backend, by the entry points of `pyproject.toml`.

Functions of masks of single objects, such as `perimeter`, are left out: scikit-image calls them for
each object, and `regionprops`, which `regionprops_table` calls for what it does not count itself.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

import equilabel

KINDS = {"skimage.measure:label": "bui", "skimage.measure:regionprops_table": "ui"}
MOST_AXES = 6


def information() -> Any:
    """Return which functions there are, as scikit-image's `BackendInformation`."""
    return SimpleNamespace(supported_functions=[*KINDS])


def can_has(name: str, *arguments: Any, **options: Any) -> bool:
    """Return whether a call gives here what it gives in scikit-image."""
    image = arguments[0] if arguments else options.get("label_image")
    if not isinstance(image, np.ndarray) or not 1 <= image.ndim <= MOST_AXES:
        return False
    return image.dtype.kind in KINDS.get(name, "")


def get_implementation(name: str) -> Any:
    """Return the function of this package that replaces one of scikit-image."""
    return getattr(equilabel, name.partition(":")[2])
