"""Progress and summary of a run, printed to the terminal."""

from __future__ import annotations

import sys
from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING

from typer import style

import equilabel
from equilabel.descriptions import describe_stage

from .inputs import printable
from .records import REPORT, RUN, SUMMARY, Facts, Record
from .streams import can_fleet, fleeting, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from .options import Options


def spoken(seconds: float) -> str:
    """Return a time with its unit.

    >>> spoken(40), spoken(300), spoken(7200)
    ('40 s', '5 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds <= 5400 else f"{seconds / 3600:.1f} h"


MOST_NOTES = 5  # printed at the end; the summary has all
WIDE = 16  # characters of a bar
EVERY = 60.0  # seconds between lines about the progress of a run without a bar


def describe(record: Record, splitting: str = "") -> str:
    """Describe the record of an image in a line, with how its objects are split.

    >>> from equilabel.cli.records import Record
    >>> describe(Record("cells.tif", "cells", "done", objects=57, threshold=103.5, seconds=0.42))
    'cells.tif: 57 objects, threshold 103.5, 0.4 s'
    """
    objects = f"{record.objects} object{'s' * (record.objects != 1)}"
    if record.status == "failed":
        return f"{record.file}: failed: {record.error}"
    if record.status == "skipped":
        return f"{record.file}: kept, complete and unchanged ({objects})"
    if record.status == "interrupted":
        return f"{record.file}: interrupted"
    if record.threshold is None:  # labels were measured
        return f"{record.file}: {objects}, {record.seconds:.1f} s"
    threshold = record.threshold
    if isinstance(threshold, (tuple, list)):
        threshold = " to ".join(f"{value:.6g}" for value in threshold)
    elif isinstance(threshold, float):
        threshold = f"{threshold:.6g}"
    parts = [objects, f"threshold {threshold}", *in_pixels(record.in_pixels)]
    parts += [splitting] if splitting else []
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


def drawn(done: int, total: int) -> str:
    """Draw a bar.

    >>> drawn(1, 4)
    '[####............] 1/4'
    """
    return f"[{'#' * (WIDE * done // max(1, total)):.<{WIDE}}] {done}/{total}"


class Progress:
    """Progress of a run of `total` images; nothing is shown before `begin`, but what takes long.

    On a terminal a bar, with rate, failures, and the time that is left; above it are a line for
    each failed image and one for each different note, with the first file that has it. Elsewhere a
    line for each image, and sometimes one about the whole run.
    """

    def __init__(
        self, total: int, out: Path, splitting: str = "", clock: Callable[[], float] = monotonic
    ) -> None:
        self.splitting, self.clock = splitting, clock  # how objects are split; in seconds
        self.total, self.out, self.bar = total, out, sys.stdout.isatty() and can_fleet()
        self.begun, self.notes = False, set[str]()
        self.count = self.worked = self.failed = 0  # images: finished, not skipped, failed
        self.since = self.told = clock()

    def begin(self) -> None:
        """Draw the bar, or print the heading."""
        self.begun = True
        if self.bar:
            self.tell("starting")
        else:
            say(f"{images(self.total)}, results in {printable(self.out)}")

    def tell(self, words: str) -> None:
        """Show on a terminal what takes time, beside the bar if it is drawn."""
        if self.bar and self.begun:
            parts = drawn(self.count, self.total), *self.pace(), words or "labeling"
            words = ", ".join(parts)
        fleeting(words)

    def pace(self) -> list[str]:
        """Describe the rate of finished images, the failures, and the time that is left.

        Skipped images take almost no time and do not count for the rate.
        """
        seconds, found = self.clock() - self.since, []
        if self.worked and seconds > 0:
            rate = self.worked / seconds
            found += [f"{rate:.3g} images/s" if rate >= 1 else f"{60 * rate:.3g} images/min"]
        if self.failed:
            found += [f"{self.failed} failed"]
        if self.worked and self.count < self.total:
            found += [f"{spoken((self.total - self.count) * seconds / self.worked)} left"]
        return found

    def show(self, record: Record) -> None:
        """Show the record of an image."""
        failed, now = record.status == "failed", self.clock()
        self.count, self.failed = self.count + 1, self.failed + failed
        self.worked += record.status != "skipped"
        if not self.bar:
            line = describe(record, self.splitting)
            say(f"[{self.count:{len(str(self.total))}}/{self.total}] {line}")
        elif failed:
            say(style(describe(record), fg="red"))
        for note in record.notes if self.total > 1 else ():  # else they are printed at the end
            if not self.bar:
                say(f"      note: {note}")
            elif note not in self.notes:
                say(style(f"{record.file}: {note}", fg="yellow"))
            self.notes.add(note)
        if self.bar:
            self.tell(record.file[-30:])
        elif now - self.told > EVERY and self.count < self.total:
            self.told = now
            say(f"--- {self.count} of {self.total}, {', '.join(self.pace())}")


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


PAUSE = 10  # seconds between two lines about a stage if the output is not a terminal


class BlockProgress:
    """Show the number of finished blocks: as a bar on a terminal, otherwise a line now and then.

    `stage` is the current stage ("" before the first); `done` and `total` count its blocks.
    """

    def __init__(self) -> None:
        self.stage, self.done, self.total = "", 0, 0
        self._told = self._begun = 0.0  # the last line, and the stage
        self._first = 0  # blocks that were done when the stage began

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how many blocks of a stage are done."""
        now, new = monotonic(), stage != self.stage or done < self.done
        self.stage, self.done, self.total = stage, done, total
        if new:
            self._begun, self._first = now, done
        words = describe_stage(stage)
        bar = sys.stdout.isatty() and can_fleet()
        if bar and done < total:
            each = (now - self._begun) / max(1, done - self._first)
            left = f", {spoken(each * (total - done))} left" if done > self._first else ""
            fleeting(f"{drawn(done, total)} {words}{left}")
        elif bar or new or now - self._told > PAUSE:
            say(f"  {words}: {done} of {total}")
            self._told = now

    def __str__(self) -> str:
        """Describe the current stage."""
        return f"stage '{describe_stage(self.stage)}', {self.done} of {self.total}"
