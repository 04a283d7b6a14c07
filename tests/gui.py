"""A real viewer for the tests marked `gui`, and what a person at it would do."""

import gc
import threading

import numpy as np
from napari.qt.threading import WorkerBase
from qtpy.compat import isalive
from qtpy.QtCore import QCoreApplication, QEvent, Qt, QTimer
from qtpy.QtOpenGLWidgets import QOpenGLWidget
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QMenu, QMessageBox

from equilabel.widget.forms import segment as segment_form

SEGMENT, MEASURE = "Label components", "Measure labels"
LONG = 300_000  # milliseconds: the first run of a fresh machine compiles, beside other work


def open_form(viewer, qtbot, name=SEGMENT, *, recipe=False):
    """Open a form as the menu does, and wait until it has looked at the image.

    Unless the values of the `recipe` for a first try stay, the form does nothing but Otsu's method.
    """
    _, form = viewer.window.add_plugin_dock_widget("equilabel", name)
    if name == SEGMENT:
        if not recipe:
            fields = form.fields
            fields.threshold.method.value = "otsu"
            for field in (fields.sigma, fields.min_size):
                field.value = 0
            for field in (fields.fill_holes, fields.split):
                field.value = False
        settle(form, qtbot)
    return form


def to_front(form):
    """Bring a form, or the results, to the front of the docks that share a place."""
    form.parent().raise_()
    QApplication.processEvents()


def settle(form, qtbot):
    """Wait until a form has looked at its image."""
    qtbot.waitUntil(lambda: not form.preview.waiting, timeout=LONG)
    QApplication.processEvents()


def choices(form):
    """Return all that a person can choose in the fields of a form that finds objects."""
    fields = form.fields
    others = (fields.image, fields.unit, fields.new_layer, fields.show_preview)
    return fields.choices(), [each.value for each in others]


def keep_values(form):
    """Return a function that sets the fields of a form that finds objects to what they are now."""
    fields = form.fields
    ticked = fields.statistics.names
    inner = (fields, fields.threshold)
    found = [each for part in inner for each in vars(part).values() if hasattr(each, "value")]
    values = [(field, field.value) for field in found if field is not fields.image]
    values.sort(key=lambda pair: pair[0] is not fields.unit)  # lengths are in it

    def restore():
        for field, value in values:
            if field.value != value:
                field.value = value
        for name in fields.statistics._items:
            fields.statistics.tick(name, name in ticked)

    return restore


def run(form, qtbot):
    """Press the button, and wait for the end."""
    with qtbot.waitSignal(form.ended, timeout=LONG):
        form.run_button.click()
    QApplication.processEvents()
    return form.results.layer


def shown(form, qtbot):
    """Return the mask that the preview shows."""
    qtbot.waitUntil(
        lambda: not form.preview.drawing and form.preview.layer is not None, timeout=LONG
    )
    return np.squeeze(form.preview.layer.data) > 0


def colored(form, qtbot):
    """Wait until a layer is colored."""
    qtbot.waitUntil(lambda: not form.results.colors.task.running, timeout=LONG)
    QApplication.processEvents()


def keep_within(row, column, low, high):
    """Choose a column of a row of the filter, and its range."""
    row.column.value = column
    row.slider.setValue((low, high))


def click_row(form, number):
    """Click on the row of an object in the table."""
    table = form.results.table
    row = table.objects.labels.tolist().index(number)
    table.scrollTo(table.objects.index(row, 0))
    QApplication.processEvents()
    place = table.visualRect(table.objects.index(row, 0)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)


def middle(layer, number):
    """Return a place in the world that lies on an object."""
    place = np.argwhere(layer.data == number)
    return layer.data_to_world(place[len(place) // 2])


def canvas(viewer):
    """Take a picture of the canvas: red, green, blue of each pixel."""
    QApplication.processEvents()
    return viewer.screenshot(canvas_only=True, flash=False)[..., :3].astype(int)


def colors_on(picture):
    """Count the pixels that are colored, not gray."""
    return int((np.ptp(picture, axis=-1) > 40).sum())


def menu(viewer, *path):
    """Find a submenu of the real menu bar by the words on it."""
    bar = viewer.window._qt_window.menuBar()
    actions = bar.actions()
    found = None
    for word in path:
        found = next(a for a in actions if a.text().replace("&", "") == word).menu()
        assert isinstance(found, QMenu)
        found.aboutToShow.emit()
        actions = found.actions()
    return {action.text().replace("&", ""): action for action in actions}


def make_current(viewer):
    """Make the OpenGL context of the canvas current: `ResultsPanel` does while a form is open."""
    for each in viewer.window._qt_window.findChildren(QOpenGLWidget):
        each.makeCurrent()


def empty(viewer):
    """Take all forms and layers off a viewer, and wait until nothing of theirs is under way."""
    for window in QApplication.topLevelWidgets():
        if window.inherits("QMenu"):
            window.hide()
    viewer.dims.ndisplay = 2
    viewer.layers.clear()
    viewer.dims.order = range(viewer.dims.ndim)
    viewer.theme = "dark"
    for dock in list(viewer.window._wrapped_dock_widgets.values()):
        form = dock.widget()
        dock.destroyOnClose()
        form.deleteLater()
    for _ in range(1000):
        QApplication.processEvents()
        if not WorkerBase._worker_set:
            break
        QTest.qWait(5)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QApplication.processEvents()
    gc.collect()
    gc.freeze()  # what is left is not looked at whenever a layer goes


def answer(form, button, said):
    """Press a button of the question once it is asked."""

    def press():
        if not isalive(form):  # as after a test that failed
            return
        box = form.findChild(QMessageBox)
        if box is None:
            QTimer.singleShot(20, press)
            return
        said.append(box.text())
        next(each for each in box.buttons() if each.text() == button).click()

    QTimer.singleShot(0, press)


def hold_runs(monkeypatch):
    """Hold every run at its labeling: yield an event that says so, and one to set."""
    reached, release = threading.Event(), threading.Event()
    work = segment_form.segment_source

    def hold(source, choices, tell):
        def wait(step):
            if step == "label":
                reached.set()
                release.wait(30)
            tell(step)

        return work(source, choices, wait)

    monkeypatch.setattr(segment_form, "segment_source", hold)
    yield reached, release
    release.set()
