"""Properties that scikit-image computes for us on the host, bounding box after bounding box."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

SHOWN = 10  # labels that a warning names


def pass_on(
    labels: NDArray[Any],
    values: NDArray[Any] | None,
    names: dict[str, str],
    functions: Sequence[Callable[..., Any]],
    spacing: tuple[float, ...],
    stacked: bool,
    separator: str,
    cache: bool,
) -> dict[str, dict[str, NDArray[Any]]]:
    """Let scikit-image compute properties; each image of a stack by itself.

    An object whose property cannot be computed gets NaN (None in a column of objects) in its row,
    and a RuntimeWarning names it. What scikit-image does not define at all raises its own error.

    Parameters
    ----------
    names : dict of str to str
        Property by the name that its columns get.

    Returns
    -------
    dict of str to dict of str to (N,) array
        The columns of each property and function by their names, in ascending order of labels.
    """
    images = [(labels, values)]
    if stacked:
        images = [
            (image, None if values is None else values[frame]) for frame, image in enumerate(labels)
        ]
    rank = labels.ndim - stacked
    regions = [
        region
        for image, value in images
        for region in _regions(image, value, functions, spacing, cache)
    ]
    regions.sort(key=lambda region: int(region[0]))
    if not regions:  # a single pixel tells what the columns would be
        blank = None if values is None else np.zeros((1,) * rank + values.shape[labels.ndim :])
        one = np.ones((1,) * rank, np.uint8)
        kinds = _regions(one, blank, functions, spacing, cache)
        return {
            name: {
                key: column[:0]
                for key, column in _column(name, kind, kinds, separator, quiet=True).items()
            }
            for name, kind in _asked(names, functions)
        }
    return {
        name: _column(name, kind, regions, separator) for name, kind in _asked(names, functions)
    }


def _asked(names: dict[str, str], functions: Sequence[Callable[..., Any]]) -> list[tuple[str, str]]:
    return [*names.items(), *((function.__name__, function.__name__) for function in functions)]


def _regions(
    labels: NDArray[Any],
    values: NDArray[Any] | None,
    functions: Sequence[Callable[..., Any]],
    spacing: tuple[float, ...],
    cache: bool,
) -> list[tuple[int, Any]]:
    """List the regions of an image, each with its label; nothing is computed yet."""
    from skimage import measure

    regionprops: Any = measure.regionprops

    ids = None
    if labels.size and int(labels.max()) > 4 * labels.size:  # it lists all labels up to the last
        ids, inverse = np.unique(labels, return_inverse=True)
        labels = inverse.reshape(labels.shape) + int(ids[0] != 0)
        ids = ids if ids[0] == 0 else np.insert(ids, 0, 0)
    if not labels.size:
        return []
    found: Any = regionprops(
        labels.astype(np.int64, copy=False) if labels.dtype == np.uint64 else labels,
        values,
        cache=cache,
        extra_properties=list(functions) or None,
        spacing=spacing,
    )
    return [(region.label if ids is None else ids[region.label], region) for region in found]


def _column(
    name: str, kind: str, regions: list[tuple[int, Any]], separator: str, quiet: bool = False
) -> dict[str, NDArray[Any]]:
    """Compute one property of all regions, and lay it out as scikit-image does."""
    from skimage.measure._regionprops import COL_DTYPES

    found: list[Any] = []
    broken: list[tuple[int, Exception]] = []
    for label, region in regions:
        try:
            found.append(getattr(region, kind))
        except (NotImplementedError, AttributeError):
            raise
        except Exception as error:  # whatever a foreign function raises for one object
            broken.append((label, error))
            found.append(None)
    if broken and not quiet:
        _warn(name, broken)
    sample = next((value for value in found if value is not None), np.nan)
    if COL_DTYPES.get(kind) is object or not _alike(found, sample):
        column = np.empty(len(found), object)
        for row, value in enumerate(found):
            column[row] = value
        return {name: column}
    shape = np.shape(sample)
    table = np.array([np.full(shape, np.nan) if value is None else value for value in found])
    if not broken and kind in COL_DTYPES:
        table = table.astype(COL_DTYPES[kind])
    if not shape:
        return {name: table}
    return {
        separator.join(map(str, (name, *part))): table[(slice(None), *part)]
        for part in np.ndindex(shape)
    }


def _alike(found: list[Any], sample: Any) -> bool:
    """Tell whether all values are numbers of one shape."""
    if np.asarray(sample).dtype.kind not in "buif":
        return False
    return all(value is None or np.shape(value) == np.shape(sample) for value in found)


def _warn(name: str, broken: list[tuple[int, Exception]]) -> None:
    numbers = ", ".join(str(label) for label, _ in broken[:SHOWN])
    more = f" and {len(broken) - SHOWN} more" if len(broken) > SHOWN else ""
    label, error = broken[0]
    message = (
        f"property {name!r} could not be computed for label {numbers}{more}: label {label} gave "
        f"{type(error).__name__}: {error}. Its row holds NaN."
    )
    warnings.warn(message, RuntimeWarning, stacklevel=5)
