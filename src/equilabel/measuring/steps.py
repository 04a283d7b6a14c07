"""Formulas as a device applies them: for each property, the steps that fill its columns.

They give what the formulas of `PROPERTIES` give, from the same counts.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from equilabel.kernels.formulas import Formula, Step

from .perimeters import crofton_weights, face_weights, outline_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.kernels.layout import Layout

AXES = 6  # as which axes are counted, the last one being 5


class Steps:
    """Steps for images of a layout and spacing: a method for each property, or group of them.

    Parameters
    ----------
    layout : Layout
    spacing : tuple of float
        Distance of pixels along each spatial axis.
    """

    def __init__(self, layout: Layout, spacing: tuple[float, ...]) -> None:
        self.layout, self.rank = layout, layout.rank
        self.spacing, self.pixel_size = np.array(spacing), prod(spacing)
        self.axes = range(AXES - self.rank, AXES)

    def of(self, name: str) -> tuple[tuple[int, ...], tuple[Step, ...]] | None:
        """Return the shape of a property of one label, and a step for each of its parts.

        Parameters
        ----------
        name : str
            Key of `PROPERTIES`.

        Returns
        -------
        (shape, steps), or None
            None if its formula is applied on the host.
        """
        if name in PLAIN:
            return (), (PLAIN[name],)
        if name in PARTS:
            return PARTS[name](self)
        if name in TENSORS and self.rank in (2, 3):
            return TENSORS[name](self)
        return None

    def frame(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """Take the first coordinate along the axis that counts images."""
        return (), (Step(Formula.FIRST, AXES - self.layout.axes),)

    def area(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """Weigh pixels with the size of one."""
        return (), (Step(Formula.WEIGHED, 0, 1, (self.pixel_size,)),)

    def bbox(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """List first coordinates, then last + 1."""
        highs = self.layout["highs"].stop - self.rank
        first = tuple(Step(Formula.FIRST, axis) for axis in self.axes)
        last = tuple(Step(Formula.COUNT, highs + k) for k in range(self.rank))
        return (2 * self.rank,), first + last

    def centroid(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """List mean coordinates."""
        return (self.rank,), tuple(Step(Formula.CENTROID, axis) for axis in self.axes)

    def local(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """List mean coordinates from the corner of the box."""
        return (self.rank,), tuple(Step(Formula.LOCAL, axis) for axis in self.axes)

    def perimeter(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """Weigh classes of border pixels."""
        weights = tuple(outline_weights(self.layout, self.spacing).tolist())
        begin = self.layout["outline"].start
        return (), (Step(Formula.WEIGHED, begin, len(weights), weights),)

    def exposed(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """Weigh missing neighbors across faces."""
        return self._missing(Formula.INTERCEPTS, face_weights(self.layout, self.spacing).tolist())

    def crofton(
        self, formula: Formula = Formula.INTERCEPTS
    ) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """Weigh missing neighbors in all directions."""
        return self._missing(formula, crofton_weights(self.layout, self.spacing).tolist())

    def _missing(
        self, formula: Formula, weights: list[float]
    ) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        begin = self.layout["pairs"].start
        return (), (Step(formula, begin, len(weights), tuple(weights)),)

    def group(self, name: str) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """Take the only column of a group."""
        return (), (Step(Formula.COUNT, self.layout[name].start),)

    def tensor(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """List the entries of the tensor of inertia."""
        rank = self.rank
        return (rank, rank), tuple(Step(Formula.TENSOR, i, j) for i, j in np.ndindex(rank, rank))

    def eigenvalues(self) -> tuple[tuple[int, ...], tuple[Step, ...]]:
        """List its eigenvalues."""
        return (self.rank,), tuple(Step(Formula.EIGENVALUE, k) for k in range(self.rank))


PLAIN = {
    "label": Step(Formula.LABEL),
    "num_pixels": Step(Formula.COUNT),
    "area_bbox": Step(Formula.BOX_SIZE),
    "extent": Step(Formula.EXTENT),
    "equivalent_diameter_area": Step(Formula.DIAMETER),
    "touches_border": Step(Formula.TOUCHES),
    "intensity_sum": Step(Formula.VALUE_SUM),
    "intensity_mean": Step(Formula.VALUE_MEAN),
    "intensity_min": Step(Formula.VALUE_LOW),
    "intensity_max": Step(Formula.VALUE_HIGH),
    "intensity_std": Step(Formula.VALUE_STD),
}
PARTS: dict[str, Callable[[Steps], tuple[tuple[int, ...], tuple[Step, ...]]]] = {
    "frame": Steps.frame,
    "area": Steps.area,
    "volume": Steps.area,
    "bbox": Steps.bbox,
    "centroid": Steps.centroid,
    "centroid_local": Steps.local,
    "perimeter": Steps.perimeter,
    "perimeter_edges": Steps.exposed,
    "surface_area_faces": Steps.exposed,
    "perimeter_crofton": Steps.crofton,
    "surface_area_crofton": Steps.crofton,
    "circularity": lambda steps: steps.crofton(Formula.CIRCULARITY),
    "sphericity": lambda steps: steps.crofton(Formula.SPHERICITY),
    "euler_number": lambda steps: steps.group("euler_full"),
    "euler_number_faces": lambda steps: steps.group("euler_face"),
}
TENSORS: dict[str, Callable[[Steps], tuple[tuple[int, ...], tuple[Step, ...]]]] = {
    "inertia_tensor": Steps.tensor,
    "inertia_tensor_eigvals": Steps.eigenvalues,
    "axis_major_length": lambda _: ((), (Step(Formula.AXIS, 0),)),
    "axis_minor_length": lambda steps: ((), (Step(Formula.AXIS, steps.rank - 1),)),
    "eccentricity": lambda _: ((), (Step(Formula.ECCENTRICITY),)),
    "orientation": lambda _: ((), (Step(Formula.ORIENTATION),)),
    "zingg_elongation": lambda _: ((), (Step(Formula.AXES_RATIO, 1, 0),)),
    "zingg_flatness": lambda _: ((), (Step(Formula.AXES_RATIO, 2, 1),)),
}
