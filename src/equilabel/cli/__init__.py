"""The command line, which writes labels, tables, overlays and a record of the run."""

from . import interrupts as _interrupts  # noqa: F401 - first, to handle Ctrl-C

# isort: split
from .program import main

__all__ = ["main"]
