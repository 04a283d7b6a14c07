"""Buttons that copy how labels were made: as Python, or as a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import QHBoxLayout, QWidget

from equilabel.widget.logic.runs import KEY
from equilabel.widget.viewer.notifications import guarded, inform, warn

from .layout import button

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.widget.napari_types import Layer


class RepeatButtons(QWidget):
    """Buttons that copy how labels were made.

    Parameters
    ----------
    layer : callable
        Returns the labels layer, or raises an error that says what is missing.
    """

    def __init__(self, layer: Callable[[], Layer]) -> None:
        super().__init__()
        self._require_layer = layer
        self.buttons = (
            button(
                "Copy as Python", "Copy a line of Python that repeats the run that made the labels."
            ),
            button(
                "Copy as command",
                "Copy a command for a terminal that repeats the run on this file, or on folders.",
            ),
        )
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for each, copy in zip(self.buttons, (self._copy_python, self._copy_batch), strict=True):
            layout.addWidget(each)
            each.clicked.connect(copy)

    @guarded
    def _copy_python(self) -> None:
        self._copy("python", "Copied a line of Python: paste it into the console of napari.")

    @guarded
    def _copy_batch(self) -> None:
        made = self._require_layer().metadata.get(KEY, {})
        told = "Copied a command: paste it into a terminal."
        if made.get("batch") and not made.get("from_file", True):
            told = (
                f"Copied a command for 'image.tif': save {made['image']!r} under that name, or "
                "put the name of its file into the command."
            )
        self._copy("batch", told)

    def _copy(self, key: str, told: str) -> None:
        layer = self._require_layer()
        made = layer.metadata.get(KEY, {})
        if "python" not in made:
            warn(
                f"Only labels found by 'Label components' can be repeated, not {layer.name!r}: "
                "run it on the image first."
            )
        elif not made[key]:
            warn(f"A command cannot repeat a run with {made['no_batch']}: use 'Copy as Python'.")
        else:
            QGuiApplication.clipboard().setText(made[key])
            inform(told)
