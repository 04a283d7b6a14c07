"""Layers that outline objects on the canvas: selected ones, and those that a run would find."""

import math
from typing import Any

import numpy as np
from napari.layers import Image
from napari.utils.colormaps import Colormap
from napari.utils.transforms import Affine
from qtpy.QtCore import QObject, QTimer
from qtpy.QtWidgets import QWidget

from equilabel.array_types import Array, HostArray
from equilabel.segmentation.outlines import Outlines, outline
from equilabel.widget import Layer, Viewer
from equilabel.widget.logic.objects import count_objects
from equilabel.widget.logic.outcomes import KEY
from equilabel.widget.logic.planes import UNKNOWN, Estimate, Plane, estimate_threshold
from equilabel.widget.logic.sources import Source

from . import layers
from .tasks import Task, guarded, warn

DIM = 0.2  # opacity of labels while outlines are drawn over them
WIDEST = 3  # width of the outline of the preview in pixels


class Overlay:
    """A layer of outlines that forms do not offer; colors: outside, inside, edge, 3D."""

    def __init__(self, viewer: Viewer, name: str, colors: Any, blending: str) -> None:
        self._viewer = viewer
        self._layer: Layer = None
        self._options = {
            "name": name,
            "colormap": Colormap(colors, name=f"equilabel {name}", interpolation="zero"),
            "blending": blending,
            "rgb": False,
            "multiscale": False,
            "contrast_limits": (0, len(colors) - 1),
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
            layers.add_beside(self._viewer, self._layer)
            return
        layers.set_transform(layer, transform)
        if isinstance(layer.data, np.ndarray) and layer.data.shape == data.shape:
            layer.data[...] = data  # much faster in napari than assigning a new array
            layer.refresh(extent=False, highlight=False, thumbnail=False)
        else:
            layer.data = data

    @property
    def gone(self) -> bool:
        """Whether the layer was removed, but not by `remove`."""
        return self._layer is not None and self.layer is None

    def remove(self) -> None:
        layer, self._layer = self.layer, None
        if layer is not None:
            self._viewer.layers.remove(layer)


def line_width(drawn: float, widest: int) -> int:
    """Return the width of a line in pixels, for a number of screen points per pixel."""
    return min(widest, max(1, math.ceil(1 / drawn if drawn > 0 else 1)))


class SelectedObjects(Overlay):
    """Outlines objects of a labels layer, on any displayed plane."""

    def __init__(self, viewer: Viewer) -> None:
        colors = [(0, 0, 0, 0), (1, 1, 1, 0), (1, 1, 1, 1), (1, 1, 1, 0.5)]
        super().__init__(viewer, "selected objects", colors, "translucent_no_depth")

    def show(self, labels: Layer, chosen: Any) -> None:
        """Outline only these objects of a labels layer; without objects, remove the outlines."""
        if not len(chosen):
            self.remove()
            return
        source, viewer = Source.of(labels), self._viewer
        pixel = np.abs(labels.scale * layers.factors(viewer, labels)).min()
        half = float(pixel) / 2  # for two screen points
        data = Outlines(source.data, chosen, lambda: line_width(viewer.scene.camera.zoom * half, 5))
        self.put(data, source.transform)


COLORS = [(0, 0, 0, 0), (1, 0.85, 0.1, 0.16), (1, 0.85, 0.1, 1)]
NO_PLANE = (
    "The preview needs the 2D view, without the axis of channels: press Ctrl+E until it shows the "
    "image."
)


class LivePreview(QObject):
    """Histogram, threshold and outlines that follow the fields of a form and the viewer."""

    def __init__(self, viewer: Viewer, fields: Any, form: QWidget) -> None:
        super().__init__(form)
        self._viewer, self._fields = viewer, fields
        self._overlay = Overlay(viewer, "objects (preview)", COLORS, "translucent")
        self._layer: Layer = None
        self._histogram = Task("computing the histogram", warn)
        self._drawing = Task("drawing the preview", self._explain)
        self._stale = False  # whether something has changed since the outline was started
        self._channel: int | None = None  # on which field and slider agreed
        self._prepared: dict[tuple[object, ...], HostArray] = {}  # of the last plane
        self._dimmed: list[tuple[Layer, float]] = []  # labels below it, and their opacity
        self._timer = QTimer(self, singleShot=True, timeout=self._draw)
        fields.histogram_changed.connect(self.update_histogram)
        fields.outline_changed.connect(self.update_outline)
        seen = viewer.dims.events
        for event in (seen.point, seen.ndisplay, seen.order, viewer.scene.camera.events.zoom):
            event.connect(self.update_outline)
        viewer.layers.events.removed.connect(self._brighten)

    @property
    def layer(self) -> Layer:
        return self._overlay.layer

    @property
    def waiting(self) -> bool:
        return self._histogram.running

    @property
    def drawing(self) -> bool:
        return bool(self._timer.isActive()) or self._drawing.running

    def set_layer(self, layer: Layer) -> None:
        """Use the pixels of a layer from now on."""
        self._layer, self._channel = layer, None
        self._drawing.cancel()
        if layer is None:
            self.update_outline()  # later, because the list of layers is being changed

    def hide(self) -> None:
        self._fields.show_preview.value = False
        self._remove("")

    def cancel(self) -> None:
        self._histogram.cancel()
        self._drawing.cancel()

    @guarded
    def update_histogram(self) -> None:
        """Compute the histogram and the threshold in a thread."""
        source = self._fields.source
        if source is None:
            return
        if source.problem:
            self._fields.threshold.show_histogram(UNKNOWN)
            return
        point, displayed = layers.position(self._viewer, self._layer)
        shown = tuple(source.space[-2:]) if source.channel in displayed else displayed[-2:]
        plane = Plane(source, self._fields.choices(), point, shown)
        self._histogram.submit(lambda _: estimate_threshold(plane), self._show_histogram)

    def _show_histogram(self, result: Estimate) -> None:
        histogram, threshold, remark = result
        self._fields.say("gaps", histogram.describe_gaps())
        self._fields.threshold.show_histogram(histogram)
        self._fields.threshold.show_estimate(threshold, remark)
        self.update_outline()

    @guarded
    def update_outline(self) -> None:
        """Draw the outline later, because the list of layers may be changing now."""
        if self._fields.show_preview.value or self.layer is not None:
            self._timer.start(0)

    @guarded
    def _draw(self) -> None:
        """Find the objects of the plane in a thread; a later change waits until it is done."""
        fields, source = self._fields, self._fields.source
        if not fields.show_preview.value or source is None:
            self._drawing.cancel()
            self._channel = None
            self._remove("")
            return
        if source.problem:
            return
        self._stale = self._drawing.running
        if self._stale:
            return
        self._match_channel(source)
        plane = Plane(source, fields.choices(), *layers.position(self._viewer, self._layer))
        if len(plane.displayed) != 2 or source.channel in plane.displayed:
            self._remove(NO_PLANE)
            return
        if not fields.count.text():  # the first time, when functions are compiled
            fields.show_count("finding objects ...", "")
        sizes = np.abs(self._layer.scale * layers.factors(self._viewer, self._layer))
        pixel = float(sizes[list(plane.displayed)].min()) * plane.stride
        width = line_width(self._viewer.scene.camera.zoom * pixel, WIDEST)
        level, prepared = fields.threshold.level, self._prepared

        def find(_: object) -> tuple[HostArray, Plane, int]:
            if (key := plane.key) not in prepared:
                prepared.clear()
                prepared[key] = plane.prepare(plane.read())
            found = plane.find_objects(prepared[key], level)
            return outline(found, width), plane, int(found.max(initial=0))

        self._drawing.submit(find, self._show_outline)

    def _match_channel(self, source: Source) -> None:
        """Let field and slider agree on the channel: the slider leads if it was moved."""
        point, displayed = layers.position(self._viewer, self._layer)
        axis, field = source.channel, self._fields.channel
        if axis is None or axis in displayed:
            return
        seen = min(max(point[axis], 0), source.shape[axis] - 1)
        if self._channel not in (None, seen):
            field.value = seen
        elif seen != field.value:
            place = self._layer.data_to_world([*point[:axis], field.value, *point[axis + 1 :]])
            place = place * layers.factors(self._viewer, self._layer)
            dims = self._viewer.dims
            dims.set_point(axis + dims.ndim - self._layer.ndim, float(place[axis]))
        self._channel = field.value

    def _remove(self, remark: str) -> None:
        self._overlay.remove()
        self._prepared = {}
        self._fields.show_count("", remark)

    def _show_outline(self, drawing: tuple[HostArray, Plane, int]) -> None:
        """Show the outlines of a plane at its position, and dim labels below them."""
        code, plane, count = drawing
        layer = self._layer
        if self._fields.show_preview.value and layer is not None:
            shape, offset = [1] * layer.ndim, np.array(plane.point, float)
            transform = Source.of(layer).transform
            transform["scale"] = np.array(layer.scale, float)
            for axis, length in zip(plane.axes, code.shape, strict=True):
                shape[axis], offset[axis] = length, (plane.stride - 1) / 2
                transform["scale"][axis] *= plane.stride
            linear = Affine(scale=layer.scale, rotate=layer.rotate, shear=layer.shear).linear_matrix
            transform["translate"] = np.asarray(layer.translate) + linear @ offset
            self._overlay.put(code.reshape(shape), transform)
            if not self._dimmed:
                below = [each for each in layers.labels(self._viewer) if each.opacity > DIM]
                self._dimmed = [(each, each.opacity) for each in below if each is not layer]
                for each, _ in self._dimmed:
                    each.opacity = DIM
            self._fields.show_count(count_objects(count) + plane.where, plane.describe())
        self._draw_again()

    @guarded
    def _brighten(self) -> None:
        """Give labels their opacity back when the preview is removed, unless it was changed."""
        if self._overlay.gone:  # deleted by hand
            self.hide()
        if self.layer is None:
            for each, opacity in self._dimmed:
                each.opacity = opacity if each.opacity == DIM else each.opacity
            self._dimmed = []

    def _explain(self, message: str) -> None:
        self._fields.show_count("", message)
        self._draw_again()

    def _draw_again(self) -> None:
        if self._stale:
            self._timer.start(0)
