"""Filter: keep objects by their measurements, in a new layer."""

from collections.abc import Callable, Mapping
from typing import Any

from napari.layers import Labels
from qtpy.QtWidgets import QLabel, QLineEdit

from equilabel.segmentation.selection import meets
from equilabel.storage.table import find_objects, labels_of
from equilabel.widget.logic.features import find_kept, keep_objects
from equilabel.widget.logic.outcomes import KEY
from equilabel.widget.logic.scripts import with_filters
from equilabel.widget.logic.sources import Source, check_memory
from equilabel.widget.napari_types import Layer, Viewer
from equilabel.widget.viewer.layers import made_by
from equilabel.widget.viewer.notifications import guarded, warn
from equilabel.widget.viewer.tasks import Task

from .layout import Grid, Row, button, side_by_side
from .ranges import RangeField

ROWS = 3  # ranges that can be set
TIP = "Column whose values have to lie within the range below it."
CONDITION = (
    "Condition on columns of the table, such as: area > 20 and circularity > 0.8. Names that "
    "contain a hyphen are quoted: `bbox-0` > 5."
)


class FilterForm(Grid):
    """The form that keeps objects within ranges of their measurements, and by a condition.

    `outline` is called with the labels of the objects that would be kept; with none without a
    range or a condition.
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
        self.condition = QLineEdit(placeholderText="area > 20 and circularity > 0.8")
        self.condition.editingFinished.connect(self._preview)
        fields = [field for row in self.rows for field in row.rows]
        fields += [Row("Condition", CONDITION, self.condition)]
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

    @property
    def wanted(self) -> str:
        """The condition, or ""."""
        return str(self.condition.text()).strip()

    def _find_kept(self) -> Any:
        """Return which rows of the features are kept."""
        features = self._layer.features
        kept = find_kept(features, self.ranges)
        return kept & meets(features, self.wanted) if self.wanted else kept

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        self._layer = layer
        for row in self.rows:
            row.set_columns(columns)
        self.button.setEnabled(bool(columns))
        self._show_count()

    @guarded
    def _preview(self) -> None:
        if self._layer is not None:
            kept = self._show_count()
            chosen = bool(self.ranges or self.wanted)
            self._outline(labels_of(self._layer.features)[kept] if chosen else [])

    def _show_count(self) -> Any:
        """Show how many objects are kept, and return which rows these are."""
        if not self.button.isEnabled():
            self.count.setText("")
            return None
        kept = self._find_kept()
        self.count.setText(f"keep {kept.sum()} of {find_objects(self._layer.features).sum()}")
        return kept

    @guarded
    def _keep(self) -> None:
        layer = self._layer
        if layer is None or (self.task is not None and self.task.running):
            return
        source = Source.of(layer)
        check_memory(source)
        features, kept, made = layer.features, self._find_kept(), made_by(layer)
        filters = [each for each in (self.ranges, self.wanted) if each]
        made |= {"kind": "filter", "filter": [*made.get("filter", ()), *filters]}
        made["columns"] = {**made.get("columns", {}), "label_before": int}
        if made.get("python"):
            line = with_filters(made["python"], filters)
            made |= {"python": line, "batch": "", "no_batch": "a filter"}
        options = {"name": f"{layer.name} kept", **source.transform}

        def work(report: Any) -> tuple[Any, ...]:
            report("drop")
            pixels, rows = keep_objects(source.data, features, kept)
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
