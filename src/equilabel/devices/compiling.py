"""Compiled code: where it is kept, and news of what is being compiled."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, local
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Listener = Callable[[int, bool], None]

# ---- Where compiled code is kept: files that are whole or not there

ENVIRONMENT = "NUMBA_CACHE_DIR"
TRIAL = bytes(2**16)  # written to see whether there is room; most kernels take less


def folders() -> list[Path]:
    """List the folders that may hold compiled code, the first choice first.

    The one that ``NUMBA_CACHE_DIR`` names and no other; without it, ``__pycache__`` beside the
    sources and numba's own folder among the user's caches.
    """
    here = Path(__file__).resolve().parent
    own = f"equilabel_{hashlib.sha256(os.fsencode(here)).hexdigest()[:16]}"
    if named := os.environ.get(ENVIRONMENT):
        return [Path(named) / own]
    return [here / "__pycache__", *(cache / "numba" / own for cache in _caches())]


def read(name: str) -> bytes | None:
    """Return what `write` was given under this name; None if there is none, or it is damaged."""
    for folder in folders():
        try:
            stored = (folder / name).read_bytes()
        except OSError:
            continue
        digest, content = stored[:32], stored[32:]
        if hashlib.sha256(content).digest() == digest:
            return content
        with suppress(OSError):  # the next one to compile replaces it
            (folder / name).unlink()
    return None


def write(name: str, content: bytes) -> str:
    """Keep bytes under a name, in the first folder where that is possible.

    Readers, in other processes too, see all of them or none. Return why it is not possible, as one
    sentence after another; empty if it is.
    """
    stored = hashlib.sha256(content).digest() + content
    problems: dict[str, None] = {}
    for folder in folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _replace(folder / name, stored)
        except OSError as error:
            problems[f"{error.strerror or error} for {str(folder)!r}"] = None
        else:
            return ""
    return (
        "the folder for compiled code must be writable and have room; got "
        f"{', '.join(problems)}. All works without, but whatever is used first is compiled at "
        f"every start, which takes seconds. Name a folder in {ENVIRONMENT}."
    )


def forget(prefix: str, keep: str) -> None:
    """Remove files that begin with `prefix` but not with `keep`: those of earlier sources."""
    for folder in folders():
        with suppress(OSError):
            for path in folder.iterdir():
                name = path.name.removeprefix(".")
                if name.startswith(prefix) and not name.startswith(keep):
                    path.unlink()


def find_obstacle() -> str:
    """Say why compiled code cannot be kept, and what would help; nothing if it can."""
    name = f"equilabel-{secrets.token_hex(8)}.trial"
    problem = write(name, TRIAL)
    for folder in folders():
        with suppress(OSError):
            (folder / name).unlink()
    return problem


def _replace(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with unfinished.open("xb") as file:
            file.write(content)
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _caches() -> list[Path]:
    """Name the folder for the caches of this user; none if there is no such user."""
    if sys.platform == "win32":
        return [Path(folder)] if (folder := os.environ.get("LOCALAPPDATA")) else []
    elif xdg := os.environ.get("XDG_CACHE_HOME"):
        return [Path(xdg)]
    else:
        below = "Library/Caches" if sys.platform == "darwin" else ".cache"
        with suppress(RuntimeError):  # no home
            return [Path.home() / below]
        return []


# ---- News of what is being compiled, for those who would wait without knowing why

_listeners: list[Listener] = []
_lock = Lock()
_mine = local()  # how many functions this thread is compiling: one compiles those that it calls
_count = 0  # functions that this process has compiled, or begun to compile


@contextmanager
def listening(tell: Listener) -> Iterator[None]:
    """Call a function whenever a kernel is being compiled, in any thread, and when it is compiled.

    Nothing is said of what was compiled by an earlier process, or before. `tell` is called in the
    thread that compiles, with the number of kernels compiled since the block began, this one
    included, and with whether this one is still being compiled.

    >>> said = []
    >>> with listening(lambda number, busy: said.append((number, busy))):
    ...     _ = begin()
    ...     end()
    >>> said
    [(1, True), (1, False)]
    """
    before = _count

    def tell_since(number: int, busy: bool) -> None:
        tell(number - before, busy)

    _listeners.append(tell_since)
    try:
        yield
    finally:
        _listeners.remove(tell_since)


def begin() -> bool:
    """Note that the calling thread begins to compile a function.

    Return whether it is one that Python called, not one that such a function calls.
    """
    global _count
    depth = getattr(_mine, "depth", 0)
    _mine.depth = depth + 1
    if depth:
        return False
    with _lock:
        _count += 1
        number = _count
    _tell(number, busy=True)
    return True


def end() -> None:
    """Note that the calling thread is done with what it began to compile last."""
    _mine.depth -= 1
    if not _mine.depth:
        _tell(_count, busy=False)


def describe(number: int) -> str:
    """Say what is being waited for.

    Examples
    --------
    >>> describe(1), describe(12)
    ('compiling, first time only: 1 function', 'compiling, first time only: 12 functions')
    """
    return f"compiling, first time only: {number} function{'s' * (number != 1)}"


def _tell(number: int, *, busy: bool) -> None:
    for listener in list(_listeners):
        listener(number, busy)
