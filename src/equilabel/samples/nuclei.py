"""Nuclei as a mask, as fluorescence images of a plane or a stack, and as a movie."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .fields import blur, check_sample, positions, smooth_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Box = tuple[slice, ...]


# ---- Light and the camera


def profile(distance: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn distances from the center into brightness: 1 inside, half at distance 1, 0 outside."""
    ramp = np.clip((1.16 - distance) / 0.32, 0, 1)
    bright: NDArray[np.float32] = ramp * ramp * (3 - 2 * ramp)
    return bright


def expose(
    photons: NDArray[np.float32],
    rng: np.random.Generator,
    *,
    gain: float,
    offset: float,
    read_noise: float,
    white: int,
) -> NDArray[np.float32]:
    """Record expected photons with a camera: whole gray values from 0 to `white`, as float32.

    `gain` is in gray values per photon; `offset` and `read_noise` are in gray values. Poisson
    numbers are squares of normal ones: every pixel uses equally many random numbers, so that a
    rounding error on another machine changes one pixel, not all that follow.
    """
    image = np.sqrt(np.maximum(photons, 0))
    image += np.float32(0.5) * rng.standard_normal(photons.shape, dtype=np.float32)
    image *= image
    image *= np.float32(gain)
    image += np.float32(read_noise) * rng.standard_normal(photons.shape, dtype=np.float32)
    image += np.float32(offset)
    return np.clip(np.rint(image, out=image), 0, white, out=image)


# ---- Nuclei of any rank


def draw(
    shape: Sequence[int],
    spacing: NDArray[np.float64],
    center: NDArray[np.float64],
    radius: float,
    axis: NDArray[np.float64],
    stretch: float,
    skew: NDArray[np.float64],
) -> tuple[Box, NDArray[np.float32]]:
    """Return the box that a nucleus can touch, and distances from its center: 1 is its border.

    It is an ellipsoid, `stretch` times longer along the unit vector `axis` than across it, where it
    has the `radius`, in the unit of the spacing, and pointed in the direction of `skew`.
    """
    reach = 1.25 * radius * max(stretch, 1.0) / spacing
    start = np.clip(np.ceil(center - reach).astype(int), 0, shape)
    stop = np.clip(np.floor(center + reach).astype(int) + 1, 0, shape)
    square = along = ahead = np.zeros(())
    for a, (low, high) in enumerate(zip(start, stop, strict=True)):
        away = (np.arange(low, high) - center[a]) * (spacing[a] / radius)
        square = np.add.outer(square, away**2)
        along = np.add.outer(along, away * axis[a])
        ahead = np.add.outer(ahead, away * skew[a])
    square = square + (stretch**-2 - 1) * along**2
    distance = np.sqrt(np.maximum(square, 0)) * (1 + ahead * np.minimum(square, 1))
    return tuple(map(slice, start, stop)), distance.astype(np.float32)


def scatter(
    mask: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    fraction: float,
    radius: float,
    spacing: Sequence[float],
    overlap: float = 0.03,
) -> Iterator[tuple[Box, NDArray[np.float32]]]:
    """Place nuclei of a median radius until they cover a fraction, below 0.5, of a mask.

    Yields the result of `draw` for each; the mask becomes True there. A nucleus is left out if more
    than the fraction `overlap` of it is on others.
    """
    ndim, sizes = mask.ndim, np.asarray(spacing, dtype=float)
    ball = np.pi ** (ndim / 2) / {1: 0.8862, 2: 1.0, 3: 1.3293}.get(ndim, 2.0 ** (ndim / 2 - 1))
    count = int(12 * fraction * mask.size * sizes.prod() / (ball * radius**ndim)) + 12
    centers = rng.random((count, ndim)) * mask.shape
    radii = radius * np.exp(0.13 * rng.standard_normal(count))
    axes, skews = rng.standard_normal((2, count, ndim))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    skews *= (0.13 * rng.random(count) / np.linalg.norm(skews, axis=1))[:, None]
    stretches = 1 + 0.5 * rng.random(count) ** 1.5
    missing = fraction * mask.size
    for values in zip(centers, radii, axes, stretches, skews, strict=True):
        if missing <= 0:
            return
        box, distance = draw(mask.shape, sizes, *values)
        inside = distance <= 1
        taken, covered = np.count_nonzero(mask[box] & inside), np.count_nonzero(inside)
        if covered > 0 and taken <= overlap * covered:
            mask[box] |= inside
            missing -= covered - taken
            yield box, distance


def nuclei_mask(shape: Sequence[int] = (512, 512), seed: int = 0) -> NDArray[np.bool_]:
    """Make a mask of nuclei, some of which touch: 15 % of a plane, 10 % of a volume.

    Parameters
    ----------
    shape, seed : sequence of int of any length, int

    Returns
    -------
    array of bool

    Examples
    --------
    >>> float(nuclei_mask((512, 512)).mean().round(2))
    0.15
    """
    shape, seed = check_sample(shape, seed)
    mask, ndim = np.zeros(shape, dtype=np.bool_), len(shape)
    fraction, radius = 0.15 if ndim <= 2 else 0.10, {1: 8.0, 2: 10.8, 3: 6.4}.get(ndim, 4.0)
    rng = np.random.default_rng(seed)
    for _ in scatter(mask, rng, fraction=fraction, radius=radius, spacing=(1,) * ndim):
        pass
    return mask


def nuclei_2d(shape: Sequence[int] = (512, 512), seed: int = 0) -> NDArray[np.uint16]:
    """Make a fluorescence image of nuclei under uneven light, with the noise of a camera.

    Some nuclei are three times dimmer than others, and some touch. Chromatin makes them mottled,
    out-of-focus light makes them hazy. The camera adds an offset of 100.

    Parameters
    ----------
    shape, seed : (height, width), int

    Returns
    -------
    (height, width) array of uint16

    Examples
    --------
    >>> image = nuclei_2d((128, 128))
    >>> image.dtype, bool(90 < image.min() < image.max() < 4096)
    (dtype('uint16'), True)
    """
    shape, seed = check_sample(shape, seed, 2, 2)
    rng = np.random.default_rng(seed)
    light = _nuclei(shape, rng, fraction=0.17, radius=12.0, spacing=(1, 1), overlap=0.06)
    light = 55 + 620 * blur(light, (1.0, 0), (0.10, 8), (0.12, 40))
    y, x = positions(shape)
    light *= np.exp(-1.5 * ((x - 0.38) ** 2 + (y - 0.42) ** 2))
    image = expose(light, rng, gain=1.0, offset=100, read_noise=4.0, white=65535)
    return image.astype(np.uint16)


def nuclei_3d(shape: Sequence[int] = (32, 192, 192), seed: int = 0) -> NDArray[np.uint8]:
    """Make a confocal stack of nuclei, in which the distance of planes is that of four pixels.

    Light is lost with depth, and nuclei are blurred more along the first axis than across it.

    Parameters
    ----------
    shape, seed : (depth, height, width), int

    Returns
    -------
    (depth, height, width) array of uint8

    Examples
    --------
    >>> nuclei_3d((8, 64, 64)).shape
    (8, 64, 64)
    """
    shape, seed = check_sample(shape, seed, 3, 3)
    rng = np.random.default_rng(seed)
    light = _nuclei(shape, rng, fraction=0.09, radius=13.0, spacing=(4, 1, 1), overlap=0.03)
    light = 5 + 62 * blur(light, (1.0, (0.7, 1.2, 1.2)), (0.10, (3, 6, 6)))
    light *= np.exp(np.linspace(0, -0.7, shape[0], dtype=np.float32))[:, None, None]
    image = expose(light, rng, gain=2.2, offset=6, read_noise=1.0, white=255)
    return image.astype(np.uint8)


def _nuclei(
    shape: tuple[int, ...], rng: np.random.Generator, *, spacing: Sequence[float], **options: float
) -> NDArray[np.float32]:
    """Draw mottled nuclei with soft borders, the median one of brightness 1; see `scatter`."""
    light = np.zeros(shape, dtype=np.float32)
    period = [min(side, 512 if light.ndim == 2 else 128) for side in shape]  # of the mottle
    mottle = smooth_field(period, 2.0 / np.asarray(spacing, dtype=float), rng)
    mottle = np.pad(mottle, [(0, width) for width in np.subtract(shape, period)], mode="wrap")
    looks = np.random.default_rng(rng.integers(2**32))
    mask = np.zeros(shape, dtype=np.bool_)
    for box, distance in scatter(mask, rng, spacing=spacing, **options):
        brightness = np.exp(0.25 * looks.standard_normal()) * (0.3 if looks.random() < 0.15 else 1)
        light[box] += profile(distance) * (1 + 0.16 * mottle[box]) * np.float32(brightness)
    return np.maximum(light, 0)


# ---- A movie of nuclei

RADIUS = 10.5  # pixels, of a nucleus about to divide
CYCLE = 18  # frames from one division to the next


class Cells(NamedTuple):
    """Cells of one frame, arrays with an entry for each."""

    place: NDArray[np.float64]  # (N, 2), in pixels
    speed: NDArray[np.float64]  # (N, 2), in pixels per frame
    angle: NDArray[np.float64]  # of the long axis, in radians
    age: NDArray[np.float64]  # frames since the last division
    cycle: NDArray[np.float64]  # age at the next division
    brightness: NDArray[np.float64]

    @property
    def radius(self) -> NDArray[np.float64]:
        """Radius in pixels; a daughter has half the area of its mother."""
        return RADIUS * np.sqrt(0.5 + 0.5 * np.clip(self.age / self.cycle, 0, 1))

    def push(self) -> NDArray[np.float64]:
        """Return how far each cell moves away from those it overlaps, (N, 2)."""
        apart = self.place[:, None] - self.place
        distance = np.maximum(np.sqrt((apart**2).sum(axis=-1)), 0.1)
        force = np.maximum(1.35 * (self.radius[:, None] + self.radius) - distance, 0) / distance
        return np.asarray(0.3 * np.einsum("ij,ijk->ik", force, apart))


def movie(shape: Sequence[int] = (16, 192, 192), seed: int = 0) -> NDArray[np.uint16]:
    """Make a time-lapse of nuclei that wander, push each other away, grow, divide and bleach.

    Parameters
    ----------
    shape, seed : (frames, height, width), int
        Up to about 1500 by 1500 pixels: every pair of cells is compared in every frame.

    Returns
    -------
    (frames, height, width) array of uint16

    Examples
    --------
    >>> movie((2, 64, 64)).shape
    (2, 64, 64)
    """
    (frames, *size), seed = check_sample(shape, seed, 3, 3)
    rng = np.random.default_rng(seed)
    looks = np.random.default_rng(rng.integers(2**32))
    mottle = smooth_field(size, 2.0, looks)
    count = max(1, round(size[0] * size[1] / 3000))
    cells = Cells(
        place=rng.random((count, 2)) * size,
        speed=rng.normal(0, 1, (count, 2)),
        angle=rng.random(count) * np.pi,
        age=rng.random(count) * CYCLE,
        cycle=CYCLE * (0.85 + 0.3 * rng.random(count)),
        brightness=np.exp(0.2 * rng.standard_normal(count)),
    )
    for _ in range(12):
        cells = cells._replace(place=np.clip(cells.place + cells.push(), 0, size))
    image = np.empty((frames, *size), dtype=np.uint16)
    for number in range(frames):
        light = blur(_render(cells, mottle), (1.0, 0.8), (0.15, 12.0))
        light = 40 + 380 * np.exp(-0.02 * number) * light
        image[number] = expose(light, looks, gain=1.0, offset=100, read_noise=4.0, white=65535)
        cells = _advance(cells, size, rng)
    return image


def _advance(cells: Cells, size: list[int], rng: np.random.Generator) -> Cells:
    """Move to the next frame: divide, push, wander."""
    cells.age[:] += 1
    mothers, count = np.flatnonzero(cells.age >= cells.cycle), len(cells.age)
    cells = Cells(*(np.concatenate([each, each[mothers]]) for each in cells))
    new = np.append(mothers, np.arange(count, len(cells.age)))  # both daughters of each
    angle = cells.angle[mothers]
    shift = 0.75 * RADIUS * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    cells.place[new] += np.concatenate([-shift, shift])
    cells.age[new] = 0
    cells.cycle[new] = CYCLE * (0.85 + 0.3 * rng.random(len(new)))
    cells.angle[new] += np.pi / 2 + rng.normal(0, 0.3, len(new))
    speed = 0.7 * cells.speed + rng.normal(0, 0.7, cells.speed.shape)
    angle = cells.angle + rng.normal(0, 0.08, len(cells.angle))
    place = np.clip(cells.place + speed + cells.push(), -4, np.add(size, 4))
    return cells._replace(speed=speed, angle=angle, place=place)


def _render(cells: Cells, mottle: NDArray[np.float32]) -> NDArray[np.float32]:
    """Draw the light of all cells, in an image of the shape of `mottle`."""
    light = np.zeros_like(mottle)
    # In its last two frames a mother is condensed: brighter, narrower, longer.
    mitosis = np.clip((cells.age - cells.cycle + 3) / 2, 0, 1)
    stretch = 1.2 + 0.7 * mitosis
    radius = cells.radius / np.sqrt(stretch) * (1 - 0.15 * mitosis)
    brightness = cells.brightness * (1 + 0.9 * mitosis)
    axes = np.stack([np.sin(cells.angle), np.cos(cells.angle)], axis=1)
    for center, r, axis, s, b in zip(cells.place, radius, axes, stretch, brightness, strict=True):
        box, distance = draw(light.shape, np.ones(2), center, r, axis, s, np.zeros(2))
        light[box] += np.float32(b) * profile(distance) * (1 + 0.1 * mottle[box])
    return light
