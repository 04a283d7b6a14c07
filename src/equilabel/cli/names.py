"""Names of files: without suffixes, with the home folder, and as they can be printed."""

import os
from pathlib import Path

from equilabel.storage.files import refuse_url
from equilabel.storage.images import SUFFIXES

from .options import RefusedError

__all__ = ["SUFFIXES", "ZARR", "expanded", "printable", "quoted", "stem"]


ZARR = ".zarr"


def stem(path: Path) -> str:
    """Return the name of a file without the suffixes of an image.

    Examples
    --------
    >>> stem(Path("day1/cells.v2.ome.tif"))
    'cells.v2'
    >>> stem(Path("scan.ome.zarr"))
    'scan'
    """
    name = path.stem if path.suffix.lower() in (*SUFFIXES, ZARR) else path.name
    return name[:-4] if name.lower().endswith(".ome") and len(name) > 4 else name


def printable(text: object) -> str:
    r"""Escape the characters of a name that cannot be printed.

    Examples
    --------
    >>> printable("cells\n.tif")
    'cells\\n.tif'
    """
    word = str(text)
    if word.isprintable():
        return word
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in word
    )


def quoted(path: Path | str) -> str:
    """Return a path in quotes, for messages."""
    return f"'{printable(path)}'"


def expanded(word: Path | str, name: str = "INPUT") -> Path:
    """Replace ``~`` by the home folder; a name of no user stays as it is.

    Raises
    ------
    RefusedError
        If it is a URL; `name` is the option or argument.
    """
    try:
        refuse_url(name, word)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    return Path(os.path.expanduser(word))  # noqa: PTH111 - pathlib's raises
