"""Find the input images, and the names of their results."""

from __future__ import annotations

import glob
import os
import stat
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from equilabel.storage.images import TIFF
from equilabel.storage.ome_zarr import is_zarr

from .leftout import count_kinds, reason, tell_unread
from .names import SUFFIXES, expanded, printable, quoted, stem
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
    image : Path, optional
        The image to measure in, where the input holds labels.
    unread : bool
        Whether it is a file of a folder that is no image, by its name.
    """

    path: Path
    name: str = ""
    complaint: str = ""
    image: Path | None = None
    unread: bool = False


def find(
    words: Sequence[str], out: Path, *, recursive: bool, labels: bool = False
) -> tuple[list[Input], list[str]]:
    """Find images by the names of files and folders, and by patterns.

    Parameters
    ----------
    words : sequence of str
        Paths of files and folders, and patterns such as ``plate?/*.tif`` (``**``: any depth).
    out : Path
        Folder of the results; the search does not go into it.
    recursive : bool
        Whether folders stand for everything below them; results then keep the subfolders.
    labels : bool
        Whether labels are looked for, so that none are left out.

    Returns
    -------
    inputs : list of Input
        Each file once, in the order of the words, then of the names.
    skipped : list of str
        Lines on files that are left out. ``*_labels.*`` and ``*_overlay.png``: results of an
        earlier run, whose table lies beside them, and others that were not named themselves (a
        shell expands patterns before we see them). A line on all files that are no images.

    Raises
    ------
    RefusedError
        If there is no image at all.
    """
    inputs: dict[str, Input] = {}
    skipped: dict[str, tuple[Path, str]] = {}
    unread: dict[str, Path] = {}
    for word in words:
        for item in _behind(word, out, recursive):
            where = os.path.abspath(item.path)  # noqa: PTH100 - links stay
            if item.unread:
                unread[where] = item.path
                continue
            named = item.path == expanded(word)
            why = "" if item.complaint else reason(item.path, named=named, labels=labels)
            if why:
                skipped.setdefault(where, (item.path, why))
            else:
                inputs.setdefault(where, item)
    left_out = [found for where, found in skipped.items() if where not in inputs]
    if all(item.complaint for item in inputs.values()):
        message = next((item.complaint for item in inputs.values()), "")
        if not message:
            path, why = left_out[0]
            message = f"INPUT must be images; got {quoted(path)}, {why}"
        raise RefusedError(message)
    lines = [f"{printable(path)}: left out, {why}" for path, why in left_out]
    return named_apart(list(inputs.values())), [*lines, *tell_unread(unread.values())]


def _behind(word: str, out: Path, recursive: bool) -> Iterator[Input]:
    if not word.strip():
        message = f"INPUT must be a file, a folder or a pattern; got {word!r}."
        raise RefusedError(message)
    path = expanded(word)
    kind = kind_of(path)
    if kind == FOLDER and is_zarr(path):
        yield Input(path, stem(path))
    elif kind == FOLDER:
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
        kind = kind_of(match)
        if kind == FOLDER and is_zarr(match):
            items = [Input(match, stem(match))]
        elif kind == FOLDER:
            items = [item for item in _inside(match, out, recursive) if not item.complaint]
        else:
            items = [_found(match, stem(match), kind)]
        nothing = nothing and all(item.unread for item in items)
        yield from items
    if nothing:
        message = (
            f"INPUT must match images ({', '.join(SUFFIXES)}, OME-Zarr); got {quoted(pattern)}."
        )
        yield Input(pattern, complaint=f"{message} Check the pattern.")


def _inside(folder: Path, out: Path, recursive: bool) -> Iterator[Input]:
    """Yield the images of a folder, or why there are none."""
    nothing, others = True, []
    for inside, found in walk(folder, out if recursive else None):
        if is_zarr(inside):
            nothing = False
            yield Input(inside, (inside.parent / stem(inside)).relative_to(folder).as_posix())
            continue
        if isinstance(found, OSError):
            nothing = False
            message = f"folder must be readable; got {quoted(inside)}: {found.strerror}."
            yield Input(inside, complaint=message)
            continue
        for path in sorted(inside / name for name in found):
            if path.name[0] == ".":
                continue
            item = _found(path, (path.parent / stem(path)).relative_to(folder).as_posix())
            nothing = nothing and item.unread
            others += [path] * item.unread
            yield item
    if nothing:
        got = f"{quoted(folder)} with {count_kinds(others)}" if others else quoted(folder)
        remedy = "Pass another folder." if recursive else "Pass --recursive to search below it."
        message = f"folder must hold images ({', '.join(SUFFIXES)}, OME-Zarr); got {got}. {remedy}"
        yield Input(folder, complaint=message)


def walk(folder: Path, out: Path | None) -> Iterator[tuple[Path, list[str] | OSError]]:
    """Yield a folder and its files, and each Zarr in it; with `out`, all folders below it.

    `out` itself, and what is in a Zarr, are not among them.

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
        if is_zarr(inside):
            continue
        paths = [inside / name for name in sorted(below, reverse=True)]
        if out is not None:
            waiting += [path for path in paths if not is_same(path, out)]
        else:
            waiting += filter(is_zarr, paths)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_same(path: Path, out: Path) -> bool:
    """Return whether two paths lead to one folder."""
    try:
        return path.samefile(out)
    except OSError:
        return False


def _image(path: Path, name: str, kind: str = "") -> Input:
    """Return a file as input, unless opening it would fail or block."""
    kind = kind or kind_of(path)
    if kind == FILE:
        return Input(path, name)
    return Input(path, complaint=f"INPUT must be a file or a folder; got {quoted(path)}, {kind}.")


def kind_of(path: Path) -> str:
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


def _found(path: Path, name: str, kind: str = "") -> Input:
    """Return a file that was not named itself: an image if its name is that of one."""
    if path.suffix.lower() in SUFFIXES and path.name[0] != ".":
        return _image(path, name, kind)
    return Input(path, unread=True)


def named_apart(inputs: list[Input]) -> list[Input]:
    """Keep the results of `cells.png` apart from those of `cells.tif`: the name keeps its ending.

    Only where both are read; two TIFFs of one name are refused later.
    """
    count = Counter(item.name for item in inputs if not item.complaint)
    return [
        replace(item, name=item.name + item.path.suffix)
        if count[item.name] > 1 and not item.complaint and item.path.suffix.lower() not in TIFF
        else item
        for item in inputs
    ]
