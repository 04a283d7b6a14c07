"""One property of labels: its description, what it follows from, its formula and its step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from .layout import Layout, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from equilabel.array_types import HostArray

    from .measurement import Measurement


ON_HOST = frozenset({"hull", "corners", "filled", "median"})  # need all pixels of a label

Parts: TypeAlias = "dict[tuple[int, ...], Step]"
"""The step of each part of a property, by the indices of the part."""


def parts(steps: Iterable[Step]) -> Parts:
    """Return the parts of a property with one index."""
    return {(k,): step for k, step in enumerate(steps)}


@dataclass(frozen=True)
class Property:
    """One property of labels."""

    name: str  # as in ``properties=``
    summary: str
    group: str  # heading in lists of properties
    ranks: tuple[int, ...] = ()  # numbers of spatial axes it is defined for; empty for any
    intensity: bool = False  # whether it needs an intensity image
    source: Literal["skimage", "equilabel"] = "skimage"  # whose definition it is
    # "" (none), "pixel", "length", "area", "size" (area in 2D, volume in 3D), "radian", "value"
    # (that of the intensity image), or powers of these.
    unit: str = ""
    needs: tuple[str, ...] = ()  # "box", groups of `Layout`, and sums that `Plan` lists
    # From counts to one value or array for each label; None if scikit-image computes it.
    formula: Callable[[Measurement], HostArray] | None = None
    # The same for a kernel: a step, or what gives one or several for a layout of counts and a
    # spacing. None if the formula is applied on the host, wherever labels are counted.
    step: Step | Callable[[Layout, tuple[float, ...]], Step | Parts | None] | None = field(
        kw_only=True
    )

    @property
    def counted(self) -> bool:
        """Whether it follows from counts that kernels make for all labels at once."""
        return self.formula is not None

    @property
    def periodic(self) -> bool:
        """Whether it is measured across periodic boundaries."""
        return self.counted and not set(self.needs) & ON_HOST

    @property
    def mergeable(self) -> bool:
        """Whether it follows from merged counts of parts of an image."""
        return self.periodic and not set(self.needs) & {"raw", "central", "weighted"}

    def steps(self, layout: Layout, spacing: tuple[float, ...]) -> Parts | None:
        """Return a step of a kernel for each part; None if the formula is applied on the host."""
        found = self.step(layout, spacing) if callable(self.step) else self.step
        return {(): found} if isinstance(found, Step) else found

    def compute(self, found: Measurement) -> HostArray:
        """Apply the formula."""
        if self.formula is None:
            message = f"property {self.name!r} has no formula; scikit-image computes it."
            raise TypeError(message)
        return self.formula(found)


FLAT, DEEP, BOTH = (2,), (3,), (2, 3)
OURS: Literal["equilabel"] = "equilabel"
POSITION, SHAPE, GRAY, MOMENTS = "Size and position", "Shape", "Gray values", "Moments"
PIXEL, LENGTH, AREA, SIZE, RADIAN, VALUE = "pixel", "length", "area", "size", "radian", "value"
POWERS, VALUE_POWERS = "powers of length", "value * powers of length"
