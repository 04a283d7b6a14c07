"""The live preview: a layer with the outline of the objects on the visible plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from napari.utils.transforms import Affine

from equilabel.outlines import outline
from equilabel.widget.logic.planes import describe_plane, find_objects, prepare_plane, take_plane
from equilabel.widget.logic.sources import Source, placement

from .canvas import camera, position
from .outlines import Overlay, line_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from equilabel.array_types import Array
    from equilabel.widget.logic.choices import Choices
    from equilabel.widget.napari_types import Layer, Viewer

    Planes = dict[tuple[object, ...], tuple[Array, int]]

WIDEST = 3  # width of the outline in pixels


class Drawing(NamedTuple):
    """The outline of the objects of a plane, where it lies, and what a person should know of it.

    The plane holds every step-th pixel. `remark` says how it differs from what a run finds.
    """

    code: Array
    point: tuple[int, ...]
    displayed: tuple[int, ...]
    step: int
    objects: int
    remark: str


class Preview(Overlay):
    """A layer with the outline of the objects on the visible plane of an image."""

    def __init__(self, viewer: Viewer) -> None:
        colors = [(0, 0, 0, 0), (1, 0.85, 0.1, 0.16), (1, 0.85, 0.1, 1)]
        super().__init__(viewer, "threshold preview", colors, "translucent")
        self.clear_cache()

    def plan(
        self,
        layer: Layer,
        source: Source,
        choices: Choices,
        threshold: float | tuple[float, float] | None,
    ) -> Callable[[], Drawing] | None:
        """Return a function that finds the objects on the visible plane, in any thread.

        The threshold of the choices is not used, but this one, which is None if it is local. None
        is returned if the viewer does not show a plane.
        """
        point, displayed = position(self._viewer, layer)
        if len(displayed) != 2:
            return None
        planes = self._planes  # a thread that is late must not fill those of later pixels
        zoom = camera(self._viewer).zoom * min(abs(layer.scale[axis]) for axis in displayed)

        def find() -> Drawing:
            plane, step = _keep(planes, source, choices, point, displayed)
            found = find_objects(plane, source, choices, threshold, displayed, step)
            code = outline(found, line_width(zoom * step, WIDEST))
            remark = describe_plane(source, choices, displayed, step, plane.size)
            return Drawing(code, point, displayed, step, int(found.max(initial=0)), remark)

        return find

    def clear_cache(self) -> None:
        """Drop the plane that is kept: pixels have changed."""
        self._planes: Planes = {}

    def remove(self) -> None:
        """Remove the layer, and drop the plane that is kept."""
        super().remove()
        self.clear_cache()

    def show(self, layer: Layer, drawing: Drawing) -> None:
        """Show an outline at the position of its plane."""
        code, point, displayed, step = drawing[:4]
        shape, offset = [1] * layer.ndim, np.array(point, float)
        transform = placement(Source.of(layer).transform)
        transform["scale"] = np.array(layer.scale, float)
        for axis, length in zip(sorted(displayed), code.shape, strict=True):
            shape[axis], offset[axis] = length, (step - 1) / 2
            transform["scale"][axis] *= step
        linear = Affine(scale=layer.scale, rotate=layer.rotate, shear=layer.shear).linear_matrix
        transform["translate"] = np.asarray(layer.translate) + linear @ offset
        self.put(code.reshape(shape), transform)


def _keep(
    planes: Planes,
    source: Source,
    choices: Choices,
    point: tuple[int, ...],
    displayed: tuple[int, ...],
) -> tuple[Array, int]:
    """Return the prepared plane and its step, which are kept until something of it changes."""
    hidden = tuple(at for axis, at in enumerate(point) if axis not in displayed)
    key = (
        *(source.name, id(source.data), hidden, displayed),
        *(choices.color, choices.channel, choices.roles),
        *(choices.sigma, choices.background),
        *(choices.background_options.items() if choices.background else ()),
    )
    if key not in planes:
        plane, step = take_plane(source, choices, point, displayed)
        planes.clear()
        planes[key] = prepare_plane(plane, source, choices, displayed, step), step
    return planes[key]
