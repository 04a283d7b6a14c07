"""What labels of a whole image are made of, where they go, and what is made."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from .checkpoints import Saved
    from .engine import Run
    from .job import Job
    from .ome_labels import OmeLabels
    from .running import Progress
    from .sources import Readable


class Target(NamedTuple):
    """Where labels go, and how.

    Attributes
    ----------
    out : Path, or None
        None: to memory, or to a folder that goes with the result.
    chunks : tuple of int
        Sides of the chunks of a Zarr.
    resume : bool
    arguments : mapping
        What labels depend on beside the image, as JSON.
    ome : OmeLabels, or None
        What axes mean, if `out` becomes an OME-Zarr.
    shards : tuple of int, or None
        Sides of the files of a Zarr that hold several chunks: those of a block.
    into : array of NumPy or Zarr, or None
        What takes the labels, in place of `out`.
    """

    out: Path | None
    chunks: tuple[int, ...]
    resume: bool
    arguments: Mapping[str, Any]
    ome: OmeLabels | None = None
    shards: tuple[int, ...] | None = None
    into: Any = None


class Found(NamedTuple):
    """What was found beside labels.

    Attributes
    ----------
    table : DataFrame, or None
    told : mapping
        Numbers to be stored with the labels, as JSON.
    """

    table: Any = None
    told: Mapping[str, Any] = MappingProxyType({})


class Steps(NamedTuple):
    """What one kind of work does differently from another.

    Attributes
    ----------
    make_job : callable
        Makes the job, and what its pixels are read from, once checkpoints can be stored and
        tasks be run.
    select : callable, or None
        As for `merging.number_components`.
    finish : callable, or None
        Makes a table when all blocks are written.
    """

    make_job: Callable[[Saved, Run, Progress], tuple[Job, Readable]]
    select: Callable[..., Any] | None = None
    finish: Callable[[Job], Found] | None = None


class Whole(NamedTuple):
    """What was made.

    Attributes
    ----------
    labels : array of NumPy, Dask or Zarr, or Path
    num : int
    found : Found
    """

    labels: Any
    num: int
    found: Found
