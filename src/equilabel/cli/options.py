"""Options of a run that decide the results of each image."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LABELS, OVERLAY = "_labels.tif", "_overlay.png"
ENDINGS = (LABELS, "_table.csv", "_table.parquet", OVERLAY)  # of all results there can be


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
    unit_row: bool = False
    overlay: bool = True
    command: str = "batch"
    memory_limit: int | None = None
    too_large: str = "refuse"

    def endings(self) -> dict[str, str]:
        """Return how the names of the files written for an image end, by kind of file."""
        endings = {"table": f"_table.{self.format}"}
        if self.command == "batch":
            endings = {"labels": LABELS, **endings}
        return {**endings, "overlay": OVERLAY} if self.overlay else endings

    def all_endings(self) -> tuple[str, ...]:
        """Return how the names of all files end that this command could write for an image."""
        return ENDINGS if self.command == "batch" else ENDINGS[1:]

    def parameters(self) -> dict[str, Any]:
        """Return all options that decide the results, by their names in Python."""
        others = ("segment", "memory_limit", "too_large")
        own = {name: value for name, value in vars(self).items() if name not in others}
        return {**self.segment, **own}
