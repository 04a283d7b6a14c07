"""Arrangement of widgets: grids of fields, rows and columns, folds; and the base of all forms."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from app_model import Application
from magicgui.widgets.bases import ButtonWidget
from napari import current_viewer
from qtpy import QtWidgets
from qtpy.compat import isalive
from qtpy.QtCore import QEvent, QObject, Qt, QTimer, Signal
from qtpy.QtWidgets import QDockWidget, QLabel, QPushButton, QSizePolicy, QWidget

from equilabel.widget import Event, Layer, Viewer
from equilabel.widget.logic.sources import Role, Source
from equilabel.widget.viewer.tasks import Task, attempt, tell

HEAD = "text-align: left; padding: 3px; background: transparent; font-weight: bold"
CHANGED_BY_WHEEL = (QtWidgets.QComboBox, QtWidgets.QAbstractSpinBox, QtWidgets.QAbstractSlider)


class Row(NamedTuple):
    """A Qt widget with a label, as a field of a grid."""

    label: str
    tooltip: str
    native: QWidget


class Grid(QWidget):
    """Fields below each other, with labels beside them except for check boxes and Qt widgets."""

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

    def showEvent(self, event: Event) -> None:
        """Share the dock of another form as tabs: one above the other, the window would grow."""
        super().showEvent(event)
        window, dock = self.window(), self.parent()
        known = isinstance(window, QtWidgets.QMainWindow) and isinstance(dock, QDockWidget)
        if event.spontaneous() or self._joined or not known:
            return
        self._joined = True  # only once, so that a person can move it
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


def side_by_side(*parts: QWidget, widths: Sequence[int] = (1, 1, 1)) -> QWidget:
    """Put up to three widgets side by side into one; those of width 0 keep their own width."""
    box = QWidget()
    layout = QtWidgets.QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    for part, width in zip(parts, widths, strict=False):
        layout.addWidget(part, width)
    return box


def fold(title: str, contents: QWidget, *, expanded: bool = False) -> QWidget:
    """Put a widget under a title that shows and hides it; the Tab key skips what is hidden."""
    head = QPushButton(checkable=True, styleSheet=HEAD)

    def show(shown: bool) -> None:
        head.setText(f"{'▾' if shown else '▸'}  {title}")
        contents.setVisible(shown)

    head.toggled.connect(show)
    show(expanded)
    head.setChecked(expanded)
    return column(head, contents)


def scrolled(*parts: QWidget, margins: bool = False) -> QtWidgets.QScrollArea:
    """Put widgets below each other into an area that scrolls vertically."""
    scroll = QtWidgets.QScrollArea(widgetResizable=True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setStyleSheet("QScrollArea {padding: 0px; border: none}")
    scroll.setWidget(column(*parts, margins=margins, stretch=True))
    return scroll


def button(text: str, tooltip: str, pressed: Callable[[], None]) -> QPushButton:
    """Make a button with a tooltip, and show errors of what it does as warnings."""
    made = QPushButton(text, toolTip=tooltip)
    made.clicked.connect(lambda *_: attempt(made, pressed))
    return made


LAYER_MENU = "napari/layers/context"  # of a right click on a layer; closed to manifests
OF_LAYERS = {"image": "Label components", "labels": "Measure labels"}


def _offer(name: str, kind: str) -> None:
    """Offer a form in the menu of layers of a kind, unless it is offered already."""
    app, command = Application.get_app("napari"), f"equilabel.layer_menu.{kind}"
    if app is None or command in app.commands:
        return

    def show() -> None:
        viewer: Any = current_viewer()
        dock, form = viewer.window.add_plugin_dock_widget("equilabel", name)
        dock.raise_()
        layer = viewer.layers.selection.active  # None if there are several
        if layer in form.choice.choices:
            form.choice.value = layer

    where: Any = {"id": LAYER_MENU, "group": "equilabel", "when": f"all_selected_layers_{kind}"}
    app.register_action(command, f"{name} (equilabel)", callback=show, menus=[where], palette=False)


NO_LAYER = (
    "a layer must be chosen; got none. Open an image, or a sample under File > Open Sample > "
    "equilabel. 'Label components' also takes a painted mask; 'Measure labels' takes labels."
)
FINE = 100  # steps of the progress bar for each stage of a run


class RunForm(Docked):
    """A form whose button starts a run on a layer."""

    ended = Signal()  # the run is done, failed or cancelled

    def __init__(self, viewer: Viewer, title: str, fields: QWidget, choice: Any) -> None:
        super().__init__()
        self._viewer, self.choice = viewer, choice  # the field of the layer on which it runs
        self._layer: Layer = None
        self._warm_up, self.task = Task("compiling"), Task(title, partial(tell, self))
        self.task.advanced.connect(self._advance)
        self.task.compiling.connect(self._say)
        for signal in (self.task.done, self.task.failed, self.task.cancelled):
            signal.connect(self._end)
        self._words = "starting"  # text for the current stage
        self.fields = fields
        self.run_button = QPushButton(title, toolTip="Run on the whole layer, all of its axes.")
        self.run_button.setStyleSheet("font-weight: bold; padding: 7px;")
        self.cancel_button = button("Cancel", "Stop the run; layers do not change.", self.cancel)
        self.cancel_button.setEnabled(False)
        self.progress = QtWidgets.QProgressBar(textVisible=False, maximumHeight=6)
        self.message = QLabel(wordWrap=True, alignment=Qt.AlignmentFlag.AlignTop)
        self.message.setStyleSheet("min-height: 2.6em")  # two lines, so that fields do not move
        buttons = side_by_side(self.run_button, self.cancel_button, widths=(3, 1))
        bar = column(buttons, self.progress, self.message)
        bar.layout().setContentsMargins(0, 4, 0, 0)
        column(fields, bar, into=self, margins=True)
        policy = self.sizePolicy()
        policy.setVerticalPolicy(policy.Policy.Expanding)  # or napari adds space below
        self.setSizePolicy(policy)
        self.setMinimumWidth(378)  # so that no field is cut off beside a scroll bar
        self.results.reset_choices()  # opens them
        for kind, name in OF_LAYERS.items():
            _offer(name, kind)

    @property
    def results(self) -> Any:
        """The results of the viewer, which its forms share; opened if they were closed."""
        return self._viewer.window.add_plugin_dock_widget("equilabel", "Results")[1]

    def _take_source(self, roles: tuple[Role, ...]) -> Source:
        """Return the source of a run, or raise ValueError with a remedy."""
        if self._layer is None or self._layer not in self._viewer.layers:
            raise ValueError(NO_LAYER)
        source = Source.of(self._layer, roles)
        if source.problem:
            raise ValueError(source.problem)
        return source

    @property
    def running(self) -> bool:
        return self.task.running

    def begin(
        self, title: str, work: Callable[..., Any], show: Callable[[Any], None], stages: Any
    ) -> None:
        """Start a run, unless one is running, and show its outcome."""
        if self.running:
            return
        self.run_button.setEnabled(False)
        self.cancel_button.setEnabled(True)
        self.progress.setRange(0, FINE * len(stages))
        self.task.title = title
        self.task.submit(work, show, stages)

    def cancel(self) -> None:
        if self.running:
            self.message.setText("Cancelled. The layers have not changed.")
            self.task.cancel()

    def end(self) -> None:
        self.cancel()
        self._warm_up.cancel()

    def _advance(self, words: str, count: float) -> None:
        self.progress.setValue(int(FINE * count))
        self._words = words
        self._say("")

    def _say(self, compiling: str) -> None:
        """Show what is being compiled, or the current stage."""
        if self.running:
            words = compiling or self._words
            self.message.setText(f"{words[0].upper()}{words[1:]} ...")

    def _end(self, _: object) -> None:
        self.run_button.setEnabled(True)
        self.cancel_button.setEnabled(False)
        self.progress.reset()
        self.ended.emit()
