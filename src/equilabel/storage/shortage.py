"""Detect errors due to a lack of memory or disk space, in whatever form libraries raise them."""

from __future__ import annotations

import errno
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from .memory import readable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REFUSED = re.compile(r"(?i)failed to map segment|cannot allocate memory|start new thread|bad_alloc")
SHORT = re.compile(r"(?i)(insufficient|out of|not enough) memory|bad_?alloc|alloc\w* fail")

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CUT = re.compile(r"\d+ requested and \d+ written")  # message of NumPy for a full disk


class FullDiskError(OSError):
    """A disk without space for what is written; the message names the path and a remedy."""

    errno = errno.ENOSPC


def refuse_without_room(path: Path, pixels: int, in_a_byte: int = 64) -> None:
    """Raise FullDiskError if a disk has less free space than the labels of an image take.

    `path` is absolute and need not exist. `pixels` is the size of the image, and `in_a_byte` the
    number of pixels per compressed byte at most: 64 if all labels are equal.
    """
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
    """Raise MemoryError if a codec failed for lack of memory, whatever error it raised.

    `nbytes` is the memory that decoding takes; if so much cannot be allocated, that is the cause.

    >>> refuse_shortage(ValueError("corrupt data"), 1000)
    >>> refuse_shortage(RuntimeError("insufficient memory"))
    Traceback (most recent call last):
    MemoryError: RuntimeError: insufficient memory
    """
    if SHORT.search(str(error)):
        message = f"{type(error).__name__}: {error}"
        raise MemoryError(message) from error
    try:
        np.empty(nbytes, np.uint8)
    except MemoryError as short:
        message = f"{short} while decoding ({error})"
        raise MemoryError(message) from error


def is_shortage(error: BaseException) -> bool:
    """Return whether memory ran out.

    >>> is_shortage(OSError(errno.ENOMEM, "")), is_shortage(ValueError("no memory of it"))
    (True, False)
    """
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
