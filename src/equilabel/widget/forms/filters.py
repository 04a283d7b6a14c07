"""Filter: keep objects within ranges of their measurements, in a new layer."""

from collections.abc import Callable, Mapping
from typing import Any

from napari.layers import Labels
from qtpy.QtWidgets import QLabel

from equilabel.storage.table import find_objects, labels_of
from equilabel.widget.logic.features import find_kept, keep_objects
from equilabel.widget.logic.outcomes import KEY
from equilabel.widget.logic.scripts import with_filter
from equilabel.widget.logic.sources import Source, check_memory
from equilabel.widget.napari_types import Layer, Viewer
from equilabel.widget.viewer.layers import made_by
from equilabel.widget.viewer.notifications import guarded, warn
from equilabel.widget.viewer.tasks import Task

from .layout import Grid, button, side_by_side
from .ranges import RangeField

ROWS = 3  # ranges that can be set
TIP = "Column whose values have to lie within the range below it."


class FilterForm(Grid):
    """The form that keeps objects within ranges of their measurements.

    `outline` is called with the labels of the objects that would be kept; with none without a
    range.
    """

    def __init__(self, viewer: Viewer, outline: Callable[[Any], None]) -> None:
        super().__init__()
        self._viewer, self._outline = viewer, outline
        self._layer: Layer = None
        self.task: Task | None = None
        words = (("Keep by", "Range"), TIP, "(all)")
        self.rows = [RangeField(*words, self._preview) for _ in range(ROWS)]
        self.count = QLabel(toolTip="Objects within all ranges; they are outlined on the canvas.")
        hint = "Add a layer without the other objects."
        self.button = button("Keep in a new layer", hint, self._keep)
        fields = [field for row in self.rows for field in row.rows]
        self.fill(*fields, side_by_side(self.count, self.button))

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The range of each chosen column; of several ranges of one column, their intersection."""
        found: dict[str, tuple[float, float]] = {}
        for row in self.rows:
            if row.chosen:
                low, high = found.get(row.chosen, row.ends)
                found[row.chosen] = max(low, row.ends[0]), min(high, row.ends[1])
        return found

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        self._layer = layer
        for row in self.rows:
            row.set_columns(columns)
        self.button.setEnabled(bool(columns))
        self._show_count()

    @guarded
    def _preview(self) -> None:
        kept = self._show_count()
        self._outline(labels_of(self._layer.features)[kept] if self.ranges else [])

    def _show_count(self) -> Any:
        """Show how many objects are kept, and return which rows these are."""
        if not self.button.isEnabled():
            self.count.setText("")
            return None
        features = self._layer.features
        kept = find_kept(features, self.ranges)
        self.count.setText(f"keep {kept.sum()} of {find_objects(features).sum()}")
        return kept

    @guarded
    def _keep(self) -> None:
        layer = self._layer
        if layer is None or (self.task is not None and self.task.running):
            return
        source = Source.of(layer)
        check_memory(source)
        features, ranges, made = layer.features, self.ranges, made_by(layer)
        made |= {"kind": "filter", "filter": [*made.get("filter", ()), ranges]}
        made["columns"] = {**made.get("columns", {}), "label_before": int}
        if made.get("python"):
            line = with_filter(made["python"], ranges)
            made |= {"python": line, "batch": "", "no_batch": "a filter"}
        options = {"name": f"{layer.name} kept", **source.transform}

        def work(report: Any) -> tuple[Any, ...]:
            report("drop")
            pixels, rows = keep_objects(source.data, features, find_kept(features, ranges))
            metadata = {KEY: {**made, "objects": len(rows) - 1}}
            return pixels, {**options, "features": rows, "metadata": metadata}

        self.task = Task(f"filtering {layer.name!r}", work, ("drop",))
        self.task.done.connect(self._add_layer)
        self.task.failed.connect(warn)
        self.task.start()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def _add_layer(self, result: tuple[Any, dict[str, Any]]) -> None:
        pixels, options = result
        self._outline([])
        self._viewer.add_layer(Labels(pixels, **options))
