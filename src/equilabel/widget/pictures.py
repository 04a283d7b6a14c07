"""Small pictures in the forms: a histogram with the threshold, the legend of a color scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from qtpy.QtCore import QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QColor, QLinearGradient, QPainter, QPen, QPolygonF
from qtpy.QtWidgets import QSizePolicy, QWidget

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .histograms import Spread

EDGE = QColor(255, 215, 30)  # as the preview's outline
BAR = QColor(130, 150, 175)
FOREGROUND = QColor(255, 215, 30, 110)
NEAR = 8  # pixels from a line within which it is the one that is dragged
MARGIN = 6


class HistogramView(QWidget):
    """Histogram of an image; its threshold is a line to drag.

    Attributes
    ----------
    dragged : Signal(int, float)
        Which line was dragged, and the gray value where it is now.
    """

    dragged = Signal(int, float)

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumHeight(84)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip(
            "How often each gray value occurs (the height is the square root of the count). "
            "Drag the line to move the threshold."
        )
        self.spread: Spread | None = None
        self.lines: tuple[float, ...] = ()
        self.dark = False
        self._held: int | None = None

    def sizeHint(self) -> QSize:
        """Return how large it would like to be."""
        return QSize(260, 84)

    def show_spread(self, spread: Spread | None) -> None:
        """Show another histogram."""
        self.spread = spread
        self.update()

    def show_lines(self, lines: tuple[float, ...], *, dark: bool) -> None:
        """Show the threshold, or low and high."""
        self.lines, self.dark = lines, dark
        self.update()

    def place(self, value: float) -> float:
        """Return where on the widget a gray value is."""
        spread = self.spread
        if spread is None or spread.flat:
            return MARGIN
        share = (float(value) - spread.low) / (spread.high - spread.low)
        return MARGIN + min(max(share, 0.0), 1.0) * float(self.width() - 2 * MARGIN)

    def value(self, place: float) -> float:
        """Return which gray value is somewhere on the widget."""
        if self.spread is None:
            return 0.0
        share = (place - MARGIN) / max(1.0, float(self.width() - 2 * MARGIN))
        share = min(max(share, 0.0), 1.0)
        return self.spread.low + share * (self.spread.high - self.spread.low)

    def paintEvent(self, _: Any) -> None:
        """Draw it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(0, 0, 0, 45))
        if self.spread is None or not self.spread.counts.size:
            painter.setPen(QColor(150, 150, 150))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, "no image")
            return
        base = self.height() - 16
        heights = np.sqrt(self.spread.counts / max(1, self.spread.counts.max()))
        wide = (self.width() - 2 * MARGIN) / len(heights)
        painter.setPen(Qt.PenStyle.NoPen)
        for number, height in enumerate(heights):
            middle = MARGIN + (number + 0.5) * wide
            painter.setBrush(FOREGROUND if self._is_foreground(middle) else BAR)
            tall = float(height) * (base - 4)
            painter.drawRect(QRectF(MARGIN + number * wide, base - tall, max(wide, 1.0), tall))
        self._paint_lines(painter, base)
        painter.setPen(QColor(150, 150, 150))
        edge = QRectF(MARGIN, base, self.width() - 2 * MARGIN, 16)
        low, high = (spell(each) for each in (self.spread.low, self.spread.high))
        painter.drawText(edge, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, low)
        painter.drawText(edge, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, high)
        if self.lines:
            text = " to ".join(spell(line) for line in self.lines)
            painter.setPen(EDGE)
            painter.drawText(
                edge, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter, text
            )

    def _is_foreground(self, place: float) -> bool:
        if not self.lines:
            return False
        line = self.place(self.lines[-1] if self.dark else self.lines[0])
        return place < line if self.dark else place > line

    def _paint_lines(self, painter: QPainter, base: float) -> None:
        for line in self.lines:
            place = self.place(line)
            painter.setPen(QPen(EDGE, 2))
            painter.drawLine(QPointF(place, 2), QPointF(place, base))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(EDGE)
            corners = [QPointF(place - 5, 0), QPointF(place + 5, 0), QPointF(place, 7)]
            painter.drawPolygon(QPolygonF(corners))

    def mousePressEvent(self, event: Any) -> None:
        """Take hold of the nearest line."""
        if not self.lines or self.spread is None or self.spread.flat:
            return
        place = event.position().x()
        far = [abs(self.place(line) - place) for line in self.lines]
        self._held = int(np.argmin(far))
        self._drag(place)

    def mouseMoveEvent(self, event: Any) -> None:
        """Drag the line that is held."""
        if self._held is not None:
            self._drag(event.position().x())

    def mouseReleaseEvent(self, _: Any) -> None:
        """Let go."""
        self._held = None

    def _drag(self, place: float) -> None:
        self.dragged.emit(self._held, self.value(place))


class Legend(QWidget):
    """The scale of colors by which objects are colored."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(34)
        self._scale: NDArray[np.float64] | None = None
        self._words = ("", "", "")

    def show_scale(
        self, scale: NDArray[np.float64] | None, low: float, high: float, name: str
    ) -> None:
        """Show a scale between two values, or nothing."""
        self._scale = scale
        self._words = (spell(low), name, spell(high))
        self.setVisible(scale is not None)
        self.update()

    def paintEvent(self, _: Any) -> None:
        """Draw it."""
        if self._scale is None:
            return
        painter = QPainter(self)
        bar = QRectF(MARGIN, 2, self.width() - 2 * MARGIN, 12)
        gradient = QLinearGradient(bar.topLeft(), bar.topRight())
        for share in np.linspace(0, 1, 33):
            color = self._scale[int(share * (len(self._scale) - 1))]
            gradient.setColorAt(float(share), QColor.fromRgbF(*(float(part) for part in color)))
        painter.fillRect(bar, gradient)
        painter.setPen(QColor(170, 170, 170))
        below = QRectF(MARGIN, 16, self.width() - 2 * MARGIN, 16)
        sides = (
            Qt.AlignmentFlag.AlignLeft,
            Qt.AlignmentFlag.AlignHCenter,
            Qt.AlignmentFlag.AlignRight,
        )
        for side, word in zip(sides, self._words, strict=True):
            painter.drawText(below, side | Qt.AlignmentFlag.AlignVCenter, word)


def spell(value: float) -> str:
    """Write a number in few digits.

    Examples
    --------
    >>> spell(1234.0), spell(0.123456), spell(65535.0)
    ('1234', '0.1235', '65535')
    """
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e7 else f"{value:.4g}"
