"""The table of images in a report, and the lists of failures and notes above it."""

from __future__ import annotations

import os
from collections import defaultdict
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote

from equilabel.cli.progress import images

from .histogram import sparkline
from .thumbnails import thumbnails

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from equilabel.cli.records import Record

MOST_FILES = 20  # listed under a note
COLUMNS = ("", "image", "status", "objects", "mean size", "sizes", "shape", "seconds", "results")
SORTED_BY_NUMBER = ("objects", "mean size", "shape", "seconds")
UNSORTED = ("", "sizes", "results")
WORDS = {"done": "finished", "skipped": "kept", "failed": "failed", "interrupted": "not begun"}


def failures(records: Sequence[Record]) -> Iterator[str]:
    """Yield the images that failed, with the reason for each."""
    failed = [each for each in records if each.status == "failed"]
    if failed:
        yield f'<section class="failures">\n<h2>{images(len(failed))} failed</h2>\n<ul>\n'
        for each in failed:
            yield f"<li><b>{escape(each.file)}</b> {escape(each.error)}</li>\n"
        yield "</ul>\n</section>\n"


def notes(records: Sequence[Record]) -> Iterator[str]:
    """Yield the notes, each with its images; the most frequent first."""
    having = defaultdict(list)
    for each in records:
        for note in each.notes:
            having[note].append(each.file)
    if not having:
        return
    yield '<section class="notes">\n<h2>What to know of the results</h2>\n'
    for note, files in sorted(having.items(), key=lambda item: -len(item[1])):
        names = "".join(f"<li>{escape(name)}</li>" for name in files[:MOST_FILES])
        more = f"<li>and {len(files) - MOST_FILES:,} more</li>" if len(files) > MOST_FILES else ""
        yield f"<details><summary>{escape(note)} <span>{images(len(files))}</span></summary>"
        yield f"<ul>{names}{more}</ul></details>\n"
    yield "</section>\n"


def rows(
    records: Sequence[Record], names: Sequence[str], out: Path, known: Mapping[str, str]
) -> Iterator[str]:
    """Yield the table of all images; `known` are thumbnails of an earlier report."""
    folder = _folder(records)
    yield f"<section>\n<h2>Images{f' in {escape(folder)}' if folder else ''}</h2>\n"
    yield '<p class="tools"><label>Show <input id="filter" '
    yield 'type="search" placeholder="part of a name, or a status"></label> '
    yield '<span id="shown"></span></p>\n<div class="scroll"><table>\n<thead><tr>'
    for name in COLUMNS:
        kind = ' class="number"' if name in SORTED_BY_NUMBER else ""
        text = name if name in UNSORTED else f'<button type="button">{name}</button>'
        yield f"<th{kind}>{text}</th>"
    yield "</tr></thead>\n<tbody>\n"
    bins = [int(k) for each in records for k in each.sizes.get("counts", {})]
    low, high = min(bins, default=0), max(bins, default=0)
    found = [places(each, name) for each, name in zip(records, names, strict=True)]
    overlays = [
        (one["overlay"], each.outputs["overlay"]["sha256"]) if "overlay" in one else None
        for one, each in zip(found, records, strict=True)
    ]
    pictures = thumbnails(overlays, out, known)
    for each, files, picture in zip(records, found, pictures, strict=True):
        yield _row(each, files, str(picture), low, high, folder)
    yield "</tbody>\n</table></div>\n</section>\n"


def places(record: Record, name: str) -> dict[str, str]:
    r"""Return the paths of the results of an image below the output folder, by kind.

    `name` is that of the results without endings, as it is on disk; names in the record are
    escaped.

    >>> from equilabel.cli.records import Record
    >>> outputs = {"labels": {"file": "a\\tb_labels.tif"}}
    >>> places(Record("a\\tb.tif", "a\\tb", "done", outputs=outputs), "a\tb")
    {'labels': 'a\tb_labels.tif'}
    """
    files = ((kind, str(known.get("file", ""))) for kind, known in record.outputs.items())
    return {kind: name + file.removeprefix(record.name) for kind, file in files if file}


def _folder(records: Sequence[Record]) -> str:
    """Return the common folder of all images; "" if there is none except the root."""
    try:
        found = PurePath(os.path.commonpath([str(PurePath(each.file).parent) for each in records]))
    except ValueError:  # absolute and relative paths, or no paths
        return ""
    return "" if found in (PurePath(), PurePath(found.anchor)) else str(found)


def _row(
    record: Record, files: Mapping[str, str], picture: str, low: int, high: int, folder: str
) -> str:
    counts = {int(k): n for k, n in record.sizes.get("counts", {}).items()}
    mean, text = _mean(record)
    name = record.file.removeprefix(f"{folder}/") if folder else record.file
    pixels = 1
    for side in record.shape:
        pixels *= side
    objects = "" if record.objects is None else record.objects
    note = f' <i title="{escape(" ".join(record.notes))}">note</i>' if record.notes else ""
    cells = [
        f'<td class="picture">{picture}</td>',
        f'<th scope="row">{escape(name)}{note}</th>',
        f'<td class="{record.status}">{WORDS[record.status]}</td>',
        f'<td data-value="{objects}">{objects}</td>',
        f'<td data-value="{mean}">{escape(text)}</td>',
        f"<td>{sparkline(counts, low, high) if counts else ''}</td>",
        f'<td data-value="{pixels if record.shape else ""}">'
        f"{' &times; '.join(map(str, record.shape))}</td>",
        f'<td data-value="{record.seconds:.3f}">{record.seconds:.2f}</td>',
        f"<td>{_links(files)}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>\n"


def _mean(record: Record) -> tuple[str, str]:
    """Return the mean size of objects as a number, and with its unit."""
    name = record.sizes.get("of", "")
    value = record.statistics.get(f"{name}_mean")
    if value is None:
        return "", ""
    return f"{value:.6g}", f"{_short(value)} {record.sizes.get('unit') or 'px'}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _links(files: Mapping[str, str]) -> str:
    """Return links to the results, relative to the report."""
    return " ".join(
        f'<a href="./{escape(quote(os.fsencode(file)))}">{escape(kind)}</a>'
        for kind, file in files.items()
    )
