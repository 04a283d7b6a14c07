"""Sample images, made from random numbers: the same seed makes the same image."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .fields import blobs, hilbert, percolation, porous_medium, spiral, voronoi
from .nuclei import movie, nuclei_2d, nuclei_3d, nuclei_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from equilabel.array_types import HostArray

__all__ = [
    "SAMPLES",
    "Sample",
    "blobs",
    "hilbert",
    "movie",
    "nuclei_2d",
    "nuclei_3d",
    "nuclei_mask",
    "percolation",
    "porous_medium",
    "spiral",
    "voronoi",
]


@dataclass(frozen=True)
class Sample:
    """A sample image, and the metadata of its file."""

    make: Callable[..., HostArray]  # all its arguments have defaults
    description: str  # one sentence
    axes: str = "YX"  # a letter of T, Z, Y and X for each axis
    spacing: Mapping[str, float] = field(default_factory=dict)  # pixel size by axis, in `unit`
    unit: str = ""
    interval: float | None = None  # seconds between the frames of a movie


SAMPLES: dict[str, Sample] = {
    "nuclei_2d": Sample(
        nuclei_2d,
        "Fluorescent nuclei under uneven light; some touch, some are dim.",
        spacing={"Y": 0.325, "X": 0.325},
        unit="µm",
    ),
    "nuclei_3d": Sample(
        nuclei_3d,
        "A confocal stack of nuclei, its planes four times farther apart than its pixels.",
        axes="ZYX",
        spacing={"Z": 1.04, "Y": 0.26, "X": 0.26},
        unit="µm",
    ),
    "movie": Sample(
        movie,
        "A time-lapse of nuclei that wander, grow and divide.",
        axes="TYX",
        spacing={"Y": 0.65, "X": 0.65},
        unit="µm",
        interval=1800.0,
    ),
    "porous_medium": Sample(
        porous_medium,
        "Micro-CT of a porous rock: dark pores between the grains of two minerals.",
        axes="ZYX",
        spacing={"Z": 4.0, "Y": 4.0, "X": 4.0},
        unit="µm",
    ),
    "percolation": Sample(
        percolation, "Independent pixels at the percolation threshold of 4-neighbors."
    ),
    "blobs": Sample(blobs, "Smooth blobs that cover half of the image."),
    "spiral": Sample(spiral, "One path of 4-neighbors, wound into a square spiral."),
    "hilbert": Sample(hilbert, "One path of 4-neighbors along the Hilbert curve."),
    "voronoi": Sample(voronoi, "Cells of the points nearest to each pixel, numbered from 1."),
}
