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


class HistogramView(QWidget):
    """A histogram; the threshold is a line that can be dragged.

    Attributes
    ----------
    dragged : Signal(int, float)
        The index of a line that was dragged, and its gray value.
    """

    dragged = Signal(int, float)

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumHeight(84)
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
        return QSize(260, 84)

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
        share = (float(value) - shown.low) / (shown.high - shown.low)
        return MARGIN + min(max(share, 0.0), 1.0) * float(self.width() - 2 * MARGIN)

    def value(self, position: float) -> float:
        """Return the gray value at a position along the widget."""
        if self.shown is None:
            return 0.0
        share = (position - MARGIN) / max(1.0, float(self.width() - 2 * MARGIN))
        share = min(max(share, 0.0), 1.0)
        return self.shown.low + share * (self.shown.high - self.shown.low)

    def paintEvent(self, _: object) -> None:
        """Draw the histogram and its lines."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(0, 0, 0, 30))
        if self.shown is None or not self.shown.counts.size:
            painter.setPen(self.palette().text().color())
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "no image")
            return
        base = self.height() - 16
        self._paint_bars(painter, base, self.shown)
        self._paint_lines(painter, base)
        self._paint_numbers(painter, base, self.shown)

    def _paint_bars(self, painter: QPainter, base: float, shown: Histogram) -> None:
        counts = shown.counts
        heights = np.sqrt(counts / max(1, counts.max()))
        width = (self.width() - 2 * MARGIN) / len(heights)
        painter.setPen(Qt.PenStyle.NoPen)
        for number, share in enumerate(heights):
            middle = MARGIN + (number + 0.5) * width
            painter.setBrush(FOREGROUND if self._is_foreground(middle) else BAR)
            height = float(share) * (base - 4)
            bar = QRectF(MARGIN + number * width, base - height, max(width, 1.0), height)
            painter.drawRect(bar)

    def _paint_numbers(self, painter: QPainter, base: float, shown: Histogram) -> None:
        painter.setPen(self.palette().text().color())
        row = QRectF(MARGIN, base, self.width() - 2 * MARGIN, 16)
        low, high = (format_number(each) for each in (shown.low, shown.high))
        painter.drawText(row, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, low)
        painter.drawText(row, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, high)

    def _is_foreground(self, position: float) -> bool:
        if not self.lines:
            return False
        line = self.position(self.lines[-1] if self.dark else self.lines[0])
        return position < line if self.dark else position > line

    def _paint_lines(self, painter: QPainter, base: float) -> None:
        for line in self.lines:
            x = self.position(line)
            painter.setPen(QPen(EDGE, 2))
            painter.drawLine(QPointF(x, 2), QPointF(x, base))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(EDGE)
            corners = [QPointF(x - 5, 0), QPointF(x + 5, 0), QPointF(x, 7)]
            painter.drawPolygon(QPolygonF(corners))

    def mousePressEvent(self, event: Event) -> None:
        """Start to drag the nearest line."""
        if not self.lines or self.shown is None or self.shown.flat:
            return
        x = event.position().x()
        distances = [abs(self.position(line) - x) for line in self.lines]
        self._dragged = int(np.argmin(distances))
        self._drag(x)

    def mouseMoveEvent(self, event: Event) -> None:
        """Move the line that is dragged."""
        if self._dragged is not None:
            self._drag(event.position().x())

    def mouseReleaseEvent(self, _: object) -> None:
        """Stop dragging."""
        self._dragged = None

    def _drag(self, x: float) -> None:
        self.dragged.emit(self._dragged, self.value(x))
