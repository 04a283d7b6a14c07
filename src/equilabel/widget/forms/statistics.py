"""The statistics that are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtpy.QtCore import Qt
from qtpy.QtWidgets import QTreeWidget, QTreeWidgetItem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.widget.logic.statistics import Statistic

# napari draws no box for what is not ticked in a tree.
BOX = "QTreeView::indicator:unchecked {border: 1px solid gray; width: 9px; height: 9px;}"


class StatisticsField(QTreeWidget):
    """A list of statistics with check boxes, in groups, each with a tool tip."""

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
        """Show statistics; those that were ticked or unticked before stay so."""
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
            hint = (
                " Objects are measured one by one, which is slow for many objects."
                if each.slow
                else ""
            )
            item.setToolTip(0, each.summary + hint)
            item.setCheckState(0, _state(self._ticked.get(each.name, each.usual)))
            self._items[each.name] = item
        self.blockSignals(False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics that are ticked."""
        return tuple(
            name
            for name, item in self._items.items()
            if item.checkState(0) == Qt.CheckState.Checked
        )

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of all statistics."""
        return tuple(self._items)

    def tick(self, name: str, ticked: bool = True) -> None:
        """Tick or untick a statistic."""
        self._items[name].setCheckState(0, _state(ticked))

    def _remember(self, item: QTreeWidgetItem) -> None:
        name = item.data(0, Qt.ItemDataRole.UserRole)
        self._ticked[name] = item.checkState(0) == Qt.CheckState.Checked


def _state(ticked: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked
