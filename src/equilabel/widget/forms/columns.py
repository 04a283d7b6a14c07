"""What is made of the columns of a table: colors, a plot, and a filter of objects."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from magicgui.widgets import ComboBox
from napari.layers import Labels
from qtpy.QtCore import Qt
from qtpy.QtGui import QImage, QPixmap
from qtpy.QtWidgets import QLabel, QLineEdit
from superqt.utils import signals_blocked

from equilabel.storage.table import find_objects, labels_of
from equilabel.widget import Layer, Viewer
from equilabel.widget.logic import objects
from equilabel.widget.logic.outcomes import KEY
from equilabel.widget.logic.scripts import with_filters
from equilabel.widget.logic.sources import Source, check_memory
from equilabel.widget.viewer import layers
from equilabel.widget.viewer.tasks import Task, attempt, guarded, tell

from .fields import EDGES, KEYS, field, make_slider, offer, set_range
from .layout import Grid, Row, button, side_by_side

ENDS = f"Least and greatest value: drag the ends, or type the numbers. {KEYS}"


class RangeField:
    """Fields for a column and a range: of all its values at first, of most if it is `inner`."""

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
        self.slider = make_slider(several=True)
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
        """Show the columns that `made` describes; the range is kept if its column is among them."""
        before, (low, high) = self.chosen, self.ends
        self._columns = columns
        names = [(objects.title(name, made), name) for name in columns]
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
            inner = self._inner and known.size
            self.slider.setValue(objects.limits(known) if inner else (low, high))
        self.slider.setEnabled(bool(self.chosen))
        self.slider.setEdgeLabelMode(EDGES.LabelIsValue if self.chosen else EDGES.NoLabel)

    def _choose(self, _: object) -> None:
        self._fit()
        self._changed()


NORMAL = "(default colors)"
COLORMAPS = ("viridis", "magma", "plasma", "inferno", "turbo", "gray", "twilight")
COLORED = "Column whose values color the objects, from the first to the last of the colors."


class ColorForm(Grid):
    """The form for the colors of a labels layer."""

    colormap = field(
        ComboBox,
        "Colormap",
        "Colors from the least to the greatest.",
        choices=COLORMAPS,
        then="_color",
    )

    def __init__(self) -> None:
        super().__init__()
        self._layer: Layer = None
        self._chosen: WeakKeyDictionary[Layer, str] = WeakKeyDictionary()
        self.bar = QLabel(scaledContents=True, minimumWidth=1, minimumHeight=12, maximumHeight=12)
        self.ends = QLabel(alignment=Qt.AlignmentFlag.AlignHCenter)
        self.task = Task("coloring objects", partial(tell, self))
        self.range = RangeField(("Color by", "Limits"), COLORED, NORMAL, self._color, inner=True)
        self.column, self.limits = self.range.column, self.range.slider
        self.fill(*self.range.rows, self.colormap, self.bar, self.ends)

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        """Use a labels layer, or its new table, whose values color it; its column is kept."""
        same, self._layer = layer is self._layer, layer
        self.range.set_columns(columns, layers.made_by(layer))
        if not same:
            self.range.choose(self._chosen.get(layer, "") if layer is not None else "")
        (self._color if self.range.chosen else self._show_bar)()

    @guarded
    def _color(self) -> None:
        self.task.cancel()
        layer, chosen, values = self._layer, self.range.chosen, self.range.values
        self._show_bar()
        if layer is None:
            return
        self._chosen[layer] = chosen
        if not chosen:
            layers.reset_colors(layer)
            return
        rows, ends = labels_of(layer.features), self.limits.value()
        scale = None if chosen in layers.NUMBERS else layers.make_scale(self.colormap.value)
        self.task.submit(
            lambda _: layers.color_labels(rows, values, ends, scale, layer.data.dtype),
            partial(setattr, layer, "colormap"),
        )

    def _show_bar(self) -> None:
        """Show which color means which value, while a scale of colors is in use."""
        chosen = self.range.chosen
        scaled = bool(chosen) and chosen not in layers.NUMBERS
        for part in (self.bar, self.ends):
            part.setVisible(scaled)
        for part in (self.limits, self.colormap.native):
            part.setEnabled(scaled)
        if scaled:
            colors = layers.make_scale(self.colormap.value).colors[:, :3]
            row = np.ascontiguousarray((colors * 255).astype(np.uint8))
            image = QImage(row.tobytes(), len(row), 1, 3 * len(row), QImage.Format.Format_RGB888)
            self.bar.setPixmap(QPixmap.fromImage(image))
            low, high = map(objects.format_number, self.limits.value())
            name = objects.heading(chosen, layers.made_by(self._layer))
            self.ends.setText(f"{low}  \N{EM DASH}  {name}  \N{EM DASH}  {high}")


HISTOGRAM, SCATTER = "histogram", "scatter plot"
KINDS = "Histogram: how many objects have which value. Scatter plot: a point for each object."
ALONG_Y = "Column along the y axis of a scatter plot."


class PlotForm(Grid):
    """The form that plots columns; `open_plot` gets the plot, `select` the clicked objects."""

    kind = field(ComboBox, "Kind", KINDS, choices=[HISTOGRAM, SCATTER], then="_redraw")
    x = field(ComboBox, "x axis", "Column along the x axis.", choices=[], then="_redraw")
    y = field(ComboBox, "y axis", ALONG_Y, choices=[], enabled=False, then="_redraw")

    def __init__(
        self, viewer: Viewer, open_plot: Callable[[Any], None], select: Callable[[Any], None]
    ) -> None:
        super().__init__()
        self._viewer, self._open, self._select = viewer, open_plot, select
        self._layer: Layer = None
        self._columns: Mapping[str, Any] = {}
        self.canvas: Any = None
        self._marked: tuple[Any, Any] = (), None
        hint = "Open the plot. A click on a bar or a point selects its objects."
        self.button = button("Show plot", hint, self._show)
        hint = "Write the plot to a file: PNG, PDF, SVG, ..."
        self.save_button = button("Save plot", hint, self._save)
        self.fill(self.kind, self.x, self.y, side_by_side(self.button, self.save_button))

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        self._layer, self._columns = layer, columns
        names = [(objects.title(name, layers.made_by(layer)), name) for name in columns]
        for each, usual in ((self.x, "area"), (self.y, "intensity_mean")):
            offer(each, names, usual if usual in columns else None)
        for each in (self.button, self.save_button):
            each.setEnabled(bool(columns))
        self._redraw()

    def mark(self, labels: Any, kept: Any = None) -> None:
        """Mark objects, and fade those that a filter drops, also in a plot that is opened later."""
        self._marked = labels, kept
        if self.canvas is not None:
            self.canvas.mark(*self._marked)

    def _show(self) -> None:
        """Show the plot, or raise ImportError that says what to install."""
        if self.canvas is None:
            try:
                from .plots import PlotCanvas
            except ImportError as error:
                remedy = 'install it with `pip install "equilabel[plots]"`'
                message = f"A plot needs matplotlib: {remedy} ({error})."
                raise ImportError(message) from error
            self.canvas = PlotCanvas(self._viewer, self._select)
            self.canvas.mark(*self._marked)
            self._redraw()
        self._open(self.canvas)

    def _save(self) -> None:
        self._show()
        self.canvas.save()

    @guarded
    def _redraw(self) -> None:
        scatter = self.kind.value == SCATTER
        self.y.enabled = scatter
        if self.canvas is None:
            return
        if self._layer is None or self.x.value is None:
            self.canvas.draw_columns(np.zeros(0, int), np.zeros(0), None, ("", ""))
            return
        made, rows = layers.made_by(self._layer), labels_of(self._layer.features)
        chosen = (self.x.value, self.y.value if scatter else "objects")
        names = tuple(objects.heading(name, made) for name in chosen)
        x, y = (self._columns.get(name) for name in chosen)
        self.canvas.draw_columns(rows, x, y, names)


ROWS = 3  # ranges that can be set
TIP = "Column whose values have to lie within the range below it."
CONDITION = (
    "Condition on columns of the table, such as: area > 20 and circularity > 0.8. Names that "
    "contain a hyphen are quoted: `bbox-0` > 5."
)


class FilterForm(Grid):
    """Keeps objects within ranges and by a condition; `show_kept` gets them, None for all."""

    def __init__(
        self, viewer: Viewer, show_kept: Callable[[Any], None], follow: Callable[[Layer], None]
    ) -> None:
        super().__init__()
        self._viewer, self._show_kept, self._follow = viewer, show_kept, follow
        self._layer: Layer = None
        self.task = Task("filtering", partial(tell, self))
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
    def filters(self) -> list[Any]:
        """What `equilabel.filter_objects` wants, one after the other: ranges, and the condition."""
        ranges = [
            {row.chosen: tuple(float(end) if np.isfinite(end) else None for end in row.ends)}
            for row in self.rows
            if row.chosen
        ]
        return [each for each in (*ranges, self.condition.text().strip()) if each]

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        self._layer = layer
        for row in self.rows:
            row.set_columns(columns, layers.made_by(layer))
        self.button.setEnabled(bool(columns))
        self.count.setText("")
        attempt(self, self._show_count)  # the condition may not fit this table

    @guarded
    def _preview(self) -> None:
        if self._layer is not None:
            kept = self._show_count()
            self._show_kept(labels_of(self._layer.features)[kept] if self.filters else None)

    def _show_count(self) -> Any:
        """Show how many objects are kept, and return which rows these are."""
        if not self.button.isEnabled():
            return None
        features, known = self._layer.features, objects.column_types(layers.made_by(self._layer))
        kept = objects.find_kept(features, *self.filters, known=known)
        self.count.setText(f"keep {kept.sum()} of {find_objects(features, known).sum()}")
        return kept

    def _keep(self) -> None:
        """Put a layer of the objects that are kept in front of the old one, which is hidden."""
        layer, filters = self._layer, self.filters
        if layer is None or self.task.running:
            return
        source = Source.of(layer)
        check_memory(source)
        features, made = layer.features, layers.made_by(layer)
        kept = objects.find_kept(features, *filters, known=objects.column_types(made))
        made |= {"kind": "filter", "filter": [*made.get("filter", ()), *filters]}
        made |= {"columns": {**made.get("columns", {}), "label_before": int}}
        made |= {"objects": int(kept.sum())}
        if made.get("python"):
            line = with_filters(made["python"], filters)
            made |= {"python": line, "batch": "", "no_batch": "a filter"}
        options = {"name": f"{layer.name} kept", "metadata": {KEY: made}, **source.transform}

        def show(found: Any) -> None:
            pixels, rows = found
            kept = Labels(pixels, features=rows, **options)
            self._show_kept(None)
            for row in self.rows:
                row.choose("")
            self.condition.clear()
            layers.add_labels(self._viewer, kept)
            layer.visible = False
            self._follow(kept)

        self.task.title = f"filtering {layer.name!r}"
        work = partial(objects.keep_objects, source.data, features, kept)
        self.task.submit(lambda _: work(), show, ("drop",))
