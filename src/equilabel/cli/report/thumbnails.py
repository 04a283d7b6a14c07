"""Thumbnails of overlays, as data URIs."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from equilabel.storage.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

SIDE = 144  # pixels; the page shows them at half that size
MOST = 500  # limits the size of reports of many images
QUALITY = 70
LARGEST = 2**16  # characters of a thumbnail
SHOWN = re.compile(
    rf'<img src="(data:image/jpeg;base64,[A-Za-z0-9+/=]{{1,{LARGEST}}})" data-of="([0-9a-f]{{64}})"'
)


class Picture(NamedTuple):
    """A thumbnail in a report."""

    uri: str  # "" if there is none
    checksum: str  # of the overlay

    def __str__(self) -> str:
        """Return the thumbnail as HTML."""
        if not self.uri:
            return ""
        return f'<img src="{self.uri}" data-of="{self.checksum}" alt="" loading="lazy">'


def read_thumbnails(report: Path) -> dict[str, str]:
    """Return the thumbnails in an earlier report by the checksums of the overlays.

    To decode an overlay takes longer than all else in a resumed run that finds nothing to do.
    """
    try:
        with os.fdopen(open_regular(report), encoding="utf-8", errors="replace") as file:
            text = file.read(2 * MOST * LARGEST)
    except OSError:
        return {}
    return {checksum: uri for uri, checksum in SHOWN.findall(text)}


def thumbnails(
    overlays: Sequence[tuple[str, str] | None], out: Path, known: Mapping[str, str]
) -> Iterator[Picture]:
    """Yield a thumbnail for each overlay, of which path below `out` and checksum are given.

    Only the first `MOST` images with an overlay get one; those in `known` are not made again.
    """
    shown = [each for each in overlays if each][:MOST]
    new = [out / path for path, checksum in shown if checksum not in known]
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(_thumbnail, new)
        left = len(shown)
        for each in overlays:
            if each is None or not left:
                yield Picture("", "")
                continue
            left -= 1
            yield Picture(known.get(each[1]) or next(made), each[1])


def _thumbnail(path: Path) -> str:
    from PIL import Image

    try:
        with Image.open(path, formats=["PNG"]) as picture:
            small = picture.convert("RGB")
        small.thumbnail((SIDE, SIDE), reducing_gap=2.0)
        buffer = BytesIO()
        small.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # the file has changed
        return ""
    return f"data:image/jpeg;base64,{b64encode(buffer.getvalue()).decode()}"
