"""Find the input images, and choose the names of their results."""

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
    """An input image, or an argument for which no image was found."""

    path: Path  # as it was typed
    name: str = ""  # of the results below the output folder, without endings: "day1/cells"
    complaint: str = ""  # why it cannot be read; "" for an image
    image: Path | None = None  # the image to measure in, if the input holds labels
    unread: bool = False  # whether it is a file in a folder whose name is not that of an image


def find(
    words: Sequence[str], out: Path, *, recursive: bool, labels: bool = False
) -> tuple[list[Input], list[str]]:
    """Find images from names of files, folders and patterns; return them and the skipped files.

    Each file is returned once, in the order of `words`, then of names. With `recursive`, folders
    stand for all images below them, and results keep the subfolders; `out` is not searched. With
    `labels`, label images are searched for and not left out. The second list has a line for each
    file that is left out: results of earlier runs (``*_labels.*`` and ``*_overlay.png`` with a
    table beside them), files with such names that were not typed exactly (a shell expands
    patterns), and a line about all files that are not images. Raises RefusedError if there is no
    image.
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
    seen: set[tuple[str, str]] = set()  # "**" follows circular links
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
    """Yield a folder with its files, and each Zarr in it; with `out`, all folders below it.

    `out` and the contents of Zarrs are left out. Unlike `os.walk`, this does not recurse, and
    reports folders that cannot be opened. Links to folders are not followed, because they may be
    circular.
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
    """Return whether two paths are the same folder."""
    try:
        return path.samefile(out)
    except OSError:
        return False


def _image(path: Path, name: str, kind: str = "") -> Input:
    """Return a file as input, or a complaint if opening it would fail or block."""
    kind = kind or kind_of(path)
    if kind == FILE:
        return Input(path, name)
    return Input(path, complaint=f"INPUT must be a file or a folder; got {quoted(path)}, {kind}.")


def kind_of(path: Path) -> str:
    """Return the kind of file at a path, or why it is unknown."""
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
    """Return a file that was found by a search: an image if its name has the ending of one."""
    if path.suffix.lower() in SUFFIXES and path.name[0] != ".":
        return _image(path, name, kind)
    return Input(path, unread=True)


def named_apart(inputs: list[Input]) -> list[Input]:
    """Keep the results of `cells.png` and `cells.tif` apart: the name of the former keeps ".png".

    Names change only if both files are read; two TIFFs with one name are refused later.
    """
    count = Counter(item.name for item in inputs if not item.complaint)
    return [
        replace(item, name=item.name + item.path.suffix)
        if count[item.name] > 1 and not item.complaint and item.path.suffix.lower() not in TIFF
        else item
        for item in inputs
    ]
