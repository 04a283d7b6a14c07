"""Objects that are painted, merged, split and deleted, clicked on and kept, in a real viewer."""

import numpy as np
import pytest
from napari.layers import Labels
from qtpy.QtCore import QPoint, Qt
from qtpy.QtGui import QGuiApplication
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QDialog

from equilabel import label
from equilabel.widget.logic.sources import Source
from gui import LONG, MEASURE, canvas, open_form, run, to_front

pytestmark = pytest.mark.gui


@pytest.fixture
def measured(viewer, qtbot):
    """Measure three objects, of which the second is two disks that touch, in gray values."""
    y, x = np.indices((40, 90))
    disks = [(y - 20) ** 2 + (x - at) ** 2 < 81 for at in (12, 37, 52, 76)]
    pixels = label(np.logical_or.reduce(disks))
    place = {"scale": (0.5, 0.5), "units": ("um", "um"), "axis_labels": ("y", "x")}
    viewer.add_image(pixels * 100.0, name="gray", **place)
    viewer.add_labels(pixels, name="cells", **place)
    form = open_form(viewer, qtbot, MEASURE)
    layer = run(form, qtbot)
    to_front(form.results)
    form.results.table_button.click()
    viewer.layers.selection.active = layer
    viewer.reset_view()
    QApplication.processEvents()
    return viewer, layer, form.results


def again(results, qtbot):
    """Wait until the objects are measured again and the table shows it."""
    qtbot.waitUntil(lambda: not (results.edit.running or results.again.running), timeout=LONG)
    qtbot.waitUntil(lambda: not results._timer.isActive(), timeout=LONG)
    QApplication.processEvents()


def click(viewer, layer, place, keys=Qt.KeyboardModifier.NoModifier):
    """Click on a pixel of a layer, where the canvas shows it."""
    widget = viewer.window._qt_viewer.canvas.native
    camera, size = viewer.scene.camera, np.array([widget.height(), widget.width()])
    y, x = (np.array(layer.data_to_world(place)) - camera.center[1:]) * camera.zoom + size / 2
    QTest.mouseMove(widget, QPoint(int(x), int(y)))
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, keys, QPoint(int(x), int(y)))
    QApplication.processEvents()


def cells(table, role=Qt.ItemDataRole.DisplayRole):
    model = table.objects
    shape = range(model.rowCount()), range(model.columnCount())
    return [[model.data(model.index(row, column), role) for column in shape[1]] for row in shape[0]]


def test_what_is_painted_is_marked_until_it_is_undone_or_measured(measured, qtbot):
    viewer, layer, results = measured
    results.colors.column.value = "area"
    qtbot.waitUntil(lambda: not results.colors.task.running, timeout=LONG)
    before = layer.get_color(3)
    assert not results.again_button.isVisible()
    layer.data_setitem(np.nonzero(layer.data == 3), 0)
    assert results.again_button.isVisible()
    assert results.summary.text() == "3 objects, painted since"
    assert cells(results.table, Qt.ItemDataRole.FontRole)[0][0].italic()
    layer.undo()
    assert not results.again_button.isVisible()
    assert results.summary.text() == "3 objects"
    assert not layer.metadata["equilabel"]["painted"]
    corner = np.nonzero(np.pad(np.ones((5, 30), bool), ((0, 35), (60, 0))))
    layer.data_setitem(corner, 3)
    area, gray = layer.features["area"][3], viewer.layers["gray"]
    gray.name = "other"  # it is found by itself, not by its name
    viewer.add_image(np.zeros_like(gray.data), name="gray")
    results.again_button.click()
    again(results, qtbot)
    assert layer.features["area"][3] == area + 150 * 0.25
    assert layer.features["intensity_mean"][1] == 100
    assert not results.again_button.isVisible()
    assert layer.metadata["equilabel"]["painted"]  # since it was opened
    qtbot.waitUntil(lambda: not results.colors.task.running, timeout=LONG)
    assert (layer.get_color(3) != before).any()  # it is not the least any more
    viewer.layers.remove(gray)
    layer.data_setitem(corner, 0)
    results.again_button.click()
    assert results.message.text().startswith("'other' must be open to measure again, but")


def test_all_images_are_measured_again_also_one_that_was_opened_again(measured, qtbot):
    """Only the last image was, and the columns of the first counted as current."""
    viewer, layer, results = measured
    gray = viewer.layers["gray"]
    other = viewer.add_image(gray.data / 10, name="other", **Source.of(gray).transform)
    form = open_form(viewer, qtbot, MEASURE)
    form.labels.value, form.image.value = layer, other
    run(form, qtbot)
    before = layer.features
    viewer.layers.remove(other)
    viewer.add_image(gray.data / 5, name="other", **Source.of(gray).transform)
    layer.data_setitem(np.nonzero(np.isin(layer.data, (1, 3))), 1)
    results.again_button.click()
    again(results, qtbot)
    assert list(layer.features) == list(before)
    assert 100 < layer.features["intensity_mean"][1] < 300
    share = layer.features["intensity_mean [other]"] / layer.features["intensity_mean"]
    np.testing.assert_allclose(share[1:3], 0.2)
    assert results.summary.text() == "2 objects"


def test_what_is_painted_during_a_measurement_stays_marked(measured, qtbot):
    """It was declared measured at its end: the table was that of earlier pixels."""
    viewer, layer, results = measured
    form = open_form(viewer, qtbot, MEASURE)
    with qtbot.waitSignal(form.ended, timeout=LONG):
        form.run_button.click()
        layer.data_setitem(np.nonzero(layer.data == 3), 0)
    assert not results.again_button.isHidden()
    results.again_button.click()
    layer.data_setitem(np.nonzero(layer.data == 1), 0)
    again(results, qtbot)
    assert not results.again_button.isHidden()
    results.again_button.click()
    layer.data = layer.data.copy()
    again(results, qtbot)
    assert not results.again_button.isHidden()
    results.again_button.click()
    again(results, qtbot)
    assert results.again_button.isHidden()
    assert results.summary.text() == "1 object"


@pytest.mark.parametrize("how", ["painted", "replaced"])
def test_objects_are_not_changed_in_labels_that_changed_meanwhile(measured, qtbot, how):
    _, layer, results = measured
    results.select([2])
    results.edits[2].click()
    if how == "painted":
        layer.data_setitem(np.nonzero(layer.data == 1), 0)
    else:
        layer.data = np.roll(layer.data, 9, 1)
    present = layer.data.copy()
    again(results, qtbot)
    np.testing.assert_array_equal(layer.data, present)
    assert results.message.text().endswith("Select the objects again.")


def test_copies_of_painted_labels_keep_the_mark_and_deleted_objects_are_gone(measured, qtbot):
    """Copies counted as measured; rows of deleted objects stayed for columns that are kept."""
    viewer, layer, results = measured
    layer.features = layer.features.assign(mine=1.0)
    layer.data_setitem(np.nonzero(np.pad(np.ones((5, 30), bool), ((0, 35), (60, 0)))), 3)
    results.filter.condition.setText("area > 0")
    results.filter.condition.editingFinished.emit()
    with qtbot.waitSignal(results.filter.task.done, timeout=LONG):
        results.filter.button.click()
    QApplication.processEvents()
    kept = viewer.layers["cells kept"]
    assert results.layer is kept
    assert results.summary.text() == "3 objects, painted since"
    copy = viewer.add_layer(Labels.create(*kept.as_layer_data_tuple()))
    results.show_layer(copy)
    assert copy.metadata["equilabel"]["painted"]
    results.select([2])
    results.edits[2].click()
    again(results, qtbot)
    assert results.summary.text() == "2 objects"
    assert results.table.objects.labels.tolist() == [1, 3]
    assert results.filter.count.text() == "keep 2 of 2"
    assert copy.features["mine"][1:].tolist() == [1, 1, 1]
    assert copy.features["area"][3] == (copy.data == 3).sum() / 4


def test_objects_are_merged_split_and_deleted(measured, qtbot, notes):
    _, layer, results = measured
    merge, split, delete = results.edits
    found = layer.data.copy()
    results.select([2])
    split.click()
    again(results, qtbot)
    assert sorted(np.unique(layer.data)) == [0, 1, 2, 3, 4]
    assert results.table.objects.labels.tolist() == [1, 2, 3, 4]
    halves = layer.features["area"][[2, 4]]
    assert halves.sum() * 4 == (found == 2).sum()
    assert abs(halves[2] - halves[4]) < 3
    results.select([1, 4])
    merge.click()
    again(results, qtbot)
    assert (layer.data == 1).sum() == (found == 1).sum() + halves[4] * 4
    results.select([3])
    delete.click()
    again(results, qtbot)
    assert results.table.objects.labels.tolist() == [1, 2]
    for _ in range(3):
        layer.undo()
    np.testing.assert_array_equal(layer.data, found)
    results.select([1])
    merge.click()
    assert notes()[-1] == "Select two objects or more first: in the image, the table or the plot."
    assert results.message.text() == notes()[-1]


def test_a_click_on_an_object_selects_it_and_what_is_copied_has_headers(measured, qtbot):
    viewer, layer, results = measured
    assert layer.mode == "pan_zoom"
    click(viewer, layer, (20, 76))
    assert results._selected == [3]
    assert layer.selected_label == 3
    click(viewer, layer, (20, 12), Qt.KeyboardModifier.ShiftModifier)
    assert results._selected == [3, 1]
    click(viewer, layer, (2, 2))
    assert len(results._selected) == 0
    click(viewer, layer, (20, 12))
    QTest.keyClick(results.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    head, row = (line.split("\t") for line in QGuiApplication.clipboard().text().splitlines())
    assert head == results.table.objects.headers
    assert (head[0], row[0]) == ("label", "1")
    assert {"y [µm]", "x [µm]"} < set(head)
    assert float(row[head.index("x [µm]")]) == 6.0
    assert "Copy rows with headers\tCtrl+C" in [each.text() for each in results.table.actions()]
    status = layer.get_status(layer.data_to_world((20, 12)), world=True)["coordinates"]
    words = status.split("; ")[1].split(", ")
    assert words[0].startswith("intensity_")
    assert f"area: {layer.features['area'][1]:g} µm²"[:9] in status
    assert "x: 6 µm" in status


def test_a_filter_grays_what_goes_and_its_layer_comes_to_the_front(measured, qtbot):
    viewer, layer, results = measured
    row = results.filter.rows[0]
    row.column.value = "area"
    least = float(layer.features["area"][2])
    row.slider.setValue((least - 1, least + 1))
    grays = [brush[0] is not None for brush in cells(results.table, Qt.ItemDataRole.ForegroundRole)]
    assert grays == [True, False, True]
    results.table_button.click()  # opened again, it is as before
    assert cells(results.table, Qt.ItemDataRole.ForegroundRole)[0][0] is not None
    if results.plot.canvas is not None:
        assert results.plot.canvas._selected == [2]
    results.filter.button.click()
    with qtbot.waitSignal(results.filter.task.done, timeout=LONG):
        pass
    QApplication.processEvents()
    new = viewer.layers["cells kept"]
    assert results.layer is new
    assert (new.visible, layer.visible) == (True, False)
    assert viewer.layers.selection.active is new
    assert results.table.objects.labels.tolist() == [1]
    assert results.filter.count.text() == "keep 1 of 1"
    picture = canvas(viewer)
    new.visible = False
    assert (canvas(viewer) != picture).any()


def test_a_condition_that_does_not_fit_leaves_the_rest_of_the_results(measured, qtbot, notes):
    viewer, layer, results = measured
    results.filter.condition.setText("intensity_mean > 10")
    results.filter.condition.editingFinished.emit()
    other = viewer.add_labels(label(layer.data > 1), name="other")
    other.features = {"area": [np.nan, 7.0]}
    results.layer_field.value = other
    assert results.summary.text() == "1 object"
    assert results.table.objects.labels.tolist() == [1]
    assert results.filter.count.text() == ""
    assert "condition must be on columns of the table; got 'intensity_mean'" in notes()[-1]
    results.layer_field.value = layer
    assert results.filter.count.text() == "keep 3 of 3"


def test_values_that_are_nearly_equal_are_one_bar(measured):
    """Too many bins for their range were an error after each click from then on."""
    _, layer, results = measured
    layer.features = layer.features.assign(near=[np.nan, 0.1, np.nextafter(0.1, 1), 0.1])
    results._update()
    results.plot.x.value = "near"
    results.plot.button.click()
    results.select([2])
    assert results.plot.canvas._bins.tolist() == [0, 0, 0]


def test_a_long_notification_is_read_to_its_end(measured, qtbot):
    viewer, _, results = measured
    results.python_button.click()
    said = "Only labels found by 'Label components' can be repeated, not 'cells': run it on the"
    assert results.message.text().startswith(said)
    window = viewer.window._qt_window
    shown = [each for each in window.findChildren(QDialog) if hasattr(each, "toggle_expansion")]
    qtbot.waitUntil(lambda: all(each.property("expanded") for each in shown), timeout=LONG)
    qtbot.waitUntil(lambda: shown[-1].height() >= 60, timeout=LONG)


def test_a_bar_says_which_color_is_which_value(measured, qtbot):
    _, layer, results = measured
    bar, ends = results.colors.bar, results.colors.ends
    assert not bar.isVisible()
    results.colors.column.value = "area"
    qtbot.waitUntil(lambda: not results.colors.task.running, timeout=LONG)
    assert bar.isVisible()
    assert "area [µm²]" in ends.text()
    image = bar.grab().toImage()
    colors = [image.pixelColor(x, 5).getRgb()[:3] for x in (1, image.width() - 2)]
    order = layer.features["area"][1:].to_numpy().argsort() + 1
    for number, color in zip((order[0], order[-1]), colors, strict=True):
        np.testing.assert_allclose(np.array(layer.get_color(number))[:3] * 255, color, atol=12)
    results.colors.column.value = "(default colors)"
    assert not bar.isVisible()
