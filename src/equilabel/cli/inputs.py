"""Find the input images, and the names of their results."""

from __future__ import annotations

import glob
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .names import SUFFIXES, expanded, quoted, stem
from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FILE, FOLDER, NOTHING = "a file", "a folder", "nothing"


@dataclass(frozen=True)
class Input:
    """An input image, or an argument for which there is no image.

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
    """Find images by the names of files and folders, and by patterns.

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
            named = item.path == expanded(word)
            if not item.complaint and is_result(item.path, named=named):
                results.append(item.path)
            else:
                inputs.setdefault(os.path.abspath(item.path), item)  # noqa: PTH100 - links stay
    if all(item.complaint for item in inputs.values()):
        message = next((item.complaint for item in inputs.values()), "")
        if not message:
            message = (
                f"INPUT must be images; got label images of an earlier run, {quoted(results[0])}. "
                "Pass the images they were made from."
            )
        raise RefusedError(message)
    return list(inputs.values()), results


def is_result(path: Path, *, named: bool) -> bool:
    """Return whether a file is a label image of an earlier run, by its name and its table."""
    name = stem(path)
    if not name.endswith("_labels"):
        return False
    table = path.with_name(name.removesuffix("_labels") + "_table")
    return not named or any(os.path.exists(f"{table}.{end}") for end in ("csv", "parquet"))  # noqa: PTH110 - never raises


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


def _behind(word: str, out: Path, recursive: bool) -> Iterator[Input]:
    if not word.strip():
        message = f"INPUT must be a file, a folder or a pattern; got {word!r}."
        raise RefusedError(message)
    path = expanded(word)
    kind = _kind(path)
    if kind == FOLDER:
        yield from _inside(path, out, recursive)
    elif kind != NOTHING:
        yield _image(path, stem(path), kind)
    elif glob.has_magic(word):
        yield from _matching(path, out, recursive)
    else:
        message = f"INPUT must exist; got {quoted(path)}. Check the path."
        yield Input(path, complaint=message)


def _matching(pattern: Path, out: Path, recursive: bool) -> Iterator[Input]:
    nothing = True
    seen: set[tuple[str, str]] = set()  # "**" goes round and round in links to folders above
    for match in sorted(map(Path, glob.glob(str(pattern), recursive=True))):  # noqa: PTH207 - "**"
        real = os.path.realpath(match.parent), match.name
        if real in seen:
            continue
        seen.add(real)
        kind = _kind(match)
        if kind == FOLDER:
            items = [item for item in _inside(match, out, recursive) if not item.complaint]
        else:
            items = [_image(match, stem(match), kind)] if _is_image(match) else []
        nothing = nothing and not items
        yield from items
    if nothing:
        message = f"INPUT must match images ({', '.join(SUFFIXES)}); got {quoted(pattern)}."
        yield Input(pattern, complaint=f"{message} Check the pattern.")


def _inside(folder: Path, out: Path, recursive: bool) -> Iterator[Input]:
    """Yield the images of a folder, or why there are none."""
    nothing = True
    for inside, found in _walk(folder, out if recursive else None):
        if isinstance(found, OSError):
            nothing = False
            message = f"folder must be readable; got {quoted(inside)}: {found.strerror}."
            yield Input(inside, complaint=message)
            continue
        for path in sorted(inside / name for name in found):
            if _is_image(path):
                nothing = False
                yield _image(path, (path.parent / stem(path)).relative_to(folder).as_posix())
    if nothing:
        remedy = "Pass another folder." if recursive else "Pass --recursive to search below it."
        message = f"folder must hold images ({', '.join(SUFFIXES)}); got {quoted(folder)}. {remedy}"
        yield Input(folder, complaint=message)


def _walk(folder: Path, out: Path | None) -> Iterator[tuple[Path, list[str] | OSError]]:
    """Yield a folder and its files; with `out`, also the folders below it, except `out`.

    Unlike `os.walk` it does not recurse, and reports folders whose files cannot be opened. Links
    to folders are not followed, as they may be circular.
    """
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        below, files = [], []
        try:
            os.stat(f"{inside}{os.sep}.")  # noqa: PTH116 - pathlib leaves the point out
            with os.scandir(inside) as entries:
                for entry in entries:
                    if not _is_folder(entry):
                        files.append(entry.name)
                    elif not entry.is_symlink() and entry.name[0] != ".":
                        below.append(entry.name)
        except OSError as error:
            yield inside, error
            continue
        yield inside, files
        if out is not None:
            paths = [inside / name for name in sorted(below, reverse=True)]
            waiting += [path for path in paths if not _is_same(path, out)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_same(path: Path, out: Path) -> bool:
    try:
        return path.samefile(out)
    except OSError:
        return False


def _image(path: Path, name: str, kind: str = "") -> Input:
    """Return a file as input, unless opening it would fail or block."""
    kind = kind or _kind(path)
    if kind == FILE:
        return Input(path, name)
    return Input(path, complaint=f"INPUT must be a file or a folder; got {quoted(path)}, {kind}.")


def _kind(path: Path) -> str:
    """Return what kind of file a path is, or why that is not known."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "a link to nothing" if os.path.islink(path) else NOTHING  # noqa: PTH114 - never raises
    except OSError as error:
        return str(error.strerror)
    except ValueError:  # a null character
        return "no name that a file can have"
    if stat.S_ISDIR(mode):
        return FOLDER
    return FILE if stat.S_ISREG(mode) else "neither file nor folder"


def _is_image(path: Path) -> bool:
    """Return whether a name is that of a TIFF; a file that is none fails when it is read."""
    return path.suffix.lower() in SUFFIXES and path.name[0] != "."
