"""Euler number and perimeter of all that is foreground, as one object."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import check_whole, shown
from equilabel.devices import fetch, take

from . import regionprops_table
from .properties import PropertyUndefinedError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from equilabel.array_types import Array


def euler_number(image: ArrayLike, connectivity: int | None = None) -> int:
    """Count the objects of an image minus their holes.

    A drop-in replacement for `skimage.measure.euler_number`. In 3D it is objects plus cavities
    minus tunnels.

    Parameters
    ----------
    image : (M, N[, P]) array of bool, int or float
        Values above 0 are foreground. An image on a GPU is counted there.
    connectivity : int, optional
        1 if pixels that share a face are connected, or the number of axes, which is the default, if
        corners connect, too.

    Returns
    -------
    int
        The Euler number; 0 if there is no foreground.

    Raises
    ------
    TypeError
        If `image` is not of bool, integers or floats, or `connectivity` is no integer.
    ValueError
        If `image` has not 2 or 3 axes, or `connectivity` is another number.

    See Also
    --------
    regionprops_table : The same for each label: euler_number and euler_number_faces.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.ones((3, 3), bool)
    >>> ring[1, 1] = False
    >>> euler_number(ring)
    0
    >>> euler_number(np.eye(3), connectivity=1)
    3
    """
    mask = _foreground(image, (2, 3), "Take slices of it.")
    rank = mask.ndim
    hops = rank if connectivity is None else check_whole("connectivity", connectivity)
    if hops not in (1, rank):
        message = f"connectivity must be 1 or {rank} for {rank} axes; got {shown(connectivity)}."
        raise PropertyUndefinedError(message)
    return int(_of_one_object(mask, "euler_number" if hops == rank else "euler_number_faces"))


def perimeter(image: ArrayLike, neighborhood: int = 4) -> float:
    """Measure the perimeter of all objects of an image along the centers of their border pixels.

    A drop-in replacement for `skimage.measure.perimeter`.

    Parameters
    ----------
    image : (M, N) array of bool, int or float
        Values above 0 are foreground. An image on a GPU is measured there.
    neighborhood : {4, 8}
        A border pixel has background among as many neighbors. With 8, scikit-image measures.

    Returns
    -------
    float
        The perimeter in pixels, by the weights of Benkrid and Crookes.

    Raises
    ------
    TypeError
        If `image` is not of bool, integers or floats.
    ValueError
        If `image` has not 2 axes, or `neighborhood` is another number.

    See Also
    --------
    perimeter_crofton : Less biased for smooth outlines.
    regionprops_table : The same for each label, with a spacing.

    Examples
    --------
    >>> import numpy as np
    >>> perimeter(np.ones((5, 5), bool))
    16.0
    """
    mask = _foreground(image, (2,), SURFACE)
    if _one_of("neighborhood", neighborhood, (4, 8)) == 8:
        from skimage import measure

        return float(measure.perimeter(fetch(mask), 8))
    return _of_one_object(mask, "perimeter")


def perimeter_crofton(image: ArrayLike, directions: int = 4) -> float:
    """Measure the perimeter of all objects of an image from intercepts along lines of pixels.

    A drop-in replacement for `skimage.measure.perimeter_crofton`.

    Parameters
    ----------
    image : (M, N) array of bool, int or float
        Values above 0 are foreground. An image on a GPU is measured there.
    directions : {2, 4}
        Directions of the lines: rows and columns, or diagonals, too.

    Returns
    -------
    float
        The perimeter in pixels, by the formula of Cauchy and Crofton.

    Raises
    ------
    TypeError
        If `image` is not of bool, integers or floats.
    ValueError
        If `image` has not 2 axes, or `directions` is another number.

    See Also
    --------
    regionprops_table : The same for each label, with a spacing; in 3D, surface_area_crofton.

    Examples
    --------
    >>> import numpy as np
    >>> y, x = np.mgrid[-20:21, -20:21]
    >>> round(perimeter_crofton(y**2 + x**2 < 400) / (2 * np.pi * 20), 2)
    0.99
    """
    mask = _foreground(image, (2,), SURFACE)
    if _one_of("directions", directions, (2, 4)) == 2:
        return _of_one_object(mask, "perimeter_edges") * pi / 4
    return _of_one_object(mask, "perimeter_crofton")


SURFACE = "In 3D, take 'surface_area_crofton' of regionprops_table."


def _foreground(image: ArrayLike, ranks: tuple[int, ...], remedy: str) -> Array:
    """Return where an image is above 0, on its device; raise TypeError or ValueError."""
    pixels: Array = take(image, "image")
    if pixels.dtype.kind not in "buif":
        message = f"image must be of bool, integers or floats; got {pixels.dtype}."
        raise TypeError(message)
    if pixels.ndim not in ranks:
        axes = " or ".join(map(str, ranks))
        message = f"image must have {axes} axes; got {pixels.ndim}. {remedy}"
        raise PropertyUndefinedError(message)
    return pixels > 0


def _of_one_object(mask: Array, name: str) -> float:
    """Return a property of all foreground as one object; 0 if there is none."""
    table = regionprops_table(mask.view(np.uint8), properties=(name,), columns="host")
    return float(table[name].sum())


def _one_of(name: str, value: int, choices: tuple[int, int]) -> int:
    """Return one of two numbers, or raise TypeError or ValueError."""
    number = check_whole(name, value)
    if number not in choices:
        message = f"{name} must be {choices[0]} or {choices[1]}; got {shown(value)}."
        raise ValueError(message)
    return number
