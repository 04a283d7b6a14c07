"""Which files a search leaves out, and why."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from equilabel.storage.ome_zarr import describes_labels, is_zarr

from .names import SUFFIXES, printable, quoted, stem

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MOST_KINDS = 8  # kinds of files listed in a line
RESULTS = {"_labels": "a label image", "_overlay": "an overlay"}
LABELS = "labels, as its description says"


def reason(path: Path, *, named: bool, labels: bool = False) -> str:
    """Return why a file is left out as a result of an earlier run; "" if it is not.

    Decided from its name and from a table beside it. `named` is True if the user typed the path
    itself, `labels` if label images are searched for.
    """
    name = stem(path)
    ending = next((each for each in RESULTS if name.endswith(each)), "")
    if labels and ending == "_labels":
        return ""
    if not ending:
        other = not (labels or named) and is_zarr(path) and describes_labels(path)
        return f"{LABELS}. Pass it by its name to label it too." if other else ""
    what = RESULTS[ending]
    table = path.with_name(name.removesuffix(ending) + "_table")
    for suffix in ("csv", "parquet"):
        if os.path.exists(f"{table}.{suffix}"):  # noqa: PTH110 - never raises
            beside = quoted(f"{table.name}.{suffix}")
            return f"{what} whose table is beside it, {beside}. Rename it to label it too."
    if named or (ending == "_overlay" and path.suffix.lower() != ".png"):
        return ""
    return f"named like {what}. Pass the file by its name to label it too."


def count_kinds(paths: Iterable[Path]) -> str:
    """Count files by the endings of their names, the most frequent first.

    >>> from pathlib import Path
    >>> count_kinds([Path("a.txt"), Path("README"), Path("b.TXT")])
    '2 .txt, 1 without an ending'
    """
    kinds = Counter(path.suffix.lower() or "without an ending" for path in paths)
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{count} {printable(kind)}" for kind, count in ordered[:MOST_KINDS]]
    return ", ".join([*told, *(["..."] if len(kinds) > MOST_KINDS else [])])


def tell_unread(paths: Iterable[Path]) -> list[str]:
    """Return a line about files whose names are not those of images; [] if there are none."""
    paths = list(paths)
    if not paths:
        return []
    count = f"{len(paths)} file{'s' * (len(paths) != 1)}"
    return [f"{count} left out: {count_kinds(paths)}. Images end in {', '.join(SUFFIXES)}."]
