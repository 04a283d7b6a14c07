"""The output folder: who may write to it, how results get their names, and what is resumed.

What `--resume` does with the results of earlier runs:

- *Refused*, the whole run: `refuse_difference`, if options or versions are not those of the results
  there, or run.json cannot be read.
- *Kept*, an image: `find_kept`, if its record is whole and fits these options and versions, and the
  image and all results have the checksums in it. Results of killed runs that have no final names
  yet count once `find_finished` has found them.
- *Labeled anew*: every other image.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from equilabel.storage.files import (
    flush_file,
    flush_folder,
    flush_tree,
    is_folder,
    locked_file,
    sha256,
)
from equilabel.storage.ome_zarr import is_zarr

from .inputs import ZARR, printable, quoted
from .options import LABELS, RefusedError, refuse
from .records import (
    OF_RUN,
    RUN,
    STATE,
    Provenance,
    differences,
    measured,
    read_record,
    read_run,
    record_name,
    record_path,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from .inputs import Input
    from .options import Options
    from .records import Output, Record

# ---- The lock of a run, and its folder for unfinished files

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
    with ExitStack() as ending:
        ending.callback(remove_empty, unfinished, *new)
        ending.callback(_release, _claim(unfinished), unfinished / CLAIM)
        place = unfinished / secrets.token_hex(4)
        place.mkdir()
        ending.callback(shutil.rmtree, place, ignore_errors=True)
        yield place


def remove_empty(*folders: Path) -> None:
    """Remove folders that are empty, one inside the next."""
    for folder in folders:
        with suppress(OSError):  # usually not empty
            folder.rmdir()


def not_writable(folder: Path | str, error: OSError) -> RefusedError:
    """Return the error of an output folder in which nothing can be written."""
    return RefusedError(
        f"--out must be a folder that can be written; got {quoted(folder)}: {error.strerror}. "
        "Choose another folder, or change its permissions."
    )


def _claim(unfinished: Path) -> int:
    """Create the folder, lock the claim file in it, and return its descriptor."""
    try:
        claim = locked_file(unfinished, CLAIM)
    except OSError as error:
        raise not_writable(error.filename or unfinished, error) from error
    if claim is not None:
        return claim
    refuse(
        f"--out must be used by one run at a time; got {quoted(unfinished.parent)}, which another "
        "run uses. Wait until it ends, or choose another folder."
    )


def _release(claim: int, path: Path) -> None:
    """Remove the claim file, then unlock it, so that a run that has opened it sees that."""
    if sys.platform == "win32":  # open files cannot be removed
        os.close(claim)
    with suppress(OSError):
        path.unlink()
    if sys.platform != "win32":
        os.close(claim)


def clear_others(place: Path) -> None:
    """Remove the folders beside that of a run: they are left from killed runs."""
    for leftover in place.parent.iterdir():
        if leftover.name not in (CLAIM, place.name):
            shutil.rmtree(leftover, ignore_errors=True)


# ---- Earlier results, and the names of new ones

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
    files = [path for item in images for path in item.files.values()]
    sources, root = {_identity(path): path for path in files}, Path(os.path.realpath(out))
    zarr = next(filter(None, (sources.get(_identity(one)) for one in (root, *root.parents))), None)
    if zarr is not None and is_zarr(zarr):
        refuse(
            f"--out must not be in an input; got {quoted(out)}, in {quoted(zarr)}. Choose another "
            "folder."
        )
    for below in {os.path.dirname(item.name) for item in images}:  # noqa: PTH120 - quick
        if not Path(os.path.realpath(out / below)).is_relative_to(root):
            refuse(
                f"results must stay inside {quoted(out)}; got {quoted(out / below)}, a link to "
                f"{quoted(os.path.realpath(out / below))}. Remove it, or choose another folder."
            )
    names = [f"{item.name}{ending}" for item in images for ending in options.all_endings()]
    present = [out / name for name in (*names, *OF_RUN) if os.path.lexists(f"{out}{os.sep}{name}")]
    refuse_inputs(present, files)
    if present and not replace:
        more = f" and {len(present) - 1} more" if len(present) > 1 else ""
        refuse(
            f"--out must hold no earlier results; got {quoted(present[0])}{more}. Pass --resume to "
            "continue that run, --overwrite to replace its results, or choose another folder."
        )
    of_run = [out / name for name in OF_RUN]
    for path, folder in (*((path, False) for path in of_run), (out / STATE, True)):
        if os.path.lexists(path) and folder != is_folder(path):
            refuse(
                f"--out must hold {'a folder' if folder else 'a file'} of the name {path.name!r}; "
                f"got something else at {quoted(path)}. Remove it, or choose another folder."
            )
    return [path for path in present if path not in of_run]


def refuse_inputs(results: Sequence[Path], files: Sequence[Path]) -> None:
    """Raise RefusedError if a result would replace one of the files that are read, or hold one."""
    folders = {Path(os.path.realpath(path)).parent for path in files}
    taken = {_identity(path) for path in files}
    taken |= {_identity(one) for each in folders for one in (each, *each.parents)}
    for path in results:
        if _identity(path) in taken - {None}:
            refuse(
                f"results must not replace an input; got {quoted(path)}, which is both. "
                "Choose another folder."
            )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file or a folder from all others, by whatever path; None if not there."""
    try:
        found = os.stat(path)  # noqa: PTH116 - quick
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


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
    folder.mkdir(parents=True, exist_ok=True)
    for final in finals:
        give_name(place / final.name, final)
    record.parent.mkdir(exist_ok=True)
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
        self._folders: set[Path] = set()
        self._since, self._turn = monotonic(), Lock()

    def add(self, *folders: Path) -> None:
        """Add folders with new names, and flush all if a second has passed."""
        with self._turn:
            self._folders.update(folders)
            late = monotonic() - self._since > SECOND
            self._since = monotonic() if late else self._since
        if late:
            self.flush()

    def flush(self) -> None:
        """Flush all folders with new names; folders of results before those of records."""
        with self._turn:
            folders, self._folders = self._folders, set()
        for folder in sorted(folders, key=lambda one: one.name == STATE):
            flush_folder(folder)


# ---- What is resumed

SMALL = 2**20  # bytes of a file that is compared within milliseconds


# ---------------------------------------------------------------------------------- refused


def refuse_difference(out: Path, now: Provenance) -> None:
    """Raise RefusedError if the results of two different runs would be mixed."""
    path = out / RUN
    remedy = "Pass --overwrite to compute all results again, or choose another folder."
    found = differences(now, read_run(path, "--resume", remedy))
    if found:
        refuse(
            f"--resume needs the options and versions of the run that wrote {quoted(path)}; "
            f"got {'; '.join(found)}. Use those, pass --overwrite to compute all results again, "
            "or choose another folder."
        )


def count_others(out: Path, names: Collection[str]) -> int:
    """Count images that are not among `names` but have results of earlier runs in the folder."""
    ours = set(map(record_name, names))
    try:
        others = [path for path in (out / STATE).iterdir() if path.name not in ours]
    except OSError:
        return 0
    found = (record for record in map(read_record, others) if record is not None)
    return sum(
        any(os.path.lexists(out / f"{record.name}{ending}") for ending in LABELS.values())
        for record in found
    )


# ------------------------------------------------------------------------------------- kept


def find_kept(
    out: Path, name: str, options: Options, fingerprint: str, checksum: str
) -> Record | None:
    """Return the record of an image that is kept; None if it is to be labeled anew."""
    record = find_earlier(out, name, options, fingerprint)
    return record if record is not None and record.sha256 == checksum else None


def find_kept_at_once(
    files: Sequence[Path], out: Path, name: str, options: Options, fingerprint: str
) -> Record | None:
    """Like `find_kept`, but None, too, if a file is so large that a process should compare it."""
    results = (Path(f"{out}/{name}{ending}") for ending in options.endings().values())
    try:
        if all(map(_is_small, (*files, *results))):
            return find_kept(out, name, options, fingerprint, checksum_of_image(files, options))
    except OSError:  # the process will tell why
        pass
    return None


def _is_small(path: Path) -> bool:
    found = path.stat()
    return stat.S_ISREG(found.st_mode) and found.st_size <= SMALL


def find_earlier(
    out: Path, name: str, options: Options, fingerprint: str, *, hashed: bool = True
) -> Record | None:
    """Return the record of an image if all its results exist and have the same parameters.

    Returns None otherwise. `name` is the path of the results below `out` without endings. With
    `hashed=False` only the sizes of files are compared, not their checksums.
    """
    record = read_record(record_path(out, name))
    if record is None or not record.complete or record.fingerprint != fingerprint:
        return None
    names = {kind: f"{name}{ending}" for kind, ending in options.endings().items()}
    files = {kind: known["file"] for kind, known in record.outputs.items()}
    if files != {kind: printable(file) for kind, file in names.items()}:
        return None
    same = (holds(out / names[kind], record.outputs[kind], hashed=hashed) for kind in names)
    return record if all(same) else None


def holds(path: Path, known: Output | None, *, hashed: bool = True) -> bool:
    """Return whether a result is unchanged: has the size and checksum in `known`, its record."""
    try:
        size, checksum = measured(path, hashed=hashed)
    except OSError:
        return False
    if known is None or size != known.get("bytes"):
        return False
    return not hashed or checksum == known["sha256"]


def checksum_of_image(files: Sequence[Path], options: Options) -> str:
    """Return the checksums of an image and of the files beside it."""
    from equilabel.storage.images import hash_of

    def checksum(path: Path) -> str:
        if path.is_dir():
            return hash_of(parts_of([path]), None if options.slices else path)
        return sha256(path)

    return ",".join(map(checksum, files))


def parts_of(paths: Sequence[Path]) -> list[Path]:
    """Return files; a folder of slices or a Zarr is replaced by the files in it."""
    from equilabel.storage.images import SUFFIXES, slices_in
    from equilabel.storage.ome_zarr import files_of, is_zarr

    found: list[Path] = []
    for path in paths:
        if is_zarr(path):
            found += files_of(path)
        else:
            found += slices_in(path, SUFFIXES) if path.is_dir() else [path]
    return found


# ------------------------------------------------------------------- results of killed runs


class Finished(NamedTuple):
    """Complete results of an image, some of which may not have their final names yet."""

    place: Path  # folder of the record and of results without final names
    name: str  # beginning of their names, below the output folder
    moved: tuple[Path, ...]  # results with their final names


def find_finished(
    out: Path,
    names: Collection[str],
    options: Options,
    fingerprint: str,
    *,
    besides: Path | None = None,
) -> Iterator[Finished]:
    """Find finished results of images in the folders that killed runs left.

    A process writes the record of an image after its results. Results are therefore finished if the
    record is complete and the checksums in it fit. `names` are those of the results of this run,
    and `besides` is the folder of this run, which is left out. Each item is checked just before it
    is yielded; move it before asking for the next one.
    """
    known = {printable(name): name for name in names}
    others = [folder for folder in _folders(out / UNFINISHED) if folder != besides]
    for folder in chain.from_iterable(map(_folders, others)):
        record = read_record(folder / RECORD)
        if record is None or record.status != "done" or record.fingerprint != fingerprint:
            continue
        name = known.get(record.name)
        if name is None:
            continue
        finals = {kind: out / f"{name}{ending}" for kind, ending in options.endings().items()}
        here = {
            kind: holds(folder / final.name, record.outputs.get(kind))
            for kind, final in finals.items()
        }
        moved = {kind: final for kind, final in finals.items() if not here[kind]}
        if all(holds(final, record.outputs.get(kind)) for kind, final in moved.items()):
            yield Finished(folder, name, tuple(moved.values()))


def _folders(parent: Path) -> list[Path]:
    """List the folders in a folder, without links; [] if the folder does not exist."""
    if not parent.is_dir():
        return []
    return [each for each in sorted(parent.iterdir()) if is_folder(each)]
