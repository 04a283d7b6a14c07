"""Find results that a run had finished when it was killed, before they got their names."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from equilabel.storage.files import is_folder

from .claim import UNFINISHED
from .earlier import holds
from .folder import RECORD
from .jsonfiles import read_record
from .names import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from .options import Options


class Finished(NamedTuple):
    """The results of an image, all complete, of which some may have no names yet.

    Attributes
    ----------
    place : Path
        Folder of those without names, and of the record.
    name : str
        What their names begin with, below the output folder.
    moved : tuple of Path
        Those that have their names.
    """

    place: Path
    name: str
    moved: tuple[Path, ...]


def find_finished(
    out: Path,
    names: Collection[str],
    options: Options,
    fingerprint: str,
    *,
    besides: Path | None = None,
) -> Iterator[Finished]:
    """Find the finished results of images in what killed runs left.

    A process writes the record of an image after its results. So results are finished if the
    record is whole and each result has the checksum in it.

    Parameters
    ----------
    out : Path
        The output folder.
    names : collection of str
        Of the results of the images of this run.
    options : Options
        Of this run, which say what the results are.
    fingerprint : str
        Of today's parameters and versions.
    besides : Path, optional
        Folder of this run, which is left out.

    Yields
    ------
    Finished
        Checked just then: to be moved before the next one is asked for.
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
            kind: holds(folder / final.name, record.outputs.get(kind, {}))
            for kind, final in finals.items()
        }
        moved = {kind: final for kind, final in finals.items() if not here[kind]}
        if all(holds(final, record.outputs.get(kind, {})) for kind, final in moved.items()):
            yield Finished(folder, name, tuple(moved.values()))


def _folders(parent: Path) -> list[Path]:
    """List the folders in a folder, which are no links; none if there is no such folder."""
    if not parent.is_dir():
        return []
    return [each for each in sorted(parent.iterdir()) if is_folder(each)]
