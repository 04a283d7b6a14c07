"""The legend of a color scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from qtpy.QtCore import QRectF, Qt
from qtpy.QtGui import QColor, QLinearGradient, QPainter
from qtpy.QtWidgets import QWidget

from equilabel.widget.logic.summary import format_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARGIN = 6


class Legend(QWidget):
    """The color scale of objects, with its limits and the column it stands for."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(34)
        self._scale: NDArray[np.float64] | None = None
        self._texts = ("", "", "")

    def show_scale(
        self, scale: NDArray[np.float64] | None, low: float, high: float, name: str
    ) -> None:
        """Show a color scale between two values, or nothing."""
        self._scale = scale
        self._texts = (format_number(low), name, format_number(high))
        self.setVisible(scale is not None)
        self.update()

    def paintEvent(self, _: object) -> None:
        """Draw the scale and its limits."""
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
        for side, text in zip(sides, self._texts, strict=True):
            painter.drawText(below, side | Qt.AlignmentFlag.AlignVCenter, text)
