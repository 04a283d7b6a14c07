"""The roles of the axes of a layer: space, time or channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magicgui.widgets import ComboBox
from qtpy.QtWidgets import QVBoxLayout, QWidget

from equilabel.widget.logic.axes import ROLES, name_axes

from .layout import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.widget.logic.axes import Role


class AxesField(QWidget):
    """A field for the role of each axis of a layer.

    Parameters
    ----------
    changed : callable
        Called when a role is changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__()
        self._changed = changed
        self._fields: list[ComboBox] = []
        self._given: Sequence[str] = ()  # names of the axes, and their lengths
        self._lengths: Sequence[int] = ()
        self._grid = Grid()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._grid)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The role of each axis."""
        return tuple(field.value for field in self._fields)

    def show_axes(self, roles: Sequence[Role], shape: Sequence[int], names: Sequence[str]) -> None:
        """Show the axes of a layer."""
        self._fields = [
            ComboBox(
                name=f"axis_{number}",
                choices=list(ROLES),
                value=role,
                tooltip="Space: objects extend along this axis. Time: the images along it are "
                "independent. Channel: objects are found in one channel, and measured in all.",
            )
            for number, role in enumerate(roles)
        ]
        self._given, self._lengths = names, shape
        self._name()
        for field in self._fields:
            field.changed.connect(self._change)
        old, self._grid = self._grid, Grid(*self._fields)
        self.layout().replaceWidget(old, self._grid)
        old.hide()
        old.deleteLater()

    def _name(self) -> None:
        """Label the fields with the names that axes have in their roles."""
        names = name_axes(self.roles, self._given)
        for field, name, length in zip(self._fields, names, self._lengths, strict=True):
            field.label = f"{name} ({length})"

    def _change(self, *_: object) -> None:
        self._name()
        self._changed()
