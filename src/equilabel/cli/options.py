"""Options of a run that decide the results of each image."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TIFF, OME_ZARR = "tiff", "ome-zarr"
LABELS = {TIFF: "_labels.tif", OME_ZARR: "_labels.zarr"}  # by --labels-format
OVERLAY = "_overlay.png"
ENDINGS = ("_table.csv", "_table.parquet", OVERLAY)  # of all results there can be, but labels


class RefusedError(Exception):
    """A run cannot begin; the message tells the person at the terminal why."""


@dataclass(frozen=True)
class Options:
    """Options of a run that decide the results of each image.

    Attributes
    ----------
    segment : dict
        Keyword arguments of `equilabel.segment` that hold for every image.
    spacing : tuple of float, optional
        Replaces the spacing of the files: one number for all axes of space, or one for each.
    unit : str, optional
        Replaces the unit of the files.
    stacked : bool, optional
        Whether the first axis counts independent images; by default axis T does.
    channel : int or str, optional
        Index or name of the channel to label.
    slices : bool
        Whether an image is a folder of numbered slices.
    series : int
        Which image of a file that holds several.
    format : {"csv", "parquet"}
        Of the tables.
    labels_format : {"tiff", "ome-zarr"}
        Of the labels.
    unit_row : bool
        Whether the second line of each table has the units of its columns.
    overlay : bool
        Whether to draw overlays.
    command : {"batch", "measure"}
        Whether objects are found in images, or labels are measured.
    memory_limit : int, optional
        Bytes of memory that an image may take, by the forecast; None for any. Decides whether there
        are results, not what is in them, and so is none of the parameters.
    too_large : {"refuse", "chunked"}
        What becomes of a TIFF that takes more; no parameter either.
    """

    segment: dict[str, Any] = field(default_factory=dict)
    spacing: tuple[float, ...] | None = None
    unit: str | None = None
    stacked: bool | None = None
    channel: int | str | None = None
    slices: bool = False
    series: int = 0
    format: str = "csv"
    labels_format: str = TIFF
    unit_row: bool = False
    overlay: bool = True
    command: str = "batch"
    memory_limit: int | None = None
    too_large: str = "refuse"

    def endings(self) -> dict[str, str]:
        """Return how the names of the files written for an image end, by kind of file."""
        endings = {"table": f"_table.{self.format}"}
        if self.command == "batch":
            endings = {"labels": LABELS[self.labels_format], **endings}
        return {**endings, "overlay": OVERLAY} if self.overlay else endings

    def all_endings(self) -> tuple[str, ...]:
        """Return how the names of all files end that this command could write for an image."""
        return (*LABELS.values(), *ENDINGS) if self.command == "batch" else ENDINGS

    def parameters(self) -> dict[str, Any]:
        """Return all options that decide the results, by their names in Python."""
        others = ("segment", "memory_limit", "too_large")
        own = {name: value for name, value in vars(self).items() if name not in others}
        return {**self.segment, **own}
