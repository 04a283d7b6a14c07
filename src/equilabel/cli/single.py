"""`equilabel segment`: label one image in this process."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from equilabel.devices import compiling
from equilabel.storage.files import flush_folder
from equilabel.storage.ome_zarr import is_zarr

from .chunked import check_formats, refuse_own, why_chunked
from .errors import explain
from .folder import RECORD, give_name, holds, is_obstacle, put_away
from .inputs import (
    FILE,
    FOLDER,
    NOTHING,
    expanded,
    kind_of,
    name_of,
    printable,
    quoted,
    refuse_among,
    stem,
)
from .one import Job, label_one
from .options import RefusedError
from .progress import describe, say_machine
from .records import provenance, read_record
from .streams import Waiting, complain, say
from .trial import check

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .chunked import Choices
    from .options import Options

OWN_RECORD = "_record.json"
WORDS = {
    "labels": "labels",
    "table": "table",
    "overlay": "overlay",
    "outlines": "outlines",
    "record": "record",
}


def run(
    word: str,
    out: Path,
    options: Options,
    choices: Choices,
    *,
    chunked: bool = False,
    notes: Sequence[str] = (),
) -> int:
    """Label one image, write its results and their record to `out`, and return the exit code.

    The exit code is 0, or 1 if the image failed. With `chunked`, a TIFF is labeled in chunks, as is
    any Zarr and any image larger than memory. `notes` on the options are printed first. Raises
    RefusedError before anything is written.
    """
    for note in notes:
        complain(note)
    path = expanded(word, "IMAGE")
    why = why_chunked(path, out, options, chunked=chunked) if word.strip() else ""
    if why:
        from .chunked import run_in_chunks

        return run_in_chunks(path, out, options, replace(choices, why=why))
    refuse_own(choices.typed)
    check_formats(options)
    path, out = _file(word, options), expanded(out, "--out")
    name = stem(path)
    if options.slices:
        refuse_among(path, out)
        name = name_of(path)
    finals = {kind: out / f"{name}{ending}" for kind, ending in options.endings().items()}
    finals["record"] = out / f"{name}{OWN_RECORD}"
    former = _former(finals["record"], path)
    _refuse_losses(finals, path, choices.overwrite, former)
    new = [folder for folder in (out, *out.parents) if not os.path.lexists(folder)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=".equilabel-", dir=out))
    except OSError as error:
        message = (
            f"--out must be a folder that can be written; got {quoted(out)}: {error.strerror}. "
            "Choose another folder, or change its permissions."
        )
        raise RefusedError(message) from error
    try:
        job = Job(0, path, name, place / "results", out, flush="all")
        with Waiting() as waiting, compiling.listening(waiting.compiling):
            record = label_one(job, options, provenance(options), waiting)
        if record.status == "failed":
            return _fail(record.error, path, options)
        for final in finals.values():
            give_name(job.place / (RECORD if final == finals["record"] else final.name), final)
        for earlier in former.difference(finals.values()):
            put_away(earlier, place)
        flush_folder(out)
    except OSError as error:
        return _fail(explain(error), path, options)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        for folder in new:
            with suppress(OSError):  # usually not empty
                folder.rmdir()
    say(describe(record))
    for note in record.notes:
        say(f"  note      {note}")
    say_machine()
    for kind, final in finals.items():
        say(f"  {WORDS[kind]:9} {printable(final)}")
    return 0


def _file(word: str, options: Options) -> Path:
    path = expanded(word, "IMAGE")
    kind = kind_of(path) if word.strip() else NOTHING
    wanted = FOLDER if options.slices else FILE
    if kind == wanted or (is_zarr(path) and not options.slices):
        return path
    if kind == FOLDER:
        remedy = (
            f"For all images in it, use `equilabel batch {printable(word)} --out results`; "
            "if they are slices of one volume, pass --slices."
        )
    elif kind == FILE:
        remedy = "Leave --slices out."
    elif kind == NOTHING:
        remedy = "Check the path."
    else:
        remedy = "Pass a file."
    message = f"IMAGE must be {wanted}; got {quoted(path)}, {kind}. {remedy}"
    raise RefusedError(message)


def _former(record: Path, image: Path) -> set[Path]:
    """Return the results of an earlier call for an image, with their record, if unchanged since."""
    known = read_record(record)
    if known is None or Path(known.file).name != printable(image.name):
        return set()
    found = {record}
    for output in known.outputs.values():
        path = record.with_name(Path(output["file"]).name)
        if holds(path, output):
            found.add(path)
    return found


def _refuse_losses(
    finals: dict[str, Path], image: Path, overwrite: bool, former: Collection[Path]
) -> None:
    """Raise RefusedError if a result would replace the image, or a file that is not ours.

    With `overwrite`, all files are; without it, those of the `former` call.
    """
    present = [path for path in finals.values() if os.path.lexists(path)]
    for path in present:
        if path.exists() and (path.samefile(image) or path.resolve() in image.resolve().parents):
            message = (
                f"results must not replace the image; got {quoted(path)} for both. "
                "Choose another folder with --out."
            )
            raise RefusedError(message)
        if is_obstacle(path):
            message = (
                f"--out must hold no folder of the name of a result; got {quoted(path)}. "
                "Choose another folder."
            )
            raise RefusedError(message)
    foreign = [path for path in present if path not in former]
    if foreign and not overwrite:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        message = (
            "results must not replace files that were changed, or that `equilabel segment` did not "
            f"write for this image; got {quoted(foreign[0])}{more}. Pass --overwrite to replace "
            "them, or --out with another folder."
        )
        raise RefusedError(message)


def _fail(error: str, path: Path, options: Options) -> int:
    """Print why the image failed; raise RefusedError if the options fit no image."""
    complaint = check(options)
    if complaint:
        raise RefusedError(complaint)
    complain(f"{printable(path)}: {error}")
    return 1
