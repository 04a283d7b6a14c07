"""Errors of codecs that are due to a lack of memory."""

from __future__ import annotations

import re

import numpy as np

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
