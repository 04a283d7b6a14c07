"""The output folder: what may be written and replaced in it, and how results get there."""

from __future__ import annotations

import errno
import os
import shutil
from functools import cache
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from equilabel.storage.files import flush_file, flush_folder, flush_tree, is_folder
from equilabel.storage.ome_zarr import is_zarr

from .names import ZARR, quoted
from .options import RefusedError
from .records import OF_RUN, STATE, record_path

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .inputs import Input
    from .options import Options

SECOND = 1.0
RECORD = "record.json"  # of an image whose results have not got their names yet


def refuse_losses(
    out: Path, inputs: Sequence[Input], options: Options, *, replace: bool
) -> list[Path]:
    """Raise RefusedError if a result would lie outside the folder, or replace an input or a result.

    Parameters
    ----------
    out : Path
        The output folder.
    inputs : sequence of Input
        What will be read, and the names of its results.
    options : Options
        How the names of results end.
    replace : bool
        Whether earlier results may be replaced.

    Returns
    -------
    list of Path
        Earlier results of these images, of every kind: those that this run does not write would
        stay beside its own. Empty unless they may be replaced.

    Raises
    ------
    RefusedError
        With the first of the files concerned.
    """
    images = [item for item in inputs if not item.complaint]
    files = [path for item in images for path in (item.path, item.image) if path is not None]
    sources = set(map(os.path.realpath, files))
    root, real = os.path.realpath(out), cache(os.path.realpath)
    zarr = next((path for path in files if is_zarr(path) and _is_within(root, path)), None)
    if zarr is not None:
        message = (
            f"--out must not be in an input; got {quoted(out)}, in {quoted(zarr)}. Choose another "
            "folder."
        )
        raise RefusedError(message)
    present: list[Path] = []
    for path in [
        *(out / f"{item.name}{ending}" for item in images for ending in options.all_endings()),
        *(out / name for name in OF_RUN),
    ]:
        target = os.path.join(real(path.parent), path.name)  # noqa: PTH118 - as `realpath` says it
        if not Path(target).is_relative_to(root):
            message = (
                f"results must stay inside {quoted(out)}; got {quoted(path)}, a link to "
                f"{quoted(target)}. Remove the link, or choose another folder."
            )
            raise RefusedError(message)
        if not os.path.lexists(path):
            continue
        if sources & {target, os.path.realpath(path)} or _is_around(path, sources):
            message = (
                f"results must not replace an input; got {quoted(path)}, which is both. "
                "Choose another folder."
            )
            raise RefusedError(message)
        present.append(path)
    if present and not replace:
        more = f" and {len(present) - 1} more" if len(present) > 1 else ""
        message = (
            f"--out must hold no earlier results; got {quoted(present[0])}{more}. "
            "Pass --resume to continue that run, --overwrite to replace its results, or choose "
            "another folder."
        )
        raise RefusedError(message)
    _refuse_obstacles(out)
    of_run = [out / name for name in OF_RUN]
    return [path for path in present if path not in of_run]


def _is_within(root: str, folder: Path) -> bool:
    return Path(root).is_relative_to(os.path.realpath(folder))


def _is_around(path: Path, sources: Collection[str]) -> bool:
    """Return whether a path is a folder with one of the sources somewhere in it."""
    return path.is_dir() and any(_is_within(source, path) for source in sources)


def _refuse_obstacles(out: Path) -> None:
    """Raise RefusedError if a record of the run cannot get its name."""
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
    """Move the finished results of an image to their final names.

    Its record is moved last, and has their checksums: results are complete if they fit the
    record, whenever the machine stops.

    Parameters
    ----------
    place : Path
        Folder of the results and the record, on the disk of `out`; it is removed.
    out : Path
        The output folder.
    name : str
        What the names of the results begin with, below `out`.
    options : Options
        What they end in. Earlier results of the image that end otherwise are removed.
    flush : bool
        Whether to bring the files of the results to the disk first. Not the record: its checksum
        tells a part of it from the whole.
    moved : collection of Path
        Results that have their names already: whoever moved them was killed.

    Raises
    ------
    OSError
        If one cannot have its name.

    Returns
    -------
    tuple of Path
        Folders with new names, to be flushed.
    """
    own = [out / f"{name}{ending}" for ending in options.endings().values()]
    finals = [final for final in own if final not in moved]
    record = record_path(out, name)
    for final in (*finals, record):
        if is_obstacle(final):  # before any is moved
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(final))
    if flush:
        for final in finals:
            result = place / final.name
            (flush_tree if result.is_dir() else flush_file)(result)
    for ending in options.all_endings():
        if (earlier := out / f"{name}{ending}") not in own:
            _put_away(earlier, place)
    folder = (out / name).parent
    _make(folder)
    for final in finals:
        give_name(place / final.name, final)
    _make(record.parent)
    (place / RECORD).replace(record)
    shutil.rmtree(place, ignore_errors=True)
    return folder, record.parent


def is_obstacle(final: Path) -> bool:
    """Return whether a result cannot have a name, as a folder has it that is no earlier result."""
    return is_folder(final) and not _is_store(final)


def give_name(result: Path, final: Path) -> None:
    """Move a result to its final name; an earlier one, if it is a Zarr, to where this one was.

    A folder cannot be replaced at once: who is killed in between leaves neither at that name, and
    `recovery` finds the new one.
    """
    if is_folder(final) or result.is_dir():
        _put_away(final, result.parent)
    result.replace(final)


def _put_away(earlier: Path, place: Path) -> None:
    """Remove an earlier result; a Zarr is moved, so that no part of it keeps its name."""
    if not is_folder(earlier):
        earlier.unlink(missing_ok=True)
    elif _is_store(earlier):
        earlier.replace(place / f"{earlier.name}.replaced")


def _is_store(path: Path) -> bool:
    """Return whether a folder is a Zarr of labels, or what is left of one."""
    return path.suffix == ZARR and (is_zarr(path) or is_zarr(path / "0"))


class Flushes:
    """Brings new names to the disk, of many images at once, whichever thread made them.

    A loss of power can take the names of the last second, of files that are on the disk. What
    has no name, or does not fit its record, is made again by a run that goes on.
    """

    def __init__(self) -> None:
        self._folders: dict[Path, None] = {}
        self._since = monotonic()
        self._turn = Lock()

    def add(self, *folders: Path) -> None:
        """Take folders with new names, and flush all if a second has passed."""
        with self._turn:
            self._folders.update(dict.fromkeys(folders))
            late = monotonic() - self._since > SECOND
            if late:
                self._since = monotonic()
        if late:
            self.flush()

    def flush(self) -> None:
        """Flush all folders with new names: those of results before those of records."""
        with self._turn:
            folders = sorted(self._folders, key=lambda one: one.name == STATE)
            self._folders.clear()
        for folder in folders:
            flush_folder(folder)


def _make(folder: Path) -> None:
    """Create a folder and its parents, without recursion: there may be very many."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
