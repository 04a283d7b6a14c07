"""The live preview: a layer with the outline of the objects on the visible plane."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from napari.layers import Image
from napari.utils.colormaps import Colormap
from napari.utils.transforms import Affine

from equilabel.widget.logic.outcome import KEY
from equilabel.widget.logic.planes import (
    describe_plane,
    find_objects,
    outline,
    prepare_plane,
    take_plane,
)

from .canvas import camera

if TYPE_CHECKING:
    from collections.abc import Callable

    from napari import Viewer

    from equilabel.array_types import Array
    from equilabel.widget.logic.choices import Choices
    from equilabel.widget.logic.sources import Source
    from equilabel.widget.napari_types import Layer

NAME = "threshold preview"
COLORS = [(0, 0, 0, 0), (1, 0.85, 0.1, 0.16), (1, 0.85, 0.1, 1)]
WIDEST = 3  # width of the outline in pixels


class Drawing(NamedTuple):
    """The outline of the objects of a plane, where it lies, and what a person should know of it.

    Attributes
    ----------
    code : (M, N) array of uint8
        As `outline` returns it.
    point, displayed : tuple of int
        Position along each axis of the layer, and the axes on the screen.
    step : int
        The plane holds every step-th pixel.
    objects : int
        How many there are on the plane.
    remark : str
        How the preview differs from what a run finds; empty if it does not.
    """

    code: Array
    point: tuple[int, ...]
    displayed: tuple[int, ...]
    step: int
    objects: int
    remark: str


class Preview:
    """A layer with the outline of the objects on the visible plane of an image.

    Parameters
    ----------
    viewer : napari.Viewer
        The viewer that gets the layer.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._layer: Layer = None
        self._planes: dict[tuple[object, ...], tuple[Array, int]] = {}

    @property
    def layer(self) -> Layer:
        """The preview layer, or None if there is none."""
        return self._layer if self._layer in self._viewer.layers else None

    def position(self, layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the position of the viewer in pixels of a layer, and two displayed axes."""
        displayed = self._displayed(layer)
        return self._point(layer), displayed[-2:]

    def plan(
        self,
        layer: Layer,
        source: Source,
        choices: Choices,
        threshold: float | tuple[float, float] | None,
    ) -> Callable[[], Drawing] | None:
        """Return a function that finds the objects on the visible plane, in any thread.

        Parameters
        ----------
        layer : napari.layers.Image
            The image layer.
        source : Source
            Its pixels.
        choices : Choices
            The values of the form; of these the threshold is not used.
        threshold : float, (float, float) or None
            None for a local threshold.

        Returns
        -------
        callable or None
            None if the viewer does not show a plane.
        """
        displayed = self._displayed(layer)
        if len(displayed) != 2:
            return None
        point = self._point(layer)
        planes = self._planes  # a thread that is late must not fill those of later pixels
        zoom = camera(self._viewer).zoom * min(abs(layer.scale[axis]) for axis in displayed)

        def find() -> Drawing:
            plane, step = _keep(planes, source, choices, point, displayed)
            found = find_objects(plane, source, choices, threshold, displayed, step)
            drawn = zoom * step  # points of the screen per pixel
            width = min(WIDEST, max(1, math.ceil(1 / drawn if drawn > 0 else 1)))
            remark = describe_plane(source, choices, displayed, step, plane.size)
            return Drawing(
                outline(found, width), point, displayed, step, int(found.max(initial=0)), remark
            )

        return find

    def clear_cache(self) -> None:
        """Drop the plane that is kept: pixels have changed."""
        self._planes = {}

    def remove(self) -> None:
        """Remove the preview layer."""
        if self.layer is not None:
            self._viewer.layers.remove(self._layer)
        self._layer = None
        self._planes = {}

    def show(self, layer: Layer, drawing: Drawing) -> None:
        """Show an outline at the position of its plane."""
        code, point, displayed, step = drawing[:4]
        shape = [1] * layer.ndim
        offset = np.zeros(layer.ndim)
        scale = np.array(layer.scale, dtype=float)
        for axis in range(layer.ndim):
            if axis in displayed:
                shape[axis] = code.shape[sorted(displayed).index(axis)]
                offset[axis] = (step - 1) / 2
                scale[axis] *= step
            else:
                offset[axis] = point[axis]
        linear = Affine(scale=layer.scale, rotate=layer.rotate, shear=layer.shear).linear_matrix
        translate = np.asarray(layer.translate) + linear @ offset
        data = code.reshape(shape)
        if self.layer is None:
            self._add_layer(layer, data, scale, translate)
            return
        if not np.allclose(self._layer.scale, scale):
            self._layer.scale = scale
        if not np.allclose(self._layer.translate, translate):
            self._layer.translate = translate
        if self._layer.data.shape == data.shape:
            self._layer.data[...] = data  # new data of one shape would cost napari far more
            self._layer.refresh(extent=False, highlight=False)
        else:
            self._layer.data = data

    def _add_layer(self, layer: Layer, data: Array, scale: Array, translate: Array) -> None:
        """Add the preview layer; the selection of layers stays as it is."""
        before = set(self._viewer.layers.selection)
        self._layer = Image(
            data,
            name=NAME,
            rgb=False,
            multiscale=False,
            colormap=Colormap(COLORS, name="equilabel preview", interpolation="zero"),
            contrast_limits=(0, 2),
            blending="translucent",
            scale=scale,
            translate=translate,
            rotate=layer.rotate,
            shear=layer.shear,
            affine=layer.affine,
            units=[str(unit) for unit in layer.units],
            axis_labels=layer.axis_labels,
            metadata={KEY: {"kind": "preview"}},
        )
        self._viewer.add_layer(self._layer)
        self._viewer.layers.selection = before

    def _displayed(self, layer: Layer) -> tuple[int, ...]:
        """Return the axes of the layer that are displayed."""
        offset = self._viewer.dims.ndim - layer.ndim
        return tuple(axis - offset for axis in self._viewer.dims.displayed if axis >= offset)

    def _point(self, layer: Layer) -> tuple[int, ...]:
        """Return the position of the viewer in pixels of the layer."""
        offset = self._viewer.dims.ndim - layer.ndim
        world = np.asarray(self._viewer.dims.point)[offset:]
        return tuple(int(at) for at in np.round(layer.world_to_data(world)))


def _keep(
    planes: dict[tuple[object, ...], tuple[Array, int]],
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
