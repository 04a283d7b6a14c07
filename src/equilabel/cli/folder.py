"""The output folder: who may write to it, and how results get their names."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from equilabel.storage.files import flush_file, flush_folder, flush_tree, is_folder, locked_file
from equilabel.storage.ome_zarr import is_zarr

from .names import ZARR, quoted
from .options import RefusedError
from .records import OF_RUN, STATE, record_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from .inputs import Input
    from .options import Options

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


SECOND = 1.0
RECORD = "record.json"  # of an image whose results do not have their final names yet


def refuse_losses(
    out: Path, inputs: Sequence[Input], options: Options, *, replace: bool
) -> list[Path]:
    """Return earlier results of the images; raise RefusedError if files would be lost.

    Raises if a result would lie outside the folder, replace an input, or replace an earlier result
    although `replace` is False. The returned paths include kinds of results that this run does not
    write, which would stay beside the new ones.
    """
    images = [item for item in inputs if not item.complaint]
    files = [path for item in images for path in (item.path, item.image) if path is not None]
    root, real = os.path.realpath(out), cache(os.path.realpath)
    sources = {_real(os.path.split(path), real) for path in files}
    zarr = next((path for path in files if is_zarr(path) and _is_within(root, path)), None)
    if zarr is not None:
        message = (
            f"--out must not be in an input; got {quoted(out)}, in {quoted(zarr)}. Choose another "
            "folder."
        )
        raise RefusedError(message)
    present: list[Path] = []
    names = [f"{item.name}{ending}" for item in images for ending in options.all_endings()]
    for name in (*names, *OF_RUN):
        parts = os.path.split(f"{out}{os.sep}{name}")  # many: pathlib is slow
        target = f"{real(parts[0]).rstrip(os.sep)}{os.sep}{parts[1]}"
        if not target.startswith(f"{root.rstrip(os.sep)}{os.sep}"):
            message = (
                f"results must stay inside {quoted(out)}; got {quoted(out / name)}, a link to "
                f"{quoted(target)}. Remove the link, or choose another folder."
            )
            raise RefusedError(message)
        if not os.path.lexists(target):
            continue
        path = out / name
        if sources & {target, _real(parts, real)} or _is_around(path, sources):
            message = (
                f"results must not replace an input; got {quoted(path)}, which is both. "
                "Choose another folder."
            )
            raise RefusedError(message)
        present.append(path)
    if not replace:
        refuse_present(present, "--resume to continue that run, --overwrite to replace its results")
    _refuse_obstacles(out)
    of_run = [out / name for name in OF_RUN]
    return [path for path in present if path not in of_run]


def refuse_present(present: Sequence[Path], remedy: str = "--overwrite to replace them") -> None:
    """Raise RefusedError if there are earlier results."""
    if present:
        more = f" and {len(present) - 1} more" if len(present) > 1 else ""
        message = (
            f"--out must hold no earlier results; got {quoted(present[0])}{more}. Pass {remedy}, "
            "or choose another folder."
        )
        raise RefusedError(message)


def _real(parts: tuple[str, str], real: Callable[[str], str]) -> str:
    """Return `os.path.realpath` of a folder and a name in it; `real` remembers that of folders."""
    path = os.path.join(*parts)  # noqa: PTH118
    if parts[1] in ("", ".", "..") or os.path.islink(path):  # noqa: PTH114
        return os.path.realpath(path)
    return os.path.join(real(parts[0]), parts[1])  # noqa: PTH118


def _is_within(root: str, folder: Path) -> bool:
    return Path(root).is_relative_to(os.path.realpath(folder))


def _is_around(path: Path, sources: Collection[str]) -> bool:
    """Return whether a path is a folder that contains one of the sources."""
    return path.is_dir() and any(_is_within(source, path) for source in sources)


def _refuse_obstacles(out: Path) -> None:
    """Raise RefusedError if something else has the name of a file or folder of the run."""
    files = ((out / name, False) for name in OF_RUN)
    for path, folder in (*files, (out / STATE, True)):
        if not os.path.lexists(path):
            continue
        if folder != is_folder(path):
            kind = "a folder" if folder else "a file"
            message = (
                f"--out must hold {kind} of the name {path.name!r}; got something else at "
                f"{quoted(path)}. Remove it, or choose another folder."
            )
            raise RefusedError(message)


def settle(
    place: Path,
    out: Path,
    name: str,
    options: Options,
    *,
    flush: bool,
    moved: Collection[Path] = (),
) -> tuple[Path, Path]:
    """Move the finished results of an image to their final names; return the folders to flush.

    The record is moved last. It contains the checksums of the results, so results that fit the
    record are complete, even after a crash. `place` holds results and record, on the same disk as
    `out`, and is removed. `moved` are results that already have their final names. Earlier results
    with other endings are removed. With `flush`, results are flushed to the disk first; the record
    is not, because its checksum shows whether it is complete. Raises OSError if a final name is
    taken by another folder.
    """
    own = [out / f"{name}{ending}" for ending in options.endings().values()]
    finals = [final for final in own if final not in moved]
    record = record_path(out, name)
    for final in (*finals, record):
        if is_obstacle(final):  # checked before any file is moved
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(final))
    if flush:
        for final in finals:
            result = place / final.name
            (flush_tree if result.is_dir() else flush_file)(result)
    for ending in options.all_endings():
        if (earlier := out / f"{name}{ending}") not in own:
            put_away(earlier, place)
    folder = (out / name).parent
    _make(folder)
    for final in finals:
        give_name(place / final.name, final)
    _make(record.parent)
    (place / RECORD).replace(record)
    shutil.rmtree(place, ignore_errors=True)
    return folder, record.parent


def is_obstacle(final: Path) -> bool:
    """Return whether a folder that is not an earlier result has the final name of a result."""
    return is_folder(final) and not _is_store(final)


def give_name(result: Path, final: Path) -> None:
    """Move a result to its final name; an earlier Zarr goes to the folder of the new one.

    A folder cannot be replaced atomically. After a crash in between, nothing has the final name,
    and `find_finished` finds the new result.
    """
    if is_folder(final) or result.is_dir():
        put_away(final, result.parent)
    result.replace(final)


def put_away(earlier: Path, place: Path) -> None:
    """Remove an earlier file; move an earlier Zarr to `place`, so that no part keeps its name."""
    if not is_folder(earlier):
        earlier.unlink(missing_ok=True)
    elif _is_store(earlier):
        earlier.replace(place / f"{earlier.name}.replaced")


def _is_store(path: Path) -> bool:
    """Return whether a folder is a Zarr of labels, or an incomplete one."""
    return path.suffix == ZARR and (is_zarr(path) or is_zarr(path / "0"))


class Flushes:
    """Flush folders with new names to the disk, for many images at once; thread-safe.

    A power failure can lose the names given in the last second, though the files are on the disk. A
    resumed run makes results again that have no name or do not fit their record.
    """

    def __init__(self) -> None:
        self._folders: dict[Path, None] = {}
        self._since = monotonic()
        self._turn = Lock()

    def add(self, *folders: Path) -> None:
        """Add folders with new names, and flush all if a second has passed."""
        with self._turn:
            self._folders.update(dict.fromkeys(folders))
            late = monotonic() - self._since > SECOND
            if late:
                self._since = monotonic()
        if late:
            self.flush()

    def flush(self) -> None:
        """Flush all folders with new names; folders of results before those of records."""
        with self._turn:
            folders = sorted(self._folders, key=lambda one: one.name == STATE)
            self._folders.clear()
        for folder in folders:
            flush_folder(folder)


def _make(folder: Path) -> None:
    """Create a folder and its parents, without recursion because there may be very many."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
