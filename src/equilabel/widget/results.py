"""What was found, to look at: table, colors, plots, a filter, and how to repeat the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from magicgui.widgets import ComboBox
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

from .choosing import open_table
from .colorform import ColorForm
from .features import as_table
from .fields import column, scrolled
from .filterform import FilterForm
from .flow import KEY
from .layers import labels
from .notifying import guarded, inform, warn
from .pictures import spell
from .plotform import PlotForm
from .watching import CurrentCanvas, watch_layers, while_alive


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
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.timeout.connect(self._take_features)
        self._build()
        self.layer_field.changed.connect(self._take_layer)
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
        self.colors = ColorForm(self._viewer)
        self.filter = FilterForm(self._viewer)
        self.plot = PlotForm(self._viewer)
        contents = QWidget()
        layout = QVBoxLayout(contents)
        layout.addWidget(column(self.layer_field).native)
        layout.addWidget(self.summary)
        layout.addWidget(buttons)
        layout.addWidget(_group("Colors", self.colors))
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
        self.colors.take(self._layer)
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

    # --------------------------------------------------------------- choose

    def choose(self, chosen: Any) -> None:
        """Let objects stand out: on the canvas, and in the table if it is open."""
        if self.layer is not None:
            self.colors.choose(chosen)

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


def _button(text: str, tooltip: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tooltip)
    return button


def _group(title: str, *contents: QWidget) -> QGroupBox:
    box = QGroupBox(title)
    layout = QVBoxLayout(box)
    for content in contents:
        layout.addWidget(content)
    return box
