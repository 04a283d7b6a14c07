"""Sample images as layers, for File > Open Sample > equilabel."""

from functools import partial
from typing import Any

from equilabel.samples import SAMPLES

_UNITS = {"µm": "micrometer", "": "pixel"}


def as_layers(key: str, **options: Any) -> list[tuple[Any, dict[str, Any], str]]:
    """Make a sample image of `equilabel.samples.SAMPLES`, as layer data of napari."""
    sample = SAMPLES[key]
    pixels = sample.make()
    if pixels.dtype.kind == "b":
        pixels = pixels.view("u1")
        options = {"contrast_limits": (0, 1), **options}
    time = (sample.interval or 1.0, "second" if sample.interval else "pixel")
    distances = [
        time if axis == "T" else (float(sample.spacing.get(axis, 1.0)), _UNITS[sample.unit])
        for axis in sample.axes
    ]
    options = {
        "scale": [distance for distance, _ in distances],
        "units": [unit for _, unit in distances],
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
