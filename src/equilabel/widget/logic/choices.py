"""The values of the form, as arguments of `equilabel.segment`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

import equilabel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .axes import Role
    from .sources import Source

# Number of neighbors of a pixel, by rank and hops.
NEIGHBORS = {1: (2,), 2: (4, 8), 3: (6, 18, 26)}


@dataclass(frozen=True)
class Choices:
    """The values of the form that decide labels and table.

    Attributes
    ----------
    roles : tuple of str
        Role of each axis of the layer.
    color : str
        Which gray values to take from an RGB image.
    channel : int
        Channel to find objects in.
    threshold : str, float or (float, float)
        As for `equilabel.segment`, as are the others; `sigma` is a number of pixels, or text with
        a unit.
    """

    roles: tuple[Role, ...]
    color: str = "luminance"
    channel: int = 0
    threshold: str | float | tuple[float, float] = "otsu"
    sigma: float | str = 0.0
    dark: bool = False
    block_size: int = 51
    offset: float = 0.0
    fill_holes: bool = False
    connectivity: int | None = None
    split: bool | float = False
    min_size: int = 0
    exclude_border: bool = False
    properties: tuple[str, ...] | None = field(default=None)
    method: str = "auto"
    device: str = "auto"

    def arguments(self, source: Source) -> dict[str, Any]:
        """Return the arguments of `equilabel.segment` for the arranged image of a layer.

        Only those that differ from the defaults, in the order of the signature.
        """
        spacing, unit = source.spacing(self.roles)
        physical = isinstance(self.sigma, str)
        local = self.threshold == "local"
        wanted: dict[str, Any] = {
            "threshold": self.threshold,
            "sigma": self.sigma,
            "dark": self.dark,
            "block_size": self.block_size if local else None,
            "offset": self.offset if local else 0.0,
            "fill_holes": self.fill_holes,
            "connectivity": self.connectivity,
            "split": self.split,
            "min_size": self.min_size,
            "exclude_border": self.exclude_border,
            "properties": self.properties,
            "spacing": spacing if physical or set(spacing) != {1.0} else None,
            "unit": unit if physical else None,
            "stacked": "time" in self.roles,
            "channel_axis": -1 if "channel" in self.roles else None,
            "channel": self.channel if "channel" in self.roles else None,
            "method": self.method,
            "device": self.device,
        }
        defaults = signature(equilabel.segment).parameters
        return {
            name: wanted[name]
            for name in defaults
            if name in wanted and wanted[name] != defaults[name].default
        }


def connectivities(rank: int) -> list[tuple[str, int]]:
    """List connectivities by the number of neighbors, with the hops they stand for.

    Parameters
    ----------
    rank : int
        Number of spatial axes.

    Returns
    -------
    list of (str, int)
        From the fewest neighbors to the most.

    Examples
    --------
    >>> connectivities(2)
    [('4: share a side', 1), ('8: share a side or a corner', 2)]
    >>> [hops for _, hops in connectivities(4)]
    [1, 2, 3, 4]
    """
    what = {
        1: ["next in the row"],
        2: ["share a side", "share a side or a corner"],
        3: ["share a face", "a face or an edge", "a face, an edge or a corner"],
    }.get(rank, [f"up to {hops} hops" for hops in range(1, rank + 1)])
    counts = NEIGHBORS.get(rank) or tuple(
        sum(math.comb(rank, k) * 2**k for k in range(1, hops + 1)) for hops in range(1, rank + 1)
    )
    return [(f"{count}: {what[k]}", k + 1) for k, count in enumerate(counts)]


def pixels_of(size: float, spacing: Sequence[float]) -> int:
    """Return the number of pixels of an area or volume, rounded up.

    Examples
    --------
    >>> pixels_of(1.0, (0.5, 0.5)), pixels_of(0.3, (0.1,)), pixels_of(0, (2, 2))
    (4, 3, 0)
    """
    pixel = math.prod(spacing)
    return max(0, math.ceil(round(size / pixel, 9)))


def size_of(pixels: int, spacing: Sequence[float]) -> float:
    """Return the area or volume of a number of pixels.

    Examples
    --------
    >>> size_of(4, (0.5, 0.5))
    1.0
    """
    return float(pixels * math.prod(spacing))


def decimals_for(step: float) -> int:
    """Return how many decimals a field needs so that a hundredth of a pixel is not rounded away.

    Parameters
    ----------
    step : float
        A pixel, in the unit of the field.

    Examples
    --------
    >>> decimals_for(1.0), decimals_for(0.0515), decimals_for(0.00013), decimals_for(25.0)
    (2, 4, 6, 2)
    """
    return int(min(12, max(2, 2 - math.floor(math.log10(step))))) if step > 0 else 2


def unit_of_size(unit: str, rank: int) -> str:
    """Return the unit of areas and volumes.

    Examples
    --------
    >>> unit_of_size("µm", 2), unit_of_size("", 3), unit_of_size("", 2)
    ('µm²', 'units³', 'units²')
    """
    power = {1: "", 2: "²", 3: "³"}.get(rank, f"^{rank}")
    return f"{unit or 'units'}{power}"
