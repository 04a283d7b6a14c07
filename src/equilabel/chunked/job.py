"""What is the same for all blocks of an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from equilabel.array_types import HostArray
    from equilabel.labeling.problem import Problem

    from .blocks import Blocks
    from .checkpoints import Faces, Saved
    from .outputs import ArrayOutput


class Rule(Protocol):
    """How the pixels of a block become components."""

    def problem(self, pixels: HostArray) -> Problem:
        """Return what `solve` labels."""
        ...


class Counting(Protocol):
    """What is measured."""

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
    kept : ArrayOutput, or None
        Where the labels of blocks stay from the first look at them to the second.
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
    kept: ArrayOutput | None = None
