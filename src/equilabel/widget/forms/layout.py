"""Arrangement of widgets: grids of fields, rows and columns, folds, scroll areas."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from magicgui.widgets.bases import ButtonWidget
from qtpy import QtWidgets
from qtpy.compat import isalive
from qtpy.QtCore import QEvent, QObject, Qt, QTimer
from qtpy.QtGui import QColor, QIcon, QPainter, QPixmap
from qtpy.QtWidgets import QDockWidget, QLabel, QPushButton, QScrollArea, QSizePolicy, QWidget
from superqt import QCollapsible

from equilabel.widget.napari_types import Event

CHANGED_BY_WHEEL = (
    QtWidgets.QComboBox,
    QtWidgets.QAbstractSpinBox,
    QtWidgets.QAbstractSlider,
)


class Row(NamedTuple):
    """A Qt widget with a label, as a field of a grid."""

    label: str
    tooltip: str
    native: QWidget


class Grid(QWidget):
    """Fields below each other, with labels beside them: two left edges, one right edge.

    A check box has no label beside it, and a Qt widget takes both columns.
    """

    def __init__(self, *rows: Any) -> None:
        super().__init__()
        self.titles: list[QLabel] = []
        layout = QtWidgets.QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(4)
        layout.setColumnStretch(1, 1)
        self.fill(*rows)

    def fill(self, *rows: Any) -> None:
        """Put fields into an empty grid."""
        layout = self.layout()
        for number, field in enumerate(rows):
            if isinstance(field, QWidget):
                layout.addWidget(field, number, 0, 1, 2)
                continue
            native = field.native
            native.setToolTip(field.tooltip)
            native.setSizePolicy(native.sizePolicy().horizontalPolicy(), QSizePolicy.Policy.Fixed)
            layout.addWidget(native, number, 1)
            _tame(native)
            if not isinstance(field, ButtonWidget):
                title = QLabel(field.label, toolTip=field.tooltip)
                title.setHidden(native.isHidden())
                native.installEventFilter(_Beside(title))
                layout.addWidget(title, number, 0)
                self.titles.append(title)


class _Beside(QObject):
    """Hides the label of a field with the field."""

    def eventFilter(self, field: Any, event: Event) -> bool:
        if event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.parent().setHidden(field.isHidden())
        return False


class _Wheel(QObject):
    """Passes the mouse wheel to the scrolling form, unless a field was clicked."""

    def eventFilter(self, field: Any, event: Event) -> bool:
        if event.type() == QEvent.Type.Wheel and not field.hasFocus():
            event.ignore()
            return True
        return False


def _tame(native: QWidget) -> None:
    """Let fields be as narrow as the form, and pass the mouse wheel to the scrolling form."""
    for field in (native, *native.findChildren(QWidget)):
        if isinstance(field, CHANGED_BY_WHEEL):
            field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            field.installEventFilter(_Wheel(field))
        if isinstance(field, QtWidgets.QComboBox):
            field.setSizeAdjustPolicy(field.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            field.setMinimumContentsLength(8)


class Form(QWidget):
    """A form that aligns the labels of all its grids when it is shown and their font is known."""

    def align(self) -> None:
        """Give the labels of all grids the same width."""
        grids = self.findChildren(Grid)
        widest = max((each.sizeHint().width() for grid in grids for each in grid.titles), default=0)
        for grid in grids:
            grid.layout().setColumnMinimumWidth(0, widest)

    def showEvent(self, event: Event) -> None:
        self.align()
        super().showEvent(event)


class Docked(Form):
    """A form in a dock: it shares the dock of our others as tabs, and ends when it is closed."""

    _joined = False  # whether it has searched for another form to share tabs with

    def end(self) -> None:
        """Stop all work."""

    def see(self, visible: bool) -> None:
        """Take note that the form came to the front of its dock, or left it."""

    def showEvent(self, event: Event) -> None:
        """Share the dock of another form as tabs: one above the other, the window would grow."""
        super().showEvent(event)
        window, dock = self.window(), self.parent()
        known = isinstance(window, QtWidgets.QMainWindow) and isinstance(dock, QDockWidget)
        if event.spontaneous() or self._joined or not known:
            return
        self._joined = True  # only once, so that a person can move it
        dock.visibilityChanged.connect(self.see)  # a tab that is not in front is not hidden
        for form in window.findChildren(Docked):
            other = form.parent()
            if form is not self and window.dockWidgetArea(other) == window.dockWidgetArea(dock):
                window.tabifyDockWidget(other, dock)
                QTimer.singleShot(0, dock.raise_)
                return

    def changeEvent(self, event: Event) -> None:
        """Stop all work when the dock is closed: napari then removes the form from it."""
        if event.type() == QEvent.Type.ParentChange and self.parent() is None:
            self.end()
            QTimer.singleShot(0, self._leave)
        super().changeEvent(event)

    def _leave(self) -> None:
        """Delete the form, because napari would continue to call it."""
        if isalive(self) and self.parent() is None:
            self.deleteLater()


def column(
    *parts: QWidget, into: QWidget | None = None, margins: bool = False, stretch: bool = False
) -> QWidget:
    """Put widgets below each other into one; with `stretch` none is taller than needed."""
    box = into or QWidget()
    layout = QtWidgets.QVBoxLayout(box)
    if not margins:
        layout.setContentsMargins(0, 0, 0, 0)
    for part in parts:
        layout.addWidget(part)
    if stretch:
        layout.addStretch()
    return box


def side_by_side(*parts: QWidget, widths: Sequence[int] = (1, 1)) -> QWidget:
    """Put widgets side by side into one; those of width 0 keep their own width."""
    box = QWidget()
    layout = QtWidgets.QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    for part, width in zip(parts, widths, strict=True):
        layout.addWidget(part, width)
    return box


def fold(title: str, contents: QWidget, *, expanded: bool = False) -> QCollapsible:
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
    contents.setVisible(expanded)  # the Tab key does not lead into what is folded
    folder.toggled.connect(contents.setVisible)
    if expanded:
        folder.expand(animate=False)
    return folder


def _arrow(symbol: str) -> QIcon:
    """Draw an arrow in a gray that is visible on dark and on light."""
    pixels = QPixmap(12, 12)
    pixels.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixels)
    painter.setPen(QColor(140, 140, 140))
    painter.drawText(pixels.rect(), Qt.AlignmentFlag.AlignCenter, symbol)
    painter.end()
    return QIcon(pixels)


def scrolled(*parts: QWidget, margins: bool = False) -> QScrollArea:
    """Put widgets below each other into an area that scrolls vertically."""
    scroll = QScrollArea(widgetResizable=True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setStyleSheet("QScrollArea {padding: 0px; border: none}")
    scroll.setWidget(column(*parts, margins=margins, stretch=True))
    return scroll


def button(text: str, tooltip: str, pressed: Callable[..., None]) -> QPushButton:
    """Make a button with a tooltip."""
    made = QPushButton(text, toolTip=tooltip)
    made.clicked.connect(pressed)
    return made
