"""The canvas, and layers: those that can be chosen, and those that a run changes."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from napari.layers import Image, Labels, Shapes, Tracks
from napari.utils.colormaps import (
    Colormap,
    CyclicLabelColormap,
    DirectLabelColormap,
    ensure_colormap,
    label_colormap,
)

import equilabel
from equilabel.array_types import HostArray
from equilabel.widget import Layer, Viewer
from equilabel.widget.logic import objects
from equilabel.widget.logic.outcomes import KEY, Outcome
from equilabel.widget.logic.sources import Role, Source, labels_transform

AROUND = 10  # pixels between an object that is moved into view and the edge of the canvas


def factors(viewer: Viewer, layer: Layer) -> HostArray:
    """Return how many units of the viewer a unit of a layer is along each axis, (ndim,)."""
    units = viewer.dims.units  # None if they cannot be converted: napari then uses none
    known = units is not None and len(units) >= layer.ndim
    pairs = zip(layer.units, units[-layer.ndim :] if known else layer.units, strict=True)
    return np.array([float((1 * own).to(shared).magnitude) for own, shared in pairs])


def position(viewer: Viewer, layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the position of the viewer in pixels of a layer, and the displayed axes."""
    offset = viewer.dims.ndim - layer.ndim
    world = np.asarray(viewer.dims.point)[offset:] / factors(viewer, layer)
    point = tuple(int(at) for at in np.round(layer.world_to_data(world)))
    return point, tuple(axis - offset for axis in viewer.dims.displayed if axis >= offset)


def go_to(viewer: Viewer, layer: Layer, low: Sequence[int], high: Sequence[int]) -> None:
    """Show a box of pixels: its plane, and the least shift, or its middle if it is rotated."""
    offset = viewer.dims.ndim - layer.ndim
    factor = factors(viewer, layer)
    middle = np.asarray(layer.data_to_world((np.asarray(low) + high) / 2)) * factor
    axes = [axis for axis in viewer.dims.not_displayed if axis >= offset]
    viewer.dims.set_point(axes, [float(middle[axis - offset]) for axis in axes])
    shown = [axis - offset for axis in viewer.dims.displayed]
    first, last = layer.corner_pixels  # that are visible on the canvas
    before, after = np.minimum(np.asarray(low) - first, 0), np.maximum(np.asarray(high) - last, 0)
    beyond = np.where(before * after < 0, 0, before + after)  # 0 if it covers the whole canvas
    if len(shown) == 2 and beyond[shown].any():
        eye = viewer.scene.camera
        if np.allclose(layer.rotate, np.eye(layer.ndim)) and (factor == 1).all():
            shift = beyond + AROUND * np.sign(beyond)
            moved = np.subtract(layer.data_to_world(shift), layer.data_to_world(0 * shift))
            middle[shown] = eye.center[-2:] + moved[shown]
        eye.center = (eye.center[0], *map(float, middle[shown]))


COLORS = 254  # colors of a scale; with missing values and background they fit into 8 bits
MISSING = (0.5, 0.5, 0.5, 0.35)
CLEAR = (0.0, 0.0, 0.0, 0.0)
NUMBERS = ("track", "parent")  # columns that name something, and get distinct colors


def images(viewer: Viewer) -> list[Layer]:
    """List the image layers, without the preview."""
    found = (layer for layer in _all(viewer) if isinstance(layer, Image))
    return [layer for layer in found if made_by(layer).get("kind") != "preview"]


def labels(viewer: Viewer) -> list[Layer]:
    """List the labels layers."""
    return [layer for layer in _all(viewer) if isinstance(layer, Labels)]


def _all(viewer: Viewer) -> list[Layer]:
    """List the layers themselves: plugins get proxies of them, whose attributes are proxies."""
    return [getattr(layer, "__wrapped__", layer) for layer in viewer.layers]


def source_of(layer: Layer) -> Source:
    """Return a layer as the source of a segmentation: a labels layer is a mask."""
    if not isinstance(layer, Labels):
        return Source.of(layer)
    return replace(labels_source(layer), is_mask=True)


def labels_source(layer: Layer) -> Source:
    """Return labels as a source, with the roles that a run gave their axes, or without channels."""
    made = made_by(layer)
    axes = made.get("measured", made).get("axes") or made.get("axes", ())
    roles = axes[-layer.ndim :]  # labels may lack the first one
    return Source.of(layer, roles if len(roles) == layer.ndim else (), few=1)


def add_labels(viewer: Viewer, layer: Layer) -> None:
    """Add a labels layer of ours, which napari can select in 3D before the mouse has moved."""
    watch_painting(layer, known=True)
    viewer.add_layer(layer)


def add_beside(viewer: Viewer, layer: Layer) -> None:
    """Add a layer; the selection of layers does not change."""
    before, active = set(viewer.layers.selection), viewer.layers.selection.active
    viewer.add_layer(layer)
    with suppress(TypeError):  # raised by labels of others in 3D before the mouse has moved
        viewer.layers.selection = before
        viewer.layers.selection.active = active


def made_by(layer: Layer) -> dict[str, Any]:
    """Return our metadata of a layer, which say how it was made; empty for others and None."""
    return {} if layer is None else dict(layer.metadata.get(KEY, {}))


def find(viewer: Viewer, identity: str) -> Layer:
    """Return the layer of an identity, or None; its name may have changed."""
    return next((each for each in _all(viewer) if str(each.unique_id) == identity), None)


def unchanged(layer: Layer, source: Source) -> bool:
    """Return whether a layer has the pixels and the transform of a source made from it."""
    same = Source.of(layer).data is source.data
    return same and not _changed_transform(layer, source.transform)


def find_result(viewer: Viewer, identity: str) -> Layer:
    """Return the labels layer that a run made from the layer of this identity, or None."""
    for layer in reversed(labels(viewer)):
        made = made_by(layer)
        found = made.get("kind") == "segment" and made.get("layer") == identity
        if found and made.get("labels") == str(layer.unique_id):  # and not a copy
            return layer
    return None


def show_labels(viewer: Viewer, outcome: Outcome, layer: Layer) -> Layer:
    """Show the labels of a run in the layer of an earlier run, or in a new layer for None."""
    in_memory = layer is not None and isinstance(layer.data, np.ndarray) and not outcome.levels
    if in_memory and layer.ndim == outcome.labels.ndim:
        reset_colors(layer)
        layer.features, layer.data = outcome.features, outcome.labels
        set_transform(layer, outcome.transform)
    else:
        if layer is not None:
            viewer.layers.remove(layer)
        multiscale = len(outcome.levels) > 1
        layer = Labels(
            list(outcome.levels) if multiscale else outcome.labels,
            name=f"{outcome.metadata['image']} objects",
            features=outcome.features,
            metadata={KEY: outcome.metadata},
            multiscale=multiscale,
            **outcome.transform,
        )
        add_labels(viewer, layer)
    made = {**outcome.metadata, "labels": str(layer.unique_id)}  # its own
    layer.metadata = {**layer.metadata, KEY: made}
    editable = not outcome.levels and bool(outcome.labels.flags.writeable)
    layer.visible = True  # a filter has hidden it
    mode, layer.editable = layer.mode, False  # this clears napari's undo history
    if editable:
        layer.editable = True
        layer.mode = mode
    watch_painting(layer, found=True)
    return layer


def show_found(
    viewer: Viewer, found: equilabel.Segmentation, image: Layer, roles: Sequence[Role]
) -> None:
    """Show what `equilabel.segment` found in a layer, from napari's console, where the layer is."""
    source, name = Source.of(image, roles), f"{image.name} objects"
    labels, options = source.restore(found.labels), labels_transform(source)
    add_labels(viewer, Labels(labels, name=name, features=found.features, **options))


def show_tracks(viewer: Viewer, outcome: Outcome, *, beside: bool) -> None:
    """Show the tracks of a run beside those of earlier runs on the image, or in their place."""
    made = {"kind": "tracks", "layer": outcome.metadata["layer"]}
    for layer in [] if beside else _all(viewer):
        if made_by(layer) == made:
            viewer.layers.remove(layer)
    if outcome.tracks is not None:
        data, graph = outcome.tracks
        layer = Tracks(
            data,
            graph=graph,
            name=f"{outcome.metadata['image']} tracks",
            colormaps_dict={"track_id": distinct_colors()},
            metadata={KEY: made},
            **outcome.transform,
        )
        add_beside(viewer, layer)


def describe_changes(layer: Layer) -> str:
    """Say how a person changed a layer since its labels were found; "" if not at all."""
    made = made_by(layer)
    own = objects.own_columns(layer.features, made)
    said = ["it was painted"] if made.get("painted") else []
    said += [f"its table has columns of your own ({', '.join(own)})"] if own else []
    return " and ".join(said)


MARKED = ("painted", "unmeasured")  # since the labels were found, and since they were measured
_MARKS: WeakKeyDictionary[Layer, dict[str, Any]] = WeakKeyDictionary()


def watch_painting(
    layer: Layer, *, found: bool = False, known: bool = False, seen: Any = None
) -> None:
    """Note in metadata that a layer was painted since it was measured, `seen` then, or `found`."""
    if known and layer in _MARKS:
        return
    if layer not in _MARKS:
        made, last = made_by(layer), _last_stroke(layer)  # a copy has the marks of its original
        _MARKS[layer] = {kind: object() if made.get(kind) else last for kind in MARKED}
        for event in (layer.events.paint, layer.events.set_data):  # the second one on undo
            event.connect(lambda event: _compare_strokes(event.source))
        layer.events.data.connect(lambda event: _compare_strokes(event.source, replaced=True))
        if (plain := getattr(layer, "_get_properties", None)) is not None:
            # The status bar shows units, and gray values first: there is no public way.
            def describe(*given: Any, **named: Any) -> list[str]:
                lines: list[str] = []
                with suppress(TypeError):  # raised by napari in 3D before the mouse has moved
                    lines = plain(*given, **named)
                return objects.describe_properties(lines, made_by(layer))

            layer._get_properties = describe
    if not known:
        data, last = seen or state_of(layer)
        last = last if data is layer.data else object()
        _MARKS[layer].update(dict.fromkeys(MARKED if found else MARKED[1:], last))
    _compare_strokes(layer)


def state_of(layer: Layer) -> tuple[Any, Any]:
    """Return the array of a layer, and the last stroke on it: others mean that pixels changed."""
    return layer.data, _last_stroke(layer)


def _last_stroke(layer: Layer) -> Any:
    """Return the last item in napari's undo history, all that is known of a stroke, or None."""
    history: Any = getattr(layer, "_undo_history", ())
    return history[-1] if history else None


def _compare_strokes(layer: Layer, *, replaced: bool = False) -> None:
    made = made_by(layer)
    marks: dict[str, Any] = _MARKS[layer]
    if replaced:  # all pixels, as by a script: there is no way back
        marks.update(dict.fromkeys(MARKED, object()))
    history: Any = getattr(layer, "_undo_history", ())
    if history and len(history) == history.maxlen:
        # napari forgets the first stroke: there is no way back to what was before it.
        marks.update({kind: history for kind, mark in marks.items() if mark is None})
    now = {kind: _last_stroke(layer) is not mark for kind, mark in marks.items()}
    if any(made.get(kind, False) != found for kind, found in now.items()):
        layer.metadata = {**layer.metadata, KEY: {**made, **now}}


def set_transform(layer: Layer, transform: dict[str, Any]) -> None:
    """Set what differs from the transform of a layer: setting it draws the layer again."""
    for name in _changed_transform(layer, transform):
        setattr(layer, name, transform[name])


def _changed_transform(layer: Layer, transform: dict[str, Any]) -> list[str]:
    """List what in the transform of a layer differs from another one."""
    present = Source.of(layer).transform
    return [name for name, value in transform.items() if not np.array_equal(present[name], value)]


def show_measurements(
    viewer: Viewer, layer: Layer, outcome: Outcome, seen: Any, outer: Layer
) -> None:
    """Add measurements to a labels layer, which was `seen` so, and to the outer one."""
    if layer not in viewer.layers:
        message = (
            f"labels must stay open while they are measured; got {layer.name!r} removed. "
            "Open them and measure again."
        )
        raise ValueError(message)
    parents = outcome.parents if outer in viewer.layers else None
    for each, found in ((layer, outcome), *([(outer, parents)] if parents else ())):
        made = made_by(each)
        each.features, measured = objects.merge_measurements(each.features, made, found)
        each.metadata = {**each.metadata, KEY: {**made, "measured": measured}}
        watch_painting(each, known=each is outer, seen=seen)


def distinct_colors() -> CyclicLabelColormap:
    """Make napari's colors of labels, one map for each layer: napari shuffles them in place."""
    return label_colormap(49, background_value=0)


def make_scale(name: str) -> Colormap:
    """Make a scale of few colors from a colormap of napari; missing values are gray."""
    colors = ensure_colormap(name).map(np.linspace(0, 1, COLORS))
    return Colormap(colors, name=name, interpolation="zero", nan_color=MISSING)


def color_labels(
    labels: HostArray,
    values: HostArray,
    ends: tuple[float, float],
    scale: Colormap | None,
    dtype: Any,
) -> DirectLabelColormap:
    """Give each label the color of its value on a scale, or a distinct one without a scale."""
    low, high = ends
    if scale is None:
        found = distinct_colors().map(np.nan_to_num(values).astype(np.int64))
    else:
        found = scale.map(np.clip((values - low) / ((high - low) or 1.0), 0, 1))
    colors = dict(zip(labels.tolist(), found, strict=True))
    colormap = DirectLabelColormap(color_dict={0: CLEAR, None: MISSING})
    colormap.color_dict.update({**colors, 0: np.array(CLEAR)})  # faster than as an argument
    colormap.map(np.arange(2, dtype=dtype))
    return colormap


def reset_colors(layer: Layer) -> None:
    """Set the colors of a labels layer to napari's default."""
    if isinstance(layer.colormap, DirectLabelColormap):
        layer.colormap = distinct_colors()


MOST_SHAPES = 5000  # napari takes a millisecond for each


def trace_shapes(labels: Any) -> tuple[list[HostArray], dict[str, list[Any]]]:
    """Return the outlines of all objects, plane by plane, and their features, in any thread."""
    pixels = np.asarray(labels)
    rings: list[HostArray] = []
    features: dict[str, list[Any]] = {"label": [], "hole": []}
    for plane in np.ndindex(pixels.shape[:-2]):
        for number, polygons in equilabel.outlines(pixels[plane]).items():
            for k, ring in (pair for each in polygons for pair in enumerate(each.rings)):
                before = np.broadcast_to(plane, (len(ring), len(plane)))
                rings.append(np.concatenate([before, ring], axis=1))
                features["label"].append(number)
                features["hole"].append(k > 0)
        if len(rings) > MOST_SHAPES:
            message = (
                f"labels must have {MOST_SHAPES:,} outlines or fewer for a shapes layer; got more. "
                "Filter the objects, or use `equilabel.write_outlines`."
            )
            raise ValueError(message)
    return rings, features


def add_shapes(viewer: Viewer, layer: Layer, traced: tuple[list[HostArray], Any]) -> None:
    """Add a shapes layer of the outlines of a labels layer."""
    rings, features = traced
    look = {"edge_color": "yellow", "face_color": "transparent", "edge_width": 0.5}
    options = {**look, "features": features, "name": f"{layer.name} outlines"}
    options |= {"ndim": layer.ndim, "shape_type": "polygon", **Source.of(layer).transform}
    viewer.add_layer(Shapes(rings, **options))
