"""What `--resume` does with the results of earlier runs in the output folder.

- *Refused*, the whole run: `refuse_difference`, if options or versions are not those of the results
  there, or run.json cannot be read.
- *Kept*, an image: `find_kept`, if its record is whole and fits these options and versions, and the
  image and all results have the checksums in it. Results of killed runs that have no final names
  yet count once `find_finished` has found them.
- *Labeled anew*: every other image.
"""

from __future__ import annotations

import os
import stat
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from equilabel.storage.files import is_folder, sha256

from .folder import RECORD, UNFINISHED
from .names import printable, quoted
from .options import LABELS, RefusedError
from .records import (
    FORMAT,
    RUN,
    STATE,
    Provenance,
    differences,
    measured,
    read_json,
    read_record,
    record_name,
    record_path,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from .options import Options
    from .records import Output, Record

SMALL = 2**20  # bytes of a file that is compared within milliseconds


# ---------------------------------------------------------------------------------- refused


def refuse_difference(out: Path, now: Provenance) -> None:
    """Raise RefusedError if the results of two different runs would be mixed."""
    found = differences(now, read_run(out / RUN))
    if found:
        message = (
            f"--resume needs the options and versions of the run that wrote {quoted(out / RUN)}; "
            f"got {'; '.join(found)}. Use those, pass --overwrite to compute all results again, "
            "or choose another folder."
        )
        raise RefusedError(message)


def read_run(path: Path) -> Provenance:
    """Read the parameters and versions of an earlier run.

    Raises RefusedError if the file was not written by `write_run`.
    """
    needs = f"--resume needs the {RUN} of the earlier run; got {quoted(path)}, which"
    remedy = "Pass --overwrite to compute all results again, or choose another folder."
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        message = f"{needs} cannot be read: {why}. {remedy}"
        raise RefusedError(message) from error
    for name, kind in (("format", int), ("parameters", dict), ("versions", dict)):
        value = content.get(name) if isinstance(content, dict) else None
        if type(value) is not kind or (kind is int and value != FORMAT):
            got = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
            message = (
                f"{needs} this version of equilabel did not write: {name!r} is {got}. {remedy}"
            )
            raise RefusedError(message)
    versions = {name: value for name, value in content["versions"].items() if name != "python"}
    return Provenance(content["parameters"], versions)


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
    """Return the record of an image that is kept; None if it is to be labeled anew.

    `checksum` is that of the image; for the rest see `find_earlier`.
    """
    record = find_earlier(out, name, options, fingerprint)
    return record if record is not None and record.sha256 == checksum else None


def find_kept_at_once(
    files: Sequence[Path], out: Path, name: str, options: Options, fingerprint: str
) -> Record | None:
    """Like `find_kept`, but None, too, if a file is so large that a process should compare it.

    `files` are the image, and the one to measure in.
    """
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
    """Return the checksums of an image and of the image in which it is measured."""
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
