"""Fields for thresholds and sizes in a real viewer, and the lines of text below them."""

import re

import numpy as np
import pytest
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtGui import QWheelEvent
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QLineEdit

from equilabel.options import SegmentOptions, options_of
from equilabel.samples import nuclei_2d
from equilabel.widget.forms import segment
from equilabel.widget.forms.layout import Grid
from equilabel.widget.forms.threshold import ThresholdField
from equilabel.widget.logic.planes import Histogram
from gui import LONG, open_form, run, settle

pytestmark = pytest.mark.gui


def test_why_there_is_no_threshold_is_said_below_the_field(viewer, qtbot):
    viewer.add_image(np.arange(4096.0).reshape(64, 64))
    form = open_form(viewer, qtbot)
    form.fields.threshold.method.value = "minimum"
    settle(form, qtbot)
    assert "two" in form.fields.remark.text()
    assert form.fields.remark.isVisible()


def test_every_option_of_segment_has_a_field_or_is_named_here(viewer, qtbot, monkeypatch):
    viewer.add_image(nuclei_2d((80, 80)))
    form, given = open_form(viewer, qtbot), {}
    monkeypatch.setattr(segment, "Choices", lambda **chosen: given.update(chosen))
    form.fields.choices()
    assert set(options_of(SegmentOptions)) - set(given) == {"keep", "max_size"}


def test_a_decimal_comma_is_a_point(viewer, qtbot):
    """It was a separator of thousands: 3,7 was 37."""
    viewer.add_image(nuclei_2d((80, 80)))
    field = open_form(viewer, qtbot).fields.sigma
    edit = field.number.native.lineEdit()
    edit.selectAll()
    QTest.keyClicks(edit, "3,7")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert field.value == 3.7


def threshold_alone(qtbot):
    field = ThresholdField(lambda: None, lambda: None, lambda _: None)
    field.grid = Grid(*field.rows)  # goes with the field
    qtbot.addWidget(field.grid)
    return field


def histogram_of(low, high):
    return Histogram(float(low), float(high), np.arange(9), whole=False)


def test_hysteresis_after_a_local_threshold_has_two_levels_in_the_range(viewer, qtbot):
    field = threshold_alone(qtbot)
    field.show_histogram(histogram_of(100, 4000))
    field.show_estimate(500.0, "")
    field.method.value = "local"
    field.show_estimate(None, "")
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
    assert field.slider.maximum() == 255


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


def test_a_pixel_size_that_nobody_can_mean_is_told_of_in_the_form(viewer, qtbot):
    layer = viewer.add_image(nuclei_2d((64, 64)), scale=(100, 100), units=("cm", "cm"))
    form = open_form(viewer, qtbot)
    assert "A pixel is 100 cm long along y, more than a" in form.fields.remark.text()
    layer.scale = (0.01, 0.01)
    assert "A pixel is" not in form.fields.remark.text()


def test_the_line_below_the_buttons_is_about_the_image_that_is_chosen(viewer, qtbot):
    first = viewer.add_image(nuclei_2d((64, 64)), name="first")
    viewer.add_image(nuclei_2d((48, 48)), name="second")
    form = open_form(viewer, qtbot)
    form.fields.image.value = first
    run(form, qtbot)
    assert re.fullmatch(r"\d objects, threshold \d+ \(Otsu\), \d\.\d\d s\.", form.message.text())
    form.fields.image.value = viewer.layers["second"]
    assert form.message.text() == ""
    form.fields.image.value = first
    with qtbot.waitSignal(form.ended, timeout=LONG):
        form.run_button.click()
        form.fields.image.value = viewer.layers["second"]
    assert form.message.text().startswith("first: ")


def test_sizes_in_a_unit_are_not_rounded_to_nothing(viewer, qtbot):
    viewer.add_image(nuclei_2d((64, 64)), scale=(0.0515, 0.0515), units=("um", "um"))
    form = open_form(viewer, qtbot)
    form.fields.unit.value = "µm"
    form.fields.min_size.value = 0.0451
    assert form.choices().min_size == "0.0451µm²"
    assert form.fields.min_size.pixels.text() == "= 18 px"
    form.fields.sigma.value = 0.0455
    assert form.choices().sigma == "0.0455µm"


def test_the_level_is_written_with_all_its_digits(viewer, qtbot):
    field = threshold_alone(qtbot)
    field.grid.resize(360, 400)
    field.grid.show()

    def texts(slider):
        return [each.text() for each in slider.findChildren(QLineEdit)]

    for high, level, text in (
        (9e5, 448133.4, "448133"),
        (1.0, 0.49793, "0.49793"),
        (1e-10, 4.979261e-11, "4.9793e-11"),
        (3e8, 123456789.0, "1.2346e+08"),
    ):
        field.show_histogram(histogram_of(0, high))
        field.show_estimate(level, "")
        QApplication.processEvents()
        assert texts(field.slider) == [text]
    field.show_histogram(histogram_of(-9e5, 9e5))
    field.show_estimate(1e5, "")
    field.method.value = "hysteresis"
    QApplication.processEvents()
    assert {"-150000", "300000"} <= set(texts(field.range))


def test_levels_of_whole_numbers_are_those_that_are_shown(viewer, qtbot):
    field = threshold_alone(qtbot)
    field.show_histogram(Histogram(0.0, 100.0, np.arange(9), whole=True))
    field.set_level(65.77)
    assert field.choice == field.level == 66
    field.method.value = "hysteresis"
    field.range.setValue((20.4, 30.6))
    assert field.choice == (20, 31)


def test_a_size_in_another_unit_is_as_many_pixels(viewer, qtbot):
    viewer.add_image(nuclei_2d((64, 64)), scale=(0.325, 0.325), units=("um", "um"))
    fields = open_form(viewer, qtbot).fields
    fields.unit.value = "µm"
    fields.min_size.value = 9.865
    assert fields.min_size.pixels.text() == "= 94 px"
    for unit in ("pixels", "µm", "pixels"):
        fields.unit.value = unit
    assert fields.min_size.value == 94


def test_lengths_that_are_too_large_are_named_before_a_run(viewer, qtbot, notes):
    viewer.add_image(nuclei_2d((64, 64)), scale=(0.5, 0.5), units=("um", "um"))
    form = open_form(viewer, qtbot)
    form.fields.unit.value = "µm"
    form.fields.show_preview.value = True
    for name in ("background", "sigma", "closing", "opening"):
        field = getattr(form.fields, name)
        field.value = 9000.0
        said = f"{name.capitalize()} must be at most 1000 pixels, but got '9000µm', 18000 pixels."
        qtbot.waitUntil(lambda said=said: said in form.fields.remark.text(), timeout=LONG)
        field.value = 0.0
    assert not notes()
