"""Check that the libraries for the requested file formats are installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from .options import OME_ZARR, RefusedError

if TYPE_CHECKING:
    from .options import Options


def check_formats(options: Options) -> None:
    """Raise RefusedError if tables or labels cannot be written in their formats."""
    if options.format == "parquet" and find_spec("pyarrow") is None:
        message = (
            "--format parquet needs pyarrow; got none installed. Install it with "
            "`pip install pyarrow`, or pass --format csv."
        )
        raise RefusedError(message)
    if options.labels_format == OME_ZARR and find_spec("zarr") is None:
        message = (
            "--labels-format ome-zarr needs zarr; got none installed. Install it with "
            "`pip install zarr`, or pass --labels-format tiff."
        )
        raise RefusedError(message)
