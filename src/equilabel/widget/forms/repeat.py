"""Copies how labels were made to the clipboard: as Python, or as a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtpy.QtGui import QGuiApplication

from equilabel.widget.viewer.layers import made_by
from equilabel.widget.viewer.notifications import inform, warn

if TYPE_CHECKING:
    from equilabel.widget.napari_types import Layer


def copy_run(layer: Layer, language: str) -> None:
    """Copy the run that made a labels layer as "python" or "batch", or warn why it cannot be."""
    made = made_by(layer)
    if "python" not in made:
        warn(
            f"Only labels found by 'Label components' can be repeated, not {layer.name!r}: "
            "run it on the image first."
        )
        return
    if not made[language]:
        warn(f"A command cannot repeat a run with {made['no_batch']}: use 'Copy as Python'.")
        return
    QGuiApplication.clipboard().setText(made[language])
    if language == "python":
        inform("Copied a line of Python: paste it into the console of napari.")
    elif made.get("from_file", True):
        inform("Copied a command: paste it into a terminal.")
    else:
        inform(
            f"Copied a command for 'image.tif': save {made['image']!r} under that name, or "
            "put the name of its file into the command."
        )
