"""What is the same for all blocks of an image."""

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
    """How the pixels of a block become components, and where."""

    @property
    def device(self) -> str:
        """As `label` takes it."""
        ...

    def problem(self, pixels: Array) -> Problem:
        """Return what `solve` labels."""
        ...


class Filter(Protocol):
    """Makes a mask of pixels of a part of an image."""

    @property
    def reach(self) -> tuple[int, ...]:
        """How far what lies around a pixel has to be known along each axis; empty: not at all."""
        ...

    def apply(self, pixels: HostArray, first: int) -> HostArray:
        """Return a mask of a part that begins at this index of the first axis."""
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
        """Count a block, and return its counts as arrays to be stored."""
        ...


@dataclass(frozen=True)
class Job:
    """What is the same for all blocks of an image.

    Attributes
    ----------
    blocks : Blocks
    rule : Rule
    connectivity : int
    stacked : bool
    periodic : tuple of bool
        For each axis.
    turned : bool
        Whether the image is numbered column by column, as scikit-image numbers shape (M, N, 1).
    sized : bool
        Whether components are dropped by their size or place.
    depth : int
        Layers of labels that are stored at the ends of blocks.
    saved : Saved
        What is known of the blocks that are done.
    counted : Counting, or None
        What is measured.
    kept : Kept, or None
        Where labels of blocks, or their runs, stay from the first look at them to the second.
    held : HeldLabels, or None
        Where they stay on GPUs, as far as there is room.
    marked : Filter, or None
        Tells the pixels that are counted, in place of all, to select components by their number.
    painted : callable, or None
        Makes what is written from the pixels and the final labels of a block.
    told : mapping
        Numbers to be stored with the labels, as JSON.
    """

    blocks: Blocks
    rule: Rule
    connectivity: int
    stacked: bool
    periodic: tuple[bool, ...]
    turned: bool
    sized: bool
    depth: int
    saved: Saved
    counted: Counting | None = None
    kept: Kept | None = None
    held: HeldLabels | None = None
    marked: Filter | None = None
    painted: Callable[[HostArray, HostArray], HostArray] | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
