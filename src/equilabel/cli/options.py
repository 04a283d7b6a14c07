"""Options of the commands besides those of `segment`, which are in `equilabel.options`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from equilabel.options import (
    ALL,
    CHUNKS,
    EVERY,
    FILES,
    RUN,
    TABLE,
    ImageOptions,
    SegmentOptions,
    option,
    options_of,
)

if TYPE_CHECKING:
    from pathlib import Path

TIFF, OME_ZARR = "tiff", "ome-zarr"
LABELS = {TIFF: "_labels.tif", OME_ZARR: "_labels.zarr"}  # by --labels-format
OVERLAY = "_overlay.png"
OUTLINES = {"geojson": "_outlines.geojson", "roi": "_outlines.zip"}  # by --outlines
# Of all possible results except labels.
ENDINGS = ("_table.csv", "_table.parquet", OVERLAY, *OUTLINES.values())
LENGTHS = tuple(
    name for name, (_, found) in options_of(SegmentOptions).items() if found.kind == "lengths"
)


class RefusedError(ValueError):
    """A run cannot start, or an image cannot be used; the message tells the user why."""


def refuse(message: str) -> NoReturn:
    """Raise RefusedError."""
    raise RefusedError(message)


def as_typed(name: str) -> str:
    """Return an option as it is typed, from its Python name."""
    return f"--{name.replace('_', '-')}"


def refuse_both(resume: bool, overwrite: bool) -> bool:
    """Raise RefusedError if both are set; return the first."""
    if resume and overwrite:
        refuse("--resume and --overwrite must not be combined; got both. Leave one out.")
    return resume


def refuse_no_address(where: str, *words: str) -> None:
    """Raise RefusedError if the value of --scheduler is no address, nor one of some words."""
    if where not in words and "://" not in where:
        others = f"{', '.join(words)}, or " if words else ""
        refuse(
            f"--scheduler must be {others}an address such as tcp://host:8786; got {where!r}. "
            "Leave it out if unsure."
        )


@dataclass(frozen=True)
class Options(ImageOptions):
    """Options of a run that decide the results of each image, or whether there are any."""

    # keyword arguments of `equilabel.segment` for every image
    segment: dict[str, Any] = field(default_factory=dict)
    format: str = option(
        "csv",
        "word",
        "File format of the tables.",
        panel=TABLE,
        words=("csv", "parquet"),
        commands=ALL,
    )
    labels_format: str = option(
        TIFF,
        "word",
        "File format of the labels. An OME-Zarr is a folder, `NAME_labels.zarr`, with the labels "
        "in several resolutions; napari and other viewers load the part of it that they show.",
        panel=TABLE,
        words=(TIFF, OME_ZARR),
    )
    unit_row: bool = option(
        False,
        "flag",
        "Write the units of columns into a second line of the CSV tables. They are in `run.json` "
        "in any case.",
        panel=TABLE,
        commands=EVERY,
    )
    slices: bool = option(
        False,
        "flag",
        "Read each folder as one volume, whose slices are its files in the order of their numbers. "
        "Pass folders; with --recursive, those below them are read, too.",
        panel=FILES,
    )
    series: int = option(
        0,
        "whole",
        "Which image to read from files that contain several, from 0.",
        panel=FILES,
        placeholder="INDEX",
        example="0",
        commands=ALL,
    )
    # The next two decide whether there are results, not what they are: not in `parameters`.
    memory_limit: int | None = option(  # bytes; None for any
        None,
        "memory",
        "Refuse images that need more memory than this, such as 500MB or 4GB, by a forecast before "
        "they are decoded. By default nine tenths of the free memory, divided by --jobs if there "
        "are several; on a cluster, of the machine of each worker, divided by its threads.",
        panel=RUN,
        commands=EVERY,
    )
    too_large: str = option(
        "refuse",
        "word",
        "What becomes of a TIFF that needs more memory than --memory-limit: refuse it, or label it "
        "block by block, with the same results. An OME-Zarr is, unless its options need it whole.",
        panel=RUN,
        words=("refuse", "chunked"),
        commands=("batch",),
    )
    overlay: bool = option(
        True,
        "flag",
        "Write a picture of each image with the outlines of its objects, to check the result.",
        panel=RUN,
        flags=("--overlay/--no-overlay",),
        commands=EVERY,
    )
    outlines: str | None = option(
        None,
        "word",
        "Write the outlines of the objects, too: as GeoJSON for QuPath (with their measurements), "
        "or as regions for the ROI Manager of ImageJ, which needs roifile. Of images of 2 axes, "
        "the frames of movies, and the planes of volumes.",
        panel=RUN,
        words=tuple(OUTLINES),
        commands=EVERY,
    )
    command: str = "batch"  # "batch" finds objects, "measure" measures labels

    @property
    def beside(self) -> dict[str, str]:
        """The files of the same pixels that were given."""
        given = {"markers": self.markers, "mask": self.mask}
        return {name: word for name, word in given.items() if word is not None}

    @property
    def writes_labels(self) -> bool:
        """Whether objects are numbered: they are found, or some of those of LABELS are kept."""
        chosen = self.segment.get("keep") is not None or bool(self.segment.get("exclude_border"))
        return self.command == "batch" or chosen

    def endings(self) -> dict[str, str]:
        """Return the endings of the names of the files written for an image, by kind."""
        endings = {"table": f"_table.{self.format}"}
        if self.writes_labels:
            endings = {"labels": LABELS[self.labels_format], **endings}
        endings |= {"overlay": OVERLAY} if self.overlay else {}
        return endings | ({"outlines": OUTLINES[self.outlines]} if self.outlines else {})

    def finals(self, out: Path, name: str) -> dict[str, Path]:
        """Return the paths of the files written for an image, by kind."""
        return {kind: out / f"{name}{ending}" for kind, ending in self.endings().items()}

    def all_endings(self) -> tuple[str, ...]:
        """Return the endings of all files that this command could write for an image."""
        return (*LABELS.values(), *ENDINGS) if self.writes_labels else ENDINGS

    def parameters(self) -> dict[str, Any]:
        """Return all options that decide the results, by their Python names."""
        others = ("segment", "memory_limit", "too_large")
        own = {name: value for name, value in vars(self).items() if name not in others}
        return {**self.segment, **own}


of_run = partial(option, panel=RUN, commands=("batch", "measure"))
of_chunks = partial(option, panel=CHUNKS, commands=("segment",))
run_flag, chunk_flag = partial(of_run, False, "flag"), partial(of_chunks, False, "flag")


@dataclass(frozen=True)
class RunOptions:
    """How many images are worked on."""

    recursive: bool = run_flag(
        "Search folders and all folders below them. Results are put into the same subfolders.",
        flags=("--recursive", "-r"),
    )
    jobs: int = of_run(
        1,
        "whole",
        "Number of images to process at the same time. If the process of an image crashes, or "
        "runs out of memory or time, the image is tried once more at the end, alone.",
        flags=("--jobs", "-j"),
        example="4",
    )
    scheduler: str | None = of_run(
        None,
        "name",
        "Label images on a Dask cluster: the address of its scheduler, such as tcp://host:8786. "
        "Its workers have to see images and --out under the same paths, and to have the same "
        "versions installed.",
        placeholder="ADDRESS",
        commands=("batch",),
    )
    group: str | None = of_run(
        None,
        "name",
        "Conditions of the images, from the end of their paths, such as '{drug}/{well}_*.tif', or "
        "from a CSV file with a column file. They become columns of the tables of the run, and "
        "report.html compares them.",
        panel=TABLE,
        placeholder="PATTERN",
    )
    time_limit: float | None = of_run(
        None,
        "number",
        "Stop work on an image after this time. With several --jobs it is tried once more, alone.",
        placeholder="SECONDS",
        example="600",
    )
    resume: bool = run_flag(
        "Continue an earlier run: skip images whose file and results have not changed. The "
        "options and the installed versions must be those of the earlier run.",
    )
    overwrite: bool = run_flag(
        "Replace earlier results of the same images.",
        commands=ALL,
    )
    dry_run: bool = run_flag(
        "Compute and write nothing: list the images with their sizes, the memory that each will "
        "take, and those that would fail.",
    )


@dataclass(frozen=True)
class ChunkOptions:
    """How one image is labeled block by block."""

    chunked: bool = chunk_flag(
        "Read a TIFF block by block, as is done with a Zarr, and with a TIFF that takes more "
        "memory than --memory-limit.",
    )
    chunks: int | tuple[int, ...] | None = of_chunks(
        None,
        "chunks",
        "Sides of a block: one number for all axes, or one for each (1,512,512); -1 is all of an "
        "axis. By default small chunks and pages are joined to about 16 million pixels.",
    )
    shards: bool | None = of_chunks(
        None,
        "flag",
        "Store labels in shards: one file for each block, which holds its chunks. By default where "
        "there would be more than 100,000 chunks.",
        flags=("--shards/--no-shards",),
    )
    numbering: str = of_chunks(
        "raster",
        "word",
        "Order of labels: raster, that of first pixels in the image; or blocks, that of blocks, "
        "which takes memory only for objects that touch the side of a block.",
        words=("raster", "blocks"),
    )
    scheduler: str = of_chunks(
        "threads",
        "name",
        "Where blocks are computed: threads, processes, or the address of a Dask scheduler, "
        "such as tcp://host:8786, whose workers see IMAGE and --out under the same paths.",
        placeholder="WHERE",
    )
    workers: int | None = of_chunks(
        None,
        "whole",
        "Number of threads or processes. By default one for each core.",
        example="4",
    )
    resume: bool = chunk_flag(
        "Go on with a run that was interrupted or killed. Image and options must be the same.",
    )
