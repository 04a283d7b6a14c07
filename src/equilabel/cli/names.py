"""Names of files: what a person typed, what results are called, what can be shown."""

import os
from pathlib import Path

SUFFIXES = (".tif", ".tiff", ".btf", ".tf8")


def stem(path: Path) -> str:
    """Take the name without what says that it is a TIFF.

    Examples
    --------
    >>> stem(Path("day1/cells.v2.ome.tif"))
    'cells.v2'
    """
    name = path.stem if path.suffix.lower() in SUFFIXES else path.name
    return name[:-4] if name.lower().endswith(".ome") and len(name) > 4 else name


def printable(text: object) -> str:
    r"""Escape what terminals, tables and JSON should not meet in a name.

    Examples
    --------
    >>> printable("cells\n.tif")
    'cells\\n.tif'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(text)
    )


def quoted(path: Path | str) -> str:
    """Write a path as messages do."""
    return f"'{printable(path)}'"


def expanded(word: Path | str) -> Path:
    """Put the home folder in the place of ``~``; a name that stands for none stays as it is."""
    return Path(os.path.expanduser(word))  # noqa: PTH111 - pathlib's raises
