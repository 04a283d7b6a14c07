"""Fields to choose from: layers, columns, and methods and devices with tool tips for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magicgui.widgets import ComboBox
from qtpy.QtWidgets import QHBoxLayout, QWidget

import equilabel
from equilabel.widget.logic.sources import COLORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from equilabel.widget.napari_types import Layer


def layer_field(name: str, label: str, tooltip: str) -> ComboBox:
    """Make a field for a layer; `offer_layers` says which there are."""
    return ComboBox(name=name, label=label, choices=[], nullable=True, tooltip=tooltip)


def color_field() -> ComboBox:
    """Make a field for the gray values of a color image."""
    hint = "Gray values of a color image: its luminance, or one of its colors."
    return ComboBox(name="color", label="Color", choices=list(COLORS), tooltip=hint)


def device_field() -> ComboBox:
    """Make a field for the device; tool tips say why a device cannot be used."""
    reports = equilabel.devices()
    hints = {each.name: each.description if each.available else each.reason for each in reports}
    summary = "Device that computes. 'auto' is the fastest that can be used."
    field = _explained("device", "Device", summary, hints)
    for number, report in enumerate(reports, start=1):
        field.native.model().item(number).setEnabled(report.available)
    return field


def method_field() -> ComboBox:
    """Make a field for the method, with a tool tip for each."""
    rows = [row for row in equilabel.METHODS.values() if "grid" in row.domains]
    summary = "Labeling algorithm: all give the same labels. 'auto' is the fastest."
    return _explained("method", "Method", summary, {row.name: row.summary for row in rows})


def _explained(name: str, label: str, summary: str, hints: dict[str, str]) -> ComboBox:
    """Make a field for "auto" and other choices, with a hint for each of them."""
    field = ComboBox(name=name, label=label, choices=["auto", *hints])
    field.tooltip = "\n".join([summary, *(f"{each}: {hint}" for each, hint in hints.items())])
    for number, hint in enumerate(hints.values(), start=1):
        field.native.model().item(number).setToolTip(hint)
    return field


def offer(field: ComboBox, choices: Any, usual: Any = None) -> None:
    """Offer choices; what was chosen before stays, if it is among them, else it is the usual."""
    before = field.value
    with field.changed.blocked():
        field.choices = choices
        if before is not None and before in field.choices:
            field.value = before
        elif usual is not None:
            field.value = usual


def offer_layers(field: ComboBox, layers: Sequence[Layer]) -> None:
    """Offer layers; the last one is chosen if the one before is gone."""
    offer(field, [(each.name, each) for each in layers], layers[-1] if layers else None)


def side_by_side(*widgets: QWidget) -> QWidget:
    """Put widgets beside each other, with the same width."""
    box = QWidget()
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        layout.addWidget(widget, 1)
    return box
