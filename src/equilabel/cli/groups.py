"""Conditions of images, such as drug and well: from their names, or from a table of files."""

from __future__ import annotations

import csv
import re
from html import escape
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from equilabel import PROPERTIES

from .inputs import FILE, expanded, kind_of, quoted
from .options import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .records import Record

    Groups = Callable[[str], dict[str, str]]

FIELD = re.compile(r"\{([^{}]*)\}")
TAKEN = ("file", "unit", "frame", "label", "status", "objects")  # columns of the tables


def no_groups(_: str) -> dict[str, str]:
    """Return the conditions of a file of a run without conditions."""
    return {}


def read_groups(text: str | None, files: Sequence[str]) -> Groups:
    """Return a function from the path of a file to its conditions, in one order of names.

    `text` is a pattern for the end of paths, "{condition}_{well}.tif", or the path of a CSV file
    with a column "file". Conditions of a file that it does not name are "". Raises RefusedError if
    it names none of the `files`.

    >>> of = read_groups("{drug}/{well}_*.tif", ["plate/DMSO/A1_001.tif"])
    >>> of("plate/DMSO/A1_001.tif"), of("other.tif")
    ({'drug': 'DMSO', 'well': 'A1'}, {'drug': '', 'well': ''})
    """
    if text is None:
        return no_groups
    found = _of_pattern(text) if FIELD.search(text) else _of_table(text)
    if files and not any(any(found(file).values()) for file in files):
        message = (
            f"--group must fit a file of the run; got {text!r} for files such as "
            f"{quoted(files[0])}. Write what varies in braces, as in '{{condition}}_{{well}}.tif'."
        )
        raise RefusedError(message)
    return found


def _of_pattern(text: str) -> Groups:
    names = FIELD.findall(text)
    _check(text, names)
    pieces = [re.escape(piece).replace(r"\*", "[^/]*") for piece in FIELD.split(text)[::2]]
    fields = [*(f"(?P<g{k}>[^/]+?)" for k in range(len(names))), ""]
    pattern = "".join(piece + field for piece, field in zip(pieces, fields, strict=True))
    matching = re.compile(rf"(?:.*/)?{pattern}")

    def of(file: str) -> dict[str, str]:
        found = matching.fullmatch(file.replace("\\", "/"))
        return {name: found[f"g{k}"] if found else "" for k, name in enumerate(names)}

    return of


def _of_table(text: str) -> Groups:
    path = expanded(text, "--group")
    if kind_of(path) != FILE or path.suffix.lower() != ".csv":
        message = (
            f"--group must be a pattern with names in braces, or a CSV file; got {text!r}. Try "
            "'{condition}_{well}.tif'."
        )
        raise RefusedError(message)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        message = f"--group must be a CSV file that can be read; got {quoted(path)}: {error}."
        raise RefusedError(message) from error
    names = [name for name in (rows[0] if rows else {}) if name not in ("file", None)]
    if not rows or "file" not in rows[0]:
        message = f"--group must have rows with a column 'file'; got none in {quoted(path)}."
        raise RefusedError(message)
    _check(text, names)
    known = {Path(row["file"] or "").name: row for row in rows}

    def of(file: str) -> dict[str, str]:
        row = known.get(Path(file.replace("\\", "/")).name, {})
        return {name: row.get(name) or "" for name in names}

    return of


def _check(text: str, names: Sequence[str]) -> None:
    """Raise RefusedError unless names of conditions can be names of columns."""
    wrong = [
        name
        for name in names
        if not name.strip() or name in TAKEN or name in PROPERTIES or names.count(name) > 1
    ]
    if wrong or not names:
        message = (
            "--group must name conditions, each once, and none like a column of the tables; got "
            f"{text!r}. Try '{{condition}}_{{well}}.tif'."
        )
        raise RefusedError(message)


# ---- The conditions in the report of a run: a point for each image, and medians

WIDE, HIGH, DOT = 160, 22, 4.0
MOST = 5  # columns that are compared


def compare(records: Sequence[Record], groups: Groups) -> Iterator[str]:
    """Yield a table for each condition that several images share, a row for each of its values.

    Columns are objects and what was measured: a point for each image, and the median of these.
    """
    known = [each for each in records if each.complete]
    columns = ["objects", *dict.fromkeys(name for each in known for name in each.statistics)]
    columns = [name for name in columns if not name.endswith("_total")][:MOST]
    for condition in groups(""):
        rows: dict[str, list[Record]] = {}
        for each in known:
            rows.setdefault(groups(each.file)[condition], []).append(each)
        if not 1 < len(rows) < len(known):
            continue
        yield f"<section>\n<h2>Images by {escape(condition)}</h2>\n"
        yield '<div class="scroll"><table class="groups">\n<thead><tr>'
        words = (condition, "images", *(name.replace("_", " ") for name in columns))
        yield "".join(f"<th>{escape(word)}</th>" for word in words)
        yield "</tr></thead>\n<tbody>\n"
        for value, own in sorted(rows.items()):
            yield f'<tr><th scope="row">{escape(value or "-")}</th><td>{len(own):,}</td>'
            for name in columns:
                yield f"<td>{_strip(_values(own, name), *_ends(known, name))}</td>"
            yield "</tr>\n"
        yield "</tbody>\n</table></div>\n</section>\n"


def _values(records: Sequence[Record], name: str) -> list[float]:
    """Return what is known of one column, for complete images."""
    found = (each.objects if name == "objects" else each.statistics.get(name) for each in records)
    return [float(value) for value in found if value is not None]


def _ends(records: Sequence[Record], name: str) -> tuple[float, float]:
    values = _values(records, name) or [0.0]
    return min(0.0, *values), max(values)


def _strip(values: Sequence[float], low: float, high: float) -> str:
    """Return points on a line from `low` to `high`, and the median as a stroke and a number."""
    if not values:
        return ""
    scale = (WIDE - 2 * DOT) / ((high - low) or 1)
    middle = median(values)
    points = "".join(
        f'<circle cx="{DOT + (value - low) * scale:.1f}" cy="{HIGH / 2:g}" r="{DOT:g}" '
        f'fill-opacity=".35"><title>{value:,.6g}</title></circle>'
        for value in sorted(values)
    )
    at = DOT + (middle - low) * scale
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" class="strip" role="img" aria-label="median '
        f'{middle:,.4g}, {len(values)} images">{points}'
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="1" y2="{HIGH - 1}"/></svg> {middle:,.4g}'
    )
