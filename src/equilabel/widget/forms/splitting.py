"""The field for splitting objects that touch: whether, and how deep a neck has to be."""

from __future__ import annotations

from magicgui.widgets import CheckBox, FloatSpinBox
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QVBoxLayout, QWidget

from .layout import column

DEPTH = 0.8  # pixels, as `equilabel.split_touching` takes it by default


class SplittingField(QWidget):
    """Whether objects are split, and at which necks.

    Attributes
    ----------
    changed : Signal()
        What is split has changed.
    wanted, depth : magicgui.widgets.CheckBox, magicgui.widgets.FloatSpinBox
        What a person chooses and types.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.wanted = CheckBox(
            name="split",
            text="Split objects that touch",
            tooltip="Part objects where they have a neck, before they are dropped by size and "
            "measured.",
        )
        self.depth = FloatSpinBox(
            name="split_depth",
            label="Neck depth, pixels",
            value=DEPTH,
            min=0.1,
            max=1e6,
            step=0.1,
            tooltip="Objects are parted where the radius of the smaller one exceeds that of the "
            "neck by more. Lower it to part more objects.",
        )
        self.depth.visible = False
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(column(self.wanted, self.depth).native)
        self.wanted.changed.connect(self._change)
        self.depth.changed.connect(self._change)

    @property
    def choice(self) -> bool | float:
        """The argument of `equilabel.segment`."""
        if not self.wanted.value:
            return False
        depth = round(float(self.depth.value), 3)
        return True if depth == DEPTH else depth

    def _change(self, *_: object) -> None:
        self.depth.visible = bool(self.wanted.value)
        self.changed.emit()
