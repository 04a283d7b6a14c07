"""napari plugin: two forms and sample images, each imported when it is first used.

`SegmentForm` finds the objects of an image layer, `MeasureForm` measures those of a labels layer.
`logic` computes without Qt and napari; `viewer` changes layers, runs threads and shows
notifications; `forms` are the widgets. Each may import only those named before it.
"""

from importlib import import_module
from typing import Any

HOMES = {
    "SegmentForm": "forms.segment",
    "MeasureForm": "forms.measure",
    **dict.fromkeys(("nuclei_2d", "nuclei_3d", "movie"), "logic.samples"),
    **dict.fromkeys(("porous_medium", "percolation", "spiral"), "logic.samples"),
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f".{HOMES[name]}", __name__), name)
