"""The command line: files in; labels, tables, overlays and a record of the run out."""

from . import interrupts as _interrupts  # noqa: F401 - first: what Ctrl-C does

# isort: split
from .program import main

__all__ = ["main"]
