"""Nuclei, and the camera that takes their picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .fields import blur, check_sample, smooth_field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Box = tuple[slice, ...]


# ---- Light and the camera that records it: borders of objects, noise, rounding, saturation


def profile(distance: NDArray[np.float32], softness: float = 0.16) -> NDArray[np.float32]:
    """Turn distances from the center into brightness: 1 inside, half at the border, 0 outside.

    Parameters
    ----------
    distance : array of float32
        1 is the border.
    softness : float
        Half the width of the border.

    Returns
    -------
    array of float32
    """
    ramp = np.clip((1 + softness - distance) / (2 * softness), 0, 1)
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
    """Record light with a camera: photon noise, read noise, offset, rounding, saturation.

    Parameters
    ----------
    photons : array of float32
        Expected number of photons per pixel; less than 0 counts as 0.
    rng : numpy.random.Generator
    gain : float
        Gray values per photon.
    offset : float
        Gray value of darkness.
    read_noise : float
        Standard deviation in gray values.
    white : int
        Largest gray value.

    Returns
    -------
    array of float32
        Whole numbers from 0 to `white`.

    Notes
    -----
    Poisson numbers are made from normal ones: the square root of a Poisson number is nearly
    normal with standard deviation 1/2. Every pixel uses up as many random numbers as any other,
    so that a last bit that differs between machines changes one pixel, not all that follow.
    """
    image = np.sqrt(np.maximum(photons, 0))
    image += np.float32(0.5) * rng.standard_normal(photons.shape, dtype=np.float32)
    image *= image
    image *= np.float32(gain)
    image += np.float32(read_noise) * rng.standard_normal(photons.shape, dtype=np.float32)
    image += np.float32(offset)
    return np.clip(np.rint(image, out=image), 0, white, out=image)


# ---- Nuclei: as a mask of any rank, and as fluorescence images of one plane or a stack


@dataclass(frozen=True)
class Nucleus:
    """An ellipsoid, longer along one direction and egg-shaped along another.

    Lengths are in the unit of the spacing: one pixel of the last axis where that is 1.

    Attributes
    ----------
    center : (R,) array of float
        In pixels.
    radius : float
        Across `axis`.
    axis, skew : (R,) arrays of float
        Unit vector of the long axis, and of the pointed end times how pointed it is.
    stretch : float
        Length along `axis` over length across it.
    """

    center: NDArray[np.float64]
    radius: float
    axis: NDArray[np.float64]
    stretch: float
    skew: NDArray[np.float64]

    def draw(
        self, shape: Sequence[int], spacing: NDArray[np.float64]
    ) -> tuple[Box, NDArray[np.float32]]:
        """Measure how far from the center pixels lie: 1 is the border of the nucleus.

        Parameters
        ----------
        shape : sequence of int
            Of the image.
        spacing : (R,) array of float

        Returns
        -------
        box : tuple of slice
            The part of the image that the nucleus can touch.
        distance : array of float32
            One value per pixel of the box.
        """
        reach = 1.25 * self.radius * max(self.stretch, 1.0) / spacing
        start = np.clip(np.ceil(self.center - reach).astype(int), 0, shape)
        stop = np.clip(np.floor(self.center + reach).astype(int) + 1, 0, shape)
        square = along = ahead = np.zeros(())
        for a, (low, high) in enumerate(zip(start, stop, strict=True)):
            step = (np.arange(low, high) - self.center[a]) * (spacing[a] / self.radius)
            square = np.add.outer(square, step**2)
            along = np.add.outer(along, step * self.axis[a])
            ahead = np.add.outer(ahead, step * self.skew[a])
        square = square + (self.stretch**-2 - 1) * along**2
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
) -> Iterator[tuple[Nucleus, Box, NDArray[np.float32]]]:
    """Drop nuclei onto a mask until they cover a fraction of it.

    Parameters
    ----------
    mask : array of bool
        Overwritten: True where a nucleus lies.
    rng : numpy.random.Generator
    fraction : float
        Part of the mask to cover, below about 0.5.
    radius : float
        Median radius, in the unit of the spacing.
    spacing : sequence of float
        Pixel size per axis.
    overlap : float
        A nucleus is dropped elsewhere when more than this part of it lies on others.

    Yields
    ------
    nucleus : Nucleus
    box, distance
        As `Nucleus.draw` returns them.
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
        nucleus = Nucleus(*values)
        box, distance = nucleus.draw(mask.shape, sizes)
        inside = distance <= 1
        taken, covered = np.count_nonzero(mask[box] & inside), np.count_nonzero(inside)
        if covered > 0 and taken <= overlap * covered:
            mask[box] |= inside
            missing -= covered - taken
            yield nucleus, box, distance


def nuclei_mask(shape: Sequence[int] = (512, 512), seed: int = 0) -> NDArray[np.bool_]:
    """Make a mask of nuclei, some of which touch: what a benchmark of labeling wants.

    They cover 15 % of an image of one or two axes and 10 % of others; (4096, 4096) holds about
    5,000, (256, 256, 256) about 900.

    Parameters
    ----------
    shape : sequence of int
        One axis or more.
    seed : int

    Returns
    -------
    array of bool

    Examples
    --------
    >>> float(nuclei_mask((512, 512)).mean().round(2))
    0.15
    """
    shape, seed = check_sample(shape, seed)
    mask = np.zeros(shape, dtype=np.bool_)
    fraction = 0.15 if mask.ndim <= 2 else 0.10
    radius = {1: 8.0, 2: 10.8, 3: 6.4}.get(mask.ndim, 4.0)
    rng = np.random.default_rng(seed)
    for _ in scatter(mask, rng, fraction=fraction, radius=radius, spacing=(1,) * mask.ndim):
        pass
    return mask


def nuclei_2d(shape: Sequence[int] = (512, 512), seed: int = 0) -> NDArray[np.uint16]:
    """Make a fluorescence image of nuclei as a camera sees it.

    Light is uneven and falls off to one corner. Some nuclei are three times dimmer than others,
    some touch; chromatin makes them mottled, light from out of focus hazy. Photons bring their
    noise, the camera an offset of 100 and noise of its own.

    Parameters
    ----------
    shape : (height, width)
    seed : int

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
    height, width = shape
    y = (np.arange(height, dtype=np.float32)[:, None] + 0.5) / max(height, 1) - 0.42
    x = (np.arange(width, dtype=np.float32) + 0.5) / max(width, 1) - 0.38
    light *= np.exp(-1.5 * (x * x + y * y))
    image = expose(light, rng, gain=1.0, offset=100, read_noise=4.0, white=65535)
    return image.astype(np.uint16)


def nuclei_3d(shape: Sequence[int] = (32, 192, 192), seed: int = 0) -> NDArray[np.uint8]:
    """Make a confocal stack of nuclei whose planes lie four times farther apart than its pixels.

    Light is lost with depth, and nuclei are blurred more along the first axis than across it.

    Parameters
    ----------
    shape : (depth, height, width)
    seed : int

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
    shape: Sequence[int],
    rng: np.random.Generator,
    *,
    fraction: float,
    radius: float,
    spacing: Sequence[float],
    overlap: float,
) -> NDArray[np.float32]:
    """Draw mottled nuclei with soft borders; the median one has brightness 1."""
    mask = np.zeros(tuple(shape), dtype=np.bool_)
    light = np.zeros(mask.shape, dtype=np.float32)
    size = np.asarray(spacing, dtype=float)
    period = [min(length, 512 if mask.ndim == 2 else 128) for length in mask.shape]
    mottle = smooth_field(period, 2.0 / size, rng)
    missing = np.subtract(mask.shape, period)
    mottle = np.pad(mottle, [(0, width) for width in missing], mode="wrap")
    looks = np.random.default_rng(rng.integers(2**32))
    for _, box, distance in scatter(
        mask, rng, fraction=fraction, radius=radius, spacing=spacing, overlap=overlap
    ):
        brightness = np.exp(0.25 * looks.standard_normal()) * (0.3 if looks.random() < 0.15 else 1)
        light[box] += profile(distance) * (1 + 0.16 * mottle[box]) * np.float32(brightness)
    return np.maximum(light, 0)
