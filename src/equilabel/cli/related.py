"""The command `equilabel relate`: tables of which objects touch, are near, or lie in others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from equilabel import contacts, measure, neighbors, relate

from .inputs import expanded, printable, refuse_kind, refuse_to_replace, stem
from .one import whole_numbers
from .progress import say_results
from .streams import Waiting, complain, explain, name_options
from .trial import known_axes, notes_of_file, notes_on_spacing

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from equilabel.storage.metadata import TiffImage

    from .options import Options


def run(word: str, to: str | None, out: Path | str, options: Options, *, overwrite: bool) -> int:
    """Relate the objects of labels to each other, or to those of `to`; return the exit code."""
    from equilabel.storage.images import read_image
    from equilabel.storage.table import write_table

    files = [expanded(word, "LABELS")]
    files += [] if to is None else [expanded(to, "--to")]
    for path, name in zip(files, ("LABELS", "--to"), strict=False):
        refuse_kind(name, path)
    out = expanded(out, "--out")
    kinds = ("neighbors", "contacts") if to is None else ("children", "parents")
    finals = {kind: out / f"{stem(files[0])}_{kind}.{options.format}" for kind in kinds}
    if not overwrite:
        refuse_to_replace(list(filter(os.path.lexists, finals.values())))
    at = files[0]
    images: list[TiffImage] = []
    try:
        with Waiting() as waiting:
            waiting("read")
            for at in files:
                images.append(read_image(at, series=options.series, indices=True))
            waiting("measure")
            tables, notes = _tables(images, options)
        out.mkdir(parents=True, exist_ok=True)
        for table, path in zip(tables, finals.values(), strict=True):
            write_table(path, table)
    except (OSError, ValueError, TypeError, MemoryError) as error:
        complain(f"{printable(at)}: {name_options(explain(error))}")
        return 1
    found = f"{printable(files[0])}: {len(tables[0])} objects, {_said(tables, to)}"
    say_results(found, notes, finals)
    return 0


def _said(tables: tuple[pd.DataFrame, pd.DataFrame], to: str | None) -> str:
    """Say in one line what was found."""
    if to is None:
        return f"{len(tables[1])} pairs that touch"
    return f"{int((tables[0].parent > 0).sum())} in {len(tables[1])} of {printable(to)}"


def _tables(
    images: list[TiffImage], options: Options
) -> tuple[tuple[pd.DataFrame, pd.DataFrame], tuple[str, ...]]:
    """Return both tables, and notes on what was guessed."""
    labels = images[0]
    known = known_axes(labels, options, "labels")
    how: Any = {"spacing": known.distances, "stacked": known.stacked}
    numbers = whole_numbers(labels)
    if len(images) == 1:
        tables = neighbors(numbers, **how), contacts(numbers, **how)
    else:
        table = measure(numbers, **how)
        places = [name for name in map(str, table) if name.startswith(("bbox", "centroid"))]
        parents = whole_numbers(images[1])
        tables = relate(numbers, parents, table.drop(columns=places), **how)
    notes = (*notes_of_file(labels, options), *notes_on_spacing(known, options))
    return tables, (*notes, f"Lengths are in {known.length or 'an unknown unit'}.")
