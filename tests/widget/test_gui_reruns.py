"""Results found again, of movies and color images, in small windows and forms that are closed."""

import numpy as np
import pytest
from qtpy.compat import isalive
from qtpy.QtCore import Qt
from qtpy.QtGui import QGuiApplication
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication

from equilabel.samples import nuclei_2d
from equilabel.widget.viewer.layers import AROUND, position
from gui import LONG, MEASURE, canvas, click_row, colored, keep_within, open_form, run, to_front

pytestmark = pytest.mark.gui


@pytest.fixture
def form(viewer, qtbot):
    viewer.open_sample("equilabel", "nuclei_2d")
    form = open_form(viewer, qtbot)
    run(form, qtbot)
    to_front(form.results)
    return form


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


def test_a_range_stays_when_the_objects_are_found_again(qtbot, form, notes):
    [row, *_] = form.results.filter.rows
    keep_within(row, "area", 20.0, 60.0)
    kept = row.slider.value()
    form.fields.min_size.value = 10
    run(form, qtbot)
    assert row.chosen == "area"
    assert row.slider.value() == pytest.approx(kept, abs=0.05)
    assert notes() == []


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


@pytest.mark.long
def test_closed_results_take_table_and_outlines_with_them_and_come_back(viewer, qtbot, form):
    names = [layer.name for layer in viewer.layers]
    results = form.results
    results.table_button.click()
    click_row(form, 9)
    assert "Table and plot (equilabel)" in viewer.window.dock_widgets
    viewer.window.remove_dock_widget(results.parent())
    qtbot.waitUntil(
        lambda: "Table and plot (equilabel)" not in viewer.window.dock_widgets, timeout=LONG
    )
    assert [layer.name for layer in viewer.layers] == names
    qtbot.waitUntil(lambda: not isalive(results), timeout=LONG)
    layer = run(form, qtbot)
    to_front(form.results)
    layer.selected_label = 5
    assert form.results.outlines.layer in viewer.layers
    assert len(viewer.layers) == len(names) + 1  # those that were closed follow nothing


def test_both_forms_share_one_place_for_results_and_agree(viewer, qtbot, form):
    """A second panel showed other labels, and removed the outlines of the first."""
    other = open_form(viewer, qtbot, MEASURE)
    assert other.results is form.results
    assert [name for name in viewer.window.dock_widgets if name.startswith("Results")] == [
        "Results (equilabel)"
    ]
    window = viewer.window._qt_window

    def beside():
        return {each.widget() for each in window.tabifiedDockWidgets(form.results.parent())}

    qtbot.waitUntil(lambda: beside() == {form, other}, timeout=LONG)
    other.statistics.tick("extent")
    layer = run(other, qtbot)
    to_front(form.results)
    form.results.table_button.click()
    assert "extent" in form.results.table.objects.headers
    assert form.results.layer is layer


@pytest.mark.long
def test_without_matplotlib_all_but_the_plot_works(viewer, qtbot, form, notes, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "equilabel.widget.forms.plots", None)
    form.results.plot.button.click()
    assert "A plot needs matplotlib" in notes()[-1]
    assert 'pip install "equilabel[plots]"' in notes()[-1]
    assert run(form, qtbot) in viewer.layers


def test_a_run_that_no_command_can_repeat_is_copied_as_python(viewer, qtbot, notes):
    gray = (nuclei_2d((64, 64)) // 16).astype("u1")
    viewer.add_image(np.dstack([gray, gray // 2, gray]), rgb=True, name="colors")
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    form.results.batch_button.click()
    assert "cannot repeat a run with a color image" in notes()[-1]
    assert notes()[-1].endswith("use 'Copy as Python'.")
    form.results.python_button.click()
    assert "paste it into the console" in notes()[-1]
    line, names = QGuiApplication.clipboard().text(), {"viewer": viewer}
    exec(line, names)
    np.testing.assert_array_equal(names["found"].labels, layer.data)
    viewer.layers["colors"].name = "another name"
    viewer.add_image(np.dstack([gray, gray, gray]), rgb=True, name="colors")
    form.results.python_button.click()
    exec(QGuiApplication.clipboard().text(), names)
    np.testing.assert_array_equal(names["found"].labels, layer.data)
    viewer.layers.remove("another name")
    form.results.python_button.click()
    assert "'colors' of the run is not open now" in notes()[-1]
    assert QGuiApplication.clipboard().text() == line


@pytest.mark.parametrize("turned", [False, True])
def test_the_row_of_an_object_outside_the_view_brings_it_into_view(viewer, qtbot, turned):
    pixels = np.zeros((2, 300, 400), "u1")
    pixels[:, 20:30, 30:40] = pixels[1, 250:270, 340:360] = 200
    viewer.add_image(pixels, axis_labels=("t", "y", "x"), scale=(1, 2, 0.5))
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    if turned:
        viewer.dims.order = (0, 2, 1)
    canvas(viewer)
    camera = viewer.scene.camera
    camera.zoom *= 8 if turned else 6  # one object fits into the view, both do not
    camera.center = (0, 17.5, 50.0) if turned else (0, 50.0, 17.5)  # of the first object
    canvas(viewer)
    view, zoom = camera.center, camera.zoom
    form.results.table_button.click()
    click_row(form, 1)
    qtbot.waitUntil(lambda: not form.results._place.running, timeout=LONG)
    assert camera.center == view  # it is in view
    click_row(form, 3)
    qtbot.waitUntil(lambda: viewer.dims.current_step[0] == 1, timeout=LONG)
    canvas(viewer)
    first, last = layer.corner_pixels
    assert (first[1:] <= (250, 340)).all()
    np.testing.assert_allclose(last[1:], (269 + AROUND, 359 + AROUND), atol=2)
    assert camera.zoom == zoom
    assert (first[1:] > (30, 40)).any()  # the other one is out of view now
    click_row(form, 2)
    qtbot.waitUntil(lambda: layer.corner_pixels[0][1] <= 20, timeout=LONG)
    canvas(viewer)
    np.testing.assert_allclose(layer.corner_pixels[0][1:], (20 - AROUND, 30 - AROUND), atol=2)
    camera.zoom = 300  # of the third object, less than all
    camera.center = (0, 174.5, 520.0) if turned else (0, 520.0, 174.5)
    canvas(viewer)
    view = camera.center
    click_row(form, 3)
    qtbot.waitUntil(lambda: not form.results._place.running, timeout=LONG)
    assert camera.center == view


def test_in_a_rotated_layer_an_object_outside_the_view_comes_into_its_middle(viewer, qtbot):
    pixels = np.zeros((300, 400), "u1")
    pixels[20:30, 30:40] = pixels[250:270, 340:360] = 200
    viewer.add_image(pixels, rotate=30)
    form = open_form(viewer, qtbot)
    layer = run(form, qtbot)
    camera = viewer.scene.camera
    camera.zoom *= 6
    camera.center = (0, *layer.data_to_world((24.5, 34.5)))
    canvas(viewer)
    form.results.table_button.click()
    click_row(form, 2)
    qtbot.waitUntil(lambda: not form.results._place.running, timeout=LONG)
    np.testing.assert_allclose(camera.center[1:], layer.data_to_world((259.5, 349.5)))


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
    qtbot.waitUntil(lambda: not form.results._place.running, timeout=LONG)
    assert viewer.dims.current_step[:2] == (1, 5)  # where it can be seen already
    drawn = form.results.outlines.layer.data
    np.testing.assert_array_equal(drawn[1, 5] > 0, layer.data[1, 5] == 2)
    form.results.select(np.array([1]))
    qtbot.waitUntil(lambda: viewer.dims.current_step[:2] == (0, 0), timeout=LONG)
    qtbot.waitUntil(lambda: not form.results._place.running, timeout=LONG)
    layer.mode = "paint"
    layer.selected_label = 2
    assert not form.results._place.running


def test_a_layer_in_other_units_than_the_viewer_is_shown_at_the_same_planes(viewer, qtbot):
    """The viewer has the smallest of the units: a row led to a plane a thousand times too far."""
    pixels = np.zeros((12, 40, 50), "u1")
    pixels[3:5, 5:20, 5:20] = pixels[8:10, 25:35, 30:45] = 200
    layer = viewer.add_image(pixels, scale=(2, 0.5, 0.5), units=["um"] * 3)
    form = open_form(viewer, qtbot)
    viewer.add_image(0 * pixels, scale=(2000, 500, 500), units=["nm"] * 3, visible=False)
    viewer.dims.set_point(0, 8 * 2000)
    assert position(viewer, layer)[0][0] == 8
    form.fields.image.value = layer
    run(form, qtbot)
    form.results.select(np.array([1]))
    qtbot.waitUntil(lambda: viewer.dims.current_step[0] == 3, timeout=LONG)
    form.results.select(np.array([2]))
    qtbot.waitUntil(lambda: viewer.dims.current_step[0] == 8, timeout=LONG)


def test_the_table_stays_where_a_row_was_added_and_the_plot_empties_with_its_layer(viewer, form):
    form.results.table_button.click()
    form.results.plot.button.click()
    table = form.results.table
    click_row(form, 2)
    table.scrollToBottom()
    QApplication.processEvents()
    top = table.rowAt(5)
    last = table.visualRect(table.objects.index(table.objects.rowCount() - 1, 0)).center()
    control = Qt.KeyboardModifier.ControlModifier
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, control, last)
    assert sorted(form.results._selected) == [2, table.objects.rowCount()]
    assert table.rowAt(5) == top > 2
    assert form.results.plot.canvas._x.size
    viewer.layers.remove(form.results.layer)
    assert not form.results.plot.canvas._x.size
