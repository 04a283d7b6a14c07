"""What the user is told: messages on the terminal, errors in a line, and signals that end a run."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from inspect import signature
from shutil import get_terminal_size
from threading import Event, Thread, current_thread, main_thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from equilabel.descriptions import describe_stage
from equilabel.devices.compiling import describe
from equilabel.storage.errors import FULL, causes, is_shortage

from . import ENDING
from .inputs import printable
from .options import LENGTHS, Options

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Iterable, Iterator

# ---- Ctrl-C and other signals, before and during a run


class Interrupted(BaseException):
    """A signal (`number`) ended the program before work began; `except Exception` ignores it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def raising() -> Iterator[None]:
    """Make signals raise Interrupted: nothing has been written yet."""

    def leave(number: int, _: object) -> None:
        raise Interrupted(number)

    with _handling(leave):
        yield


@contextmanager
def collecting() -> Iterator[list[int]]:
    """Make signals append their numbers to a list, without interrupting the work."""
    heard: list[int] = []
    with _handling(lambda number, _: heard.append(number)):
        yield heard


@contextmanager
def withheld() -> Iterator[None]:
    """Block signals while a process is started, so that it never gets them.

    Ctrl-C reaches every process of a terminal, and the signal of a job scheduler every process of a
    job. Only the parent decides what happens to the work.
    """
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
def _handling(handler: Callable[[int, Any], None]) -> Iterator[None]:
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


PAUSE = 10.0  # seconds between lines about a long stage
# ---- Standard output and error, which may be closed, full, or a pipe without a reader

GONE = (errno.EPIPE, errno.EIO)  # the reader has gone, which is not an error


def open_standard() -> None:
    """Open those of the three standard streams that are closed, on the null device.

    Otherwise the next file that is opened, perhaps a result, would get the descriptor of a standard
    stream, and text printed by a library.
    """
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


class Waiting:
    """Says what an image waits for: on a terminal at once, elsewhere every ten seconds.

    It is called with the stages of `segment`; `compiling` takes news of functions that are
    compiled.
    """

    def __init__(self) -> None:
        self.stage, self.news, self.begun = "reading the image", "", monotonic()
        self._over = Event()

    def __call__(self, stage: str) -> None:
        """Show the stage that begins."""
        self.stage = describe_stage(stage)
        fleeting(self.news or self.stage)

    def compiling(self, number: int, busy: bool) -> None:
        """Show that functions are compiled."""
        self.news = describe(number) if busy else ""
        fleeting(self.news or self.stage)

    def __enter__(self) -> Self:
        Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        fleeting("")

    def _beat(self) -> None:
        while not self._over.wait(PAUSE):
            text = f"{self.news or self.stage}, {monotonic() - self.begun:.0f} s"
            (fleeting if sys.stderr.isatty() else complain)(text)


def silence(name: str) -> None:
    """Connect a standard stream to the null device, for the rest of the process."""
    nowhere = open(os.devnull, "w")  # noqa: SIM115, PTH123 - perhaps for good
    try:
        os.dup2(nowhere.fileno(), getattr(sys, name).fileno())  # buffered text goes there too
        nowhere.close()
    except (OSError, ValueError, AttributeError):
        setattr(sys, name, nowhere)


# ---- Errors as one line of text, with the names of command-line options

HANDLES = (errno.EMFILE, errno.ENFILE)
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
        if error.errno in HANDLES:
            return (
                f"files must be opened; got {error.strerror!r}. Raise the limit with `ulimit -n`, "
                "or pass fewer --jobs."
            )
        remedy = " Shorten the name." if error.errno == errno.ENAMETOOLONG else ""
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
