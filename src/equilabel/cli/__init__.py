"""The command line, which writes labels, tables, overlays and a record of the run."""

import os
import signal
from collections.abc import Sequence
from threading import current_thread, main_thread

__all__ = ["main"]

# Ctrl-C; sent by `kill`, job schedulers and shutdowns; sent when the terminal is closed.
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDING = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code.

    `arguments` are the words after the name of the program, by default those of the process. The
    exit code is 0 if all went well, 1 if an image failed, 2 if the call was refused before anything
    was written, and 128 plus the number of the signal if the run was interrupted (130 for Ctrl-C,
    143 for SIGTERM, 129 if the terminal was closed).
    """
    if arguments is None and current_thread() is main_thread():  # this process is the program
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _leave)
    from .commands import run_words  # takes some tenths of a second

    return run_words(arguments)


def _leave(number: int, _: object) -> None:
    """End this process at once: nothing needs cleaning up."""
    try:
        os.write(2, b"equilabel: interrupted.\n")
    finally:
        os._exit(128 + number)
