"""Labeling and measuring of images in chunks, which are never in memory as a whole."""

from .label import label_chunked
from .segment import segment_chunked

__all__ = ["label_chunked", "segment_chunked"]
