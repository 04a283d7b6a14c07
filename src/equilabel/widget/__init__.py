"""The napari face: forms, a table to look at, sample images. Nothing loads before it is asked for.

`SegmentForm` finds the objects of an image layer, `MeasureForm` measures those of a labels layer.
What needs no screen (axes, pixels, tables, colors, lines to repeat a run) is in files that import
neither Qt nor napari.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {
    "SegmentForm": "segmenting",
    "MeasureForm": "measuring",
    "nuclei_2d": "samples",
    "nuclei_3d": "samples",
    "movie": "samples",
    "porous_medium": "samples",
    "percolation": "samples",
    "spiral": "samples",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f".{HOMES[name]}", __name__), name)
