"""The live preview: a layer with the outline of the foreground on the visible plane."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from napari.layers import Image
from napari.utils.colormaps import Colormap
from napari.utils.transforms import Affine

from equilabel.widget.logic.outcome import KEY
from equilabel.widget.logic.planes import (
    LARGEST_SPLIT,
    find_mask,
    outline,
    smooth_plane,
    split_plane,
    take_plane,
)

from .canvas import camera

if TYPE_CHECKING:
    from napari import Viewer

    from equilabel.array_types import Array
    from equilabel.widget.logic.choices import Choices
    from equilabel.widget.logic.sources import Source
    from equilabel.widget.napari_types import Layer

NAME = "threshold preview"
COLORS = [(0, 0, 0, 0), (1, 0.85, 0.1, 0.16), (1, 0.85, 0.1, 1)]
WIDEST = 3  # width of the outline in pixels


class Preview:
    """A layer with the outline of the foreground on the visible plane of an image.

    Parameters
    ----------
    viewer : napari.Viewer
        The viewer that gets the layer.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._layer: Layer = None
        self._planes: dict[tuple[object, ...], Array] = {}

    @property
    def layer(self) -> Layer:
        """The preview layer, or None if there is none."""
        return self._layer if self._layer in self._viewer.layers else None

    def position(self, layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the position of the viewer in pixels of a layer, and two displayed axes."""
        displayed = self._displayed(layer)
        return self._point(layer), displayed[-2:]

    def draw(
        self,
        layer: Layer,
        source: Source,
        choices: Choices,
        threshold: float | tuple[float, float] | None,
    ) -> str:
        """Outline the foreground on the visible plane.

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
        str
            How the preview differs from what a run finds; empty if it does not.
        """
        displayed = self._displayed(layer)
        if len(displayed) != 2:
            self.remove()
            return "The preview needs the 2D view."
        point = self._point(layer)
        plane, step = self._plane(source, choices, point, displayed)
        mask = find_mask(plane, choices, threshold)
        found = split_plane(mask, source, choices, displayed, step)
        code = outline(found, self._width(layer, displayed, step))
        self._show(layer, code, point, displayed, step)
        joined = choices.split is not False and mask.size > LARGEST_SPLIT
        return self._remark(source, choices, displayed, step, joined=joined)

    def clear_cache(self) -> None:
        """Drop the plane that is kept: pixels have changed."""
        self._planes.clear()

    def remove(self) -> None:
        """Remove the preview layer."""
        if self.layer is not None:
            self._viewer.layers.remove(self._layer)
        self._layer = None
        self._planes.clear()

    def _plane(
        self, source: Source, choices: Choices, point: tuple[int, ...], displayed: tuple[int, ...]
    ) -> tuple[Array, int]:
        """Return the smoothed plane, which is kept until something of it changes."""
        hidden = tuple(at for axis, at in enumerate(point) if axis not in displayed)
        key = (
            *(source.name, id(source.data), hidden, displayed),
            *(choices.color, choices.channel, choices.sigma, choices.roles),
        )
        if key not in self._planes:
            self._planes.clear()
            plane, step = take_plane(source, choices, point, displayed)
            self._planes[key] = smooth_plane(plane, source, choices, displayed, step), step
        kept: tuple[Array, int] = self._planes[key]
        return kept

    def _show(
        self,
        layer: Layer,
        code: Any,
        point: tuple[int, ...],
        displayed: tuple[int, ...],
        step: int,
    ) -> None:
        """Show an outline at the position of the plane."""
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

    def _width(self, layer: Layer, displayed: tuple[int, ...], step: int) -> int:
        """Return the width of an outline that can be seen at this zoom."""
        pixel = min(abs(layer.scale[axis]) for axis in displayed) * step
        drawn = camera(self._viewer).zoom * pixel  # points of the screen per pixel
        return min(WIDEST, max(1, math.ceil(1 / drawn if drawn > 0 else 1)))

    def _remark(
        self,
        source: Source,
        choices: Choices,
        displayed: tuple[int, ...],
        step: int,
        *,
        joined: bool,
    ) -> str:
        space = [axis for axis, role in enumerate(choices.roles) if role == "space"]
        remarks = []
        if step > 1:
            remarks.append(f"one pixel in {step} of a very large image")
        if joined:
            remarks.append("objects before they are split")
        wide = (
            choices.sigma
            or choices.split
            or choices.threshold == "local"
            or isinstance(choices.threshold, tuple)
        )
        if set(space) != set(displayed) and wide:
            remarks.append("this plane alone, without its neighbors")
        return f"The preview shows {' and '.join(remarks)}." if remarks else ""
