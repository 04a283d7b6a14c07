"""Threshold, histogram and live preview, in a real viewer."""

import threading

import numpy as np
import pytest
from pytestqt.qtbot import QtBot
from qtpy.QtCore import QEvent, QObject, QPoint, Qt
from qtpy.QtWidgets import QApplication

from equilabel import binarize, segment
from equilabel.widget.logic.planes import Plane
from gui import LONG, canvas, colors_on, empty, open_form, run, settle, shown

pytestmark = pytest.mark.gui


@pytest.fixture(scope="module")
def opened(shared_viewer, request):
    """Open a sample and a form once, for all tests of this file."""
    viewer = shared_viewer.open()
    viewer.open_sample("equilabel", "nuclei_2d")
    yield viewer, open_form(viewer, QtBot(request))
    empty(viewer)


@pytest.fixture
def viewer(opened):
    return opened[0]


@pytest.fixture
def form(opened, qtbot):
    """Find Otsu's threshold; afterwards, put back what a person can change."""
    viewer, form = opened
    fields, image = form.fields, viewer.layers[0]
    plain = (fields.show_preview, fields.sigma, fields.split, fields.depth)
    values = [
        (field, field.value)
        for field in (*plain, fields.threshold.offset, fields.threshold.automatic)
    ]
    pixels = image.data
    yield form
    for field, value in values:
        field.value = value
    fields.threshold.method.value = "otsu"
    for layer in list(viewer.layers)[1:]:
        viewer.layers.remove(layer)
    viewer.layers.selection.active = image
    if image.data is not pixels:
        image.data = pixels
    settle(form, qtbot)
    qtbot.waitUntil(lambda: not form.preview.drawing, timeout=LONG)


# ---------------------------------------------------------------- threshold


def test_the_threshold_a_method_finds_is_shown_before_the_run(qtbot, form):
    for method in ("otsu", "li", "triangle"):
        form.fields.threshold.method.value = method
        settle(form, qtbot)
        level = form.fields.threshold.level
        assert form.fields.threshold.histogram.lines == (level,)
        assert run(form, qtbot).metadata["equilabel"]["threshold"] == level


def test_moving_the_slider_means_by_hand(qtbot, form):
    form.fields.threshold.slider.setValue(700)
    assert form.fields.threshold.method.value == "number"
    assert form.fields.threshold.choice == form.fields.threshold.slider.value()
    layer = run(form, qtbot)
    assert layer.metadata["equilabel"]["threshold"] == form.fields.threshold.slider.value()


def test_the_slider_spans_the_gray_values(viewer, form):
    image = viewer.layers[0].data
    slider = form.fields.threshold.slider
    assert (slider.minimum(), slider.maximum()) == (image.min(), image.max())
    assert form.fields.threshold.histogram.shown.counts.sum() == image.size


def test_the_line_in_the_histogram_can_be_dragged(qtbot, form):
    view = form.fields.threshold.histogram
    start = QPoint(int(view.position(form.fields.threshold.level)), 20)
    end = QPoint(view.width() // 2, 20)
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(view, end)
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=end)
    QApplication.processEvents()
    spread = view.shown
    assert form.fields.threshold.method.value == "number"
    wide = (spread.high - spread.low) / 20
    assert form.fields.threshold.choice == pytest.approx((spread.low + spread.high) / 2, abs=wide)


def test_low_and_high_are_dragged_one_by_one(qtbot, form):
    form.fields.threshold.method.value = "hysteresis"
    settle(form, qtbot)
    low, high = form.fields.threshold.range.value()
    assert low < high
    form.fields.threshold.histogram.dragged.emit(1, high * 1.2)
    assert form.fields.threshold.range.value()[0] == pytest.approx(low, abs=2)
    assert form.fields.threshold.range.value()[1] == pytest.approx(high * 1.2, abs=2)
    form.fields.threshold.histogram.dragged.emit(0, 1e9)
    assert len(set(form.fields.threshold.range.value())) == 1


def test_fields_are_those_the_threshold_needs(form):
    visible = {
        "otsu": (True, False, False),
        "number": (True, False, False),
        "hysteresis": (False, True, False),
        "local": (False, False, True),
    }
    for method, expected in visible.items():
        form.fields.threshold.method.value = method
        field = form.fields.threshold
        shown = (field.slider, field.range, field.offset.native)
        assert tuple(each.isVisible() for each in shown) == expected


# ------------------------------------------------------------------ preview


def test_the_preview_outlines_what_the_run_finds(viewer, qtbot, form):
    form.fields.sigma.value = 0.5
    settle(form, qtbot)
    form.fields.show_preview.value = True
    mask = shown(form, qtbot)
    picture = canvas(viewer)
    yellow = (picture[..., 0] > 150) & (picture[..., 1] > 120) & (picture[..., 2] < 100)
    assert yellow.sum() > 500
    assert viewer.layers.selection.active is viewer.layers[0]
    layer = run(form, qtbot)
    np.testing.assert_array_equal(mask, layer.data > 0)
    assert form.preview.layer is None


def test_the_preview_outlines_objects_after_they_are_split(qtbot, form):
    form.fields.threshold.method.value = "triangle"
    form.fields.show_preview.value = True
    settle(form, qtbot)
    joined = shown(form, qtbot)
    assert not form.fields.depth.number.enabled
    form.fields.split.value = True
    assert form.fields.depth.number.enabled
    assert np.array_equal(shown(form, qtbot), joined)
    edges = np.squeeze(form.preview.layer.data) == 2
    layer = run(form, qtbot)
    parts = layer.data
    differ = (parts[:, 1:] != parts[:, :-1]) & (parts[:, 1:] > 0) & (parts[:, :-1] > 0)
    assert differ.any()
    assert edges[:, 1:][differ].all()
    assert edges[:, :-1][differ].all()
    made = layer.metadata["equilabel"]
    assert "split=0.5" in made["python"]
    assert "--split=0.5 " in made["batch"]
    form.fields.depth.value = 2
    made = run(form, qtbot).metadata["equilabel"]
    assert "split=2.0" in made["python"]
    assert "--split=2.0" in made["batch"]


def test_the_preview_follows_the_slider(viewer, qtbot, form):
    form.fields.show_preview.value = True
    image = viewer.layers[0].data
    for level in (400, 800, 1500):
        form.fields.threshold.set_level(level)
        qtbot.waitUntil(lambda: not form.preview.drawing, timeout=LONG)
        np.testing.assert_array_equal(
            shown(form, qtbot), image > form.fields.threshold.slider.value()
        )
    assert [layer.name for layer in viewer.layers] == ["nuclei", "objects (preview)"]


def test_the_preview_goes_when_it_is_switched_off(viewer, qtbot, form):
    form.fields.show_preview.value = True
    shown(form, qtbot)
    assert colors_on(canvas(viewer)) > 0
    form.fields.show_preview.value = False
    qtbot.waitUntil(lambda: form.preview.layer is None, timeout=LONG)
    assert colors_on(canvas(viewer)) == 0


def test_a_preview_removed_by_hand_is_switched_off(viewer, qtbot, form):
    form.fields.show_preview.value = True
    shown(form, qtbot)
    viewer.layers.remove(form.preview.layer)
    assert not form.fields.show_preview.value
    assert not form.fields.count.text()
    form.fields.threshold.set_level(500)
    form.fields.show_preview.value = True
    assert shown(form, qtbot).any()


def test_the_preview_is_no_image_to_choose(qtbot, form):
    form.fields.show_preview.value = True
    shown(form, qtbot)
    assert [layer.name for layer in form.fields.image.choices if layer is not None] == ["nuclei"]


def test_changed_pixels_change_the_preview(viewer, qtbot, form):
    form.fields.show_preview.value = True
    before = shown(form, qtbot)
    viewer.layers[0].data = np.roll(viewer.layers[0].data, 40, axis=0)
    settle(form, qtbot)
    level = form.fields.threshold.level
    np.testing.assert_array_equal(shown(form, qtbot), binarize(viewer.layers[0].data, level))
    assert (shown(form, qtbot) != before).any()


def test_pixels_changed_in_place_change_the_preview_once(viewer, qtbot, form, monkeypatch):
    pixels = viewer.layers[0].data
    viewer.layers[0].data = pixels.copy()
    form.fields.show_preview.value = True
    settle(form, qtbot)
    before, updates = shown(form, qtbot), []
    monkeypatch.setattr(form.preview, "update_histogram", lambda: updates.append(1))
    viewer.scene.camera.zoom *= 1.5
    viewer.layers[0].contrast_limits = (0, 1000)
    form.fields.threshold.set_level(form.fields.threshold.level)
    QApplication.processEvents()
    shown(form, qtbot)
    assert not updates
    monkeypatch.undo()
    viewer.layers[0].data[:] = np.roll(pixels, 40, axis=0)
    viewer.layers[0].refresh()
    settle(form, qtbot)
    level = form.fields.threshold.level
    np.testing.assert_array_equal(shown(form, qtbot), binarize(viewer.layers[0].data, level))
    assert (shown(form, qtbot) != before).any()


def test_moving_the_threshold_lays_out_nothing_again(viewer, qtbot, form):
    class Layouts(QObject):
        count = 0

        def eventFilter(self, watched, event):
            self.count += event.type() == QEvent.Type.LayoutRequest
            return False

    form.fields.show_preview.value = True
    counts, layouts = set(), Layouts()
    for level in (300, 500, 900, 1500):  # each finds another number of objects
        form.fields.threshold.set_level(level)
        shown(form, qtbot)
        counts.add(form.fields.count.text())
        QApplication.processEvents()
        viewer.window._qt_window.installEventFilter(layouts)  # from the second on
    assert len(counts) == 4
    assert layouts.count == 0


def test_a_first_preview_says_that_it_is_on_its_way(viewer, qtbot, form, monkeypatch):
    release, work = threading.Event(), Plane.find_objects
    monkeypatch.setattr(
        Plane, "find_objects", lambda *given: release.wait(LONG / 1000) and work(*given)
    )
    form.fields.show_preview.value = True
    qtbot.waitUntil(lambda: form.fields.count.text() == "finding objects ...", timeout=LONG)
    release.set()
    qtbot.waitUntil(lambda: form.fields.count.text().endswith(" objects"), timeout=LONG)


def test_local_thresholds_are_previewed(viewer, qtbot, form):
    form.fields.threshold.method.value = "local"
    form.fields.threshold.automatic.value, form.fields.threshold.offset.value = False, -100
    settle(form, qtbot)
    form.fields.show_preview.value = True
    expected = segment(viewer.layers[0].data, threshold="local", block_size=51, offset=-100)
    np.testing.assert_array_equal(shown(form, qtbot), expected.labels > 0)
