"""Fields to choose from: layers, columns, and methods and devices with tool tips for each."""

from __future__ import annotations

from typing import Any

from magicgui.widgets import ComboBox
from qtpy.QtWidgets import QHBoxLayout, QWidget

import equilabel


def device_field() -> ComboBox:
    """Make a field for the device; tool tips say why a device cannot be used."""
    reports = equilabel.devices()
    field = ComboBox(
        name="device", label="Device", choices=["auto", *(each.name for each in reports)]
    )
    lines = ["Device that computes. 'auto' is the fastest that can be used."]
    for number, report in enumerate(reports, start=1):
        verdict = report.description if report.available else report.reason
        lines.append(f"{report.name}: {verdict}")
        item = field.native.model().item(number)
        item.setToolTip(verdict)
        item.setEnabled(report.available)
    field.tooltip = "\n".join(lines)
    return field


def method_field() -> ComboBox:
    """Make a field for the method, with a tool tip for each."""
    rows = [row for row in equilabel.METHODS.values() if "grid" in row.domains]
    choices = ["auto", *(row.name for row in rows)]
    field = ComboBox(name="method", label="Method", choices=choices)
    lines = ["Labeling algorithm: all give the same labels. 'auto' is the fastest."]
    for number, method in enumerate(rows, start=1):
        lines.append(f"{method.name}: {method.summary}")
        field.native.model().item(number).setToolTip(method.summary)
    field.tooltip = "\n".join(lines)
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


def side_by_side(*widgets: QWidget) -> QWidget:
    """Put widgets beside each other, with the same width."""
    box = QWidget()
    layout = QHBoxLayout(box)
    layout.setContentsMargins(0, 0, 0, 0)
    for widget in widgets:
        layout.addWidget(widget, 1)
    return box
