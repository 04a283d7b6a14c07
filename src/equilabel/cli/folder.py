"""The output folder: who may write to it, how results get their names, and what is resumed.

With `--resume`, `refuse_difference` may refuse the whole run; an image is kept if `find_kept`
returns its record, or else labeled anew.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from equilabel.storage.files import (
    flush_file,
    flush_folder,
    flush_tree,
    is_folder,
    locked_file,
    sha256,
)
from equilabel.storage.ome_zarr import is_zarr

from . import records
from .inputs import ZARR, Input, is_same, printable, quoted
from .options import Options, RefusedError, refuse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


# ---- The lock of a run, and its folder for unfinished files

UNFINISHED, CLAIM = ".unfinished", "claim"


@contextmanager
def claimed(out: Path) -> Iterator[Path]:
    """Lock a folder for one run, and yield a new folder in it for unfinished files.

    Processes that survived a killed run have another folder, which stays until `clear_others`.
    Raises RefusedError if the folder cannot be written, or if another run has locked it.
    """
    unfinished = out / UNFINISHED
    new = [folder for folder in (out, *out.parents) if not os.path.lexists(folder)]
    with ExitStack() as ending:
        ending.callback(remove_empty, unfinished, *new)
        try:
            claim = locked_file(unfinished, CLAIM)
        except OSError as error:
            raise not_writable(out, error) from error
        if claim is None:
            refuse(
                f"--out must be used by one run at a time; got {quoted(out)}, which another run "
                "uses. Wait until it ends, or choose another folder."
            )
        ending.callback(_release, claim, unfinished / CLAIM)
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

RECORD = "record.json"  # of an image whose results do not have their final names yet


def refuse_losses(
    out: Path, inputs: Sequence[Input], options: Options, *, replace: bool
) -> list[Path]:
    """Return earlier results of the images; raise RefusedError if files would be lost."""
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
    present = [
        out / name for name in (*names, *records.OF_RUN) if os.path.lexists(f"{out}{os.sep}{name}")
    ]
    refuse_inputs(present, files)
    if present and not replace:
        more = f" and {len(present) - 1} more" if len(present) > 1 else ""
        refuse(
            f"--out must hold no earlier results; got {quoted(present[0])}{more}. Pass --resume to "
            "continue that run, --overwrite to replace its results, or choose another folder."
        )
    of_run = [out / name for name in records.OF_RUN]
    for path, folder in (*((path, False) for path in of_run), (out / records.STATE, True)):
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


def settle(place: Path, finals: Mapping[str, Path], earlier: Iterable[Path]) -> None:
    """Flush the finished results of an image to the disk, and move them to their final names.

    `place`, on the same disk, holds them, and is removed. The record, the last of `finals`, is
    moved last. It has the checksums of the results, so those that fit it are complete, even after a
    crash. Raises OSError, before any file is moved, if another folder has a final name.
    """
    *results, record = finals.values()
    for final in (*results, record):
        if is_obstacle(final):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(final))
    for result in (place / final.name for final in results):
        (flush_tree if result.is_dir() else flush_file)(result)
    for former in set(earlier).difference(finals.values()):
        put_away(former, place)
    folder = results[0].parent
    folder.mkdir(parents=True, exist_ok=True)
    for final in results:
        give_name(place / final.name, final)
    record.parent.mkdir(exist_ok=True)
    flush_folder(folder)
    (place / RECORD).replace(record)
    flush_folder(record.parent)
    shutil.rmtree(place, ignore_errors=True)


def is_obstacle(final: Path) -> bool:
    """Return whether a folder that is no Zarr has the final name of a result."""
    return is_folder(final) and not _is_store(final)


def give_name(result: Path, final: Path) -> None:
    """Move a result to its final name; an earlier Zarr goes first, as folders are not replaced."""
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


# ---- What is resumed

# ---------------------------------------------------------------------------------- refused


def refuse_difference(out: Path, now: records.Provenance) -> None:
    """Raise RefusedError if the results of two different runs would be mixed."""
    path = out / records.RUN
    remedy = "Pass --overwrite to compute all results again, or choose another folder."
    found = records.differences(now, records.made_with(records.read_run(path, "--resume", remedy)))
    if found:
        refuse(
            f"--resume needs the options and versions of the run that wrote {quoted(path)}; "
            f"got {'; '.join(found)}. Use those, pass --overwrite to compute all results again, "
            "or choose another folder."
        )


def count_others(out: Path, names: Collection[str]) -> int:
    """Count the records of images in the folder that are not among `names`."""
    try:
        found = {path.name for path in (out / records.STATE).iterdir()}
    except OSError:
        return 0
    return len(found.difference(map(records.record_name, names)))


# ------------------------------------------------------------------------------------- kept


def find_kept(
    item: Input, out: Path, options: Options, fingerprint: str, facts: records.Facts
) -> records.Record | None:
    """Return the record of an image that is kept, else None; refuse results of another image."""
    name, files = item.name, list(item.files.values())
    record = records.read_record(records.record_path(out, name))
    if record is None or not record.complete or record.fingerprint != fingerprint:
        return None
    names = {kind: f"{name}{ending}" for kind, ending in options.endings().items()}
    known = {kind: output["file"] for kind, output in record.outputs.items()}
    if known != {kind: printable(file) for kind, file in names.items()}:
        return None
    try:
        same = record.sha256 == checksum_of_image(files, options)
        other = records.there(record.file, facts)
        another = not same and other.exists() and not is_same(other, item.path)
        another = another and checksum_of_image([other], options) == record.sha256.split(",")[0]
    except Exception:  # labeling tells why
        return None
    if another:
        refuse(
            f"results must not replace those of another image; got {quoted(item.path)}, and "
            f"results of its name of {quoted(other)}. Choose another --out."
        )
    same = same and all(holds(out / names[kind], record.outputs[kind]) for kind in names)
    return record if same else None


def holds(path: Path, known: records.Output | None) -> bool:
    """Return whether a result is unchanged: has the size and checksum in `known`, its record."""
    try:
        size, checksum = records.measured(path)
    except OSError:
        return False
    return known is not None and (size, checksum) == (known.get("bytes"), known["sha256"])


def checksum_of_image(files: Sequence[Path], options: Options) -> str:
    """Return the checksums of an image and of the files beside it."""
    from equilabel.storage.images import hash_of

    return ",".join(
        hash_of(parts_of([path]), None if options.slices else path)
        if path.is_dir()
        else sha256(path)
        for path in files
    )


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
