"""Results of a labels layer: table, colors, plots, a filter, and scripts that repeat the run."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from magicgui.widgets import ComboBox
from qtpy.QtCore import Qt, QTimer
from qtpy.QtGui import QGuiApplication, QImage, QPixmap
from qtpy.QtWidgets import QFileDialog, QLabel

from equilabel.array_types import HostArray
from equilabel.storage.table import as_table, labels_of, numeric_columns, write_table
from equilabel.widget.logic.objects import (
    change_objects,
    column_types,
    count_objects,
    format_number,
    heading,
    measured_before,
    show_objects,
    summarize,
    title,
    unit_of,
)
from equilabel.widget.logic.outcomes import measure_source
from equilabel.widget.logic.outlines import find_box
from equilabel.widget.logic.scripts import script_of
from equilabel.widget.logic.sources import Source
from equilabel.widget.napari_types import Event, Layer, Viewer
from equilabel.widget.viewer.layers import (
    NUMBERS,
    CurrentCanvas,
    add_shapes,
    color_labels,
    go_to,
    images,
    labels,
    made_by,
    make_scale,
    position,
    reset_colors,
    show_measurements,
    trace_shapes,
    watch_painting,
)
from equilabel.widget.viewer.outlines import SelectedObjects
from equilabel.widget.viewer.tasks import LatestResult, ask, guarded, inform, tell, warn

from .fields import field, layer_field, offer, offer_layers
from .filters import FilterForm, RangeField
from .layout import Docked, Grid, button, column, fold, scrolled, side_by_side
from .table import Below

# ---- Colors by a column


NORMAL = "(default colors)"
COLORMAPS = ("viridis", "magma", "plasma", "inferno", "turbo", "gray", "twilight")
HINT = "Colors from the least to the greatest."
TIP = "Column whose values color the objects, from the first to the last of the colors."


class ColorForm(Grid):
    """The form for the colors of a labels layer."""

    colormap = field(ComboBox, "Colormap", HINT, choices=COLORMAPS, then="_color")

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer
        self._layer: Layer = None
        self._chosen: WeakKeyDictionary[Layer, str] = WeakKeyDictionary()
        self.bar = QLabel(scaledContents=True, minimumWidth=1, minimumHeight=12, maximumHeight=12)
        self.ends = QLabel(alignment=Qt.AlignmentFlag.AlignHCenter)
        self._work = LatestResult("coloring objects", self._put_colormap, partial(tell, self))
        self.range = RangeField(("Color by", "Limits"), TIP, NORMAL, self._color, inner=True)
        self.column, self.limits = self.range.column, self.range.slider
        self.fill(*self.range.rows, self.colormap, self.bar, self.ends)

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        """Use a labels layer, or its new table, whose values color it; its column is kept."""
        same, self._layer = layer is self._layer, layer
        self.range.set_columns(columns, made_by(layer))
        if not same:
            self.range.choose(self._chosen.get(layer, "") if layer is not None else "")
        (self._color if self.range.chosen else self._show_bar)()

    @guarded
    def _color(self) -> None:
        self._work.cancel()
        layer, values = self._layer, self.range.values
        self._show_bar()
        if layer is None:
            return
        self._chosen[layer] = self.range.chosen
        if not self.range.chosen:
            reset_colors(layer)
            return
        rows, distinct = labels_of(layer.features), self.range.chosen in NUMBERS
        scale = None if distinct else make_scale(self.colormap.value)
        ends = self.limits.value()

        def work() -> tuple[Layer, Any]:
            return layer, color_labels(rows, values, ends, scale, layer.data.dtype)

        self._work.submit(work)

    def _show_bar(self) -> None:
        """Show which color means which value, while a column colors the layer."""
        chosen = self.range.chosen
        for part in (self.bar, self.ends):
            part.setVisible(bool(chosen))
        if chosen:
            colors = make_scale(self.colormap.value).colors
            self.bar.setPixmap(_pixels_of(colors))
            low, high = map(format_number, self.limits.value())
            self.ends.setText(
                f"{low}  \N{EM DASH}  {heading(chosen, made_by(self._layer))}  \N{EM DASH}  {high}"
            )

    def _put_colormap(self, answer: tuple[Layer, Any]) -> None:
        layer, colormap = answer
        if layer in self._viewer.layers:
            layer.colormap = colormap


def _pixels_of(colors: HostArray) -> QPixmap:
    row = np.ascontiguousarray((colors[:, :3] * 255).astype(np.uint8))
    image = QImage(row.tobytes(), len(row), 1, 3 * len(row), QImage.Format.Format_RGB888)
    return QPixmap.fromImage(image)


# ---- Plots


HISTOGRAM, SCATTER = "histogram", "scatter plot"
PLOT_TIPS = {
    "kind": "Histogram: how many objects have which value. Scatter plot: a point for each object.",
    "x": "Column along the x axis.",
    "y": "Column along the y axis of a scatter plot.",
    "show": "Open the plot. A click on a bar or a point selects its objects.",
    "save": "Write the plot to a file: PNG, PDF, SVG, ...",
}


class PlotForm(Grid):
    """The form that plots columns.

    `open_plot` is called with the plot to show it; `select` with the labels of the objects whose
    bar or point was clicked.
    """

    kind = field(ComboBox, "Kind", PLOT_TIPS["kind"], choices=[HISTOGRAM, SCATTER], then="_redraw")
    x = field(ComboBox, "x axis", PLOT_TIPS["x"], choices=[], then="_redraw")
    y = field(ComboBox, "y axis", PLOT_TIPS["y"], choices=[], enabled=False, then="_redraw")

    def __init__(
        self, viewer: Viewer, open_plot: Callable[[Any], None], select: Callable[[Any], None]
    ) -> None:
        super().__init__()
        self._viewer, self._open, self._select = viewer, open_plot, select
        self._layer: Layer = None
        self._columns: Mapping[str, Any] = {}
        self.canvas: Any = None
        self._marked: Any = ()
        self.button = button("Show plot", PLOT_TIPS["show"], self._show)
        self.save_button = button("Save plot", PLOT_TIPS["save"], self._save)
        self.fill(self.kind, self.x, self.y, side_by_side(self.button, self.save_button))

    def set_layer(self, layer: Layer, columns: Mapping[str, Any]) -> None:
        self._layer, self._columns = layer, columns
        for each, usual in ((self.x, "area"), (self.y, "intensity_mean")):
            names = [(title(name, made_by(layer)), name) for name in columns]
            offer(each, names, usual if usual in columns else None)
        for each in (self.button, self.save_button):
            each.setEnabled(bool(columns))
        self._redraw()

    def mark(self, labels: Any) -> None:
        """Mark objects, also in a plot that is opened later."""
        self._marked = labels
        if self.canvas is not None:
            self.canvas.mark(labels)

    @guarded
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
            self.canvas.mark(self._marked)
            self._redraw()
        self._open(self.canvas)

    @guarded
    def _save(self) -> None:
        self._show()
        if self.canvas is not None:
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
        made, rows = made_by(self._layer), labels_of(self._layer.features)
        y = self._columns[self.y.value] if scatter else None
        names = heading(self.x.value, made), heading(self.y.value if scatter else "objects", made)
        self.canvas.draw_columns(rows, self._columns[self.x.value], y, names)


# ---- The panel


KINDS = "CSV, units in its second line (*.csv);;CSV (*.csv);;Parquet (*.parquet)"
STILL = 3  # points on the screen that the mouse moves in a click
TIPS = {
    "again": "Measure the objects as they are now, as in the runs before, and color them anew.",
    "merge": "Make one object of the selected ones; napari undoes it with Ctrl+Z.",
    "split": "Split the selected object at its necks; napari undoes it with Ctrl+Z.",
    "delete": "Delete the selected objects; napari undoes it with Ctrl+Z.",
    "table": "Open the table. A click on a row goes to its object and outlines it.",
    "save": "Write the table to a file: CSV, with a line of units or without, or Parquet.",
    "shapes": "Add a shapes layer with the outlines of the objects, along the edges of pixels.",
    "python": "Copy a line of Python that repeats the run that made the labels.",
    "batch": "Copy a command for a terminal that repeats the run on this file, or on folders.",
}


def _source_of(layer: Layer) -> Source:
    """Return labels as the source of measurements, with the roles that a run gave their axes."""
    roles = made_by(layer).get("axes", ())
    return Source.of(layer, roles if len(roles) == layer.ndim else ())


def results_of(viewer: Viewer) -> "ResultsPanel":
    """Return the results of a viewer, in the dock that its forms share; open them if need be."""
    panel: ResultsPanel = viewer.window.add_plugin_dock_widget("equilabel", "Results")[1]
    return panel


class ResultsPanel(Docked):
    """Shows the results of a labels layer."""

    layer_field = layer_field("Labels", "Labels layer whose results are shown.", "_set_layer")

    def __init__(self, napari_viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer = napari_viewer
        self._layer: Layer = None
        self._followed = 0  # the last label that was selected in the layer
        self._selected: Any = ()  # labels of the selected objects
        self._kept: Any = None  # those that the filter would keep; None for no filter
        self.outlines = SelectedObjects(viewer)
        self._timer = QTimer(self, singleShot=True, timeout=self._update)
        self._place = LatestResult("finding the selected object", self._go)
        say = partial(tell, self)
        self.shapes = LatestResult("tracing outlines", self._add_shapes, say)
        self.again = LatestResult("measuring again", self._show_measured, say)
        self.edit = LatestResult("changing objects", self._apply, say)
        self.below = Below(viewer)
        self.table = self.below.table
        self.colors = ColorForm(viewer)
        self.plot = PlotForm(viewer, self.below.open, self.select)
        self.filter = FilterForm(viewer, self._show_kept, self.show_layer)
        self._arrange()
        viewer.mouse_drag_callbacks.append(self._click)
        self.table.selected.connect(self.select)
        self._canvas = CurrentCanvas(viewer, self)
        self.reset_choices()

    def _arrange(self) -> None:
        self.summary, self.message = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self.again_button = button("Measure again", TIPS["again"], self._measure_again)
        self.edits = [
            button(how.capitalize(), TIPS[how], partial(self._change, how))
            for how in ("merge", "split", "delete")
        ]
        for each in self.edits:
            self.table.offer(f"{each.text()} objects", each.click)
        self.table_button = button("Show table", TIPS["table"], self._open_table)
        self.save_button = button("Save table", TIPS["save"], self._save)
        self.python_button = button("Copy as Python", TIPS["python"], self._copy_python)
        self.batch_button = button("Copy as command", TIPS["batch"], self._copy_batch)
        self.shapes_button = button("Outlines as shapes", TIPS["shapes"], self._trace_shapes)
        contents = scrolled(
            *(Grid(self.layer_field), self.summary, self.again_button, self.message),
            side_by_side(self.table_button, self.save_button),
            side_by_side(self.python_button, self.batch_button),
            self.shapes_button,
            side_by_side(*self.edits, widths=(1, 1, 1)),
            fold("Colors", self.colors, expanded=True),
            fold("Plot", self.plot, expanded=True),
            fold("Filter", self.filter, expanded=True),
            margins=True,
        )
        column(contents, into=self)

    @property
    def layer(self) -> Layer:
        """The labels layer whose results are shown; None if it was removed."""
        return self._layer if self._layer in self._viewer.layers else None

    @guarded
    def reset_choices(self) -> None:
        """Offer the layers of the viewer; napari calls it when they change."""
        offer_layers(self.layer_field, labels(self._viewer))
        if self.layer_field.value is not self._layer:
            self._set_layer()

    def show_layer(self, layer: Layer) -> None:
        self.reset_choices()
        with self.layer_field.changed.blocked():
            self.layer_field.value = layer
        self._set_layer()

    @guarded
    def _set_layer(self) -> None:
        if self._layer is not None:
            self._layer.events.features.disconnect(self._update_later)
            self._layer.events.selected_label.disconnect(self._follow)
            self._layer.events.metadata.disconnect(self._show_state)
        self._layer = self.layer_field.value
        self.message.setText("")  # it was about another layer
        if self._layer is not None:
            self._layer.events.features.connect(self._update_later)
            self._layer.events.selected_label.connect(self._follow)
            self._layer.events.metadata.connect(self._show_state)
            watch_painting(self._layer, known=True)
            self._followed = self._layer.selected_label
        self._update()

    @guarded
    def _update_later(self) -> None:
        """Show the new table after pending events, because a run causes several."""
        self._timer.start(0)

    @guarded
    def _update(self) -> None:
        self._timer.stop()
        self.outlines.remove()
        self._selected, self._kept = (), None
        self.plot.mark(())
        layer = self._layer
        columns = {} if layer is None else numeric_columns(layer.features)
        for form in (self.colors, self.plot, self.filter):
            form.set_layer(layer, columns)
        self._show_state()
        if self.table.isVisible():
            self._fill_table()

    @guarded
    def _show_state(self) -> None:
        """Say how many objects there are, and whether the table is that of other pixels."""
        layer, made = self._layer, made_by(self._layer)
        self.summary.setText("" if layer is None else summarize(layer.features, made))
        stale = bool(made.get("unmeasured")) and len(layer.features) > 0
        self.again_button.setVisible(stale)
        self.table.objects.stale = stale
        self.table.viewport().update()

    @guarded
    def _measure_again(self) -> None:
        """Measure the objects with the statistics and the images of the runs before."""
        layer = self._require_layer()
        made, source = made_by(layer), _source_of(layer)
        known = {each.name: each for each in images(self._viewer)}
        runs = [(*run, known.get(run[1])) for run in measured_before(made)]
        if missing := [name for _, name, _, image in runs if name and image is None]:
            message = f"{missing[0]!r} must be open to measure again; got it closed. Open it."
            raise ValueError(message)

        def work() -> tuple[Layer, list[Any]]:
            return layer, [
                measure_source(
                    source, image and Source.of(image), names, lambda _: None, color=color
                )
                for names, _, color, image in runs
            ]

        self.again.submit(work)

    def _show_measured(self, answer: tuple[Layer, list[Any]]) -> None:
        layer, outcomes = answer
        for outcome in outcomes if layer in self._viewer.layers else ():
            show_measurements(layer, outcome)
        self.message.setText("")

    def _fill_table(self) -> None:
        layer = self._layer
        shown = (None, []) if layer is None else show_objects(layer.features, made_by(layer))
        self.table.show_table(*shown)
        self.table.show_kept(self._kept)
        self.table.mark(self._selected)

    @guarded
    def _open_table(self) -> None:
        self._require_layer()
        self._fill_table()
        self.below.open(self.table)

    @guarded
    def _save(self) -> None:
        layer = self._require_layer()
        made, suggested = made_by(layer), f"{layer.name}.csv"
        name, kind = QFileDialog.getSaveFileName(self, "Save the table", suggested, KINDS)
        file = name if Path(name).suffix else f"{name}.csv"
        if name and (file == name or not Path(file).exists() or self._may_replace(file)):
            table = as_table(layer.features, column_types(made))
            units = {name: unit_of(name, made) for name in map(str, table)}
            write_table(file, table, units=units if "units" in kind else None)
            tell(self, f"Saved the table of {count_objects(len(table))} as {file}.", inform)

    def _may_replace(self, file: str) -> bool:
        """Ask about a file if its suffix was added after the dialog."""
        question = f"{Path(file).name!r} exists. Replace it?"
        buttons = {"Cancel": "Reject", "Replace": "Destructive"}
        return ask(self, "Save the table", question, "", buttons) == "Replace"

    @guarded
    def _trace_shapes(self) -> None:
        layer = self._require_layer()
        pixels = layer.data[0] if layer.multiscale else layer.data
        self.shapes.submit(lambda: (layer, trace_shapes(pixels)))

    def _add_shapes(self, answer: tuple[Layer, Any]) -> None:
        layer, traced = answer
        if layer in self._viewer.layers:
            add_shapes(self._viewer, layer, traced)

    def _copy(self, language: str) -> None:
        layer = self._require_layer()
        names = {str(each.unique_id): each.name for each in self._viewer.layers}
        script, said = script_of(layer.name, made_by(layer), language, names)
        if script:
            QGuiApplication.clipboard().setText(script)
        tell(self, said, inform if script else warn)

    _copy_python = guarded(lambda self: self._copy("python"))
    _copy_batch = guarded(lambda self: self._copy("batch"))

    def _require_layer(self) -> Layer:
        if self.layer is None:
            message = "A labels layer has to be open: run 'Label components' first."
            raise ValueError(message)
        return self.layer

    def select(self, selected: Any) -> None:
        """Select objects: outline them on the canvas, and mark them in table and plot."""
        layer = self.layer
        if layer is None:
            return
        self._selected = selected
        if len(selected) == 1:
            self._followed = layer.selected_label = int(selected[0])
        for part in (self.table, self.plot):
            part.mark(selected)
        self._outline(selected)
        self._go_to(selected)

    @guarded
    def _follow(self) -> None:
        """Select the object of the label chosen in the layer, except while labels are painted."""
        layer = self.layer
        if layer is None or layer.selected_label == self._followed:
            return  # napari selects the label again when colors change
        self._followed = layer.selected_label
        if layer.mode in ("pan_zoom", "transform", "pick"):
            self.select([layer.selected_label] if layer.selected_label else [])

    def _show_kept(self, kept: Any) -> None:
        """Show which objects a filter would keep; None for no filter."""
        self._kept, shown = kept, self._selected if kept is None else kept
        self._outline(shown)
        self.plot.mark(shown)
        self.table.show_kept(kept)

    def _click(self, _: Viewer, event: Event) -> Iterator[None]:
        """Select the object under a click while the mouse pans, with Shift one more of them."""
        start = np.array(event.pos)
        yield
        while event.type == "mouse_move":
            yield
        layer, active = self.layer, self._viewer.layers.selection.active
        seen = self.table.isVisible() or not self.visibleRegion().isEmpty()
        mode = str(getattr(active, "mode", "pan_zoom"))
        still = np.abs(np.array(event.pos) - start).max() <= STILL and event.button == 1
        if layer is None or not (seen and still and layer.visible and mode == "pan_zoom"):
            return
        directions = {name: getattr(event, name) for name in ("view_direction", "dims_displayed")}
        number = layer.get_value(event.position, **directions, world=True)
        number = number[1] if layer.multiscale and number is not None else number
        before = list(self._selected) if "Shift" in event.modifiers else []
        self.select(list(dict.fromkeys([*before, int(number)])) if number else before)

    def _change(self, how: str, *_: object) -> None:
        """Merge, split or delete the selected objects; napari can undo it."""
        layer = self.layer
        chosen = [int(each) for each in self._selected]
        least = 2 if how == "merge" else 1
        if layer is None or len(chosen) < least or (how == "split" and len(chosen) > 1):
            wanted = {"merge": "two objects or more", "split": "one object"}.get(how, "objects")
            tell(self, f"Select {wanted} first: in the image, the table or the plot.")
            return
        if not (isinstance(layer.data, np.ndarray) and layer.editable):
            tell(self, f"Labels of {layer.name!r} are in a file or repeat: they cannot be changed.")
            return
        source = _source_of(layer)
        data, spacing, times = layer.data, source.pixel_size[0], source.times
        self.edit.submit(lambda: (layer, change_objects(data, chosen, how, spacing, times)))

    def _apply(self, answer: tuple[Layer, Any]) -> None:
        layer, (places, values) = answer
        if layer in self._viewer.layers:
            self.message.setText("")
            layer.data_setitem(places, values)
            if measured_before(made_by(layer)):
                self._measure_again()

    def _outline(self, selected: Any) -> None:
        if self.layer is not None:
            self.outlines.show(self._layer, selected)

    def _go_to(self, selected: Any) -> None:
        """Show the first of some objects, unless it is visible."""
        layer = self._layer
        point, displayed = position(self._viewer, layer)
        if not len(selected) or layer.multiscale or len(displayed) == layer.ndim > 2:
            return
        data, number = layer.data, int(selected[0])
        self._place.submit(lambda: (layer, find_box(data, number, point, displayed)))

    def _go(self, answer: tuple[Layer, Any]) -> None:
        layer, box = answer
        if box is not None and layer in self._viewer.layers:
            go_to(self._viewer, layer, *box)

    def end(self) -> None:
        """Stop all work, remove the outlines, and close table and plot."""
        for work in (self.filter, self.shapes, self.again, self.edit):
            work.cancel()
        self.outlines.remove()
        callbacks = self._viewer.mouse_drag_callbacks
        if self._click in callbacks:
            callbacks.remove(self._click)
        QTimer.singleShot(0, self.below.leave)

    def see(self, visible: bool) -> None:
        """Remove the outlines when another form is in front."""
        if not visible:
            self.outlines.remove()
