"""Names of files: without endings, with the home folder expanded, and escaped for printing."""

import os
from pathlib import Path

from equilabel.storage.files import refuse_url
from equilabel.storage.images import SUFFIXES

from .options import RefusedError

__all__ = ["SUFFIXES", "ZARR", "expanded", "printable", "quoted", "stem"]


ZARR = ".zarr"


def stem(path: Path) -> str:
    """Return the name of a file without the endings of an image.

    >>> stem(Path("day1/cells.v2.ome.tif")), stem(Path("scan.ome.zarr"))
    ('cells.v2', 'scan')
    """
    name = path.stem if path.suffix.lower() in (*SUFFIXES, ZARR) else path.name
    return name[:-4] if name.lower().endswith(".ome") and len(name) > 4 else name


def printable(text: object) -> str:
    r"""Escape the characters of a name that cannot be printed.

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
    """Replace ``~`` by the home folder; an unknown user stays as it is.

    Raises RefusedError for a URL; `name` is the option or argument in its message.
    """
    try:
        refuse_url(name, word)
    except ValueError as error:
        raise RefusedError(str(error)) from error
    return Path(os.path.expanduser(word))  # noqa: PTH111 - pathlib's raises
