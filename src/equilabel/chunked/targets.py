"""Destination, steps and results of labeling a whole image."""

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
    """Destination of labels, and how they are stored."""

    out: Path | None  # None: memory, or a folder that is removed with the result
    chunks: tuple[int, ...]  # sides of the chunks of a Zarr
    resume: bool
    arguments: Mapping[str, Any]  # on which labels depend, as JSON
    ome: OmeLabels | None = None  # if `out` becomes an OME-Zarr
    shards: tuple[int, ...] | None = None  # sides of the shards of a Zarr: those of a block
    into: Any = None  # NumPy or Zarr array that takes the labels, instead of `out`


class Found(NamedTuple):
    """Results besides labels."""

    table: Any = None
    told: Mapping[str, Any] = MappingProxyType({})  # stored with the labels, as JSON


class Steps(NamedTuple):
    """Functions in which labeling and segmenting differ."""

    make_job: Callable[[Saved, Run, Progress], tuple[Job, Readable]]
    """Returns the job, and the source of its pixels; may store results and run tasks."""
    select: Callable[..., Any] | None = None  # as for `merging.number_components`
    finish: Callable[[Job], Found] | None = None  # called when all blocks are written


class Whole(NamedTuple):
    """Results for a whole image."""

    labels: Any  # a NumPy, Dask or Zarr array, or a Path
    num: int
    found: Found
