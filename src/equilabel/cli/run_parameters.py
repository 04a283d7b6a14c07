"""Options of a run (folders, processes, limits), with their help texts."""

from typing import Annotated, Literal

from .parameters import RUN, option
from .values import number, one_of, whole

Recursive = Annotated[
    bool,
    option(
        RUN,
        "",
        "Search folders and all folders below them. Results are put into the same subfolders.",
        "--recursive",
        "-r",
    ),
]
Jobs = Annotated[
    int,
    option(
        RUN,
        "COUNT",
        "Number of images to process at the same time. If the process of an image crashes, or "
        "runs out of memory or time, the image is tried once more at the end, alone.",
        "--jobs",
        "-j",
        parser=whole("jobs", "4"),
    ),
]
Scheduler = Annotated[
    str | None,
    option(
        RUN,
        "ADDRESS",
        "Label images on a Dask cluster: the address of its scheduler, such as tcp://host:8786. "
        "Its workers have to see images and --out under the same paths, and to have the same "
        "versions installed.",
    ),
]
TimeLimit = Annotated[
    float | None,
    option(
        RUN,
        "SECONDS",
        "Stop work on an image after this time. With several --jobs it is tried once more, alone.",
        parser=number("time-limit", "600"),
    ),
]
MemoryLimit = Annotated[
    str | None,
    option(
        RUN,
        "SIZE",
        "Refuse images that need more memory than this, such as 500MB or 4GB, by a forecast before "
        "they are decoded. By default nine tenths of the free memory, divided by --jobs; on a "
        "cluster, of the machine of each worker, divided by the threads of the cluster.",
    ),
]
TooLarge = Annotated[
    Literal["refuse", "chunked"],
    option(
        RUN,
        "refuse|chunked",
        "What becomes of a TIFF that needs more memory than --memory-limit: refuse it, or label it "
        "block by block, with the same results. An OME-Zarr always is.",
        parser=one_of("too-large", "refuse", "chunked"),
    ),
]
DryRun = Annotated[
    bool,
    option(
        RUN,
        "",
        "Compute and write nothing: list the images with their sizes, the memory that each will "
        "take, and those that would fail.",
        "--dry-run",
    ),
]
Resume = Annotated[
    bool,
    option(
        RUN,
        "",
        "Continue an earlier run: skip images whose file and results have not changed. The "
        "options and the installed versions must be those of the earlier run.",
        "--resume",
    ),
]
Overwrite = Annotated[
    bool, option(RUN, "", "Replace earlier results of the same images.", "--overwrite")
]
Overlay = Annotated[
    bool,
    option(
        RUN,
        "",
        "Write a picture of each image with the outlines of its objects, to check the result.",
        "--overlay/--no-overlay",
    ),
]
