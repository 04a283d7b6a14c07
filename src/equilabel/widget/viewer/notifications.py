"""Notifications of napari: hints, warnings, questions, and errors without a traceback."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from napari.utils.notifications import show_info, show_warning
from qtpy.compat import isalive
from qtpy.QtWidgets import QMessageBox, QWidget

from equilabel.widget.logic.messages import explain

inform, warn = show_info, show_warning


def ask(form: QWidget, title: str, text: str, more: str, buttons: dict[str, str]) -> str:
    """Ask a question above a form, with buttons and their roles; return the pressed button.

    The Enter key presses the first button.
    """
    box = QMessageBox(form)
    box.setWindowTitle(title)
    box.setText(text)
    box.setInformativeText(more)
    roles = {
        words: getattr(QMessageBox.ButtonRole, f"{role}Role") for words, role in buttons.items()
    }
    made = {words: box.addButton(words, role) for words, role in roles.items()}
    box.setDefaultButton(next(iter(made.values())))
    box.exec()
    return next((words for words, each in made.items() if each is box.clickedButton()), "")


def guarded(slot: Callable[..., Any]) -> Callable[..., None]:
    """Make a slot of a widget show its errors as warnings.

    It does nothing after Qt has deleted the widget. Values of the signal are not passed on.
    """

    @wraps(slot)
    def call(self: Any, *_: object, **__: object) -> None:
        try:
            if isalive(self):
                slot(self)
        except Exception as error:
            warn(explain(error))

    return call
