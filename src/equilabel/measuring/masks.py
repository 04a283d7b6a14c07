"""Euler number and perimeter of all that is foreground, as one object."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

import numpy as np

from equilabel.arguments import check_whole, shown
from equilabel.devices import fetch, resolve, take, using

from . import regionprops_table
from .properties import PropertyUndefinedError, check_defined

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from equilabel.array_types import Array


def euler_number(image: ArrayLike, connectivity: int | None = None) -> int:
    """Count the objects of an image minus their holes; in 3D plus cavities, minus tunnels.

    Parameters
    ----------
    image : (M, N[, P]) array of bool, int or float
        Values above 0 are foreground. An image on a GPU is measured there.
    connectivity : int, optional
        1 if pixels that share a face are connected; the number of axes, the default, if those that
        share a corner are, too.

    Raises
    ------
    TypeError, ValueError
        If `image` is not of numbers or of such axes, or `connectivity` is another one.

    See Also
    --------
    perimeter, regionprops_table

    Examples
    --------
    >>> import numpy as np
    >>> euler_number(np.eye(3)), euler_number(np.eye(3), connectivity=1)
    (1, 3)
    """
    mask = _foreground(image, "euler_number")
    hops = check_whole("connectivity", mask.ndim if connectivity is None else connectivity)
    _check_one_of("connectivity", hops, (1, mask.ndim))
    name = "euler_number" if hops == mask.ndim else "euler_number_faces"
    return int(_of_one_object(mask, name))


def perimeter(image: ArrayLike, neighborhood: int = 4) -> float:
    """Measure the length of all outlines, in pixels, along the centers of border pixels.

    Parameters
    ----------
    image : (M, N) array of bool, int or float
        As for `euler_number`.
    neighborhood : {4, 8}
        Neighbors of which one is background at the border. With 8, scikit-image measures.

    Raises
    ------
    TypeError, ValueError
        If `image` is not of numbers or of two axes, or `neighborhood` is another number.

    See Also
    --------
    perimeter_crofton, euler_number

    Examples
    --------
    >>> import numpy as np
    >>> perimeter(np.ones((5, 5), bool))
    16.0
    """
    mask = _foreground(image, "perimeter")
    _check_one_of("neighborhood", neighborhood, (4, 8))
    if neighborhood == 8:
        from skimage import measure

        return float(measure.perimeter(fetch(mask), 8))
    return _of_one_object(mask, "perimeter")


def perimeter_crofton(image: ArrayLike, directions: int = 4) -> float:
    """Measure the length of all outlines, in pixels, from intercepts along lines of pixels.

    Parameters
    ----------
    image : (M, N) array of bool, int or float
        As for `euler_number`.
    directions : {2, 4}
        Directions of the lines: rows and columns, or diagonals, too.

    Raises
    ------
    TypeError, ValueError
        If `image` is not of numbers or of two axes, or `directions` is another number.

    See Also
    --------
    perimeter, euler_number

    Examples
    --------
    >>> import numpy as np
    >>> round(perimeter_crofton(np.ones((5, 5), bool)), 3)
    17.85
    """
    mask = _foreground(image, "perimeter_crofton")
    _check_one_of("directions", directions, (2, 4))
    if directions == 2:
        return _of_one_object(mask, "perimeter_edges") * pi / 4
    return _of_one_object(mask, "perimeter_crofton")


def _foreground(image: ArrayLike, name: str) -> Array:
    """Return where an image is above 0, on its device; raise TypeError or ValueError."""
    pixels: Array = take(image, "image")
    if pixels.dtype.kind not in "buif":
        message = f"image must be of bool, integers or floats; got {pixels.dtype}."
        raise TypeError(message)
    check_defined(name, pixels.ndim, stacked=False)
    with using(resolve("auto", pixels)):
        return pixels > 0


def _of_one_object(mask: Array, name: str) -> float:
    """Return a property of all foreground as one object; 0 if there is none."""
    table = regionprops_table(mask.view(np.uint8), properties=(name,), columns="host")
    return float(table[name].sum())


def _check_one_of(name: str, value: int, choices: tuple[int, int]) -> None:
    """Raise TypeError or ValueError unless a number is one of two."""
    if check_whole(name, value) not in choices:
        message = f"{name} must be {choices[0]} or {choices[1]}; got {shown(value)}."
        raise PropertyUndefinedError(message)
