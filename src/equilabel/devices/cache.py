"""Where compiled code is kept: the folders, files that are whole or not there, and why not."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

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

    Readers, in other processes too, see all of them or none.

    Returns
    -------
    str
        Why it is not possible, as one sentence after another; empty if it is.
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
        return [Path(local)] if (local := os.environ.get("LOCALAPPDATA")) else []
    elif xdg := os.environ.get("XDG_CACHE_HOME"):
        return [Path(xdg)]
    else:
        below = "Library/Caches" if sys.platform == "darwin" else ".cache"
        with suppress(RuntimeError):  # no home
            return [Path.home() / below]
        return []
