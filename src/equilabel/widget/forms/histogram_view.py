"""The histogram of an image, with its threshold as a line to drag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from qtpy.QtCore import QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QColor, QPainter, QPen, QPolygonF
from qtpy.QtWidgets import QSizePolicy, QWidget

from equilabel.widget.logic.objects import format_number

if TYPE_CHECKING:
    from equilabel.widget.logic.histogram import Histogram
    from equilabel.widget.napari_types import Event

EDGE = QColor(235, 170, 0)  # is seen on dark and on light
BAR = QColor(130, 150, 175)
FOREGROUND = QColor(235, 170, 0, 150)
MARGIN = 6
HEIGHT, BELOW = 84, 16  # of all, and of the numbers below the bars
SIDES = (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight)


class HistogramView(QWidget):
    """A histogram; the threshold is a line that can be dragged."""

    dragged = Signal(int, float)  # the index of a line, and its gray value

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip(
            "Histogram of the gray values (heights are square roots of counts). "
            "Drag the line to change the threshold."
        )
        self.shown: Histogram | None = None
        self.lines: tuple[float, ...] = ()
        self.dark = False
        self._dragged: int | None = None

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(260, HEIGHT)

    def show_histogram(self, histogram: Histogram | None) -> None:
        """Show a histogram, or none."""
        self.shown = histogram
        self.update()

    def show_lines(self, lines: tuple[float, ...], *, dark: bool) -> None:
        """Show the threshold as a line, or as two."""
        self.lines, self.dark = lines, dark
        self.update()

    def position(self, value: float) -> float:
        """Return the position of a gray value along the widget."""
        shown = self.shown
        if shown is None or shown.flat:
            return MARGIN
        ends = (MARGIN, self.width() - MARGIN)
        return float(np.interp(value, (shown.low, shown.high), ends))

    def value(self, position: float) -> float:
        """Return the gray value at a position along the widget."""
        if self.shown is None:
            return 0.0
        ends = (MARGIN, max(self.width() - MARGIN, MARGIN + 1))
        return float(np.interp(position, ends, (self.shown.low, self.shown.high)))

    def paintEvent(self, _: object) -> None:
        """Draw the histogram and its lines."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(0, 0, 0, 30))
        text = self.palette().text().color()
        if self.shown is None or not self.shown.counts.size:
            painter.setPen(text)
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "no image")
            return
        base = self.height() - BELOW
        self._paint_bars(painter, base, self.shown)
        for line in self.lines:
            x = self.position(line)
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
        lines = sorted(self.position(line) for line in self.lines)
        painter.setPen(Qt.PenStyle.NoPen)
        for number, height in enumerate(heights.tolist()):
            left = MARGIN + number * width
            middle = left + width / 2
            found = lines and (middle < lines[-1] if self.dark else middle > lines[0])
            painter.setBrush(FOREGROUND if found else BAR)
            painter.drawRect(QRectF(left, base - height, max(width, 1.0), height))

    def mousePressEvent(self, event: Event) -> None:
        """Start to drag the nearest line."""
        if not self.lines or self.shown is None or self.shown.flat:
            return
        x = event.position().x()
        self._dragged = int(np.argmin([abs(self.position(line) - x) for line in self.lines]))
        self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: Event) -> None:
        """Move the line that is dragged."""
        if self._dragged is not None:
            self.dragged.emit(self._dragged, self.value(event.position().x()))

    def mouseReleaseEvent(self, _: object) -> None:
        """Stop dragging."""
        self._dragged = None
