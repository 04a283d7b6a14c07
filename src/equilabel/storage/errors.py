"""Errors of files: what cannot be read, and what memory, disk or codecs are missing for.

Libraries raise these in many forms; here each is told from damage and said in one.
"""

from __future__ import annotations

import errno
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from . import memory
from .memory import readable

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
SMALL = 2**22  # bytes of an image below which free memory is not checked
COPY = "Copy or export it again."

# Messages of libraries for a lack of memory.
SHORT = re.compile(
    r"(?i)(insufficient|out of|not enough|cannot allocate) memory|bad_?alloc|alloc\w* fail"
    r"|failed to map segment|start new thread"
)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CUT = re.compile(r"\d+ requested and \d+ written")  # message of NumPy for a full disk


class UnreadableImageError(ValueError):
    """A file that cannot be read as one complete image; the message says why."""


def refuse(
    rule: str, got: object, remedy: str = COPY, *, cause: Exception | None = None
) -> NoReturn:
    """Raise the error "image file must <rule>; got <got>. <remedy>"."""
    message = f"image file must {rule}; got {got}. {remedy}"
    raise UnreadableImageError(message) from cause


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
        known = "0" if count == 1 else f"0 to {count - 1}"
        message = f"series must be {known} for {path.name!r}; got {series!r}."
        raise ValueError(message)


def refuse_large(size: int, limit: int | None) -> None:
    """Refuse an image of more bytes than `limit`, by default half of the free memory."""
    if limit is None and size <= SMALL:
        return
    allowed, half = (
        (memory.free() // 2, ", half of the memory that is free") if limit is None else (limit, "")
    )
    if size > allowed:
        rule = f"decode to {readable(allowed)} at most{half}"
        refuse(rule, readable(size), "Pass a larger memory_limit, or crop it.")


@contextmanager
def decoding(part: Sequence[slice] = ()) -> Iterator[None]:
    """Convert errors of decoders to `UnreadableImageError`, or MemoryError; those of files stay."""
    try:
        yield
    except (UnreadableImageError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        if SHORT.search(str(error)):
            raise MemoryError(in_words(error)) from error
        where = ", ".join(f"{one.start}:{one.stop}" for one in part)
        got = f"{in_words(error)} in [{where}]" if part else in_words(error)
        refuse("be decodable", got, cause=error)


def in_words(error: Exception) -> str:
    """Return what a library says in one line of 200 characters at most."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".")[:200]


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
    except OSError as error:
        full = error.errno in FULL or CUT.search(str(error))
        if full and not isinstance(error, FullDiskError):
            raise _full_disk(path, error.strerror or "a full disk", remedy) from error
        raise


def _full_disk(path: Path, got: str, remedy: str) -> FullDiskError:
    message = f"the disk of {str(path)!r} must have room for what is written; got {got}. {remedy}"
    return FullDiskError(message)


def is_shortage(error: BaseException) -> bool:
    """Return whether memory ran out."""
    return any(
        isinstance(cause, MemoryError)
        or (isinstance(cause, OSError) and cause.errno == errno.ENOMEM)
        or (isinstance(cause, (ImportError, RuntimeError)) and SHORT.search(str(cause)))
        for cause in causes(error)
    )


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of that, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
