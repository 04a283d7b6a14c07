"""Light and the camera that records it: borders of objects, noise, rounding, saturation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
