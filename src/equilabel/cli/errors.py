"""Errors of one image, in a line for a person."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

from .names import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HANDLES = (errno.EMFILE, errno.ENFILE)
SHORT = re.compile(r"(?i)failed to map segment|cannot allocate memory|start new thread|bad_alloc")
MEMORY = "out of memory"  # how an attempt ended


def explain(error: BaseException) -> str:
    """Put an error into one line for a person."""
    if is_memory(error):
        return (
            f"image must fit in memory; got {_memory(error)}. "
            "Pass fewer --jobs, or use a machine with more."
        )
    if isinstance(error, OSError) and error.strerror:
        if error.errno in FULL:
            return (
                f"the disk of --out must have room; got {error.strerror!r}. "
                "Make room and run again with --resume."
            )
        if error.errno in HANDLES:
            return (
                f"files must be opened; got {error.strerror!r}. Raise the limit with `ulimit -n`, "
                "or pass fewer --jobs."
            )
        name = f" for {printable(error.filename)!r}" if error.filename else ""
        remedy = " Shorten the name." if error.errno == errno.ENAMETOOLONG else ""
        return f"files must be readable and writable; got {error.strerror!r}{name}.{remedy}"
    expected = isinstance(error, (ValueError, TypeError, RuntimeError, OSError, ImportError))
    text = one_line(error) or type(error).__name__
    return text if expected else f"{type(error).__name__}: {text}. Please report this."


def is_memory(error: BaseException) -> bool:
    """Tell whether memory ran out, whatever a library made of it."""
    return any(
        isinstance(cause, MemoryError)
        or (isinstance(cause, OSError) and cause.errno == errno.ENOMEM)
        or (isinstance(cause, (ImportError, RuntimeError)) and SHORT.search(str(cause)))
        for cause in _causes(error)
    )


def one_line(text: object) -> str:
    """Join lines and escape what is not to be printed."""
    return printable(" ".join(str(text).split()))


def _memory(error: BaseException) -> str:
    found = next((each for each in _causes(error) if isinstance(each, MemoryError)), error)
    text = found.strerror if isinstance(found, OSError) else found
    return one_line(text or "").rstrip(".") or "no more of it"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
