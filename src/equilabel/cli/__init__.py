"""The command line: files in; labels, tables, overlays and a record of the run out."""

from .program import main

__all__ = ["main"]
