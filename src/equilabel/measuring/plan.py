"""What has to be counted for the requested columns: follows from their names alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from .checks import check_defined, resolve_names
from .layout import Layout
from .properties import PROPERTIES
from .property import ON_HOST

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array

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
