"""Images in chunks: labeled and measured without ever being in memory as a whole."""

from .label import label_chunked
from .segment import segment_chunked

__all__ = ["label_chunked", "segment_chunked"]
