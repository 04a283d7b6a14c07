"""Properties that scikit-image computes for us, label by label."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


def pass_on(
    labels: NDArray[Any],
    values: NDArray[Any] | None,
    names: Sequence[str],
    functions: Sequence[Callable[..., Any]],
    spacing: tuple[float, ...],
    stacked: bool,
    separator: str,
    cache: bool,
) -> dict[str, dict[str, NDArray[Any]]]:
    """Let scikit-image compute properties; each image of a stack by itself.

    Returns
    -------
    dict of str to dict of str to (N,) array
        The columns of each property and function by their names, in ascending order of labels.
    """
    from skimage.measure import regionprops_table

    theirs: Any = regionprops_table

    images = [(labels, values)]
    if stacked and len(labels):
        images = [
            (image, None if values is None else values[frame]) for frame, image in enumerate(labels)
        ]
    elif stacked:
        blank = None if values is None else np.zeros(values.shape[1:], values.dtype)
        images = [(np.zeros(labels.shape[1:], labels.dtype), blank)]
    tables = [
        theirs(
            image,
            value,
            properties=("label", *names),
            cache=cache,
            separator=separator,
            extra_properties=list(functions) or None,
            spacing=spacing,
        )
        for image, value in images
    ]
    joined = {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}
    order = np.argsort(joined["label"], kind="stable")
    columns: dict[str, dict[str, NDArray[Any]]] = {}
    for name in [*names, *(function.__name__ for function in functions)]:
        numbered = re.compile(rf"{re.escape(name)}({re.escape(separator)}\d+)*")
        columns[name] = {
            key: column[order] for key, column in joined.items() if numbered.fullmatch(key)
        }
    return columns
