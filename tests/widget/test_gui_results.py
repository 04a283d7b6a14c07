"""What is done with the objects found, in a real viewer: table, colors, plots, filter, repeat."""

import shlex

import numpy as np
import pandas as pd
import pytest
from pytestqt.qtbot import QtBot
from qtpy.QtCore import Qt
from qtpy.QtGui import QGuiApplication
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QFileDialog

from equilabel import outlines, segment
from equilabel.cli.results import column_units
from equilabel.segmentation.outlines import EDGE
from equilabel.storage.table import as_table, read_table
from equilabel.widget.logic.objects import column_types
from equilabel.widget.logic.scripts import batch_command, python_line
from gui import (
    LONG,
    answer,
    canvas,
    click_row,
    colored,
    empty,
    keep_within,
    middle,
    open_form,
    run,
    to_front,
)

pytestmark = pytest.mark.gui


@pytest.fixture(scope="module")
def found(shared_viewer, request):
    """Find the objects of a sample once, in one form, for all tests of this file."""
    viewer = shared_viewer.open()
    viewer.window.resize(1280, 720)  # room for a plot beside the table
    viewer.open_sample("equilabel", "nuclei_2d")
    qtbot = QtBot(request)
    form = open_form(viewer, qtbot)
    form.fields.statistics.tick("num_pixels")
    run(form, qtbot)
    yield viewer, form
    empty(viewer)
    viewer.window.resize(900, 600)


@pytest.fixture
def viewer(found):
    return found[0]


@pytest.fixture
def form(found, qtbot):
    """Show the results; afterwards, put back what a person can change there."""
    viewer, form = found
    panel = form.results
    to_front(form.results)
    viewer.reset_view()
    before = list(viewer.layers)
    yield form
    panel.below.leave()
    panel.table.hide()
    for row in panel.filter.rows:
        row.column.value = "(all)"
    panel.colors.colormap.value = "viridis"
    panel.colors.column.value = "(default colors)"
    panel.plot.kind.value = "histogram"
    panel.layer.selected_label = 1
    panel.outlines.remove()
    for layer in set(viewer.layers) - set(before):
        viewer.layers.remove(layer)
    panel.layer.visible = True  # a filter hides it
    qtbot.waitUntil(lambda: not panel._place.running, timeout=LONG)


def selected_rows(form):
    """Return the labels whose rows are selected."""
    rows = [index.row() for index in form.results.table.selectionModel().selectedRows()]
    return set(form.results.table.objects.labels[rows].tolist())


# -------------------------------------------------------------------- table


def test_hovering_shows_the_numbers_of_the_object(form):
    layer = form.results.layer
    for number in (1, 7, int(layer.data.max())):
        status = layer.get_status(middle(layer, number), world=True)
        pixels = (layer.data == number).sum()
        assert f"num_pixels: {pixels}" in status["coordinates"]
    outside = layer.get_status(layer.data_to_world(np.argwhere(layer.data == 0)[0]), world=True)
    assert "num_pixels" not in outside["coordinates"]


def test_a_click_on_a_row_outlines_its_object_and_a_label_selects_its_row(viewer, qtbot, form):
    layer = form.results.layer
    form.results.table_button.click()
    layer.selected_label = 5
    assert selected_rows(form) == {5}
    number = int(np.bincount(layer.data[200:320, 200:320].ravel())[1:].argmax()) + 1
    click_row(form, number)
    assert layer.selected_label == number
    qtbot.waitUntil(lambda: not form.results._place.running, timeout=LONG)
    drawn = np.asarray(form.results.outlines.layer.data)
    np.testing.assert_array_equal(drawn > 0, layer.data == number)
    assert (drawn == EDGE).any()
    place = form.results.outlines.layer
    place.visible = False
    plain = canvas(viewer)
    place.visible = True
    changed = (canvas(viewer) != plain).any(axis=-1)
    assert 20 < changed.sum() < 0.05 * changed.size
    assert viewer.layers.selection.active is layer


def test_the_table_has_units_one_index_and_no_empty_row_and_sorts(form):
    form.results.table_button.click()
    table, features = form.results.table, form.results.layer.features
    headers = table.objects.headers
    assert headers[:2] == ["label", "area [µm²]"]
    assert headers.index("intensity_mean") < headers.index("y from [px]")
    assert table.objects.rowCount() == len(features) - 1
    table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert table.objects.labels[0] == features["area"].argmax()
    click_row(form, 3)
    table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    assert selected_rows(form) == {3}


def test_the_table_is_written_as_csv(form, tmp_path, monkeypatch, notes):
    path = tmp_path / "cells.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    form.results.save_button.click()
    made = form.results.layer.metadata["equilabel"]
    names = made["parameters"]["properties"]
    image = form.fields.image.value.data
    found = segment(image, spacing=(0.325, 0.325), properties=names)
    pd.testing.assert_frame_equal(read_table(path), found.table)
    assert notes()[-1] == f"Saved the table of {found.num} objects as {path}."


def test_a_saved_table_has_the_units_of_the_screen_and_of_a_batch(form, tmp_path, monkeypatch):
    path = tmp_path / "cells.csv"

    def choose(form, title, suggested, kinds):
        return str(path), kinds.split(";;")[0]  # that is suggested first

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    form.results.save_button.click()
    names, units, *rows = (line.split(",") for line in path.read_text().splitlines())
    of = column_units(names, 2, "µm")
    assert units == [of.get(name, "") for name in names]
    assert (names[:2], units[:2]) == (["label", "area"], ["", "µm²"])
    form.results.table_button.click()
    headers = form.results.table.objects.headers
    seen = [each.rpartition(" [")[2].rstrip("]") for each in headers if each.endswith("]")]
    assert sorted(seen) == sorted(unit for unit in units if unit)
    assert {"label", "area [µm²]", "y [µm]", "x [µm]", "y from [px]"} <= set(headers)
    assert len(rows) == form.results.layer.data.max()


def test_a_table_that_cannot_be_written_is_told(form, tmp_path, monkeypatch, notes):
    path = tmp_path / "missing" / "cells.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    form.results.save_button.click()
    assert "missing" in notes()[-1]


def test_a_dialog_called_off_writes_nothing(form, monkeypatch, notes):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    before = notes()
    form.results.save_button.click()
    assert notes() == before


def test_a_file_is_not_replaced_unasked_whatever_name_was_typed(form, tmp_path, monkeypatch):
    typed, path, said = tmp_path / "precious", tmp_path / "precious.csv", []
    path.write_text("mine")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(typed), ""))
    answer(form.results, "Cancel", said)
    form.results.save_button.click()
    assert path.read_text() == "mine"
    answer(form.results, "Replace", said)
    form.results.save_button.click()
    assert len(read_table(path)) == form.results.layer.data.max()
    assert said == ["'precious.csv' exists. Replace it?"] * 2


def test_a_name_without_a_suffix_gets_that_of_the_chosen_kind(form, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    names = []

    def choose(form, title, suggested, kinds):
        names.append(suggested)
        return str(tmp_path / "cells"), kinds.split(";;")[-1]

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    monkeypatch.setattr(form.results.layer, "name", "a/b")
    form.results.save_button.click()
    assert names == ["a-b.csv"]
    assert len(read_table(tmp_path / "cells.parquet")) == form.results.layer.data.max()


# ------------------------------------------------------------------- repeat


def test_the_run_is_copied_as_python_and_as_a_command(viewer, form):
    form.results.python_button.click()
    line = QGuiApplication.clipboard().text()
    names = {"viewer": viewer}
    exec(line, names)  # what a person would paste
    np.testing.assert_array_equal(names["found"].labels, form.results.layer.data)
    form.results.batch_button.click()
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:2] == ["equilabel", "batch"]
    assert "--spacing=0.325" in words


def test_the_line_is_known_before_a_run(form):
    made = form.results.layer.metadata["equilabel"]
    assert python_line(form.fields.source, form.choices()) == made["python"]
    assert batch_command(form.fields.source, form.choices()) == made["batch"]


# ------------------------------------------------------------------- colors


def test_objects_are_colored_by_a_column_and_back(viewer, qtbot, form):
    layer = form.results.layer
    normal = canvas(viewer)
    form.results.colors.column.value = "area"
    colored(form, qtbot)
    assert (canvas(viewer) != normal).any()
    order = layer.features["area"][1:].to_numpy().argsort() + 1
    low, high = (layer.get_color(int(number)) for number in (order[0], order[-1]))
    assert low[2] > low[0]  # viridis: blue below, yellow above
    assert high[0] > high[2]
    form.results.colors.column.value = "(default colors)"
    np.testing.assert_array_equal(canvas(viewer), normal)


def test_limits_and_colormap_change_the_colors(viewer, qtbot, form):
    layer = form.results.layer
    form.results.colors.column.value = "area"
    colored(form, qtbot)
    before = np.array(layer.get_color(5))
    low = form.results.colors.limits.value()[0]
    form.results.colors.limits.setValue((low, low + 1))
    colored(form, qtbot)
    clipped = np.array(layer.get_color(5))
    assert (clipped != before).any()
    form.results.colors.colormap.value = "gray"
    colored(form, qtbot)
    assert np.ptp(np.array(layer.get_color(5))[:3]) < 0.01


# ------------------------------------------------------------------- filter


def test_the_count_follows_the_ranges_and_the_layer_holds_those_kept(viewer, qtbot, form):
    layer = form.results.layer
    panel = form.results.filter
    total = int(layer.data.max())
    assert panel.count.text() == f"keep {total} of {total}"
    area = layer.features["area"].to_numpy()
    keep_within(panel.rows[0], "area", 20.0, 60.0)
    low, high = panel.rows[0].slider.value()
    kept = np.flatnonzero((area >= low) & (area <= high))
    assert 0 < len(kept) < total
    assert panel.count.text() == f"keep {len(kept)} of {total}"
    outlined = np.asarray(form.results.outlines.layer.data) > 0
    np.testing.assert_array_equal(outlined, np.isin(layer.data, kept))
    panel.button.click()
    with qtbot.waitSignal(panel.task.done, timeout=LONG):
        pass
    QApplication.processEvents()
    fewer = viewer.layers["nuclei objects kept"]
    np.testing.assert_array_equal(fewer.data > 0, np.isin(layer.data, kept))
    assert fewer.data.max() == len(kept) == len(fewer.features) - 1
    table = as_table(fewer.features, column_types(fewer.metadata["equilabel"]))
    assert [table[name].dtype.kind for name in ("label", "label_before", "area")] == ["i", "i", "f"]
    for number in (1, len(kept)):
        assert fewer.features["num_pixels"][number] == (fewer.data == number).sum()
    assert fewer.scale.tolist() == layer.scale.tolist()
    assert fewer.units == layer.units


def test_after_a_filter_that_failed_another_can_begin(viewer, qtbot, form, notes, monkeypatch):
    def fail(*_):
        message = "No room for labels."
        raise MemoryError(message)

    panel = form.results.filter
    with monkeypatch.context() as patch:
        patch.setattr("equilabel.widget.logic.objects.keep_objects", fail)
        panel.button.click()
        with qtbot.waitSignal(panel.task.failed, timeout=LONG):
            pass
    assert "No room for labels." in notes()[-1]
    panel.button.click()
    with qtbot.waitSignal(panel.task.done, timeout=LONG):
        pass
    QApplication.processEvents()
    assert "nuclei objects kept" in viewer.layers


def test_several_ranges_hold_at_once(form):
    panel = form.results.filter
    keep_within(panel.rows[0], "area", 20.0, 60.0)
    one = int(panel.count.text().split()[1])
    keep_within(panel.rows[1], "intensity_mean", 400.0, 900.0)
    both = int(panel.count.text().split()[1])
    assert 0 < both < one
    keep_within(panel.rows[2], "area", 30.0, 90.0)  # of a column twice, what is within both
    rows = form.results.layer.features
    least, most = panel.rows[2].ends[0], panel.rows[0].ends[1]
    low, high = panel.rows[1].ends
    within = rows["area"].between(least, most) & rows["intensity_mean"].between(low, high)
    assert int(panel.count.text().split()[1]) == within.sum() < both


def test_a_condition_keeps_objects_together_with_the_ranges(viewer, qtbot, form, notes):
    layer, panel = form.results.layer, form.results.filter
    keep_within(panel.rows[0], "area", 20.0, 60.0)
    before = int(panel.count.text().split()[1])
    panel.condition.setText("aera > 30")
    panel.condition.editingFinished.emit()
    assert "Did you mean 'area'?" in notes()[-1]
    panel.condition.setText("area > 30 and `centroid-0` < 60")
    panel.condition.editingFinished.emit()
    kept = int(panel.count.text().split()[1])
    assert 0 < kept < before
    rows = layer.features
    low, high = panel.rows[0].ends
    wanted = (rows["area"] > 30) & (rows["centroid-0"] < 60) & rows["area"].between(low, high)
    outlined = np.asarray(form.results.outlines.layer.data) > 0
    np.testing.assert_array_equal(outlined, np.isin(layer.data, np.flatnonzero(wanted)))
    panel.button.click()
    with qtbot.waitSignal(panel.task.done, timeout=LONG):
        pass
    QApplication.processEvents()
    fewer = viewer.layers["nuclei objects kept"]
    assert fewer.data.max() == kept
    line = fewer.metadata["equilabel"]["python"]
    assert line.endswith("found = filter_objects(found, 'area > 30 and `centroid-0` < 60')")


def test_outlines_become_a_shapes_layer(viewer, qtbot, form):
    layer = form.results.layer
    form.results.shapes_button.click()
    name = f"{layer.name} outlines"
    qtbot.waitUntil(lambda: name in viewer.layers, timeout=LONG)
    shapes = viewer.layers[name]
    exact = outlines(layer.data)
    rings = [ring for each in exact.values() for polygon in each for ring in polygon.rings]
    assert [each.tolist() for each in shapes.data] == [ring.tolist() for ring in rings]
    assert shapes.features["label"].tolist() == [
        number for number, each in exact.items() for polygon in each for _ in polygon.rings
    ]
    assert (shapes.scale == layer.scale).all()
    assert shapes.units == layer.units


# -------------------------------------------------------------------- plots


def click(picture, x, y):
    """Click on a place of the plot, in its points."""
    from matplotlib.backend_bases import MouseEvent

    event = MouseEvent("button_press_event", picture, x, y, button=1)
    picture.callbacks.process("button_press_event", event)


def test_a_click_on_a_bin_chooses_its_objects(viewer, qtbot, form):
    pytest.importorskip("matplotlib")
    layer, plot = form.results.layer, form.results.plot
    plot.x.value = "area"
    plot.button.click()
    form.results.table_button.click()
    QApplication.processEvents()
    picture = plot.canvas
    picture.draw()
    area = layer.features["area"].to_numpy()
    fullest = int(np.histogram(area[1:], picture._edges)[0].argmax())
    low, high = picture._edges[fullest : fullest + 2]
    assert (picture.axes.get_xlabel(), picture.axes.get_ylabel()) == ("area [µm²]", "objects")
    x, y = picture.axes.transData.transform(((low + high) / 2, 0.5))
    click(picture, x, y)
    colored(form, qtbot)
    chosen = np.flatnonzero((area >= low) & (area < high))
    assert len(chosen) > 1
    assert selected_rows(form) == set(chosen.tolist())
    outlined = np.asarray(form.results.outlines.layer.data) > 0
    np.testing.assert_array_equal(outlined, np.isin(layer.data, chosen))


def test_a_click_on_a_point_selects_its_object(viewer, qtbot, form):
    pytest.importorskip("matplotlib")
    layer, plot = form.results.layer, form.results.plot
    plot.kind.value, plot.x.value, plot.y.value = "scatter plot", "area", "intensity_mean"
    plot.button.click()
    picture = plot.canvas
    picture.draw()
    columns = layer.features[["area", "intensity_mean"]].to_numpy()
    number = int(np.nanargmax(columns[:, 0]))
    click(picture, *picture.axes.transData.transform(columns[number]))
    colored(form, qtbot)
    assert layer.selected_label == number
    corner = picture.axes.transAxes.transform((0.999, 0.999))
    click(picture, *corner)
    colored(form, qtbot)
    assert form.results.outlines.layer is None


def test_a_click_with_the_color_picker_selects_the_row(viewer, qtbot, form):
    layer = form.results.layer
    form.results.table_button.click()
    middle_of_canvas = np.array(layer.data.shape) // 2
    places = np.argwhere(layer.data)
    place = places[np.abs(places - middle_of_canvas).sum(axis=1).argmin()]
    number = int(layer.data[tuple(place)])
    viewer.layers.selection.active = layer
    layer.mode = "pick"
    try:
        canvas = viewer.window._qt_viewer.canvas.native

        def select():  # once the canvas is drawn in the size that the table has left
            viewer.scene.camera.center = layer.data_to_world(place)
            QApplication.processEvents()
            QTest.mouseMove(canvas, canvas.rect().center())
            QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=canvas.rect().center())
            return layer.selected_label == number

        qtbot.waitUntil(select)
        assert selected_rows(form) == {number}
        assert form.results.outlines.layer is not None
    finally:
        layer.mode = "pan_zoom"


def test_table_and_plot_that_are_opened_later_mark_the_selected_object(form):
    pytest.importorskip("matplotlib")
    panel = form.results
    panel.layer.selected_label = 6
    panel.table_button.click()
    assert selected_rows(form) == {6}
    panel.plot.canvas = None  # as in a form whose plot was not open yet
    panel.plot.kind.value, panel.plot.x.value = "scatter plot", "area"
    panel.plot.button.click()
    [[area, _]] = panel.plot.canvas.axes.collections[-1].get_offsets()
    assert area == panel.layer.features["area"][6]


def test_the_object_selected_in_the_viewer_is_marked_in_the_plot(form):
    pytest.importorskip("matplotlib")
    plot = form.results.plot
    plot.kind.value, plot.x.value, plot.y.value = "scatter plot", "area", "intensity_mean"
    plot.button.click()
    form.results.layer.selected_label = 4
    features = form.results.layer.features
    marked = plot.canvas.axes.collections[-1].get_offsets()
    np.testing.assert_allclose(marked, [[features["area"][4], features["intensity_mean"][4]]])


def test_a_histogram_counts_in_whole_numbers(form):
    pytest.importorskip("matplotlib")
    form.results.plot.button.click()
    picture = form.results.plot.canvas
    picture.draw_columns(np.arange(1, 4), np.array([1.0, 2.0, 5.0]), None, ("area", "objects"))
    assert (picture.axes.get_yticks() % 1 == 0).all()


def test_objects_that_a_filter_drops_fade_in_the_plot(form):
    pytest.importorskip("matplotlib")
    panel = form.results
    panel.plot.kind.value = "scatter plot"
    panel.plot.x.value, panel.plot.y.value = "area", "intensity_mean"
    panel.plot.button.click()
    keep_within(panel.filter.rows[0], "area", 20.0, 60.0)
    panel.select([4])
    dropped, kept, marked = panel.plot.canvas.axes.collections
    assert dropped.get_alpha() < kept.get_alpha() == 1
    inside = [(part.get_offsets()[:, 0] - 40).clip(-20, 20) for part in (dropped, kept)]
    assert (abs(inside[0]) == 20).all()
    assert (abs(inside[1]) < 20).all()
    assert len(dropped.get_offsets()) + len(kept.get_offsets()) == panel.layer.data.max()
    assert marked.get_offsets()[0, 0] == panel.layer.features["area"][4]
    panel.plot.kind.value = "histogram"
    every, some, one = (bars.get_data().values for bars in panel.plot.canvas.axes.patches)
    assert (every.sum(), one.sum()) == (panel.layer.data.max(), 1)
    assert some.sum() == len(kept.get_offsets())
