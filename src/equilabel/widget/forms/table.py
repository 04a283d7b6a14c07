"""The table of objects, and the dock below the canvas that holds it and the plot."""

from typing import Any

import numpy as np
from qtpy.QtCore import QAbstractTableModel, QItemSelection, QItemSelectionModel, Qt, Signal
from qtpy.QtGui import QAction, QBrush, QColor, QFont, QGuiApplication, QKeySequence
from qtpy.QtWidgets import QAbstractItemView, QSplitter, QTableView, QWidget

from equilabel.array_types import HostArray
from equilabel.widget import Event, Table, Viewer
from equilabel.widget.logic.objects import count_objects, format_value, sort_rows
from equilabel.widget.viewer.tasks import guarded, inform, warn

MOST_COPIED = 100_000  # rows
MOST_BLOCKS = 5000  # most blocks of rows that are marked: Qt is slow with more
ALIGNED = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
GONE, ITALIC = QBrush(QColor(128, 128, 128)), QFont()
ITALIC.setItalic(True)
ROLES, ASCENDING = Qt.ItemDataRole, Qt.SortOrder.AscendingOrder

DOCK = "Table and plot (equilabel)"
HEIGHT = 0.3  # of the window
CORNERS = (  # given to the docks at the sides, which keep their height
    (Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea),
    (Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea),
)


class ObjectModel(QAbstractTableModel):
    """Qt model of a table: its columns as arrays, labels first, and the order of its rows."""

    def __init__(self, parent: Any) -> None:
        super().__init__(parent)
        self.headers: list[str] = []
        self._hints: list[str] = []
        self._columns: list[HostArray] = []
        self._order = np.zeros(0, np.int64)
        self.labels = np.zeros(0, np.int64)  # of the rows, as they are sorted
        self.kept: Any = None  # which rows of the table are not gray; None for all
        self.stale = False  # whether the objects were painted since, which italics show

    def show(self, table: Table, hints: list[str]) -> None:
        """Show a table, sorted by labels; None for no table."""
        self.beginResetModel()
        self.headers, self._hints = ([] if table is None else list(table.columns)), hints
        self._columns = [table.iloc[:, k].to_numpy() for k in range(len(self.headers))]
        self.labels = self._columns[0] if self._columns else np.zeros(0, np.int64)
        self._order, self.kept = np.arange(len(self.labels)), None
        self.endResetModel()

    def rowCount(self, _: object = None) -> int:
        return len(self._order)

    def columnCount(self, _: object = None) -> int:
        return len(self.headers)

    def data(self, index: Any, role: int = ROLES.DisplayRole) -> Any:
        if role == ROLES.DisplayRole:
            return format_value(self._columns[index.column()][self._order[index.row()]])
        if role == ROLES.ForegroundRole and self.kept is not None:
            return None if self.kept[self._order[index.row()]] else GONE
        if role == ROLES.FontRole and self.stale:
            return ITALIC
        return ALIGNED if role == ROLES.TextAlignmentRole else None

    def keep(self, labels: Any) -> None:
        """Gray the rows of other objects than these; None for none."""
        known = labels is not None and self._columns
        self.kept = np.isin(self._columns[0], labels) if known else None

    def text(self, labels: Any) -> str:
        """Return the rows of objects as lines of cells, for other programs; headers first."""
        rows = self._order[np.isin(self.labels, labels)]
        columns = [[str(value) for value in column[rows].tolist()] for column in self._columns]
        return "\n".join("\t".join(cells) for cells in [self.headers, *zip(*columns, strict=True)])

    def headerData(self, section: int, side: Any, role: int = ROLES.DisplayRole) -> Any:
        texts = {ROLES.DisplayRole: self.headers, ROLES.ToolTipRole: self._hints}.get(role, [])
        known = side == Qt.Orientation.Horizontal and section < len(texts)
        return texts[section] if known else None

    def sort(self, column: int, order: Any = ASCENDING) -> None:
        """Sort the rows; missing values come last."""
        if 0 <= column < self.columnCount():
            self.beginResetModel()
            self._order = sort_rows(self._columns[column], descending=order != ASCENDING)
            self.labels = self._columns[0][self._order]
            self.endResetModel()


class TableView(QTableView):
    """The table of a labels layer: a click on a header sorts, a click on a row selects."""

    selected = Signal(object)  # labels of the objects whose rows a person has selected

    def __init__(self) -> None:
        super().__init__()
        self._marked = np.zeros(0, np.int64)
        self.objects = ObjectModel(self)
        self.setModel(self.objects)
        self.setSortingEnabled(True)
        self.horizontalHeader().setSortIndicator(0, ASCENDING)
        self.horizontalHeader().setResizeContentsPrecision(50)
        # With that of the table it would ask for each row whether it is selected.
        self.horizontalHeader().setSelectionModel(QItemSelectionModel(self.objects, self))
        self.verticalHeader().hide()
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setMinimumSize(80, 80)
        self.selectionModel().selectionChanged.connect(self._select)
        self.objects.modelReset.connect(self._show_marked)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        action = QAction("Copy rows with headers\tCtrl+C", self)
        action.triggered.connect(self.copy)
        self.addAction(action)

    def keyPressEvent(self, event: Event) -> None:
        """Copy rows, where Qt copies one cell."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def copy(self, *_: object) -> None:
        """Copy the selected rows, for other programs."""
        if len(self._marked) > MOST_COPIED:
            warn(f"Up to {MOST_COPIED:,} rows can be copied: save the table instead.")
            return
        QGuiApplication.clipboard().setText(self.objects.text(self._marked))
        inform(f"Copied {count_objects(len(self._marked))}.")

    def show_kept(self, labels: Any) -> None:
        """Show the rows of other objects than these in gray; None for none."""
        self.objects.keep(labels)
        self.viewport().update()

    def show_table(self, table: Table, hints: list[str]) -> None:
        """Show a table, sorted by the same column as the previous one; hints describe columns."""
        header, names = self.horizontalHeader(), self.objects.headers
        column, order = header.sortIndicatorSection(), header.sortIndicatorOrder()
        self._marked = self._marked[:0]
        self.objects.show(table, hints)
        kept = column < len(names) and names[column] in self.objects.headers
        place = self.objects.headers.index(names[column]) if kept else 0
        self.sortByColumn(place, order if kept else ASCENDING)
        self.resizeColumnsToContents()

    def mark(self, labels: Any) -> None:
        """Select the rows of objects, and scroll to the first, without emitting a signal."""
        labels = np.asarray(labels, dtype=np.int64)
        if not np.array_equal(labels, self._marked):  # else they were selected in this table
            self._marked = labels
            self._show_marked()

    def _show_marked(self) -> None:
        rows = np.flatnonzero(np.isin(self.objects.labels, self._marked))
        chosen, last = QItemSelection(), self.objects.columnCount() - 1
        blocks = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        for block in blocks[:MOST_BLOCKS] if rows.size else ():
            ends = (int(block[0]), 0), (int(block[-1]), last)
            chosen.select(*(self.objects.index(*end) for end in ends))
        self.selectionModel().blockSignals(True)
        self.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self.selectionModel().blockSignals(False)
        self.viewport().update()
        if rows.size:
            self.scrollTo(self.objects.index(int(rows[0]), 0))

    def _select(self, *_: object) -> None:
        chosen = self.selectionModel().selection()  # blocks of rows: Qt is slow with single ones
        blocks = [np.arange(each.top(), each.bottom() + 1) for each in chosen]
        self._marked = self.objects.labels[np.concatenate([np.zeros(0, int), *blocks])]
        self.selected.emit(self._marked)


class Below(QSplitter):
    """Table and plot side by side, docked while one of them is open."""

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer
        self.table = TableView()
        self.table.hide()
        self.addWidget(self.table)

    def open(self, part: QWidget) -> None:
        if self.parent() is None:  # not yet docked, or the dock was closed
            for number in range(self.count()):
                self.widget(number).hide()
            self._viewer.window.add_dock_widget(self, name=DOCK, area="bottom")
            dock = self.parent()  # the dock itself: the viewer of a plugin returns a proxy
            window = dock.window()
            for corner, side in CORNERS:
                window.setCorner(corner, side)
            height = int(window.height() * HEIGHT)
            window.resizeDocks([dock], [height], Qt.Orientation.Vertical)
        if part.parent() is not self:
            self.addWidget(part)
        self.parent().show()
        part.show()
        self.setSizes([1] * self.count())

    @guarded
    def leave(self) -> None:
        if self.parent() is not None:
            self._viewer.window.remove_dock_widget(self.parent())
