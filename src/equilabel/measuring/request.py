"""What a caller wants to know of each label: checked first, counted in any way, answered last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.devices import fetch, passes, place, resolve, using

from .accumulation import Accumulation, plan
from .checks import (
    check_defined,
    check_not_negative,
    check_spacing,
    check_values,
    resolve_names,
)
from .columns import COLUMNS
from .laying import lay_out
from .passing import pass_on
from .properties import PROPERTIES
from .wide import Wide, find_wide, sum_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray


CELLS = {  # follow from counts of elements and exposed faces
    *("label", "num_pixels", "area", "volume", "equivalent_diameter_area"),
    *("perimeter_edges", "surface_area_faces"),
}


class Request:
    """Properties of the labels of an image that need not exist yet.

    Parameters
    ----------
    properties, spacing, stacked, separator, cache, extra_properties
        As for `regionprops_table`.
    intensity_image : array or None
    shape : tuple of int
        Shape of the image of labels.

    Raises
    ------
    TypeError, ValueError
        As `regionprops_table` does.
    """

    def __init__(
        self,
        properties: Iterable[str],
        intensity_image: ArrayLike | None,
        shape: tuple[int, ...],
        spacing: float | Sequence[float] | None = None,
        stacked: bool = False,
        separator: str = "-",
        cache: bool = True,
        extra_properties: Iterable[Callable[..., Any]] | None = None,
    ) -> None:
        rank = len(shape) - bool(stacked)
        self.shape, self.stacked, self.separator, self.cache = shape, stacked, separator, cache
        self.spacing = check_spacing(spacing, rank)
        self.values = check_values(intensity_image, shape)
        self.wanted = [properties] if isinstance(properties, str) else list(properties)
        known = resolve_names(self.wanted)
        for kind in known.values():
            check_defined(kind, rank, stacked, self.values)
        self.ours = {n: kind for n, kind in known.items() if PROPERTIES[kind].counted}
        self.others = {name: kind for name, kind in known.items() if name not in self.ours}
        self.functions = list(extra_properties or ())
        self.hosted = bool(self.others) or extra_properties is not None
        self.layout, self.again = plan(self.ours.values(), len(shape), stacked, self.spacing)
        self.powers = any(kind.startswith(("moments", "centroid_w")) for kind in self.ours.values())
        self.sums: Accumulation | None = None

    def count_labels(self, labels: NDArray[Any]) -> None:
        """Count from an image of labels.

        Raises
        ------
        ValueError
            If a label is negative or beyond int64, or lies in several images of a stack.
        """
        device = resolve("auto", labels)
        labels = labels.astype(labels.dtype.newbyteorder("="), order="C", copy=False)
        with using(device):
            if self.values is not None:
                self.values = place(self.values, device)
            kernels = passes("measuring", device)
            found = kernels.Survey(kernels.LabelRows(labels), self.layout, keep=self.again)
            check_not_negative(found.labels, labels)
            rows, wide = find_wide(found.table, self.layout, self.shape), None
            if len(rows):
                wide = sum_wide(kernels, labels, found.labels[rows], rows, self.layout)
        self._take(found, wide)

    def count_runs(self, table: Any, full: bool, device: str = "cpu") -> bool:
        """Count from runs that have their labels, if they tell all that is asked for.

        Parameters
        ----------
        table : RunTable
            Of `equilabel.kernels.<device>.runs`, after `number`.
        full : bool
            Whether pixels that share a corner have one label.
        device : str
            Where the runs are.

        Returns
        -------
        bool
            Whether no image of labels is needed.
        """
        kernels = passes("measuring", device)
        rows = kernels.JoinedRows(table, self.shape, full=full)
        values = self.values if self.again else None
        if not rows.tell(self.layout.compared, values, self.powers):
            return False
        found = kernels.Survey(rows, self.layout, self.again)
        if len(find_wide(found.table, self.layout, self.shape)):
            return False  # these are summed again, from labels
        if self.values is not None:
            self.values = place(self.values, device)
        self._take(found)
        return not self.hosted

    @property
    def counts_cells(self) -> bool:
        """Whether all follows from the elements and exposed faces of each component."""
        return set(self.ours.values()) <= CELLS and len(self.ours) == len(set(self.wanted))

    def count_cells(self, counts: NDArray[np.int64]) -> None:
        """Take the elements and exposed faces of each component, which have to tell all.

        Parameters
        ----------
        counts : (size, 1 + axes) array of int
            Elements, and faces along each axis, of each component in raster order, with any number
            of rows of zeros between them.
        """
        layout, counts = self.layout, fetch(counts[np.flatnonzero(counts[:, 0])])
        table = np.zeros((len(counts), layout.width), np.int64)
        table[:, 0] = counts[:, 0]
        if layout.pairs != "none":
            faces = counts[:, 1 + int(self.stacked) :]
            table[:, layout["pairs"]] = counts[:, :1] - faces // 2
        labels = np.arange(1, len(counts) + 1, dtype=np.int64)
        self.sums = Accumulation(labels, table, layout, self.shape, self.spacing)

    def answer(self, labels: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
        """Compute the columns.

        Parameters
        ----------
        labels : array of int, or None
            Image of labels; None if runs told all.
        """
        if self.sums is None:
            self.count_labels(labels)  # type: ignore[arg-type]
        sums: Any = self.sums
        with np.errstate(all="ignore"):  # 0 / 0 is NaN, what a spacing makes too large is infinite
            columns = {
                name: lay_out(name, sums.apart(COLUMNS[kind](sums)), self.separator)
                for name, kind in self.ours.items()
            }
        wanted = list(self.wanted)
        if self.hosted:
            columns |= pass_on(
                fetch(labels),
                None if self.values is None else fetch(self.values),
                self.others,
                self.functions,
                self.spacing,
                self.stacked,
                self.separator,
                self.cache,
            )
            wanted += [function.__name__ for function in self.functions]
        table: dict[str, NDArray[Any]] = {}
        for name in wanted:
            table |= columns[name]
        return table

    def _take(self, found: Any, wide: Wide | None = None) -> None:
        self.sums = Accumulation(
            found.labels,
            found.table,
            self.layout,
            self.shape,
            self.spacing,
            found,
            self.values,
            wide,
        )
        if self.again and not self.powers and self.values is not None:
            self.sums.look()
