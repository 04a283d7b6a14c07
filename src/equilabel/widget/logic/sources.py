"""The pixels of a layer, their axes and units, as they were when a run began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equilabel.storage import memory

from .axes import Arrangement, explain_guess, guess_roles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import Array, HostArray
    from equilabel.widget.napari_types import Layer, Transform

    from .axes import Role

COLORS = ("luminance", "red", "green", "blue")
LUMINANCE = (0.2125, 0.7154, 0.0721)  # of red, green and blue, as scikit-image weighs them
SLAB = 2**26  # bytes read at once of images that are not in memory


@dataclass(frozen=True, eq=False)
class Source:
    """A layer as a run needs it: pixels, transform, file.

    Attributes
    ----------
    name : str
        Of the layer.
    data : array-like
        Pixels of the finest level; a Dask array or the like may stand for them.
    rgb : bool
        Whether the last axis holds red, green, blue.
    transform : dict
        scale, translate, rotate, shear, affine, units and axis_labels of the layer.
    path : str
        File the layer was read from, if any.
    multiscale : bool
        Whether the layer has coarser levels.
    """

    name: str
    data: Array
    rgb: bool
    transform: Transform
    path: str = ""
    multiscale: bool = False

    @classmethod
    def of(cls, layer: Layer) -> Source:
        """Return the source of a napari layer; nothing is read or copied."""
        names = ("scale", "translate", "rotate", "shear", "affine", "units", "axis_labels")
        data = layer.data[0] if layer.multiscale else layer.data
        path = getattr(layer.source, "path", None)
        return cls(
            name=layer.name,
            data=data,
            rgb=bool(getattr(layer, "rgb", False)),
            transform={name: getattr(layer, name) for name in names},
            path=str(path or ""),
            multiscale=bool(layer.multiscale),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis, without the samples of an RGB image."""
        shape = tuple(int(length) for length in self.data.shape)
        return shape[:-1] if self.rgb else shape

    @property
    def lazy(self) -> bool:
        """Whether pixels are not in memory, and have to be read or computed."""
        return not isinstance(self.data, np.ndarray) or isinstance(self.data, np.memmap)

    def guess(self) -> tuple[Role, ...]:
        """Guess the roles of the axes."""
        return guess_roles(self.shape, self.transform["axis_labels"], self._dimensions())

    def explain_guess(self, roles: Sequence[Role]) -> str:
        """Say as what axes without a known name are read; empty if all are known."""
        return explain_guess(self.shape, roles, self.transform["axis_labels"], self._dimensions())

    def _dimensions(self) -> list[str]:
        return ["time" if _is_time(unit) else "" for unit in self.transform["units"]]

    def spacing(self, roles: Sequence[Role]) -> tuple[tuple[float, ...], str]:
        """Return the distance of pixels along each axis of space, and its unit.

        The unit is that of the last axis of space; empty for pixels, and for axes whose units
        cannot be compared.
        """
        axes = [axis for axis, role in enumerate(roles) if role == "space"]
        steps = [abs(float(self.transform["scale"][axis])) for axis in axes]
        units = [self.transform["units"][axis] for axis in axes]
        unit = units[-1]
        try:
            factors = [float((1 * each).to(unit).magnitude) for each in units]
        except Exception:  # pint has its own errors, and is napari's
            return tuple(steps), ""
        steps = [float(np.round(a * b, 12)) for a, b in zip(steps, factors, strict=True)]
        word = f"{unit:~P}"
        return tuple(steps), "" if word in ("pixel", "px", "") else word

    def arrangement(self, roles: Sequence[Role]) -> Arrangement:
        """Return the order of axes for `segment`."""
        return Arrangement(tuple(roles), self.shape)

    def read(
        self, color: str = "luminance", report: Callable[[str], None] | None = None
    ) -> HostArray:
        """Read all pixels into memory.

        Parameters
        ----------
        color : {"luminance", "red", "green", "blue"}
            Which gray values to take from an RGB image.
        report : callable, optional
            Called with "read" before each piece that is read; what it raises ends the reading.

        Returns
        -------
        array
            Of the shape of the layer.

        Raises
        ------
        MemoryError
            If image and labels cannot fit into memory.
        """
        check_memory(self)
        if not self.lazy:
            pixels = self.data
        else:
            pixels = np.empty(self.data.shape, self.data.dtype)
            for part in slabs(self.data.shape, self.data.dtype.itemsize):
                if report is not None:
                    report("read")
                pixels[part] = np.asarray(self.data[part])
        return np.asarray(gray(pixels, color)) if self.rgb else pixels


def slabs(shape: Sequence[int], itemsize: int) -> list[tuple[slice, ...]]:
    """Split an array along its first axis into pieces that are read one by one.

    Examples
    --------
    >>> len(slabs((64, 1024, 1024), 4)), len(slabs((8, 8), 1)), slabs((0, 4), 1)
    (4, 1, [])
    """
    if not shape or 0 in shape:
        return [] if 0 in shape else [()]
    plane = int(np.prod(shape[1:], dtype=np.int64)) * itemsize
    count = max(1, SLAB // plane)
    return [(slice(start, start + count),) for start in range(0, shape[0], count)]


def gray(pixels: Array, color: str) -> Array:
    """Return a channel of a color image, or its luminance.

    Parameters
    ----------
    pixels : (..., 3 or 4) array
        Of NumPy, or of Dask, which is not computed.
    color : {"luminance", "red", "green", "blue"}

    Returns
    -------
    (...) array
        A channel, or the luminance in float32, in the range of the colors.

    Examples
    --------
    >>> pixels = np.array([[[10, 20, 30]]], np.uint8)
    >>> gray(pixels, "green"), gray(pixels, "luminance").round(2)
    (array([[20]], dtype=uint8), array([[18.6]], dtype=float32))
    """
    if color in COLORS[1:]:
        return pixels[..., COLORS.index(color) - 1]
    weights = np.array(LUMINANCE, np.float32)
    return pixels[..., :3].astype(np.float32) @ weights


def check_memory(source: Source, available: int | None = None) -> None:
    """Raise MemoryError if a run cannot fit into memory.

    Parameters
    ----------
    source : Source
        A layer.
    available : int, optional
        Bytes of free memory; by default as the system reports.
    """
    if available is None:
        available = memory.free()
    need = forecast(source)
    if need > available:
        message = (
            f"image must fit into memory together with its labels, {_gigabytes(need)} for "
            f"{source.name!r}; got {_gigabytes(available)} free. Crop it, or open a smaller level."
        )
        raise MemoryError(message)


def forecast(source: Source) -> int:
    """Estimate how many more bytes a run needs.

    Mask and labels need 5 bytes per pixel, a smoothed copy 4 or 8, and the pixels themselves if
    they have to be read.
    """
    size = int(np.prod(source.shape, dtype=np.int64))
    itemsize = int(np.dtype(source.data.dtype).itemsize)
    pixels = int(np.prod(source.data.shape, dtype=np.int64)) * itemsize if source.lazy else 0
    return pixels + size * (5 + (8 if itemsize > 4 else 4))


def _gigabytes(count: int) -> str:
    return f"{count / 2**30:.3g} GB"


def _is_time(unit: Any) -> bool:
    return "[time]" in str(getattr(unit, "dimensionality", ""))
