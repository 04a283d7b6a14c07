"""The fields of the last run, kept for the next form."""

import json
from typing import Any

from qtpy.QtCore import QSettings


def _store() -> Any:
    return QSettings("equilabel", "napari")


def remember(values: dict[str, Any]) -> None:
    """Keep the values of fields."""
    _store().setValue("fields", json.dumps(values))


def recall() -> dict[str, Any]:
    """Return the values of fields that were kept last; empty if there are none."""
    try:
        values: dict[str, Any] = json.loads(_store().value("fields", "{}"))
    except ValueError:  # another program has written there
        return {}
    return values
