"""`report.html`: the results of a run on one page, without network or other files."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from equilabel.cli.progress import images
from equilabel.cli.results import add_sizes
from equilabel.storage.files import replacing

from .histogram import histogram
from .rows import failures, notes, rows
from .thumbnails import read_thumbnails

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from equilabel.cli.records import Facts, Record

__all__ = ["read_thumbnails", "write_report"]

HERE = Path(__file__).parent
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'">
"""
ENDED = {
    "done": "All images are finished.",
    "failed": "Some images failed.",
    "interrupted": "The run was interrupted: --resume continues it.",
}


def write_report(
    path: Path,
    facts: Facts,
    records: Sequence[Record],
    names: Sequence[str],
    out: Path,
    known: Mapping[str, str],
) -> None:
    """Write the report of a run.

    `facts` are those in run.json. `names` are the names of the results of each record below `out`,
    without endings, as they are on disk; thumbnails that are not in `known` (see `read_thumbnails`)
    are made from the overlays in `out`.
    """
    with (
        replacing(path) as unfinished,
        unfinished.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        for part in _parts(facts, records, names, out, known):
            file.write(part)


def _parts(
    facts: Facts,
    records: Sequence[Record],
    names: Sequence[str],
    out: Path,
    known: Mapping[str, str],
) -> Iterator[str]:
    yield HEAD
    yield f"<title>{escape(out.resolve().name)}: {images(len(records))}</title>\n"
    yield f"<style>\n{(HERE / 'page.css').read_text(encoding='utf-8')}</style>\n</head>\n<body>\n"
    yield "<header>\n"
    yield f"<h1>{escape(out.resolve().name)}</h1>\n"
    yield f"<p>{ENDED[facts['status']]} Begun {_when(facts['begun'])}, ended "
    yield f"{_when(facts['ended'])}, {_duration(facts['seconds'])}.</p>\n</header>\n<main>\n"
    yield from _counts(records)
    yield from failures(records)
    yield from notes(records)
    yield from _histograms(records)
    yield from rows(records, names, out, known)
    yield from _made_with(facts)
    yield "</main>\n"
    yield f"<script>\n{(HERE / 'page.js').read_text(encoding='utf-8')}</script>\n</body>\n</html>\n"


def _counts(records: Sequence[Record]) -> Iterator[str]:
    """Yield the number of images by status, and the number of objects."""
    words = {"done": "finished", "skipped": "kept", "failed": "failed", "interrupted": "not begun"}
    count = {word: sum(each.status == word for each in records) for word in words}
    objects = sum(each.objects or 0 for each in records)
    yield '<dl class="counts">\n'
    yield f"<div><dt>objects</dt><dd>{objects:,}</dd></div>\n"
    for word, text in words.items():
        if count[word] or word == "done":
            yield f'<div class="{word}"><dt>{text}</dt><dd>{count[word]:,}</dd></div>\n'
    yield "</dl>\n"


def _histograms(records: Sequence[Record]) -> Iterator[str]:
    """Yield histograms of the sizes of all objects, by name and unit."""
    for (name, unit), counts in add_sizes(each.sizes for each in records).items():
        what = "Volumes" if name == "volume" or unit.endswith("³") else "Areas"
        what = what if unit else "Sizes"
        of = f"{sum(counts.values()):,} objects, in {escape(unit or 'pixels')}"
        yield f"<section>\n<h2>{what} of {of}</h2>\n"
        yield histogram(counts, unit or "px")
        yield "</section>\n"


def _made_with(facts: Facts) -> Iterator[str]:
    """Yield command, options and versions."""
    used = {name: value for name, value in facts["parameters"].items() if value not in (None, "")}
    yield '<section class="made">\n<h2>How it was made</h2>\n'
    yield f"<pre>{escape(' '.join(map(str, facts['command'])))}</pre>\n"
    for title, pairs in (("Options", used), ("Versions", facts["versions"])):
        cells = (
            f"<div><dt>{escape(k)}</dt><dd>{escape(str(v))}</dd></div>" for k, v in pairs.items()
        )
        yield f"<details><summary>{title}</summary><dl>{''.join(cells)}</dl></details>\n"
    yield "</section>\n"


def _when(text: str) -> str:
    return escape(text[:16].replace("T", " "))


def _duration(seconds: float) -> str:
    """Return a time with its unit.

    >>> _duration(8.04), _duration(500), _duration(40_000)
    ('8.0 s', '8 min', '11.1 h')
    """
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
