"""One property of labels: what it is, what it follows from, and by which formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray

    from .measurement import Measurement


ON_HOST = frozenset({"hull", "corners", "filled", "median"})  # needs all of a label at once


@dataclass(frozen=True)
class Property:
    """One property of labels.

    Attributes
    ----------
    name : str
        The word to pass in ``properties=``.
    summary : str
        What it is, in one sentence.
    group : str
        Title under which lists of properties show it.
    ranks : tuple of int
        Numbers of spatial axes for which it is defined; empty for any.
    intensity : bool
        Whether it needs an intensity image.
    source : {"skimage", "equilabel"}
        Whose definition it is.
    unit : str
        "" (a number without unit), "pixel", "length", "area", "size" (area in 2D, volume in 3D),
        "radian", "value" (that of the intensity image), or powers of these.
    needs : tuple of str
        What it follows from: "box", "sums" and groups of `equilabel.measuring.layout.Layout`; sums
        over pixels that `Plan` lists.
    formula : callable, or None
        From counts to a column of one value or array for each label. None if scikit-image
        computes it on the CPU, one bounding box after the other.
    """

    name: str
    summary: str
    group: str
    ranks: tuple[int, ...] = ()
    intensity: bool = False
    source: Literal["skimage", "equilabel"] = "skimage"
    unit: str = ""
    needs: tuple[str, ...] = ()
    formula: Callable[[Measurement], HostArray] | None = None

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
        """Whether it follows from counts of parts of an image that were added up."""
        return self.periodic and not set(self.needs) & {"raw", "central", "weighted"}

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
