"""Entry point of `equilabel`: run a command, print errors in one line, return the exit code."""

import sys
from collections.abc import Sequence
from pathlib import Path
from traceback import extract_tb

import typer

from .commands import app
from .errors import explain, one_line
from .options import RefusedError
from .parsing import complete
from .streams import Interrupted, complain, open_standard, raising, silence

UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]  # click's, not exported
INTERRUPTED = 130  # 128 + the number of SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code.

    `arguments` are the words after the name of the program, by default those of the process. The
    exit code is 0 if all went well, 1 if an image failed, 2 if the call was refused before anything
    was written, and 128 plus the number of the signal if the run was interrupted (130 for Ctrl-C,
    143 for SIGTERM, 129 if the terminal was closed).
    """
    open_standard()
    words = complete(sys.argv[1:] if arguments is None else arguments)
    try:
        with raising():
            code = app(words or ["--help"], prog_name="equilabel", standalone_mode=False)
            sys.stdout.flush()
    except RefusedError as error:
        return _refuse(str(error))
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "equilabel"
        return _refuse(f"{error.format_message().rstrip('.')}. See `{command} --help`.")
    except Interrupted as error:
        complain("interrupted; nothing was written.")
        return 128 + error.number
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except SystemExit:  # raised by typer if the reader of a pipe has gone
        return 1
    except OSError as error:
        return _fail(error)
    except Exception as error:
        place = extract_tb(error.__traceback__)[-1]
        complain(f"{explain(error)} ({Path(place.filename).name}, line {place.lineno})")
        return 1
    return code or 0


def _refuse(message: str) -> int:
    complain(one_line(message))
    return 2


def _fail(error: OSError) -> int:
    """Print an error of the system, most likely from writing to standard output."""
    silence("stdout")
    if error.filename is None and not isinstance(error, BrokenPipeError):
        complain(f"standard output must take text; got {error.strerror!r}.")
    elif error.filename is not None:
        complain(explain(error))
    return 1
