"""Notifications of napari: hints, warnings, and errors without a traceback."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from napari.utils.notifications import show_info, show_warning
from qtpy.QtWidgets import QMessageBox

from equilabel.widget.logic.messages import explain

if TYPE_CHECKING:
    from collections.abc import Callable

    from qtpy.QtWidgets import QWidget

inform, warn = show_info, show_warning
_shown: set[str] = set()


def warn_once(sentence: str) -> None:
    """Show a warning, unless it is empty or was shown by this process before."""
    if sentence and sentence not in _shown:
        _shown.add(sentence)
        warn(sentence)


def ask_to_replace(form: QWidget, name: str, changes: str) -> str:
    """Ask what becomes of labels that a person changed.

    Parameters
    ----------
    form : QWidget
        The dialog opens above it.
    name : str
        Of the labels layer.
    changes : str
        What was changed.

    Returns
    -------
    {"replace", "keep", "cancel"}
    """
    box = QMessageBox(form)
    box.setWindowTitle("Replace labels")
    box.setText(f"Replace {name!r}? Since its objects were found, {changes}.")
    box.setInformativeText("If you keep it, the new labels get a layer of their own.")
    keep = box.addButton("Keep it", QMessageBox.ButtonRole.AcceptRole)
    replace = box.addButton("Replace", QMessageBox.ButtonRole.DestructiveRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(keep)
    box.exec()
    pressed = box.clickedButton()
    return "replace" if pressed is replace else "keep" if pressed is keep else "cancel"


def guarded(slot: Callable[..., Any]) -> Callable[..., None]:
    """Make a slot show the error it raises as a warning.

    Values of the signal are not passed on to the slot.
    """

    @wraps(slot)
    def call(self: Any, *_: object, **__: object) -> None:
        try:
            slot(self)
        except Exception as error:  # whatever it is
            warn(explain(error))

    return call
