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
NAME = Qt.ItemDataRole.UserRole
STATES = (Qt.CheckState.Unchecked, Qt.CheckState.Checked)


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
            words, hint = each.name, each.summary
            if each.slow:
                words += " (slow)"
                hint += " Objects are measured one by one, which is slow for many objects."
            self._items[each.name] = item = QTreeWidgetItem(groups[each.group], [words])
            item.setData(0, NAME, each.name)
            item.setToolTip(0, hint)
            self.tick(each.name, self._ticked.get(each.name, each.usual))
        self.blockSignals(False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics that are ticked."""
        return tuple(name for name, item in self._items.items() if item.checkState(0) == STATES[1])

    @property
    def offered(self) -> tuple[str, ...]:
        """Names of all statistics."""
        return tuple(self._items)

    def tick(self, name: str, ticked: bool = True) -> None:
        """Tick or untick a statistic."""
        self._items[name].setCheckState(0, STATES[ticked])

    def _remember(self, item: QTreeWidgetItem) -> None:
        self._ticked[item.data(0, NAME)] = item.checkState(0) == STATES[1]
