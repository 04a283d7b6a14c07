"""Threshold, histogram and live preview, in a real viewer."""

import threading

import numpy as np
import pytest
from qtpy.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from qtpy.QtGui import QWheelEvent
from qtpy.QtWidgets import QApplication

from equilabel import binarize, segment
from equilabel.samples import nuclei_2d, nuclei_3d
from equilabel.widget.forms.layout import Grid
from equilabel.widget.forms.threshold import ThresholdField
from equilabel.widget.logic.histogram import Histogram, ThresholdEstimate
from equilabel.widget.logic.planes import Plane
from gui import LONG, canvas, colors_on, open_form, run, settle

pytestmark = pytest.mark.gui


@pytest.fixture
def form(viewer, qtbot):
    viewer.open_sample("equilabel", "nuclei_2d")
    return open_form(viewer, qtbot)


def shown(form, qtbot):
    """Return the mask that the preview shows."""
    qtbot.waitUntil(
        lambda: not form.preview.drawing and form.preview.layer is not None, timeout=LONG
    )
    return np.squeeze(form.preview.layer.data) > 0


# ---------------------------------------------------------------- threshold


def test_the_threshold_a_method_finds_is_shown_before_the_run(qtbot, form):
    for method in ("otsu", "li", "triangle"):
        form.fields.threshold.method.value = method
        settle(form, qtbot)
        level = form.fields.threshold.level
        assert form.fields.threshold.histogram.lines == (level,)
        assert run(form, qtbot).metadata["equilabel"]["threshold"] == level


def test_moving_the_slider_means_by_hand(qtbot, form):
    form.fields.threshold.slider.value = 700
    assert form.fields.threshold.method.value == "number"
    assert form.fields.threshold.choice == form.fields.threshold.slider.value
    layer = run(form, qtbot)
    assert layer.metadata["equilabel"]["threshold"] == form.fields.threshold.slider.value


def test_the_slider_spans_the_gray_values(viewer, form):
    image = viewer.layers[0].data
    assert (form.fields.threshold.slider.min, form.fields.threshold.slider.max) == (
        image.min(),
        image.max(),
    )
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
    low, high = form.fields.threshold.range.value
    assert low < high
    form.fields.threshold.histogram.dragged.emit(1, high * 1.2)
    assert form.fields.threshold.range.value[0] == pytest.approx(low, abs=2)
    assert form.fields.threshold.range.value[1] == pytest.approx(high * 1.2, abs=2)
    form.fields.threshold.histogram.dragged.emit(0, 1e9)
    assert form.fields.threshold.range.value[0] == form.fields.threshold.range.value[1]


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
        shown = (field.slider, field.range, field.offset)
        assert tuple(each.visible for each in shown) == expected


def test_why_there_is_no_threshold_is_said_below_the_field(viewer, qtbot):
    viewer.add_image(np.arange(4096.0).reshape(64, 64))
    form = open_form(viewer, qtbot)
    form.fields.threshold.method.value = "minimum"
    settle(form, qtbot)
    assert "two" in form.fields.remark.text()
    assert form.fields.remark.isVisible()


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
    assert "split=True" in made["python"]
    assert "--split " in made["batch"]
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
            shown(form, qtbot), image > form.fields.threshold.slider.value
        )
    assert len([layer for layer in viewer.layers if "preview" in layer.name]) == 1


def test_the_preview_goes_when_it_is_switched_off(viewer, qtbot, form):
    form.fields.show_preview.value = True
    shown(form, qtbot)
    assert colors_on(canvas(viewer)) > 0
    form.fields.show_preview.value = False
    qtbot.waitUntil(lambda: form.preview.layer is None, timeout=LONG)
    assert colors_on(canvas(viewer)) == 0


def test_a_preview_removed_by_hand_comes_back_with_the_slider(viewer, qtbot, form):
    form.fields.show_preview.value = True
    shown(form, qtbot)
    viewer.layers.remove(form.preview.layer)
    form.fields.threshold.set_level(500)
    assert shown(form, qtbot).any()


def test_the_preview_is_no_image_to_choose(qtbot, form):
    form.fields.show_preview.value = True
    shown(form, qtbot)
    assert [layer.name for layer in form.fields.image.choices if layer is not None] == ["nuclei"]


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
def test_in_a_stack_the_preview_lies_on_the_visible_plane(viewer, qtbot, order):
    stack = nuclei_3d((16, 48, 64))
    image = viewer.add_image(stack, scale=(4, 2, 1), translate=(5, 6, 7), rotate=(0, 0, 0))
    viewer.dims.order = order
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    form.fields.threshold.set_level(40)
    for place in (3, 9):
        viewer.dims.set_current_step(order[0], place)
        qtbot.waitUntil(lambda: not form.preview.drawing, timeout=LONG)
        layer = form.preview.layer
        start = image.world_to_data(layer.data_to_world((0, 0, 0)))
        assert round(start[order[0]]) == place
        expected = stack.take(place, order[0]) > form.fields.threshold.slider.value
        np.testing.assert_array_equal(np.squeeze(layer.data, order[0]) > 0, expected)
        others = [axis for axis in range(3) if axis != order[0]]
        np.testing.assert_allclose(start[others], 0, atol=1e-9)


def test_on_a_rotated_image_the_preview_turns_with_it(viewer, qtbot):
    image = viewer.add_image(
        nuclei_3d((8, 48, 64)), rotate=(0, 0, 30), scale=(4, 1, 1), translate=(9, 8, 7)
    )
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    form.fields.threshold.set_level(40)
    shown(form, qtbot)
    layer = form.preview.layer
    plane = round(image.world_to_data(viewer.dims.point)[0])
    np.testing.assert_allclose(
        layer.data_to_world((0, 20, 30)), image.data_to_world((plane, 20, 30)), atol=1e-9
    )


def test_in_3d_the_preview_says_that_it_needs_2d(viewer, qtbot):
    viewer.add_image(nuclei_3d((8, 32, 32)))
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    shown(form, qtbot)
    viewer.dims.ndisplay = 3
    qtbot.waitUntil(lambda: form.preview.layer is None, timeout=LONG)
    assert "2D" in form.fields.remark.text()
    viewer.dims.ndisplay = 2
    shown(form, qtbot)
    assert "2D" not in form.fields.remark.text()


def test_a_preview_that_cannot_see_across_planes_says_so(viewer, qtbot):
    viewer.add_image(nuclei_3d((8, 32, 32)))
    form = open_form(viewer, qtbot)
    form.fields.sigma.value = 1.0
    form.fields.show_preview.value = True
    shown(form, qtbot)
    qtbot.waitUntil(lambda: "this plane alone" in form.fields.remark.text(), timeout=LONG)


def test_changed_pixels_change_the_preview(viewer, qtbot, form):
    form.fields.show_preview.value = True
    before = shown(form, qtbot)
    viewer.layers[0].data = np.roll(viewer.layers[0].data, 40, axis=0)
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


def test_a_preview_at_a_distance_has_a_wider_outline(viewer, qtbot):
    viewer.add_image(nuclei_2d((2048, 2048)))
    form = open_form(viewer, qtbot)
    form.fields.show_preview.value = True
    shown(form, qtbot)
    far = (form.preview.layer.data == 2).sum()
    viewer.scene.camera.zoom *= 8
    qtbot.waitUntil(lambda: (form.preview.layer.data == 2).sum() < 0.7 * far, timeout=LONG)


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
    form.fields.threshold.offset.value = -100
    settle(form, qtbot)
    form.fields.show_preview.value = True
    expected = segment(viewer.layers[0].data, threshold="local", block_size=51, offset=-100)
    np.testing.assert_array_equal(shown(form, qtbot), expected.labels > 0)


# ------------------------------------------------------------------ the fields


def threshold_alone(qtbot):
    field = ThresholdField()
    field.grid = Grid(*field.rows)  # goes with the field
    qtbot.addWidget(field.grid)
    return field


def histogram_of(low, high):
    return Histogram(float(low), float(high), np.arange(9), whole=False)


def test_hysteresis_after_a_local_threshold_has_two_levels_in_the_range(viewer, qtbot):
    field = threshold_alone(qtbot)
    field.show_histogram(histogram_of(100, 4000))
    field.show_estimate(ThresholdEstimate(500.0))
    field.method.value = "local"
    field.show_estimate(ThresholdEstimate(None))
    field.method.value = "hysteresis"
    assert field.choice == pytest.approx((400, 1375), abs=10)
    other = threshold_alone(qtbot)
    other.show_histogram(histogram_of(100, 4000))
    other.method.value = "hysteresis"
    low, high = other.choice
    assert 100 < low < high < 4000


def test_a_level_beyond_the_range_of_an_image_is_kept(viewer, qtbot):
    field = threshold_alone(qtbot)
    field.show_histogram(histogram_of(0, 4000))
    field.set_level(3000.0)
    field.show_histogram(histogram_of(0, 255))
    assert field.choice == 3000
    field.show_histogram(histogram_of(0, 4000))
    assert field.choice == 3000
    field.set_level(5000.0)
    assert field.choice == 5000
    field.method.value = "otsu"
    field.show_histogram(histogram_of(0, 255))
    assert field.slider.max == 255


def test_the_wheel_scrolls_the_form_and_changes_no_field_in_passing(viewer, qtbot):
    viewer.add_image(nuclei_2d((64, 64)))
    form = open_form(viewer, qtbot)

    def turn(field):
        place = QPointF(5, 5)
        event = QWheelEvent(
            *(place, field.mapToGlobal(place), QPoint(0, -120), QPoint(0, -120)),
            *(Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier),
            *(Qt.ScrollPhase.NoScrollPhase, False),
        )
        QApplication.sendEvent(field, event)

    fields = (form.fields.threshold.method, form.fields.connectivity, form.fields.sigma.number)
    for field in fields:
        before = field.value
        turn(field.native)
        assert field.value == before
    fields[0].native.setFocus()
    if fields[0].native.hasFocus():  # where the window is active
        turn(fields[0].native)
        assert fields[0].value != "otsu"


def test_the_line_below_the_buttons_is_about_the_image_that_is_chosen(viewer, qtbot):
    first = viewer.add_image(nuclei_2d((64, 64)), name="first")
    viewer.add_image(nuclei_2d((48, 48)), name="second")
    form = open_form(viewer, qtbot)
    form.fields.image.value = first
    run(form, qtbot)
    assert "objects, threshold" in form.bar.message.text()
    form.fields.image.value = viewer.layers["second"]
    assert form.bar.message.text() == ""
    form.fields.image.value = first
    with qtbot.waitSignal(form.bar.ended, timeout=LONG):
        form.run_button.click()
        form.fields.image.value = viewer.layers["second"]
    assert form.bar.message.text().startswith("first: ")


def test_sizes_in_a_unit_are_not_rounded_to_nothing(viewer, qtbot):
    viewer.add_image(nuclei_2d((64, 64)), scale=(0.0515, 0.0515), units=("um", "um"))
    form = open_form(viewer, qtbot)
    form.fields.unit.value = "µm"
    form.fields.min_size.value = 0.0451
    assert form.choices().min_size == "0.0451µm²"
    assert form.fields.min_size.pixels == "= 18 px"
    form.fields.sigma.value = 0.0455
    assert form.choices().sigma == "0.0455µm"
