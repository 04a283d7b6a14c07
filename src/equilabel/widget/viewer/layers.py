"""Layers of the viewer: those that can be chosen, and those that a run changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from napari.layers import Image, Labels

from equilabel.widget.logic.outcome import KEY
from equilabel.widget.logic.sources import Source
from equilabel.widget.logic.transforms import placement

if TYPE_CHECKING:
    from napari import Viewer

    from equilabel.widget.logic.outcome import Outcome
    from equilabel.widget.napari_types import Layer


def images(viewer: Viewer) -> list[Layer]:
    """List the image layers, without our preview."""
    return [
        layer
        for layer in _all(viewer)
        if isinstance(layer, Image) and layer.metadata.get(KEY, {}).get("kind") != "preview"
    ]


def labels(viewer: Viewer) -> list[Layer]:
    """List the labels layers."""
    return [layer for layer in _all(viewer) if isinstance(layer, Labels)]


def _all(viewer: Viewer) -> list[Layer]:
    """List the layers themselves: plugins get proxies of layers, whose attributes are proxies."""
    return [getattr(layer, "__wrapped__", layer) for layer in viewer.layers]


def find_result(viewer: Viewer, name: str) -> Layer | None:
    """Find the labels layer that an earlier run made of an image."""
    for layer in reversed(labels(viewer)):
        made = layer.metadata.get(KEY, {})
        if made.get("kind") == "segment" and made.get("image") == name:
            return layer
    return None


def show_labels(viewer: Viewer, outcome: Outcome, *, new_layer: bool = False) -> Layer:
    """Show the labels of a run in the layer of an earlier run on the image, or in a new layer.

    Parameters
    ----------
    viewer : napari.Viewer
    outcome : Outcome
        Of `segment_source`.
    new_layer : bool
        Whether to add a new layer in any case.

    Returns
    -------
    napari.layers.Labels
        The layer.
    """
    image = outcome.metadata["image"]
    layer = None if new_layer else find_result(viewer, image)
    if layer is not None and layer.ndim != outcome.labels.ndim:
        viewer.layers.remove(layer)
        layer = None
    if layer is None:
        layer = _add_labels(viewer, outcome)
    else:
        _update_labels(layer, outcome)
    layer.editable = bool(outcome.labels.flags.writeable)
    return layer


def _add_labels(viewer: Viewer, outcome: Outcome) -> Labels:
    layer = Labels(
        outcome.labels,
        name=f"{outcome.metadata['image']} objects",
        features=outcome.features,
        metadata={KEY: outcome.metadata},
        multiscale=False,
        **outcome.transform,
    )
    viewer.add_layer(layer)
    return layer


def _update_labels(layer: Layer, outcome: Outcome) -> None:
    reset_colors(layer)
    layer.features = outcome.features
    layer.data = outcome.labels
    layer.metadata = {**layer.metadata, KEY: outcome.metadata}
    present = placement(Source.of(layer).transform)
    for name, value in outcome.transform.items():
        if not np.array_equal(present[name], value):  # each that is set draws the layer again
            setattr(layer, name, value)


def show_measurements(layer: Layer, outcome: Outcome) -> None:
    """Set the features of a labels layer to the table that was measured."""
    layer.features = outcome.features
    made = layer.metadata.get(KEY, {})
    layer.metadata = {**layer.metadata, KEY: {**made, "measured": outcome.metadata}}


def reset_colors(layer: Layer) -> None:
    """Set the colors of a labels layer to those of napari."""
    from napari.utils.colormaps import label_colormap

    if type(layer.colormap).__name__ == "DirectLabelColormap":
        layer.colormap = label_colormap(49, background_value=0)
