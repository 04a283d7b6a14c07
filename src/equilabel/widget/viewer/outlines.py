"""The layer that outlines objects on the canvas: those selected, or those a filter keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from napari.layers import Image
from napari.utils.colormaps import Colormap

from equilabel.widget.logic.outcome import KEY
from equilabel.widget.logic.outlines import Outlines
from equilabel.widget.logic.sources import Source
from equilabel.widget.logic.transforms import placement

from .canvas import camera

if TYPE_CHECKING:
    from equilabel.widget.napari_types import Layer, Viewer

NAME = "selected objects"
COLORS = [(0, 0, 0, 0), (1, 1, 1, 0), (1, 1, 1, 1)]  # outside, inside, edge


class OutlineLayer:
    """Outlines objects of a labels layer, on whichever plane is on the screen.

    Parameters
    ----------
    viewer : napari.Viewer
        The viewer that gets a layer while objects are outlined.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._layer: Layer = None

    @property
    def layer(self) -> Layer:
        """The layer with the outlines, or None if there is none."""
        return self._layer if self._layer in self._viewer.layers else None

    def show(self, labels: Layer, chosen: Any) -> None:
        """Outline objects of a labels layer, and no others; without objects, remove the layer."""
        if not len(chosen):
            self.remove()
            return
        source = Source.of(labels)
        pixel = min(abs(float(step)) for step in labels.scale)
        data = Outlines(source.data, chosen, lambda: self._width(pixel))
        if self.layer is not None:
            self._layer.data = data
            return
        before, active = set(self._viewer.layers.selection), self._viewer.layers.selection.active
        self._layer = Image(
            data,
            name=NAME,
            rgb=False,
            multiscale=False,
            colormap=Colormap(COLORS, name="equilabel outlines", interpolation="zero"),
            contrast_limits=(0, 2),
            blending="translucent_no_depth",
            metadata={KEY: {"kind": "preview"}},
            **placement(source.transform),
        )
        self._viewer.add_layer(self._layer)
        self._viewer.layers.selection = before
        self._viewer.layers.selection.active = active

    def remove(self) -> None:
        """Remove the layer."""
        if self.layer is not None:
            self._viewer.layers.remove(self._layer)
        self._layer = None

    def _width(self, pixel: float) -> int:
        """Return the width of an outline of about two points of the screen."""
        drawn = camera(self._viewer).zoom * pixel
        return min(5, max(1, math.ceil(2 / drawn if drawn > 0 else 1)))
