"""The results of a labels layer: table, colors, plots, a filter, scripts to repeat the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from magicgui.widgets import ComboBox
from qtpy.QtCore import QTimer
from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from equilabel.storage.table import write_table
from equilabel.widget.logic.features import as_table
from equilabel.widget.logic.outcome import KEY
from equilabel.widget.logic.places import find_plane
from equilabel.widget.logic.summary import summarize
from equilabel.widget.viewer.canvas import CurrentCanvas
from equilabel.widget.viewer.events import connect_layers, while_alive
from equilabel.widget.viewer.layers import labels
from equilabel.widget.viewer.notifications import guarded, inform, warn
from equilabel.widget.viewer.selection import go_to, open_table, position
from equilabel.widget.viewer.tasks import LatestResult

from .colors import ColorForm
from .filters import FilterForm
from .layout import button, column, group, scrolled
from .plots import PlotForm

if TYPE_CHECKING:
    from equilabel.widget.napari_types import Layer, Viewer


class ResultsPanel(QWidget):
    """Shows the results of a labels layer.

    Parameters
    ----------
    viewer : napari.Viewer
    """

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Layer = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._update)
        self._place = LatestResult(self)
        self._place.returned.connect(self._go)
        self._build()
        self.layer_field.changed.connect(self._set_layer)
        self.table_button.clicked.connect(self._open_table)
        self.csv_button.clicked.connect(self._export)
        self.python_button.clicked.connect(self._copy_python)
        self.batch_button.clicked.connect(self._copy_batch)
        self.plot.selected.connect(self.select)
        connect_layers(viewer, self.refresh_layers)
        self._canvas = CurrentCanvas(viewer, self)
        self.refresh_layers()

    def _build(self) -> None:
        self.layer_field = ComboBox(
            name="labels",
            label="Labels",
            choices=[],
            nullable=True,
            tooltip="Labels layer whose results are shown.",
        )
        self.summary = QLabel()
        self.summary.setWordWrap(True)
        self._make_buttons()
        self.colors = ColorForm(self._viewer)
        self.filter = FilterForm(self._viewer)
        self.plot = PlotForm(self._viewer)
        contents = QWidget()
        layout = QVBoxLayout(contents)
        layout.addWidget(column(self.layer_field).native)
        layout.addWidget(self.summary)
        layout.addLayout(self._arrange_buttons())
        layout.addWidget(group("Colors", self.colors))
        layout.addWidget(group("Plot", self.plot))
        layout.addWidget(group("Filter", self.filter))
        layout.addStretch()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scrolled(contents))

    def _make_buttons(self) -> None:
        self.table_button = button("Table", "Open the table of this layer.")
        self.csv_button = button("Export CSV", "Write the table to a file: a row for each object.")
        self.python_button = button(
            "Copy as Python", "Copy a line of Python that repeats the run that made these labels."
        )
        self.batch_button = button(
            "Copy as command",
            "Copy a command for a terminal that repeats the run on this file, or on folders.",
        )

    def _arrange_buttons(self) -> QGridLayout:
        grid = QGridLayout()
        for number, each in enumerate(
            (self.table_button, self.csv_button, self.python_button, self.batch_button)
        ):
            grid.addWidget(each, number // 2, number % 2)
        return grid

    # ------------------------------------------------------------ the layer

    @property
    def layer(self) -> Layer:
        """The labels layer whose results are shown; None if it was removed."""
        return self._layer if self._layer in self._viewer.layers else None

    @while_alive
    def refresh_layers(self) -> None:
        """Show the labels layers of the viewer."""
        layers = labels(self._viewer)
        before = self.layer_field.value
        with self.layer_field.changed.blocked():
            self.layer_field.choices = [(layer.name, layer) for layer in layers]
            if before in layers:
                self.layer_field.value = before
            elif layers:
                self.layer_field.value = layers[-1]
        if self.layer_field.value is not self._layer:
            self._set_layer()

    def show_layer(self, layer: Layer) -> None:
        """Show the results of a layer."""
        self.refresh_layers()
        with self.layer_field.changed.blocked():
            self.layer_field.value = layer
        self._set_layer()

    @guarded
    def _set_layer(self) -> None:
        if self._layer is not None:
            self._layer.events.features.disconnect(self._update_later)
            self._layer.events.selected_label.disconnect(self._follow)
        self._layer = self.layer_field.value
        if self._layer is not None:
            self._layer.events.features.connect(self._update_later)
            self._layer.events.selected_label.connect(self._follow)
        self._update()

    @while_alive
    def _update_later(self) -> None:
        """Show the new table once pending events are handled: a run causes several."""
        self._timer.start(0)

    @guarded
    def _update(self) -> None:
        self._timer.stop()
        self.colors.set_layer(self._layer)
        self.plot.set_layer(self._layer)
        self.filter.set_layer(self._layer)
        layer = self._layer
        text = "" if layer is None else summarize(layer.features, layer.metadata.get(KEY, {}))
        self.summary.setText(text)

    # ---------------------------------------------------------------- table

    @guarded
    def _open_table(self) -> None:
        open_table(self._viewer, self._require_layer())

    @guarded
    def _export(self) -> None:
        layer = self._require_layer()
        made = layer.metadata.get(KEY, {})
        counting = made.get("measured", made).get("whole", ())
        table = as_table(layer.features, counting)
        name, _ = QFileDialog.getSaveFileName(
            self, "Export the table", f"{layer.name}.csv", "Tables (*.csv *.parquet)"
        )
        if name:
            file = name if Path(name).suffix else f"{name}.csv"
            write_table(file, table)
            inform(f"Wrote {len(table)} rows to {file}.")

    # ------------------------------------------------------------ scripts

    @guarded
    def _copy_python(self) -> None:
        self._copy("python", "line of Python for napari's console")

    @guarded
    def _copy_batch(self) -> None:
        self._copy("batch", "command for a terminal")

    def _copy(self, key: str, what: str) -> None:
        layer = self._require_layer()
        made = layer.metadata.get(KEY, {})
        if "python" not in made:
            warn(
                f"labels must come from a run of 'Label components' to be repeated; got "
                f"{layer.name!r}. Run it on the image first."
            )
            return
        if not made[key]:
            warn(
                f"`equilabel batch` must be able to repeat the run; got {made['no_batch']}. "
                "Use 'Copy as Python'."
            )
            return
        if key == "batch" and not made.get("from_file", True):
            warn(
                f"the image {made['image']!r} must be saved for the command, as it was not read "
                "from a file; got only pixels. Save it as 'image.tif', or put its name there."
            )
        QGuiApplication.clipboard().setText(made[key])
        inform(f"Copied a {what}: {made[key]}")

    # ------------------------------------------------------------ selection

    def select(self, selected: Any) -> None:
        """Select objects: bright on the canvas, and in the table if it is open."""
        if self.layer is not None:
            self.colors.select(selected)
            self._show(selected)

    @while_alive
    def _follow(self) -> None:
        """Go to the object of a row of the table; not while labels are painted or picked."""
        layer = self.layer
        if layer is None or layer.mode not in ("pan_zoom", "transform"):
            return
        self._show([layer.selected_label] if layer.selected_label else [])

    def _show(self, selected: Any) -> None:
        """Go to the first of some objects, unless the plane on the screen shows it."""
        layer = self._layer
        point, displayed = position(self._viewer, layer)
        if not len(selected) or layer.multiscale or len(displayed) == layer.ndim:
            return
        data, number = layer.data, int(selected[0])
        self._place.submit(lambda: (layer, point, find_plane(data, number, point, displayed)))

    def _go(self, answer: tuple[Layer, tuple[int, ...], tuple[int, ...] | None]) -> None:
        layer, before, point = answer
        if point is not None and point != before and layer in self._viewer.layers:
            go_to(self._viewer, layer, point)

    def _require_layer(self) -> Layer:
        layer = self.layer
        if layer is None:
            message = "a labels layer must be chosen; got none. Run 'Label components' first."
            raise ValueError(message)
        return layer
