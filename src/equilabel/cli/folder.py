"""The output folder: one run at a time in it, nothing outside it, nothing lost in it."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from .inputs import quoted
from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import IO

    from .inputs import Input

UNFINISHED = ".unfinished"


@contextmanager
def claimed(out: Path) -> Iterator[Path]:
    """Hold a folder for one run, and yield a place in it for what is not finished.

    The place is removed at the end; after a run that was killed, the next one does it. The
    claim itself dies with its process.

    Raises
    ------
    RefusedError
        If the folder cannot be written, or another run holds it.
    """
    place = out / UNFINISHED
    new = not out.exists()
    try:
        place.mkdir(parents=True, exist_ok=True)
        if place.is_symlink():
            raise NotADirectoryError(0, "a link", str(place))
        claim = (place / "claim").open("a")
    except OSError as error:
        message = (
            f"out must be a folder that can be written; got {quoted(out)}: {error.strerror}. "
            "Choose another."
        )
        raise RefusedError(message) from error
    with claim:
        if not (_lock(claim) and (place / "claim").exists()):
            message = (
                f"out must belong to one run at a time; got {quoted(out)}, held by another. "
                "Wait for it, or choose another folder."
            )
            raise RefusedError(message)
        try:
            for leftover in place.iterdir():
                if leftover.name != "claim":
                    shutil.rmtree(leftover, ignore_errors=True)
            yield place
        finally:
            if sys.platform == "win32":  # where open files cannot be removed
                claim.close()
            shutil.rmtree(place, ignore_errors=True)
            if new:
                with suppress(OSError):  # not empty: the usual case
                    out.rmdir()


def refuse_losses(
    out: Path, inputs: Sequence[Input], endings: Iterable[str], extra: Iterable[str], replace: bool
) -> list[Path]:
    """Refuse to write outside the folder, over an input, or over what is there already.

    Parameters
    ----------
    out : Path
        The output folder.
    inputs : sequence of Input
        What will be read, and the names of its results.
    endings : iterable of str
        What the names of results end in.
    extra : iterable of str
        Names of files for the whole run.
    replace : bool
        Whether earlier results may be replaced.

    Returns
    -------
    list of Path
        Earlier results; empty unless they may be replaced.

    Raises
    ------
    RefusedError
        With the first of the files concerned.
    """
    images = [item for item in inputs if not item.complaint]
    sources = {item.path.resolve() for item in images}
    root = out.resolve()
    present: list[Path] = []
    for path in [
        *(out / f"{item.name}{ending}" for item in images for ending in endings),
        *(out / name for name in extra),
    ]:
        target = path.parent.resolve() / path.name
        if not target.is_relative_to(root):
            message = (
                f"results must stay inside {quoted(out)}; got {quoted(path)}, which leads to "
                f"{quoted(target)}. Remove the link, or choose another folder."
            )
            raise RefusedError(message)
        if target in sources or path.resolve() in sources:
            message = (
                f"results must not replace an input; got {quoted(path)}, which is both. "
                "Choose another folder."
            )
            raise RefusedError(message)
        if os.path.lexists(path):
            present.append(path)
    if present and not replace:
        more = f" and {len(present) - 1} more" if len(present) > 1 else ""
        message = (
            f"out must hold no earlier results; got {quoted(present[0])}{more}. "
            "Pass --resume to finish that run, --overwrite to replace it, or choose another folder."
        )
        raise RefusedError(message)
    return present


def settle(place: Path, out: Path, outputs: Iterable[str]) -> None:
    """Move results from where they were finished to where they belong.

    Parameters
    ----------
    place : Path
        Folder that holds them and nothing else, on the disk of `out`; removed.
    out : Path
        The output folder.
    outputs : iterable of str
        Paths below `out`.

    Raises
    ------
    OSError
        If one cannot have its name.
    """
    folders = set()
    finals = [out / output for output in outputs]
    for final in finals:
        if final.is_dir():  # before any is moved
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(final))
    for final in finals:
        final.parent.mkdir(parents=True, exist_ok=True)
        (place / final.name).replace(final)
        folders.add(final.parent)
    place.rmdir()
    if sys.platform != "win32":  # make the new names last through a loss of power
        for folder in folders:
            handle = os.open(folder, os.O_RDONLY)
            with suppress(OSError):  # some network folders cannot be flushed
                os.fsync(handle)
            os.close(handle)


def _lock(claim: IO[str]) -> bool:
    """Lock an open file for this process; False where another holds it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(claim.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a disk without locks: do without
    return True
