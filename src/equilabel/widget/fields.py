"""Fields of the forms: magicgui's widgets, named, labeled, and explained when pointed at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magicgui.widgets import ComboBox, Container
from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QComboBox,
    QScrollArea,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)
from superqt import QCollapsible

import equilabel

from .axes import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .axes import Role
    from .statistics import Statistic

THRESHOLD_CHOICES = [
    ("Otsu", "otsu"),
    ("Li", "li"),
    ("Triangle", "triangle"),
    ("Yen", "yen"),
    ("Isodata", "isodata"),
    ("Mean", "mean"),
    ("Minimum between two peaks", "minimum"),
    ("Local, around each pixel", "local"),
    ("By hand", "number"),
    ("By hand, low and high (hysteresis)", "hysteresis"),
]

# napari draws no box where nothing is ticked in a tree.
BOX = "QTreeView::indicator:unchecked {border: 1px solid gray; width: 9px; height: 9px;}"


def fold(title: str, *contents: QWidget, open_: bool = False) -> QCollapsible:
    """Put widgets under a title that folds them away."""
    folder = QCollapsible(title)
    folder.setDuration(0)
    for content in contents:
        folder.addWidget(content)
    if open_:
        folder.expand(animate=False)
    return folder


def column(*widgets: Any) -> Container:
    """Put fields below each other, labels beside them."""
    container = Container(widgets=widgets, labels=True)
    container.margins = (0, 0, 0, 0)
    for widget in widgets:
        if isinstance(widget, ComboBox):  # as narrow as the form, however long the names
            widget.native.setSizeAdjustPolicy(
                QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            )
            widget.native.setMinimumContentsLength(8)
    return container


def scrolled(contents: QWidget) -> QScrollArea:
    """Let a form scroll up and down."""
    scroll = QScrollArea()
    scroll.setWidgetResizable(True)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setFrameShape(QScrollArea.Shape.NoFrame)
    scroll.setWidget(contents)
    return scroll


def device_field() -> ComboBox:
    """Offer the devices there are; say of the others, when pointed at, why they cannot be used."""
    reports = equilabel.devices()
    field = ComboBox(
        name="device", label="Device", choices=["auto", *(each.name for each in reports)]
    )
    lines = ["Where to compute; 'auto' is the fastest there is."]
    for number, report in enumerate(reports, start=1):
        verdict = report.description if report.available else report.reason
        lines.append(f"{report.name}: {verdict}")
        item = field.native.model().item(number)
        item.setToolTip(verdict)
        item.setEnabled(report.available)
    field.tooltip = "\n".join(lines)
    return field


def method_field() -> ComboBox:
    """Offer the methods, each with its idea."""
    field = ComboBox(name="method", label="Method", choices=["auto", *equilabel.METHODS])
    lines = ["How to label: all methods give the same labels. 'auto' is the fastest."]
    for number, method in enumerate(equilabel.METHODS.values(), start=1):
        lines.append(f"{method.name}: {method.summary}")
        field.native.model().item(number).setToolTip(method.summary)
    field.tooltip = "\n".join(lines)
    return field


class AxesField(QWidget):
    """A role for each axis of a layer.

    Parameters
    ----------
    changed : callable
        Called when a role was changed by hand.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed
        self._fields: list[ComboBox] = []
        self._container: Container | None = None
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    @property
    def roles(self) -> tuple[Role, ...]:
        """What the axes mean."""
        return tuple(field.value for field in self._fields)

    def show_axes(self, roles: Sequence[Role], shape: Sequence[int], names: Sequence[str]) -> None:
        """Offer the axes of another layer."""
        self._fields = [
            ComboBox(
                name=f"axis_{number}",
                label=f"{name}  ({length})",
                choices=list(ROLES),
                value=role,
                tooltip="Space: objects extend along it. Time: its images are independent. "
                "Channel: objects are looked for in one, and measured in all.",
            )
            for number, (role, length, name) in enumerate(zip(roles, shape, names, strict=True))
        ]
        for field in self._fields:
            field.changed.connect(self._changed)
        old, self._container = self._container, column(*self._fields)
        self._layout.addWidget(self._container.native)
        if old is not None:
            self._layout.removeWidget(old.native)
            old.native.hide()
            old.native.deleteLater()


class StatisticsField(QTreeWidget):
    """Statistics to tick, group by group, each explained when pointed at."""

    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setIndentation(12)
        self.setMinimumHeight(240)
        self.setStyleSheet(BOX)
        self._ticked: dict[str, bool] = {}
        self._items: dict[str, QTreeWidgetItem] = {}
        self._open = {"Usual"}
        self.itemChanged.connect(self._remember)
        self.itemExpanded.connect(lambda item: self._open.add(item.text(0)))
        self.itemCollapsed.connect(lambda item: self._open.discard(item.text(0)))

    def offer(self, statistics: Sequence[Statistic]) -> None:
        """Offer other statistics; what was ticked by hand stays so."""
        self.blockSignals(True)
        self.clear()
        self._items.clear()
        groups: dict[str, QTreeWidgetItem] = {}
        for each in statistics:
            if each.group not in groups:
                groups[each.group] = group = QTreeWidgetItem(self, [each.group])
                group.setFlags(Qt.ItemFlag.ItemIsEnabled)
                group.setExpanded(each.group in self._open)
            slow = " (slow)" if each.slow else ""
            item = QTreeWidgetItem(groups[each.group], [each.name + slow])
            item.setData(0, Qt.ItemDataRole.UserRole, each.name)
            why = " Measured object by object: slow if there are many." if each.slow else ""
            item.setToolTip(0, each.summary + why)
            item.setCheckState(0, _state(self._ticked.get(each.name, each.usual)))
            self._items[each.name] = item
        self.blockSignals(False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of those ticked."""
        return tuple(
            name
            for name, item in self._items.items()
            if item.checkState(0) == Qt.CheckState.Checked
        )

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of those that can be ticked."""
        return tuple(self._items)

    def tick(self, name: str, ticked: bool = True) -> None:
        """Tick one, as a person would."""
        self._items[name].setCheckState(0, _state(ticked))

    def _remember(self, item: QTreeWidgetItem) -> None:
        name = item.data(0, Qt.ItemDataRole.UserRole)
        self._ticked[name] = item.checkState(0) == Qt.CheckState.Checked


def _state(ticked: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked
