"""Options of a run that decide the results of each image."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TIFF, OME_ZARR = "tiff", "ome-zarr"
LABELS = {TIFF: "_labels.tif", OME_ZARR: "_labels.zarr"}  # by --labels-format
OVERLAY = "_overlay.png"
ENDINGS = ("_table.csv", "_table.parquet", OVERLAY)  # of all possible results except labels


class RefusedError(Exception):
    """A run cannot start; the message tells the user why."""


@dataclass(frozen=True)
class Options:
    """Options of a run that decide the results of each image."""

    # keyword arguments of `equilabel.segment` for every image
    segment: dict[str, Any] = field(default_factory=dict)
    # replaces that of the files: one number for all spatial axes, or one for each
    spacing: tuple[float, ...] | None = None
    unit: str | None = None  # replaces the unit of the files
    # whether the first axis counts independent images; by default if it is T
    stacked: bool | None = None
    channel: int | str | None = None  # index or name of the channel to label
    slices: bool = False  # whether an image is a folder of numbered slices
    series: int = 0  # index of the image in files with several
    format: str = "csv"  # of tables: "csv" or "parquet"
    labels_format: str = TIFF  # of labels: "tiff" or "ome-zarr"
    unit_row: bool = False  # whether the second line of each table has the units of its columns
    overlay: bool = True  # whether to draw overlays
    command: str = "batch"  # "batch" finds objects, "measure" measures labels
    # bytes that an image may take; None for any. It decides whether there are results, not what
    # they are, and is therefore not in `parameters`
    memory_limit: int | None = None
    # "refuse" or "chunked": what to do with a TIFF that takes more; not in `parameters`
    too_large: str = "refuse"

    def endings(self) -> dict[str, str]:
        """Return the endings of the names of the files written for an image, by kind."""
        endings = {"table": f"_table.{self.format}"}
        if self.command == "batch":
            endings = {"labels": LABELS[self.labels_format], **endings}
        return {**endings, "overlay": OVERLAY} if self.overlay else endings

    def all_endings(self) -> tuple[str, ...]:
        """Return the endings of all files that this command could write for an image."""
        return (*LABELS.values(), *ENDINGS) if self.command == "batch" else ENDINGS

    def parameters(self) -> dict[str, Any]:
        """Return all options that decide the results, by their Python names."""
        others = ("segment", "memory_limit", "too_large")
        own = {name: value for name, value in vars(self).items() if name not in others}
        return {**self.segment, **own}
