"""Fields of forms: layers, columns, methods, devices, roles of axes, statistics."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from magicgui.widgets import CheckBox, ComboBox
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

import equilabel
from equilabel.colors import COLORS
from equilabel.options import describe
from equilabel.widget.logic.axes import ROLES, Role, name_axes
from equilabel.widget.logic.choices import GROUPS, TICKED
from equilabel.widget.logic.sources import Source
from equilabel.widget.napari_types import Layer

from .layout import Grid, column

AXES = (
    "Space: objects extend along this axis. Time: the images along it are independent. "
    "Channel: objects are found in one channel, and measured in all."
)
# napari's style has no box for unticked items of a tree.
BOX = "QTreeView::indicator:unchecked {border: 1px solid gray; width: 9px; height: 9px;}"
NAME = Qt.ItemDataRole.UserRole
STATES = (Qt.CheckState.Unchecked, Qt.CheckState.Checked)


def field(
    kind: Callable[..., Any], label: str, tooltip: str = "", /, *, then: str = "", **options: Any
) -> Any:
    """Declare a field of a form, which is made when the form first uses it.

    Without a tooltip, it gets the description of the argument of `segment` of the same name. When
    it changes, the method of the form named `then` is called.
    """
    words = "text" if kind is CheckBox else "label"

    def make(form: Any) -> Any:
        hint = tooltip or describe(declared.attrname or "")
        made = kind(**{words: label}, tooltip=hint, **options)
        if then:
            made.changed.connect(getattr(form, then))
        return made

    declared = cached_property(make)
    return declared


def layer_field(label: str, tooltip: str, then: str = "") -> Any:
    """Declare a field for a layer, whose choices are set by `offer_layers`."""
    return field(ComboBox, label, tooltip, choices=[], nullable=True, then=then)


def color_field(then: str = "") -> Any:
    """Declare a field for the gray values of a color image."""
    hint = "Gray values of a color image: its luminance, or one of its colors."
    return field(ComboBox, "Color", hint, choices=COLORS, then=then)


def device_field(**words: str) -> ComboBox:
    """Make a field for the device; tooltips say why a device cannot be used."""
    reports = equilabel.devices()
    hints = {each.name: each.description if each.available else each.reason for each in reports}
    made = _explained(hints, **words)
    for number, report in enumerate(reports, start=1):
        made.native.model().item(number).setEnabled(report.available)
    return made


def method_field(**words: str) -> ComboBox:
    """Make a field for the method, with a tooltip for each."""
    rows = [row for row in equilabel.METHODS.values() if "grid" in row.domains]
    return _explained({row.name: row.summary for row in rows}, **words)


def _explained(hints: dict[str, str], *, label: str, tooltip: str) -> ComboBox:
    """Make a field for "auto" and other choices, with a hint for each of them."""
    tooltip = "\n".join([tooltip, *(f"{each}: {hint}" for each, hint in hints.items())])
    made = ComboBox(label=label, choices=["auto", *hints], tooltip=tooltip)
    for number, hint in enumerate(hints.values(), start=1):
        made.native.model().item(number).setToolTip(hint)
    return made


def offer(field: ComboBox, choices: Any, usual: Any = None) -> None:
    """Set the choices of a field; its value is kept if it is among them, else it is `usual`."""
    before = field.value
    with field.changed.blocked():
        field.choices = choices
        if before is not None and before in field.choices:
            field.value = before
        elif usual is not None:
            field.value = usual


def offer_layers(field: ComboBox, layers: Sequence[Layer]) -> None:
    """Set the layers of a field; the last one is chosen if there is no previous choice."""
    left_empty = field.value is None and any(each is not None for each in field.choices)
    usual = layers[-1] if layers and not left_empty else None
    offer(field, [(each.name, each) for each in layers], usual)


class AxesField(QWidget):
    """A field for the role of each axis of a layer; calls `changed` when one changes."""

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed
        self._fields: list[ComboBox] = []
        self._grid = Grid()
        column(self._grid, into=self)

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(field.value for field in self._fields)

    def show_axes(self, source: Source) -> None:
        """Show the axes of another layer; this counts as a change."""
        self._source = source
        self._fields = [ComboBox(choices=ROLES, value=role, tooltip=AXES) for role in source.roles]
        for field in self._fields:
            field.changed.connect(self._change)
        old, self._grid = self._grid, Grid(*self._fields)
        self.layout().replaceWidget(old, self._grid)
        old.hide()
        old.deleteLater()
        self._change()

    def _change(self, *_: object) -> None:
        """Label the fields with the names that axes have in their roles."""
        names = name_axes(self.roles, self._source.transform["axis_labels"])
        for title, name, length in zip(self._grid.titles, names, self._source.shape, strict=True):
            title.setText(f"{name} ({length})")
        self._changed()


class StatisticsField(QTreeWidget):
    """Statistics with check boxes, in groups, each with a tooltip."""

    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setIndentation(12)
        self.setMinimumHeight(240)
        self.setStyleSheet(BOX)
        self._ticked: dict[str, bool] = {}
        self._items: dict[str, QTreeWidgetItem] = {}
        self._groups = {title: QTreeWidgetItem(self, [title]) for title in GROUPS}
        for group in self._groups.values():
            group.setFlags(Qt.ItemFlag.ItemIsEnabled)
        self._groups[TICKED].setExpanded(True)
        self.itemChanged.connect(self._remember)

    def offer(self, groups: Mapping[str, Sequence[Any]]) -> None:
        """Show properties by groups; those that were ticked or unticked before stay so."""
        self.blockSignals(True)
        self._items.clear()
        for title, rows in groups.items():
            group = self._groups[title]
            group.takeChildren()
            group.setHidden(not rows)
            for row in rows:
                self._items[row.name] = item = QTreeWidgetItem(group, [row.name])
                item.setData(0, NAME, row.name)
                item.setToolTip(0, row.summary)
                self.tick(row.name, self._ticked.get(row.name, title == TICKED))
        self.blockSignals(False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, item in self._items.items() if item.checkState(0) == STATES[1])

    def tick(self, name: str, ticked: bool = True) -> None:
        self._items[name].setCheckState(0, STATES[ticked])

    def _remember(self, item: QTreeWidgetItem) -> None:
        self._ticked[item.data(0, NAME)] = item.checkState(0) == STATES[1]
