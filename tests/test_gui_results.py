"""What is done with the objects found, in a real viewer: table, colors, plots, filter, repeat."""

import shlex

import numpy as np
import pandas as pd
import pytest
from qtpy.QtCore import Qt
from qtpy.QtGui import QGuiApplication
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QFileDialog

from equilabel import label, segment
from equilabel.outlines import EDGE
from equilabel.samples import nuclei_2d
from equilabel.storage.table import read_table
from equilabel.widget.logic.scripts import batch_command, python_line
from gui import LONG, MEASURE, canvas, colored, keep_within, open_form, run

pytestmark = pytest.mark.gui


@pytest.fixture
def form(viewer, qtbot):
    viewer.open_sample("equilabel", "nuclei_2d")
    form = open_form(viewer, qtbot)
    form.fields.statistics.tick("num_pixels")
    run(form, qtbot)
    form.tabs.setCurrentIndex(1)
    return form


def click_row(form, number):
    """Click on the row of an object in the table."""
    table = form.results.table
    row = table.objects.labels.tolist().index(number)
    table.scrollTo(table.objects.index(row, 0))
    QApplication.processEvents()
    place = table.visualRect(table.objects.index(row, 0)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)


def selected_rows(form):
    """Return the labels whose rows are selected."""
    rows = [index.row() for index in form.results.table.selectionModel().selectedRows()]
    return set(form.results.table.objects.labels[rows].tolist())


def middle(layer, number):
    """Return a place in the world that lies on an object."""
    place = np.argwhere(layer.data == number)
    return layer.data_to_world(place[len(place) // 2])


# -------------------------------------------------------------------- table


def test_hovering_shows_the_numbers_of_the_object(form):
    layer = form.results.layer
    for number in (1, 7, int(layer.data.max())):
        status = layer.get_status(middle(layer, number), world=True)
        pixels = (layer.data == number).sum()
        assert f"num_pixels: {pixels}" in status["coordinates"]
    outside = layer.get_status(layer.data_to_world(np.argwhere(layer.data == 0)[0]), world=True)
    assert "num_pixels" not in outside["coordinates"]


def test_a_click_on_a_row_outlines_its_object_and_a_label_selects_its_row(viewer, form):
    layer = form.results.layer
    form.results.table_button.click()
    layer.selected_label = 5
    assert selected_rows(form) == {5}
    number = int(np.bincount(layer.data[200:320, 200:320].ravel())[1:].argmax()) + 1
    click_row(form, number)
    assert layer.selected_label == number
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
    form.tabs.setCurrentIndex(0)
    assert place not in viewer.layers


def test_the_table_has_units_one_index_and_no_empty_row_and_sorts(form):
    form.results.table_button.click()
    table, features = form.results.table, form.results.layer.features
    headers = table.objects.table.headers
    assert headers[:2] == ("Index", "area [µm²]")
    assert headers.index("intensity_mean") < headers.index("bbox-0 [px]")
    assert table.objects.rowCount() == len(features) - 1
    table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    assert table.objects.labels[0] == features["area"].argmax()
    click_row(form, 3)
    table.sortByColumn(1, Qt.SortOrder.AscendingOrder)
    assert selected_rows(form) == {3}


def test_a_closed_form_takes_table_and_outlines_with_it(viewer, qtbot, form):
    form.results.table_button.click()
    click_row(form, 9)
    assert "Table and plot (equilabel)" in viewer.window.dock_widgets
    viewer.window.remove_dock_widget(form.parent())
    qtbot.waitUntil(
        lambda: "Table and plot (equilabel)" not in viewer.window.dock_widgets, timeout=LONG
    )
    assert form.results.outlines.layer is None


def test_a_small_window_does_not_grow_and_the_form_keeps_its_height(viewer, qtbot, form):
    pytest.importorskip("matplotlib")
    window = viewer.window._qt_window
    window.resize(1280, 720)
    qtbot.waitUntil(lambda: window.width() == 1280, timeout=LONG)
    QApplication.processEvents()
    before = window.size(), form.height()
    form.results.table_button.click()
    form.results.plot.button.click()
    qtbot.waitUntil(lambda: form.results.plot.canvas.isVisible(), timeout=LONG)
    QApplication.processEvents()
    assert (window.size(), form.height()) == before
    widths = form.results.below.sizes()
    assert abs(widths[0] - widths[1]) <= 2
    window.resize(900, 600)


def test_the_table_is_written_as_csv(form, tmp_path, monkeypatch, notes):
    path = tmp_path / "cells.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    form.results.save_button.click()
    made = form.results.layer.metadata["equilabel"]
    names = ("label", *made["parameters"]["properties"])
    image = form.fields.image.value.data
    found = segment(image, spacing=(0.325, 0.325), properties=names)
    pd.testing.assert_frame_equal(read_table(path), found.table)
    assert notes()[-1] == f"Saved the table of {found.num} objects as {path}."


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
    assert python_line(form._source, form.choices()) == made["python"]
    assert batch_command(form._source, form.choices()) == made["batch"]


def test_a_run_that_no_command_can_repeat_is_copied_as_python(viewer, qtbot, notes):
    gray = (nuclei_2d((64, 64)) // 16).astype("u1")
    viewer.add_image(np.dstack([gray, gray // 2, gray]), rgb=True, name="colors")
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    form.results.batch_button.click()
    assert "cannot repeat a run with a color image" in notes()[-1]
    assert notes()[-1].endswith("use 'Copy as Python'.")
    form.results.python_button.click()
    names = {"viewer": viewer}
    exec(QGuiApplication.clipboard().text(), names)
    np.testing.assert_array_equal(names["found"].labels, layer.data)


def test_labels_of_other_origin_cannot_be_repeated(viewer, qtbot, notes):
    viewer.add_labels(np.eye(9, dtype=int), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    form.results.python_button.click()
    assert notes()[-1].endswith("not 'mine': run it on the image first.")


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
    form.results.colors.reset_button.click()
    np.testing.assert_array_equal(canvas(viewer), normal)
    assert form.results.colors.column.value == "(each its own)"


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


def test_a_rerun_and_a_click_keep_the_column_that_colors(viewer, qtbot, form):
    form.results.colors.column.value = "area"
    colored(form, qtbot)
    layer = form.results.layer
    other = np.array(layer.get_color(7))
    form.results.select(np.array([5]))
    colored(form, qtbot)
    assert form.results.colors.column.value == "area"
    np.testing.assert_allclose(layer.get_color(7), other)
    assert set(np.unique(layer.data[np.asarray(form.results.outlines.layer.data) > 0])) == {5}
    form.fields.threshold.set_level(900.0)
    run(form, qtbot)
    colored(form, qtbot)
    assert form.results.colors.column.value == "area"
    assert type(layer.colormap).__name__ == "DirectLabelColormap"
    order = layer.features["area"][1:].to_numpy().argsort() + 1
    assert layer.get_color(int(order[0]))[2] > layer.get_color(int(order[-1]))[2]


@pytest.mark.parametrize("turned", [False, True])
def test_the_row_of_an_object_outside_the_view_brings_it_into_view(viewer, qtbot, turned):
    pixels = np.zeros((2, 300, 400), "u1")
    pixels[:, 20:30, 30:40] = pixels[1, 250:270, 360:380] = 200
    viewer.add_image(pixels, axis_labels=("t", "y", "x"), scale=(1, 2, 0.5))
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    if turned:
        viewer.dims.order = (0, 2, 1)
    canvas(viewer)
    camera = viewer.scene.camera
    camera.zoom *= 6
    camera.center = (0, 17.5, 50.0) if turned else (0, 50.0, 17.5)  # of the first object
    canvas(viewer)
    view, zoom = camera.center, camera.zoom
    form.results.table_button.click()
    click_row(form, 1)
    qtbot.waitUntil(lambda: not form.results._place.waiting, timeout=LONG)
    assert camera.center == view  # it is in view
    click_row(form, 3)
    qtbot.waitUntil(lambda: viewer.dims.current_step[0] == 1, timeout=LONG)
    canvas(viewer)
    first, last = layer.corner_pixels
    assert (first[1:] <= (250, 360)).all()
    assert (last[1:] >= (269, 379)).all()
    assert camera.zoom == zoom
    assert (first[1:] > (30, 40)).any()  # the other one is out of view now


def test_the_row_of_an_object_leads_to_its_frame(viewer, qtbot):
    pixels = np.zeros((2, 9, 40, 50), "u1")
    pixels[1, 5:8, 5:20, 5:20] = pixels[1, 6, 5:30, 5:20] = 200
    pixels[0, 0, 10:20, 10:20] = 200
    viewer.add_image(pixels, axis_labels=("t", "z", "y", "x"), scale=(1, 4, 1, 1))
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    viewer.dims.set_point([0, 1], [0, 0])
    form.results.table_button.click()
    click_row(form, 2)
    qtbot.waitUntil(lambda: viewer.dims.current_step[:2] == (1, 6), timeout=LONG)
    viewer.dims.set_point(1, 5 * 4)
    form.results.select(np.array([2]))
    colored(form, qtbot)
    qtbot.waitUntil(lambda: not form.results._place.waiting, timeout=LONG)
    assert viewer.dims.current_step[:2] == (1, 5)  # where it can be seen already
    drawn = form.results.outlines.layer.data
    np.testing.assert_array_equal(drawn[1, 5] > 0, layer.data[1, 5] == 2)
    form.results.select(np.array([1]))
    qtbot.waitUntil(lambda: viewer.dims.current_step[:2] == (0, 0), timeout=LONG)
    qtbot.waitUntil(lambda: not form.results._place.waiting, timeout=LONG)
    layer.mode = "paint"
    layer.selected_label = 2
    assert not form.results._place.waiting


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
    for number in (1, len(kept)):
        assert fewer.features["num_pixels"][number] == (fewer.data == number).sum()
    assert fewer.scale.tolist() == layer.scale.tolist()
    assert fewer.units == layer.units


def test_a_range_stays_when_the_objects_are_found_again(qtbot, form, notes):
    [row, *_] = form.results.filter.rows
    keep_within(row, "area", 20.0, 60.0)
    kept = row.slider.value()
    form.fields.min_size.value = 10
    run(form, qtbot)
    assert row.chosen == "area"
    assert row.slider.value() == pytest.approx(kept, abs=0.05)
    assert notes() == []


def test_several_ranges_hold_at_once(form):
    panel = form.results.filter
    keep_within(panel.rows[0], "area", 20.0, 60.0)
    one = int(panel.count.text().split()[1])
    keep_within(panel.rows[1], "intensity_mean", 400.0, 900.0)
    both = int(panel.count.text().split()[1])
    assert 0 < both < one


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


def test_the_object_selected_in_the_viewer_is_marked_in_the_plot(form):
    pytest.importorskip("matplotlib")
    plot = form.results.plot
    plot.kind.value, plot.x.value, plot.y.value = "scatter plot", "area", "intensity_mean"
    plot.button.click()
    form.results.layer.selected_label = 4
    features = form.results.layer.features
    marked = plot.canvas._mark.get_offsets()
    np.testing.assert_allclose(marked, [[features["area"][4], features["intensity_mean"][4]]])


def test_without_matplotlib_all_but_the_plot_works(viewer, qtbot, form, notes, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "equilabel.widget.forms.plot_canvas", None)
    form.results.plot.button.click()
    assert "A plot needs matplotlib" in notes()[-1]
    assert 'pip install "equilabel[plots]"' in notes()[-1]
    assert run(form, qtbot) in viewer.layers


# ------------------------------------------------------------------ measure


def test_any_labels_are_measured_in_place(viewer, qtbot):
    pixels = nuclei_2d((128, 128))
    labels = segment(pixels).labels
    viewer.add_image(pixels, name="gray")
    layer = viewer.add_labels(labels, name="mine", scale=(2, 2))
    form = open_form(viewer, qtbot, MEASURE)
    form.image.value = viewer.layers["gray"]
    form.statistics.tick("extent")
    assert run(form, qtbot) is layer
    expected = segment(pixels, spacing=2.0).table
    np.testing.assert_allclose(layer.features["intensity_mean"][1:], expected["intensity_mean"])
    np.testing.assert_allclose(layer.features["area"][1:], expected["area"])
    assert "extent" in layer.features
    status = layer.get_status(middle(layer, 3), world=True)["coordinates"]
    assert "intensity_mean" in status


def test_labels_are_measured_without_gray_values(viewer, qtbot):
    viewer.add_labels(np.pad(np.ones((3, 3), int), 2), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    assert form.image.value is None
    assert not any("intensity" in name for name in form.statistics.names)
    layer = run(form, qtbot)
    assert layer.features["area"].tolist()[1:] == [9]


def test_an_image_that_does_not_fit_is_told(viewer, qtbot, notes):
    viewer.add_image(np.ones((4, 5)), name="gray")
    viewer.add_labels(np.ones((3, 3), int), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    run(form, qtbot)
    assert "image must have the shape of the labels, (3, 3); got (4, 5) for 'gray'" in notes()[-1]
    assert notes()[-1].endswith("or none.")
    form.image.value = None
    assert run(form, qtbot).features["area"].tolist()[1:] == [9]


def test_labels_with_large_gaps_are_told(viewer, qtbot, notes):
    viewer.add_labels(np.array([[1, 1, 0, 10**6]]), name="mine")
    form = open_form(viewer, qtbot, MEASURE)
    layer = run(form, qtbot)
    assert "without large gaps" in notes()[-1]
    status = layer.get_status((0, 3), world=True)["coordinates"]
    assert "area: 1" in status
    assert notes()[-1].endswith("as in `equilabel.label(labels)`.")
    before = len(notes())
    layer.data = label(layer.data)
    assert run(form, qtbot).features["area"].tolist()[1:] == [2, 1]
    assert len(notes()) == before
