"""Sample images as layers, for File > Open Sample > equilabel."""

from __future__ import annotations

from functools import partial
from typing import Any

from equilabel.samples import SAMPLES

LayerData = tuple[Any, dict[str, Any], str]

_UNITS = {"µm": "micrometer", "": "pixel"}


def as_layers(key: str, **options: Any) -> list[LayerData]:
    """Make a sample image, and the options of its layer.

    Parameters
    ----------
    key : str
        In `equilabel.samples.SAMPLES`.
    **options
        Further options of the layer.

    Returns
    -------
    list of (array, dict, str)
        Layer data of napari, with scale, units and names of axes.

    Examples
    --------
    >>> [(pixels, options, kind)] = as_layers("nuclei_2d")
    >>> kind, options["scale"], options["axis_labels"]
    ('image', [0.325, 0.325], ['y', 'x'])
    """
    sample = SAMPLES[key]
    pixels = sample.make()
    if pixels.dtype.kind == "b":
        pixels = pixels.view("u1")
        options = {"contrast_limits": (0, 1), **options}
    units, scale = [], []
    for axis in sample.axes:
        if axis == "T":
            units.append("second" if sample.interval else "pixel")
            scale.append(sample.interval or 1.0)
        else:
            units.append(_UNITS[sample.unit])
            scale.append(float(sample.spacing.get(axis, 1.0)))
    options = {
        "scale": scale,
        "units": units,
        "axis_labels": [axis.lower() for axis in sample.axes],
        "metadata": {"description": sample.description},
        **options,
    }
    return [(pixels, options, "image")]


nuclei_2d = partial(as_layers, "nuclei_2d", name="nuclei", colormap="gray")
nuclei_3d = partial(as_layers, "nuclei_3d", name="nuclei 3D", colormap="gray")
movie = partial(as_layers, "movie", name="movie", colormap="gray")
porous_medium = partial(as_layers, "porous_medium", name="porous medium", colormap="gray")
percolation = partial(as_layers, "percolation", name="percolation")
spiral = partial(as_layers, "spiral", name="spiral")
