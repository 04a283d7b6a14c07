"""Which images are meant, and what their results will be called."""

from __future__ import annotations

import glob
import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUFFIXES = (".tif", ".tiff", ".btf", ".tf8")


@dataclass(frozen=True)
class Input:
    """An image, or an argument that led to none.

    Attributes
    ----------
    path : Path
        As it was named.
    name : str
        Of its results below the output folder, without their endings: "cells", "day1/cells".
    complaint : str
        Why there is nothing to read; empty for an image.
    """

    path: Path
    name: str = ""
    complaint: str = ""


def find(words: Sequence[str], out: Path, *, recursive: bool) -> tuple[list[Input], list[Path]]:
    """Find the images behind files, folders and patterns.

    Parameters
    ----------
    words : sequence of str
        Paths of files and folders, and patterns such as ``plate?/*.tif`` (``**``: any depth).
    out : Path
        Folder of the results; the search does not go into it.
    recursive : bool
        Whether folders stand for everything below them; results then keep the subfolders.

    Returns
    -------
    inputs : list of Input
        Each file once, in the order of the words, then of the names.
    results : list of Path
        Left out as results of an earlier run: ``*_labels.tif``. One that was named itself is
        left out if its table lies beside it (a shell expands patterns before we see them).

    Raises
    ------
    RefusedError
        If there is no image at all.
    """
    inputs: dict[str, Input] = {}
    results: list[Path] = []
    for word in words:
        for item in _behind(word, out, recursive):
            named = item.path == Path(word).expanduser()
            if not item.complaint and is_result(item.path, named=named):
                results.append(item.path)
            else:
                inputs.setdefault(os.path.abspath(item.path), item)  # noqa: PTH100 - links stay
    if all(item.complaint for item in inputs.values()):
        message = next((item.complaint for item in inputs.values()), "")
        if not message:
            message = f"INPUT must be images; got results of an earlier run, {quoted(results[0])}."
        raise RefusedError(message)
    return list(inputs.values()), results


def is_result(path: Path, *, named: bool) -> bool:
    """Tell whether a file is a result of an earlier run, by its name and what lies beside it."""
    name = stem(path)
    if not name.endswith("_labels"):
        return False
    table = path.with_name(name.removesuffix("_labels") + "_table")
    return not named or any(Path(f"{table}.{end}").exists() for end in ("csv", "parquet"))


def stem(path: Path) -> str:
    """Take the name without what says that it is a TIFF.

    Examples
    --------
    >>> stem(Path("day1/cells.v2.ome.tif"))
    'cells.v2'
    """
    name = path.stem if path.suffix.lower() in SUFFIXES else path.name
    return name[:-4] if name.lower().endswith(".ome") and len(name) > 4 else name


def refuse_clashes(inputs: Sequence[Input]) -> None:
    """Raise a RefusedError that names two inputs whose results would have one name.

    Names that differ only in case or in how accents are encoded are one name on many disks.
    """
    first: dict[str, Input] = {}
    for item in inputs:
        if item.complaint:
            continue
        other = first.setdefault(unicodedata.normalize("NFC", item.name).casefold(), item)
        if other is not item:
            message = (
                f"inputs must have names of their own; got {quoted(other.path)} and "
                f"{quoted(item.path)}, both for {quoted(item.name + '_labels.tif')}. Rename one, "
                "or pass a folder that holds both with --recursive, which keeps subfolders apart."
            )
            raise RefusedError(message)


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


def _behind(word: str, out: Path, recursive: bool) -> Iterator[Input]:
    if not word.strip():
        message = f"INPUT must be a file, a folder or a pattern; got {word!r}."
        raise RefusedError(message)
    path = Path(word).expanduser()
    if path.is_dir():
        yield from _inside(path, out, recursive)
    elif os.path.lexists(path):
        yield _image(path, stem(path))
    elif glob.has_magic(word):
        yield from _matching(path, out, recursive)
    else:
        message = f"INPUT must exist; got {quoted(path)}. Check the path."
        yield Input(path, complaint=message)


def _matching(pattern: Path, out: Path, recursive: bool) -> Iterator[Input]:
    nothing = True
    for match in sorted(map(Path, glob.glob(str(pattern), recursive=True))):  # noqa: PTH207 - "**"
        if match.is_dir():
            items = [item for item in _inside(match, out, recursive) if not item.complaint]
        else:
            items = [_image(match, stem(match))] if _is_image(match) else []
        nothing = nothing and not items
        yield from items
    if nothing:
        message = f"INPUT must match images ({', '.join(SUFFIXES)}); got {quoted(pattern)}."
        yield Input(pattern, complaint=f"{message} Check the pattern.")


def _inside(folder: Path, out: Path, recursive: bool) -> Iterator[Input]:
    """Yield the images of a folder, or why there are none."""
    output, nothing = out.resolve(), True
    unread: list[OSError] = []
    for root, folders, files in os.walk(folder, onerror=unread.append):
        inside = Path(root)
        folders[:] = sorted(
            name
            for name in folders
            if recursive and name[0] != "." and (inside / name).resolve() != output
        )
        for path in sorted(inside / name for name in files):
            if _is_image(path):
                nothing = False
                yield _image(path, (path.parent / stem(path)).relative_to(folder).as_posix())
    for error in unread:
        message = f"folder must be readable; got {quoted(error.filename)}: {error.strerror}."
        yield Input(Path(error.filename), complaint=message)
    if nothing and not unread:
        remedy = "Name another." if recursive else "Look below it with --recursive."
        message = f"folder must hold images ({', '.join(SUFFIXES)}); got {quoted(folder)}. {remedy}"
        yield Input(folder, complaint=message)


def _image(path: Path, name: str) -> Input:
    """Take a file, unless opening it would fail or wait for ever."""
    if path.is_file():
        return Input(path, name)
    kind = "a link to nothing" if path.is_symlink() else "neither file nor folder"
    return Input(path, complaint=f"INPUT must be a file or a folder; got {quoted(path)}, {kind}.")


def _is_image(path: Path) -> bool:
    """Tell by the name; a file that is none after all gets its row in the summary."""
    return path.suffix.lower() in SUFFIXES and path.name[0] != "."
