"""Progress and summary of a run, as printed to the terminal."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, cast

import equilabel

from .names import printable
from .records import RUN, SUMMARY
from .streams import Steady, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from .options import Options
    from .records import Record

MOST_NOTES = 5  # printed at the end; all of them are in the summary


def describe(record: Record) -> str:
    """Describe the record of an image in a line.

    Examples
    --------
    >>> from equilabel.cli.records import Record
    >>> describe(Record("cells.tif", "cells", "done", objects=57, threshold=103.5, seconds=0.42))
    'cells.tif: 57 objects, threshold 103.5, 0.4 s'
    """
    if record.status == "failed":
        return f"{record.file}: failed: {record.error}"
    if record.status == "skipped":
        return f"{record.file}: skipped, complete and unchanged ({_objects(record)})"
    if record.status == "interrupted":
        return f"{record.file}: interrupted"
    threshold = record.threshold
    if isinstance(threshold, (tuple, list)):
        threshold = " to ".join(f"{value:.6g}" for value in threshold)
    elif isinstance(threshold, float):
        threshold = f"{threshold:.6g}"
    return f"{record.file}: {_objects(record)}, threshold {threshold}, {record.seconds:.1f} s"


@contextmanager
def progress(total: int, out: Path) -> Iterator[Callable[[Record], None]]:
    """Yield a function that shows a record: a progress bar on a terminal, otherwise a line each."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        with _bar(total) as show:
            yield show
        return
    say(f"{images(total)}, results in {printable(out)}")
    width, count = len(str(total)), 0

    def show_line(record: Record) -> None:
        nonlocal count
        count += 1
        say(f"[{count:{width}}/{total}] {describe(record)}")

    yield show_line


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Record], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = Console(highlight=False, file=cast("TextIO", Steady()))
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=total)

        def show(record: Record) -> None:
            if record.status == "failed":
                bar.console.print(Text(describe(record), style="red"))
            bar.update(task, advance=1, description=record.file[-40:])

        yield show


def close(
    records: Sequence[Record], out: Path, options: Options, *, seconds: float, others: int
) -> None:
    """Print how a run ended, and where its results are."""
    count = dict.fromkeys(("done", "skipped", "failed", "interrupted"), 0)
    for record in records:
        count[record.status] += 1
    parts = [f"{count['done']} labeled"]
    parts += [
        f"{count[word]} {word}" for word in ("skipped", "failed", "interrupted") if count[word]
    ]
    say(f"\n{images(len(records))}: {', '.join(parts)}, in {seconds:.1f} s")
    units = {record.unit or "pixels" for record in records if record.complete}
    if len(units) > 1:
        say(
            f"  note      lengths are in different units: {', '.join(sorted(units))} "
            "(see --spacing and --unit)"
        )
    names = {"labels": "labels", "table": "tables", "overlay": "overlays"}
    if count["done"] or count["skipped"]:
        for kind, ending in options.endings().items():
            say(f"  {names[kind]:9} {printable(out / f'*{ending}')}")
    if others:
        say(f"  {images(others)} of earlier runs: results are kept, but are not in the summary")
    if count["interrupted"]:
        say("  to do     run again with --resume to label the other images")
    say_notes(records)
    say(f"  summary   {printable(out / SUMMARY)}")
    say(f"  record    {printable(out / RUN)}")


def say_notes(records: Sequence[Record]) -> None:
    """Print the notes on images, the most frequent first, and those on the machine."""
    notes = Counter(note for record in records for note in record.notes)
    for note, count in notes.most_common(MOST_NOTES):
        say(f"  note      {note} ({images(count)})")
    if len(notes) > MOST_NOTES:
        say(f"  notes     {len(notes) - MOST_NOTES} more are in the summary")
    for report in equilabel.devices():
        if report.note:
            say(f"  note      {report.note}")


def images(count: int) -> str:
    """Return a number of images in words."""
    return f"{count} image{'s' * (count != 1)}"


def _objects(record: Record) -> str:
    return f"{record.objects} object{'s' * (record.objects != 1)}"
