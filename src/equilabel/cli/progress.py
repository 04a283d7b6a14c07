"""Progress and summary of a run, printed to the terminal."""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, cast

import equilabel
from equilabel.descriptions import STAGES

from .inputs import printable
from .records import REPORT, RUN, SUMMARY
from .streams import Steady, fleeting, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Self, TextIO

    from .options import Options
    from .records import Facts, Record


class Pace:
    """Rate, failures and remaining time of a run of `total` images; `clock` returns seconds.

    Skipped images take almost no time and do not count for the rate.
    """

    def __init__(self, total: int, clock: Callable[[], float] = monotonic) -> None:
        self.total, self.clock = total, clock
        self.begun, self.count, self.worked, self.failed = clock(), 0, 0, 0

    def add(self, record: Record) -> None:
        """Count a finished image."""
        self.count += 1
        self.worked += record.status != "skipped"
        self.failed += record.status == "failed"

    def words(self) -> list[str]:
        """Describe the rate of finished images, the failures, and the time that is left.

        >>> from equilabel.cli.records import Record
        >>> times = iter([0.0, 30.0])
        >>> pace = Pace(61, lambda: next(times))
        >>> pace.add(Record("a.tif", "a", "failed"))
        >>> pace.words()
        ['2 images/min', '1 failed', '30 min left']
        """
        seconds = self.clock() - self.begun
        found = []
        if self.worked and seconds > 0:
            rate = self.worked / seconds
            found += [f"{rate:.3g} images/s" if rate >= 1 else f"{60 * rate:.3g} images/min"]
        if self.failed:
            found += [f"{self.failed} failed"]
        if self.worked and self.count < self.total:
            found += [f"{spoken((self.total - self.count) * seconds / self.worked)} left"]
        return found


def spoken(seconds: float) -> str:
    """Return a time with its unit.

    >>> spoken(40), spoken(300), spoken(7200)
    ('40 s', '5 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds <= 5400 else f"{seconds / 3600:.1f} h"


MOST_NOTES = 5  # printed at the end; the summary has all
EVERY = 60.0  # seconds between lines about the progress of a run without a bar


def describe(record: Record) -> str:
    """Describe the record of an image in a line.

    >>> from equilabel.cli.records import Record
    >>> describe(Record("cells.tif", "cells", "done", objects=57, threshold=103.5, seconds=0.42))
    'cells.tif: 57 objects, threshold 103.5, 0.4 s'
    """
    if record.status == "failed":
        return f"{record.file}: failed: {record.error}"
    if record.status == "skipped":
        return f"{record.file}: kept, complete and unchanged ({_objects(record)})"
    if record.status == "interrupted":
        return f"{record.file}: interrupted"
    if record.threshold is None:  # labels were measured
        return f"{record.file}: {_objects(record)}, {record.seconds:.1f} s"
    threshold = record.threshold
    if isinstance(threshold, (tuple, list)):
        threshold = " to ".join(f"{value:.6g}" for value in threshold)
    elif isinstance(threshold, float):
        threshold = f"{threshold:.6g}"
    parts = [_objects(record), f"threshold {threshold}", *in_pixels(record.in_pixels)]
    return f"{record.file}: {', '.join(parts)}, {record.seconds:.1f} s"


def in_pixels(used: Facts) -> list[str]:
    """Describe lengths and sizes as numbers of pixels.

    >>> in_pixels({"sigma": (1.54, 1.54), "min_size": 30}), in_pixels({"sigma": [0.5, 2, 2]})
    (['sigma 1.54 px', 'min size 30 px'], ['sigma 0.5 x 2 x 2 px'])
    """
    found = []
    for name, value in used.items():
        each = list(value) if isinstance(value, (tuple, list)) else [value]
        texts = [f"{number:.3g}" if isinstance(number, float) else str(number) for number in each]
        numbers = texts[0] if len(set(texts)) == 1 else " x ".join(texts)
        found.append(f"{name.replace('_', ' ')} {numbers} px")
    return found


class Lines:
    """Progress as text: a line for each image, and sometimes one about the whole run."""

    def __init__(self, total: int, out: Path) -> None:
        self.total, self.out, self.count = total, out, 0
        self.pace = Pace(total)
        self.told = self.pace.begun

    def begin(self) -> None:
        """Print the heading."""
        say(f"{images(self.total)}, results in {printable(self.out)}")

    def show(self, record: Record) -> None:
        """Print the record of an image."""
        self.count += 1
        say(f"[{self.count:{len(str(self.total))}}/{self.total}] {describe(record)}")
        if self.total > 1:  # the notes on a single image are printed at the end
            for note in record.notes:
                say(f"      note: {note}")
        self.pace.add(record)
        if self.pace.clock() - self.told > EVERY and self.count < self.total:
            self.told = self.pace.clock()
            say(f"--- {self.count} of {self.total}, {', '.join(self.pace.words())}")

    def tell(self, words: str) -> None:
        """Show on a terminal what takes time."""
        fleeting(words)

    def end(self) -> None:
        """Remove the last message."""
        fleeting("")


class Bar(Lines):
    """A progress bar for a terminal, with rate, failures, and the time that is left.

    Above it are a line for each failed image and one for each different note, with the first file
    that has it; the summary at the end counts the files.
    """

    def __init__(self, total: int, out: Path) -> None:
        from rich import progress

        super().__init__(total, out)
        self.bar = _bars(
            progress.BarColumn(16),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[pace]}", markup=False),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.description}", markup=False),  # last, as it may be cut off
        )
        self.notes, self.begun = set[str](), False
        self.task = self.bar.add_task("starting", total=total, pace="")

    def begin(self) -> None:
        """Draw the bar."""
        fleeting("")
        self.begun = True
        self.bar.start()

    def tell(self, words: str) -> None:
        """Show what takes time: beside the bar, or before it is drawn."""
        if self.begun:
            self.bar.update(self.task, description=words or "labeling")
        else:
            fleeting(words)

    def show(self, record: Record) -> None:
        """Advance the bar by one image."""
        from rich.text import Text

        if record.status == "failed":
            self.bar.console.print(Text(describe(record), style="red"))
        for note in record.notes if self.total > 1 else ():
            if note not in self.notes:
                self.bar.console.print(Text(f"{record.file}: {note}", style="yellow"))
            self.notes.add(note)
        self.pace.add(record)
        pace = ", ".join(self.pace.words())
        self.bar.update(self.task, advance=1, description=record.file[-30:], pace=pace)

    def end(self) -> None:
        """Stop the bar; it stays on the screen."""
        fleeting("")
        self.bar.stop()


def _bars(*columns: Any) -> Any:
    """Return bars with these columns; they go on when the terminal takes no more text."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(highlight=False, file=cast("TextIO", Steady()))
    return Progress(*columns, console=console)


def _is_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(total: int, out: Path) -> Iterator[Lines]:
    """Yield a display of records: a bar on a terminal, otherwise lines.

    It shows nothing before `begin`, because the run may still be refused.
    """
    shown = (Bar if _is_terminal() else Lines)(total, out)
    try:
        yield shown
    finally:
        shown.end()


def close(
    records: Sequence[Record], out: Path, options: Options, *, seconds: float, others: int
) -> None:
    """Print how a run ended, and where its results are."""
    count = dict.fromkeys(("done", "skipped", "failed", "interrupted"), 0)
    for record in records:
        count[record.status] += 1
    done = "measured" if options.command == "measure" else "labeled"
    parts = [f"{count['done']} {done}"]
    said = {"skipped": "kept", "failed": "failed", "interrupted": "interrupted"}
    parts += [f"{count[status]} {word}" for status, word in said.items() if count[status]]
    say(f"\n{images(len(records))}: {', '.join(parts)}, in {seconds:.1f} s")
    units = {record.unit or "pixels" for record in records if record.complete}
    if len(units) > 1:
        say(
            f"  note      lengths are in different units: {', '.join(sorted(units))} "
            "(see --spacing and --unit)"
        )
    names = {"labels": "labels", "table": "tables", "overlay": "overlays", "outlines": "outlines"}
    if count["done"] or count["skipped"]:
        for kind, ending in options.endings().items():
            say(f"  {names[kind]:9} {printable(out / f'*{ending}')}")
        say(f"  objects   {printable(out / f'objects.{options.format}')}")
    if others:
        say(f"  {images(others)} of earlier runs: results are kept, but are not in the summary")
    if count["interrupted"]:
        say("  to do     run again with --resume to label the other images")
    say_notes(records)
    say(f"  report    {printable(out / REPORT)}")
    say(f"  summary   {printable(out / SUMMARY)}")
    say(f"  record    {printable(out / RUN)}")


def say_notes(records: Sequence[Record]) -> None:
    """Print the notes about images, the most frequent first, and those about the machine."""
    notes = Counter(note for record in records for note in record.notes)
    for note, count in notes.most_common(MOST_NOTES):
        say(f"  note      {note} ({images(count)})")
    if len(notes) > MOST_NOTES:
        say(f"  notes     {len(notes) - MOST_NOTES} more are in the summary")
    for told in notes_on_machine():
        say(f"  note      {told}")


def say_results(line: str, notes: Iterable[str], paths: Mapping[str, Path]) -> None:
    """Print what came of one image: a line, notes, and the paths of results by kind."""
    say(line)
    for note in notes:
        say(f"  note      {note}")
    for kind, path in paths.items():
        say(f"  {kind:9} {printable(path)}")


def notes_on_machine() -> list[str]:
    """Return the notes about the devices of this machine."""
    return [report.note for report in equilabel.devices() if report.note]


def images(count: int) -> str:
    """Return a number of images in words."""
    return f"{count} image{'s' * (count != 1)}"


def _objects(record: Record) -> str:
    return f"{record.objects} object{'s' * (record.objects != 1)}"


PAUSE = 10  # seconds between two lines about a stage if the output is not a terminal


class BlockProgress:
    """Show the number of finished blocks: as bars on a terminal, otherwise as a line now and then.

    `stage` is the current stage ("" before the first); `done` and `total` count its blocks.
    """

    def __init__(self) -> None:
        self.stage, self.done, self.total = "", 0, 0
        self._told = 0.0
        self._bars: Any = None
        self._task: Any = None
        if _is_terminal():
            from rich import progress

            self._bars = _bars(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeElapsedColumn(),
                progress.TextColumn("left"),
                progress.TimeRemainingColumn(),
            )

    def __enter__(self) -> Self:
        """Start to draw."""
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop drawing; the bars stay on the screen."""
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how many blocks of a stage are done."""
        new = stage != self.stage or done < self.done
        self.stage, self.done, self.total = stage, done, total
        if self._bars is not None:
            if new:
                self._task = self._bars.add_task(STAGES.get(stage, stage), total=total)
            self._bars.update(self._task, completed=done)
            return
        if new or monotonic() - self._told > PAUSE:
            say(f"  {STAGES.get(stage, stage)}: {done} of {total}")
            self._told = monotonic()

    def __str__(self) -> str:
        """Describe the current stage."""
        return f"stage '{STAGES.get(self.stage, self.stage)}', {self.done} of {self.total}"
