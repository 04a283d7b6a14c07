"""Layers that outline objects on the canvas: selected ones, and those that a run would find."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from napari.layers import Image
from napari.utils.colormaps import Colormap
from napari.utils.transforms import Affine

from equilabel.array_types import Array, HostArray
from equilabel.widget.logic.outcomes import KEY
from equilabel.widget.logic.outlines import Outlines, outline
from equilabel.widget.logic.planes import Plane
from equilabel.widget.logic.sources import Source
from equilabel.widget.napari_types import Layer, Viewer

from .layers import add_beside, labels, set_transform

DIM = 0.2  # opacity of labels while outlines are drawn over them
WIDEST = 3  # width of the outline of the preview in pixels


class Overlay:
    """A layer of outlines, which is added with the first outline, and which forms do not offer.

    `colors` are those of outside, inside and edges of objects.
    """

    def __init__(self, viewer: Viewer, name: str, colors: Any, blending: str) -> None:
        self._viewer = viewer
        self._layer: Layer = None
        self._options = {
            "name": name,
            "colormap": Colormap(colors, name=f"equilabel {name}", interpolation="zero"),
            "blending": blending,
            "rgb": False,
            "multiscale": False,
            "contrast_limits": (0, 2),
            "metadata": {KEY: {"kind": "preview"}},
        }

    @property
    def layer(self) -> Layer:
        return self._layer if self._layer in self._viewer.layers else None

    def put(self, data: Array, transform: dict[str, Any]) -> None:
        """Show outlines; the selection of layers does not change."""
        layer = self.layer
        if layer is None or layer.ndim != data.ndim:
            self.remove()
            self._layer = Image(data, **self._options, **transform)
            add_beside(self._viewer, self._layer)
            return
        set_transform(layer, transform)
        if isinstance(layer.data, np.ndarray) and layer.data.shape == data.shape:
            layer.data[...] = data  # much faster in napari than assigning a new array
            layer.refresh(extent=False, highlight=False)
        else:
            layer.data = data

    def remove(self) -> None:
        if self.layer is not None:
            self._viewer.layers.remove(self._layer)
        self._layer = None


def line_width(drawn: float, widest: int) -> int:
    """Return the width of a line in pixels, for a number of screen points per pixel."""
    return min(widest, max(1, math.ceil(1 / drawn if drawn > 0 else 1)))


class SelectedObjects(Overlay):
    """Outlines objects of a labels layer, on any displayed plane."""

    def __init__(self, viewer: Viewer) -> None:
        colors = [(0, 0, 0, 0), (1, 1, 1, 0), (1, 1, 1, 1)]
        super().__init__(viewer, "selected objects", colors, "translucent_no_depth")

    def show(self, labels: Layer, chosen: Any) -> None:
        """Outline only these objects of a labels layer; without objects, remove the outlines."""
        if not len(chosen):
            self.remove()
            return
        source, viewer = Source.of(labels), self._viewer
        half = min(abs(float(distance)) for distance in labels.scale) / 2  # for two screen points
        data = Outlines(source.data, chosen, lambda: line_width(viewer.scene.camera.zoom * half, 5))
        self.put(data, source.transform)


Drawing = tuple[HostArray, Plane, int]
"""The outline of the objects of a plane, the plane, and how many objects there are."""


class Preview(Overlay):
    """Outlines the objects on the visible plane of an image."""

    def __init__(self, viewer: Viewer) -> None:
        colors = [(0, 0, 0, 0), (1, 0.85, 0.1, 0.16), (1, 0.85, 0.1, 1)]
        super().__init__(viewer, "objects (preview)", colors, "translucent")
        self._prepared: dict[tuple[object, ...], HostArray] = {}  # of the last plane
        self._dimmed: list[tuple[Layer, float]] = []  # labels below it, and their opacity
        viewer.layers.events.removed.connect(self._brighten)

    def plan(
        self, layer: Layer, plane: Plane, threshold: float | tuple[float, float] | None
    ) -> Callable[[], Drawing]:
        """Return a function that finds the objects on the visible plane, in any thread.

        `threshold` is used instead of that of the choices; None means a local threshold.
        """
        pixel = min(abs(layer.scale[axis]) for axis in plane.displayed) * plane.stride
        width = line_width(self._viewer.scene.camera.zoom * pixel, WIDEST)

        def find() -> Drawing:
            pixels = self._prepared.get(plane.key)
            if pixels is None:
                pixels = plane.prepare(plane.read())
                self._prepared = {plane.key: pixels}
            found = plane.find_objects(pixels, threshold)
            return outline(found, width), plane, int(found.max(initial=0))

        return find

    def remove(self) -> None:
        super().remove()
        self._prepared = {}

    def show(self, layer: Layer, drawing: Drawing) -> None:
        """Show an outline at the position of its plane."""
        code, plane, _ = drawing
        shape, offset = [1] * layer.ndim, np.array(plane.point, float)
        transform = Source.of(layer).transform
        transform["scale"] = np.array(layer.scale, float)
        for axis, length in zip(plane.axes, code.shape, strict=True):
            shape[axis], offset[axis] = length, (plane.stride - 1) / 2
            transform["scale"][axis] *= plane.stride
        linear = Affine(scale=layer.scale, rotate=layer.rotate, shear=layer.shear).linear_matrix
        transform["translate"] = np.asarray(layer.translate) + linear @ offset
        self.put(code.reshape(shape), transform)
        if not self._dimmed:
            below = [each for each in labels(self._viewer) if each.opacity > DIM]
            self._dimmed = [(each, each.opacity) for each in below if each is not layer]
            for each, _ in self._dimmed:
                each.opacity = DIM

    def _brighten(self, _: object = None) -> None:
        """Give labels their opacity back when the preview is removed, unless it was changed."""
        if self.layer is None:
            for each, opacity in self._dimmed:
                each.opacity = opacity if each.opacity == DIM else each.opacity
            self._dimmed = []
