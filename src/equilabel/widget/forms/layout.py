"""Arrangement of widgets: grids of fields, rows and columns, folds, scroll areas."""

from collections.abc import Callable
from typing import Any

from magicgui.widgets.bases import ButtonWidget
from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtGui import QColor, QIcon, QPainter, QPixmap
from qtpy.QtWidgets import (
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from superqt import QCollapsible

from equilabel.widget.napari_types import Event


class Grid(QWidget):
    """Fields below each other, with their labels beside them: two left edges, one right edge.

    A check box lies below the fields; a field without a label, and a widget of Qt, take both
    columns.
    """

    def __init__(self, *rows: Any) -> None:
        super().__init__()
        self.titles: list[QLabel] = []
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(4)
        layout.setColumnStretch(1, 1)
        self.fill(*rows)

    def fill(self, *rows: Any) -> None:
        """Put fields into a grid that is empty."""
        layout = self.layout()
        for number, field in enumerate(rows):
            if isinstance(field, QWidget):
                layout.addWidget(field, number, 0, 1, 2)
                continue
            tick = isinstance(field, ButtonWidget)
            below = tick or bool(field.label)
            layout.addWidget(field.native, number, int(below), 1, 2 - below)
            field.native.setToolTip(field.tooltip or "")
            _tame(field.native)
            if below and not tick:
                self._add_title(field, number)

    def _add_title(self, field: Any, number: int) -> None:
        title = QLabel(field.label)
        title.setToolTip(field.tooltip or "")
        title.setHidden(field.native.isHidden())
        if hasattr(field, "label_changed"):
            field.label_changed.connect(lambda text: title.setText(text))
        field.native.installEventFilter(_Beside(title))
        self.layout().addWidget(title, number, 0)
        self.titles.append(title)


class _Beside(QObject):
    """Hides the label of a field with the field."""

    def eventFilter(self, field: Any, event: Event) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.parent().setHidden(field.isHidden())
        return False


class _Wheel(QObject):
    """Leaves the mouse wheel to the form that scrolls, unless a field was clicked."""

    def eventFilter(self, field: Any, event: Event) -> bool:
        if event.type() == QEvent.Type.Wheel and not field.hasFocus():
            event.ignore()
            return True
        return False


def _tame(native: QWidget) -> None:
    """Make fields as narrow as the form, and leave the mouse wheel to the form that scrolls."""
    for kind in (QComboBox, QAbstractSpinBox, QAbstractSlider):
        for field in ([native] if isinstance(native, kind) else []) + native.findChildren(kind):
            field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            field.installEventFilter(_Wheel(field))
            if kind is QComboBox:
                policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
                field.setSizeAdjustPolicy(policy)
                field.setMinimumContentsLength(8)


class Form(QWidget):
    """A form that aligns the labels of all its grids when it is shown: their font is known then."""

    def align(self) -> None:
        """Give the labels of all grids the same width."""
        grids = self.findChildren(Grid)
        widest = max((each.sizeHint().width() for grid in grids for each in grid.titles), default=0)
        for grid in grids:
            layout = grid.layout()
            layout.setColumnMinimumWidth(0, widest)
            for number in range(layout.rowCount()):
                cell = layout.itemAtPosition(number, 1)
                field = None if cell is None else cell.widget()
                if field is not None and not field.minimumHeight():
                    field.setMinimumHeight(field.sizeHint().height())  # where the form scrolls, too

    def showEvent(self, event: Event) -> None:
        self.align()
        super().showEvent(event)


def fill_column(box: QWidget, *parts: QWidget, margins: bool = False) -> QVBoxLayout:
    """Put widgets below each other into one."""
    layout = QVBoxLayout(box)
    if not margins:
        layout.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        layout.addWidget(part)
    return layout


def column(*parts: QWidget, margins: bool = False) -> QWidget:
    """Make a widget of others below each other."""
    box = QWidget()
    fill_column(box, *parts, margins=margins)
    return box


def side_by_side(*parts: QWidget) -> QWidget:
    """Make a widget of others beside each other, with the same width."""
    box = QWidget()
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        layout.addWidget(part, 1)
    return box


def fold(title: str, contents: QWidget) -> QCollapsible:
    """Put a widget under a title that shows and hides it."""
    folder = QCollapsible(title, expandedIcon=_arrow("▾"), collapsedIcon=_arrow("▸"))
    folder.setDuration(0)
    folder.setStyleSheet("QCollapsible {padding: 0px; border: none}")
    folder.toggleButton().setStyleSheet(
        "text-align: left; padding: 3px; background: transparent; font-weight: bold;"
    )
    folder.layout().setSpacing(4)
    for layout in (folder.layout(), folder.content().layout()):
        layout.setContentsMargins(0, 0, 0, 0)
    folder.addWidget(contents)
    return folder


def _arrow(symbol: str) -> QIcon:
    """Draw an arrow in a gray that is seen on dark and on light."""
    pixels = QPixmap(12, 12)
    pixels.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixels)
    painter.setPen(QColor(140, 140, 140))
    painter.drawText(pixels.rect(), Qt.AlignmentFlag.AlignCenter, symbol)
    painter.end()
    return QIcon(pixels)


def scrolled(contents: QWidget) -> QScrollArea:
    """Put a widget into an area that scrolls up and down."""
    scroll = QScrollArea()
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setStyleSheet("QScrollArea {padding: 0px; border: none}")
    scroll.setWidget(contents)
    return scroll


def button(text: str, tooltip: str, pressed: Callable[..., None]) -> QPushButton:
    """Make a button with a tool tip."""
    made = QPushButton(text, toolTip=tooltip)
    made.clicked.connect(pressed)
    return made
