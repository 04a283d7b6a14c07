"""The live preview: a layer with the outline of the objects on the visible plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from napari.utils.transforms import Affine

from equilabel.outlines import outline
from equilabel.widget.logic.sources import Source, placement

from .canvas import camera
from .outlines import Overlay, line_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import HostArray
    from equilabel.widget.logic.planes import Plane
    from equilabel.widget.napari_types import Layer, Viewer

WIDEST = 3  # width of the outline in pixels


class Drawing(NamedTuple):
    """The outline of the objects of a plane, and how many there are."""

    code: HostArray
    plane: Plane
    objects: int


class Preview(Overlay):
    """A layer with the outline of the objects on the visible plane of an image."""

    def __init__(self, viewer: Viewer) -> None:
        colors = [(0, 0, 0, 0), (1, 0.85, 0.1, 0.16), (1, 0.85, 0.1, 1)]
        super().__init__(viewer, "threshold preview", colors, "translucent")
        self.clear_cache()

    def plan(
        self, layer: Layer, plane: Plane, threshold: float | tuple[float, float] | None
    ) -> Callable[[], Drawing]:
        """Return a function that finds the objects on the visible plane, in any thread.

        The threshold of the choices is not used, but this one, which is None if it is local.
        """
        kept = self._kept  # a thread that is late must not fill it with earlier pixels
        pixel = min(abs(layer.scale[axis]) for axis in plane.displayed) * plane.step
        width = line_width(camera(self._viewer).zoom * pixel, WIDEST)

        def find() -> Drawing:
            if plane.key not in kept:
                prepared = plane.prepare(plane.read())
                kept.clear()
                kept[plane.key] = prepared
            found = plane.find_objects(kept[plane.key], threshold)
            return Drawing(outline(found, width), plane, int(found.max(initial=0)))

        return find

    def clear_cache(self) -> None:
        """Drop the prepared pixels that are kept: those of the layer have changed."""
        self._kept: dict[tuple[object, ...], HostArray] = {}

    def remove(self) -> None:
        """Remove the layer, and drop the pixels that are kept."""
        super().remove()
        self.clear_cache()

    def show(self, layer: Layer, drawing: Drawing) -> None:
        """Show an outline at the position of its plane."""
        code, plane = drawing.code, drawing.plane
        shape, offset = [1] * layer.ndim, np.array(plane.point, float)
        transform = placement(Source.of(layer).transform)
        transform["scale"] = np.array(layer.scale, float)
        for axis, length in zip(plane.axes, code.shape, strict=True):
            shape[axis], offset[axis] = length, (plane.step - 1) / 2
            transform["scale"][axis] *= plane.step
        linear = Affine(scale=layer.scale, rotate=layer.rotate, shear=layer.shear).linear_matrix
        transform["translate"] = np.asarray(layer.translate) + linear @ offset
        self.put(code.reshape(shape), transform)
