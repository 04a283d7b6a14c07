"""A movie of nuclei that wander, grow and divide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .fields import blur, check_sample, smooth_field
from .nuclei import Nucleus, expose, profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

RADIUS = 10.5  # pixels, of a nucleus about to divide
CYCLE = 18  # frames from one division to the next


@dataclass
class Cells:
    """Cells of one frame, an entry each.

    Attributes
    ----------
    place, speed : (N, 2) arrays of float
        In pixels, and pixels per frame.
    angle : (N,) array of float
        Direction of the long axis, in radians.
    age, cycle : (N,) arrays of float
        Frames since the last division, and at the next.
    brightness : (N,) array of float
    """

    place: NDArray[np.float64]
    speed: NDArray[np.float64]
    angle: NDArray[np.float64]
    age: NDArray[np.float64]
    cycle: NDArray[np.float64]
    brightness: NDArray[np.float64]

    @property
    def phase(self) -> NDArray[np.float64]:
        """Part of the cycle that has passed, 0 to 1."""
        return np.clip(self.age / self.cycle, 0, 1)

    @property
    def radius(self) -> NDArray[np.float64]:
        """Radius in pixels; a daughter has half the area of its mother."""
        return RADIUS * np.sqrt(0.5 + 0.5 * self.phase)


def movie(shape: Sequence[int] = (16, 192, 192), seed: int = 0) -> NDArray[np.uint16]:
    """Make a time-lapse of nuclei that wander, push each other away, grow and divide.

    A nucleus brightens and stretches before it divides into two of half its area. The dye
    bleaches over the frames.

    Parameters
    ----------
    shape : (frames, height, width)
    seed : int

    Returns
    -------
    (frames, height, width) array of uint16

    Notes
    -----
    Every pair of cells is compared in every frame: meant for up to some thousand cells, frames
    of about 1500 by 1500 pixels.

    Examples
    --------
    >>> movie((2, 64, 64)).shape
    (2, 64, 64)
    """
    (frames, height, width), seed = check_sample(shape, seed, 3, 3)
    rng = np.random.default_rng(seed)
    looks = np.random.default_rng(rng.integers(2**32))
    mottle = smooth_field((height, width), 2.0, looks)
    cells = _sow(height, width, rng)
    image = np.empty((frames, height, width), dtype=np.uint16)
    for number in range(frames):
        light = blur(_render(cells, mottle), (1.0, 0.8), (0.15, 12.0))
        light = 40 + 380 * np.exp(-0.02 * number) * light
        frame = expose(light, looks, gain=1.0, offset=100, read_noise=4.0, white=65535)
        image[number] = frame.astype(np.uint16)
        cells = _advance(cells, (height, width), rng)
    return image


def _sow(height: int, width: int, rng: np.random.Generator) -> Cells:
    count = max(1, round(height * width / 3000))
    cells = Cells(
        place=rng.random((count, 2)) * (height, width),
        speed=rng.normal(0, 1, (count, 2)),
        angle=rng.random(count) * np.pi,
        age=rng.random(count) * CYCLE,
        cycle=CYCLE * (0.85 + 0.3 * rng.random(count)),
        brightness=np.exp(0.2 * rng.standard_normal(count)),
    )
    for _ in range(12):
        cells.place += _push(cells)
        cells.place = np.clip(cells.place, 0, (height, width))
    return cells


def _push(cells: Cells) -> NDArray[np.float64]:
    """Find how far each cell gives way to those it overlaps."""
    apart = cells.place[:, None] - cells.place
    distance = np.maximum(np.sqrt((apart**2).sum(axis=-1)), 0.1)
    reach = 1.35 * (cells.radius[:, None] + cells.radius)
    force = np.maximum(reach - distance, 0) / distance
    return np.asarray(0.3 * np.einsum("ij,ijk->ik", force, apart))


def _advance(cells: Cells, size: tuple[int, int], rng: np.random.Generator) -> Cells:
    """Move to the next frame: divide, push, wander."""
    cells.age = cells.age + 1
    splits = cells.age >= cells.cycle
    mothers = [array[splits] for array in vars(cells).values()]
    daughters = [np.concatenate([array, array[splits]]) for array in vars(cells).values()]
    step = 0.75 * RADIUS * np.stack([np.sin(mothers[2]), np.cos(mothers[2])], axis=1)
    cells = Cells(*daughters)
    divided = np.flatnonzero(splits)
    cells.place[divided] -= step
    cells.place[len(splits) :] += step
    new = np.concatenate([divided, np.arange(len(splits), len(cells.age))])
    cells.age[new] = 0
    cells.cycle[new] = CYCLE * (0.85 + 0.3 * rng.random(len(new)))
    cells.angle[new] += np.pi / 2 + rng.normal(0, 0.3, len(new))

    cells.speed = 0.7 * cells.speed + rng.normal(0, 0.7, cells.speed.shape)
    cells.angle = cells.angle + rng.normal(0, 0.08, len(cells.angle))
    cells.place = np.clip(cells.place + cells.speed + _push(cells), -4, np.add(size, 4))
    return cells


def _render(cells: Cells, mottle: NDArray[np.float32]) -> NDArray[np.float32]:
    light = np.zeros_like(mottle)
    # In its last two frames a mother is condensed: brighter, narrower, longer.
    mitosis = np.clip((cells.age - cells.cycle + 3) / 2, 0, 1)
    stretch = 1.2 + 0.7 * mitosis
    radius = cells.radius / np.sqrt(stretch) * (1 - 0.15 * mitosis)
    brightness = cells.brightness * (1 + 0.9 * mitosis)
    axes = np.stack([np.sin(cells.angle), np.cos(cells.angle)], axis=1)
    for center, r, axis, s, b in zip(cells.place, radius, axes, stretch, brightness, strict=True):
        nucleus = Nucleus(center, r, axis, s, np.zeros(2))
        box, distance = nucleus.draw(light.shape, np.ones(2))
        light[box] += np.float32(b) * profile(distance) * (1 + 0.1 * mottle[box])
    return light
