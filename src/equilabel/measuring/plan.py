"""What is counted for some columns, and columns from counts or from scikit-image."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from equilabel.devices import threads

from .checks import check_defined, resolve_names
from .counts import Layout
from .measurement import ON_HOST, Measurement
from .properties import PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from equilabel.array_types import Array, HostArray

    from .counts import Counts

Columns = dict[str, dict[str, "HostArray"]]


def compute_columns(
    counts: Counts,
    names: Iterable[tuple[str, str]],
    spacing: tuple[float, ...],
    separator: str,
) -> Columns:
    """Compute properties of every label from its counts: for each name, its columns.

    `names` are pairs of a name in the result and a key of `PROPERTIES`. 0 / 0 gives NaN, and a
    value that a large spacing makes overflow is infinite.
    """
    found = Measurement(counts, spacing)
    with np.errstate(all="ignore"):
        return {
            name: named_columns(name, _own(PROPERTIES[key].compute(found), counts), separator)
            for name, key in names
        }


def named_columns(name: str, values: HostArray, separator: str) -> dict[str, HostArray]:
    """Return a property as one column, or one for each part, named as in scikit-image.

    >>> list(named_columns("inertia_tensor", np.zeros((5, 2, 2)), "-"))
    ['inertia_tensor-0-0', 'inertia_tensor-0-1', 'inertia_tensor-1-0', 'inertia_tensor-1-1']
    """
    if values.ndim == 1:
        return {name: values}
    names = part_names(name, values.shape[1:], separator)
    return dict(zip(names, values.reshape(len(values), len(names)).T, strict=True))


@lru_cache(1024)
def part_names(name: str, shape: tuple[int, ...], separator: str) -> tuple[str, ...]:
    """Return the names of the columns of a property with several parts."""
    return tuple(separator.join(map(str, (name, *part))) for part in np.ndindex(shape))


def _own(values: HostArray, counts: Counts) -> HostArray:
    """Copy values that are a view of the counts, so that the counts can be freed."""
    shared = not values.flags.owndata and np.may_share_memory(values, counts.table)
    return values.copy() if shared else values


VALUES = frozenset({"values", "deviations"})
MOMENTS = frozenset({"raw", "central", "weighted", "weighted_central"})


@dataclass(frozen=True)
class Plan:
    """What is counted for the requested columns, and what scikit-image computes."""

    columns: tuple[tuple[str, str], ...]  # names with keys of `PROPERTIES` that are counted
    fallback: tuple[tuple[str, str], ...]  # those that scikit-image computes
    functions: tuple[Callable[..., Any], ...]  # extra properties, called by scikit-image
    layout: Layout
    # Sums over pixels beside the table: "values", "deviations", "raw", "central", "weighted",
    # "weighted_central"; from runs on the host: "hull", "corners" (of hulls), "filled", "median".
    needs: frozenset[str]
    intensity: tuple[str, ...]  # keys of properties that need an intensity image
    order: tuple[str, ...]  # names of all columns as requested

    @cached_property
    def needs_labels(self) -> bool:
        """Whether an image of labels is needed in any case."""
        return bool(self.fallback or self.functions)

    @cached_property
    def needs_pixels(self) -> bool:
        """Whether pixels are summed over, beside the table of counts."""
        return bool(self.needs)

    @cached_property
    def needs_moments(self) -> bool:
        """Whether powers of coordinates are summed."""
        return bool(self.needs & MOMENTS)

    @cached_property
    def needs_host(self) -> bool:
        """Whether something is computed from the runs of each label, on the host."""
        return bool(self.needs & ON_HOST)

    @cached_property
    def only_sizes(self) -> bool:
        """Whether all follows from the number of elements and exposed faces."""
        needs = {need for _, key in self.columns for need in PROPERTIES[key].needs}
        return not self.needs_labels and needs <= {"faces"}


@dataclass(frozen=True, eq=False)
class RequestFields:
    """The fields of an `equilabel.measuring.request.Request`."""

    plan: Plan
    values: Array  # intensities, or None
    spacing: tuple[float, ...]
    given_spacing: Any = None  # as the caller gave it: scikit-image treats integers differently
    separator: str = "-"
    cache: bool = True  # for scikit-image
    periodic: tuple[bool, ...] = ()  # for each axis of the image, or empty
    columns_on: str | None = None  # "host" or the device that counts; None to get counts


@lru_cache(256)
def make_plan(
    wanted: tuple[str, ...],
    functions: tuple[Callable[..., Any], ...],
    axes: int,
    stacked: bool,
    even: bool,
    first: bool = False,
) -> Plan:
    """Return what to count for some properties; raise an error if one is not known or defined.

    `even` tells whether the spacing is the same along all spatial axes, `first` whether the
    smallest flat index of each label is kept as well.

    >>> plan = make_plan(("perimeter", "area"), (), 2, False, True)
    >>> plan.layout.outline, plan.layout.pairs, plan.layout.seconds, plan.needs_pixels
    ('equal', 'none', False, False)
    """
    keys = resolve_names(wanted, frozenset(function.__name__ for function in functions))
    for _, key in keys:
        check_defined(key, axes - stacked, stacked)
    columns = tuple(pair for pair in keys if PROPERTIES[pair[1]].counted)
    needs = {need for _, key in columns for need in PROPERTIES[key].needs}
    layout = Layout(
        axes=axes,
        stacked=stacked,
        first=first,
        seconds="seconds" in needs,
        pairs="all" if "all" in needs else "faces" if "faces" in needs else "none",
        euler_face="euler_face" in needs,
        euler_full="euler_full" in needs,
        outline=("equal" if even else "uneven") if "outline" in needs else "none",
    )
    known = {name for name, _ in keys}
    own = tuple(function for function in functions if function.__name__ not in known)
    return Plan(
        columns=columns,
        fallback=tuple(pair for pair in keys if pair not in columns),
        functions=own,
        layout=layout,
        needs=frozenset(needs & (VALUES | MOMENTS | ON_HOST)),
        intensity=tuple(key for _, key in keys if PROPERTIES[key].intensity),
        order=tuple(dict.fromkeys((*wanted, *(function.__name__ for function in own)))),
    )


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
