"""Results of a labels layer: table, colors, plots, a filter, and scripts that repeat the run."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import is_
from pathlib import Path
from typing import Any

import numpy as np
from qtpy.QtCore import QTimer
from qtpy.QtGui import QGuiApplication
from qtpy.QtOpenGLWidgets import QOpenGLWidget
from qtpy.QtWidgets import QFileDialog, QLabel

from equilabel.segmentation.outlines import find_box
from equilabel.storage.table import as_table, numeric_columns, write_table
from equilabel.widget import Event, Layer, Viewer
from equilabel.widget.logic import objects
from equilabel.widget.logic.outcomes import measure_source
from equilabel.widget.logic.scripts import script_of
from equilabel.widget.viewer import layers
from equilabel.widget.viewer.preview import SelectedObjects
from equilabel.widget.viewer.tasks import Task, ask, attempt, guarded, inform, tell, warn

from .columns import ColorForm, FilterForm, PlotForm
from .fields import layer_field, offer_layers
from .layout import Docked, Grid, button, column, fold, scrolled, side_by_side
from .table import Below

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
        self._place = Task("finding the selected object")
        say = partial(tell, self)
        self.shapes, self.again = Task("tracing outlines", say), Task("measuring again", say)
        self.edit = Task("changing objects", say)
        self.below = Below(viewer)
        self.table = self.below.table
        self.colors = ColorForm()
        self.plot = PlotForm(viewer, self.below.open, self.select)
        self.filter = FilterForm(viewer, self._show_kept, self.show_layer)
        self._arrange()
        viewer.mouse_drag_callbacks.append(self._click)
        self.table.selected.connect(self.select)
        viewer.layers.events.removing.connect(self._make_current)
        self.reset_choices()

    def _arrange(self) -> None:
        self.summary, self.message = QLabel(wordWrap=True), QLabel(wordWrap=True)
        self.again_button = button("Measure again", TIPS["again"], self._measure_again)
        self.edits = [
            button(how.capitalize(), TIPS[how], partial(self._change, how))
            for how in ("merge", "split", "delete")
        ]
        self.table_button = button("Show table", TIPS["table"], self._open_table)
        self.save_button = button("Save table", TIPS["save"], self._save)
        self.python_button = button("Copy as Python", TIPS["python"], partial(self._copy, "python"))
        self.batch_button = button("Copy as command", TIPS["batch"], partial(self._copy, "batch"))
        self.shapes_button = button("Outlines as shapes", TIPS["shapes"], self._trace_shapes)
        contents = scrolled(
            *(Grid(self.layer_field), self.summary, self.again_button, self.message),
            side_by_side(self.table_button, self.save_button),
            side_by_side(self.python_button, self.batch_button),
            self.shapes_button,
            side_by_side(*self.edits),
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
        offer_layers(self.layer_field, layers.labels(self._viewer))
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
            self._layer.events.disconnect(self._hear)
        self._layer = self.layer_field.value
        self.message.setText("")  # it was about another layer
        if self._layer is not None:
            self._layer.events.connect(self._hear)
            layers.watch_painting(self._layer, known=True)
            self._followed = self._layer.selected_label
        self._update()

    def _hear(self, event: Event) -> None:
        if event.type == "features":
            attempt(self, partial(self._timer.start, 0))  # once, because a run causes several
        elif event.type == "selected_label":
            self._follow()
        elif event.type == "metadata":
            self._show_state()

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
        layer, made = self._layer, layers.made_by(self._layer)
        self.summary.setText("" if layer is None else objects.summarize(layer.features, made))
        stale = bool(made.get("unmeasured")) and len(layer.features) > 0
        self.again_button.setVisible(stale)
        self.table.objects.stale = stale
        self.table.viewport().update()

    @guarded
    def _measure_again(self) -> None:
        """Measure the objects with the statistics and the images of the runs before."""
        layer = self._require_layer()
        source, runs, others = layers.labels_source(layer), list[Any](), list[Layer]()
        made, seen = layers.made_by(layer), layers.state_of(layer)
        for names, color, named, around in objects.measured_before(made):
            opened = self._find_open(layers.images, *named)
            outer = self._find_open(layers.labels, *around)
            image = opened and replace(layers.source_of(opened), identity=named[1])
            parents = outer and replace(layers.labels_source(outer), identity=around[1])
            if opened and named[1] == made.get("layer") and len(made["axes"]) == len(image.shape):
                image = replace(image, roles=made["axes"])
            options: Any = {"color": color, "parents": parents}
            runs.append(partial(measure_source, source, image, names, **options))
            others.append(outer)

        def show(outcomes: list[Any]) -> None:
            for outcome, outer in zip(outcomes, others, strict=True):
                layers.show_measurements(self._viewer, layer, outcome, seen, outer)
            self.message.setText("")

        self.again.submit(lambda report: [run(report) for run in runs], show)

    def _find_open(self, alike: Callable[..., list[Layer]], name: str, identity: str) -> Layer:
        """Return a layer, or one of its name if it was opened again; None for ""."""
        if not name:
            return None
        same = (each for each in alike(self._viewer) if each.name == name)
        found = layers.find(self._viewer, identity) or next(same, None)
        if found is None:
            message = f"{name!r} must be open to measure again; got it closed. Open it."
            raise ValueError(message)
        return found

    def _fill_table(self) -> None:
        layer = self._layer
        made = layers.made_by(layer)
        shown = (None, []) if layer is None else objects.show_objects(layer.features, made)
        self.table.show_table(*shown)
        self.table.show_kept(self._kept)
        self.table.mark(self._selected)

    def _open_table(self) -> None:
        self._require_layer()
        self._fill_table()
        self.below.open(self.table)

    def _save(self) -> None:
        layer = self._require_layer()
        made, suggested = layers.made_by(layer), f"{layer.name.replace('/', '-')}.csv"
        name, kind = QFileDialog.getSaveFileName(self, "Save the table", suggested, KINDS)
        file = name if Path(name).suffix else name + (".parquet" if "Parquet" in kind else ".csv")
        if file != name and Path(file).exists():  # the dialog has not asked about this file
            question = f"{Path(file).name!r} exists. Replace it?"
            buttons = {"Cancel": "Reject", "Replace": "Destructive"}
            if ask(self, "Save the table", question, "", buttons) != "Replace":
                return
        if name:
            table = as_table(layer.features, objects.column_types(made))
            units = {name: objects.unit_of(name, made) for name in map(str, table)}
            write_table(file, table, units=units if "units" in kind else None)
            count = objects.count_objects(len(table))
            tell(self, f"Saved the table of {count} as {file}.", inform)

    def _trace_shapes(self) -> None:
        layer = self._require_layer()
        pixels = layer.data[0] if layer.multiscale else layer.data
        add = partial(layers.add_shapes, self._viewer, layer)
        self.shapes.submit(lambda _: layers.trace_shapes(pixels), add)

    def _copy(self, language: str) -> None:
        layer = self._require_layer()
        names = {str(each.unique_id): each.name for each in self._viewer.layers}
        script, said = script_of(layer.name, layers.made_by(layer), language, names)
        if script:
            QGuiApplication.clipboard().setText(script)
        tell(self, said, inform if script else warn)

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
        self.table.mark(selected)
        self.plot.mark(selected, self._kept)
        self.outlines.show(layer, selected)
        self._go_to(layer, selected)

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
        if self.layer is not None:
            self.outlines.show(self._layer, shown)
        self.plot.mark(self._selected, kept)
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
        at = np.array(event.position, float)
        at[-layer.ndim :] /= layers.factors(self._viewer, layer)
        number = layer.get_value(at, **directions, world=True)
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
        source, seen = layers.labels_source(layer), layers.state_of(layer)

        def apply(change: tuple[Any, Any]) -> None:
            if not all(map(is_, layers.state_of(layer), seen)):
                message = (
                    "labels must stay the same while objects are changed; got other pixels of "
                    f"{layer.name!r}. Select the objects again."
                )
                raise ValueError(message)
            self.message.setText("")
            layer.data_setitem(*change)
            if objects.measured_before(layers.made_by(layer)):
                self._measure_again()

        work = partial(objects.change_objects, layer.data, chosen, how)
        self.edit.submit(lambda _: work(source.pixel_size[0], source.times), apply)

    def _go_to(self, layer: Layer, selected: Any) -> None:
        """Show the first of some objects, unless it is visible."""
        point, displayed = layers.position(self._viewer, layer)
        if not len(selected) or layer.multiscale or len(displayed) == layer.ndim > 2:
            return
        data, number = layer.data, int(selected[0])

        def show(box: Any) -> None:
            if box is not None and layer in self._viewer.layers:
                layers.go_to(self._viewer, layer, *box)

        self._place.submit(lambda _: find_box(data, number, point, displayed), show)

    @guarded
    def _make_current(self) -> None:
        """Make the OpenGL context of the canvas current before a layer is removed.

        napari 0.9 sends it commands then. Without one, buffers of other layers are lost, and the
        process ends when two layers are removed at once, one is added, and all are drawn.
        """
        window = self
        while window.parentWidget() is not None:  # the main window, also from a floating dock
            window = window.parentWidget()
        for canvas in window.findChildren(QOpenGLWidget):
            canvas.makeCurrent()

    def end(self) -> None:
        """Stop all work, remove the outlines, and close table and plot."""
        for task in (self.filter.task, self.shapes, self.again, self.edit):
            task.cancel()
        self.outlines.remove()
        callbacks = self._viewer.mouse_drag_callbacks
        if self._click in callbacks:
            callbacks.remove(self._click)
        QTimer.singleShot(0, self.below.leave)
