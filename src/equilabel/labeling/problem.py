"""What is asked of a labeler: one value, made by the checks and passed on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from equilabel.array_types import Array
    from equilabel.domains.contract import Method
    from equilabel.domains.grid import Foreground


class Problem(NamedTuple):
    """An image whose components are to be labeled.

    A named tuple and no dataclass, as it is made in a third of the time: one microsecond is a
    seventh of what labeling a small image takes.

    Attributes
    ----------
    image : array of bool, int or float, of NumPy or CuPy
        In native byte order.
    foreground : Foreground
        Which pixels belong to components.
    connectivity : int
        Most orthogonal hops between neighbors.
    stacked : bool
        Whether the first axis counts independent images.
    method : Method
    device : str
        Where to label: a device that `equilabel.devices.resolve` returned.
    out : array of int, or None
        Receives the labels; on the device that holds `image`.
    options : mapping
        Keyword arguments of the method's recipe.
    periodic : tuple of bool
        For each axis of the image, whether its last pixels are neighbors of its first; empty if
        none are.
    reported : bool
        Whether calls of passes are counted.
    """

    image: Array
    foreground: Foreground
    connectivity: int
    stacked: bool
    method: Method
    device: str
    out: Array
    options: Mapping[str, Any]
    periodic: tuple[bool, ...] = ()
    reported: bool = False

    @property
    def numbered_by_columns(self) -> bool:
        """Whether scikit-image numbers such an image column by column: integers, (M, N, 1)."""
        shape = self.image.shape
        return self.foreground.values and len(shape) - self.stacked == 3 and shape[-1] == 1
