"""Fields for a level and a range, and the filter that keeps objects in a new layer."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from magicgui.widgets import ComboBox
from napari.layers import Labels
from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtWidgets import QAbstractSlider, QLabel, QLineEdit
from superqt import QLabeledDoubleRangeSlider, QLabeledDoubleSlider
from superqt.utils import signals_blocked

from equilabel.segmentation.result import meets
from equilabel.storage.table import find_objects, labels_of
from equilabel.widget.logic.objects import find_kept, keep_objects, limits, title
from equilabel.widget.logic.outcomes import KEY
from equilabel.widget.logic.scripts import with_filters
from equilabel.widget.logic.sources import Source, check_memory
from equilabel.widget.napari_types import Event, Layer, Viewer
from equilabel.widget.viewer.layers import made_by
from equilabel.widget.viewer.tasks import Task, guarded, tell

from .fields import offer
from .layout import Grid, Row, button, side_by_side

# ---- Sliders for a level and a range


HEIGHT = 28  # of a slider
EDGES = QLabeledDoubleRangeSlider.EdgeLabelMode
STEPS = {
    **dict.fromkeys((Qt.Key.Key_Left, Qt.Key.Key_Down), -1),
    **dict.fromkeys((Qt.Key.Key_Right, Qt.Key.Key_Up), 1),
    **{Qt.Key.Key_PageDown: -10, Qt.Key.Key_PageUp: 10},
    **{Qt.Key.Key_Home: -np.inf, Qt.Key.Key_End: np.inf},
}
KEYS = "Arrows, Page Up, Page Down, Home and End move the lower end, with Shift the upper."
ENDS = f"Least and greatest value: drag the ends, or type the numbers. {KEYS}"


class _Keys(QObject):
    """Moves a handle of a slider with the keys for it, which superqt does not support."""

    def eventFilter(self, slider: Any, event: Event) -> bool:
        steps = STEPS.get(event.key()) if event.type() == QEvent.Type.KeyPress else None
        if steps:
            values = np.atleast_1d(slider.value())
            upper = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            low, high = slider.minimum(), slider.maximum()
            if len(values) > 1:  # the handles do not pass each other
                low, high = (values[0], high) if upper else (low, values[1])
            values[-upper] = np.clip(values[-upper] + steps * slider.singleStep(), low, high)
            slider.setValue(tuple(values) if len(values) > 1 else values[0])
        return bool(steps)


def level_slider() -> QLabeledDoubleSlider:
    """Make a slider with one handle, and a field for its value."""
    return _prepared(QLabeledDoubleSlider(Qt.Orientation.Horizontal))


def range_slider() -> QLabeledDoubleRangeSlider:
    """Make a slider with two handles, between fields for their values."""
    slider = QLabeledDoubleRangeSlider(Qt.Orientation.Horizontal)
    slider.setHandleLabelPosition(QLabeledDoubleRangeSlider.LabelPosition.NoLabel)
    slider.setEdgeLabelMode(EDGES.LabelIsValue)
    return _prepared(slider)


def _prepared(slider: Any) -> Any:
    slider.setFixedHeight(HEIGHT)
    for inner in slider.findChildren(QAbstractSlider):
        inner.installEventFilter(_Keys(inner))
    return slider


def set_range(slider: Any, low: float, high: float, step: float, decimals: float) -> None:
    """Set the range of a slider, its step and the decimals of its numbers, as far as possible.

    superqt writes very large and very small numbers with an exponent, and some numbers are wider
    than their field: it is made as wide as they need.
    """
    largest = max(abs(low), abs(high))
    plain = 1e-3 < largest < 1e7 or largest == 0
    places = int(np.clip(decimals, 0, 9)) if plain else 4
    widest = f"-{largest:.{places}f}" if plain else "-1.0000e+00"
    with signals_blocked(slider):
        slider.setRange(low, high)
        slider.setSingleStep(step)
        for shown in slider.findChildren(QLineEdit):
            shown.setMinimumWidth(shown.fontMetrics().horizontalAdvance(widest))
        slider.setDecimals(places)


class RangeField:
    """Fields for a column and a range of its values; `none` is the choice of no column.

    `changed` is called when a person changes one of them. If the range is `inner`, it is initially
    that of most values instead of all.
    """

    def __init__(
        self,
        labels: tuple[str, str],
        tooltip: str,
        none: str,
        changed: Callable[..., None],
        *,
        inner: bool = False,
    ) -> None:
        self._none, self._changed, self._inner = none, changed, inner
        self._columns: Mapping[str, Any] = {}
        self.column = ComboBox(label=labels[0], choices=[none], tooltip=tooltip)
        self.slider = range_slider()
        self.rows = (self.column, Row(labels[1], ENDS, self.slider))
        self._fit()
        self.column.changed.connect(self._choose)
        self.slider.valueChanged.connect(changed)

    @property
    def chosen(self) -> str:
        """The column; "" for none."""
        return "" if self.column.value == self._none else str(self.column.value)

    @property
    def values(self) -> Any:
        """The values of the column."""
        return self._columns.get(self.chosen, np.zeros(0))

    @property
    def ends(self) -> tuple[float, float]:
        """The range; infinite at an end that was not moved."""
        low, high = self.slider.value()
        return (
            -np.inf if low <= self.slider.minimum() else low,
            np.inf if high >= self.slider.maximum() else high,
        )

    def set_columns(self, columns: Mapping[str, Any], made: Mapping[str, Any]) -> None:
        """Show the columns of a table; the range is kept if its column still exists.

        `made` is our metadata of the layer.
        """
        before, (low, high) = self.chosen, self.ends
        self._columns = columns
        names = [(title(name, made), name) for name in columns]
        offer(self.column, [(self._none, self._none), *names])
        self._fit()
        if before and before == self.chosen and not self._inner:
            least, most = self.slider.value()
            with signals_blocked(self.slider):
                self.slider.setValue((max(low, least), min(high, most)))

    def choose(self, column: str) -> None:
        """Choose a column, "" for none, and all of its range, as if nobody had changed it."""
        with self.column.changed.blocked():
            self.column.value = column if column in self._columns else self._none
        self._fit()

    def _fit(self) -> None:
        """Set the slider to the values of the column."""
        known = self.values[np.isfinite(self.values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        high = high if high > low else low + 1
        decimals = min(6, 3 - np.floor(np.log10(high - low)))
        set_range(self.slider, low, high, (high - low) / 200, decimals)
        with signals_blocked(self.slider):
            self.slider.setValue(limits(known) if self._inner and known.size else (low, high))
        self.slider.setEnabled(bool(self.chosen))
        self.slider.setEdgeLabelMode(EDGES.LabelIsValue if self.chosen else EDGES.NoLabel)

    def _choose(self, _: object) -> None:
        self._fit()
        self._changed()


# ---- The filter


ROWS = 3  # ranges that can be set
TIP = "Column whose values have to lie within the range below it."
CONDITION = (
    "Condition on columns of the table, such as: area > 20 and circularity > 0.8. Names that "
    "contain a hyphen are quoted: `bbox-0` > 5."
)


class FilterForm(Grid):
    """The form that keeps objects within ranges of their measurements, and by a condition.

    `show_kept` is called with the labels of the objects that would be kept, with None without a
    range or a condition; `follow` with the new layer, when it is in front of the old one.
    """

    def __init__(
        self, viewer: Viewer, show_kept: Callable[[Any], None], follow: Callable[[Layer], None]
    ) -> None:
        super().__init__()
        self._viewer, self._show_kept, self._follow = viewer, show_kept, follow
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
            row.set_columns(columns, made_by(layer))
        self.button.setEnabled(bool(columns))
        self._show_count()

    @guarded
    def _preview(self) -> None:
        if self._layer is not None:
            kept = self._show_count()
            chosen = bool(self.ranges or self.wanted)
            self._show_kept(labels_of(self._layer.features)[kept] if chosen else None)

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
            return layer, pixels, {**options, "features": rows, "metadata": metadata}

        self.task = Task(f"filtering {layer.name!r}", work, ("drop",))
        self.task.done.connect(self._add_layer)
        self.task.failed.connect(partial(tell, self))
        self.task.start()

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def _add_layer(self, result: tuple[Layer, Any, dict[str, Any]]) -> None:
        """Put the new layer in front of the old one, which is hidden, and start anew from it."""
        before, pixels, options = result
        layer = Labels(pixels, **options)
        self._show_kept(None)
        for row in self.rows:
            row.choose("")
        self.condition.clear()
        self._viewer.add_layer(layer)
        before.visible = False
        self._follow(layer)
