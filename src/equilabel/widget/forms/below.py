"""Table and plot, side by side in a dock below the canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtpy.QtCore import Qt
from qtpy.QtWidgets import QSplitter, QWidget

from .table import TableView

if TYPE_CHECKING:
    from equilabel.widget.napari_types import Viewer

DOCK = "Table and plot (equilabel)"
HEIGHT = 0.3  # of the window
CORNERS = (  # belong to the docks at the sides, which keep their height
    (Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea),
    (Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea),
)


class Below(QSplitter):
    """Table and plot, side by side; docked while one of them is open."""

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = viewer
        self.table = TableView()
        self.table.hide()
        self.addWidget(self.table)

    def open(self, part: QWidget) -> None:
        """Show the table or a plot."""
        if self.parent() is None:  # as at first, and once a person has closed the dock
            for number in range(self.count()):
                self.widget(number).hide()
            self._viewer.window.add_dock_widget(self, name=DOCK, area="bottom")
            dock = self.parent()  # the viewer of a plugin returns a proxy of it
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

    def leave(self) -> None:
        """Close the dock."""
        if self.parent() is not None:
            self._viewer.window.remove_dock_widget(self.parent())
