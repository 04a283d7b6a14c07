"""`--slices`: folders of numbered slices as inputs, each of which is one image."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from .inputs import FOLDER, NOTHING, Input, count_kinds, is_same, kind_of, tell_unread, walk
from .names import SUFFIXES, expanded, quoted
from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def find_stacks(
    words: Sequence[str], out: Path, *, recursive: bool
) -> tuple[list[Input], list[str]]:
    """Return each folder that contains slices once, and lines about files that are not images.

    `words` are folders, and patterns that match folders. With `recursive`, folders below them are
    stacks too, and results keep the subfolders; `out` is not searched. Raises RefusedError if there
    is no such folder, or results would be written among the slices.
    """
    inputs: dict[Path, Input] = {}
    unread: list[Path] = []
    for word in words:
        for item in _behind(word, out, recursive, unread):
            inputs.setdefault(item.path.absolute(), item)
    found = list(inputs.values())
    if all(item.complaint for item in found):
        raise RefusedError(found[0].complaint)
    for item in found:
        refuse_among(item.path, out)
    return found, tell_unread(unread)


def refuse_among(folder: Path, out: Path) -> None:
    """Raise RefusedError if the next run would read the results as slices."""
    if is_same(folder, out):
        message = (
            f"--out must be another folder than that of the slices; got {quoted(out)} for both. "
            "Choose another folder."
        )
        raise RefusedError(message)


def name_of(folder: Path) -> str:
    """Return the name of the results of a folder: its own name."""
    return folder.name or folder.resolve().name or "volume"


def _behind(word: str, out: Path, recursive: bool, unread: list[Path]) -> Iterator[Input]:
    path = expanded(word)
    kind = kind_of(path) if word.strip() else NOTHING
    if kind == FOLDER:
        yield from _inside(path, out, recursive, unread)
        return
    matches = sorted(map(Path, glob.glob(str(path), recursive=True)))  # noqa: PTH207 - "**"
    folders = [match for match in matches if kind_of(match) == FOLDER] if kind == NOTHING else []
    for folder in folders:
        yield from _inside(folder, out, recursive, unread)
    if not folders:
        remedy = f"Pass the folder {quoted(path.parent)}." if path.suffix else "Check the path."
        message = f"INPUT must be a folder of slices with --slices; got {quoted(path)}, {kind}."
        yield Input(path, complaint=f"{message} {remedy}")


def _inside(folder: Path, out: Path, recursive: bool, unread: list[Path]) -> Iterator[Input]:
    """Yield the folders of slices at and below a folder, or why there are none."""
    nothing, others = True, []
    for inside, found in walk(folder, out if recursive else None):
        if isinstance(found, OSError):
            nothing = False
            message = f"folder must be readable; got {quoted(inside)}: {found.strerror}."
            yield Input(inside, complaint=message)
            continue
        paths = [inside / name for name in found if name[0] != "."]
        others += [path for path in paths if path.suffix.lower() not in SUFFIXES]
        if any(path.suffix.lower() in SUFFIXES for path in paths):
            nothing = False
            below = inside.relative_to(folder).as_posix()
            yield Input(inside, name_of(folder) if below == "." else below)
    unread += others
    if nothing:
        got = f"{quoted(folder)} with {count_kinds(others)}" if others else quoted(folder)
        remedy = "Pass another folder." if recursive else "Pass --recursive to search below it."
        message = f"folder must hold slices ({', '.join(SUFFIXES)}); got {got}. {remedy}"
        yield Input(folder, complaint=message)
