"""Errors of files: what cannot be read, and what memory, disk or codecs are missing for.

Libraries raise these in many forms; here each is told from damage and said in one.
"""

from __future__ import annotations

import errno
import re
import shutil
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from .memory import half_of_free, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# File formats by their first bytes, and remedies for a file with the wrong ending.
FORMATS = {
    **{b"II*\0": "a TIFF", b"MM\0*": "a TIFF", b"II+\0": "a TIFF", b"MM\0+": "a TIFF"},
    **{b"\x89PNG": "a PNG", b"\xff\xd8\xff": "a JPEG", b"BM": "a BMP", b"ZISRAWFI": "a CZI"},
    **{b"GIF8": "a GIF", b"SIMPLE  ": "a FITS file", b"\x93NUMPY": "an array of NumPy"},
    **{b"\x89HDF": "an HDF5 file", b"RIFF": "a WebP or another RIFF file", b"%PDF": "a PDF"},
    **{b"\0\0\0\x0cjP": "a JPEG 2000", b"PK\3\4": "a ZIP archive", b"\x1f\x8b": "a gzip archive"},
    **{b"\xd0\xcf\x11\xe0": "an OLE file, as OIB and ZVI are", b"NRRD": "an NRRD", b"<": "XML"},
}
RENAME = {"TIFF": ".tif", "PNG": ".png", "JPEG": ".jpg", "BMP": ".bmp", "CZI": ".czi"}
CONVERT = "Convert it to TIFF, for instance with Fiji or `tifffile.imwrite`."
COPY = "Copy or export it again."

REFUSED = re.compile(r"(?i)failed to map segment|cannot allocate memory|start new thread|bad_alloc")
SHORT = re.compile(r"(?i)(insufficient|out of|not enough) memory|bad_?alloc|alloc\w* fail")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CUT = re.compile(r"\d+ requested and \d+ written")  # message of NumPy for a full disk


class UnreadableImageError(ValueError):
    """A file that cannot be read as one complete image; the message says why."""


def unreadable(rule: str, got: object, remedy: str = COPY) -> UnreadableImageError:
    """Return the error "image file must <rule>; got <got>. <remedy>"."""
    return UnreadableImageError(f"image file must {rule}; got {got}. {remedy}")


def refuse(rule: str, got: object, remedy: str = COPY) -> NoReturn:
    """Raise the error that `unreadable` returns."""
    raise unreadable(rule, got, remedy)


def refuse_format(rule: str, start: bytes) -> NoReturn:
    """Raise the error for a file of another format, recognized by its first 16 bytes."""
    name = next((each for mark, each in FORMATS.items() if start.startswith(mark)), "")
    if not name:
        remedy = "Convert it to TIFF first; if it is one, decrypt it or copy it again."
        refuse(rule, f"one that begins with {start[:8]!r}", remedy)
    ending = RENAME.get(name.split()[-1])
    refuse(rule, name, f"Rename it to end in {ending!r}." if ending else CONVERT)


def check_series(series: int, path: Path, count: int) -> None:
    """Raise ValueError if a file with so many images has none of this index."""
    if not 0 <= series < count:
        message = f"series must be 0 to {count - 1} for {path.name!r}; got {series!r}."
        raise ValueError(message)


def refuse_large(size: int, limit: int | None, *, least: int = 0) -> None:
    """Refuse an image of more bytes than `limit`: by default half of what is free, or `least`."""
    if limit is None and size <= least:
        return
    allowed = half_of_free() if limit is None else limit
    if size > allowed:
        rule = f"decode to {readable(allowed)} at most"
        if limit is None:
            rule += ", half of the memory that is free"
        refuse(rule, readable(size), "Pass a larger memory_limit, or crop it.")


@contextmanager
def decoding(part: Sequence[slice] = ()) -> Iterator[None]:
    """Convert errors of decoders to `UnreadableImageError`; those of system and memory stay."""
    try:
        yield
    except (UnreadableImageError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, ImportError) and codecs_are_missing():
            refuse_missing_codecs(error)
        if isinstance(error, OSError) and error.errno is not None:
            raise
        where = ", ".join(f"{one.start}:{one.stop}" for one in part)
        got = f"{in_words(error)} in [{where}]" if part else in_words(error)
        refused = unreadable("be decodable", got)
        raise refused from error


def in_words(error: Exception) -> str:
    """Return what a library says in one line of 200 characters at most."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")[:200]


def codecs_are_missing() -> bool:
    """Return whether imagecodecs is missing; tifffile then decodes deflate and a few others."""
    return find_spec("imagecodecs") is None


def refuse_missing_codecs(cause: Exception | None = None) -> NoReturn:
    """Raise ImportError that tells what to install, or how to export the image."""
    message = (
        "this compression needs imagecodecs; got none installed. Install it with "
        "`pip install imagecodecs`, or export the image as a TIFF, uncompressed or with deflate."
    )
    raise ImportError(message) from cause


class FullDiskError(OSError):
    """A disk without space for what is written; the message names the path and a remedy."""

    errno = errno.ENOSPC


def refuse_without_room(path: Path, pixels: int, in_a_byte: int = 64) -> None:
    """Raise FullDiskError if a disk has no room for labels, at most `in_a_byte` of them a byte."""
    there = next(one for one in (path, *path.parents) if one.exists())
    left, need = shutil.disk_usage(there).free, pixels // in_a_byte
    if need > left:
        got = f"{readable(left)} for labels of {readable(need)} or more"
        raise _full_disk(path, got, "Check the shape of the image, or use a larger disk.")


@contextmanager
def naming_full_disk(path: Path, remedy: str) -> Iterator[None]:
    """Convert the error of a library for a full disk to FullDiskError."""
    try:
        yield
    except FullDiskError:
        raise
    except OSError as error:
        if error.errno in FULL or CUT.search(str(error)):
            raise _full_disk(path, error.strerror or "a full disk", remedy) from error
        raise


def _full_disk(path: Path, got: str, remedy: str) -> FullDiskError:
    message = f"the disk of {str(path)!r} must have room for what is written; got {got}. {remedy}"
    return FullDiskError(message)


def refuse_shortage(error: Exception, nbytes: int = 0) -> None:
    """Raise MemoryError if a codec failed for lack of memory: `nbytes` cannot be allocated."""
    if SHORT.search(str(error)):
        message = f"{type(error).__name__}: {error}"
        raise MemoryError(message) from error
    try:
        np.empty(nbytes, np.uint8)
    except MemoryError as short:
        message = f"{short} while decoding ({error})"
        raise MemoryError(message) from error


def is_shortage(error: BaseException) -> bool:
    """Return whether memory ran out."""
    return any(
        isinstance(cause, MemoryError)
        or (isinstance(cause, OSError) and cause.errno == errno.ENOMEM)
        or (isinstance(cause, (ImportError, RuntimeError)) and REFUSED.search(str(cause)))
        for cause in causes(error)
    )


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
