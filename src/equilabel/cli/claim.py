"""Lock an output folder, so that one run at a time writes to it."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from equilabel.storage.files import is_folder, open_regular
from equilabel.storage.locks import lock as _lock

from .names import quoted
from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNFINISHED, CLAIM = ".unfinished", "claim"
TRIES = 20  # a run that ends removes the file of its claim while the next one opens it


@contextmanager
def claimed(out: Path) -> Iterator[Path]:
    """Lock a folder for one run, and yield a new folder in it for unfinished files.

    The new folder belongs to this run alone: processes that are left over from a killed run use
    another. It is removed at the end. What killed runs left beside it stays until the next run
    calls `clear_others`: results in it may be finished. The lock ends with its process.

    Raises
    ------
    RefusedError
        If the folder cannot be written, or another run has locked it.
    """
    unfinished = out / UNFINISHED
    new = [folder for folder in (out, *out.parents) if not os.path.lexists(folder)]
    try:
        claim = _claim(unfinished)
        try:
            place = unfinished / secrets.token_hex(4)
            place.mkdir()
            try:
                yield place
            finally:
                shutil.rmtree(place, ignore_errors=True)
        finally:
            _release(claim, unfinished / CLAIM)
    finally:
        for folder in (unfinished, *new):
            with suppress(OSError):  # not empty: the usual case
                folder.rmdir()


def _claim(unfinished: Path) -> int:
    """Create the folder and lock the claim file in it; return its descriptor."""
    try:
        for _ in range(TRIES):
            unfinished.mkdir(parents=True, exist_ok=True)
            if unfinished.is_symlink():
                raise NotADirectoryError(errno.ENOTDIR, "a link", str(unfinished))
            try:
                claim = open_regular(unfinished / CLAIM, os.O_RDWR | os.O_CREAT)
            except FileNotFoundError:  # the folder went with another run just now
                continue
            if not _lock(claim):
                os.close(claim)
                break
            if _is_open_at(claim, unfinished / CLAIM):
                return claim
            os.close(claim)
    except OSError as error:
        where = quoted(error.filename or unfinished)
        message = (
            f"--out must be a folder that can be written; got {where}: {error.strerror}. "
            "Choose another folder, or change its permissions."
        )
        raise RefusedError(message) from error
    message = (
        f"--out must be used by one run at a time; got {quoted(unfinished.parent)}, which another "
        "run uses. Wait until it ends, or choose another folder."
    )
    raise RefusedError(message)


def _release(claim: int, path: Path) -> None:
    """Remove the claim file, then unlock it: another run that has it open finds it without name."""
    if sys.platform == "win32":  # where open files cannot be removed
        os.close(claim)
    with suppress(OSError):
        path.unlink()
    if sys.platform != "win32":
        os.close(claim)


def clear_others(place: Path) -> None:
    """Remove what lies beside the folder of a run: killed runs left it."""
    for leftover in place.parent.iterdir():
        if leftover.name not in (CLAIM, place.name):
            if is_folder(leftover):
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                with suppress(OSError):
                    leftover.unlink()


def _is_open_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file is still the one with this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False
