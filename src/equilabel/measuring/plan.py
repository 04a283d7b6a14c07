"""What has to be counted for the columns asked for: decided from names alone."""

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

VALUES = frozenset({"values", "deviations"})
MOMENTS = frozenset({"raw", "central", "weighted", "weighted_central"})


@dataclass(frozen=True)
class Plan:
    """What is counted for some columns, and what is left to scikit-image.

    Attributes
    ----------
    columns : tuple of (str, str)
        Names of the columns that follow from counts, each with its key of `PROPERTIES`.
    fallback : tuple of (str, str)
        The same for those that scikit-image computes object by object.
    functions : tuple of callable
        Extra properties; scikit-image calls them, too.
    layout : Layout
        Of the table of counts.
    needs : frozenset of str
        Sums over pixels beside the table: "values", "deviations", "raw", "central", "weighted",
        "weighted_central"; and what is made of the runs of each label, on the host: "hull" or
        "corners" for convex hulls, "filled" for holes, "median".
    intensity : tuple of str
        Keys of the properties that need an intensity image.
    order : tuple of str
        Names of all columns, in the order in which they were asked for.
    """

    columns: tuple[tuple[str, str], ...]
    fallback: tuple[tuple[str, str], ...]
    functions: tuple[Callable[..., Any], ...]
    layout: Layout
    needs: frozenset[str]
    intensity: tuple[str, ...]
    order: tuple[str, ...]

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
        """Whether something is made of the runs of each label, on the host."""
        return bool(self.needs & ON_HOST)

    @cached_property
    def only_sizes(self) -> bool:
        """Whether all follows from the number of elements and exposed faces."""
        needs = {need for _, key in self.columns for need in PROPERTIES[key].needs}
        return not self.needs_labels and needs <= {"faces"}


@lru_cache(256)
def make_plan(
    wanted: tuple[str, ...],
    functions: tuple[Callable[..., Any], ...],
    axes: int,
    stacked: bool,
    even: bool,
    first: bool = False,
) -> Plan:
    """Return what to count for some properties, or raise an error if one is not known or defined.

    Parameters
    ----------
    wanted : tuple of str
        Names of properties and functions, in the order of the columns.
    functions : tuple of callable
        Extra properties.
    axes : int
        Axes of the image.
    stacked : bool
        Whether the first counts images.
    even : bool
        Whether pixels are equally far apart along all spatial axes.
    first : bool
        Whether the smallest flat index of each label is kept as well.

    Examples
    --------
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
