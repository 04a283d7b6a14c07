"""Columns that a GPU computes where it counts."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

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
    from .plan import Plan


# ---- Formulas as a device applies them: for each property, the steps that fill its columns
# They give what the formulas of `PROPERTIES` give, from the same counts.

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


# ---- Tables whose columns a device computes: only these come to the host, if they are asked for


class ColumnsRequest(Protocol):
    """The part of an `equilabel.measuring.request.Request` from which columns follow."""

    @property
    def plan(self) -> Plan:
        """What is to be counted."""

    @property
    def values(self) -> Array:
        """Intensities, or None."""

    @property
    def spacing(self) -> tuple[float, ...]:
        """Distance of pixels along each spatial axis."""

    @property
    def separator(self) -> str:
        """Stands between a name and the numbers of its parts."""

    @property
    def periodic(self) -> tuple[bool, ...]:
        """For each axis of the image, or empty."""

    @property
    def columns_on(self) -> str | None:
        """Where columns are to be; None if counts are asked for."""


class DeviceTable:
    """Columns that are being computed.

    Parameters
    ----------
    columns : Columns
        Of `equilabel.measuring.cuda.columns`.
    names : tuple of (str, tuple of str)
        Of each property, and of its columns.
    device : str
    """

    def __init__(self, columns: Any, names: tuple[tuple[str, tuple[str, ...]], ...], device: str):
        self._columns, self._names, self._device = columns, names, device

    def finish(self) -> Columns | None:
        """Wait for the columns of each property; None if they have to be found in another way."""
        with using(self._device):
            columns = self._columns.finish()
        if columns is None:
            return None
        each = iter(columns)
        return {name: {column: next(each) for column in parts} for name, parts in self._names}


def table_of_labels(request: ColumnsRequest, labels: Array, device: str) -> DeviceTable | None:
    """Start to count and compute what is asked of an image of labels.

    Parameters
    ----------
    request : ColumnsRequest
    labels : array of int
        On `device`, which is the current one.
    device : str

    Returns
    -------
    DeviceTable, or None
        None if counts have to come to the host.
    """
    if not is_fused(request, labels.shape, device):
        return None
    source = passes("measuring.sources", device).LabelSource.guessed
    kind, room = room_for(labels, device)
    return _start(request, lambda rows: source(labels, rows), labels.shape, kind, room, device)


def room_for(labels: Array, device: str) -> tuple[Any, int]:
    """Return of what kind labels are, and for how many of them a table may have room.

    Kernels see labels without a sign: it has none for what would be negative.
    """
    room = min(
        int(np.iinfo(labels.dtype).max), passes("measuring.sources", device).ROOM * labels.size
    )
    return (labels.shape, labels.dtype.char, device), room


def table_of_runs(
    request: ColumnsRequest,
    table: Any,
    shape: tuple[int, ...],
    device: str,
    *,
    full: bool,
    lasts: bool,
) -> DeviceTable | None:
    """Start to count and compute what is asked of runs that have their labels, as `count_runs`.

    Parameters
    ----------
    lasts : bool
        Whether the table is there until the columns are waited for: painting uses it up.
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
    request: ColumnsRequest,
    source: Callable[[int], Any],
    shape: tuple[int, ...],
    kind: Any,
    most: int,
    device: str,
    *,
    lasts: bool = True,
) -> DeviceTable | None:
    """Start kernels for the steps of a request, if there are steps for all that is asked."""
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


def is_fused(request: ColumnsRequest, shape: tuple[int, ...], device: str) -> bool:
    """Return whether columns can be computed on the device that counts."""
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
    request: ColumnsRequest, device: str
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], Any] | None:
    """Name the columns of each property, and pack the steps that fill them, if there are any."""
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
