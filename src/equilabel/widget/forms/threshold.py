"""The threshold: its histogram, method, level or levels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from magicgui.widgets import CheckBox, ComboBox, FloatSpinBox
from qtpy.QtCore import QPointF, QRectF, Qt, Signal
from qtpy.QtGui import QColor, QPainter, QPen, QPolygonF
from qtpy.QtWidgets import QAbstractSpinBox, QWidget
from superqt.utils import signals_blocked

from equilabel.options import describe
from equilabel.widget import Event
from equilabel.widget.logic.objects import format_number
from equilabel.widget.logic.planes import UNKNOWN, Histogram

from .fields import HEIGHT, KEYS, LengthField, field, make_slider, set_range
from .layout import Row, side_by_side

EDGE = QColor(235, 170, 0)  # visible on dark and on light
BAR = QColor(130, 150, 175)
FOREGROUND = QColor(235, 170, 0, 150)
MARGIN = 6
TALL, BELOW = 84, 16  # of the widget, and of the numbers below the bars
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
        self.setFixedHeight(TALL)
        self.shown = UNKNOWN
        self.lines: tuple[float, ...] = ()
        self.dark = False
        self._dragged: int | None = None

    @property
    def _ends(self) -> tuple[int, int]:
        return MARGIN, max(self.width() - MARGIN, MARGIN + 1)

    def position(self, value: float) -> float:
        """Return the horizontal position of a gray value in the widget."""
        shown = self.shown
        return MARGIN if shown.flat else float(np.interp(value, shown[:2], self._ends))

    def paintEvent(self, _: object) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(0, 0, 0, 30))
        if not self.shown.counts.size:
            return
        text = self.palette().text().color()
        base = self.height() - BELOW
        self._paint_bars(painter, base)
        for x in map(self.position, self.lines):
            painter.setPen(QPen(EDGE, 2))
            painter.drawLine(QPointF(x, 2), QPointF(x, base))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(EDGE)
            painter.drawPolygon(QPolygonF([QPointF(x - 5, 0), QPointF(x + 5, 0), QPointF(x, 7)]))
        painter.setPen(text)
        row = QRectF(MARGIN, base, self.width() - 2 * MARGIN, BELOW)
        for side, number in zip(SIDES, self.shown[:2], strict=True):
            painter.drawText(row, side | Qt.AlignmentFlag.AlignVCenter, format_number(number))

    def _paint_bars(self, painter: QPainter, base: float) -> None:
        counts = self.shown.counts
        heights = np.sqrt(counts / max(1, counts.max())) * (base - 4)
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
        if self.lines and not self.shown.flat:
            x = event.position().x()
            self._dragged = int(np.argmin([abs(self.position(line) - x) for line in self.lines]))
            self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: Event) -> None:
        if self._dragged is not None:
            value = float(np.interp(event.position().x(), self._ends, self.shown[:2]))
            self.dragged.emit(self._dragged, value)

    def mouseReleaseEvent(self, _: object) -> None:
        self._dragged = None


CHOICES = [
    ("One for each object", "per_object"),
    *((name.title(), name) for name in ("otsu", "li", "triangle", "yen", "isodata", "mean")),
    ("Minimum of two peaks", "minimum"),
    ("Local", "local"),
    ("Manual", "number"),
    ("Hysteresis (low, high)", "hysteresis"),
]
TIPS = {
    "method": "Method that finds the threshold. Or set it with the slider, or by dragging the line "
    "in the histogram.",
    "level": "Objects are pixels above the level; if they are dark, below.",
    "automatic": "Objects must differ from their surroundings by three times the noise, so that an "
    "empty background has none.",
    "levels": f"Objects are pixels above low that are connected to a pixel above high. {KEYS}",
}
BLOCK: dict[str, Any] = {"start": 51, "least": 3, "most": 6001, "step": 2, "decimals": 0}
MANUAL = ("number", "hysteresis")
STEPS = 1000  # of a slider over the range of an image


class ThresholdField:
    """A method or a level; calls `choose` and `move` on changes, `say` with a remark."""

    method = field(ComboBox, "Threshold", TIPS["method"], choices=CHOICES, then="_change_method")
    offset = field(FloatSpinBox, "", min=-1e9, max=1e9, step=1.0, then="_update")
    automatic = field(CheckBox, "Auto offset", TIPS["automatic"], value=True, then="_update")
    dark = field(CheckBox, "Objects are dark", then="_update")

    def __init__(
        self, choose: Callable[[], None], move: Callable[[], None], say: Callable[[str], None]
    ) -> None:
        self._choose, self._tell, self._say = choose, move, say
        self._estimate: float | None = None
        self.histogram = HistogramView()
        self.slider, self.range = make_slider(), make_slider(several=True)
        tip = describe("block_size")
        self.block_size = LengthField("Block, offset", tip, "block", **BLOCK)
        self._local = side_by_side(self.block_size.native, self.offset.native, widths=(3, 2))
        self._local.setFixedHeight(HEIGHT)
        self.block_size.pixels.setFixedWidth(66)
        for each in self._local.findChildren(QAbstractSpinBox):
            each.setButtonSymbols(each.ButtonSymbols.NoButtons)
            each.setStyleSheet("min-width: 50px; padding: 1px 4px")
        # One of the fields for levels is visible at a time, so that no field below moves.
        self.rows = (
            self.histogram,
            self.method,
            Row("Level", TIPS["level"], self.slider),
            Row("Low, high", TIPS["levels"], self.range),
            Row("Block, offset", tip, self._local),
            Row("", describe("dark"), side_by_side(self.dark.native, self.automatic.native)),
        )
        for changed in (self.slider.valueChanged, self.range.valueChanged):
            changed.connect(self._move)
        self.block_size.changed.connect(self._update)
        self.histogram.dragged.connect(self._drag)
        self._show_fields()
        self.offset.enabled = False

    @property
    def choice(self) -> str | float | tuple[float, float]:
        method: str = self.method.value
        numbers: dict[str, float | tuple[float, float]]
        low, high = map(self._as_shown, self.range.value())
        numbers = {"number": self._as_shown(self.slider.value()), "hysteresis": (low, high)}
        return numbers.get(method, method)

    @property
    def shift(self) -> float | str:
        """The offset of a local threshold."""
        return "auto" if self.automatic.value else float(self.offset.value)

    def _as_shown(self, value: float) -> float:
        return float(round(value)) if self.histogram.shown.whole else value

    @property
    def level(self) -> float | tuple[float, float] | None:
        """The threshold as a number; None if it is unknown."""
        choice = self.choice
        return self._estimate if isinstance(choice, str) else choice

    def show_histogram(self, histogram: Histogram) -> None:
        """Show a histogram, and set the sliders to its range, wider for values a person set."""
        self.histogram.shown = histogram
        self._show_lines()
        if not histogram.counts.size:
            self._say("")
            self._estimate = None
            return
        low, high = histogram.low, histogram.high + histogram.flat
        step = (high - low) / STEPS
        step = max(1.0, round(step)) if histogram.whole else step
        decimals = 0 if histogram.whole else 2 - np.log10(step)
        for slider, manual in zip((self.slider, self.range), MANUAL, strict=True):
            kept = np.array(slider.value() if self.method.value == manual else low)
            ends = min(low, kept.min()), max(high, kept.max())
            set_range(slider, *ends, step, decimals)

    def show_estimate(self, found: float | None, remark: str) -> None:
        """Show the threshold that a run will find, and a remark on it."""
        self._estimate = found
        automatic = self.method.value not in (*MANUAL, "local")
        if automatic and found is not None:
            with signals_blocked(self.slider):
                self.slider.setValue(found)
        self._say(remark if automatic else "")
        self._show_lines()

    def set_level(self, level: float | tuple[float, float]) -> None:
        """Set the level, or the low and the high one."""
        several = isinstance(level, tuple)
        slider = self.range if several else self.slider
        self._set_manual(MANUAL[several])
        with signals_blocked(slider):
            ends = slider.minimum(), slider.maximum(), level
            slider.setRange(np.hstack(ends).min(), np.hstack(ends).max())
            slider.setValue(level)
        self._update()

    def _set_manual(self, method: str = "number") -> None:
        with self.method.changed.blocked():
            self.method.value = method
        self._show_fields()

    def _change_method(self, *_: object) -> None:
        if self.method.value == "hysteresis":
            low, high = self.range.minimum(), self.range.maximum()
            known = self.slider.value()
            middle = known if low < known < high else (low + high) / 2
            with signals_blocked(self.range):
                self.range.setValue((middle - (middle - low) / 4, middle + (high - middle) / 4))
        self._show_fields()
        self._show_lines()
        self._choose()

    def _show_fields(self) -> None:
        method = self.method.value
        self.slider.setVisible(method not in ("hysteresis", "local"))
        self.range.setVisible(method == "hysteresis")
        self._local.setVisible(method == "local")
        self.automatic.visible = method == "local"

    def _move(self, *_: object) -> None:
        if self.method.value not in MANUAL:
            self._set_manual()  # moving the slider sets a number
        self._update()

    def _update(self, *_: object) -> None:
        self.offset.enabled = not self.automatic.value
        self._show_lines()
        self._tell()

    def _drag(self, line: int, value: float) -> None:
        if self.method.value == "hysteresis":
            low, high = self.range.value()
            self.range.setValue((min(value, high), high) if line == 0 else (low, max(value, low)))
        else:
            self.set_level(value)

    def _show_lines(self) -> None:
        level = self.level
        view = self.histogram
        view.lines = () if level is None else level if isinstance(level, tuple) else (level,)
        view.dark = self.dark.value
        view.update()
