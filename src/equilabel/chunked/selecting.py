"""Selection of objects by sizes and bounding boxes, which are merged over blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equilabel.measuring import Counts
from equilabel.measuring.layout import Layout
from equilabel.segmentation.selection import select_components

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Selection(NamedTuple):
    """Criteria for the objects that are kept."""

    shape: tuple[int, ...]  # of the image
    stacked: bool
    min_size: float  # in pixels
    max_size: float | None
    exclude_border: bool

    @property
    def needed(self) -> bool:
        """Whether any object may be dropped."""
        return self.min_size > 1 or self.max_size is not None or self.exclude_border

    def described(self) -> list[Any]:
        """Return the criteria as JSON."""
        return [float(self.min_size), self.max_size, bool(self.exclude_border)]

    def select(
        self, pixels: NDArray[np.int64], begins: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which objects are kept, from their pixels, first and last + 1 coordinates."""
        layout = Layout(len(self.shape), self.stacked)
        table = np.zeros((len(pixels), layout.width), np.int64)
        table[:, 0] = pixels
        table[:, layout["lows"]] = np.array(self.shape) - begins
        table[:, layout["highs"]] = ends
        counts = Counts(np.arange(1, len(pixels) + 1), table, layout, self.shape)
        limits: Any = {"min_size": self.min_size, "max_size": self.max_size}
        return select_components(counts, **limits, exclude_border=self.exclude_border)
