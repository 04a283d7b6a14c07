"""Options of `equilabel label` for chunked images, with their help texts."""

from typing import Annotated

from .parameters import option
from .values import whole

CHUNKS = "Images larger than memory"

Chunked = Annotated[
    bool,
    option(
        CHUNKS,
        "",
        "Read a TIFF block by block, as is done with a Zarr, and with a TIFF that takes more "
        "memory than --memory-limit.",
        "--chunked",
    ),
]
Chunks = Annotated[
    str | None,
    option(
        CHUNKS,
        "PIXELS",
        "Sides of a block: one number for all axes, or one for each (1,512,512); -1 is all of an "
        "axis. By default small chunks and pages are joined to about 16 million pixels.",
    ),
]
Shards = Annotated[
    bool | None,
    option(
        CHUNKS,
        "",
        "Store labels in shards: one file for each block, which holds its chunks. By default where "
        "there would be more than 100,000 chunks.",
        "--shards/--no-shards",
    ),
]
Scheduler = Annotated[
    str,
    option(
        CHUNKS,
        "WHERE",
        "Where blocks are computed: threads, processes, or the address of a Dask scheduler, "
        "such as tcp://host:8786, whose workers see IMAGE and --out under the same paths.",
    ),
]
Workers = Annotated[
    int | None,
    option(
        CHUNKS,
        "COUNT",
        "Number of threads or processes. By default one for each core.",
        parser=whole("workers", "4"),
    ),
]
Continue = Annotated[
    bool,
    option(
        CHUNKS,
        "",
        "Go on with a run that was interrupted or killed. Image and options must be the same.",
        "--resume",
    ),
]
