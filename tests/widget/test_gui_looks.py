"""The geometry of the form in a real window: edges, margins, texts that fit, fields that stay."""

import numpy as np
import pytest
from qtpy.QtCore import QPoint, Qt
from qtpy.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QStyle,
    QStyleOptionComboBox,
)
from superqt import QDoubleRangeSlider, QDoubleSlider

from equilabel import label
from equilabel.samples import nuclei_2d, nuclei_3d
from equilabel.widget.forms.fields import LengthField
from equilabel.widget.forms.layout import Grid
from equilabel.widget.forms.threshold import CHOICES
from gui import LONG, MEASURE, SEGMENT, open_form, run, settle, to_front

pytestmark = pytest.mark.gui


def unfold(form):
    for each in form.findChildren(QPushButton):
        if each.isCheckable():
            each.setChecked(True)
    QApplication.processEvents()


def cells(form):
    """List the visible labels and fields with their column, None for both, by place."""
    for grid in form.findChildren(Grid):
        layout = grid.layout()
        for number in range(layout.count()):
            widget = layout.itemAt(number).widget()
            if widget.isVisible():
                _, column, _, span = layout.getItemPosition(number)
                yield widget, None if span == 2 else column


def box(widget, form):
    corner = widget.mapTo(form, QPoint(0, 0))
    return corner.x(), corner.y(), corner.x() + widget.width()


def cut(widget):
    """Return the texts of a widget that do not fit into it."""
    measure = widget.fontMetrics().horizontalAdvance
    if isinstance(widget, QComboBox):
        option = QStyleOptionComboBox()
        widget.initStyleOption(option)
        part = QStyle.SubControl.SC_ComboBoxEditField
        kind = QStyle.ComplexControl.CC_ComboBox
        room = widget.style().subControlRect(kind, option, part, widget).width()
        return [t for t in map(widget.itemText, range(widget.count())) if measure(t) > room]
    if isinstance(widget, QAbstractSpinBox):
        return [widget.text()] if measure(widget.text()) > widget.lineEdit().width() else []
    if isinstance(widget, QLabel) and widget.wordWrap():
        return []
    if isinstance(widget, QLineEdit):
        return [widget.text()] if measure(widget.text()) > widget.width() else []
    return [widget.text()] if widget.sizeHint().width() > widget.width() else []


def check_edges(part, form):
    """Check that labels and fields of a part of a form share their edges, and nothing is cut."""
    places = [(column, box(widget, form)) for widget, column in cells(part)]
    labels = {x for column, (x, _, _) in places if column != 1}
    fields = {x for column, (x, _, _) in places if column == 1}
    assert (len(labels), len(fields)) == (1, 1)
    assert len({end for column, (_, _, end) in places if column != 0}) == 1
    for area in part.findChildren(QScrollArea):
        assert area.widget().width() <= area.viewport().width()
    seen = [
        widget
        for kind in (QComboBox, QAbstractSpinBox, QCheckBox, QLabel, QPushButton, QLineEdit)
        for widget in part.findChildren(kind)
        if widget.isVisible()
    ]
    assert [text for widget in seen for text in cut(widget)] == []
    return labels.pop(), len(places)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_labels_and_fields_share_their_edges_and_nothing_is_cut_off(viewer, qtbot, theme):
    viewer.theme = theme
    options = {"axis_labels": ("t", "z", "y", "x"), "units": ("s", "um", "um", "um")}
    viewer.add_image(np.stack([nuclei_3d((8, 64, 64))] * 2), scale=(1, 2, 0.25, 0.25), **options)
    form = open_form(viewer, qtbot)
    form.fields.unit.value = "µm"
    for field in (each for each in form.fields.kept.values() if isinstance(each, LengthField)):
        field.value = 0.45 if field.kind == "radius" else 12.5
    form.fields.split.value = True
    unfold(form)
    for method in ("otsu", "local", "hysteresis"):
        form.fields.threshold.method.value = method
        settle(form, qtbot)
        left, count = check_edges(form.fields, form)
        assert count > 35
        assert left == box(form.progress, form)[0] == box(form.fields.remark, form)[0]
        assert all(
            w.toolTip()
            for w, column in cells(form.fields)
            if column is not None or w is form.fields.threshold.histogram
        )


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("name", [SEGMENT, MEASURE])
@pytest.mark.long
def test_results_share_their_edges_and_show_whole_numbers(viewer, qtbot, theme, name):
    viewer.theme = theme
    image = nuclei_2d((128, 128))
    viewer.add_image(image)
    if name == MEASURE:
        viewer.add_labels(label(image > 700))
    form = open_form(viewer, qtbot, name)
    run(form, qtbot)
    unfold(form)
    if name == MEASURE:
        check_edges(form, form)
    to_front(form.results)
    panel = form.results
    for column in ("intensity_max", "area", "centroid-0"):
        panel.colors.column.value = column
        for row in panel.filter.rows:
            row.column.value = column
        panel.colors.limits.setValue(panel.colors.limits.value())
        QApplication.processEvents()
        left, count = check_edges(panel, form)
        assert count > 25
        assert {box(widget, form)[0] for widget in (panel.summary, panel.table_button)} == {left}


def test_no_field_moves_when_another_is_changed(viewer, qtbot):
    viewer.open_sample("equilabel", "nuclei_2d")
    form = open_form(viewer, qtbot)
    fields = form.fields

    def places():
        QApplication.processEvents()
        shared = (*fields.threshold.rows[:2], fields.threshold.dark, fields.sigma, fields.depth)
        rows = (*shared, fields.min_size, fields.exclude_border, fields.statistics)
        return [box(getattr(row, "native", row), form)[1] for row in rows]

    before = places()
    for _, method in CHOICES:
        fields.threshold.method.value = method
        assert places() == before
    fields.unit.value = "µm"
    fields.sigma.value = 40  # and a question below
    fields.split.value = fields.show_preview.value = True
    settle(form, qtbot)
    qtbot.waitUntil(lambda: not form.preview.drawing and fields.count.text() != "", timeout=LONG)
    assert fields.remark.text() != ""
    assert places() == before


def test_without_an_image_there_are_no_fields(viewer, qtbot):
    form = open_form(viewer, qtbot)
    assert [widget for widget, column in cells(form.fields) if column == 1] == [
        form.fields.image.native
    ]
    assert "File > Open Sample" in form.fields.remark.text()
    viewer.open_sample("equilabel", "nuclei_2d")
    settle(form, qtbot)
    assert form.fields.sigma.native.isVisible()
    assert form.fields.remark.text() == ""
    viewer.layers.clear()
    assert not form.fields.sigma.native.isVisible()


def test_the_fields_are_reached_and_changed_with_the_keyboard(viewer, qtbot):
    viewer.open_sample("equilabel", "nuclei_2d")
    form = open_form(viewer, qtbot)
    number = form.fields.sigma.number.native
    number.setFocus()
    number.selectAll()
    qtbot.keyClicks(number, "1.5")
    qtbot.keyClick(number, Qt.Key.Key_Return)
    assert form.choices().sigma == 1.5
    qtbot.keyClick(number, Qt.Key.Key_Up)
    assert form.choices().sigma == 2.0
    slider = form.fields.threshold.slider
    level, step = slider.value(), slider.singleStep()
    qtbot.keyClick(slider.findChild(QDoubleSlider), Qt.Key.Key_Right)
    assert form.choices().threshold == level + step
    typed = slider.findChild(QLineEdit)
    qtbot.mouseClick(typed, Qt.MouseButton.LeftButton)
    typed.selectAll()
    qtbot.keyClicks(typed, "700")
    qtbot.keyClick(typed, Qt.Key.Key_Return)
    assert form.choices().threshold == 700
    form.fields.threshold.method.value = "hysteresis"
    low, high = form.choices().threshold
    ends = form.fields.threshold.range.findChild(QDoubleRangeSlider)
    qtbot.keyClick(ends, Qt.Key.Key_Left)
    qtbot.keyClick(ends, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    assert form.choices().threshold == pytest.approx((low - step, high + step))
    qtbot.keyClick(form.fields.split.native, Qt.Key.Key_Space)
    assert form.choices().split == 0.5
