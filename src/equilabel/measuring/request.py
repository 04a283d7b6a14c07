"""What a caller wants to know of each label of an image that need not exist yet."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from equilabel.devices import fetch

from .checks import (
    check_counted,
    check_functions,
    check_intensity,
    check_spacing,
    check_values,
    resolve_names,
)
from .columns import compute_columns
from .fallback import compute_objects
from .plan import Plan, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from equilabel.array_types import Array, HostArray

    from .columns import Columns
    from .counts import Counts


@dataclass(frozen=True, eq=False)
class Request:
    """Checked arguments of `regionprops_table`, but for the labels.

    Attributes
    ----------
    plan : Plan
        What is to be counted.
    values : array or None
        Intensities, where the caller has them.
    spacing : tuple of float
        Distance of pixels along each spatial axis.
    given_spacing : float, sequence of float or None
        The same as the caller gave it: scikit-image computes integers with integers.
    separator : str
        Stands between a name and the numbers of its parts.
    cache : bool
        Passed on to scikit-image.
    periodic : tuple of bool
        For each axis of the image, or empty if none is periodic.
    """

    plan: Plan
    values: Array
    spacing: tuple[float, ...]
    given_spacing: Any = None
    separator: str = "-"
    cache: bool = True
    periodic: tuple[bool, ...] = ()

    def table(self, counts: Counts, labels: Array) -> dict[str, HostArray]:
        """Compute all columns, in the order in which they were asked for.

        Parameters
        ----------
        counts : Counts
        labels : array of int, or None
            Image of labels; needed only if `plan.needs_labels`.
        """
        found: dict[str, HostArray] = {}
        groups = self.columns(counts, labels)
        for name in self.plan.order:
            found |= groups[name]
        return found

    def columns(self, counts: Counts, labels: Array) -> Columns:
        """Compute the columns of each property by its name."""
        plan = self.plan
        groups = compute_columns(counts, plan.columns, self.spacing, self.separator)
        if plan.needs_labels:
            values = None if self.values is None else fetch(self.values)
            groups |= compute_objects(fetch(labels), values, self)
        return groups


def make_request(
    properties: Iterable[str],
    intensity_image: ArrayLike | None,
    shape: tuple[int, ...],
    spacing: float | Sequence[float] | None = None,
    *,
    stacked: bool = False,
    separator: str = "-",
    cache: bool = True,
    extra_properties: Iterable[Callable[..., Any]] | None = None,
    periodic: tuple[bool, ...] = (),
) -> Request:
    """Check what is asked of the labels of an image.

    Parameters
    ----------
    shape : tuple of int
        Shape of the image of labels.
    properties, intensity_image, spacing, stacked, separator, cache, extra_properties
        As for `regionprops_table`.
    periodic : tuple of bool
        What `check_periodic` returned.

    Raises
    ------
    TypeError, ValueError
        As `regionprops_table` does.
    """
    wanted = (properties,) if isinstance(properties, str) else tuple(properties)
    if intensity_image is None and spacing is None and extra_properties is None and not periodic:
        with suppress(TypeError):  # names that cannot be looked up are refused below
            return _plain_request(wanted, shape, stacked, separator, cache)
    rank = len(shape) - stacked
    steps = check_spacing(spacing, rank)
    values = check_values(intensity_image, shape)
    functions = check_functions(extra_properties, rank)
    try:
        plan = make_plan(wanted, functions, len(shape), stacked, len(set(steps)) < 2)
    except TypeError:  # names, or functions, that cannot be looked up
        resolve_names(wanted)
        raise
    check_intensity(plan.intensity, values)
    if periodic:
        check_counted(plan.order, plan.columns)
    return Request(plan, values, steps, spacing, separator, cache, periodic)


@lru_cache(256)
def _plain_request(
    wanted: tuple[str, ...], shape: tuple[int, ...], stacked: bool, separator: str, cache: bool
) -> Request:
    """Make a request for columns of labels alone: of small images, many are asked the same."""
    steps = check_spacing(None, len(shape) - stacked)
    plan = make_plan(wanted, (), len(shape), stacked, True)
    check_intensity(plan.intensity, None)
    return Request(plan, None, steps, None, separator, cache)
