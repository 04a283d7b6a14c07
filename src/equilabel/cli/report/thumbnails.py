"""Thumbnails of overlays, as data URIs."""

from __future__ import annotations

from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SIDE = 144  # pixels; the page shows them at half that size
MOST = 500  # limits the size of reports of many images
QUALITY = 70


def thumbnails(overlays: Sequence[str | None], out: Path) -> Iterator[str]:
    """Yield the overlay of each image as a data URI; "" if there is none.

    Only the first `MOST` images with an overlay get one.
    """
    paths: list[Path | None] = []
    left = MOST
    for name in overlays:
        shown = name is not None and left > 0
        paths.append(out / str(name) if shown else None)
        left -= shown
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(_thumbnail, paths)


def _thumbnail(path: Path | None) -> str:
    from PIL import Image

    if path is None:
        return ""
    try:
        with Image.open(path, formats=["PNG"]) as picture:
            small = picture.convert("RGB")
        small.thumbnail((SIDE, SIDE), reducing_gap=2.0)
        buffer = BytesIO()
        small.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # the file has changed
        return ""
    return f"data:image/jpeg;base64,{b64encode(buffer.getvalue()).decode()}"
