"""The command line, which writes labels, tables, overlays and a record of the run.

First of all, and with no effect in other programs, it handles Ctrl-C while the program starts,
which takes some tenths of a second: it ends with a message, without a traceback.
"""

import os
import signal
import sys


def is_program(words: list[str], original: list[str]) -> bool:
    """Return whether this process is the program `equilabel`.

    `words` is `sys.argv`, `original` is `sys.orig_argv`.

    >>> is_program(["/usr/bin/equilabel", "batch"], ["python", "/usr/bin/equilabel", "batch"])
    True
    >>> is_program(["equilabel/__main__.py", "batch"], ["python", "-m", "equilabel", "batch"])
    True
    >>> is_program(["my_script.py"], ["python", "my_script.py"])
    False
    """
    name = os.path.basename(words[0]) if words else ""  # noqa: PTH119 - pathlib is slow to import
    if name in ("-m", "__main__.py") and "-m" in original:
        at = original.index("-m") + 1
        return original[at : at + 1] == ["equilabel"]
    return name.removesuffix(".exe") == "equilabel" and "--multiprocessing-fork" not in original


def leave(number: int, _: object) -> None:
    """End this process at once: nothing needs cleaning up."""
    try:
        os.write(2, b"equilabel: interrupted.\n")
    finally:
        os._exit(128 + number)


if is_program(sys.argv, sys.orig_argv):
    for _name in ("SIGINT", "SIGTERM", "SIGHUP"):
        _number = getattr(signal, _name, None)
        if _number is not None and signal.getsignal(_number) is not signal.SIG_IGN:
            signal.signal(_number, leave)

from .commands import main  # noqa: E402 - after Ctrl-C is handled

__all__ = ["main"]
