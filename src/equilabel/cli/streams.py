"""What the user is told: messages, progress and errors; and signals that end a run."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from inspect import signature
from shutil import get_terminal_size
from threading import Event, Thread, current_thread, main_thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from typer import style

import equilabel
from equilabel.descriptions import describe_stage
from equilabel.devices import compiling
from equilabel.storage.errors import FULL, causes, is_shortage

from . import ENDING
from .inputs import printable
from .options import LENGTHS, Options
from .records import REPORT, RUN, SUMMARY, Facts, Record

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

# ---- Ctrl-C and other signals, before and during a run


class Interrupted(BaseException):
    """A signal (`number`) ended the program before work began; `except Exception` ignores it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def interrupt(number: int, _: object) -> None:
    """Raise Interrupted, as a handler of signals: nothing has been written yet."""
    raise Interrupted(number)


@contextmanager
def collecting() -> Iterator[list[int]]:
    """Make signals append their numbers to a list, without interrupting the work."""
    heard: list[int] = []
    with handling(lambda number, _: heard.append(number)):
        yield heard


@contextmanager
def withheld() -> Iterator[None]:
    """Block signals while a process is started: its parent alone decides what becomes of it."""
    if sys.platform == "win32":
        yield
    else:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore() -> None:
    """Ignore the signals in this process; call it in the main thread. See `withheld`."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


@contextmanager
def handling(handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle the signals, if this is the main thread."""
    if current_thread() is not main_thread():
        yield
        return
    before = {}
    try:
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier or signal.SIG_DFL)


# ---- Standard output and error, which may be closed, full, or a pipe without a reader

GONE = (errno.EPIPE, errno.EIO)  # the reader has gone, which is not an error


def open_standard() -> None:
    """Open standard streams that are closed, or the next file would get the text of libraries."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 - for good
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # for names that a terminal cannot show


def say(text: str) -> None:
    """Print a line; if that fails, the run continues."""
    fleeting("")
    try:
        print(text, flush=True)
    except (OSError, ValueError) as error:
        silence("stdout")
        if isinstance(error, OSError) and error.errno not in (None, *GONE):
            complain(f"standard output takes no more text: {error.strerror}. The run continues.")


def complain(text: str) -> None:
    """Print a line to standard error; ignore failures."""
    fleeting("")
    try:
        print(f"equilabel: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence("stderr")


_shown = ""  # the line that `fleeting` shows


def can_fleet() -> bool:
    """Return whether standard error is a terminal whose last line can be replaced."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def fleeting(text: str) -> None:
    """Show a line on standard error that the next line replaces, if it is a terminal."""
    global _shown
    text = text[: get_terminal_size().columns - 1]
    if text == _shown or not can_fleet():
        return
    try:
        sys.stderr.write("\r" + text.ljust(len(_shown)) + ("" if text else "\r"))
        sys.stderr.flush()
        _shown = text
    except (OSError, ValueError):
        silence("stderr")


def silence(name: str) -> None:
    """Connect a standard stream to the null device, for the rest of the process."""
    nowhere = open(os.devnull, "w")  # noqa: SIM115, PTH123 - perhaps for good
    try:
        os.dup2(nowhere.fileno(), getattr(sys, name).fileno())  # buffered text goes there too
        nowhere.close()
    except (OSError, ValueError, AttributeError):
        setattr(sys, name, nowhere)


# ---- Errors as one line of text, with the names of command-line options

HANDLES = " Raise the limit with `ulimit -n`, or pass fewer --jobs."
LONG = " Shorten the name."
REMEDIES = {errno.EMFILE: HANDLES, errno.ENFILE: HANDLES, errno.ENAMETOOLONG: LONG}
MEMORY = "out of memory"  # a possible end of an attempt


def explain(error: BaseException) -> str:
    """Return the message of an error in one line, with a remedy."""
    if is_shortage(error):
        found = next((each for each in causes(error) if isinstance(each, MemoryError)), error)
        text = found.strerror if isinstance(found, OSError) else found
        got = one_line(text or "").rstrip(".") or "no more of it"
        remedy = "Pass fewer --jobs, or use a machine with more."
        return f"image must fit in memory; got {got}. {remedy}"
    if isinstance(error, OSError) and error.strerror:
        name = f" for {printable(error.filename)!r}" if error.filename else ""
        if error.errno in FULL:
            return (
                f"the disk of --out must have room; got {error.strerror!r}{name}. "
                "Make room and run again; a run of many images with --resume."
            )
        remedy = REMEDIES.get(error.errno or 0, "")
        return f"files must be readable and writable; got {error.strerror!r}{name}.{remedy}"
    expected = isinstance(error, (ValueError, TypeError, RuntimeError, OSError, ImportError))
    text = one_line(error) or type(error).__name__
    return (
        name_options(text) if expected else f"{type(error).__name__}: {text}. Please report this."
    )


def name_options(text: str) -> str:
    """Replace the names of Python parameters in a message by options of the command line.

    >>> name_options("block_size must be left out unless threshold='local'; got 5.")
    '--block-size must be left out unless --threshold local; got 5.'
    >>> name_options("property 'frame' is defined for a stack; got stacked=False.")
    "property 'frame' is defined for a stack; got --no-stacked."
    >>> name_options("sigma=100.0 blurs the image over 236 pixels.")
    '--sigma 100px blurs the image over 236 pixels.'
    """
    names = "|".join(_parameters())
    long = "|".join(name for name in _parameters() if "_" in name)  # cannot be ordinary words
    given = rf"\b(?P<name>{names})=(?P<value>'[^']*'|[\w.:-]*\w)"
    first = rf"^(?P<name>{names})(?= (?:must|needs)\b)"
    worded = {
        "without an image": "without --image",
        "Pass an image": "Pass --image",
        "condition must": "--keep must",
        "label_image must hold": "LABELS must hold",
    }
    for theirs, ours in worded.items():
        text = text.replace(theirs, ours)
    for pattern in (given, first, rf"(?<![\w-])(?P<name>{long})\b"):
        text = re.sub(pattern, _as_option, text)
    return text


def _as_option(found: re.Match[str]) -> str:
    """Write a parameter, with its value if it has one, as a user types it."""
    word, value = found["name"].replace("_", "-"), found.groupdict().get("value")
    if value in (None, "True", "False"):
        return f"--no-{word}" if value == "False" else f"--{word}"
    if found["name"] in LENGTHS and value.replace(".", "", 1).isdecimal():
        return f"--{word} {float(value):g}px"  # in pixels, whatever unit was typed
    return f"--{word} {value.strip(chr(39))}"


@cache
def _parameters() -> tuple[str, ...]:
    """List the Python parameters that are options of `equilabel batch`."""
    from equilabel import segment, segment_chunked

    chunked = signature(segment_chunked).parameters
    names = {*signature(segment).parameters, *chunked, *(item.name for item in fields(Options))}
    return tuple(sorted(names - {"image", "channel_axis", "progress", "segment"}))


def told(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """Return the warnings that are for users, not for developers, with the names of options."""
    for_users = (UserWarning, RuntimeWarning)
    return [name_options(one_line(each.message)) for each in caught if each.category in for_users]


def one_line(text: object) -> str:
    """Join lines, and escape characters that cannot be printed."""
    return printable(" ".join(str(text).split()))


# ---- Progress and summary of a run

MOST_NOTES = 5  # printed at the end; the summary has all


def spoken(seconds: float) -> str:
    """Return a time with its unit.

    >>> spoken(40), spoken(300), spoken(7200)
    ('40 s', '5 min', '2.0 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds <= 5400 else f"{seconds / 3600:.1f} h"


WIDE = 16  # characters of a bar
EVERY = 60.0  # seconds between lines about the progress of a run without a bar


def describe(record: Record) -> str:
    """Describe the record of an image in a line.

    >>> from equilabel.cli.records import Record
    >>> describe(Record("cells.tif", "cells", "done", objects=57, threshold=103.5, seconds=0.42))
    'cells.tif: 57 objects, threshold 103.5, 0.4 s'
    """
    found = objects(record.objects)
    if record.status == "failed":
        return f"{record.file}: failed: {record.error}"
    if record.status == "skipped":
        return f"{record.file}: kept, complete and unchanged ({found})"
    if record.status == "interrupted":
        return f"{record.file}: interrupted"
    if record.threshold is None:  # labels were measured
        return f"{record.file}: {found}, {record.seconds:.1f} s"
    each = record.threshold if isinstance(record.threshold, (tuple, list)) else [record.threshold]
    threshold = " to ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in each)
    parts = [found, f"threshold {threshold}", *in_pixels(record.in_pixels)]
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
    """Progress of a run: a bar, failures and notes on a terminal; elsewhere a line for an image."""

    def __init__(self, total: int, out: Path, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock  # in seconds
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
        """Describe the rate of finished images, the failures, and the time that is left."""
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
            say(f"[{self.count:{len(str(self.total))}}/{self.total}] {describe(record)}")
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
    line = f"\n{images(len(records))}: {', '.join(parts)}, in {seconds:.1f} s"
    endings = options.endings()
    notes = []
    units = {record.unit or "pixels" for record in records if record.complete}
    if len(units) > 1:
        known = ", ".join(sorted(units))
        notes += [f"Lengths are in different units: {known}; see --spacing and --unit."]
    if others:
        notes += [f"{images(others)} of earlier runs: results are kept, but not in the summary."]
    if count["interrupted"]:
        notes += ["Run again with --resume to label the other images."]
    paths = {}
    if count["done"] or count["skipped"]:
        paths = {f"{kind.rstrip('s')}s": out / f"*{end}" for kind, end in endings.items()}
        paths |= {"objects": out / f"objects.{options.format}"}
    paths |= {"report": out / REPORT, "summary": out / SUMMARY, "record": out / RUN}
    say_results(line, [*notes, *count_notes(records), *notes_on_machine()], paths)


def count_notes(records: Iterable[Record]) -> list[str]:
    """Return the notes about images with how many have them, the most frequent first."""
    notes = Counter(note for record in records for note in record.notes)
    found = [f"{note} ({images(count)})" for note, count in notes.most_common(MOST_NOTES)]
    more = len(notes) - MOST_NOTES
    return found if more <= 0 else [*found, f"{more} more notes are in the summary."]


def say_results(line: str, notes: Iterable[str], paths: Mapping[str, Path]) -> None:
    """Print what came of an image or a run: a line, notes, and the paths of results by kind."""
    say(line)
    for note in notes:
        say(f"  note      {note}")
    for kind, path in paths.items():
        say(f"  {kind:9} {printable(path)}")


def notes_on_machine() -> list[str]:
    """Return the notes about the devices of this machine."""
    return [report.note for report in equilabel.devices() if report.note]


def objects(count: int | None) -> str:
    """Return a number of objects in words."""
    return f"{count} object{'s' * (count != 1)}"


def images(count: int) -> str:
    """Return a number of images in words."""
    return f"{count} image{'s' * (count != 1)}"


PAUSE = 10.0  # seconds between two lines about a stage if the output is not a terminal


class Stages:
    """Shows the stage of an image in a line that is replaced; elsewhere lines about its blocks."""

    def __init__(self) -> None:
        self.stage, self.done, self.total = "", 0, 0  # blocks, if there are any
        self.news, self.told = "", 0.0
        self.begun, self.first = 0.0, 0  # time and blocks at the beginning of the stage

    def __call__(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Show the stage, and how many of its blocks are done."""
        now, new = monotonic(), stage != self.stage or done < self.done
        self.stage, self.done, self.total = stage, done, total
        self.begun, self.first = (now, done) if new else (self.begun, self.first)
        words, bar = describe_stage(stage), sys.stdout.isatty() and can_fleet()
        if not total:
            fleeting(self.news or words)
        elif bar and done < total:
            each = (now - self.begun) / max(1, done - self.first)
            left = f", {spoken(each * (total - done))} left" if done > self.first else ""
            fleeting(f"{drawn(done, total)} {words}{left}")
        elif bar or new or now - self.told > PAUSE:
            say(f"  {words}: {done} of {total}")
            self.told = now

    def compiling(self, number: int, busy: bool) -> None:
        """Show that functions are compiled."""
        self.news = compiling.describe(number) if busy else ""
        fleeting(self.news or describe_stage(self.stage))

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Say every ten seconds what takes so long."""
        over, begun = Event(), monotonic()

        def beat() -> None:
            while not over.wait(PAUSE):
                text = f"{self.news or describe_stage(self.stage)}, {monotonic() - begun:.0f} s"
                (fleeting if sys.stderr.isatty() else complain)(text)

        Thread(target=beat, daemon=True).start()
        try:
            yield
        finally:
            over.set()
            fleeting("")

    def __str__(self) -> str:
        """Describe the current stage."""
        return f"stage '{describe_stage(self.stage)}', {self.done} of {self.total}"
