"""Columns that a GPU computes where it counts."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from equilabel.devices import library, passes, place, using

from .columns import part_names
from .counts import may_be_wide
from .layout import Formula, Step
from .perimeters import crofton_weights, face_weights, outline_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array

    from .columns import Columns
    from .layout import Layout
    from .plan import Plan, RequestFields


# ---- The formulas of properties as steps that a kernel applies, one for each column
# They give what the formulas of `PROPERTIES` give, from the same counts.

Parts: TypeAlias = "tuple[tuple[int, ...], tuple[Step, ...]]"
"""Shape of a property of one label, and a step for each of its parts."""

AXES = 6  # axes are numbered as those of an image of six: the last one is 5


class Steps:
    """The steps of each property, for images of a layout and spacing."""

    def __init__(self, layout: Layout, spacing: tuple[float, ...]) -> None:
        self.layout, self.rank = layout, layout.rank
        self.spacing, self.pixel_size = np.array(spacing), prod(spacing)
        self.axes = range(AXES - self.rank, AXES)

    def of(self, name: str) -> Parts | None:
        """Return the shape of a property of one label and a step for each of its parts.

        Return None if its formula is applied on the host. `name` is a key of `PROPERTIES`.
        """
        if name in PLAIN:
            return (), (PLAIN[name],)
        if name in PARTS:
            return PARTS[name](self)
        if name in TENSORS and self.rank in (2, 3):
            return TENSORS[name](self)
        return None

    def frame(self) -> Parts:
        """Take the first coordinate along the axis that counts images."""
        return (), (Step(Formula.FIRST, AXES - self.layout.axes),)

    def area(self) -> Parts:
        """Multiply the number of pixels by the size of one."""
        return (), (Step(Formula.WEIGHED, 0, 1, (self.pixel_size,)),)

    def bbox(self) -> Parts:
        """List first coordinates, then last + 1."""
        highs = self.layout["highs"].stop - self.rank
        first = tuple(Step(Formula.FIRST, axis) for axis in self.axes)
        last = tuple(Step(Formula.COUNT, highs + k) for k in range(self.rank))
        return (2 * self.rank,), first + last

    def centroid(self) -> Parts:
        """List mean coordinates."""
        return (self.rank,), tuple(Step(Formula.CENTROID, axis) for axis in self.axes)

    def local(self) -> Parts:
        """List mean coordinates relative to the corner of the bounding box."""
        return (self.rank,), tuple(Step(Formula.LOCAL, axis) for axis in self.axes)

    def perimeter(self) -> Parts:
        """Weight the classes of border pixels."""
        weights = tuple(outline_weights(self.layout, self.spacing).tolist())
        begin = self.layout["outline"].start
        return (), (Step(Formula.WEIGHED, begin, len(weights), weights),)

    def exposed(self) -> Parts:
        """Weight missing neighbors across faces."""
        return self._missing(Formula.INTERCEPTS, face_weights(self.layout, self.spacing).tolist())

    def crofton(self, formula: Formula = Formula.INTERCEPTS) -> Parts:
        """Weight missing neighbors in all directions."""
        return self._missing(formula, crofton_weights(self.layout, self.spacing).tolist())

    def _missing(self, formula: Formula, weights: list[float]) -> Parts:
        begin = self.layout["pairs"].start
        return (), (Step(formula, begin, len(weights), tuple(weights)),)

    def group(self, name: str) -> Parts:
        """Take the only column of a group."""
        return (), (Step(Formula.COUNT, self.layout[name].start),)

    def tensor(self) -> Parts:
        """List the entries of the inertia tensor."""
        rank = self.rank
        return (rank, rank), tuple(Step(Formula.TENSOR, i, j) for i, j in np.ndindex(rank, rank))

    def eigenvalues(self) -> Parts:
        """List the eigenvalues of the inertia tensor."""
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
PARTS: dict[str, Callable[[Steps], Parts]] = {
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
TENSORS: dict[str, Callable[[Steps], Parts]] = {
    "inertia_tensor": Steps.tensor,
    "inertia_tensor_eigvals": Steps.eigenvalues,
    "axis_major_length": lambda _: ((), (Step(Formula.AXIS, 0),)),
    "axis_minor_length": lambda steps: ((), (Step(Formula.AXIS, steps.rank - 1),)),
    "eccentricity": lambda _: ((), (Step(Formula.ECCENTRICITY),)),
    "orientation": lambda _: ((), (Step(Formula.ORIENTATION),)),
    "zingg_elongation": lambda _: ((), (Step(Formula.AXES_RATIO, 1, 0),)),
    "zingg_flatness": lambda _: ((), (Step(Formula.AXES_RATIO, 2, 1),)),
}


# ---- Tables whose columns a device computes: their counts stay there


class DeviceTable:
    """Columns that a device is computing.

    `columns` are those of `equilabel.measuring.cuda.columns`; `names` has the name of each
    property with those of its columns.
    """

    def __init__(self, columns: Any, names: tuple[tuple[str, tuple[str, ...]], ...], device: str):
        self._columns, self._names, self._device = columns, names, device

    def finish(self) -> Columns | None:
        """Wait for the columns of each property; None if the caller must take another path."""
        with using(self._device):
            columns = self._columns.finish()
        if columns is None:
            return None
        each = iter(columns)
        return {name: {column: next(each) for column in parts} for name, parts in self._names}


def table_of_labels(request: RequestFields, labels: Array, device: str) -> DeviceTable | None:
    """Start to count labels and compute columns on `device`, the current one.

    Return None if counts have to come to the host.
    """
    if not is_fused(request, labels.shape, device):
        return None
    source = passes("measuring.sources", device).LabelSource.guessed
    kind, room = room_for(labels, device)
    return _start(request, lambda rows: source(labels, rows), labels.shape, kind, room, device)


def room_for(labels: Array, device: str) -> tuple[Any, int]:
    """Return the kind of labels, as a key, and for how many of them a table may have room.

    Kernels see labels as unsigned: there is no room for those that would be negative.
    """
    room = min(
        int(np.iinfo(labels.dtype).max), passes("measuring.sources", device).ROOM * labels.size
    )
    return (labels.shape, labels.dtype.char, device), room


def table_of_runs(
    request: RequestFields,
    table: Any,
    shape: tuple[int, ...],
    device: str,
    *,
    full: bool,
    lasts: bool,
) -> DeviceTable | None:
    """Start to count labeled runs, as `count_runs` does, and compute columns; None if unsupported.

    `lasts` tells whether the table still exists when the columns are waited for: painting
    overwrites it.
    """
    plan = request.plan
    if not is_fused(request, shape, device):
        return None
    source = passes("measuring.sources", device).RunSource
    values = request.values if plan.needs_pixels else None
    if not source(table, shape, 0, full=full).suffices(plan.layout, values, moments=False):
        return None
    size = prod(shape)
    most = size if table.many else (size + 1) // 2
    kind = shape, "runs", full, device
    return _start(
        request,
        lambda rows: source(table, shape, rows - 1, full=full),
        shape,
        kind,
        most,
        device,
        lasts=lasts,
    )


def _start(
    request: RequestFields,
    source: Callable[[int], Any],
    shape: tuple[int, ...],
    kind: Any,
    most: int,
    device: str,
    *,
    lasts: bool = True,
) -> DeviceTable | None:
    """Start the kernels of a request, or return None if a property has no steps."""
    found = steps_of(request, device)
    if found is None:
        return None
    names, formulas = found
    values = None
    if request.plan.needs_pixels:
        values = place(request.values, device)
        values = library(values).ascontiguousarray(values)
        values = values.view("u1") if values.dtype == bool else values
    kernels = passes("measuring.columns", device)
    on_host = request.columns_on == "host"
    columns = kernels.Columns(
        source, request.plan.layout, formulas, values, kind, most, on_host, lasts
    )
    return DeviceTable(columns, names, device)


def is_fused(request: RequestFields, shape: tuple[int, ...], device: str) -> bool:
    """Return whether the device that counts can compute the columns, too."""
    plan, values = request.plan, request.values
    if request.columns_on is None or device == "cpu" or request.periodic or 0 in shape:
        return False
    if plan.needs_labels or plan.needs_moments or plan.needs_host or len(shape) > 6:
        return False
    if may_be_wide(shape, plan.layout):
        return False
    if not plan.needs_pixels:
        return True
    few = values.dtype.kind in "bu" and values.itemsize <= 2 and values.ndim == len(shape)
    return few and prod(shape) < 2 ** (63 - 16 * values.dtype.itemsize)


def steps_of(
    request: RequestFields, device: str
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], Any] | None:
    """Return the names of each property's columns, and the packed steps; None if there are none."""
    return _steps_of(request.plan, request.spacing, request.separator, device)


@lru_cache(256)
def _steps_of(
    plan: Plan, spacing: tuple[float, ...], separator: str, device: str
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], Any] | None:
    each = Steps(plan.layout, spacing)
    names: list[tuple[str, tuple[str, ...]]] = []
    steps: list[Step] = []
    for name, key in plan.columns:
        found = each.of(key)
        if found is None:
            return None
        shape, own = found
        names.append((name, part_names(name, shape, separator) if shape else (name,)))
        steps.extend(own)
    size = prod(spacing)
    formulas = passes("measuring.columns", device).pack(
        tuple(steps), spacing, size, plan.layout.stacked
    )
    return None if formulas is None else (tuple(names), formulas)
