"""Layers of the viewer: which can be chosen, and how labels get into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from napari.layers import Image, Labels

from .flow import KEY, placement
from .sources import Source

if TYPE_CHECKING:
    from napari import Viewer

    from .flow import Outcome


def camera(viewer: Viewer) -> Any:
    """Return the camera, which moved into the scene with napari 0.9."""
    return getattr(viewer, "scene", viewer).camera


def images(viewer: Viewer) -> list[Any]:
    """List the image layers, less our preview."""
    return [
        layer
        for layer in _all(viewer)
        if isinstance(layer, Image) and layer.metadata.get(KEY, {}).get("kind") != "preview"
    ]


def labels(viewer: Viewer) -> list[Any]:
    """List the labels layers."""
    return [layer for layer in _all(viewer) if isinstance(layer, Labels)]


def _all(viewer: Viewer) -> list[Any]:
    """List the layers themselves: plugins get proxies, and what is taken from those is odd."""
    return [getattr(layer, "__wrapped__", layer) for layer in viewer.layers]


def find_result(viewer: Viewer, name: str) -> Any | None:
    """Find the labels layer that an earlier run made of an image."""
    for layer in reversed(labels(viewer)):
        made = layer.metadata.get(KEY, {})
        if made.get("kind") == "segment" and made.get("image") == name:
            return layer
    return None


def put_labels(viewer: Viewer, outcome: Outcome, *, anew: bool = False) -> Any:
    """Show the labels of a run: in the layer of an earlier run on the same image, or a new one.

    Parameters
    ----------
    viewer : napari.Viewer
    outcome : Outcome
        Of `segment_source`.
    anew : bool
        Whether to make a new layer in any case.

    Returns
    -------
    napari.layers.Labels
        The layer.
    """
    image = outcome.metadata["image"]
    layer = None if anew else find_result(viewer, image)
    if layer is not None and layer.ndim != outcome.labels.ndim:
        viewer.layers.remove(layer)
        layer = None
    if layer is None:
        layer = Labels(
            outcome.labels,
            name=f"{image} objects",
            features=outcome.features,
            metadata={KEY: outcome.metadata},
            multiscale=False,
            **outcome.transform,
        )
        viewer.add_layer(layer)
    else:
        back_to_normal(layer)
        layer.features = outcome.features
        layer.data = outcome.labels
        layer.metadata = {**layer.metadata, KEY: outcome.metadata}
        there = placement(Source.of(layer).transform)
        for name, value in outcome.transform.items():
            if not np.array_equal(there[name], value):  # each that is set draws the layer anew
                setattr(layer, name, value)
    layer.editable = bool(outcome.labels.flags.writeable)
    return layer


def put_measures(layer: Any, outcome: Outcome) -> None:
    """Give a labels layer the table that was measured."""
    layer.features = outcome.features
    made = layer.metadata.get(KEY, {})
    layer.metadata = {**layer.metadata, KEY: {**made, "measured": outcome.metadata}}


def back_to_normal(layer: Any) -> None:
    """Give a labels layer napari's colors."""
    from napari.utils.colormaps import label_colormap

    if type(layer.colormap).__name__ == "DirectLabelColormap":
        layer.colormap = label_colormap(49, background_value=0)
