"""The values of the form, as arguments of `equilabel.segment`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any

import equilabel

if TYPE_CHECKING:
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
        As for `equilabel.segment`, as are the others. Lengths and sizes are numbers of pixels, or
        text with a unit.
    """

    roles: tuple[Role, ...]
    color: str = "luminance"
    channel: int = 0
    threshold: str | float | tuple[float, float] = "otsu"
    background: float | str | None = None
    background_method: str = "top_hat"
    sigma: float | str = 0.0
    dark: bool = False
    block_size: float | str = 51
    offset: float = 0.0
    closing: float | str = 0.0
    opening: float | str = 0.0
    fill_holes: bool = False
    connectivity: int | None = None
    split: bool | float | str = False
    min_size: float | str = 0
    exclude_border: bool = False
    track: bool = False
    properties: tuple[str, ...] | None = field(default=None)
    method: str = "auto"
    device: str = "auto"

    @property
    def background_options(self) -> dict[str, Any]:
        """How the background is found, as arguments of `equilabel.subtract_background`."""
        return {"dark": self.dark, "method": self.background_method}

    def arguments(self, source: Source) -> dict[str, Any]:
        """Return the arguments of `equilabel.segment` for the arranged image of a layer.

        Only those that differ from the defaults, in the order of the signature.
        """
        defaults = signature(equilabel.segment).parameters
        spacing, unit = source.spacing(self.roles)
        local, stacked = self.threshold == "local", "time" in self.roles
        lengths = (self.background, self.sigma, self.closing, self.opening, self.split)
        sizes = (self.min_size, *([self.block_size] if local else []))
        physical = any(isinstance(each, str) for each in (*lengths, *sizes))
        wanted: dict[str, Any] = {
            **{name: getattr(self, name) for name in defaults if name in self.__dataclass_fields__},
            "background_method": self.background_method if self.background else "top_hat",
            "block_size": self.block_size if local else None,
            "offset": self.offset if local else 0.0,
            "spacing": spacing if physical or set(spacing) != {1.0} else None,
            "unit": unit if physical else None,
            "stacked": stacked,
            "track": self.track and stacked,
            "channel_axis": -1 if "channel" in self.roles else None,
            "channel": self.channel if "channel" in self.roles else None,
        }
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
    [('4: sides', 1), ('8: sides and corners', 2)]
    >>> [hops for _, hops in connectivities(4)]
    [1, 2, 3, 4]
    """
    what = {
        1: ["next in the row"],
        2: ["sides", "sides and corners"],
        3: ["faces", "faces and edges", "faces, edges, corners"],
    }.get(rank, [f"up to {hops} hops" for hops in range(1, rank + 1)])
    counts = NEIGHBORS.get(rank) or tuple(
        sum(math.comb(rank, k) * 2**k for k in range(1, hops + 1)) for hops in range(1, rank + 1)
    )
    return [(f"{count}: {what[k]}", k + 1) for k, count in enumerate(counts)]
