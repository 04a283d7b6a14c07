"""Find results that a killed run had finished but not yet moved to their final names."""

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
            kind: holds(folder / final.name, record.outputs.get(kind, {}))
            for kind, final in finals.items()
        }
        moved = {kind: final for kind, final in finals.items() if not here[kind]}
        if all(holds(final, record.outputs.get(kind, {})) for kind, final in moved.items()):
            yield Finished(folder, name, tuple(moved.values()))


def _folders(parent: Path) -> list[Path]:
    """List the folders in a folder, without links; [] if the folder does not exist."""
    if not parent.is_dir():
        return []
    return [each for each in sorted(parent.iterdir()) if is_folder(each)]
