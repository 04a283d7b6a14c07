"""Sample images, made from random numbers: the same seed makes the same image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .fields import blobs, hilbert, percolation, porous_medium, spiral, voronoi
from .nuclei import movie, nuclei_2d, nuclei_3d, nuclei_mask

if TYPE_CHECKING:
    from collections.abc import Callable

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
    pixel: tuple[float, ...] = ()  # its size along the last axes, in µm
    interval: float | None = None  # seconds between the frames of a movie

    @property
    def spacing(self) -> dict[str, float]:
        """Pixel size by axis, in `unit`."""
        return dict(zip(self.axes[-len(self.pixel) :], self.pixel, strict=False))

    @property
    def unit(self) -> str:
        """Unit of the spacing; empty without one."""
        return "µm" * bool(self.pixel)


NUCLEI_2D = "Fluorescent nuclei under uneven light; some touch, some are dim."
NUCLEI_3D = "A confocal stack of nuclei, its planes four times farther apart than its pixels."
MOVIE = "A time-lapse of nuclei that wander, grow and divide."
ROCK = "Micro-CT of a porous rock: dark pores between the grains of two minerals."
NOISE = "Independent pixels at the percolation threshold of 4-neighbors."
SAMPLES: dict[str, Sample] = {
    "nuclei_2d": Sample(nuclei_2d, NUCLEI_2D, "YX", (0.325, 0.325)),
    "nuclei_3d": Sample(nuclei_3d, NUCLEI_3D, "ZYX", (1.04, 0.26, 0.26)),
    "movie": Sample(movie, MOVIE, "TYX", (0.65, 0.65), interval=1800.0),
    "porous_medium": Sample(porous_medium, ROCK, "ZYX", (4.0, 4.0, 4.0)),
    "percolation": Sample(percolation, NOISE),
    "blobs": Sample(blobs, "Smooth blobs that cover half of the image."),
    "spiral": Sample(spiral, "One path of 4-neighbors, wound into a square spiral."),
    "hilbert": Sample(hilbert, "One path of 4-neighbors along the Hilbert curve."),
    "voronoi": Sample(voronoi, "Cells of the points nearest to each pixel, numbered from 1."),
}
