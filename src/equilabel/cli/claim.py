"""Lock an output folder, so that one run at a time writes to it."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from equilabel.storage.files import is_folder, locked_file

from .names import quoted
from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNFINISHED, CLAIM = ".unfinished", "claim"


@contextmanager
def claimed(out: Path) -> Iterator[Path]:
    """Lock a folder for one run, and yield a new folder in it for unfinished files.

    Only this run uses the new folder; processes that survived a killed run have another one. It is
    removed at the end. Folders of killed runs stay until the run calls `clear_others`, because
    results in them may be complete. The lock ends with the process. Raises RefusedError if the
    folder cannot be written, or if another run has locked it.
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
            with suppress(OSError):  # usually not empty
                folder.rmdir()


def _claim(unfinished: Path) -> int:
    """Create the folder, lock the claim file in it, and return its descriptor."""
    try:
        claim = locked_file(unfinished, CLAIM)
    except OSError as error:
        where = quoted(error.filename or unfinished)
        message = (
            f"--out must be a folder that can be written; got {where}: {error.strerror}. "
            "Choose another folder, or change its permissions."
        )
        raise RefusedError(message) from error
    if claim is not None:
        return claim
    message = (
        f"--out must be used by one run at a time; got {quoted(unfinished.parent)}, which another "
        "run uses. Wait until it ends, or choose another folder."
    )
    raise RefusedError(message)


def _release(claim: int, path: Path) -> None:
    """Remove the claim file, then unlock it, so that a run that has opened it sees that."""
    if sys.platform == "win32":  # open files cannot be removed
        os.close(claim)
    with suppress(OSError):
        path.unlink()
    if sys.platform != "win32":
        os.close(claim)


def clear_others(place: Path) -> None:
    """Remove everything beside the folder of a run: it is left from killed runs."""
    for leftover in place.parent.iterdir():
        if leftover.name not in (CLAIM, place.name):
            if is_folder(leftover):
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                with suppress(OSError):
                    leftover.unlink()
