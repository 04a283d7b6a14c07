"""Refuse inputs whose results would have the same name or lie inside each other."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from .names import quoted, stem
from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .inputs import Input


def refuse_clashes(inputs: Sequence[Input], endings: Mapping[str, str]) -> None:
    """Raise a RefusedError that names two inputs with conflicting results.

    `endings` are the endings of the names of results, by kind. Names that differ only in case or in
    the encoding of accents count as equal, because many disks do not tell them apart.
    """
    ending = next(iter(endings.values()))
    first: dict[str, Input] = {}
    for item in inputs:
        if item.complaint:
            continue
        other = first.setdefault(_key(item.name), item)
        if other is not item:
            message = (
                f"inputs must have names of their own; got {quoted(other.path)} and "
                f"{quoted(item.path)}, both for {quoted(item.name + ending)}. "
                f"{_remedy(other.path, item.path)}"
            )
            raise RefusedError(message)

    known = {_key(item.name + end): item for item in first.values() for end in endings.values()}
    for item in first.values():
        for folder in map(str, PurePosixPath(item.name).parents if "/" in item.name else ()):
            found = known.get(_key(folder))
            if found is not None:
                message = (
                    f"results must not lie in others; got {quoted(item.path)}, whose results are "
                    f"in {quoted(folder)}, also a result of {quoted(found.path)}. Rename that "
                    "folder, or use another --out for it."
                )
                raise RefusedError(message)


def _remedy(one: Path, other: Path) -> str:
    """Describe how to keep the results of two files apart."""
    folder = _common(one, other)
    names = [_below(folder, path) for path in (one, other)]
    whole_disk = folder.is_absolute() and folder == Path(folder.anchor)
    if whole_disk or None in names or _key(str(names[0])) == _key(str(names[1])):
        return "Rename one, or use another --out for it."
    return (
        f"Pass the folder {quoted(folder)} with --recursive in place of both, which keeps "
        "subfolders apart. Or rename one, or use another --out for it."
    )


def _common(one: Path, other: Path) -> Path:
    """Return the deepest common folder; absolute unless both paths are below the current folder."""
    paths = [one, other]
    if any(path.is_absolute() or ".." in path.parts for path in paths):
        paths = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 - links stay
    try:
        return Path(os.path.commonpath([path.parent for path in paths]) or ".")
    except ValueError:  # two disks
        return Path(paths[0].anchor)


def _below(folder: Path, path: Path) -> str | None:
    """Return the name of the results below a folder; None if a search would not find the file."""
    path = Path(os.path.abspath(path)) if folder.is_absolute() else path  # noqa: PTH100
    try:
        parts = path.relative_to(folder).parts[:-1]
    except ValueError:
        return None
    inside = folder
    for part in parts:
        inside /= part
        if part.startswith(".") or inside.is_symlink():
            return None
    return "/".join((*parts, stem(path)))


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
