"""Properties that scikit-image computes on the host, one bounding box after the other."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from equilabel.devices import threads

from .columns import named_columns

if TYPE_CHECKING:
    from equilabel.array_types import HostArray

    from .columns import Columns
    from .plan import RequestFields

Region: TypeAlias = Any  # a `RegionProperties` of scikit-image
SHOWN = 10  # labels that a warning names


def compute_objects(labels: HostArray, values: HostArray | None, request: RequestFields) -> Columns:
    """Compute properties with scikit-image, each image of a stack by itself.

    Return the columns of each property and function, in ascending order of labels. An object that
    fails gets NaN (None in a column of objects), and a RuntimeWarning names it. What scikit-image
    does not define at all raises its own error.
    """
    plan = request.plan
    asked = [*plan.fallback, *((f.__name__, f.__name__) for f in plan.functions)]
    images = [(labels, values)]
    if plan.layout.stacked:
        images = [
            (image, None if values is None else values[frame]) for frame, image in enumerate(labels)
        ]
    regions = [region for image, value in images for region in _list_regions(image, value, request)]
    regions.sort(key=lambda region: int(region[0]))
    if regions:
        return {name: _compute_column(name, key, regions, request.separator) for name, key in asked}
    # Without objects, names and types of columns are those of a single pixel.
    rank = plan.layout.rank
    blank = None if values is None else np.zeros((1,) * rank + values.shape[labels.ndim :])
    regions = _list_regions(np.ones((1,) * rank, np.uint8), blank, request)
    return {
        name: {
            column: values[:0]
            for column, values in _compute_column(
                name, key, regions, request.separator, quiet=True
            ).items()
        }
        for name, key in asked
    }


def _list_regions(
    labels: HostArray, values: HostArray | None, request: RequestFields
) -> list[tuple[int, Region]]:
    """List the regions of an image with their labels; nothing is computed yet."""
    from skimage import measure

    regionprops: Any = measure.regionprops

    ids = None
    if labels.size and int(labels.max()) > 4 * labels.size:  # scikit-image lists all up to the last
        ids, inverse = np.unique(labels, return_inverse=True)
        labels = inverse.reshape(labels.shape) + int(ids[0] != 0)
        ids = ids if ids[0] == 0 else np.insert(ids, 0, 0)
    if not labels.size:
        return []
    with np.errstate(over="ignore"):  # it multiplies the spacing, which may be huge
        found: Any = regionprops(
            labels.astype(np.int64, copy=False) if labels.dtype == np.uint64 else labels,
            values,
            cache=request.cache,
            extra_properties=list(request.plan.functions) or None,
            spacing=request.given_spacing,
        )
    return [(region.label if ids is None else ids[region.label], region) for region in found]


def _compute_column(
    name: str, key: str, regions: list[tuple[int, Region]], separator: str, quiet: bool = False
) -> dict[str, HostArray]:
    """Compute one property of all regions, as one column or one for each part."""
    from skimage.measure._regionprops import COL_DTYPES

    found: list[Any] = []
    broken: list[tuple[int, Exception]] = []
    for label, region in regions:
        threads.check()
        try:
            found.append(getattr(region, key))
        except (NotImplementedError, AttributeError):
            raise
        except Exception as error:  # a user's function may raise anything
            broken.append((label, error))
            found.append(None)
    if broken and not quiet:
        _warn(name, broken)
    sample = next((value for value in found if value is not None), np.nan)
    if COL_DTYPES.get(key) is object or not _are_alike(found, sample):
        column = np.empty(len(found), object)
        for row, value in enumerate(found):
            column[row] = value
        return {name: column}
    missing = np.full(np.shape(sample), np.nan)
    table = np.array([missing if value is None else value for value in found])
    if not broken and key in COL_DTYPES:
        table = table.astype(COL_DTYPES[key])
    return named_columns(name, table, separator)


def _are_alike(found: list[Any], sample: Any) -> bool:
    """Return whether all values are numbers of one shape, or all are strings."""
    kind = np.asarray(sample).dtype.kind
    if kind not in ("buifcUS" if all(value is not None for value in found) else "buifc"):
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
    warnings.warn(message, RuntimeWarning, stacklevel=6)
