"""Arrangement of widgets: columns of fields, groups, folds, scroll areas."""

from __future__ import annotations

from typing import Any

from magicgui.widgets import ComboBox, Container
from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QGroupBox,
    QPushButton,
    QScrollArea,
    QSlider,
    QVBoxLayout,
    QWidget,
)
from superqt import QCollapsible


def column(*widgets: Any) -> Container:
    """Put fields below each other, with their labels beside them."""
    container = Container(widgets=widgets, labels=True)
    container.margins = (0, 0, 0, 0)
    for widget in widgets:
        if isinstance(widget, ComboBox):  # as narrow as the form, even if names are long
            widget.native.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            widget.native.setMinimumContentsLength(8)
    for kind in (QComboBox, QAbstractSpinBox, QSlider):
        for field in container.native.findChildren(kind):
            field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            field.installEventFilter(_Wheel(field))
    return container


class _Wheel(QObject):
    """Leaves the mouse wheel to the form that scrolls, unless a field was clicked."""

    def eventFilter(self, field: Any, event: Any) -> bool:
        """Pass the wheel on to what is below a field without the focus."""
        if event.type() == QEvent.Type.Wheel and not field.hasFocus():
            event.ignore()
            return True
        return False


def vertical(*widgets: QWidget, margins: bool = True) -> QWidget:
    """Put widgets below each other into one."""
    box = QWidget()
    layout = QVBoxLayout(box)
    if not margins:
        layout.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        layout.addWidget(widget)
    return box


def fold(title: str, *contents: QWidget) -> QCollapsible:
    """Put widgets under a title that shows and hides them."""
    folder = QCollapsible(title)
    folder.setDuration(0)
    for content in contents:
        folder.addWidget(content)
    return folder


def group(title: str, *contents: QWidget) -> QGroupBox:
    """Put widgets into a frame with a title."""
    box = QGroupBox(title)
    layout = QVBoxLayout(box)
    for content in contents:
        layout.addWidget(content)
    return box


def scrolled(contents: QWidget) -> QScrollArea:
    """Put a widget into an area that scrolls up and down."""
    scroll = QScrollArea()
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setFrameShape(QScrollArea.Shape.NoFrame)
    scroll.setWidget(contents)
    return scroll


def button(text: str, tooltip: str) -> QPushButton:
    """Make a button with a tool tip."""
    made = QPushButton(text)
    made.setToolTip(tooltip)
    return made
