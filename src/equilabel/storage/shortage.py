"""Errors that are due to a lack of memory, whatever a library or a codec made of them."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

REFUSED = re.compile(r"(?i)failed to map segment|cannot allocate memory|start new thread|bad_alloc")
SHORT = re.compile(r"(?i)(insufficient|out of|not enough) memory|bad_?alloc|alloc\w* fail")


def refuse_shortage(error: Exception, nbytes: int = 0) -> None:
    """Raise MemoryError if a codec failed for lack of memory, whatever error it raised.

    Parameters
    ----------
    error : Exception
        What it raised.
    nbytes : int
        Memory its work takes: if there is not as much, that is why it failed.

    Examples
    --------
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

    Examples
    --------
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
    """Yield an error, what caused it, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
