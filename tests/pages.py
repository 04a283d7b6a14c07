"""The examples of a page in Markdown: sessions of Python, and commands with what they print.

Run as a program with the name of a page, it runs the first session with the equilabel that is
installed; `make dist` does.
"""

import doctest
import re
import sys
from pathlib import Path

FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page, kind):
    """Return the fenced blocks of a kind, each with the number of its first line."""
    text = Path(page).read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start(2)) + 1, match.group(2))
        for match in FENCE.finditer(text)
        if match.group(1) == kind
    ]


def run_session(page, sessions):
    """Run sessions of Python as one; return what differs, as doctest reports it."""
    names, report = {}, []
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)  # else, of pytest -v
    for line, session in sessions:
        test = doctest.DocTestParser().get_doctest(session, names, Path(page).name, str(page), line)
        runner.run(test, out=report.append, clear_globs=False)
        names = test.globs
    return "".join(report)


def commands(block):
    """Return the commands of a block, each with the lines that it prints."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [tuple(part.split("\n", 1)) for part in parts]


def prints(printed, expected):
    """Return whether a command printed what a page says, whatever time it took."""
    printed, expected = (re.sub(r"\d+\.\d+ s\b", "T s", text) for text in (printed, expected))
    return doctest.OutputChecker().check_output(expected, printed, FLAGS)


if __name__ == "__main__":
    import equilabel

    differences = run_session(sys.argv[1], blocks(sys.argv[1], "pycon")[:1])
    print(differences or f"The first example runs with {equilabel.__file__}.")
    sys.exit(bool(differences))
