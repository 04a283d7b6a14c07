"""Parameters of a run that are the same for all blocks of an image."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from equilabel.array_types import Array, HostArray
    from equilabel.labeling.problem import Problem

    from .block_runs import Kept
    from .blocks import Blocks
    from .checkpoints import Faces, Saved
    from .held import HeldLabels


class Rule(Protocol):
    """How the pixels of a block become components, and on which device."""

    @property
    def device(self) -> str:
        """Device, as `label` takes it."""
        ...

    def problem(self, pixels: Array) -> Problem:
        """Return the problem for `solve`."""
        ...


class Filter(Protocol):
    """Makes a mask from the pixels of a part of an image."""

    @property
    def reach(self) -> tuple[int, ...]:
        """How many pixels around a part must be read along each axis; empty for none."""
        ...

    def apply(self, pixels: HostArray, first: int) -> HostArray:
        """Return the mask of a part that begins at the index `first` of the first axis."""
        ...


class Counting(Protocol):
    """What is measured."""

    def uses_values(self, axes: int) -> bool:
        """Return whether intensities are measured."""
        ...

    def count(
        self,
        job: Job,
        block: int,
        labels: HostArray,
        values: HostArray | None,
        faces_of: Callable[[int], Faces],
    ) -> Sequence[HostArray]:
        """Count a block; return its counts as arrays to be stored."""
        ...


@dataclass(frozen=True)
class Job:
    """Parameters of a run that are the same for all blocks of an image."""

    blocks: Blocks
    rule: Rule
    connectivity: int
    stacked: bool
    periodic: tuple[bool, ...]
    turned: bool  # numbered column by column, as scikit-image numbers shape (M, N, 1)
    sized: bool  # whether components are dropped by size or position
    depth: int  # layers of labels that are stored at the ends of blocks
    saved: Saved
    counted: Counting | None = None
    kept: Kept | None = None  # keeps labels of blocks, or their runs, from labeling to writing
    held: HeldLabels | None = None  # keeps them on GPUs, if there is room
    marked: Filter | None = None  # pixels to count for selecting components, instead of all
    painted: Callable[[HostArray, HostArray], HostArray] | None = None
    """Returns what is written, from the pixels and the final labels of a block."""
    told: Mapping[str, Any] = field(default_factory=dict)  # stored with the labels, as JSON
