"""The roles of the axes of a layer: space, time or channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magicgui.widgets import ComboBox, Container
from qtpy.QtWidgets import QVBoxLayout, QWidget

from equilabel.widget.logic.axes import ROLES

from .layout import column

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
        self._container: Container | None = None
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The role of each axis."""
        return tuple(field.value for field in self._fields)

    def show_axes(self, roles: Sequence[Role], shape: Sequence[int], names: Sequence[str]) -> None:
        """Show the axes of a layer."""
        self._fields = [
            ComboBox(
                name=f"axis_{number}",
                label=f"{name}  ({length})",
                choices=list(ROLES),
                value=role,
                tooltip="Space: objects extend along this axis. Time: the images along it are "
                "independent. Channel: objects are found in one channel, and measured in all.",
            )
            for number, (role, length, name) in enumerate(zip(roles, shape, names, strict=True))
        ]
        for field in self._fields:
            field.changed.connect(self._changed)
        old, self._container = self._container, column(*self._fields)
        self._layout.addWidget(self._container.native)
        if old is not None:
            self._layout.removeWidget(old.native)
            old.native.hide()
            old.native.deleteLater()
