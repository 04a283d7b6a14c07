"""What was found, to look at: table, colors, plots, a filter, and how to repeat the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from magicgui.widgets import ComboBox, FloatSpinBox
from napari.utils.colormaps import AVAILABLE_COLORMAPS, ensure_colormap
from qtpy.QtCore import QTimer
from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QGroupBox,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from equilabel.storage.table import write_table

from .choosing import make_colormap, open_table, select_rows
from .coloring import STEPS, colors_by_value, colors_of_chosen, limits
from .features import as_table, labels_of, numbers
from .fields import column, scrolled
from .filterform import FilterForm
from .flow import KEY
from .layers import back_to_normal, labels
from .notifying import guarded, inform, warn
from .pictures import Legend, spell
from .plotform import PlotForm
from .running import Latest
from .watching import CurrentCanvas, watch_layers, while_alive

NORMAL = "(by label)"
COLORMAPS = ("viridis", "magma", "plasma", "inferno", "turbo", "gray", "twilight")


class ResultsPanel(QWidget):
    """A labels layer and its table.

    Parameters
    ----------
    viewer : napari.Viewer
    """

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Any = None
        self._chosen: Any = None
        self._colors = Latest(self)
        self._colors.answered.connect(self._put_colormap)
        self._colors.failed.connect(warn)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._take_features)
        self._build()
        self.layer_field.changed.connect(self._take_layer)
        for field in (self.column, self.colormap):
            field.changed.connect(self._color_anew)
        for field in (self.low, self.high):
            field.changed.connect(self._color)
        self.normal_button.clicked.connect(self._back)
        self.table_button.clicked.connect(self._open_table)
        self.csv_button.clicked.connect(self._export)
        self.python_button.clicked.connect(self._copy_python)
        self.batch_button.clicked.connect(self._copy_batch)
        self.plot.chosen.connect(self.choose)
        watch_layers(viewer, self.refresh_layers)
        self._canvas = CurrentCanvas(viewer, self)
        self.refresh_layers()

    def _build(self) -> None:
        self.layer_field = ComboBox(name="labels", label="Labels", choices=[], nullable=True)
        self.summary = QLabel()
        self.summary.setWordWrap(True)
        self.table_button = _button("Table", "Open napari's table of this layer.")
        self.csv_button = _button("Export CSV", "Write a row for each object to a file.")
        self.python_button = _button(
            "Copy as Python", "Copy the line of Python that repeats the run that made these labels."
        )
        self.batch_button = _button(
            "Copy as command",
            "Copy the command for a terminal that repeats the run on this file, or on folders.",
        )
        buttons = QWidget()
        grid = QGridLayout(buttons)
        grid.setContentsMargins(0, 0, 0, 0)
        for number, button in enumerate(
            (self.table_button, self.csv_button, self.python_button, self.batch_button)
        ):
            grid.addWidget(button, number // 2, number % 2)
        self.column = ComboBox(name="column", label="Color by", choices=[NORMAL])
        names = [name for name in COLORMAPS if name in AVAILABLE_COLORMAPS]
        self.colormap = ComboBox(name="colormap", label="Colormap", choices=names)
        self.low = _number("low", "From")
        self.high = _number("high", "To")
        self.legend = Legend()
        self.normal_button = _button("Back to normal colors", "Color labels by their numbers.")
        self.filter = FilterForm(self._viewer)
        self.plot = PlotForm(self._viewer)
        contents = QWidget()
        layout = QVBoxLayout(contents)
        layout.addWidget(column(self.layer_field).native)
        layout.addWidget(self.summary)
        layout.addWidget(buttons)
        fields = column(self.column, self.colormap, self.low, self.high).native
        layout.addWidget(_group("Colors", fields, self.legend, self.normal_button))
        layout.addWidget(_group("Plot", self.plot))
        layout.addWidget(_group("Filter", self.filter))
        layout.addStretch()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scrolled(contents))

    # ------------------------------------------------------------ the layer

    @property
    def layer(self) -> Any:
        """The labels layer looked at."""
        return self._layer if self._layer in self._viewer.layers else None

    @while_alive
    def refresh_layers(self) -> None:
        """Offer the layers there are now."""
        there = labels(self._viewer)
        before = self.layer_field.value
        with self.layer_field.changed.blocked():
            self.layer_field.choices = [(layer.name, layer) for layer in there]
            if before in there:
                self.layer_field.value = before
            elif there:
                self.layer_field.value = there[-1]
        if self.layer_field.value is not self._layer:
            self._take_layer()

    def show_layer(self, layer: Any) -> None:
        """Look at a layer, as it is now."""
        self.refresh_layers()
        with self.layer_field.changed.blocked():
            self.layer_field.value = layer
        self._take_layer()

    @guarded
    def _take_layer(self) -> None:
        if self._layer is not None:
            self._layer.events.features.disconnect(self._features_soon)
        self._layer = self.layer_field.value
        if self._layer is not None:
            self._layer.events.features.connect(self._features_soon)
        self._take_features()

    @while_alive
    def _features_soon(self) -> None:
        """Look at the table when the events at hand are through: a run gives several."""
        self._soon.start(0)

    @guarded
    def _take_features(self) -> None:
        self._soon.stop()
        columns = [] if self._layer is None else list(numbers(self._layer.features))
        before = self.column.value
        with self.column.changed.blocked():
            self.column.choices = [NORMAL, *columns]
            colored = _is_colored(self._layer)
            self.column.value = before if before in columns and colored else NORMAL
        if self.column.value == NORMAL:
            self.legend.show_scale(None, 0, 1, "")
        self.plot.take(self._layer)
        self.filter.take(self._layer)
        self.summary.setText("" if self._layer is None else describe(self._layer))

    # ---------------------------------------------------------------- table

    @guarded
    def _open_table(self) -> None:
        open_table(self._viewer, self._needed())

    @guarded
    def _export(self) -> None:
        layer = self._needed()
        made = layer.metadata.get(KEY, {})
        counting = made.get("measured", made).get("whole", ())
        table = as_table(layer.features, counting)
        name, _ = QFileDialog.getSaveFileName(
            self, "Export the table", f"{layer.name}.csv", "Tables (*.csv *.parquet)"
        )
        if name:
            file = name if Path(name).suffix else f"{name}.csv"
            write_table(file, table)
            inform(f"{len(table)} rows written to {file}.")

    # ------------------------------------------------------------ repeating

    @guarded
    def _copy_python(self) -> None:
        self._copy("python", "line of Python for napari's console")

    @guarded
    def _copy_batch(self) -> None:
        self._copy("batch", "command for a terminal")

    def _copy(self, key: str, what: str) -> None:
        layer = self._needed()
        made = layer.metadata.get(KEY, {})
        if "python" not in made:
            warn(
                f"labels must come from a run of 'Label components' to be repeated; got "
                f"{layer.name!r}. Run it on the image first."
            )
            return
        if not made[key]:
            warn(
                "a command must be able to do the same; got luminance of colors, or several axes "
                "of time, which `equilabel batch` does not take. Copy as Python."
            )
            return
        QGuiApplication.clipboard().setText(made[key])
        inform(f"Copied, a {what}: {made[key]}")

    # --------------------------------------------------------------- colors

    @guarded
    def _color_anew(self) -> None:
        """Take other limits for another column, and color."""
        if self._layer is not None and self.column.value != NORMAL:
            low, high = limits(numbers(self._layer.features)[self.column.value])
            for field, value in ((self.low, low), (self.high, high)):
                with field.changed.blocked():
                    field.value = value
                    field.step = max((high - low) / 50, 1e-9)
        self._color()

    @guarded
    def _color(self) -> None:
        if self._layer is None:
            return
        if self.column.value == NORMAL:
            self._back()
            return
        self._chosen = None
        layer, name = self._layer, self.column.value
        low, high = self.low.value, self.high.value
        scale = scale_of(self.colormap.value)
        rows, values = labels_of(layer.features), numbers(layer.features)[name]
        self.legend.show_scale(scale, low, high, name)
        self._colors.ask(
            lambda: (
                layer,
                make_colormap(colors_by_value(rows, values, low, high, scale), layer.data.dtype),
            )
        )

    def _put_colormap(self, answer: tuple[Any, Any]) -> None:
        layer, colormap = answer
        if layer in self._viewer.layers:
            layer.colormap = colormap
            if self._chosen is not None:  # last, as other colors make napari's table select anew
                select_rows(self._viewer, layer, self._chosen)

    @guarded
    def _back(self) -> None:
        self._colors.forget()
        with self.column.changed.blocked():
            self.column.value = NORMAL
        self.legend.show_scale(None, 0, 1, "")
        if self._layer is not None:
            back_to_normal(self._layer)

    # --------------------------------------------------------------- choose

    def choose(self, chosen: Any) -> None:
        """Let objects stand out: on the canvas, and in the table if it is open."""
        layer = self.layer
        if layer is None:
            return
        if not len(chosen):
            self._back()
            return
        self.legend.show_scale(None, 0, 1, "")
        with self.column.changed.blocked():
            self.column.value = NORMAL
        if len(chosen) == 1:
            layer.selected_label = int(chosen[0])
        self._chosen = chosen
        self._colors.ask(lambda: (layer, make_colormap(colors_of_chosen(chosen), layer.data.dtype)))

    def _needed(self) -> Any:
        layer = self.layer
        if layer is None:
            message = "a labels layer must be chosen; got none. Run 'Label components' first."
            raise ValueError(message)
        return layer


def describe(layer: Any) -> str:
    """Say in a line what a labels layer holds, and how it came about."""
    made = layer.metadata.get(KEY, {})
    count = len(as_table(layer.features))
    words = f"{count} object{'' if count == 1 else 's'}"
    if made.get("kind") != "segment":
        return words if len(layer.features) else "Not measured yet."
    threshold = made["threshold"]
    if threshold is None:
        level = "local threshold"
    elif isinstance(threshold, tuple):
        level = "thresholds " + " and ".join(spell(each) for each in threshold)
    else:
        level = f"threshold {spell(threshold)}"
        if isinstance(made["parameters"].get("threshold", "otsu"), str):
            level += f" ({made['parameters'].get('threshold', 'otsu')})"
    return f"{words}, {level}, {made['seconds']:.2f} s by {made['method']} on {made['device']}."


def scale_of(name: str) -> Any:
    """Return the colors of a colormap from low to high."""
    return np.asarray(ensure_colormap(name).map(np.linspace(0, 1, STEPS)), dtype=np.float64)


def _is_colored(layer: Any) -> bool:
    return layer is not None and type(layer.colormap).__name__ == "DirectLabelColormap"


def _button(text: str, tooltip: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tooltip)
    return button


def _number(name: str, label: str) -> FloatSpinBox:
    field = FloatSpinBox(name=name, label=label, min=-1e15, max=1e15, step=1.0)
    field.native.setDecimals(4)
    return field


def _group(title: str, *contents: QWidget) -> QGroupBox:
    box = QGroupBox(title)
    layout = QVBoxLayout(box)
    for content in contents:
        layout.addWidget(content)
    return box
