"""The histogram of an image, with its threshold as a line that can be dragged."""

import numpy as np
from qtpy.QtCore import QPointF, QRectF, Qt, Signal
from qtpy.QtGui import QColor, QPainter, QPen, QPolygonF
from qtpy.QtWidgets import QWidget

from equilabel.widget.logic.histogram import Histogram
from equilabel.widget.logic.objects import format_number
from equilabel.widget.napari_types import Event

EDGE = QColor(235, 170, 0)  # visible on dark and on light
BAR = QColor(130, 150, 175)
FOREGROUND = QColor(235, 170, 0, 150)
MARGIN = 6
HEIGHT, BELOW = 84, 16  # of the widget, and of the numbers below the bars
SIDES = (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight)
TIP = (
    "Histogram of the gray values (heights are square roots of counts). "
    "Drag the line to change the threshold."
)


class HistogramView(QWidget):
    """A histogram; the threshold is a line that can be dragged."""

    dragged = Signal(int, float)  # the index of a line, and its gray value

    def __init__(self) -> None:
        super().__init__(toolTip=TIP)
        self.setFixedHeight(HEIGHT)
        self.shown: Histogram | None = None
        self.lines: tuple[float, ...] = ()
        self.dark = False
        self._dragged: int | None = None

    def show_histogram(self, histogram: Histogram | None) -> None:
        self.shown = histogram
        self.update()

    def show_lines(self, lines: tuple[float, ...], *, dark: bool) -> None:
        self.lines, self.dark = lines, dark
        self.update()

    @property
    def _ends(self) -> tuple[int, int]:
        return MARGIN, max(self.width() - MARGIN, MARGIN + 1)

    def position(self, value: float) -> float:
        """Return the horizontal position of a gray value in the widget."""
        shown = self.shown
        if shown is None or shown.flat:
            return MARGIN
        return float(np.interp(value, (shown.low, shown.high), self._ends))

    def paintEvent(self, _: object) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(0, 0, 0, 30))
        text = self.palette().text().color()
        if self.shown is None or not self.shown.counts.size:
            painter.setPen(text)
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "no histogram")
            return
        base = self.height() - BELOW
        self._paint_bars(painter, base, self.shown)
        for x in map(self.position, self.lines):
            painter.setPen(QPen(EDGE, 2))
            painter.drawLine(QPointF(x, 2), QPointF(x, base))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(EDGE)
            painter.drawPolygon(QPolygonF([QPointF(x - 5, 0), QPointF(x + 5, 0), QPointF(x, 7)]))
        painter.setPen(text)
        row = QRectF(MARGIN, base, self.width() - 2 * MARGIN, BELOW)
        for side, number in zip(SIDES, (self.shown.low, self.shown.high), strict=True):
            painter.drawText(row, side | Qt.AlignmentFlag.AlignVCenter, format_number(number))

    def _paint_bars(self, painter: QPainter, base: float, shown: Histogram) -> None:
        heights = np.sqrt(shown.counts / max(1, shown.counts.max())) * (base - 4)
        width = (self.width() - 2 * MARGIN) / len(heights)
        lines = sorted(map(self.position, self.lines))
        for number, height in enumerate(heights.tolist()):
            left = MARGIN + number * width
            middle = left + width / 2
            found = lines and (middle < lines[-1] if self.dark else middle > lines[0])
            bar = QRectF(left, base - height, max(width, 1.0), height)
            painter.fillRect(bar, FOREGROUND if found else BAR)

    def mousePressEvent(self, event: Event) -> None:
        """Start to drag the nearest line."""
        if self.lines and self.shown is not None and not self.shown.flat:
            x = event.position().x()
            self._dragged = int(np.argmin([abs(self.position(line) - x) for line in self.lines]))
            self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: Event) -> None:
        if self._dragged is not None and self.shown is not None:
            ends = (self.shown.low, self.shown.high)
            value = float(np.interp(event.position().x(), self._ends, ends))
            self.dragged.emit(self._dragged, value)

    def mouseReleaseEvent(self, _: object) -> None:
        self._dragged = None
